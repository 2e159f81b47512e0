"""Tests of `aiflow.operators.builtin.index`."""

from __future__ import annotations

from aiflow.events import Message, Token
from aiflow.operators.base import NoParams
from aiflow.operators.builtin.index import IndexText
from aiflow.testing.operators import run_operator


class FakeIndex:
    def __init__(self) -> None:
        self.texts: dict[str, str] = {}

    def add(self, name: str, text: str) -> bool:
        self.texts[name] = text
        return True


def test_each_text_becomes_a_document_with_a_name_of_its_own() -> None:
    """Node, conversation, turn and sequence; the text passes on unchanged."""
    index = FakeIndex()
    payloads = [Message("one"), Token("two")]

    run = run_operator(IndexText(NoParams()), payloads, resources={"index": index})

    assert index.texts == {"index/c1/0/0": "one", "index/c1/0/1": "two"}
    assert run.at("out") == payloads


def test_the_same_run_puts_the_same_names() -> None:
    """So a run that is repeated makes no second copy."""
    index = FakeIndex()

    for _ in range(2):
        run_operator(IndexText(NoParams()), [Message("one")], resources={"index": index})

    assert list(index.texts) == ["index/c1/0/0"]
