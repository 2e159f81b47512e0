"""`text-input`: texts from a parameter or a file, as if a person had typed them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from aiflow.errors import NamedFileError
from aiflow.events import Message
from aiflow.operators.base import Params, Port, Source
from aiflow.operators.scope import Scope
from aiflow.policies import Policy
from aiflow.resources import find_file
from aiflow.retrieval.files import BLANK_LINES, content_of, decoded
from aiflow.types import MESSAGE


class TextInputParams(Params):
    """Parameters of `text-input`."""

    text: str = Field(
        "Why should a program ever wait on purpose?",
        title="Text",
        description="What is read where no file is named; the text given to a run takes its place.",
        json_schema_extra={"x-editor": "multiline"},
    )
    path: str | None = Field(
        None,
        min_length=1,
        title="File",
        description="Text file in UTF-8, relative to the graph's file, else to the shipped graphs.",
        json_schema_extra={"x-editor": "path"},
    )
    split: Literal["lines", "paragraphs", "whole"] = Field(
        "lines",
        title="Cut into",
        description="Lines, paragraphs between blank lines, or the whole as one; empty ones are"
        " left out.",
    )
    conversations: Literal["one", "each"] = Field(
        "one",
        title="Conversations",
        description="All texts one after another in one conversation, or each in one of its own.",
    )
    role: Literal["user", "assistant", "system"] = Field(
        "user",
        title="Role",
        description="Whose messages they are; a prompt for a model is the user's.",
    )


class TextInput(Source[TextInputParams]):
    """Read lines or paragraphs and send each as a message.

    Emits when: downstream takes the next text.
    Backpressures when: downstream does.
    Completes when: the last text has left, or in a conversation of its own the one text.
    Fails when: the file cannot be read or is not in UTF-8.
    """

    name = "text-input"
    title = "Text input"
    category = "sources"
    summary = "Sends lines or paragraphs of a text or file."
    Params: ClassVar = TextInputParams
    outputs = (Port("out", MESSAGE, "the texts"),)

    def __init__(
        self,
        params: TextInputParams,
        folders: Sequence[Path] = (),
        texts: tuple[str, ...] | None = None,
    ) -> None:
        super().__init__(params, folders)
        self._each = texts

    def for_run(self) -> TextInput:
        """Return a source that has read its texts.

        Text n is the same however the file changes meanwhile, and a file of many lines is not
        read anew for each of its conversations.
        """
        if self.params.conversations == "one":
            return self
        try:
            return TextInput(self.params, self.folders, tuple(self._texts(None)))
        except NamedFileError:
            return self  # told by `check` before a run, and by `stream` in one

    def conversations(self) -> int:
        """Return how many texts there are where each has a conversation, else 1."""
        if self.params.conversations == "one":
            return 1
        try:
            return max(1, len(self._texts(None) if self._each is None else self._each))
        except NamedFileError:
            return 1

    def events_per_turn(self) -> int | None:
        """Return how many texts there are where one conversation has them all, else 1."""
        if self.params.conversations == "each":
            return 1
        try:
            return len(self._texts(None))
        except NamedFileError:
            return None

    def stream(self, scope: Scope) -> Iterator[Message]:
        """Yield the conversation's texts."""
        if self.params.conversations == "one" or scope.input is not None:
            texts = self._texts(scope.input)
        else:
            texts = self._texts(None) if self._each is None else list(self._each)
            # Behind the last comes the first again, in a run that repeats.
            texts = texts[(scope.number - 1) % len(texts) :][:1] if texts else []
        for text in texts:
            yield Message(text, self.params.role)

    def check(self, policy: Policy) -> Iterator[str]:
        """Name the file that is not there or cannot be read."""
        try:
            self._texts(None)
        except NamedFileError as error:
            yield str(error)

    def _texts(self, given: str | None) -> list[str]:
        """Return all texts.

        Raises:
            NamedFileError: the file cannot be read.
        """
        text = given
        if text is None:
            text = self.params.text if self.params.path is None else self._read(self.params.path)
        pieces = [text]
        if self.params.split != "whole":
            pieces = text.split("\n") if self.params.split == "lines" else BLANK_LINES.split(text)
        return [piece.strip() for piece in pieces if piece.strip()]

    def _read(self, name: str) -> str:
        path = find_file(name, self.folders)
        if path is None:
            raise NamedFileError(name, "there is no such file; check the path")
        return decoded(name, content_of(name, path))
