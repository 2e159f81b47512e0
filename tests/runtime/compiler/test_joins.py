"""AF409 to AF416: whether what a join waits for can come, and has a place until then."""

from __future__ import annotations

from typing import Any

import pytest

from aiflow.compiler.compile import compile
from aiflow.compiler.diagnostics import Diagnostic
from aiflow.engine.session import Session
from aiflow.graph import edits
from aiflow.graph.model import Feedback, Graph
from aiflow.operators.registry import Catalog
from aiflow.testing.virtual import run_virtual

CATALOG = Catalog.load()


def diamond(*, texts: int = 1, conversations: int = 8, mode: str = "all", **policy: Any) -> Graph:
    """Return lines → (left, right) → both → count."""
    made = edits.set_max_conversations(Graph(), conversations)
    source = {"text": "\n".join(map(str, range(texts))), "conversations": "each"}
    made = edits.add_node(made, "text-input", id="lines", params=source)
    for branch in ("left", "right"):
        made = edits.add_node(made, "map", id=branch)
        made = edits.connect(made, "lines.out", f"{branch}.in")
    made = edits.add_node(made, "join", id="both", params={"mode": mode})
    made = edits.set_policy(made, "both", policy)
    made = edits.connect(made, "left.out", "both.a")
    made = edits.connect(made, "right.out", "both.b")
    made = edits.add_node(made, "counter", id="count")
    return edits.connect(made, "both.out", "count.in")


def found(graph: Graph, code: str) -> list[Diagnostic]:
    """Return the findings of a code."""
    return [each for each in compile(graph, CATALOG).diagnostics if each.code == code]


def mended(graph: Graph, code: str) -> Graph:
    """Return the graph with the fix of its one finding, which is gone then."""
    (finding,) = found(graph, code)
    assert finding.fix is not None
    after = finding.fix.apply(graph)
    assert not found(after, code)
    return after


def test_a_diamond_with_the_defaults_raises_no_alarm() -> None:
    """Eight places are enough for one conversation."""
    assert compile(diamond(), CATALOG).diagnostics == ()


def test_a_join_behind_a_loop_is_sound_and_one_within_is_not() -> None:
    """Only what may come back keeps it waiting."""
    inside = edits.connect(diamond(), "both.out", "left.in")
    inside = edits.set_feedback(inside, "both.out>left.in", Feedback())
    behind = edits.connect(diamond(), "left.out", "left.in")
    behind = edits.set_feedback(behind, "left.out>left.in", Feedback())

    assert found(inside, "AF409")
    assert not found(behind, "AF409")


def test_all_needs_a_source_in_common_and_zip_does_not() -> None:
    """The fix makes a zip of it."""
    made = edits.disconnect(diamond(), "lines.out>right.in")
    made = edits.add_node(made, "text-input", id="others")
    made = edits.connect(made, "others.out", "right.in")

    after = mended(made, "AF410")

    assert after.nodes["both"].params["mode"] == "zip"
    assert not found(after, "AF413")


@pytest.mark.parametrize(
    ("texts", "conversations", "places", "wanted"),
    [(4, 8, 8, None), (5, 8, 8, 10), (5, 3, 8, None), (5, 8, 9, 10), (20, 20, 16, 40)],
)
def test_each_conversation_has_a_place_at_each_input(
    texts: int, conversations: int, places: int, wanted: int | None
) -> None:
    """As many as are really open at once: by the graph and by the source."""
    made = diamond(texts=texts, conversations=conversations, queue_capacity=places)

    assert bool(found(made, "AF411")) == (wanted is not None)
    if wanted is not None:
        assert mended(made, "AF411").nodes["both"].policy["queue_capacity"] == wanted


def test_workers_that_must_wait_for_a_join_are_told() -> None:
    """The fix gives each a place."""
    made = edits.set_policy(diamond(), "left", {"workers": 6, "reorder_capacity": 6})

    assert mended(made, "AF412").nodes["both"].policy["queue_capacity"] == 12


def test_a_zip_of_half_related_branches_is_warned_of() -> None:
    """Where one branch carries another source too, it can only pair by arrival."""
    made = edits.add_node(diamond(mode="zip"), "text-input", id="others")
    made = edits.connect(made, "others.out", "right.in")

    assert found(made, "AF413")
    assert not found(diamond(mode="zip"), "AF413")
    assert not found(edits.merge_params(made, "both", {"mode": "all"}), "AF413")


def zips(*pairs: str, sources: str = "st", between: str = "map") -> Graph:
    """Return zips `name:a,b`, the last one before a counter; `f(x)` puts a node behind x."""
    made = edits.set_max_conversations(Graph(), 1)
    for source in sources:
        made = edits.add_node(made, "text-input", id=source)
    for pair in pairs:
        name, _, inputs = pair.partition(":")
        made = edits.add_node(made, "join", id=name, params={"mode": "zip"})
        for port, before in zip("abc", inputs.split(","), strict=False):
            last, _, behind = before.rstrip(")").partition("(")
            if behind:
                made = edits.add_node(made, between, id=last)
                made = edits.connect(made, f"{behind}.out", f"{last}.in")
            made = edits.connect(made, f"{last}.out", f"{name}.{port}")
    made = edits.add_node(made, "counter", id="count")
    return edits.connect(made, f"{pairs[-1].partition(':')[0]}.out", "count.in")


@pytest.mark.parametrize(
    ("pairs", "is_warned"),
    [
        # What a zip sends is of its first input: it is known what belongs together.
        (("y:s,t", "z:y,f(s)"), False),
        (("y:s,t", "x:s,t", "z:y,x"), False),
        (("y:s,t", "x:y,s", "z:x,f(s)"), False),
        # By arrival, and each way brings all that there is.
        (("y:s,t", "z:y,t"), False),
        (("y:s,t", "x:t,s", "z:y,x"), False),
        (("z:s,s,t",), False),
        (("y:s,t", "z:y,u"), False),
        # By arrival, and a way may bring less.
        (("y:s,t", "z:y,f(t)"), True),
        (("y:s,f(t)", "x:t,s", "z:y,x"), True),
        (("z:s,f(s),t",), True),
    ],
)
def test_a_zip_of_zips_is_warned_of_only_where_its_pairs_may_shift(
    pairs: tuple[str, ...], is_warned: bool
) -> None:
    """Whose events a zip sends is known, and so is which node lets all through."""
    assert bool(found(zips(*pairs, sources="stu"), "AF413")) == is_warned
    assert not found(zips(*pairs, sources="stu", between="template"), "AF413")


@pytest.mark.parametrize(
    "policy",
    [
        {"overflow": "drop_oldest"},
        {"workers": 4},
        {"retry": {"attempts": 2, "then": "skip"}},
    ],
)
def test_a_node_that_lets_all_through_by_default_may_be_told_not_to(policy: dict[str, Any]) -> None:
    """What it drops or lets overtake shifts the pairs."""
    made = edits.set_policy(zips("y:s,t", "z:y,f(t)", between="template"), "f", policy)

    assert found(made, "AF413")
    assert not found(edits.set_policy(made, "f", {}), "AF413")


def test_all_never_matches_a_zip_with_what_it_was_paired_with() -> None:
    """What a zip sends counts as an event of its first input."""
    made = edits.merge_params(zips("y:s,t", "z:y,f(t)"), "z", {"mode": "all"})
    other = edits.merge_params(zips("y:s,t", "z:y,f(s)"), "z", {"mode": "all"})

    assert found(made, "AF410")
    assert not found(other, "AF410")


def beside_an_aggregate(
    count: int, *between: str, conversations: int = 1, places: int = 8, **params: Any
) -> Graph:
    """Return a source of so many tokens → (aggregate, nodes between) → join → counter."""
    made = edits.set_max_conversations(Graph(), 8)
    source = {"count": count, "rate": 0.0, "conversations": conversations}
    made = edits.add_node(made, "synthetic", id="s", params=source)
    made = edits.add_node(made, "aggregate", id="whole")
    made = edits.add_node(made, "join", id="both", params=params)
    made = edits.set_policy(made, "both", {"queue_capacity": places})
    made = edits.connect(edits.connect(made, "s.out", "whole.in"), "whole.out", "both.a")
    last = "s"
    for number, operator in enumerate(between):
        made = edits.add_node(made, operator, id=f"n{number}")
        made = edits.connect(made, f"{last}.out", f"n{number}.in")
        last = f"n{number}"
    made = edits.connect(made, f"{last}.out", "both.b")
    made = edits.add_node(made, "counter", id="count")
    return edits.connect(made, "both.out", "count.in")


@pytest.mark.parametrize("mode", ["all", "zip"])
@pytest.mark.parametrize(
    ("most", "between", "options"),
    [
        (12, (), {}),
        (2, (), {"places": 4, "max_parts": 0}),
        (21, ("template",), {}),
        (30, ("template", "delay"), {}),
        (9, (), {"conversations": 3}),
    ],
)
def test_a_turn_that_is_too_long_beside_an_aggregate_is_told_and_runs_into_it(
    most: int, between: tuple[str, ...], options: dict[str, Any], mode: str
) -> None:
    """Exactly from the first event that finds no place; the fix makes room for all."""
    fits = beside_an_aggregate(most, *between, mode=mode, **options)
    fails = beside_an_aggregate(most + 1, *between, mode=mode, **options)

    assert not found(fits, "AF416")
    assert outcome(fits) == "completed"
    assert outcome(fails) == "failed"
    assert outcome(mended(fails, "AF416")) == "completed"
    (finding,) = found(fails, "AF416")
    assert f"but {most} events of the other branch are the most" in finding.message


def outcome(graph: Graph) -> str:
    """Run a graph on the virtual clock and return how it ended."""
    plan = compile(graph, CATALOG, clock="virtual").plan
    assert plan is not None

    async def go() -> str:
        return (await Session(plan).run()).phase

    return run_virtual(go())


@pytest.mark.parametrize(
    "change",
    [
        lambda graph: edits.merge_params(graph, "whole", {"until": "answer"}),
        lambda graph: edits.merge_params(graph, "whole", {"channel": "answer"}),
        lambda graph: edits.merge_params(graph, "whole", {"max_characters": 99}),
        lambda graph: edits.set_policy(graph, "n0", {"overflow": "drop_oldest"}),
        lambda graph: edits.set_fanout(graph, "n0.out>both.b", "detached", "drop_oldest"),
        lambda graph: edits.merge_params(graph, "s", {"count": 5}),
    ],
)
def test_a_long_turn_is_not_told_of_where_it_is_not_sure(change: Any) -> None:
    """The aggregate may send early, or not all of the turn may come to the join."""
    made = beside_an_aggregate(500, "template")

    assert found(made, "AF416")
    assert not found(change(made), "AF416")
    assert not found(beside_an_aggregate(500, "map"), "AF416")
    assert not found(beside_an_aggregate(500, "aggregate"), "AF416")


def test_bytes_are_limited_before_a_join_or_loop_and_not_there() -> None:
    """The fix leaves them out."""
    made = edits.merge_policy(diamond(), "both", {"max_bytes": 100})
    loop = edits.connect(diamond(), "left.out", "left.in")
    loop = edits.set_feedback(loop, "left.out>left.in", Feedback())
    loop = edits.merge_policy(loop, "left", {"max_bytes": 100})

    assert "max_bytes" not in mended(made, "AF414").nodes["both"].policy
    assert "max_bytes" not in mended(loop, "AF414").nodes["left"].policy
    assert not found(edits.merge_policy(diamond(), "left", {"max_bytes": 100}), "AF414")
