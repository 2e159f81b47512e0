"""What an operator is handed beside the payload.

The guardian owns a scope and sets its fields before each call; an operator reads them
during the call and keeps no reference to the scope.
"""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable, Mapping
from typing import Any

from aiflow.clock import Clock
from aiflow.errors import EngineError


class Scope:
    """Where a call stands: conversation, state, resources, clock.

    Attributes:
        node: id of the node. `conversation`, `turn`: whose event it is.
        number: the conversation's number in its session, from 1: which of its texts or prompts
            a source sends.
        port: name of the in-port the payload came in by; "" in a source and in `finish`.
        source: id of the source where the event, or its first ancestor, began; sequences of two
            sources have nothing to do with each other.
        sequence: the event's sequence; in `finish` the last one seen.
        attempt: number of this try, from 1.
        deadline: when this call is given up at the latest, on the session's clock; None where
            nothing limits it. For whoever asks others, so that they need not work in vain.
        created_at: when the event's first ancestor arrived, seconds on the session's clock.
        state: the state of this conversation's turn (or key); assign to change it.
        resources: name from `requires` -> the started resource.
        clock: the session's clock.
        random: randomness keyed by (seed, node, conversation, sequence), the same each run.
        idempotency_key: the same at every attempt of the same effect.
        input: the text the run was given for this conversation, None where there was none.
        outputs: names of the out-ports that are connected.
    """

    __slots__ = (
        "_emit",
        "_keep",
        "_mark",
        "_notice",
        "_show",
        "attempt",
        "clock",
        "conversation",
        "created_at",
        "deadline",
        "idempotency_key",
        "input",
        "node",
        "number",
        "outputs",
        "port",
        "random",
        "resources",
        "sequence",
        "source",
        "state",
        "turn",
    )

    def __init__(
        self,
        node: str,
        clock: Clock,
        resources: Mapping[str, Any] | None = None,
        outputs: frozenset[str] = frozenset(),
    ) -> None:
        self.node = node
        self.clock = clock
        self.resources: Mapping[str, Any] = resources or {}
        self.outputs = outputs
        self.conversation = ""
        self.number = 1
        self.turn = 0
        self.port = ""
        self.source = ""
        self.sequence = 0
        self.attempt = 1
        self.created_at = 0.0
        self.deadline: float | None = None
        self.state: Any = None
        self.random = random.Random(0)
        self.idempotency_key = ""
        self.input: str | None = None
        self._emit: Callable[[object, str | None], None] | None = None
        self._show: Callable[[str], None] | None = None
        self._keep: Callable[[int | None], None] | None = None
        self._mark: Callable[[str, float], None] | None = None
        self._notice: Callable[[str], None] | None = None

    async def sleep(self, delay_s: float) -> None:
        """Wait `delay_s` seconds on the session's clock."""
        await self.clock.sleep(delay_s)

    async def sleep_until(self, deadline: float) -> None:
        """Wait until `deadline` on the session's clock."""
        await self.clock.sleep_until(deadline)

    def emit(self, payload: object, port: str | None = None) -> None:
        """Add an output to those of this call, as if it were in the returned list."""
        if self._emit is not None:
            self._emit(payload, port)

    def show(self, text: str) -> None:
        """Append text to what this node shows a person (terminal, output panel).

        As on a terminal: a newline ends a line, and text without one is continued by what
        the same node shows next for the same conversation.
        """
        if self._show is not None:
            self._show(text)

    def keep_from(self, sequence: int | None) -> None:
        """Say the lowest sequence still kept in the state; None when nothing is kept.

        The node's outputs then promise nothing beyond it, so an operator may emit later
        for events that have long been settled.
        """
        if self._keep is not None:
            self._keep(sequence)

    def notice(self, what: str) -> None:
        """Count what a person should hear of after the run, such as `malformed-frame`."""
        if self._notice is not None:
            self._notice(what)

    def defer(
        self, effect: Callable[[str], object], undo: Callable[[str], object] | None = None
    ) -> str:
        """Hand over an effect on the world outside, for when it is known to be wanted.

        For nodes whose side effects are speculative. The effect is called once, when an event of
        the same item has been processed at the first node behind that is not speculative;
        or never, if this try fails, nothing leaves by an output after it, the turn ends
        before, the node's `speculative_timeout_s` has passed, or its
        `speculative_capacity` is used up. So defer first, and then send on what it is for.
        It must return soon, as `process` must: what takes long it gives to a resource.

        Args:
            effect: a plain function, called with the key.
            undo: a plain function, called with the key once the effect is known never to come;
                what was deferred last is undone first.

        Returns:
            The effect's own idempotency key, the same at every attempt.

        Raises:
            EngineError: the node is not speculative, or the effect would have to be awaited.
        """
        if inspect.iscoroutinefunction(effect) or inspect.iscoroutinefunction(undo):
            raise EngineError(
                f"node {self.node} deferred a coroutine function; defer a plain one, which gives"
                " what takes long to a resource"
            )
        return self._take_effect(effect, undo)

    def _take_effect(
        self, effect: Callable[[str], object], undo: Callable[[str], object] | None
    ) -> str:
        raise EngineError(
            f"node {self.node} deferred an effect, and its side effects are not speculative; set"
            " side_effects to speculative, with a speculative_capacity"
        )

    def place(self) -> object:
        """Return where the event at hand stands, to be kept with what is kept of it."""
        return None

    def stand_at(self, place: object) -> None:
        """Let the next output of `finish` inherit source and sequence of a kept event's place."""

    def mark(self, what: str, at: float | None = None) -> None:
        """Note when something happened in a model source.

        It is `request_asked` (only where the request had to wait), `request_sent` or
        `first_delta`, in this order.
        """
        if self._mark is not None:
            self._mark(what, self.clock.now() if at is None else at)
