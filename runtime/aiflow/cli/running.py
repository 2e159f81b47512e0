"""One run of one plan, from a new event loop to its last snapshot: what `aiflow run` waits for."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from aiflow.analysis.facts import Facts
from aiflow.cli.console import put, say
from aiflow.cli.exits import Exit
from aiflow.cli.interrupts import GRACE_S, Interrupts
from aiflow.cli.linefile import LineFile
from aiflow.cli.serving import measured, served
from aiflow.cli.sinks import SinkLines
from aiflow.cli.table import LiveTable
from aiflow.clock import Clock, SystemClock, VirtualClock, VirtualLoop
from aiflow.compiler.plan import Plan
from aiflow.engine.eventlog import header_line, metrics_line
from aiflow.engine.loops import close_loop, loop_factory
from aiflow.engine.outputs import OutputLine
from aiflow.engine.session import Session
from aiflow.metrics.snapshot import Snapshot
from aiflow.operators.base import Source
from aiflow.providers.recordings import AnswerRecordings

METRICS_EVERY_S = 0.25


@dataclass(frozen=True, slots=True)
class Job:
    """What to run and how.

    Attributes:
        base: folder that relative paths start from.
        grace_s: seconds that SIGTERM gives the run to drain.
        clock: `real` or `virtual`. `loop`: name of the event loop for the real clock.
        text: what is asked in place of prompts; None leaves them.
        duration_s: seconds of the clock after which the run drains; None is no limit.
        is_quiet: what sinks show is thrown away.
        recordings: where answers of models are kept, None for nowhere.
        repeats: begin again when all conversations have ended.
        serve: where other processes may attach, None for nowhere; `serve_anywhere` whether it
            may be reached from other machines; `stops_when_left` whether the run begins
            when somebody attaches, and stops when nobody is attached.
        prometheus: where its metrics can be read, None for nowhere.
    """

    plan: Plan
    base: Path
    clock: str = "real"
    loop: str = "asyncio"
    seed: int = 0
    text: str | None = None
    duration_s: float | None = None
    is_quiet: bool = False
    recordings: AnswerRecordings | None = None
    grace_s: float = GRACE_S
    repeats: bool = False
    serve: str | None = None
    serve_anywhere: bool = False
    stops_when_left: bool = False
    prometheus: str | None = None


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended.

    Attributes:
        snapshot: the last.
        was_interrupted: a person asked for the end, or SIGTERM cut off what did not drain in
            time; and nothing kept the run from it. What SIGTERM has drained is complete.
        is_stuck: an operator goes on that has been told to end; see `leave`.
    """

    snapshot: Snapshot
    was_interrupted: bool
    is_stuck: bool = False


def run_job(job: Job, events: LineFile | None = None, metrics: LineFile | None = None) -> Ending:
    """Run until the end.

    Args:
        job: what to run.
        events: file for what happens, None for none; one that fails stops the run.
        metrics: file for snapshots, None for none; one that fails stops the run.

    Raises:
        OSError: stdout cannot be written to (nobody reads it any more, or its disk is full);
            the run has been stopped.
    """
    factory = VirtualLoop if job.clock == "virtual" else loop_factory(job.loop)
    runner = asyncio.Runner(loop_factory=factory)
    loop = runner.get_loop()
    clock: Clock = VirtualClock(loop) if isinstance(loop, VirtualLoop) else SystemClock()
    try:
        return runner.run(_Run(job, clock, events, metrics).run(loop))
    finally:
        close_loop(runner)


def leave(code: int) -> NoReturn:
    """End the process though an operator's task or thread does not; all files are closed.

    Python would wait for the thread, and complain of the task.
    """
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, AttributeError):
            stream.flush()
    os._exit(code)


def _leave_blocked() -> NoReturn:
    """End the process, from a thread, though an operator blocks the loop and all that is on it."""
    say("aiflow: an operator blocks the event loop and does not end; it is left behind")
    leave(Exit.INTERRUPTED)


class _Run:
    """A job on its loop."""

    def __init__(
        self, job: Job, clock: Clock, events: LineFile | None, metrics: LineFile | None
    ) -> None:
        self._job = job
        self._clock = clock
        self._stdout_error: OSError | None = None
        self._is_told = asyncio.Event()
        self._write: Callable[[str], None] = put
        self._metrics = metrics
        counts = [_conversations(node.operator) for node in job.plan.nodes.values()]
        sinks = [id for id, node in job.plan.nodes.items() if node.is_sink]
        self._lines = SinkLines(self._print, sinks, has_many=max(counts, default=1) > 1)
        self._session = Session(
            job.plan,
            clock=clock,
            seed=job.seed,
            inputs=job.text,
            repeats=job.repeats,
            base=job.base,
            log=None if events is None else events.write,
            show=None if job.is_quiet else self._show,
            recordings=job.recordings,
        )
        if job.recordings is not None and job.serve is not None:
            # Whoever is attached sees it beside what the node shows.
            job.recordings.tell_to(self._tell)
        header = header_line(
            job.plan.name, job.plan.strategy, job.seed, is_virtual=clock.is_virtual
        )
        for file in (events, metrics):
            if file is not None:
                file.on_error = self._session.stop
                file.write(header)

    def drain(self) -> None:
        """Let what is inside come out, then end."""
        self._session.drain()
        self._is_told.set()

    def stop(self) -> None:
        """Cancel everything now."""
        self._session.stop()
        self._is_told.set()

    async def run(self, loop: asyncio.AbstractEventLoop) -> Ending:
        with Interrupts(loop, self, self._job.grace_s, _leave_blocked) as interrupts:
            async with self._helpers():
                await self._session.run()
        self._lines.close()
        snapshot = self._session.snapshot()
        self._note(snapshot)
        if self._stdout_error is not None:
            raise self._stdout_error
        is_stuck = bool(self._session.stuck())
        return Ending(snapshot, interrupts.is_interrupted and not is_stuck, is_stuck)

    @contextlib.asynccontextmanager
    async def _helpers(self) -> AsyncIterator[None]:
        """Run what goes on beside the session, and end it with the session."""
        async with contextlib.AsyncExitStack() as stack:
            # Entered first, so that who is attached hears how the run has ended.
            if self._job.serve is not None:
                await stack.enter_async_context(served(self._session, self._job, self._is_told))
            if self._job.prometheus is not None:
                await stack.enter_async_context(measured(self._session, self._job))
            if not self._job.is_quiet and not self._clock.is_virtual and _has_terminal():
                table = LiveTable(self._session.snapshot, Facts.of_plan(self._job.plan))
                await stack.enter_async_context(table)
                self._write = table.line
            tasks = [
                asyncio.create_task(helper) for helper in (self._sample(), self._end_in_time())
            ]
            try:
                yield
            finally:
                self._write = put
                for task in tasks:
                    task.cancel()
                await asyncio.wait(tasks)
                for task in tasks:
                    if not task.cancelled():
                        task.result()

    async def _sample(self) -> None:
        while self._metrics is not None:
            self._note(self._session.snapshot())
            await self._clock.sleep(METRICS_EVERY_S)

    async def _end_in_time(self) -> None:
        if self._job.duration_s is not None:
            await self._clock.sleep(self._job.duration_s)
            self._session.drain()

    def _note(self, snapshot: Snapshot) -> None:
        if self._metrics is not None:
            self._metrics.write(metrics_line(snapshot))

    def _show(self, line: OutputLine) -> None:
        self._lines.show(line.node, line.conversation, line.text)

    def _tell(self, node: str, conversation: str, sentence: str) -> None:
        self._session.add_output(node, conversation, f"{sentence}\n")

    def _print(self, line: str) -> None:
        """Print a sink's line; a stdout that takes no more stops the run, once."""
        if self._stdout_error is not None:
            return
        try:
            self._write(line)
        except OSError as error:
            self._stdout_error = error
            self._session.stop()


def _conversations(operator: object) -> int:
    return operator.conversations() if isinstance(operator, Source) else 1


def _has_terminal() -> bool:
    """Say whether there is a terminal to draw a table on."""
    streams = (sys.stderr, sys.stdout)
    return sys.stderr is not None and any(s is not None and s.isatty() for s in streams)
