"""`aiflow.run` and `aiflow.open`: a flow, a graph or a file, run by the program that has it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Literal

from aiflow.clock import VirtualLoop
from aiflow.compiler.compile import ClockName, compile
from aiflow.compiler.plan import Plan
from aiflow.compiler.strategies import apply_strategy
from aiflow.dsl.core import FlowCore
from aiflow.embedding.handover import Handover, SinkEvent, handing_over
from aiflow.engine.loops import close_loop
from aiflow.engine.outputs import OutputLine
from aiflow.engine.session import LAST_CHANCE_S, STOP_DEADLINE_S, Session
from aiflow.engine.status import Status
from aiflow.errors import CompileError, EngineError
from aiflow.graph.codec import load
from aiflow.graph.model import Graph
from aiflow.metrics.snapshot import Snapshot
from aiflow.operators.registry import Catalog

#: What can be run: a flow, a graph, the path of a graph's file, or a plan.
Runnable = FlowCore | Graph | Plan | str | os.PathLike[str]
StrategyName = Literal["aiflow", "aggregate", "callback", "unbounded"]


@dataclass(frozen=True, slots=True)
class Result:
    """How a run ended.

    Attributes:
        snapshot: every number at its end.
        shown: sink -> all the text that it showed.
    """

    snapshot: Snapshot
    shown: Mapping[str, str]

    @property
    def status(self) -> str:
        """`completed`, `failed` or `cancelled`."""
        return self.snapshot.phase

    @property
    def error(self) -> str | None:
        """Why it failed, one sentence; None where it did not."""
        return self.snapshot.error


class SinkEvents(AsyncIterator[SinkEvent]):
    """The events of one sink, as they are processed there.

    Closing it, or letting it go before its end, cancels the run's conversations: nobody
    wants the rest. It is one iterator for one task.
    """

    def __init__(self, run: Run, handover: Handover) -> None:
        self._run: Run | None = run
        self._handover = handover

    async def __anext__(self) -> SinkEvent:
        """Return the next event; the first one asked for starts the run.

        Raises:
            EngineError: a conversation failed or was cancelled, so that events are missing.
        """
        run = self._run
        if run is None:
            raise StopAsyncIteration
        run.start()
        event = await self._handover.take()
        if event is not None:
            return event
        self._run = None
        snapshot = run.snapshot()
        if snapshot.phase == "failed":
            raise EngineError(snapshot.error or "a conversation failed")
        if "cancelled" in snapshot.conversations.values():
            raise EngineError("the conversation was cancelled before its end")
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """Want no more: cancel the conversations; safe to repeat."""
        if (run := self._run) is not None:
            self._run = None
            await run.close()

    def __del__(self) -> None:
        if (run := self._run) is not None:
            run.abandon()


class Run:
    """One run of one plan inside a program; `aiflow.open` makes it.

    It starts when the first event of a sink is asked for, or with `start` or `result`.
    """

    def __init__(
        self,
        plan: Plan,
        inputs: Mapping[str, str] | str | None,
        seed: int,
        deadline_s: float | None = None,
    ) -> None:
        self._plan = plan
        self._inputs = inputs
        self._seed = seed
        self._deadline_s = deadline_s
        self._handovers: dict[str, Handover] = {}
        self._shown: dict[str, list[str]] = {}
        self._session: Session | None = None
        self._task: asyncio.Task[Snapshot] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def sink(self, id: str) -> SinkEvents:
        """Iterate over the events of a sink; ask before the run starts.

        Raises:
            EngineError: there is no such sink, it has an iterator, or the run has started.
        """
        node = self._plan.nodes.get(id)
        if node is None or not node.is_sink:
            sinks = ", ".join(each.id for each in self._plan.nodes.values() if each.is_sink)
            raise EngineError(f"there is no sink {id} in this graph; its sinks are {sinks}")
        if id in self._handovers or self._task is not None:
            reason = "has an iterator already" if id in self._handovers else "is running already"
            raise EngineError(f"sink {id} {reason}; ask for each sink once, before the first event")
        handover = Handover()
        operator = handing_over(node.operator, handover.give)
        nodes = {**self._plan.nodes, id: replace(node, operator=operator)}
        self._plan = replace(self._plan, nodes=nodes)
        self._handovers[id] = handover
        return SinkEvents(self, handover)

    def start(self) -> None:
        """Begin, if it has not begun."""
        if self._session is None:
            self._session = Session(
                self._plan,
                seed=self._seed,
                inputs=self._inputs,
                show=self._show,
                conversation_deadline_s=self._deadline_s,
            )
            self._loop = asyncio.get_running_loop()
            self._task = self._loop.create_task(self._session.run(), name="aiflow run")
            self._task.add_done_callback(self._ended)

    async def result(self) -> Result:
        """Run to the end and return how it ended; cancelling this stops the run."""
        self.start()
        assert self._task is not None
        try:
            await asyncio.wait([self._task])
        except asyncio.CancelledError:
            await self.close()
            raise
        return Result(self._task.result(), {id: "".join(t) for id, t in self._shown.items()})

    def cancel(self, conversation: str, turn: int | None = None) -> bool:
        """Cancel one conversation, or one turn of it; False where it had ended already."""
        return self._session is not None and self._session.cancel(conversation, turn)

    def drain(self) -> None:
        """Let what is inside come out, then end."""
        if self._session is not None:
            self._session.drain()

    @property
    def session(self) -> Session:
        """The session that runs, for whoever tunes it, looks inside or serves it.

        Raises:
            EngineError: it has not started.
        """
        if self._session is None:
            raise EngineError("the run has not started; call start() first")
        return self._session

    @property
    def status(self) -> Status:
        """Where the run stands."""
        return Status("idle", "", None) if self._session is None else self._session.status

    def snapshot(self) -> Snapshot:
        """Return all numbers now.

        Raises:
            EngineError: it has not started.
        """
        if self._session is None:
            raise EngineError("the run has not started")
        return self._session.snapshot()

    async def close(self) -> None:
        """Cancel what still runs and wait until it has ended; safe to repeat."""
        if self._session is None or self._task is None:
            return
        self._stop()
        was_cancelled = False
        while not self._task.done():
            try:
                await asyncio.wait([self._task])
            except asyncio.CancelledError:
                # A stopping session ends by itself and soon; leaving it would leak its task.
                was_cancelled = True
        if was_cancelled:
            raise asyncio.CancelledError

    def abandon(self) -> None:
        """Cancel what still runs, from wherever garbage is collected."""
        loop, task = self._loop, self._task
        if loop is None or task is None or task.done() or loop.is_closed():
            return
        loop.call_soon_threadsafe(self._stop)

    def _stop(self) -> None:
        if self._session is None or self._task is None or self._task.done():
            return
        if self._session.status.phase == "idle":  # it has not come to its first step
            self._task.cancel()
        self._session.stop()

    def _show(self, line: OutputLine) -> None:
        self._shown.setdefault(line.node, []).append(line.text)

    def _ended(self, task: asyncio.Task[Snapshot]) -> None:
        if not task.cancelled():
            task.exception()  # looked at, so that a run that nobody waits for ends quietly
        for handover in self._handovers.values():
            handover.end()


@asynccontextmanager
async def open(  # noqa: PLR0913 - what a run can be told, by keyword
    runnable: Runnable,
    *,
    inputs: Mapping[str, str] | str | None = None,
    seed: int = 0,
    strategy: StrategyName = "aiflow",
    base: str | os.PathLike[str] | None = None,
    catalog: Catalog | None = None,
    conversation_deadline_s: float | None = None,
) -> AsyncIterator[Run]:
    """Open a run for as long as the block lasts; leaving it cancels what still runs.

    ```python
    async with aiflow.open(flow, inputs="Why wait?") as run:
        async for event in run.sink("screen"):
            print(event.text, end="")
    ```

    Args:
        runnable: a flow, a graph, a file, or a plan that `plan` has made of one.
        inputs: text for each conversation by id (`c1`, `c2`, …), or one for all.
        seed: key of all chance.
        strategy: how queues and workers are used.
        base: folder that relative paths start from; that of the file, else the current one.
        catalog: the operators there are; None finds all that are installed.
        conversation_deadline_s: seconds that each conversation has; one that is not done then
            fails. None is no limit.

    Raises:
        CompileError: the graph has errors.
        GraphFileError: the file is no graph.
    """
    is_virtual = isinstance(asyncio.get_running_loop(), VirtualLoop)
    clock: ClockName = "virtual" if is_virtual else "real"
    planned = _planned(runnable, strategy, base, catalog, clock)
    run = Run(planned, inputs, seed, conversation_deadline_s)
    try:
        yield run
    finally:
        await run.close()


def run(  # noqa: PLR0913 - what a run can be told, by keyword
    runnable: Runnable,
    *,
    inputs: Mapping[str, str] | str | None = None,
    seed: int = 0,
    clock: ClockName = "real",
    strategy: StrategyName = "aiflow",
    base: str | os.PathLike[str] | None = None,
    catalog: Catalog | None = None,
    conversation_deadline_s: float | None = None,
) -> Result:
    """Run to the end, on a loop of its own, and return how it ended; see `open`.

    Args:
        runnable: a flow, a graph, a file or a plan.
        inputs: text for each conversation, or one for all.
        seed: key of all chance.
        clock: `virtual` jumps to what comes next, the same each time.
        strategy: how queues and workers are used.
        base: folder that relative paths start from.
        catalog: the operators there are; None finds all that are installed.
        conversation_deadline_s: seconds that each conversation has; None is no limit.

    Raises:
        CompileError: the graph has errors.
        EngineError: a loop runs in this thread already; use `open` there.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        pass
    else:
        raise EngineError("a loop runs here already; use `async with aiflow.open(…)` instead")
    planned = _planned(runnable, strategy, base, catalog, clock)
    made = Run(planned, inputs, seed, conversation_deadline_s)
    factory = VirtualLoop if clock == "virtual" else None
    runner = asyncio.Runner(loop_factory=factory)
    try:
        return runner.run(made.result())
    finally:
        # Broken off, the session has its deadline before it leaves anybody behind.
        close_loop(runner, STOP_DEADLINE_S + 2 * LAST_CHANCE_S)


def plan(
    runnable: Runnable,
    *,
    base: str | os.PathLike[str] | None = None,
    catalog: Catalog | None = None,
    clock: ClockName = "real",
) -> Plan:
    """Compile once what many requests run.

    Args:
        runnable: a flow, a graph or a file.
        base: folder that relative paths start from.
        catalog: the operators there are; None finds all that are installed.
        clock: the one it will run on; what that rules out is refused here.

    Raises:
        CompileError: the graph has errors.
    """
    return _planned(runnable, "aiflow", base, catalog, clock)


def _planned(
    runnable: Runnable,
    strategy: str,
    base: str | os.PathLike[str] | None,
    catalog: Catalog | None,
    clock: ClockName,
) -> Plan:
    if isinstance(runnable, Plan):
        return apply_strategy(runnable, strategy)
    known = catalog or _installed()
    if isinstance(runnable, FlowCore):
        known = known.extended(runnable.operators)
        graph = runnable.graph
    elif isinstance(runnable, Graph):
        graph = runnable
    else:
        graph = load(runnable)
        base = base or Path(runnable).resolve().parent
    compiled = compile(graph, known, base=base, clock=clock)
    if compiled.plan is None:
        raise CompileError([f"{each.code}: {each.message}" for each in compiled.errors])
    return apply_strategy(compiled.plan, strategy)


@cache
def _installed() -> Catalog:
    """Return what is installed; looked up once, because each request would wait for it."""
    return Catalog.load()
