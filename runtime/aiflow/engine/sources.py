"""Sources: where events begin, one stream for each conversation's turn.

A source is asked for its next payload only when the last has left, so fullness downstream
reaches whatever it reads from. An iterator is pulled inline, in line with all other sources
of the loop; an async iterator on a task, which alone opens and closes it. Between two turns a
stream has no lane of its own, and is held until the next turn has opened.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from itertools import repeat
from typing import Any

from aiflow.engine.calls import is_plain, way_of
from aiflow.engine.cells import INLINE, Call, EdgeState, Event, Guardian, Lane, Route, Terminal
from aiflow.engine.closing import close_now, closing
from aiflow.engine.delivery import deliver
from aiflow.engine.ending import try_close
from aiflow.engine.failing import wrap
from aiflow.engine.inline import pass_on
from aiflow.engine.settling import leave
from aiflow.engine.waiting import park, unpark
from aiflow.engine.waking import sleep_until_woken, wake
from aiflow.errors import EngineError
from aiflow.events import Context
from aiflow.metrics.instruments import FINE_S
from aiflow.operators.base import Emit, NextTurn, Source


class SourceRunner:
    """Stands where an operator's runner would: a source has no queue and takes no arrivals."""

    def wake(self, guardian: Guardian) -> None:
        """Do nothing: a source is not woken by a queue."""

    def start(self, lane: Lane, arrival: tuple[Event, EdgeState]) -> None:
        """Never called: nothing arrives at a source."""
        raise AssertionError(f"{arrival} arrived at the source {lane.guardian.id}")

    def resume(self, call: Call, _: object) -> None:
        """Do nothing: a source has one call a turn, which is always the head."""

    def left(self, call: Call, at: float) -> None:
        """Count the output for which there was no room, and go on reading."""
        call.lane.source.left(at)

    def cancel(self, call: Call, at: float) -> None:
        """Do nothing: a stream is stopped as a whole."""


class Stream:
    """One source's stream into one turn: what both kinds have in common.

    Args:
        lane: of the source's node.
        outputs: what the operator's `stream` returned.

    Attributes:
        lane: where it streams into; while the stream `is_held`, the one that it has left.
        stop_with: how the stream ends before its time; NONE while it may go on.
        sequence: of the last event of the turn; -1 before the first.
    """

    def __init__(self, lane: Lane) -> None:
        self.lane = lane
        self.guardian = lane.guardian
        self.kernel = lane.guardian.kernel
        self.hand = Call(lane, None)
        self.stop_with = Terminal.NONE
        self.sequence = -1
        self.is_held = False
        self._most = lane.guardian.node.max_in_flight
        lane.source = self

    @property
    def takes_turns(self) -> bool:
        """Whether a cancelled turn leaves the stream open."""
        return takes_turns(self.lane)

    @property
    def is_full(self) -> bool:
        """Whether the turn has as many events in the graph as the plan allows."""
        return self._most is not None and self.lane.turn.in_flight >= self._most

    def wait_for_leave(self) -> None:
        """Read no more until something of the turn has left the graph."""
        self._most = self.guardian.node.max_in_flight
        self.lane.turn.waiting_sources.append(self.go_on)

    def read_on(self) -> None:
        """Read once more, though there is as much in the graph as may be."""
        self._most = self.lane.turn.in_flight + 1

    def make(self, output: Any, at: float) -> tuple[Route, Event] | None:  # noqa: ANN401 - what an operator returns
        """Return the event for an output and its way; None for a mark, or with nowhere to go."""
        created_at = at
        if type(output) is Emit and output.created_at is not None:
            created_at = output.created_at
        try:
            route, payload = way_of(self.lane, output)
        except EngineError:
            # Found as what is no payload, so that no event is asked whether it is a mark.
            if not isinstance(output, NextTurn):
                raise
            self.leave_turn(output)
            return None
        if payload is None or not route.hops:
            self.guardian.processed += 1
            return None
        turn = self.lane.turn
        self.sequence = sequence = self.sequence + 1
        event = Context(
            payload,
            turn.conversation,
            turn.number,
            self.guardian.id,
            sequence,
            0,
            0,
            created_at,
            turn.epoch,
        )
        return route, event

    def offer(self, route: Route, event: Event, at: float) -> bool:
        """Bring an event on its way; return False where it has to wait in hand."""
        hop = deliver(route, event, at)
        if hop is None:
            self.guardian.processed += 1
            self.guardian.emitted += 1
            self.guardian.blocked.fine += 1
            return True
        self.kernel.enter()
        self.lane.turn.in_flight += 1
        self.hand.pending, self.hand.route, self.hand.ready_at = event, route, at
        park(self.hand, hop, at)
        return False

    def left(self, at: float) -> None:
        """Count the event that had to wait and has left."""
        guardian = self.guardian
        self.hand.pending = None
        guardian.processed += 1
        guardian.emitted += 1
        guardian.blocked.record(at - self.hand.ready_at)
        self.go_on()

    def go_on(self) -> None:
        """Read on after a wait; a stream that could not be opened never does."""

    def stop(self, terminal: Terminal, at: float) -> None:
        """End the stream as soon as nothing is in its hand."""

    def abandon(self) -> None:
        """Read no more, and tell nobody: the session is broken. A task is ended by itself."""

    def leave_turn(self, mark: NextTurn) -> None:
        """Be done with the turn, and wait for the next: it may open before this returns."""
        if not self.stop_with:
            self.is_held = True
            self.kernel.leave_turn(self, mark.barge_in)

    def detach(self, terminal: Terminal) -> None:
        """End the turn that the stream has left at the source."""
        lane = self.lane
        lane.source = None
        lane.terminal = max(lane.terminal, terminal)
        lane.open_edges = 0
        try_close(lane)

    def enter_turn(self, lane: Lane) -> None:
        """Go on, in another turn of the conversation."""
        self.lane = lane
        self.hand = Call(lane, None)
        self.sequence = -1
        self.is_held = False
        lane.source = self
        self.go_on()

    def drop_hand(self, at: float) -> None:
        """Settle the event in hand as cancelled."""
        if self.hand.pending is not None:
            event, self.hand.pending = self.hand.pending, None
            unpark(self.hand, at)
            self.guardian.cancelled += 1
            leave(self.lane)
            if self.kernel.log is not None:
                self.kernel.log.settled(self.guardian.id, event, "cancelled", at)

    def end(self, terminal: Terminal) -> None:
        """End the turn at the source; between two turns, say that there will be no next."""
        if self.is_held:
            self.is_held = False
            self.kernel.stream_closed(self)
            return
        lane = self.lane
        lane.terminal = max(lane.terminal, terminal)
        lane.open_edges = 0
        try_close(lane)

    def fail(self, error: BaseException) -> None:
        """End the turn because the source raised."""
        self.lane.terminal = Terminal.ERROR
        self.kernel.fail_turn(self.lane.turn, wrap(self.lane, error))
        self.end(Terminal.ERROR)


class PulledStream(Stream):
    """A stream that is a plain iterator: pulled inline, a slice in each turn of the loop."""

    def __init__(self, lane: Lane, outputs: Iterator[Any]) -> None:
        super().__init__(lane)
        self._outputs = outputs
        self._is_over = False
        self.kernel.runlist.get_in_line(self)

    def run_slice(self) -> None:  # noqa: C901, PLR0912, PLR0915 - every event pays for each call
        """Pull and pass on until the slice is over or an event has to wait."""
        if self._is_over:
            return
        kernel, guardian, own, turn = self.kernel, self.guardian, self.lane, self.lane.turn
        runlist, now = kernel.runlist, kernel.now
        outputs, stack, service = self._outputs, runlist.stack, guardian.service
        conversation, number, source = turn.conversation, turn.number, guardian.id
        deadline, most, route = runlist.deadline, self._most, own.route
        at = now()
        for _ in repeat(None, runlist.limit):
            if self.stop_with:
                self._close(self.stop_with)
                return
            if most is not None and turn.in_flight >= most:
                self.wait_for_leave()
                return
            asked_at = at
            try:
                output = next(outputs)
            except BaseException as error:  # noqa: BLE001 - the border: whatever a stream raises
                self._stopped(error)
                return
            at = now()
            spent = at - asked_at
            service.sum_s += spent
            if spent < FINE_S:
                service.fine += 1
            else:
                service.record_coarse(spent)
            if type(output) is not own.plain:
                # Anything but a bare payload: see `make`, of which the rest is the short form.
                has_left = self._send(output, at)
                if has_left is None:
                    return
            else:
                self.sequence = sequence = self.sequence + 1
                event = Context(
                    output, conversation, number, source, sequence, 0, 0, at, turn.epoch
                )
                lane = route.lane  # type: ignore[union-attr] # a plain class was seen
                if lane is not None and lane.guardian.free == INLINE:
                    if kernel.in_flight >= kernel.max_in_flight:
                        kernel.max_in_flight = kernel.in_flight + 1
                    route.edge.inline += 1  # type: ignore[union-attr] # set with route.lane
                    at = pass_on(lane, event, at)
                elif not self.offer(route, event, at):  # type: ignore[arg-type]
                    return
            if stack:
                runlist.drain()
                at = now()
            if at >= deadline:
                break
        runlist.get_in_line(self)

    def may_read_on(self, call: Call) -> bool:
        """Say whether one more may be read when what is in hand has left."""
        return (
            call is self.hand
            and not (self.stop_with or self._is_over or self.lane.is_dead)
            and (self._most is None or self.lane.turn.in_flight < self._most)
        )

    def read_one(self, at: float) -> None:
        """Read once, and get in line where that did not bring an event that has to wait."""
        own, turn, guardian = self.lane, self.lane.turn, self.guardian
        try:
            output = next(self._outputs)
        except BaseException as error:  # noqa: BLE001 - the border: whatever a stream raises
            self._stopped(error)
            return
        asked_at, at = at, self.kernel.now()
        guardian.service.record(at - asked_at)
        if type(output) is not own.plain:
            if self._send(output, at):
                self.go_on()
            return
        self.sequence = sequence = self.sequence + 1
        event = Context(
            output, turn.conversation, turn.number, guardian.id, sequence, 0, 0, at, turn.epoch
        )
        if self.offer(own.route, event, at):  # type: ignore[arg-type] # a plain class was seen
            self.go_on()

    def _send(self, output: Any, at: float) -> bool | None:  # noqa: ANN401 - what an operator returns
        """Bring an output of any kind on its way; None where it has to wait or was wrong."""
        try:
            made = self.make(output, at)
        except EngineError as error:
            self._is_over = True
            self.fail(error)
            return None
        if made is None:
            return None if isinstance(output, NextTurn) else True
        if self.lane.is_dead:
            self.guardian.cancelled += 1
            return True
        if is_plain(output):
            self.lane.plain = type(output)
        return self.offer(*made, at) or None

    def _stopped(self, error: BaseException) -> None:
        """End the stream that ended by itself, or raised."""
        self._is_over = True
        if isinstance(error, StopIteration):
            self.end(max(Terminal.END, self.stop_with))
            return
        self.fail(error)
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise error

    def leave_turn(self, mark: NextTurn) -> None:
        """Be done with the turn, and wait for the next: it may open before this returns."""
        if self.stop_with:
            self._close(self.stop_with)
        super().leave_turn(mark)

    def go_on(self) -> None:
        """Get in line again."""
        self.kernel.runlist.get_in_line(self)

    def stop(self, terminal: Terminal, at: float) -> None:
        """End the stream as soon as nothing is in its hand."""
        if self._is_over:
            return
        self.stop_with = max(self.stop_with, terminal)
        if self.hand.pending is None:
            self._close(self.stop_with)

    def abandon(self) -> None:
        """Read no more, and tell nobody: the session is broken."""
        self._is_over = True
        close_now(self.lane, self._outputs)

    def _close(self, terminal: Terminal) -> None:
        if getattr(self._outputs, "gi_running", False):
            return  # it asks for its own end: `stop_with` is seen when it has yielded
        self._is_over = True
        close_now(self.lane, self._outputs)
        self.end(terminal)


class TaskStream(Stream):
    """A stream that is an async iterator: read, and closed, by one task.

    Attributes:
        task: the task that reads it.
    """

    def __init__(self, lane: Lane, outputs: AsyncIterator[Any]) -> None:
        super().__init__(lane)
        self._outputs = outputs
        self._wake: asyncio.Future[None] | None = None
        self._is_asking = False
        self._slice_end = 0.0
        self.kernel.open_calls += 1  # but while it waits for room
        name = f"aiflow source {self.guardian.id} {lane.turn.conversation}"
        self.task = self.kernel.loop.create_task(self._run(), name=name)
        self.task.add_done_callback(_look_at)

    def leave_turn(self, mark: NextTurn) -> None:
        """Be done with the turn, and wait for the next: it may open before this returns."""
        self.kernel.runlist.begin()
        super().leave_turn(mark)
        self.kernel.runlist.end()

    def go_on(self) -> None:
        """Wake the task."""
        if self._wake is not None:
            wake(self.kernel, self._wake)

    def stop(self, terminal: Terminal, at: float) -> None:
        """End the stream as soon as nothing is in its hand."""
        if self.task.done():
            return
        self.stop_with = max(self.stop_with, terminal)
        if self.hand.pending is None:
            self.go_on()
        if self._is_asking and self.task is not asyncio.current_task(self.kernel.loop):
            self.task.cancel()

    async def _run(self) -> None:
        try:
            await self._live()
        except Exception as error:  # noqa: BLE001 - a fault of the engine: a source's is settled
            self.kernel.runlist.recover(error, self)
        finally:
            self.kernel.open_calls -= 1
            self.kernel.runlist.look_around()  # it may have been the last that was at work

    async def _live(self) -> None:
        try:
            await self._read()
        except BaseException as error:
            if self.stop_with:
                # The cancellation was ours; what closing raised beside it changes nothing.
                self._finish(self.stop_with)
            elif isinstance(error, asyncio.CancelledError) and self.task.cancelling():
                self._finish(Terminal.CANCEL)
                raise
            else:
                self._begin_end(error)
            if isinstance(error, KeyboardInterrupt | SystemExit):
                raise
        else:
            self._finish(max(Terminal.END, self.stop_with))

    def _finish(self, terminal: Terminal) -> None:
        runlist = self.kernel.runlist
        runlist.begin()
        self.drop_hand(self.kernel.now())
        self.end(terminal)
        runlist.end()

    def _begin_end(self, error: BaseException) -> None:
        runlist = self.kernel.runlist
        runlist.begin()
        self.drop_hand(self.kernel.now())
        self.fail(error)
        runlist.end()

    async def _read(self) -> None:
        runlist, now = self.kernel.runlist, self.kernel.now
        events = 0
        outputs = self._outputs
        async with closing(self.lane, outputs):
            while not self.stop_with:
                if self.is_full:
                    self.wait_for_leave()
                    await self._wait()
                    continue
                output = await self._ask(outputs)
                if output is self:
                    return
                at = now()
                made = self.make(output, at)
                if made is not None:
                    runlist.begin()
                    has_left = self._send(*made, at)
                    runlist.end()
                    if not has_left:
                        await self._wait()
                elif self.is_held and not self.stop_with:
                    await self._wait()
                events += 1
                if now() >= self._slice_end or events > runlist.limit:
                    events = 0
                    await runlist.breathe()
                    self._slice_end = now() + runlist.quantum

    def _send(self, route: Route, event: Event, at: float) -> bool:
        if self.lane.is_dead:
            self.guardian.cancelled += 1
            return True
        return self.offer(route, event, at)

    async def _ask(self, outputs: AsyncIterator[Any]) -> Any:  # noqa: ANN401 - what an operator returns
        """Return the next output, or this stream itself where there is none."""
        guardian, kernel = self.guardian, self.kernel
        asked_at = kernel.now()
        guardian.working += 1
        guardian.started_s += asked_at
        self.hand.started_at, self.hand.is_running = asked_at, True
        self._is_asking = True
        try:
            return await anext(outputs)
        except StopAsyncIteration:
            return self
        finally:
            at = kernel.now()
            self._is_asking = self.hand.is_running = False
            guardian.working -= 1
            guardian.started_s = guardian.started_s - asked_at if guardian.working else 0.0
            guardian.service.record(at - asked_at)

    async def _wait(self) -> None:
        if self.hand.pending is None and not (self.is_full or self.is_held):
            return
        self._wake = self.kernel.loop.create_future()
        await sleep_until_woken(self.kernel, self._wake)
        self._wake = None


def _look_at(task: asyncio.Task[None]) -> None:
    """Look at what ended a task: it was told where it happened, and whoever runs the loop knows."""
    if not task.cancelled():
        task.exception()


def takes_turns(lane: Lane) -> bool:
    """Say whether a source's stream goes on after a turn of it has been cancelled."""
    operator = lane.guardian.node.operator
    return isinstance(operator, Source) and operator.takes_turns


def open_stream(lane: Lane) -> Stream | None:
    """Ask a source for its stream into a turn and begin to read it; None where it raised."""
    operator = lane.guardian.node.operator
    assert isinstance(operator, Source)
    try:
        outputs = _iterator(operator.stream(lane.scope))
    except BaseException as error:
        Stream(lane).fail(error)
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise
        return None
    if isinstance(outputs, AsyncIterator):
        return TaskStream(lane, outputs)
    return PulledStream(lane, outputs)


def _iterator(outputs: Any) -> Iterator[Any] | AsyncIterator[Any]:  # noqa: ANN401 - what an operator returns
    """Return the iterator of what a source's `stream` returned.

    Raises:
        TypeError: there is none.
    """
    if isinstance(outputs, AsyncIterable):
        return aiter(outputs)
    if isinstance(outputs, Iterable):
        return iter(outputs)
    if inspect.iscoroutine(outputs):
        outputs.close()
        raise TypeError("stream() is a coroutine that yields nothing; yield each payload in it")
    raise TypeError(
        f"stream() returned {type(outputs).__name__}, over which nothing can iterate;"
        " yield each payload, or return an iterator"
    )
