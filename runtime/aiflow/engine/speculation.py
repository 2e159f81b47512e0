"""Speculative effects: kept at a barrier until what they were made for is really used.

An operator whose node is speculative does nothing to the world outside. It hands each effect to
`scope.defer`, and the effect waits at the node's barrier, which has `speculative_capacity` places
for each conversation. It is committed, which is to say called, when an event of the same item
(source and sequence of a turn) has been processed at a commit point: the first node behind, over
strict edges from the port that the item left by, that is not speculative. It is rolled back when
its try fails or is cancelled, when its node is done with the event and has sent nothing on since,
when it has waited for the node's `speculative_timeout_s`, and at the end of the turn. One that
finds no place is discarded. Events never wait here: a full
barrier costs effects, never time.

All this is heard from the log: what has left, settled, is tried again or has ended is told there
anyway. So a run without speculation has no barrier to ask, and pays nothing.

Effects and what undoes them run from the run list, not in the midst of a settlement, one after
the other in the order in which they were decided, each once.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping

from aiflow.compiler.plan import Plan
from aiflow.compiler.resolved import DEAD_PORT
from aiflow.engine.cells import Event, Kernel, Lane, Log, Terminal, Turn
from aiflow.engine.scopes import EngineScope
from aiflow.errors import EngineError, words_of
from aiflow.policies import SideEffects

COMMITTED, ROLLED_BACK, DISCARDED = "committed", "rolled_back", "discarded"

Item = tuple[str, int]
Effect = Callable[[str], object]


class Deferred:
    """One effect at a barrier.

    Attributes:
        points: nodes that commit it; none until something has left its node since.
        timer: ends its waiting; None where there is no limit.
    """

    __slots__ = ("effect", "event", "key", "node", "points", "timer", "undo")

    def __init__(
        self, node: str, event: Event, key: str, effect: Effect, undo: Effect | None
    ) -> None:
        self.node = node
        self.event = event
        self.key = key
        self.effect = effect
        self.undo = undo
        self.points: frozenset[str] = frozenset()
        self.timer: asyncio.TimerHandle | None = None


class Speculation:
    """The barriers of a session; it stands before the log, and passes on all that it hears.

    Args:
        plan: with at least one speculative node.
        kernel: the session's.
        log: the log behind, told of effects too; None where nobody writes.
    """

    def __init__(self, plan: Plan, kernel: Kernel, log: Log | None) -> None:
        self._kernel = kernel
        self._log = log
        self._places = {
            node.id: node.policy.speculative_capacity
            for node in plan.nodes.values()
            if node.side_effects is SideEffects.SPECULATIVE and not node.is_source
        }
        self._longest_s = {
            node: plan.nodes[node].policy.speculative_timeout_s for node in self._places
        }
        self._points = commit_points(plan, self._places)
        self._all_points = frozenset().union(*self._points.values())
        self._counts = {
            node: dict.fromkeys(("deferred", COMMITTED, ROLLED_BACK, DISCARDED, "failed"), 0)
            for node in self._places
        }
        #: Places taken, by node and conversation.
        self._taken: dict[tuple[str, str], int] = {}
        #: What waits, by turn and item, in the order in which it was deferred.
        self._waiting: dict[tuple[str, int], dict[Item, list[Deferred]]] = {}
        self._decided: deque[tuple[Deferred, str]] = deque()

    def counts(self, node: str) -> Mapping[str, int]:
        """Return how many effects of a node were deferred, and what became of them.

        deferred = waiting + committed + rolled_back + discarded; `failed` are the effects, and the
        functions that undo them, that raised.
        """
        counts = self._counts.get(node)
        if counts is None:
            return {}
        return {**counts, "waiting": counts["deferred"] - sum(map(counts.__getitem__, _ENDS))}

    def open(self, lane: Lane) -> None:
        """Let the operator of a lane defer effects, if its node is speculative."""
        if lane.guardian.id in self._places:
            lane.scope.defer_to(self._taker(lane))

    def close(self) -> None:
        """Roll back what is left at the end of a session, however it ended."""
        for conversation, turn in tuple(self._waiting):
            self._end_turn(conversation, turn)
        self._work(None, None)

    def _taker(self, lane: Lane) -> Callable[[EngineScope, Effect, Effect | None], str]:
        def take(scope: EngineScope, effect: Effect, undo: Effect | None) -> str:
            return self._defer(lane, scope, effect, undo)

        return take

    def _defer(self, lane: Lane, scope: EngineScope, effect: Effect, undo: Effect | None) -> str:
        node, event = lane.guardian.id, scope.event
        item = (event.source, event.sequence)
        place = (node, event.conversation)
        # `finish` has no event of its own, and is told the key of the last one.
        number = f"{'end-' if lane.has_finished else ''}{scope.count_effect()}"
        deferred = Deferred(node, event, f"{scope.idempotency_key}-{number}", effect, undo)
        self._counts[node]["deferred"] += 1
        self._tell(deferred, "deferred")
        if lane.is_dead or lane.is_closed or scope.is_left_alone:
            self._decide((deferred,), ROLLED_BACK, has_place=False)
        elif self._taken.get(place, 0) >= self._places[node]:
            self._decide((deferred,), DISCARDED, has_place=False)
        else:
            self._taken[place] = self._taken.get(place, 0) + 1
            items = self._waiting.setdefault((event.conversation, event.turn), {})
            items.setdefault(item, []).append(deferred)
            longest_s = self._longest_s[node]
            if longest_s is not None:
                self._wait(deferred, self._kernel.now() + longest_s)
        return deferred.key

    def _wait(self, deferred: Deferred, due: float) -> None:
        """Roll an effect back when its time has come, unless that is decided before."""
        clock = self._kernel.clock

        def look() -> None:
            if clock.now() < due:
                deferred.timer = clock.call_at(due, look)  # some timers fire early
            else:
                self._part(deferred.event, lambda each: each is deferred, ROLLED_BACK)

        deferred.timer = clock.call_at(due, look)

    # What it is told -------------------------------------------------------------------

    def emitted(self, node: str, port: str, event: Event, at: float) -> None:
        """Note where effects can be committed from now on: their item has left their node."""
        if self._log is not None:
            self._log.emitted(node, port, event, at)
        points = self._points.get((node, port))
        if points:
            for deferred in self._of_item(event):
                if deferred.node == node:
                    deferred.points |= points

    def settled(self, node: str, event: Event | None, outcome: str, at: float) -> None:
        """Commit what an event was the use of; roll back what its own node has given up."""
        if self._log is not None:
            self._log.settled(node, event, outcome, at)
        if event is None:
            return
        if node in self._places:
            is_failed = outcome != "processed"
            self._part(
                event,
                lambda each: (
                    each.node == node and each.event is event and (is_failed or not each.points)
                ),
                ROLLED_BACK,
            )
        elif node in self._all_points and outcome == "processed":
            self._part(event, lambda each: node in each.points, COMMITTED)

    def retried(
        self, node: str, event: Event, attempt: int, error: str, at: float, due: float
    ) -> None:
        """Roll back what a try has deferred that failed; the next one says it anew."""
        if self._log is not None:
            self._log.retried(node, event, attempt, error, at, due)
        self._part(event, lambda each: each.node == node and each.event is event, ROLLED_BACK)

    def ended(self, node: str, turn: Turn, terminal: Terminal, at: float) -> None:
        """Roll back what nobody has used when the turn has ended everywhere."""
        if self._log is not None:
            self._log.ended(node, turn, terminal, at)
        if turn.open_lanes <= 1:  # this lane is the last
            self._end_turn(turn.conversation, turn.number)

    def tuned(self, node: str, changes: Mapping[str, tuple[object, object]], at: float) -> None:
        """Pass on that a policy was changed."""
        if self._log is not None:
            self._log.tuned(node, changes, at)

    def effect(self, node: str, event: Event, key: str, outcome: str, at: float) -> None:
        """Pass on what became of an effect."""
        if self._log is not None:
            self._log.effect(node, event, key, outcome, at)

    # What becomes of effects -----------------------------------------------------------

    def _of_item(self, event: Event) -> Iterable[Deferred]:
        items = self._waiting.get((event.conversation, event.turn), {})
        return items.get((event.source, event.sequence), ())

    def _part(self, event: Event, is_meant: Callable[[Deferred], bool], outcome: str) -> None:
        """Decide about those effects of an event's item that are meant; the others stay."""
        found: list[Deferred] = []
        left: list[Deferred] = []
        for each in self._of_item(event):
            (found if is_meant(each) else left).append(each)
        if not found:
            return
        turn, item = (event.conversation, event.turn), (event.source, event.sequence)
        items = self._waiting[turn]
        if left:
            items[item] = left
        else:
            del items[item]
        if not items:
            del self._waiting[turn]
        self._decide(found, outcome)

    def _end_turn(self, conversation: str, number: int) -> None:
        items = self._waiting.pop((conversation, number), {})
        self._decide([each for left in items.values() for each in left], ROLLED_BACK)

    def _decide(self, found: Iterable[Deferred], outcome: str, *, has_place: bool = True) -> None:
        """Say what becomes of effects that wait no more; it is done from the run list."""
        found = tuple(found)
        if not found:
            return
        for each in found:
            self._counts[each.node][outcome] += 1
            self._tell(each, outcome)
            if each.timer is not None:
                each.timer.cancel()
            if has_place:
                self._give_back((each.node, each.event.conversation))
        # What was prepared last is undone first.
        in_order = found if outcome == COMMITTED else found[::-1]
        if not self._decided:
            self._kernel.runlist.push(self._work, self._kernel, None)
        self._decided.extend((each, outcome) for each in in_order)

    def _give_back(self, place: tuple[str, str]) -> None:
        self._taken[place] -= 1
        if not self._taken[place]:
            del self._taken[place]

    def _work(self, _: object, __: object) -> None:
        """Run what was decided, each once: nothing is put back, whatever it raises."""
        while self._decided:
            deferred, outcome = self._decided.popleft()
            run = deferred.effect if outcome == COMMITTED else deferred.undo
            if run is None:
                continue
            try:
                _finish(run(deferred.key))
            except (KeyboardInterrupt, SystemExit):
                if self._decided:
                    self._kernel.runlist.push(self._work, self._kernel, None)
                raise
            except BaseException as error:  # noqa: BLE001 - the border: whatever an effect raises
                self._counts[deferred.node]["failed"] += 1
                self._tell(deferred, f"failed: {words_of(error)}")

    def _tell(self, deferred: Deferred, outcome: str) -> None:
        at = self._kernel.now()
        self.effect(deferred.node, deferred.event, deferred.key, outcome, at)


_ENDS = (COMMITTED, ROLLED_BACK, DISCARDED)


def commit_points(plan: Plan, speculative: Iterable[str]) -> dict[tuple[str, str], frozenset[str]]:
    """Return the nodes that commit what has left a speculative node by a port.

    Over strict edges, through other speculative nodes, up to the first that is none.
    """
    within = frozenset(speculative)
    strict: dict[str, dict[str, list[str]]] = {node: {} for node in within}
    for edge in plan.edges.values():
        is_way = not edge.is_detached and edge.source_port != DEAD_PORT.name
        if edge.source in within and is_way:
            strict[edge.source].setdefault(edge.source_port, []).append(edge.target)
    found = {}
    for node, ports in strict.items():
        for port, targets in ports.items():
            seen: set[str] = set()
            todo = list(targets)
            while todo:
                target = todo.pop()
                if target not in seen:
                    seen.add(target)
                    todo += [each for next_ in strict.get(target, {}).values() for each in next_]
            found[node, port] = frozenset(seen - within)
    return found


def speculation_of(plan: Plan, kernel: Kernel) -> Speculation | None:
    """Return the barriers of a plan, None where no node is speculative."""
    if any(node.side_effects is SideEffects.SPECULATIVE for node in plan.nodes.values()):
        return Speculation(plan, kernel, kernel.log)
    return None


def _finish(result: object) -> None:
    """Refuse what an effect has left for others to await: nobody will.

    Raises:
        EngineError: it returned an awaitable.
    """
    if isinstance(result, Awaitable):
        close = getattr(result, "close", None)
        if close is not None:
            close()
        raise EngineError("it returned an awaitable; an effect is a plain function")
