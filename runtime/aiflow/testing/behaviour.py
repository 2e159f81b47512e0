"""What an operator must do under the engine, as one check that its author can run.

`check_operator` runs an operator alone on the virtual clock, between a source and a sink for each
of its out-ports: once, with workers beside each other, with two conversations at once, with
nothing to do, and cancelled at every turn of the loop. It raises with all that is wrong, so it
is one line of a test. What the operator makes of its payloads is for a test of its own.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from typing import Any

import msgspec

from aiflow.clock import VirtualLoop
from aiflow.compiler.plan import Plan
from aiflow.engine.injecting import misfit
from aiflow.engine.session import Session
from aiflow.metrics.snapshot import Snapshot
from aiflow.operators.base import Operator, Source
from aiflow.operators.scope import Scope
from aiflow.policies import State
from aiflow.testing.plans import PlanBuilder

#: Cancels that are tried, and turns of the loop in all of them; a longer run is sampled.
MOST_CANCELS, MOST_TURNS = 60, 5_000
_SOURCE = "source-of-the-check"

#: What left in each conversation, by out-port.
Outputs = dict[str, dict[str, list[Any]]]


def check_operator(
    operator: Operator[Any],
    payloads: Iterable[object] = (),
    *,
    resources: Mapping[str, Callable[[], Any]] | None = None,
    seed: int = 0,
) -> None:
    """Hold an operator to what the engine relies on.

    Args:
        operator: with valid params; it must be able to run on the virtual clock.
        payloads: what comes in, by the first in-port; by all of them where it joins. None for a
            source.
        resources: what it requires -> what makes a fake of it.
        seed: key of its randomness.

    Raises:
        AssertionError: with a line for each thing that is wrong.
    """
    faults = behaviour_faults(operator, payloads, resources=resources, seed=seed)
    if faults:
        listed = "".join(f"\n- {fault}" for fault in faults)
        raise AssertionError(f"the operator {operator.name} does not keep its contract:{listed}")


def behaviour_faults(
    operator: Operator[Any],
    payloads: Iterable[object] = (),
    *,
    resources: Mapping[str, Callable[[], Any]] | None = None,
    seed: int = 0,
) -> list[str]:
    """Return what `check_operator` raises with, one clause each; empty where all is well."""
    bench = _Bench(operator, list(payloads), resources or {}, seed)
    before = _kept_on(operator)
    alone = bench.run(("c1",))
    if alone.snapshot.phase != "completed":
        return [f"a run of it fails: {alone.snapshot.error or alone.snapshot.phase}"]
    faults = [*_type_faults(operator, alone), *_kept_faults(operator, alone)]
    if not isinstance(operator, Source):
        faults += [*_sharing_faults(bench, alone), *_emptiness_faults(bench)]
    faults += _cancel_faults(bench, alone.turns)
    if any(before.get(name) != value for name, value in _kept_on(operator).items()):
        faults.append("it keeps something on itself; what it must remember belongs in scope.state")
    return faults


class _Run:
    """One run of the operator and what came of it."""

    def __init__(self, session: Session, outputs: Outputs, log: list[str]) -> None:
        self.session = session
        self._outputs = outputs
        self.log = log
        self.turns = 0
        self.left: list[str] = []
        self.snapshot: Snapshot = session.snapshot()

    def outputs(self, conversation: str = "c1") -> dict[str, list[Any]]:
        """Return what left in a conversation, by out-port."""
        return {port: list(found) for port, found in self._outputs[conversation].items() if found}


class _Bench:
    """Runs an operator between a source and sinks."""

    def __init__(
        self,
        operator: Operator[Any],
        payloads: list[object],
        resources: Mapping[str, Callable[[], Any]],
        seed: int,
    ) -> None:
        self.operator = operator
        self._payloads = payloads
        self._resources = resources
        self._seed = seed

    def run(
        self, conversations: tuple[str, ...], workers: int = 1, cancel_at: int | None = None
    ) -> _Run:
        """Run it to the end.

        Args:
            conversations: those that get the payloads, of c1 and c2.
            workers: k; ρ is as large where it is more than 1.
            cancel_at: turn of the loop at which c1 is cancelled, None for never.
        """
        outputs: Outputs = defaultdict(lambda: defaultdict(list))
        log: list[str] = []
        plan = self._plan(conversations, workers, outputs)
        run = _Run(Session(plan, seed=self._seed, log=log.append), outputs, log)
        with asyncio.Runner(loop_factory=lambda: _CountingLoop(run, cancel_at)) as runner:
            runner.run(_go(run))
        return run

    def _plan(self, conversations: tuple[str, ...], workers: int, outputs: Outputs) -> Plan:
        operator = self.operator
        builder = PlanBuilder(2)
        for name, make in self._resources.items():
            builder.resource(name, make)
        policy: dict[str, Any] = {"workers": workers, "state": operator.state}
        if workers > 1:
            policy["reorder_capacity"] = workers
        if operator.inputs:

            def stream(scope: Scope) -> Iterator[object]:
                yield from self._payloads if scope.conversation in conversations else ()

            builder.source(_SOURCE, stream, conversations=2)
            policy["queue_capacity"] = 4 * len(operator.inputs)
        builder.operator(operator.name, operator, **policy)
        joins = operator.joins() is not None
        for port in operator.inputs if joins else operator.inputs[:1]:
            builder.edge(_SOURCE, f"{operator.name}.{port.name}")
        for port in operator.outputs:

            def take(payload: object, scope: Scope, name: str = port.name) -> None:
                outputs[scope.conversation][name].append(payload)

            builder.sink(f"out-{port.name}", take).edge(
                f"{operator.name}.{port.name}", f"out-{port.name}"
            )
        return builder.build()


class _CountingLoop(VirtualLoop):
    """Counts its turns, and cancels a conversation at one of them."""

    def __init__(self, run: _Run, cancel_at: int | None) -> None:
        super().__init__()
        self._counted = run
        self._cancel_at = cancel_at

    def _run_once(self) -> None:
        run = self._counted
        run.turns += 1
        if run.turns == self._cancel_at:
            with contextlib.suppress(Exception):  # not begun yet, or over
                run.session.cancel("c1")
        super()._run_once()  # type: ignore[misc]


async def _go(run: _Run) -> None:
    before = asyncio.all_tasks()
    run.snapshot = await run.session.run()
    left = asyncio.all_tasks() - before
    run.left = [task.get_name() for task in left]
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)


def _kept_on(operator: Operator[Any]) -> dict[str, Any]:
    """Return a copy of what an operator has on itself, as far as it can be copied and compared."""
    kept = {}
    for name, value in vars(operator).items():
        with contextlib.suppress(Exception):  # an author's classes, which do what they like
            copied = deepcopy(value)
            if copied == value:
                kept[name] = copied
    return kept


def _type_faults(operator: Operator[Any], run: _Run) -> Iterator[str]:
    for port in operator.outputs:
        found = (misfit(each, port.type) for each in run.outputs().get(port.name, ()))
        if (given := next(filter(None, found), None)) is not None:
            yield f"a {given} leaves by its port {port.name}, which declares {port.type}"


def _kept_faults(operator: Operator[Any], run: _Run) -> Iterator[str]:
    """Yield a fault where `finish` tells what nobody has counted into the bound."""
    told = 0
    for line in run.log:
        record = msgspec.json.decode(line)
        if record["node"] == operator.name:
            told = told + 1 if record["record"] == "emitted" else told
            told = 0 if record["record"] == "settled" else told
    kept = operator.kept_events()
    # What is folded into one, as a sum is, keeps no event.
    if not isinstance(operator, Source) and told > max(kept, operator.max_outputs):
        yield f"its finish tells {told} more, and its kept_events says that it keeps {kept}"


def _sharing_faults(bench: _Bench, alone: _Run) -> Iterator[str]:
    """Yield a fault where other workers or another conversation change what comes out."""
    operator = bench.operator
    if operator.balances():
        return  # which way an output takes depends on who is busy
    if operator.state is State.STATELESS:
        beside = bench.run(("c1",), workers=4)
        if beside.outputs() != alone.outputs():
            yield (
                "with 4 workers something else comes out than with one;"
                " its state is not stateless, or it uses what is not its own"
            )
    other, both = bench.run(("c2",)), bench.run(("c1", "c2"))
    if (both.outputs(), both.outputs("c2")) != (alone.outputs(), other.outputs("c2")):
        yield "beside another conversation something else comes out than without"


def _emptiness_faults(bench: _Bench) -> Iterator[str]:
    empty = bench.run(())
    if empty.snapshot.phase != "completed":
        yield f"a conversation without events fails: {empty.snapshot.error}"


def _cancel_faults(bench: _Bench, turns: int) -> Iterator[str]:
    """Yield the first fault of a run that is cancelled at some turn of the loop."""
    cancels = max(1, min(MOST_CANCELS, MOST_TURNS // turns))
    for at in range(1, turns + 1, max(1, turns // cancels)):
        run = bench.run(("c1",), cancel_at=at)
        stuck = "; ".join(map(str, run.session.stuck()))
        if run.snapshot.phase == "failed" or stuck:
            yield f"cancelled at turn {at} of the loop, it fails: {stuck or run.snapshot.error}"
            return
        if run.left or run.snapshot.in_flight:
            yield f"cancelled at turn {at} of the loop, it leaves {run.left or 'events'} behind"
            return
