"""Tests of `aiflow.retrieval.documents`."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiflow.errors import NamedFileError
from aiflow.retrieval import documents, files
from aiflow.retrieval.documents import Passage, made, passages, read
from tests.runtime.retrieval.pdf import make_pdf

MARKDOWN = """Before it all.

# The lamp

It is lit.
At dusk.

## Cleaning it ##

Use water.

Use a cloth.
"""


def texts(name: str, text: str, size: int = 60) -> list[Passage]:
    """Return the passages of a text."""
    return passages(made(name, text.encode()), size)


def test_markdown_is_cut_at_its_headings() -> None:
    """Each passage carries the document's title and the heading it stands under."""
    assert texts("a/lamp-room.md", MARKDOWN) == [
        Passage("The lamp", "Before it all."),
        Passage("The lamp", "It is lit. At dusk."),
        Passage("The lamp: Cleaning it", "Use water. Use a cloth."),
    ]


def test_text_is_cut_between_paragraphs_and_named_by_its_file() -> None:
    """Paragraphs stay together while they fit; a sign of a heading is none there."""
    text = "# one two three.\r\n\r\nfour five.\r\rsix seven eight nine ten."

    assert texts("old_harbour-bell.txt", text, 30) == [
        Passage("old harbour bell", "# one two three. four five."),
        Passage("old harbour bell", "six seven eight nine ten."),
    ]


def test_a_long_paragraph_is_cut_behind_a_sentence_or_else_a_word() -> None:
    """A single word that is too long stays whole."""
    found = texts("a.txt", "One two. Three four five six. " + "x" * 25 + " end", 20)

    assert [each.text for each in found] == [*("One two.", "Three four five six.", "x" * 25, "end")]


@given(st.text("ab .!?\n#", max_size=300), st.integers(5, 50), st.sampled_from([".md", ".txt"]))
def test_no_word_is_lost_and_no_passage_is_too_long(text: str, size: int, ending: str) -> None:
    """But for headings, which become titles, all words are there in order."""
    found = texts(f"a{ending}", text, size)

    words = " ".join(each.text for each in found).split()
    assert words == [
        word
        for line in (text.split("\n") if ending == ".txt" else _unheaded(text))
        for word in line.split()
    ]
    for each in found:
        assert len(each.text) <= size or " " not in each.text


def _unheaded(text: str) -> list[str]:
    return documents._HEADING.sub("", text).split("\n")


def test_a_pdf_is_read_page_by_page() -> None:
    """Its text is found like any other."""
    document = made("b.pdf", make_pdf("The bell rings thrice.", "", "Then it stops."))

    assert passages(document, 30) == [
        Passage("b", "The bell rings thrice."),
        Passage("b", "Then it stops."),
    ]


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.md", b"ok \xff", "byte 3 is not UTF-8"),
        ("a.pdf", b"no pdf at all", "it is no PDF that can be read"),
        ("a.pdf", make_pdf(""), "it holds no text, only pictures"),
    ],
)
def test_what_cannot_be_read_is_told_and_not_left_out(
    name: str, content: bytes, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    """With its name, and what to do."""
    with pytest.raises(NamedFileError, match=f"the file {name}: {reason}"):
        passages(made(name, content), 100)


def test_files_that_are_too_large_or_gone_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before any of it is in memory."""
    monkeypatch.setattr(files, "MAX_BYTES", 2**20)
    (tmp_path / "a").write_bytes(b"a" * (2**20 + 1))

    with pytest.raises(NamedFileError, match="larger than 1 MiB"):
        read("a", tmp_path / "a")
    with pytest.raises(NamedFileError, match="b: it cannot be read"):
        read("b", tmp_path / "b")
