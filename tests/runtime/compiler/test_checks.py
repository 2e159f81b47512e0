"""Tests of single checks, where a graph in `graphs/broken` does not say it all."""

from __future__ import annotations

from typing import Any

import pytest

from aiflow.compiler.diagnostics import Severity
from aiflow.graph import edits
from aiflow.graph.model import Graph
from tests.keyrings import MemoryKeyring, memory_keyring
from tests.runtime.compiler.parts import chain, check, codes, graph

__all__ = ["memory_keyring"]


def asking(**params: Any) -> Graph:
    """Return a graph with a node that is handed a well with these params."""
    made = graph(
        "spring.out>asks.in",
        spring={"operator": "spring", "params": {"limit": 1}},
        asks={"operator": "asks", "resources": {"water": "well"}},
    )
    return edits.add_resource(made, "well", params=params)


# --- structure ---


def test_a_near_name_is_suggested_and_can_be_taken() -> None:
    """The fix uses it."""
    made = chain(operator="pas")

    (found,) = check(made).diagnostics

    assert found.hint == "Did you mean pass?"
    assert found.fix is not None
    assert check(found.fix.apply(made)).diagnostics == ()


def test_an_unknown_operator_is_one_finding() -> None:
    """Nothing is said of its ports, its types, or of a source or sink that it may be."""
    made = graph("a.x>b.y", a="nowhere", b={"operator": "elsewhere", "params": {"p": 1}})

    assert codes(check(made)) == ["AF101"]


def test_what_hangs_on_an_open_input_is_told_once() -> None:
    """The node with the open input is told that, those behind it that nothing reaches them."""
    made = edits.add_node(edits.add_node(chain(), "pass", id="loose"), "drain", id="end")
    made = edits.connect(made, "loose.out", "end.in")

    found = {each.node: each.code for each in check(made).diagnostics}

    assert found == {"loose": "AF110", "end": "AF109"}


def test_an_optional_input_may_stay_open() -> None:
    """`both` has one."""
    assert check(chain(operator="both")).diagnostics == ()


def test_the_empty_graph_is_one_finding() -> None:
    """A new document is not greeted with a list."""
    assert [each.message for each in check(Graph()).diagnostics] == ["the graph is empty"]


def test_other_programs_marks_are_no_unknown_fields() -> None:
    """`$schema` and the like."""
    assert check(chain(**{"$comment": "mine"})).diagnostics == ()


@pytest.mark.parametrize(
    ("fields", "severity"),
    [
        ({"policy": 8}, Severity.ERROR),
        ({"params": []}, Severity.ERROR),
        ({"disabled": "no"}, Severity.ERROR),
        ({"resources": {"water": 1}}, Severity.ERROR),
        ({"suppress": "AF601"}, Severity.WARNING),
    ],
)
def test_a_field_of_another_shape_is_never_ignored(
    fields: dict[str, Any], severity: Severity
) -> None:
    """What would change the run keeps it from starting."""
    (found,) = check(chain(**fields)).diagnostics

    assert (found.code, found.severity, found.field) == ("AF113", severity, next(iter(fields)))


# --- types ---


def test_what_passes_through_keeps_its_type() -> None:
    """Behind `pass` a token is still a token, and a message no token."""
    made = chain()
    made = edits.connect(edits.add_node(made, "pass", id="more"), "middle.out", "more.in")
    made = edits.connect(edits.add_node(made, "drain", id="end"), "more.out", "end.in")

    both = check(edits.connect(made, "spring.whole", "middle.in"))

    assert check(made).edge_types["more.out>end.in"].name == "token"
    assert both.edge_types["more.out>end.in"].name == "text"


def test_an_open_pass_is_not_told_that_its_type_is_wrong() -> None:
    """Nobody knows yet what will come through it."""
    made = edits.disconnect(chain(), "spring.out>middle.in")

    assert codes(check(made)) == ["AF109", "AF110"]


def test_types_that_do_not_agree_are_named() -> None:
    """Both of them, with the ports."""
    made = chain(operator="both")
    made = edits.connect(edits.add_node(made, "spring", id="s2"), "drain.dead", "middle.right")

    (found,) = [each for each in check(made).diagnostics if each.code == "AF203"]

    assert found.message == (
        "drain.dead gives dead-letter, which middle.right cannot take: it takes text"
    )
    assert found.edge == "drain.dead>middle.right"


@pytest.mark.parametrize(
    ("policy", "field", "code"),
    [
        ({"queue_capacity": "8"}, "queue_capacity", "AF205"),
        ({"queue_capacity": True}, "queue_capacity", "AF205"),
        ({"workers": 1025}, "workers", "AF205"),
        ({"overflow": "drop"}, "overflow", "AF205"),
        ({"retry": {"attempts": 0}}, "retry.attempts", "AF205"),
        ({"retry": {"atempts": 2}}, "retry.atempts", "AF204"),
        ({"queue_capacty": 2}, "queue_capacty", "AF204"),
    ],
)
def test_a_wrong_policy_names_its_field(policy: dict[str, Any], field: str, code: str) -> None:
    """So that the inspector can mark it."""
    (found,) = check(chain(policy=policy)).diagnostics

    assert (found.code, found.field, found.node) == (code, field, "middle")


# --- policies ---


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ({"workers": 4, "reorder_capacity": 3}, []),
        ({"overflow": "drop_oldest"}, []),
        ({"retry": {"backoff_s": 2, "jitter": 0}}, []),
        ({"service_time_s": 0.5}, []),
        ({"side_effects": "non_idempotent"}, []),
        ({"retry": {"then": "skip"}}, []),
        ({"retry": {"attempts": 3, "timeout_s": 1, "total_timeout_s": 5}}, []),
        ({"partition_key": "conversation"}, ["AF320"]),
        ({"speculative_capacity": 1}, ["AF303"]),
        ({"speculative_timeout_s": 1}, ["AF303"]),
    ],
)
def test_a_policy_is_honoured_or_refused(policy: dict[str, Any], expected: list[str]) -> None:
    """Nothing in between."""
    assert codes(check(chain(policy=policy))) == expected


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ({}, []),
        ({"state": "serialized"}, []),
        ({"state": "stateless"}, ["AF302"]),
        ({"state": "partitioned"}, ["AF302", "AF319"]),
        ({"workers": 2}, ["AF301"]),
        ({"side_effects": "none"}, ["AF307"]),
        ({"side_effects": "non_idempotent"}, []),
        ({"queue_capacity": 13}, ["AF308"]),
    ],
)
def test_a_policy_fits_its_operator(policy: dict[str, Any], expected: list[str]) -> None:
    """`both` is serialized and idempotent, and dislikes thirteen."""
    assert codes(check(chain(operator="both", policy=policy))) == expected


def test_each_input_wants_a_place() -> None:
    """Inputs count, not edges."""
    one = edits.merge_policy(chain(operator="both"), "middle", {"queue_capacity": 1})
    merged = edits.connect(one, "spring.whole", "middle.left")
    two = edits.connect(one, "spring.whole", "middle.right")

    assert codes(check(merged)) == []
    assert codes(check(two)) == ["AF306"]


def test_a_queue_may_drop_where_something_can_be_dropped() -> None:
    """One input of tokens is enough."""
    made = chain(policy={"overflow": "drop_oldest"})
    mixed = edits.connect(made, "spring.whole", "middle.in")
    whole = edits.disconnect(mixed, "spring.out>middle.in")

    assert codes(check(mixed)) == []
    assert codes(check(whole)) == ["AF304"]
    assert codes(check(edits.merge_policy(whole, "middle", {"overflow": "error"}))) == []


def test_a_detached_edge_may_fail_instead_of_dropping() -> None:
    """`error` neither drops nor holds anybody up."""
    made = edits.connect(chain(), "spring.whole", "drain.in", fanout="detached")
    failing = edits.set_fanout(made, "spring.whole>drain.in", "detached", "error")

    assert codes(check(made)) == ["AF304"]
    assert codes(check(failing)) == []


# --- cycles ---


def test_a_circle_is_named_in_order() -> None:
    """Each circle once, and a node behind it is none of its nodes."""
    made = graph(
        "spring.out>a.in",
        "a.out>b.in",
        "b.out>c.in",
        "c.out>a.in",
        "c.out>drain.in",
        "self.out>self.in",
        spring={"operator": "spring", "params": {"limit": 1}},
        drain="drain",
        b="pass",
        a="pass",
        c="pass",
        self="pass",
    )

    found = [each for each in check(made).diagnostics if each.code == "AF401"]

    assert [each.arguments["way"] for each in found] == ["b → c → a → b", "self → self"]
    assert found[0].edge == "a.out>b.in"


# --- injection ---


@pytest.mark.parametrize(
    ("clock", "severity"),
    [("real", Severity.ERROR), ("virtual", Severity.HINT), (None, Severity.HINT)],
)
def test_a_missing_key_is_an_error_only_for_a_real_run(
    clock: Any, severity: Severity, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sentence names the variable."""
    monkeypatch.delenv("WELL_KEY", raising=False)

    compiled = check(asking(key="WELL_KEY"), clock=clock)

    (found,) = [each for each in compiled.diagnostics if each.code == "AF505"]
    assert (found.severity, found.node) == (severity, "asks")
    assert "WELL_KEY" in found.message


def test_a_key_is_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a good one nor one that is only blanks."""
    monkeypatch.setenv("WELL_KEY", "sesame")
    assert check(asking(key="WELL_KEY"), clock="real").diagnostics == ()

    monkeypatch.setenv("WELL_KEY", "  ")
    assert codes(check(asking(key="WELL_KEY"), clock="real")) == ["AF505"]


def test_a_key_may_be_in_the_keyring(memory_keyring: MemoryKeyring) -> None:
    """What was stored there by the studio is as good as a variable."""
    graph = asking(key="WELL_KEY")
    before = codes(check(graph, clock="real"))
    memory_keyring.set_password("aiflow", "WELL_KEY", "sesame")

    assert before == ["AF505"]
    assert check(graph, clock="real").diagnostics == ()


@pytest.mark.parametrize(
    ("clock", "severities"),
    [("real", []), ("virtual", [Severity.ERROR] * 2), (None, [Severity.HINT] * 2)],
)
def test_what_a_clock_rules_out_depends_on_the_clock(clock: Any, severities: list[str]) -> None:
    """The operator needs a socket and the well is too deep for the virtual clock."""
    compiled = check(asking(depth=101), clock=clock)

    assert [each.severity for each in compiled.diagnostics] == severities
    assert codes(compiled) == (["AF506"] if severities else [])


@pytest.mark.parametrize(
    ("change", "code", "says"),
    [
        (lambda g: edits.set_resource(g, "asks", "water", None), "AF501", "none is given"),
        (lambda g: edits.remove_resource(g, "well"), "AF501", "none is given"),
        (lambda g: edits.set_resource_params(g, "well", {"depth": 0}), "AF504", "depth"),
        (lambda g: edits.set_resource_params(g, "well", {"dept": 1}), "AF504", "dept"),
        (lambda g: edits.set_resource_params(g, "well", {"depth": 13}), "AF507", "thirteen"),
        (lambda g: edits.set_resource(g, "spring", "water", "well"), "AF508", "does not ask"),
    ],
)
def test_resources_are_held_to_what_is_asked(change: Any, code: str, says: str) -> None:
    """One finding each, at the node."""
    compiled = check(change(asking()), clock="real")

    (found,) = compiled.diagnostics
    assert found.code == code
    assert says in found.message
    assert found.node in ("asks", "spring")


def test_a_resource_of_another_kind_is_refused() -> None:
    """`asks` wants a well, not a pond."""
    made = edits.add_resource(asking(), "pond")
    made = edits.set_resource(made, "asks", "water", "pond")

    (found,) = check(made, clock="real").diagnostics

    assert found.code == "AF502"
    assert found.message == "node asks needs a well as water, but pond is of the kind pond"


def tanked(**params: Any) -> Graph:
    """Return a graph whose node asks for a well and is handed a tank."""
    made = edits.add_resource(asking(), "tank", params=params)
    return edits.set_resource(made, "asks", "water", "tank")


def test_a_resource_can_stand_in_for_another_kind() -> None:
    """It says for which; where it is the only one that fits, it is what the fix takes."""
    assert check(tanked(), clock="real").diagnostics == ()

    alone = edits.set_resource(edits.remove_resource(tanked(), "well"), "asks", "water", None)
    (found,) = check(alone, clock="real").diagnostics

    assert found.code == "AF501"
    assert found.fix is not None
    assert found.fix.apply(alone).nodes["asks"].resources == {"water": "tank"}


@pytest.mark.parametrize(
    ("clock", "severity"),
    [("real", Severity.ERROR), ("virtual", Severity.HINT), (None, Severity.HINT)],
)
def test_what_this_machine_lacks_stops_only_a_run_on_it(clock: Any, severity: Severity) -> None:
    """The graph is right, and another machine may have it."""
    found = check(tanked(depth=11), clock=clock).diagnostics
    (lacking,) = [each for each in found if each.code == "AF507"]

    assert lacking.severity is severity
    assert lacking.message == (
        "resource tank cannot start on this machine: there is no pump; buy one"
    )


def test_what_nobody_is_handed_may_lack_what_it_likes() -> None:
    """It is not started."""
    unused = edits.set_resource(tanked(depth=11), "asks", "water", "well")

    assert check(unused, clock="real").diagnostics == ()


def sipping(given: str | None) -> Graph:
    """Return a graph with a node that is handed this as the water that it can do without."""
    resources = {} if given is None else {"water": given}
    made = graph(
        "spring.out>sips.in",
        spring={"operator": "spring", "params": {"limit": 1}},
        sips={"operator": "sips", "resources": resources},
    )
    return edits.add_resource(edits.add_resource(made, "well"), "pond")


@pytest.mark.parametrize(
    ("given", "expected"),
    [(None, []), ("well", []), ("pond", ["AF502"]), ("gone", ["AF501"])],
)
def test_what_an_operator_can_do_without_must_fit_where_it_is_given(
    given: str | None, expected: list[str]
) -> None:
    """None is no finding; another kind and one that is not there are."""
    assert codes(check(sipping(given))) == expected


def test_the_plan_holds_what_is_given_and_starts_no_more() -> None:
    """A resource that nobody is handed is not started."""
    for given, resources in (("well", {"water": "well"}), (None, {})):
        plan = check(sipping(given)).plan
        assert plan is not None
        assert plan.nodes["sips"].resources == resources
        assert set(plan.resources) == set(resources.values())


# --- capacity ---


@pytest.mark.parametrize(
    ("limit", "most", "policy", "expected"),
    [
        (1, 8, {}, []),
        (4, 1, {}, []),
        (4, 8, {}, ["AF603"]),
        (4, 8, {"queue_capacity": 4, "workers": 4}, []),
        (4, 8, {"queue_capacity": 4, "workers": 2, "reorder_capacity": 2}, []),
        (4, 8, {"queue_capacity": 3, "workers": 4}, ["AF603"]),
        (4, 2, {"queue_capacity": 2, "workers": 2}, []),
    ],
)
def test_conversations_want_places(
    limit: int, most: int, policy: dict[str, Any], expected: list[str]
) -> None:
    """As many as can be active at once, by what the sources open and the graph allows."""
    made = graph(
        "spring.out>drain.in",
        spring={"operator": "spring", "params": {"limit": limit}},
        drain={"operator": "drain", "policy": policy},
    )

    compiled = check(edits.set_max_conversations(made, most))

    assert codes(compiled) == expected
    assert compiled.plan is not None
