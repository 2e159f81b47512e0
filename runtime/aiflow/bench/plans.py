"""The plans that are measured: a source, operators in a row, a sink, made without a compiler."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from aiflow.bench.chain import WORKERS
from aiflow.compiler.plan import EdgePlan, NodePlan, Plan
from aiflow.operators.base import NoParams, Operator, Port, Source
from aiflow.operators.scope import Scope
from aiflow.policies import Policy, Retry, SideEffects
from aiflow.types import ANY

#: A node of a row: its id, its operator, its policy.
Step = tuple[str, Operator[Any], Policy]

_IN = (Port("in", ANY),)
_OUT = (Port("out", ANY),)


def same(payload: Any) -> Any:  # noqa: ANN401 - payloads are any type
    """Return the payload: the work of both sides."""
    return payload


def twice(payload: Any) -> list[Any]:  # noqa: ANN401 - payloads are any type
    """Return two outputs."""
    return [payload, payload]


async def awaited(payload: Any) -> Any:  # noqa: ANN401 - payloads are any type
    """Return the payload without waiting."""
    return payload


async def suspended(payload: Any) -> Any:  # noqa: ANN401 - payloads are any type
    """Give way once, then return the payload."""
    await asyncio.sleep(0)
    return payload


class _Same(Operator[NoParams]):
    name = "same"
    inputs, outputs = _IN, _OUT

    def process(self, payload: Any, scope: Scope) -> Any:  # noqa: ANN401 - payloads are any type
        return payload


class _Twice(_Same):
    max_outputs = 2

    def process(self, payload: Any, scope: Scope) -> Any:  # noqa: ANN401 - payloads are any type
        return [payload, payload]


class _Awaits(_Same):
    async def process(self, payload: Any, scope: Scope) -> Any:  # noqa: ANN401 - payloads are any type
        return payload


class _Suspends(_Same):
    async def process(self, payload: Any, scope: Scope) -> Any:  # noqa: ANN401 - payloads are any type
        await asyncio.sleep(0)
        return payload


class Sink(Operator[NoParams]):
    """Hand each payload to a function."""

    name = "taken"
    inputs = _IN

    def __init__(self, taken: Callable[[Any], None]) -> None:
        super().__init__(NoParams())
        self._taken = taken

    def process(self, payload: Any, scope: Scope) -> None:  # noqa: ANN401 - payloads are any type
        """Hand it on."""
        self._taken(payload)


class Payloads(Source[NoParams]):
    """Send payloads, as fast as they are taken."""

    name = "payloads"
    outputs = _OUT

    def __init__(self, payloads: Sequence[Any], conversations: int) -> None:
        super().__init__(NoParams())
        self._payloads = payloads
        self._conversations = conversations

    def conversations(self) -> int:
        """Return how many the source opens."""
        return self._conversations

    def stream(self, scope: Scope) -> Iterator[Any]:
        """Return them all."""
        return iter(self._payloads)


@dataclass(frozen=True, slots=True)
class Stage:
    """One operator between source and sink: `plain lists queued awaits suspends ordered`."""

    kind: str
    capacity: int

    _OPERATORS: ClassVar[dict[str, type[Operator[Any]]]] = {
        "plain": _Same,
        "lists": _Twice,
        "queued": _Same,
        "awaits": _Awaits,
        "suspends": _Suspends,
        "ordered": _Suspends,
    }
    _BY_HAND: ClassVar[dict[str, tuple[str, Callable[[Any], Any]]]] = {
        "plain": ("plain", same),
        "lists": ("lists", twice),
        "queued": ("plain", same),
        "awaits": ("awaits", awaited),
        "suspends": ("awaits", suspended),
        "ordered": ("ordered", suspended),
    }

    def operator(self) -> Operator[Any]:
        """Return the operator that the engine runs."""
        return self._OPERATORS[self.kind](NoParams())

    def by_hand(self) -> tuple[str, Callable[[Any], Any]]:
        """Return kind and function of the same work in the chain of queues."""
        return self._BY_HAND[self.kind]

    def policy(self) -> Policy:
        """Return the node's policy."""
        is_ordered = self.kind == "ordered"
        return Policy(
            queue_capacity=self.capacity,
            workers=WORKERS if is_ordered else 1,
            reorder_capacity=WORKERS if is_ordered else 0,
            # A node with a time limit never runs inline: that is the way through its queue.
            retry=Retry(timeout_s=60.0) if self.kind == "queued" else Retry(),
        )


def chain_plan(
    payloads: Sequence[Any],
    stages: Sequence[Stage],
    sink: Stage,
    taken: Callable[[Any], None],
    conversations: int = 1,
) -> Plan:
    """Return a source, the stages and a sink in a row.

    Args:
        payloads: that each conversation gets.
        stages: between source and sink.
        sink: where its capacity comes from.
        taken: called with what comes out.
        conversations: that the source opens, all at once.
    """
    operators: list[Step] = [("source", Payloads(payloads, conversations), Policy())]
    operators += [
        (f"stage-{number}", stage.operator(), stage.policy())
        for number, stage in enumerate(stages, 1)
    ]
    operators.append(("sink", Sink(taken), Policy(queue_capacity=sink.capacity)))
    return plan_of([operators], conversations)


def plan_of(rows: Sequence[Sequence[Step]], conversations: int = 1) -> Plan:
    """Return a plan of rows beside each other: a source, operators, and a sink.

    Args:
        rows: (node, operator, policy) of each row, in order; ids are unique in the plan.
        conversations: that may be open at once.
    """
    edges = {}
    for row in rows:
        for (before, _, _), (after, _, _) in itertools.pairwise(row):
            edge = EdgePlan(f"{before}.out>{after}.in", before, "out", after, "in", ANY)
            edges[edge.id] = edge
    nodes = {
        name: NodePlan(
            name,
            operator,
            policy,
            SideEffects.NONE,
            policy.queue_capacity,
            inputs=tuple(port.name for port in operator.inputs),
            edges_out={"out": tuple(id_ for id_ in edges if id_.startswith(f"{name}."))}
            if operator.outputs
            else {},
            resources={},
        )
        for row in rows
        for name, operator, policy in row
    }
    bound = sum(
        node.policy.queue_capacity + node.policy.workers + node.policy.reorder_capacity
        for node in nodes.values()
        if not node.is_source
    )
    bound += conversations * len(rows)
    return Plan("bench", nodes, edges, {}, conversations, bound)
