"""A stream that is a plain iterator: pulled inline, in line with all other sources of the loop."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat
from typing import Any

from aiflow.engine.calls import is_plain
from aiflow.engine.cells import INLINE, Call, Lane, Terminal
from aiflow.engine.closing import close_now
from aiflow.engine.inline import pass_on, pass_queue
from aiflow.engine.streams import Stream
from aiflow.errors import EngineError
from aiflow.events import Context
from aiflow.metrics.instruments import FINE_S
from aiflow.operators.base import NextTurn


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
                if lane is not None and (free := lane.guardian.free):
                    if kernel.in_flight >= kernel.max_in_flight:
                        kernel.max_in_flight = kernel.in_flight + 1
                    if free == INLINE:
                        route.edge.inline += 1  # type: ignore[union-attr] # set with route.lane
                    else:
                        at = pass_queue(guardian, route, lane.guardian, at)  # type: ignore
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
