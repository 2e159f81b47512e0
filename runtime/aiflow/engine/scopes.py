"""The scope that the engine hands to operators: made once per lane, cheap per event.

One assignment (`event`) says where a call stands; what is dear, such as randomness and the
idempotency key, is made when an operator asks, because most never do.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any

import msgspec

from aiflow.clock import Clock
from aiflow.events import Context
from aiflow.operators.scope import Scope

_KEY_LETTERS = 32

#: Takes an effect, and what undoes it; returns the effect's key.
Taker = Callable[
    ["EngineScope", Callable[[str], object], Callable[[str], object] | None],
    str,
]


class EngineScope(Scope):
    """A scope that reads most of itself from the event at hand.

    Attributes:
        event: what the operator is called with; in `finish` the last one seen, and in a
            source or before the first event a stand-in without payload.
        is_left_alone: its call has ended without its operator; what that still says is late.
    """

    __slots__ = (
        "_defer",
        "_effects",
        "_random",
        "_random_for",
        "_run",
        "_seed",
        "event",
        "is_left_alone",
    )

    def __init__(  # noqa: PLR0913 - all that one lane's scope is told at its making
        self,
        node: str,
        clock: Clock,
        resources: Mapping[str, Any],
        outputs: frozenset[str],
        event: Context[Any],
        seed: int,
        *,
        run: str = "",
    ) -> None:
        # The base class would make a random generator for every lane there is.
        self.node = node
        self.clock = clock
        self.resources = resources
        self.outputs = outputs
        self.event = event
        self.conversation = event.conversation
        self.number = 1
        self.turn = event.turn
        self.port = ""
        self.attempt = 1
        self.deadline: float | None = None
        self.state: Any = None
        self.input: str | None = None
        self._emit = None
        self._show = None
        self._keep = None
        self._mark = None
        self._notice = None
        self._seed = seed
        self._run = run
        self._random: random.Random | None = None
        self._random_for = -1
        self._defer: Taker | None = None
        self._effects: tuple[Context[Any] | None, int] = (None, 0)
        self.is_left_alone = False

    def bind(
        self,
        *,
        emit: Callable[[object, str | None], None],
        show: Callable[[str], None],
        keep: Callable[[int | None], None],
        mark: Callable[[str, float], None],
        notice: Callable[[str], None],
    ) -> None:
        """Say who takes what the operator tells its scope."""
        self._emit, self._show, self._keep, self._mark = emit, show, keep, mark
        self._notice = notice

    @property
    def source(self) -> str:  # type: ignore[override]
        """The source where the event, or its first ancestor, began."""
        return self.event.source

    @property
    def sequence(self) -> int:  # type: ignore[override]
        """The event's sequence; in `finish` the last one seen."""
        return self.event.sequence

    @property
    def created_at(self) -> float:  # type: ignore[override]
        """When the event's first ancestor arrived, seconds on the session's clock."""
        return self.event.created_at

    @property
    def random(self) -> random.Random:  # type: ignore[override]
        """Randomness keyed by (seed, node, conversation, sequence), the same each run."""
        sequence = self.event.sequence
        if self._random is None or self._random_for != sequence:
            key = f"{self._seed} {self.node} {self.conversation} {self.turn} {sequence}"
            self._random = random.Random(key)
            self._random_for = sequence
        return self._random

    def chance(self, event: Context[Any], attempt: int) -> float:
        """Return 0 up to 1, keyed by (seed, node, the event's place, attempt)."""
        key = f"{self._seed} {self._place_of(event)} {attempt}"
        return random.Random(key).random()

    @property
    def idempotency_key(self) -> str:  # type: ignore[override]
        """The same at every attempt of the same effect, different for any other.

        It is made of the event's place, what it carries, and a word for the run: in another
        session a conversation may have the same name and say the same.
        """
        place = f"{self._run} {self._place_of(self.event)} ".encode()
        return sha256(place + _written(self.event.payload)).hexdigest()[:_KEY_LETTERS]

    def _place_of(self, event: Context[Any]) -> str:
        place = (self.conversation, self.turn, self.node, event.source, event.sequence)
        return "/".join(map(str, (*place, event.part, event.hops)))

    def enter_turn(self, event: Context[Any]) -> None:
        """Stand in another turn of the conversation; for a source, which keeps its scope."""
        self.event = event
        self.turn = event.turn
        self._random_for = -1
        self._random = None

    def place(self) -> object:
        """Return where the event at hand stands, to be kept with what is kept of it."""
        return self.event

    def stand_at(self, place: object) -> None:
        """Let the next output of `finish` inherit source and sequence of a kept event's place."""
        if isinstance(place, Context):
            self.event = place

    def defer_to(self, defer: Taker) -> None:
        """Say who takes the effects that the operator defers."""
        self._defer = defer

    def count_effect(self) -> int:
        """Return the number of the next effect among those of the event, from 1."""
        event, number = self._effects
        self._effects = (self.event, number + 1 if event is self.event else 1)
        return self._effects[1]

    def _take_effect(
        self, effect: Callable[[str], object], undo: Callable[[str], object] | None
    ) -> str:
        if self._defer is None:
            return super()._take_effect(effect, undo)
        return self._defer(self, effect, undo)

    def emit_to(self, emit: Callable[[object, str | None], None]) -> None:
        """Say who takes from now on what the operator emits beside its result."""
        self._emit = emit

    def keep_to(self, keep: Callable[[int | None], None]) -> None:
        """Say who is told from now on which sequence the operator keeps back."""
        self._keep = keep

    def fork(self, emit: Callable[[object, str | None], None]) -> EngineScope:
        """Return a scope of its own for a call that runs beside others of the lane.

        Args:
            emit: takes what the call's operator emits beside its result.
        """
        fork = EngineScope(
            self.node,
            self.clock,
            self.resources,
            self.outputs,
            self.event,
            self._seed,
            run=self._run,
        )
        fork.state, fork.deadline = self.state, self.deadline
        fork.input, fork.number = self.input, self.number
        fork._emit, fork._show = emit, self._show
        fork._keep, fork._mark, fork._notice = self._keep, self._mark, self._notice
        fork._defer = self._defer
        return fork

    def use_again(self, event: Context[Any]) -> None:
        """Take another event of the lane, as a fork that is new would."""
        self.event = event
        self._random_for = -1


def _written(payload: object) -> bytes:
    """Return a payload as bytes, the same however its mappings are ordered."""
    try:
        return msgspec.json.encode(payload, order="sorted", enc_hook=repr)
    except (TypeError, ValueError, OverflowError, RecursionError):
        return repr(payload).encode("utf-8", "replace")
