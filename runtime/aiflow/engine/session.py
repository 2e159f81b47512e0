"""A session: one run of one plan, from its resources' start to their stop.

It is long because it is the one place that is asked for everything about a run; what it
answers with is worked out elsewhere.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from uuid import uuid4

from aiflow.clock import Clock, SystemClock, VirtualClock, VirtualLoop
from aiflow.compiler.plan import Plan
from aiflow.engine import breaking, sharing
from aiflow.engine.blockage import Blockage
from aiflow.engine.build import blocking_workers, build_edges, build_guardians
from aiflow.engine.cells import EdgeState, Guardian, Kernel, Turn
from aiflow.engine.conversations import Conversations, plan_of_run
from aiflow.engine.deadlock import find_deadlock
from aiflow.engine.eventlog import EventLog
from aiflow.engine.inside import Inside
from aiflow.engine.outputs import OutputLine, Outputs
from aiflow.engine.relief import Relief, let_sources_read
from aiflow.engine.snapshots import (
    by_source,
    by_target,
    edge_stats,
    first_at_sinks,
    idle_node,
    node_stats,
)
from aiflow.engine.speculation import speculation_of
from aiflow.engine.starting import (
    start_resources,
    stop_resources,
    undecoded_bytes,
    waiting_requests,
)
from aiflow.engine.status import ENDED, Status
from aiflow.engine.stuck import astray_workers, stuck_calls
from aiflow.engine.taps import TapView
from aiflow.engine.tracing import TraceView
from aiflow.engine.tuning import Tuning, apply, bound_now, differences, tuned_plan
from aiflow.engine.turns import Weaver
from aiflow.engine.usher import Usher
from aiflow.engine.watchdog import BLOCKED_AFTER_S, WATCHDOG
from aiflow.engine.workers import WorkerRunner
from aiflow.errors import AiFlowError, BlockedLoopError, EngineError, StallError
from aiflow.metrics.snapshot import EdgeStats, Phase, Snapshot
from aiflow.providers.recordings import AnswerRecordings

#: Seconds that operators get to end after a stop, before they are reported and left behind.
STOP_DEADLINE_S = 5.0
#: Seconds that they get who drained until then, after they have been told to end.
LAST_CHANCE_S = 0.5
#: Times a loop was blocked that are kept for who asks.
KEPT_STALLS = 20


class Session:
    """Runs a plan once.

    ```mermaid
    stateDiagram-v2
        [*] --> idle
        idle --> running: run()
        idle --> cancelled: stop()
        running --> draining: drain()
        running --> completed: all conversations ended
        draining --> completed: what was inside has come out
        running --> failed: a conversation or a resource failed
        draining --> failed: a conversation failed
        running --> cancelled: stop()
        draining --> cancelled: stop()
        completed --> [*]
        failed --> [*]
        cancelled --> [*]
    ```

    An error in one conversation ends that conversation; the phase is `failed` only when
    the others have ended too.

    Args:
        plan: what to run.
        clock: must fit the loop that `run` is awaited on; None takes the one that does.
        seed: key of all randomness that operators are handed.
        inputs: text for each conversation by id (`c1`, `c2`, …), or one text for all.
        repeats: open the next conversation when the last has ended, until drained or stopped.
        base: folder that the run's relative paths start from, for those who ask.
        log: takes each line of the event log; None writes none, and costs nothing.
        show: takes each line that a node shows, as it comes; it must not raise.
        conversation_deadline_s: seconds that each conversation has, from its opening; one that is
            not done then fails. None is no limit.
        stop_deadline_s: seconds after which an operator that does not end is left behind.
        blocked_after_s: seconds after which a loop that does nothing else is told of; real clock.
        recordings: where the answers of models are kept as traces, None for nowhere.
    """

    def __init__(  # noqa: PLR0913 - what a run can be told, by keyword
        self,
        plan: Plan,
        *,
        clock: Clock | None = None,
        seed: int = 0,
        inputs: Mapping[str, str] | str | None = None,
        repeats: bool = False,
        base: Path | str | None = None,
        log: Callable[[str], None] | None = None,
        show: Callable[[OutputLine], None] | None = None,
        conversation_deadline_s: float | None = None,
        stop_deadline_s: float = STOP_DEADLINE_S,
        blocked_after_s: float = BLOCKED_AFTER_S,
        recordings: AnswerRecordings | None = None,
    ) -> None:
        plan = self.plan = plan_of_run(plan)
        self.base = base
        self._clock = clock
        self._seed = seed
        self._inputs = inputs
        self._repeats = repeats
        self._log = log
        self._conversation_deadline_s = conversation_deadline_s
        self._stop_deadline_s = stop_deadline_s
        self._blocked_after_s = blocked_after_s
        self._blocked: deque[BlockedLoopError] = deque(maxlen=KEPT_STALLS)
        self._recordings = recordings
        self._outputs = Outputs(show=show)
        self._phase: Phase = "idle"
        self._error: str | None = None
        self._started_at: float | None = None
        self._ended_at = 0.0
        self._is_stopping = False
        self._is_broken = False
        self._kernel: Kernel | None = None
        self._resources: dict[str, Any] = {}
        self._guardians: dict[str, Guardian] = {}
        self._edges: dict[str, EdgeState] = {}
        self._incoming: dict[str, list[EdgeState]] = {}
        self._outgoing: dict[str, list[EdgeState]] = {}
        self._inside: Inside | None = None
        self._conversations = Conversations(plan, repeats=repeats)
        self._usher: Usher | None = None
        self._relief: Relief | None = None
        self._over: asyncio.Future[None] | None = None
        self._deadline: asyncio.TimerHandle | None = None
        self._model_first_s: float | None = None
        self._last: Snapshot | None = None

    @property
    def status(self) -> Status:
        """Where the session stands."""
        return Status(self._phase, self._error or "", self._started_at)

    async def run(self) -> Snapshot:
        """Run to the end and return the last snapshot, whose phase says how it ended.

        What operators, providers and resources raise is in the snapshot's `error` and
        never raised here. Cancelling the task that awaits this stops the session first.

        Raises:
            EngineError: the session has run already, or the clock is another loop's.
        """
        if self._phase == "cancelled" and self._kernel is None:
            return self.snapshot()  # it was stopped before it began
        if self._phase != "idle":
            raise EngineError(f"a session runs once, and this one is {self._phase}")
        kernel = self._build(asyncio.get_running_loop())
        executor = self._executor(kernel)
        resources = self._resources
        try:
            self._guardians = build_guardians(self.plan, kernel, executor)
            self._inside = Inside(kernel, self._guardians, self._edges, self._conversations.turns)
            if await self._start(kernel, resources):
                await self._serve(kernel, resources)
        except BaseException:
            self._is_stopping = True  # broken off from outside: nothing of it is complete
            raise
        finally:
            await self._wind_up(kernel, executor, resources)
        return self.snapshot()

    def drain(self) -> None:
        """Let what is inside come out, then end; safe to repeat."""
        self._look_for_loop()
        if self._phase == "running":
            self._phase = "draining"
            self._let_go()
            self._the_usher().drain()
            self._end_if_over()
        elif self._phase == "idle":
            self.stop()

    def stop(self) -> None:
        """Cancel everything now; safe to repeat, and at any time on the loop's thread.

        Nodes that drain or are shielded have until the deadline, then they are cancelled too.
        """
        self._look_for_loop()
        if self._phase == "idle" and self._kernel is None:
            self._phase = "cancelled"
        if self._phase in ENDED or self._is_stopping or self._is_over():
            return
        self._is_stopping = True
        self._let_go()
        if self._usher is None:
            self._conversations.open_no_more("cancelled")
        else:
            self._usher.stop()
        self._set_deadline(self._the_kernel(), self._stop_deadline_s)
        self._end_if_over()

    def cancel(self, conversation: str, turn: int | None = None) -> bool:
        """Cancel one turn of a conversation, or all of it; False where that had ended already.

        It works before the conversation, or the turn, is open. What has ended stays as it
        ended. After one cancelled turn the conversation goes on if its source does: if it is
        done with the turn, or is made to take turns. A stream that is still in the turn is
        else closed, and the conversation is over.

        Args:
            conversation: id of the conversation.
            turn: number of the turn, from 0; None cancels the conversation as a whole.

        Raises:
            EngineError: the session has no such conversation.
        """
        self._look_for_loop()
        found = None if self._usher is None else self._usher.cancel(conversation, turn)
        if found is not None:
            return found
        if self._conversations.cancel_waiting(conversation, turn):
            self._end_if_over()
            return True
        if conversation in self._conversations.outcomes:
            return False
        raise EngineError(f"there is no conversation {conversation} in this session")

    def tune(self, node: str, **changes: Any) -> Tuning:
        """Give a node another q, k, ρ, o or r from now on: `tune("speech", workers=2)`.

        Raising takes effect at once. Lowering never purges: what is there stays, and nothing
        comes in before there is room by the new figure. Order once promised is kept.

        Args:
            node: id of the node.
            changes: `queue_capacity`, `workers`, `reorder_capacity`, `overflow`, or `retry` with
                those of its members that change.

        Raises:
            EngineError: the run is not going on, or a check forbids it; nothing is changed.
        """
        self._look_for_loop()
        if self._phase not in ("running", "draining"):
            raise EngineError(f"the run is {self._phase}; only a running one can be tuned")
        kernel = self._the_kernel()
        plan = tuned_plan(self.plan, node, changes)
        before, after = self.plan.nodes[node], plan.nodes[node]
        tuning = Tuning(node, kernel.now(), differences(before, after))
        if tuning.changes:
            self.plan = plan
            if kernel.log is not None:
                kernel.log.tuned(node, tuning.changes, tuning.at)
            turns = self._conversations.turns()
            lanes = [turn.lanes[node] for turn in turns if node in turn.lanes]
            hold_again = self._look_inside().released(node)
            apply(self._guardians[node], after, lanes)
            hold_again()
        return tuning

    def call_threadsafe(self, function: Callable[..., object], *args: object) -> None:
        """Call a function of this session, such as `stop`, on its loop, from any thread.

        Raises:
            EngineError: the session is not running.
        """
        if self._kernel is None or self._phase in ENDED:
            raise EngineError("the session is not running, so nothing can be asked of it")
        try:
            self._kernel.loop.call_soon_threadsafe(function, *args)
        except RuntimeError as error:
            raise EngineError("the session's loop is closed, so nothing can be asked") from error

    def snapshot(self) -> Snapshot:
        """Return all numbers now; without waiting, in time linear in nodes and edges."""
        if self._last is not None:
            return self._last
        kernel = self._kernel
        if kernel is None or self._started_at is None or not self._guardians:
            return self._idle_snapshot()
        first_s = first_at_sinks(self._guardians)
        return Snapshot(
            at=kernel.now(),
            started_at=self._started_at,
            phase=self._phase,
            strategy=self.plan.strategy,
            bound=bound_now(self.plan, self._guardians.values()),
            in_flight=kernel.held,
            max_in_flight=kernel.max_in_flight,
            nodes={
                node: node_stats(
                    guardian,
                    self._incoming.get(node, ()),
                    self._outgoing.get(node, ()),
                    kernel,
                    self.plan,
                    self._started_at,
                )
                for node, guardian in self._guardians.items()
            },
            edges={
                edge.id: edge_stats(edge, has_breakpoint=edge.id in self.breakpoints)
                for edge in self._edges.values()
            },
            conversations=self._conversations.as_mapping(),
            turns=self._conversations.count_turns(),
            waiting_conversations=self._conversations.waiting,
            model_ttft_ms=_ms(self._model_first()),
            ttfpt_ms=_ms(first_s),
            undecoded_bytes=undecoded_bytes(self.plan, self._resources),
            stalls=tuple(map(str, self._blocked)),
            waiting_requests=waiting_requests(self._resources),
            error=self._error,
        )

    def tap(self, edge_id: str, keep: int = 100) -> TapView:
        """Look at an edge: its last events from now on; close the tap to cease.

        Asked again while a tap is open, the same one answers.

        Raises:
            EngineError: the plan has no such edge, or the session has not started.
        """
        if edge_id not in self.plan.edges and self._inside is None:
            raise EngineError(f"there is no edge {edge_id} in this run")
        return self._look_inside().tap(edge_id, keep)

    def queue(self, place: str, most: int = 100) -> list[dict[str, Any]]:
        """Return copies of what waits now, oldest first, long texts cut and keys masked.

        Args:
            place: a node, or an edge for what came to its node over it.
            most: entries, up to 1,000.

        Raises:
            EngineError: the plan has neither, or the session has not started.
        """
        return self._look_inside().queue(place, most)

    def trace(
        self, source: str, sequence: int | None = None, conversation: str | None = None
    ) -> TraceView:
        """Follow one event of a source through every node, from now on; close it to cease.

        Args:
            source: id of the node where it begins.
            sequence: its number there, from 0; None is the next one.
            conversation: whose; None is the first that comes.

        Raises:
            EngineError: there is no such source, or the session has not started.
        """
        return self._look_inside().trace(source, sequence, conversation)

    def set_breakpoint(self, edge: str, is_set: bool = True) -> None:
        """Hold the node behind an edge when an event comes over it, or let it go on.

        Only that node stands still; its queue fills, and who sends to it waits. A run that is
        drained or stopped is held nowhere.

        Raises:
            EngineError: the plan has no such edge, or the run is not going on.
        """
        if not is_set:
            self.resume(edge)
            return
        if self._phase != "running":
            raise EngineError(f"the run is {self._phase}; only a running one can be held")
        self._look_inside().set_breakpoint(edge)

    def step(self, edge: str) -> bool:
        """Let the node behind a breakpoint begin one event; False where none waits.

        Raises:
            EngineError: the edge has no breakpoint.
        """
        return self._look_inside().step(edge)

    def resume(self, edge: str) -> bool:
        """Take a breakpoint away and let its node go on; False where there is none.

        Raises:
            EngineError: the plan has no such edge.
        """
        return self._look_inside().resume(edge)

    def inject(self, edge: str, payload: object, conversation: str | None = None) -> None:
        """Put an event into an edge that no source has made.

        Args:
            edge: its id.
            payload: a payload; a text, which is a token then; or a mapping with its `type`.
            conversation: whose event it is; None is the oldest that is open there.

        Raises:
            EngineError: it does not fit the edge, there is no room, or no conversation is open.
        """
        self._look_for_loop()
        self._look_inside().inject(edge, payload, conversation)

    @property
    def tapped(self) -> frozenset[str]:
        """The edges that somebody looks at."""
        return frozenset() if self._inside is None else self._inside.tapped

    @property
    def breakpoints(self) -> frozenset[str]:
        """The edges with a breakpoint."""
        return frozenset() if self._inside is None else self._inside.breakpoints

    def add_output(self, node: str, conversation: str, text: str) -> None:
        """Append a line to what a node has shown, in the name of whoever runs the session."""
        self._outputs.add(node, conversation, text)

    def outputs(self, after: int = 0) -> list[OutputLine]:
        """Return what nodes showed since line `after`, oldest first, the last 10,000."""
        return self._outputs.after(after)

    def blocked(self) -> tuple[BlockedLoopError, ...]:
        """Return an error for each time that something blocked the loop, the last ones."""
        return tuple(self._blocked)

    def stuck(self) -> tuple[StallError, ...]:
        """Return an error for each operator call that did not end after it was cancelled."""
        if self._kernel is None:
            return ()
        at = self._kernel.now()
        busy = stuck_calls(self._conversations.turns(), at)
        astray = astray_workers(self._guardians.values(), at)
        return (*self._kernel.refused.values(), *busy, *astray)

    def _let_go(self) -> None:
        """Hold no node any more: a run that is to end is held nowhere."""
        if self._inside is not None:
            self._inside.let_go()

    def _look_inside(self) -> Inside:
        if self._inside is None:
            raise EngineError("the session has not started, so nothing can be seen of it")
        return self._inside

    # How a run goes ---------------------------------------------------------------------

    def _build(self, loop: asyncio.AbstractEventLoop) -> Kernel:
        clock = self._clock
        if clock is None:
            clock = VirtualClock(loop) if isinstance(loop, VirtualLoop) else SystemClock()
        if clock.is_virtual is not isinstance(loop, VirtualLoop):
            raise EngineError("the session's clock is not the clock of the loop that runs it")
        kernel = Kernel(loop, clock, most=self.plan.max_conversations)
        if self._log is not None:
            kernel.log = EventLog(self._log)
        speculation = speculation_of(self.plan, kernel)
        if speculation is not None:
            kernel.log = kernel.speculation = speculation
        self._kernel = kernel
        self._edges = build_edges(self.plan)
        self._incoming = by_target(self._edges.values())
        self._outgoing = by_source(self._edges.values())
        self._started_at = kernel.started_at
        return kernel

    def _executor(self, kernel: Kernel) -> ThreadPoolExecutor | None:
        threads = blocking_workers(self.plan)
        if not threads or kernel.clock.is_virtual:
            return None
        return ThreadPoolExecutor(threads, thread_name_prefix="aiflow")

    async def _start(self, kernel: Kernel, resources: dict[str, Any]) -> bool:
        try:
            await start_resources(self.plan, kernel.clock, resources, self._recordings)
        except AiFlowError as error:
            self._error = str(error)
            return False
        return not self._is_stopping

    async def _wind_up(
        self, kernel: Kernel, executor: ThreadPoolExecutor | None, resources: Mapping[str, Any]
    ) -> None:
        try:
            await stop_resources(resources)
        except BaseException:
            self._is_stopping = True
            raise
        finally:
            if executor is not None:
                executor.shutdown(wait=False, cancel_futures=True)
            self._end(kernel)

    async def _serve(self, kernel: Kernel, resources: Mapping[str, Any]) -> None:
        self._over = kernel.loop.create_future()
        weaver = Weaver(
            self.plan, kernel, self._guardians, self._edges, resources,
            self._outputs, self._seed, self._input_of,
            f"seed {self._seed}" if kernel.clock.is_virtual else uuid4().hex,
        )  # fmt: skip
        self._usher = Usher(
            self._conversations, kernel, weaver, self._guardians,
            note_error=self._note_error, note_end=self._note_marks, on_idle=self._end_if_over,
            deadline_s=self._conversation_deadline_s,
        )  # fmt: skip
        self._relief = Relief(self._guardians)
        unwatch = kernel.runlist.watch(self._look_for_deadlock)
        ungate = kernel.runlist.guard(self._break_if_ours)
        unguard = self._have_loop_watched(kernel)
        blockage = Blockage(kernel, self._guardians, self._usher.fail_some)
        for guardian in self._guardians.values():
            sharing.refresh(guardian)
            if isinstance(guardian.runner, WorkerRunner):
                guardian.runner.open(guardian)
        self._phase = "running"
        try:
            self._usher.open_conversations()
            self._end_if_over()
            await self._wait_over()
        finally:
            unwatch()
            ungate()
            unguard()
            blockage.close()
            self._usher.close()
            if self._deadline is not None:
                self._deadline.cancel()
            self._look_inside().close()
            await self._close_workers(kernel)

    def _have_loop_watched(self, kernel: Kernel) -> Callable[[], None]:
        if kernel.clock.is_virtual:
            return lambda: None  # no time passes there, whatever takes how long

        def tell(guardian: Guardian | None, blocked_s: float, stack: str) -> None:
            # In the watchdog's thread: nothing but an append.
            if guardian is None or guardian.kernel is kernel:
                node = None if guardian is None else guardian.id
                self._blocked.append(BlockedLoopError(node, blocked_s, stack))

        return WATCHDOG.watch(kernel.loop, tell, self._blocked_after_s)

    async def _wait_over(self) -> None:
        assert self._over is not None
        try:
            await self._over
        except asyncio.CancelledError:
            # Whoever awaits the run has been cancelled: end in order, then say so.
            self.stop()
            self._over = self._the_kernel().loop.create_future()
            self._end_if_over()
            await self._over
            raise

    def _break_if_ours(self, error: BaseException, who: object) -> None:
        """End at once where the engine itself has failed: nothing can end in order then."""
        if self._is_broken or not breaking.concerns(self._the_kernel(), who):
            return
        self._is_broken = True
        self._error = breaking.tell_fault(error)
        if self._over is not None and not self._over.done():
            self._over.set_result(None)

    def _look_for_loop(self) -> None:
        """End at once where the loop was closed in mid-run: nothing can end in order then."""
        kernel = self._kernel
        if kernel is not None and kernel.loop.is_closed() and self._phase not in ENDED:
            self._is_stopping = True
            self._conversations.abandon()
            for guardian in self._guardians.values():
                guardian.workers = 0  # nothing more is begun there, whatever is left to end
            self._end(kernel)

    async def _close_workers(self, kernel: Kernel) -> None:
        if kernel.loop.is_closed():
            return
        if self._is_broken:
            turns = self._conversations.turns()
            await breaking.let_go(kernel, self._guardians.values(), turns, LAST_CHANCE_S)
            self._conversations.abandon()
            return
        tasks = []
        for guardian in self._guardians.values():
            if isinstance(guardian.runner, WorkerRunner):
                guardian.runner.close(kernel)
                tasks += [worker.task for worker in guardian.runner.workers if worker.ends]
        if tasks:
            await asyncio.gather(*tasks, return_exceptions=True)

    def _end(self, kernel: Kernel) -> None:
        if kernel.speculation is not None:
            kernel.speculation.close()
        if kernel.refused:
            self._tell_stuck()
        if self._error is not None or self._conversations.has_failed:
            self._phase = "failed"
        elif self._is_stopping or not (
            self._conversations.has_completed or not self._conversations.outcomes
        ):
            self._phase = "cancelled"
        else:
            self._phase = "completed"
        self._last = self.snapshot() if self._guardians else None

    def _input_of(self, conversation: str) -> str | None:
        if self._inputs is None or isinstance(self._inputs, str):
            return self._inputs
        return self._inputs.get(conversation)

    # Conversations ----------------------------------------------------------------------

    def _note_error(self, error: BaseException) -> None:
        if self._error is None:
            self._error = str(error)

    def _is_over(self) -> bool:
        """Say whether all has ended, and only workers and resources are still to be closed."""
        over = self._over
        return over is not None and over.done() and not over.cancelled()

    def _end_if_over(self) -> None:
        over = self._over
        if over is not None and not over.done() and self._conversations.is_over:
            over.set_result(None)

    def _set_deadline(self, kernel: Kernel, after_s: float) -> None:
        def give_up() -> None:
            if (left_s := due - kernel.now()) > 0:
                self._deadline = kernel.loop.call_later(left_s, give_up)
            elif self._over is not None and not self._over.done():
                if self._usher is not None and self._usher.force():
                    self._set_deadline(kernel, LAST_CHANCE_S)
                    return
                self._tell_stuck()
                self._conversations.give_up()
                self._over.set_result(None)

        due = kernel.now() + after_s
        # Not the clock's `call_at`, which asks for a loop that runs at this moment.
        self._deadline = kernel.loop.call_later(after_s, give_up)

    def _tell_stuck(self) -> None:
        stuck = self.stuck()
        if stuck and self._error is None:
            self._error = "; ".join(map(str, stuck))

    def _look_for_deadlock(self) -> None:
        kernel = self._the_kernel()
        if self._relief is not None:
            self._relief.relieve(self._conversations.turns(), kernel.now())
            if kernel.runlist.stack:
                return
        if kernel.open_calls or not self._conversations.active:
            return
        if let_sources_read(self._conversations.turns()):
            kernel.runlist.wake()  # and look again, if nothing of it has helped
            return
        error = find_deadlock(self._guardians, self._conversations.turns())
        if error is not None:
            self._the_usher().fail_all(error)

    # Numbers ----------------------------------------------------------------------------

    def _the_kernel(self) -> Kernel:
        if self._kernel is None:
            raise EngineError("the session has not started")
        return self._kernel

    def _the_usher(self) -> Usher:
        assert self._usher is not None  # there is one from the first conversation on
        return self._usher

    def _note_marks(self, turn: Turn) -> None:
        for marks in turn.marks.values():
            if "request_sent" in marks and "first_delta" in marks:
                took_s = marks["first_delta"] - marks["request_sent"]
                if self._model_first_s is None or took_s < self._model_first_s:
                    self._model_first_s = took_s

    def _model_first(self) -> float | None:
        for turn in self._conversations.turns():
            self._note_marks(turn)
        return self._model_first_s

    def _idle_snapshot(self) -> Snapshot:
        plan, at = self.plan, self._started_at or 0.0
        return Snapshot(
            at=at,
            started_at=at,
            phase=self._phase,
            strategy=plan.strategy,
            bound=plan.bound,
            in_flight=0,
            max_in_flight=0,
            nodes={
                id_: idle_node(node, plan.max_conversations) for id_, node in plan.nodes.items()
            },
            edges={id_: EdgeStats(id_) for id_ in plan.edges},
            conversations=self._conversations.as_mapping(),
            waiting_conversations=self._conversations.waiting,
            error=self._error,
        )


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1e3
