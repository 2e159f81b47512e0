"""Conversations of a session: which wait, which are open, and how each ended.

At most C are open at once, further ones wait in order and are counted. In a session that
repeats, a new round opens when the last conversation of the round before has ended.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping

from aiflow.compiler.plan import Plan
from aiflow.engine.cells import Turn
from aiflow.metrics.snapshot import Outcome
from aiflow.operators.base import Source

#: Outcomes that are kept for who asks.
KEPT_OUTCOMES = 1_000
_LETTER = "c"


def number_of(conversation: str) -> int:
    """Return the number of a conversation in its session, from 1."""
    return int(conversation.removeprefix(_LETTER))


class Conversations:
    """Opens conversations as there is room for them and notes how they end.

    Args:
        plan: its sources say how many there are.
        repeats: begin a new round when one has ended.
        open_turn: opens a conversation of that id with those sources.

    Attributes:
        active: open turns by conversation.
        outcomes: by conversation, the last 1,000 opened.
        has_failed, has_completed: whether any did.
    """

    def __init__(
        self, plan: Plan, *, repeats: bool, open_turn: Callable[[str, tuple[str, ...]], Turn]
    ) -> None:
        self._sources = {
            node.id: node.operator.conversations()
            for node in plan.nodes.values()
            if isinstance(node.operator, Source)
        }
        self._per_round = max(self._sources.values(), default=0)
        self._most = plan.max_conversations
        self._repeats = repeats
        self._open_turn = open_turn
        self._waiting: deque[tuple[str, int]] = deque()
        self._cancelled: set[str] = set()
        self._named = 0
        self.active: dict[str, Turn] = {}
        self.outcomes: dict[str, Outcome] = {}
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

    def open_some(self) -> Iterator[tuple[Turn, tuple[str, ...]]]:
        """Open conversations while there is room; yield each with its sources."""
        while self._waiting and len(self.active) < self._most:
            conversation, index = self._waiting.popleft()
            sources = tuple(node for node, most in self._sources.items() if index < most)
            turn = self._open_turn(conversation, sources)
            self.active[conversation] = turn
            self._note(conversation, "active")
            yield turn, sources
            if not self._waiting and not self.active and self._repeats:
                self._next_round()

    def end(self, turn: Turn, outcome: Outcome) -> None:
        """Note how a conversation ended; the next round, if there is one, may begin."""
        del self.active[turn.conversation]
        self._note(turn.conversation, outcome)
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

    def cancel_waiting(self, conversation: str) -> bool:
        """Cancel a conversation that has not been opened; return whether there was one."""
        for entry in self._waiting:
            if entry[0] == conversation:
                self._waiting.remove(entry)
                self._note(conversation, "cancelled")
                if self.is_over and self._repeats:
                    self._next_round()
                return True
        return False

    def as_mapping(self) -> Mapping[str, Outcome]:
        """Return the outcomes, a copy."""
        return dict(self.outcomes)

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
