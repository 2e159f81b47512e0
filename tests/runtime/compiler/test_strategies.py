"""Tests of `aiflow.compiler.strategies` and `aiflow.compiler.bound`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from aiflow.compiler.bound import node_bound
from aiflow.compiler.plan import NodePlan, Plan
from aiflow.compiler.strategies import STRATEGIES, Store, apply_strategy
from aiflow.graph import edits
from aiflow.operators.base import Emit
from aiflow.operators.scope import Scope
from aiflow.policies import Overflow, Policy, SideEffects
from aiflow.types import MESSAGE, TOKEN
from tests.runtime.compiler.parts import Both, LimitParams, Pass, Spring, check, graph


@pytest.fixture
def plan() -> Plan:
    """A source with two ports, a join of both, and two sinks, one of them detached."""
    made = graph(
        "spring.out>both.left",
        "spring.whole>both.right",
        "spring.out>seen.in",
        "both.out>drain.in",
        spring={"operator": "spring", "params": {"limit": 1}},
        both={"operator": "both", "policy": {"queue_capacity": 4}},
        seen={"operator": "drain", "policy": {"overflow": "drop_newest", "workers": 3}},
        drain="drain",
    )
    made = edits.set_fanout(edits.set_max_conversations(made, 2), "spring.out>seen.in", "detached")
    compiled = check(made)
    assert compiled.plan is not None, [each.message for each in compiled.errors]
    return compiled.plan


def test_the_bound_adds_up(plan: Plan) -> None:
    """C for the source, q + k + ρ each, k·(m − 1) further outputs, C × what is kept."""
    assert plan.bound == 2 + (4 + 1 + 2 + 2 * 3) + (8 + 3) + (8 + 1)


@pytest.mark.parametrize(
    ("operator", "policy", "bound"),
    [
        (Spring(LimitParams()), Policy(queue_capacity=50), 5),
        (Pass(LimitParams()), Policy(queue_capacity=3, workers=4, reorder_capacity=2), 9),
        (Both(LimitParams(limit=7)), Policy(), 8 + 1 + 2 + 5 * 7),
    ],
)
def test_a_node_has_a_bound_of_its_own(operator: Any, policy: Policy, bound: int) -> None:
    """What the inspector shows; a source has no queue."""
    node = NodePlan("own", operator, policy, SideEffects.NONE, policy.queue_capacity)

    assert node_bound(node, max_conversations=5) == bound
    assert node_bound(replace(node, queue_capacity=None), 5) == (5 if node.is_source else None)


def test_aiflow_leaves_the_plan_as_it_is(plan: Plan) -> None:
    """It is what the graph says."""
    assert apply_strategy(plan, "aiflow") == plan


def test_unbounded_never_waits_and_never_drops(plan: Plan) -> None:
    """No queue has an end, so no edge needs to be detached."""
    made = apply_strategy(plan, "unbounded")

    assert made.strategy == "unbounded"
    assert made.bound is None
    assert all(node.queue_capacity is None for node in made.nodes.values())
    assert all(node.policy.overflow is Overflow.BLOCK for node in made.nodes.values())
    assert not any(edge.is_detached or edge.overflow for edge in made.edges.values())
    assert made.nodes["seen"].policy.workers == 3


def test_callback_carries_one_payload_at_a_time(plan: Plan) -> None:
    """Both q and k are 1, but each input keeps a place; the next payload waits."""
    made = apply_strategy(plan, "callback")

    assert {id: node.queue_capacity for id, node in made.nodes.items() if node.inputs} == {
        "both": 2,
        "seen": 1,
        "drain": 1,
    }
    assert all(node.policy.workers == 1 for node in made.nodes.values())
    assert made.nodes["both"].policy.queue_capacity == 2
    assert [node.max_in_flight for node in made.nodes.values()] == [1, None, None, None]
    assert made.bound == 2 + (2 + 1 + 2 + 2 * 3) + (1 + 1) + (1 + 1)


def test_aggregate_puts_a_store_behind_each_source(plan: Plan) -> None:
    """Its ports are the source's, the source's edges keep their ids, types are unchanged."""
    made = apply_strategy(plan, "aggregate")

    assert list(made.nodes) == ["spring", "spring:store", "both", "seen", "drain"]
    store = made.nodes["spring:store"]
    assert isinstance(store.operator, Store)
    assert store.inputs == ("out", "whole")
    assert [port.type for port in store.operator.outputs] == [TOKEN, MESSAGE]
    assert store.edges_out == plan.nodes["spring"].edges_out
    assert made.nodes["spring"].edges_out == {
        "out": ("spring.out>spring:store.out",),
        "whole": ("spring.whole>spring:store.whole",),
    }
    assert plan.edges.keys() < made.edges.keys()
    assert made.edges["spring.out>both.left"].source == "spring:store"
    assert made.edges["spring.out>both.left"].type == plan.edges["spring.out>both.left"].type
    assert (made.bound, made.strategy) == (None, "aggregate")


def test_every_edge_of_a_rewritten_plan_joins_what_is_there(plan: Plan) -> None:
    """Whatever the strategy: nodes list the edges that begin at them, and no others."""
    for strategy in STRATEGIES:
        made = apply_strategy(plan, strategy)
        listed = {
            (id, node.id, port)
            for node in made.nodes.values()
            for port, ids in (node.edges_out or {}).items()
            for id in ids
        }

        assert listed == {(e.id, e.source, e.source_port) for e in made.edges.values()}
        assert all(
            edge.target_port in made.nodes[edge.target].inputs for edge in made.edges.values()
        )


def test_a_strategy_leaves_the_plan_before_untouched(plan: Plan) -> None:
    """Plans are values."""
    nodes, edges = dict(plan.nodes), dict(plan.edges)

    for strategy in STRATEGIES:
        apply_strategy(plan, strategy)

    assert (plan.nodes, plan.edges, plan.strategy) == (nodes, edges, "aiflow")


def test_an_unknown_strategy_is_refused(plan: Plan) -> None:
    """With those there are."""
    with pytest.raises(ValueError, match="no strategy fast; choose aiflow, aggregate"):
        apply_strategy(plan, "fast")


class _Clock:
    is_virtual = True


def test_a_store_lets_go_in_the_order_of_the_source(plan: Plan) -> None:
    """Ports have lanes of their own, so events may arrive out of order; they leave in order."""
    store = apply_strategy(plan, "aggregate").nodes["spring:store"].operator
    scope = Scope("spring:store", _Clock())  # type: ignore[arg-type]
    kept: list[int | None] = []
    scope._keep = kept.append
    scope.state = store.new_state()

    for sequence, port, payload in [(1, "out", "b"), (3, "out", "d"), (0, "whole", "a")]:
        scope.sequence, scope.port = sequence, port
        assert store.process(payload, scope) is None
    released = list(store.finish(scope))

    assert released == [Emit("whole", "a"), Emit("out", "b"), Emit("out", "d")]
    assert kept == [1, 1, 0, 0, 1, 3, None]
    assert list(store.finish(scope)) == []
