"""Tests of `aiflow.compiler.compile`, with operators of their own."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest
from hypothesis import given

from aiflow.compiler.compile import compile
from aiflow.compiler.diagnostics import Severity
from aiflow.errors import PluginError
from aiflow.graph import edits
from aiflow.graph.model import Graph
from aiflow.graph.shipped import graphs_dir
from aiflow.operators.base import Operator, Params, Port
from aiflow.operators.registry import Catalog
from aiflow.policies import Overflow, SideEffects, State
from aiflow.types import ANY, TOKEN
from tests.runtime.compiler.parts import CATALOG, Spring, chain, check, codes, graph
from tests.runtime.graph.drawn import graphs


@given(graphs())
def test_no_graph_makes_it_raise(drawn: Graph) -> None:
    """And there is a plan exactly when nothing is an error."""
    before = copy.deepcopy(drawn)

    compiled = check(drawn)

    assert (compiled.plan is None) == bool(compiled.errors)
    assert (compiled.bound is None) == (compiled.plan is None)
    assert drawn == before


def test_a_plan_has_all_that_the_engine_reads() -> None:
    """Topological order, edges in document order, names resolved."""
    made = graph(
        "middle.out>drain.in",
        "spring.out>middle.in",
        "middle.out>drain-2.in",
        drain="drain",
        drain_2={"operator": "drain", "policy": {"overflow": "drop_newest", "workers": 3}},
        middle="pass",
        spring={"operator": "spring", "params": {"limit": 1}},
    )
    made = edits.set_fanout(made, "middle.out>drain-2.in", "detached")

    plan = check(made).plan

    assert plan is not None
    assert list(plan.nodes) == ["spring", "middle", "drain", "drain-2"]
    assert list(plan.edges) == list(made.edges)
    assert plan.nodes["middle"].edges_out == {
        "out": ("middle.out>drain.in", "middle.out>drain-2.in")
    }
    assert plan.nodes["middle"].inputs == ("in",)
    assert plan.nodes["spring"].is_source
    assert plan.nodes["drain-2"].policy.overflow is Overflow.DROP_NEWEST
    assert [edge.overflow for edge in plan.edges.values()] == [None, None, Overflow.DROP_OLDEST]
    assert plan.edges["middle.out>drain.in"].type == TOKEN
    assert plan.max_conversations == 8


def test_a_node_has_its_operators_state_unless_it_says_otherwise() -> None:
    """Nobody has to repeat what the operator declares."""
    plan = check(chain(operator="both")).plan

    assert plan is not None
    assert plan.nodes["middle"].policy.state is State.SERIALIZED
    assert plan.nodes["middle"].side_effects is SideEffects.IDEMPOTENT


def test_every_sink_is_measured_unless_some_are_named() -> None:
    """`measure` narrows it down."""
    made = graph(
        "spring.out>a.in",
        "spring.out>b.in",
        **{"spring": "spring", "a": "drain", "b": "drain"},
    )

    every, one = check(made).plan, check(edits.set_measure(made, ["b"])).plan

    assert every is not None
    assert one is not None
    assert [id for id, node in every.nodes.items() if node.is_measured] == ["a", "b"]
    assert [id for id, node in one.nodes.items() if node.is_measured] == ["b"]


def test_a_disabled_node_is_left_out_with_its_edges() -> None:
    """As if it were not there, whatever is wrong with it."""
    made = edits.add_node(chain(), "nonsense", id="extra", params={"a": 1})
    made = edits.connect(made, "spring.out", "extra.in")
    made = edits.set_disabled(made, "extra", True)

    compiled = check(made)

    assert compiled.diagnostics == ()
    assert compiled.plan is not None
    assert set(compiled.plan.nodes) == {"spring", "middle", "drain"}
    assert "spring.out>extra.in" not in compiled.plan.edges


def test_a_disabled_sink_is_not_measured() -> None:
    """A warning says so, and the others are measured."""
    made = edits.add_node(chain(), "drain", id="other")
    made = edits.connect(made, "middle.out", "other.in")
    made = edits.set_measure(edits.set_disabled(made, "other", True), ["other"])

    compiled = check(made)

    assert [(each.code, each.severity) for each in compiled.diagnostics] == [
        ("AF112", Severity.WARNING)
    ]
    assert compiled.plan is not None
    assert compiled.plan.nodes["drain"].is_measured


def test_several_edges_may_lead_into_one_input() -> None:
    """They are merged; the queue has one lane for the port."""
    made = graph(
        "spring.out>drain.in",
        "more.out>drain.in",
        **{"spring": "spring", "more": "spring", "drain": "drain"},
    )
    made = edits.set_max_conversations(made, 1)

    compiled = check(made)

    assert compiled.diagnostics == ()
    assert compiled.plan is not None
    assert compiled.plan.nodes["drain"].inputs == ("in",)


def test_warnings_and_hints_can_be_accepted_at_their_node() -> None:
    """An error cannot."""
    hinted = chain(policy={"reorder_capacity": 4})
    wrong = chain(policy={"queue_capacity": 0})

    accepted = edits.suppress(hinted, "middle", "AF602", "kept for later")
    refused = edits.suppress(wrong, "middle", "AF205", "no")

    assert codes(check(hinted)) == ["AF602"]
    assert codes(check(accepted)) == []
    assert codes(check(edits.suppress(hinted, "drain", "AF602"))) == ["AF602"]
    assert codes(check(refused)) == ["AF205"]


def test_errors_come_first() -> None:
    """The first diagnostic is the one to mend first."""
    made = chain(policy={"reorder_capacity": 4}, polcy={})
    made = edits.set_measure(edits.add_node(made, "drain", id="lost"), ["middle"])

    severities = [each.severity for each in check(made).diagnostics]

    assert severities == sorted(severities, key=list(Severity).index)
    assert set(severities) == set(Severity)


def test_paths_start_from_the_graph_then_from_the_shipped_graphs(tmp_path: Path) -> None:
    """Operators and resources are told where to look, the current folder without a base."""
    made = chain()

    there = check(made, base=tmp_path).plan
    here = check(made).plan

    assert there is not None
    assert here is not None
    assert there.nodes["middle"].operator.folders == (tmp_path, graphs_dir())
    assert here.nodes["middle"].operator.folders == (Path.cwd(), graphs_dir())


def test_a_resource_is_made_anew_for_each_run() -> None:
    """What was made to be asked is not what runs."""
    made = edits.add_resource(chain(), "well", params={"depth": 2})
    made = edits.add_node(made, "asks", id="asks")
    made = edits.connect(made, "middle.out", "asks.in")
    made = edits.set_resource(made, "asks", "water", "well")
    made = edits.add_resource(made, "pond")

    plan = check(made).plan

    assert plan is not None
    assert list(plan.resources) == ["well"]
    assert plan.nodes["asks"].resources == {"water": "well"}
    first, second = plan.resources["well"].make(), plan.resources["well"].make()
    assert first is not second
    assert (first.id, first.params.depth) == ("well", 2)


def test_a_broken_plugin_is_named_by_its_package() -> None:
    """As a warning, because the graph may not need it."""
    broken = PluginError("shiny", "shiny-nodes", "ImportError: no gloss")
    catalog = Catalog(CATALOG.operators, CATALOG.resources, [broken])

    compiled = compile(chain(), catalog)

    assert compiled.plan is not None
    (found,) = compiled.diagnostics
    assert (found.code, found.severity) == ("AF101", Severity.WARNING)
    assert "shiny of shiny-nodes cannot be loaded: ImportError: no gloss" in found.message


class Bomb(Operator[Params]):
    """Breaks whenever it is asked."""

    name = "bomb"
    inputs = (Port("in", ANY),)

    def __init__(self, params: Params, folders: object = ()) -> None:
        raise RuntimeError("boom")


def test_an_operator_that_breaks_is_a_finding() -> None:
    """A plug-in's mistake is named at its node."""
    made = graph("spring.out>bomb.in", spring="spring", bomb="bomb")

    compiled = compile(made, Catalog.of(Spring, Bomb))

    found = compiled.errors[0]
    assert (found.code, found.node) == ("AF202", "bomb")
    assert "RuntimeError: boom" in found.message


def test_a_diagnostic_is_plain_values_for_json() -> None:
    """What `aiflow check --json` prints, and arguments for a translation."""
    (found,) = check(chain(policy={"queue_size": 3})).diagnostics

    assert found.to_dict() == {
        "code": "AF204",
        "severity": "error",
        "node": "middle",
        "edge": None,
        "field": "queue_size",
        "message": "the policy of node middle has a member queue_size, which does not exist",
        "hint": found.hint,
    }
    assert found.arguments["field"] == "queue_size"


@pytest.mark.parametrize("text", ["{", "{0}", "{node.__class__}", "%s", "\\"])
def test_names_with_braces_are_shown_as_they_are(text: str) -> None:
    """What a person wrote is never read as a template."""
    compiled = check(chain(operator=text, params={text: 1}, policy={text: 2}))

    assert any(text in each.message for each in compiled.errors)


def test_a_sentence_stays_short_however_long_the_names_are() -> None:
    """A text from the file is cut in the sentence, not in the fields that a program reads."""
    long = edits.add_node(Graph(), "x" * 10_000, id="n")

    found = next(each for each in check(long).diagnostics if each.code == "AF101")

    assert len(found.message) < 500
    assert found.arguments["operator"] == "x" * 10_000
