"""`EmbeddedHost`: a run on the studio's own event loop.

The first `RunHost`. Whatever it is handed and whatever it answers could cross a process
border; what lies between, the session and its task, stays in here.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

from aiflow.compiler.compile import compile as compile_graph
from aiflow.compiler.plan import Plan
from aiflow.compiler.strategies import apply_strategy
from aiflow.engine.outputs import OutputLine
from aiflow.engine.session import Session
from aiflow.errors import CompileError, EngineError
from aiflow.graph import codec
from aiflow.metrics.snapshot import Phase, Snapshot
from aiflow.operators.registry import Catalog
from aiflow.providers.recordings import AnswerRecordings
from aiflow.remote.desk import Desk
from aiflow_studio.runs.asking import Asking
from aiflow_studio.runs.host import RunRequest

#: Seconds that operators get to end after a stop, before they are reported and left behind.
PATIENCE_S = 1.0
#: Seconds more that the session gets to stop its resources, before its task is cancelled.
GRACE_S = 1.0
_ENDS: frozenset[Phase] = frozenset({"completed", "failed", "cancelled"})


class EmbeddedHost(Asking):
    """Runs one session at a time as a task of the running loop, which this host owns.

    Args:
        catalog: operators and resources there are.
    """

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._session: Session | None = None
        self._desk: Desk | None = None
        self._task: asyncio.Task[Any] | None = None
        self._error: str | None = None
        self._phase: Phase = "running"

    def start(self, request: RunRequest) -> None:
        """Compile the request's graph and start a session of it.

        Raises:
            GraphFileError: the text is no graph.
            CompileError: the graph has errors.
            EngineError: a run is going on.
        """
        if self._is_running():
            raise EngineError("a run is going on; stop it before another is started")
        base = Path(request.base) if request.base else None
        plan = plan_of(request, self._catalog)
        self._error, self._phase = None, "running"
        recordings = None
        if request.record_to:
            recordings = AnswerRecordings(Path(request.record_to), self._tell)
        self._session = Session(
            plan,
            seed=request.seed,
            inputs=request.inputs,
            # What asks a server asks once: going on until somebody stops it may cost money.
            repeats=request.repeats and not asks_a_server(plan),
            base=base,
            stop_deadline_s=PATIENCE_S,
            recordings=recordings,
        )
        self._desk = Desk(self._session)
        self._task = asyncio.get_running_loop().create_task(_run(self._session), name="run")
        self._task.add_done_callback(self._ended)

    def drain(self) -> None:
        """Let what is inside come out, then end."""
        if self._session is not None and self._is_running():
            self._session.drain()

    def stop(self) -> None:
        """Cancel everything now."""
        if self._session is not None and self._is_running():
            self._session.stop()

    async def kill(self) -> None:
        """Stop, and cancel the task of a session that does not end by itself."""
        task = self._task
        if task is None or task.done():
            return
        self.stop()
        await asyncio.wait({task}, timeout=PATIENCE_S + GRACE_S)
        if not task.done():
            task.cancel()
            await asyncio.wait({task}, timeout=GRACE_S)

    def snapshot(self) -> Snapshot | None:
        """Return all numbers now, also after the end; None before the first start."""
        if self._session is None:
            return None
        snapshot = self._session.snapshot()
        if self._is_running() and snapshot.phase in _ENDS:
            # It is over once nothing of it is left; until then no other can start.
            return replace(snapshot, phase=self._phase)
        if snapshot.phase != "idle":
            self._phase = snapshot.phase
        if self._error is not None and snapshot.error is None:
            return replace(snapshot, phase="failed", error=self._error)
        return snapshot

    def outputs(self, after: int) -> list[OutputLine]:
        """Return what sinks showed since line `after`, oldest first."""
        return [] if self._session is None else self._session.outputs(after)

    def tap(self, edge: str, keep: int) -> list[dict[str, Any]]:
        """Return the last `keep` events of an edge since it was first asked for, oldest first."""
        if self._session is None or not self._is_running():
            return []
        return self._session.tap(edge, keep).rows()

    async def _ask(self, call: str, **arguments: Any) -> Any:  # noqa: ANN401 - plain values
        if self._desk is None or not self._is_running():
            raise EngineError("nothing runs, so nothing can be asked of it")
        return self._desk.answer(call, arguments)

    def _is_running(self) -> bool:
        return self._task is not None and not self._task.done()

    def _tell(self, node: str, conversation: str, sentence: str) -> None:
        """Say where an answer went, beside what the node itself shows."""
        if self._session is not None:
            self._session.add_output(node, conversation, f"{sentence}\n")

    def _ended(self, task: asyncio.Task[Any]) -> None:
        """Read the task's error: a session that breaks down must not look alive."""
        if not task.cancelled() and (error := task.exception()) is not None:
            self._error = f"the run broke down: {type(error).__name__}: {error}"


async def _run(session: Session) -> None:
    """Run a session, unless it was stopped before its task began."""
    if session.status.phase == "idle":
        await session.run()


def plan_of(request: RunRequest, catalog: Catalog) -> Plan:
    """Return what a request asks to run.

    Raises:
        GraphFileError: the text is no graph.
        CompileError: the graph has errors.
    """
    base = Path(request.base) if request.base else None
    graph = codec.loads(request.graph, "the graph")
    # What the real clock rules out, such as a key that is not set, is told before a run.
    compiled = compile_graph(graph, catalog, base=base, clock="real")
    if compiled.plan is None:
        raise CompileError([f"{each.code}: {each.message}" for each in compiled.errors])
    return apply_strategy(compiled.plan, request.strategy)


def asks_a_server(plan: Plan) -> bool:
    """Say whether something beyond this program's clock, such as a live model, takes part."""
    return any(resource.make().needs_real_clock() for resource in plan.resources.values())
