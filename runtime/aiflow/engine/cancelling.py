"""Cancelling one turn, at each node as its policy says: purge, finish, or go on as before.

`propagate`: what waits is purged at once, calls are cancelled, and nothing of them comes back.
`drain`: the lane is shut, so that what arrives is discarded; what it has taken in, kept state
included, is worked on, and then CANCEL passes on. `shield`: it also works on what still
arrives. A source that drains lets the one event in its hand leave, and is asked for no more.

The turn's epoch is raised first, then tasks are cancelled: an operator that does not react
is at most late, what it returns is discarded. A turn that has ended is never changed.
"""

from __future__ import annotations

from aiflow.engine.cells import Lane, Terminal, Turn
from aiflow.engine.ending import try_close
from aiflow.engine.failing import empty, kill, shut
from aiflow.engine.settling import go_on
from aiflow.policies import Cancel


def cancel_turn(turn: Turn, at: float, *, goes_on: bool = False) -> None:
    """End a turn as each of its nodes does it; asked from within an operator, when it returns.

    Args:
        turn: still open somewhere.
        at: the time now.
        goes_on: streams that take turns are left open: the conversation goes on in its next.
    """
    turn.epoch += 1
    turn.given_up_at = at
    for lane in turn.lanes.values():
        if lane.is_closed:
            continue
        how = lane.guardian.node.policy.cancel
        if how is Cancel.PROPAGATE or lane.guardian.is_source:
            kill(lane, Terminal.CANCEL)
        elif how is Cancel.DRAIN:
            shut(lane, Terminal.CANCEL)
            if lane.circle is None:
                lane.open_edges = min(lane.open_edges, 0)
        else:
            lane.terminal = max(lane.terminal, Terminal.CANCEL)
    _afterwards(turn, at, goes_on=goes_on)


def force_end(turn: Turn, terminal: Terminal, at: float) -> bool:
    """End a turn at every node at once, whatever its nodes' policies say.

    Args:
        turn: still open somewhere.
        terminal: CANCEL, or ERROR where the turn is given up because of one.
        at: the time now.

    Returns:
        Whether something of it was still worked on.
    """
    alive = [lane for lane in turn.lanes.values() if not (lane.is_closed or lane.is_dead)]
    if not turn.epoch:
        turn.given_up_at = at
    turn.epoch += 1
    for lane in turn.lanes.values():
        if not lane.is_closed:
            kill(lane, terminal)
    _afterwards(turn, at, goes_on=False)
    return bool(alive)


def stop_sources(turn: Turn, terminal: Terminal, at: float) -> None:
    """Let a turn's sources begin no further event; what has begun goes its way."""
    for lane in tuple(turn.lanes.values()):
        if lane.source is not None and not lane.is_closed:
            lane.source.stop(terminal, at)


def _afterwards(turn: Turn, at: float, *, goes_on: bool) -> None:
    end = _end_but_streams if goes_on else _end_everywhere
    kernel = next(iter(turn.lanes.values())).guardian.kernel
    if kernel.runlist.is_running:
        # An operator may be on Python's stack now: its event is settled before its lane closes.
        kernel.runlist.push(end, turn, at)
    else:
        end(turn, at)


def _end_everywhere(turn: Turn, at: float) -> None:
    for lane in _streaming(turn):
        _drop_hand(lane, at)
        lane.source.stop(Terminal.CANCEL, at)
    _end_lanes(turn, at)


def _end_but_streams(turn: Turn, at: float) -> None:
    for lane in _streaming(turn):
        was_full = lane.source.hand.pending is not None
        _drop_hand(lane, at)
        if not lane.source.takes_turns:
            lane.source.stop(Terminal.CANCEL, at)
        elif was_full and lane.source.hand.pending is None:
            lane.source.go_on()
    _end_lanes(turn, at)


def _streaming(turn: Turn) -> tuple[Lane, ...]:
    lanes = turn.lanes.values()
    return tuple(lane for lane in lanes if lane.source is not None and not lane.is_closed)


def _drop_hand(lane: Lane, at: float) -> None:
    """Settle what waits in a source's hand, unless the source drains."""
    if lane.guardian.node.policy.cancel is not Cancel.DRAIN:
        lane.source.drop_hand(at)


def _end_lanes(turn: Turn, at: float) -> None:
    lanes = tuple(turn.lanes.values())
    for lane in lanes:
        if lane.is_closed or lane.source is not None:
            continue
        if lane.is_dead:
            empty(lane, at)
        elif lane.is_shut:
            go_on(lane.guardian)  # who waits to come in is let go
    for lane in lanes:
        try_close(lane)
