"""Deadlock: guardians that wait for one another, named.

Asked only when nothing is left to do: no operator is at work, no task is woken, no timer
runs and no source reads. Then whatever is still open waits for another guardian. An open
operator call is never a deadlock; it is a stall, and shows as one.

Whatever is open then can never end, so something is always told. Looked for is the ring that
says most: of full queues, of those and what joins wait for, and last of all that can be waited
for, the ends of turns among it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from aiflow.compiler.order import cycles
from aiflow.engine.cells import Guardian, Turn
from aiflow.errors import DeadlockError, StandstillError


def find_deadlock(
    guardians: Mapping[str, Guardian], turns: Iterable[Turn]
) -> DeadlockError | StandstillError | None:
    """Return an error that names those who wait, in a ring, None where nothing is open."""
    turns = tuple(turns)
    waits = {
        guardian.id: [call.waits_at[1].guardian.id for call in guardian.parked if call.waits_at]
        for guardian in guardians.values()
    }
    ring = _ring(waits) or _ring(_with_joins(waits, turns))
    if ring:
        detail = ", ".join(
            f"{node}: {guardians[node].depth} of {guardians[node].queue_capacity} waiting"
            for node in ring
        )
        return DeadlockError(ring, detail)
    ring = _ring(_waits_for_end(turns))
    if ring:
        return DeadlockError(ring, "each waits for the end of the turn on an edge from the next")
    opened = _open_nodes(turns)
    return StandstillError(opened) if opened else None


def _with_joins(waits: Mapping[str, list[str]], turns: Iterable[Turn]) -> dict[str, list[str]]:
    """Return the same where joins, too, wait: for whatever may still come of a branch.

    A source that reads only when its turn has left the graph waits for whoever has some of it.
    """
    found = {node: list(targets) for node, targets in waits.items()}
    for turn in turns:
        for lane in turn.lanes.values():
            node = lane.guardian.id
            is_join = any(lane in before.joins for before in turn.lanes.values())
            # Who is held back by a queue waits for that; who has nothing to do, for the next.
            if (is_join and (lane.depth or lane.waiting)) or (lane.joins and not waits[node]):
                owners = (turn.lanes[route.owner] for route in lane.before)
                found[node] += [owner.guardian.id for owner in owners if not owner.is_closed]
            if turn.waiting_sources and lane.source is not None and not lane.is_closed:
                found[node] += [
                    each.guardian.id for each in turn.lanes.values() if each.depth or each.calls
                ]
    return found


def _open_nodes(turns: Iterable[Turn]) -> list[str]:
    """Return the nodes at which a turn has not ended."""
    lanes = [lane for turn in turns for lane in turn.lanes.values() if not lane.is_closed]
    return list(dict.fromkeys(lane.guardian.id for lane in lanes))


def _waits_for_end(turns: Iterable[Turn]) -> dict[str, list[str]]:
    """Return, for each node where a turn is open, the open nodes before it."""
    before: dict[str, list[str]] = {}
    for turn in turns:
        for lane in turn.lanes.values():
            for route in lane.routes.values():
                for _edge, target in route.hops:
                    if not lane.is_closed and not target.is_closed:
                        before.setdefault(target.guardian.id, []).append(lane.guardian.id)
    return before


def _ring(waits: Mapping[str, list[str]]) -> list[str]:
    """Return nodes each of which waits for the next, and the last for the first."""
    rings = cycles({node: [each for each in waits[node] if each in waits] for node in waits})
    return rings[0] if rings else []
