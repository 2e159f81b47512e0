"""Tests of the checks of what policies promise together, and of feedback edges."""

from __future__ import annotations

from typing import Any

import pytest

from aiflow.compiler.diagnostics import Diagnostic
from aiflow.graph import edits
from aiflow.graph.model import Feedback, Graph
from tests.runtime.compiler.parts import chain, check, codes, graph

SPECULATIVE = {"side_effects": "speculative", "speculative_capacity": 2}


def found(made: Graph, code: str) -> list[Diagnostic]:
    """Return the findings of one code."""
    return [each for each in check(made).diagnostics if each.code == code]


def mended(made: Graph, code: str) -> Graph:
    """Return the graph with the fix of its only finding of a code."""
    (finding,) = found(made, code)
    assert finding.fix is not None
    return finding.fix.apply(made)


def loop(*, q: int = 8, whole: bool = True, **figures: Any) -> Graph:
    """Return spring → a → b → drain, where b leads back to a."""
    made = graph(
        f"spring.{'whole' if whole else 'out'}>a.in",
        "a.out>b.in",
        "b.out>a.in",
        "b.out>drain.in",
        spring={"operator": "spring", "params": {"limit": 1}},
        a={"operator": "pass", "policy": {"queue_capacity": q}},
        b="pass",
        drain="drain",
    )
    return edits.set_feedback(made, "b.out>a.in", Feedback(**figures))


# --- retry and cancel ---


@pytest.mark.parametrize(
    ("effects", "is_told"), [("none", False), ("idempotent", False), ("non_idempotent", True)]
)
def test_only_what_must_not_be_repeated_may_not_be_tried_again(effects: str, is_told: bool) -> None:
    """The operator is harmless; the node says what its effects are."""
    made = chain(policy={"side_effects": effects, "retry": {"attempts": 2}})

    assert bool(found(made, "AF311")) == is_told


def test_the_other_members_of_retry_outlive_the_fix() -> None:
    """A limit of time is still wanted; without any other member nothing is left of retry."""
    retry: dict[str, Any] = {"attempts": 2, "timeout_s": 5.0}
    timed = chain(policy={"side_effects": "non_idempotent", "retry": retry})
    bare = chain(policy={"side_effects": "non_idempotent", "retry": {"attempts": 2}})

    assert mended(timed, "AF311").nodes["middle"].policy["retry"] == {"timeout_s": 5.0}
    assert "retry" not in mended(bare, "AF311").nodes["middle"].policy


def test_only_a_source_must_not_be_shielded() -> None:
    """A node behind it may finish what still arrives; the source may finish its event."""
    assert not found(chain(policy={"cancel": "shield"}), "AF312")
    for word, is_told in (("shield", True), ("drain", False)):
        made = edits.merge_policy(chain(), "spring", {"cancel": word})
        assert bool(found(made, "AF312")) == is_told


# --- speculation ---


def test_a_speculation_with_a_place_and_a_user_is_sound() -> None:
    """The drain behind it uses its output."""
    assert not found(chain(policy=SPECULATIVE), "AF313")


def test_a_commit_point_may_be_far() -> None:
    """Speculation upon speculation, and then a node that is none."""
    made = edits.merge_policy(chain(operator="guess", policy=SPECULATIVE), "spring", SPECULATIVE)

    assert not found(made, "AF313")


def test_a_thread_cannot_defer_and_a_source_has_nothing_to_wait_for() -> None:
    """Refused, not ignored; what the operator itself declares no fix can leave out."""
    blocking = chain(operator="grinds", policy={"speculative_capacity": 2})
    source = edits.merge_policy(chain(), "spring", SPECULATIVE)

    (thread,) = found(blocking, "AF303")
    assert (thread.node, thread.fix) == ("middle", None)
    assert "runs in a thread" in thread.message
    assert "a source has no event" in found(source, "AF303")[0].message


def test_speculation_that_only_speculation_uses_is_never_committed() -> None:
    """Each is told; one that is a plug-in's nature has no fix."""
    made = chain(operator="guess", policy=SPECULATIVE)
    made = edits.merge_policy(made, "drain", SPECULATIVE)

    told = {each.node: each.fix is not None for each in found(made, "AF313")}

    assert told == {"middle": False, "drain": True}


def test_an_edge_that_may_drop_commits_nothing() -> None:
    """What it drops would leave the effect waiting."""
    made = edits.set_fanout(chain(policy=SPECULATIVE), "middle.out>drain.in", "detached")

    (finding,) = found(made, "AF313")

    assert finding.field == "side_effects"


def test_a_speculation_without_a_place_gets_one_for_each_worker() -> None:
    """Its capacity is 0 where nobody says anything."""
    made = chain(policy={"side_effects": "speculative", "workers": 3})

    assert mended(made, "AF313").nodes["middle"].policy["speculative_capacity"] == 3


# --- transactions ---


@pytest.mark.parametrize(("places", "is_told"), [(2, True), (3, False)])
def test_a_transaction_must_fit_into_the_queue_behind_it(places: int, is_told: bool) -> None:
    """`both` has up to three outputs; what is not transactional may hand them on one by one."""
    made = chain(operator="both", policy={"state": "transactional"})
    made = edits.merge_policy(made, "drain", {"queue_capacity": places})
    loose = edits.set_policy(made, "middle", {})

    assert bool(found(made, "AF314")) == is_told
    assert not found(loose, "AF314")


def test_a_queue_of_several_lanes_gives_each_its_share() -> None:
    """Two lanes in a queue of five have two places each, so three outputs want six."""
    made = edits.add_node(chain(operator="both", policy={"state": "transactional"}), "both", id="b")
    made = edits.merge_policy(made, "b", {"queue_capacity": 5})
    made = edits.connect(edits.connect(made, "middle.out", "b.left"), "spring.out", "b.right")

    assert mended(made, "AF314").nodes["b"].policy["queue_capacity"] == 6


def test_a_detached_edge_need_not_hold_a_transaction() -> None:
    """It drops instead, and never makes its sender wait."""
    made = chain(operator="both", policy={"state": "transactional"})
    made = edits.merge_policy(made, "drain", {"queue_capacity": 1})

    assert not found(edits.set_fanout(made, "middle.out>drain.in", "detached"), "AF314")


@pytest.mark.parametrize(("places", "is_told"), [(6, True), (7, False)])
def test_a_loop_keeps_places_that_no_transaction_gets(places: int, is_told: bool) -> None:
    """Four are kept for what comes back, so three outputs at once want seven."""
    made = graph(
        "spring.out>many.left",
        "many.out>a.in",
        "a.out>b.in",
        "b.out>a.in",
        "b.out>drain.in",
        spring={"operator": "spring", "params": {"limit": 1}},
        many={"operator": "both", "policy": {"state": "transactional"}},
        a={"operator": "pass", "policy": {"queue_capacity": places}},
        b="pass",
        drain="drain",
    )
    made = edits.set_feedback(made, "b.out>a.in", Feedback(credit=2, max_returns=2, hops=4))

    assert bool(found(made, "AF314")) == is_told
    if is_told:
        assert mended(made, "AF314").nodes["a"].policy["queue_capacity"] == 7


def test_a_source_has_no_transactions() -> None:
    """It takes no events, so nothing of it could be committed together."""
    made = edits.merge_policy(chain(), "spring", {"state": "transactional"})

    (finding,) = found(made, "AF310")

    assert finding.field == "state"
    assert not found(mended(made, "AF310"), "AF310")


@pytest.mark.parametrize(
    ("overflow", "is_told"),
    [("drop_oldest", True), ("drop_newest", True), ("error", False), ("block", False)],
)
def test_nothing_is_dropped_before_a_transaction(overflow: str, is_told: bool) -> None:
    """Neither by its own queue nor by a detached edge; failing loudly is no gap."""
    made = chain(policy={"state": "transactional", "overflow": overflow})
    plain = chain(policy={"state": "transactional"})
    edge = edits.set_fanout(plain, "spring.out>middle.in", "detached", overflow)

    assert bool(found(made, "AF315")) == is_told
    assert bool(found(edge, "AF315")) == (is_told or overflow == "block")


# --- feedback ---


def test_a_sound_loop_raises_no_alarm() -> None:
    """A circle that a feedback edge closes is none of those that block."""
    assert codes(check(loop(credit=2, max_returns=3, hops=3))) == []


def test_each_input_of_a_loop_has_a_place_beside_what_returns() -> None:
    """Two feedback edges share the queue, and a detached one needs no place."""
    made = edits.connect(loop(q=5, max_returns=2, hops=2), "a.out", "a.in")
    made = edits.set_feedback(made, "a.out>a.in", Feedback(1, 3, 3))

    assert mended(made, "AF404").nodes["a"].policy["queue_capacity"] == 6
    assert not found(edits.set_fanout(made, "a.out>a.in", "detached", "error"), "AF404")


def test_loops_one_behind_the_other_are_no_loops_in_one_another() -> None:
    """Each has an entry of its own."""
    made = edits.connect(loop(), "b.out", "b.in")
    inside = edits.set_feedback(made, "b.out>b.in", Feedback())
    behind = edits.connect(loop(), "drain.out", "drain.in")

    assert found(inside, "AF407")
    assert not found(behind, "AF407")


def test_what_enters_a_loop_enters_where_its_credit_is_counted() -> None:
    """The fix removes the other way in."""
    made = edits.connect(loop(), "spring.whole", "b.in")

    assert not found(mended(made, "AF408"), "AF408")


@pytest.mark.parametrize(("q", "is_told"), [(6, True), (7, False)])
def test_all_that_may_return_has_a_place_beside_what_is_new(q: int, is_told: bool) -> None:
    """2 x 3 <= q - 1."""
    made = loop(q=q, credit=2, max_returns=3, hops=3)

    assert bool(found(made, "AF404")) == is_told
    if is_told:
        assert mended(made, "AF404").nodes["a"].policy["queue_capacity"] == 7


def test_a_queue_that_nobody_may_have_is_not_proposed() -> None:
    """A million is the most."""
    (finding,) = found(loop(credit=1000, max_returns=1000, hops=1000), "AF404")

    assert finding.fix is None


def test_hops_that_end_before_the_returns_are_told() -> None:
    """The fix gives as many as are needed and keeps the rest."""
    made = mended(loop(credit=2, max_returns=3), "AF403")

    assert made.edges["b.out>a.in"].feedback == Feedback(2, 3, 3)


def test_feedback_must_lead_back() -> None:
    """Also where another circle is near; mended, it is an edge like any other."""
    made = edits.set_feedback(loop(), "b.out>drain.in", Feedback())

    assert [each.edge for each in found(made, "AF405")] == ["b.out>drain.in"]
    assert mended(made, "AF405").edges["b.out>drain.in"].feedback is None


def test_tokens_should_not_be_led_back_alone() -> None:
    """A message is whole."""
    assert found(loop(whole=False), "AF406")
    assert not found(loop(), "AF406")


def test_an_ordinary_edge_beside_a_feedback_edge_still_blocks() -> None:
    """The one that is named is the one that must go."""
    made = edits.connect(loop(), "a.out", "a.in")

    assert [each.edge for each in found(made, "AF401")] == ["a.out>a.in"]


# --- resources ---


def test_a_resource_of_its_own_for_each_conversation_is_refused() -> None:
    """One would be shared by all; one that nobody uses disturbs nobody."""
    made = graph(
        "spring.out>bathes.in",
        spring={"operator": "spring", "params": {"limit": 1}},
        bathes={"operator": "bathes", "resources": {"water": "bath"}},
    )
    made = edits.add_resource(made, "bath")
    unused = edits.add_resource(chain(), "bath")

    (finding,) = found(made, "AF510")
    assert finding.node == "bathes"
    assert not found(unused, "AF510")
