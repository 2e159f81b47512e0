"""`tool-assemble`: whole tool calls out of the pieces that a model streams."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

import msgspec
from pydantic import Field

from aiflow.events import Control, ToolCall, ToolFragment
from aiflow.operators.base import Operator, Params, Port
from aiflow.operators.scope import Scope
from aiflow.policies import State
from aiflow.providers.tool_calls import joined
from aiflow.types import CONTROL, TOOL_CALL, TOOL_FRAGMENT, PortType

#: Pieces of calls, and behind them the word that their answer is over.
PIECES = PortType("tool-pieces", (TOOL_FRAGMENT, CONTROL))

# The answer broke off or was withdrawn: what it asked for is not done.
_WITHDRAWN = ("error", "incomplete", "content_filter")


@dataclass(slots=True)
class OpenCall:
    """One call, as far as it has come."""

    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)

    def add(self, piece: ToolFragment) -> None:
        """Take the next piece."""
        self.id = self.id or piece.id
        self.name += piece.name
        if piece.arguments:
            self.arguments.append(piece.arguments)

    def whole(self, choice: int) -> ToolCall:
        """Return the call that the pieces make."""
        piece = ToolFragment(0, self.id, self.name, "".join(self.arguments))
        return joined([piece], choice)


@dataclass(slots=True)
class Answer:
    """The calls of one answer, as far as they have come.

    Attributes:
        calls: (choice, index) -> one call.
        first: sequence of its first piece; None without.
        size: characters of all its pieces.
        is_over_size: pieces were left out, because there were too many.
    """

    calls: dict[tuple[int, int], OpenCall] = field(default_factory=dict)
    first: int | None = None
    size: int = 0
    is_over_size: bool = False


# By the source and the sequence at which each began.
Answers = dict[tuple[str, int], Answer]


class ToolAssembleParams(Params):
    """Parameters of `tool-assemble`."""

    max_calls: int = Field(
        16,
        ge=1,
        le=10_000,
        title="Calls",
        description="Most calls that are open at once; an answer with more fails the conversation.",
        json_schema_extra={"x-unit": "calls"},
    )
    max_characters: int = Field(
        200_000,
        ge=1,
        le=1_000_000_000,
        title="Longest calls",
        description="Most text of all calls of one answer; a call that is cut by it is not made.",
        json_schema_extra={"x-unit": "characters"},
    )


class ToolAssemble(Operator[ToolAssembleParams]):
    """Join the pieces of tool calls; when the answer is over, its calls leave in order.

    Connect the ports `tools` and `control` of the model to its one port: what one node sends to one
    port keeps its order, so the finish that the control message tells stands behind the pieces.
    Without control messages the calls leave at the end of the turn, which a tool loop never
    reaches.

    Pieces of several calls may alternate, and id and name may come late or not at all. No
    text is the arguments {}. A call whose arguments are no JSON object, or whose answer broke
    off or was withdrawn, leaves without arguments: `tool-call` then does not make it and tells
    the model why, so nothing is lost and nothing is guessed.

    Emits when: an answer is over; one event for each of its calls, in the order of their index.
    Backpressures when: downstream does, as calls leave; else it takes all that comes.
    Completes when: its input has ended and the last calls have left.
    Fails when: more calls are open than `max_calls`.
    """

    name = "tool-assemble"
    title = "Tool assembler"
    category = "tools"
    summary = "Joins the pieces of tool calls that a model streams."
    inputs = (Port("in", PIECES, "pieces of calls, and the control messages behind them"),)
    outputs = (Port("out", TOOL_CALL, "whole calls"),)
    Params: ClassVar = ToolAssembleParams
    state = State.SERIALIZED

    def new_state(self) -> Answers:
        """Return no answers: by the sequence at which each began."""
        return {}

    def kept_events(self) -> int:
        """Return how many calls may be open."""
        return self.params.max_calls

    def most_outputs(self) -> int:
        """Return the calls of one answer."""
        return self.params.max_calls

    def process(self, payload: ToolFragment | Control, scope: Scope) -> Iterator[ToolCall] | None:
        """Keep a piece; yield the calls of an answer that is over."""
        answers: Answers = scope.state
        if isinstance(payload, ToolFragment):
            self._add(payload, answers, scope)
            scope.keep_from(_first(answers))
            return None
        if payload.kind == "start":
            answers[scope.source, scope.sequence] = Answer()
        if payload.kind != "finish":
            return None
        place = _open_at(answers, scope)
        choice, reason = payload.data.get("choice", 0), payload.data.get("reason")
        calls = [] if place is None else self._taken(answers, place, choice, reason)
        scope.keep_from(_first(answers))
        return iter(calls) if calls else None

    def finish(self, scope: Scope) -> list[ToolCall]:
        """Return the calls of answers that never said that they were over."""
        answers: Answers = scope.state
        calls = [
            call
            for place in sorted(answers)
            for choice in sorted({choice for choice, _ in answers[place].calls})
            for call in self._taken(answers, place, choice, None)
        ]
        scope.keep_from(None)
        return calls

    def _add(self, piece: ToolFragment, answers: Answers, scope: Scope) -> None:
        place = _open_at(answers, scope) or (scope.source, scope.sequence)
        answer = answers.setdefault(place, Answer())
        if answer.first is None:
            answer.first = scope.sequence
        call = answer.calls.setdefault((piece.choice, piece.index), OpenCall())
        if sum(len(each.calls) for each in answers.values()) > self.params.max_calls:
            raise ValueError(
                f"more than {self.params.max_calls} tool calls are open; raise max_calls, or tell"
                " the model to make fewer at once"
            )
        answer.size += len(piece.id) + len(piece.name) + len(piece.arguments)
        if answer.size > self.params.max_characters:
            answer.is_over_size = True
        else:
            call.add(piece)

    def _taken(
        self, answers: Answers, place: tuple[str, int], choice: int, reason: str | None
    ) -> list[ToolCall]:
        """Take the calls of one choice out of an answer that is over."""
        answer = answers[place]
        taken = sorted(key for key in answer.calls if key[0] == choice)
        calls = [answer.calls.pop(key).whole(choice) for key in taken]
        for number, (key, call) in enumerate(zip(taken, calls, strict=True)):
            is_last = number == len(calls) - 1
            is_whole = reason not in _WITHDRAWN and not answer.is_over_size
            # An answer that was cut by its length may have been cut before the arguments began.
            is_whole = is_whole and not (reason == "length" and is_last and not call.arguments)
            calls[number] = msgspec.structs.replace(
                call,
                id=call.id or f"call_{answer.first}_{key[1]}",
                arguments=call.arguments if is_whole else None,
            )
        if not answer.calls:
            del answers[place]
        return calls


def _open_at(answers: Answers, scope: Scope) -> tuple[str, int] | None:
    """Return the place of the answer that an event belongs to; None where none is open.

    A model that is asked gives all of an answer its prompt's sequence. A source numbers each
    piece anew, so there it is the source's open answer.
    """
    own = (scope.source, scope.sequence)
    return own if own in answers else max((p for p in answers if p[0] == own[0]), default=None)


def _first(answers: Answers) -> int | None:
    """Return the sequence of the first piece that is kept; None without any."""
    return min((each.first for each in answers.values() if each.first is not None), default=None)
