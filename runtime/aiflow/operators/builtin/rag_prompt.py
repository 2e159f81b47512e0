"""`rag-prompt`: make a prompt of a question and the passages found for it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import ClassVar

import msgspec
from pydantic import Field, field_validator

from aiflow.events import Chunk, Message, Retrieval, Token
from aiflow.operators.base import Emit, Operator, Params, Port
from aiflow.operators.scope import Scope
from aiflow.policies import State
from aiflow.types import MESSAGE, RETRIEVAL, TEXT, PortType

#: What the builder takes by one port, so that passages and their question stay in order.
RETRIEVAL_OR_TEXT = PortType("retrieval-or-text", (RETRIEVAL, TEXT))

_PLACE = re.compile(r"\{(passages|question)\}")


class RagPromptParams(Params):
    """Parameters of `rag-prompt`."""

    template: str = Field(
        "Answer the question from the passages below, and from nothing else. Name the number of"
        " each passage you use in brackets, such as [1]. Say so if they do not hold the answer."
        "\n\n{passages}\n\nQuestion: {question}",
        title="Template",
        description="The prompt; {passages} and {question} stand for what they say.",
        json_schema_extra={"x-editor": "multiline"},
    )
    max_passages: int = Field(
        6,
        ge=1,
        le=1_000,
        title="Most passages",
        description="Passages of one prompt; those that come behind are left out.",
        json_schema_extra={"x-unit": "passages"},
    )
    max_characters: int = Field(
        6_000,
        ge=100,
        le=10_000_000,
        title="Longest passages",
        description="Characters of all passages of one prompt together; one that does not fit is"
        " left out.",
        json_schema_extra={"x-unit": "characters"},
    )
    nothing: str = Field(
        "(Nothing was found.)",
        title="Without passages",
        description="Stands in place of the passages where nothing was found.",
    )

    @field_validator("template")
    @classmethod
    def _template_asks(cls, template: str) -> str:
        if "{question}" not in template:
            raise ValueError("the template has no {question}, so the model would not be asked")
        return template


@dataclass(slots=True)
class Gathered:
    """The passages that have come for a question that has not.

    Attributes:
        parts: each as it will stand in the prompt.
        length: characters of all of them.
        first: sequence of the event that brought the first; None without.
    """

    parts: list[str] = field(default_factory=list)
    length: int = 0
    first: int | None = None


class RagPrompt(Operator[RagPromptParams]):
    """Gather passages as they stream in; with the question comes the prompt.

    Each passage that enters the prompt leaves at once by `citations` with its number as its id,
    so that whoever reads the answer can look up what [1] means while the model still thinks.
    A retriever with several workers needs a reorder buffer, or questions mix their passages.

    Emits when: a passage that fits arrives, at `citations`; a question arrives, one prompt.
    Backpressures when: downstream does.
    Completes when: its input has ended.
    Fails when: the turn ends with passages and no question.
    """

    name = "rag-prompt"
    title = "Prompt builder"
    category = "retrieval"
    summary = "Makes a prompt of a question and the passages found for it."
    inputs = (Port("in", RETRIEVAL_OR_TEXT, "passages, and behind them their question"),)
    outputs = (
        Port("out", MESSAGE, "prompts"),
        Port("citations", RETRIEVAL, "the passages of the prompts, with their numbers as ids"),
    )
    Params: ClassVar = RagPromptParams
    # Passages belong to the question that comes next.
    state = State.SERIALIZED

    def new_state(self) -> Gathered:
        """Return no passages."""
        return Gathered()

    def kept_events(self) -> int:
        """Return how many passages may wait for their question."""
        return self.params.max_passages

    def process(
        self, payload: Retrieval | Token | Chunk | Message, scope: Scope
    ) -> Emit | Message | None:
        """Keep a passage and cite it; return the prompt of a question."""
        if isinstance(payload, Retrieval):
            return self._cite(payload, scope)
        gathered: Gathered = scope.state
        scope.state = Gathered()
        scope.keep_from(None)
        values = {
            "passages": "\n\n".join(gathered.parts) or self.params.nothing,
            "question": payload.text,
        }
        # In one pass: a passage that holds {question} is no template.
        return Message(_PLACE.sub(lambda place: values[place[1]], self.params.template), "user")

    def finish(self, scope: Scope) -> None:
        """Complain of passages whose question never came."""
        gathered: Gathered = scope.state
        scope.keep_from(None)
        if gathered.parts:
            raise ValueError(
                "passages came without a question behind them; connect the port query of the"
                " retriever to the same port as its passages"
            )

    def _cite(self, passage: Retrieval, scope: Scope) -> Emit | None:
        gathered: Gathered = scope.state
        number = len(gathered.parts) + 1
        title = f"{passage.title}: " if passage.title else ""
        part = f"[{number}] {title}{passage.text}"
        is_full = gathered.length + len(part) > self.params.max_characters
        if is_full or number > self.params.max_passages:
            return None
        if gathered.first is None:
            gathered.first = scope.sequence
        gathered.parts.append(part)
        gathered.length += len(part)
        scope.keep_from(gathered.first)
        return Emit("citations", msgspec.structs.replace(passage, id=str(number)))
