"""Cancelling one turn: purge what waits, end what runs, and let nothing of it come back.

The turn's epoch is raised first, then tasks are cancelled: an operator that does not react
is at most late, what it returns is discarded. A turn that has ended is never changed.
"""

from __future__ import annotations

from aiflow.engine.cells import Terminal, Turn
from aiflow.engine.ending import try_close
from aiflow.engine.failing import empty, kill


def cancel_turn(turn: Turn, terminal: Terminal, at: float, *, goes_on: bool = False) -> None:
    """End a turn at every node at once; asked from within an operator, when it returns.

    Args:
        turn: still open somewhere.
        terminal: CANCEL, or ERROR where the turn is given up because of one.
        at: the time now.
        goes_on: streams that take turns are left open: the conversation goes on in its next.
    """
    turn.epoch += 1
    turn.given_up_at = at
    for lane in turn.lanes.values():
        if not lane.is_closed:
            kill(lane, terminal)
    kernel = next(iter(turn.lanes.values())).guardian.kernel
    end = _end_but_streams if goes_on else _end_everywhere
    if kernel.runlist.is_running:
        # An operator may be on Python's stack now: its event is settled before its lane closes.
        kernel.runlist.push(end, turn, at)
    else:
        end(turn, at)


def _end_everywhere(turn: Turn, at: float) -> None:
    stop_sources(turn, Terminal.CANCEL, at)
    _end_lanes(turn, at)


def _end_but_streams(turn: Turn, at: float) -> None:
    for lane in tuple(turn.lanes.values()):
        if lane.source is not None and not lane.is_closed:
            if not lane.source.takes_turns:
                lane.source.stop(Terminal.CANCEL, at)
            elif lane.source.hand.pending is not None:
                lane.source.drop_hand(at)
                lane.source.go_on()
    _end_lanes(turn, at)


def _end_lanes(turn: Turn, at: float) -> None:
    lanes = tuple(turn.lanes.values())
    for lane in lanes:
        if lane.source is None and not lane.is_closed:
            empty(lane, at)
    for lane in lanes:
        try_close(lane)


def stop_sources(turn: Turn, terminal: Terminal, at: float) -> None:
    """Let a turn's sources begin no further event; what has begun goes its way."""
    for lane in tuple(turn.lanes.values()):
        if lane.source is not None and not lane.is_closed:
            lane.source.stop(terminal, at)
