"""Conversations of a session: which wait, which are open, and how each ended.

At most C are open at once, further ones wait in order and are counted. In a session that
repeats, a new round opens when the last conversation of the round before has ended. How one
goes from turn to turn is told in `usher`.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Mapping
from dataclasses import replace

from aiflow.compiler.plan import Plan
from aiflow.engine.cells import Turn
from aiflow.engine.streams import Stream
from aiflow.metrics.snapshot import Outcome
from aiflow.operators.base import Source

#: Outcomes that are kept for who asks.
KEPT_OUTCOMES = 1_000
_LETTER = "c"


def number_of(conversation: str) -> int:
    """Return the number of a conversation in its session, from 1."""
    return int(conversation.removeprefix(_LETTER))


def plan_of_run(plan: Plan) -> Plan:
    """Return the plan with the sources of one run."""
    own = {
        node.id: replace(node, operator=node.operator.for_run())
        for node in plan.nodes.values()
        if isinstance(node.operator, Source)
    }
    return replace(plan, nodes={**plan.nodes, **own})


class Conversation:
    """One conversation while it is open.

    Invariant: at most two of its turns are open, so what a turn costs beside its events is
    bounded too, however often somebody barges in.

    Attributes:
        sources: nodes that stream into it.
        turn: its newest turn, which `has_ended` or not.
        fading: the turn before, where that still ends; None where it does not.
        held: streams that have left the newest turn and wait for the next.
        is_hasty: the next turn need not wait until the newest has ended everywhere.
        is_over: there will be no next turn.
        cancelled: numbers of turns that shall be cancelled when they open.
    """

    __slots__ = (
        *("cancelled", "fading", "has_ended", "held", "id", "is_hasty", "is_over"),
        *("outcome", "sources", "turn"),
    )

    def __init__(self, id: str, sources: tuple[str, ...], turn: Turn) -> None:
        self.id = id
        self.sources = sources
        self.turn = turn
        self.has_ended = False
        self.outcome: Outcome = "active"
        self.fading: Turn | None = None
        self.held: list[Stream] = []
        self.is_hasty = False
        self.is_over = False
        self.cancelled: set[int] = set()

    def turns(self) -> Iterator[Turn]:
        """Yield the open turns, the older first."""
        if self.fading is not None:
            yield self.fading
        if not self.has_ended:
            yield self.turn


class Conversations:
    """Which conversations wait and which are open, and how they and their turns ended.

    Args:
        plan: its sources say how many there are.
        repeats: begin a new round when one has ended.

    Attributes:
        active: open conversations by id.
        outcomes: by conversation, the last 1,000 opened.
        turns_ended: how many turns ended in which way.
        has_failed, has_completed: whether any did.
    """

    def __init__(self, plan: Plan, *, repeats: bool) -> None:
        self._sources = {
            node.id: node.operator.conversations()
            for node in plan.nodes.values()
            if isinstance(node.operator, Source)
        }
        self._per_round = max(self._sources.values(), default=0)
        self._most = plan.max_conversations
        self._repeats = repeats
        self._waiting: deque[tuple[str, int]] = deque()
        self._cancelled: dict[str, set[int]] = {}
        self._named = 0
        self.active: dict[str, Conversation] = {}
        self.outcomes: dict[str, Outcome] = {}
        self.turns_ended: Counter[Outcome] = Counter()
        self.has_failed = False
        self.has_completed = False
        self._next_round()

    @property
    def waiting(self) -> int:
        """Conversations that wait to be opened."""
        return len(self._waiting)

    @property
    def is_over(self) -> bool:
        """Whether none is open and none waits."""
        return not self.active and not self._waiting

    def turns(self) -> tuple[Turn, ...]:
        """Return the turns that are open now."""
        return tuple(turn for each in self.active.values() for turn in each.turns())

    def next(self) -> tuple[str, tuple[str, ...]] | None:
        """Take the conversation that has waited longest, with its sources; None without room."""
        if not self._waiting and not self.active and self._repeats:
            self._next_round()
        if not self._waiting or len(self.active) >= self._most:
            return None
        conversation, index = self._waiting.popleft()
        return conversation, tuple(node for node, most in self._sources.items() if index < most)

    def open(self, conversation: Conversation) -> None:
        """Note that a conversation has been opened."""
        conversation.cancelled |= self._cancelled.pop(conversation.id, set())
        self.active[conversation.id] = conversation
        self._note(conversation.id, "active")

    def end(self, conversation: Conversation) -> None:
        """Note how a conversation ended; the next round, if there is one, may begin."""
        del self.active[conversation.id]
        outcome = conversation.outcome
        self._note(conversation.id, outcome)
        self.has_failed = self.has_failed or outcome == "failed"
        self.has_completed = self.has_completed or outcome == "completed"
        # What failed would fail again, hundreds of times a second where nobody answers.
        self._repeats = self._repeats and outcome != "failed"
        if self.is_over and self._repeats:
            self._next_round()

    def open_no_more(self, outcome: Outcome | None = None) -> None:
        """Let no further conversation begin; those that wait get an outcome, or none."""
        self._repeats = False
        while self._waiting:
            conversation, _ = self._waiting.popleft()
            if outcome is not None:
                self._note(conversation, outcome)

    def abandon(self) -> None:
        """Count all that have not ended as cancelled: nobody is left to end them."""
        self.open_no_more("cancelled")
        for conversation in self.active:
            self._note(conversation, "cancelled")
        self.active.clear()

    def give_up(self) -> None:
        """Count those that have not ended as cancelled; they stay, to say where they hang."""
        for conversation in self.active:
            self._note(conversation, "cancelled")

    def cancel_waiting(self, conversation: str, turn: int | None) -> bool:
        """Cancel one that has not been opened, or one of its turns; False where none waits."""
        for entry in self._waiting:
            if entry[0] == conversation:
                if turn is not None:
                    self._cancelled.setdefault(conversation, set()).add(turn)
                    return True
                self._waiting.remove(entry)
                self._cancelled.pop(conversation, None)
                self._note(conversation, "cancelled")
                if self.is_over and self._repeats:
                    self._next_round()
                return True
        return False

    def as_mapping(self) -> Mapping[str, Outcome]:
        """Return the outcomes, a copy."""
        return dict(self.outcomes)

    def count_turns(self) -> dict[str, int]:
        """Return how many turns are open and how many ended in which way."""
        return {"active": len(self.turns()), **dict(sorted(self.turns_ended.items()))}

    def _next_round(self) -> None:
        for index in range(self._per_round):
            self._named += 1
            self._waiting.append((f"{_LETTER}{self._named}", index))

    def _note(self, conversation: str, outcome: Outcome) -> None:
        self.outcomes[conversation] = outcome
        while len(self.outcomes) > KEPT_OUTCOMES:
            # Invariant: those open are among the youngest, unless more than that are open.
            oldest = next(iter(self.outcomes))
            if oldest in self.active and len(self.active) >= KEPT_OUTCOMES:
                return
            del self.outcomes[oldest]
