"""Run one operator by itself on the virtual clock, without graph, compiler or engine.

What an operator promises under load (bounds, order, backpressure) is the engine's to keep
and is tested there; here is what it makes of its payloads.
"""

from __future__ import annotations

import asyncio
import inspect
import random
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from aiflow.clock import VirtualClock, VirtualLoop
from aiflow.operators.base import Emit, NextTurn, Operator, Source
from aiflow.operators.scope import Scope


@dataclass(slots=True)
class OperatorRun:
    """What one operator made of one conversation.

    Attributes:
        outputs: (port, payload) in the order in which they came.
        times: when each output came, virtual seconds from the start.
        arrived: of a source, each output's time of arrival.
        turns: number of the turn that each output belongs to.
        shown: all that it showed, in a row.
        kept: lowest kept sequence as reported after each call; None where nothing was.
        marks: what a source marked -> when.
        took_s: virtual seconds from the first call to the last return.
    """

    outputs: list[tuple[str, object]] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    arrived: list[float] = field(default_factory=list)
    turns: list[int] = field(default_factory=list)
    shown: str = ""
    kept: list[int | None] = field(default_factory=list)
    marks: dict[str, float] = field(default_factory=dict)
    took_s: float = 0.0

    def at(self, port: str) -> list[Any]:
        """Return the payloads that left by one port."""
        return [payload for name, payload in self.outputs if name == port]


def run_operator(
    operator: Operator[Any],
    payloads: Iterable[object] = (),
    *,
    outputs: Iterable[str] | None = None,
    resources: Mapping[str, object] | None = None,
    seed: int = 0,
    run_input: str | None = None,
) -> OperatorRun:
    """Feed payloads to an operator one by one and finish it; or let a source stream.

    Args:
        operator: with valid params. A source gets no payloads.
        payloads: come in by the first in-port, sequences from 0.
        outputs: connected out-ports; None is all of them.
        resources: what it requires, by name, already started.
        seed: key of its randomness.
        run_input: the text that the run was given.
    """
    connected = {port.name for port in operator.outputs} if outputs is None else set(outputs)
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        loop = runner.get_loop()
        assert isinstance(loop, VirtualLoop)
        scope = Scope(operator.name, VirtualClock(loop), resources, frozenset(connected))
        scope.conversation = "c1"
        scope.input = run_input
        scope.state = operator.new_state()
        harness = _Harness(operator, scope, seed)
        return runner.run(harness.run(list(payloads)))


class _Harness:
    """One operator, its scope and what came of them."""

    def __init__(self, operator: Operator[Any], scope: Scope, seed: int) -> None:
        self._operator = operator
        self._scope = scope
        self._seed = seed
        self._result = OperatorRun()
        self._kept: int | None = None
        scope._show = self._show  # noqa: SLF001 - the harness stands in for the guardian
        scope._keep = self._keep  # noqa: SLF001
        scope._mark = self._result.marks.__setitem__  # noqa: SLF001
        scope._emit = self._emit  # noqa: SLF001

    async def run(self, payloads: list[object]) -> OperatorRun:
        scope, result = self._scope, self._result
        began = scope.clock.now()
        scope.random = random.Random(f"{self._seed}")
        if isinstance(self._operator, Source):
            await self._collect(self._operator.stream(scope))
        else:
            for sequence, payload in enumerate(payloads):
                scope.port = self._operator.inputs[0].name
                scope.sequence = sequence
                scope.created_at = scope.clock.now()
                scope.random = random.Random(f"{self._seed} {sequence}")
                await self._collect(self._operator.process(payload, scope))
                result.kept.append(self._kept)
            scope.port = ""
            await self._collect(self._operator.finish(scope))
            result.kept.append(self._kept)
        result.took_s = scope.clock.now() - began
        return result

    async def _collect(self, made: Any) -> None:  # noqa: ANN401 - whatever an operator returns
        if inspect.isawaitable(made):
            made = await made
        if isinstance(made, AsyncIterator):
            async with aclosing(made) as outputs:  # type: ignore[type-var]
                async for output in outputs:
                    self._emit(output)
        elif isinstance(made, list | Iterator):
            for output in made:
                self._emit(output)
        elif made is not None:
            self._emit(made)

    def _emit(self, output: object, port: str | None = None) -> None:
        arrived = None
        if isinstance(output, NextTurn):
            self._scope.turn += 1
            return
        if isinstance(output, Emit):
            port, output, arrived = output
        if port is None:
            port = self._operator.outputs[0].name
        now = self._scope.clock.now()
        self._result.outputs.append((port, output))
        self._result.times.append(now)
        self._result.turns.append(self._scope.turn)
        self._result.arrived.append(now if arrived is None else arrived)

    def _show(self, text: str) -> None:
        self._result.shown += text

    def _keep(self, sequence: int | None) -> None:
        self._kept = sequence
