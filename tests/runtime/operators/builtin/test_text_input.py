"""Tests of `aiflow.operators.builtin.text_input`."""

from __future__ import annotations

from pathlib import Path

import pytest

from aiflow.clock import SystemClock
from aiflow.errors import NamedFileError
from aiflow.events import Message
from aiflow.operators.builtin.text_input import TextInput, TextInputParams
from aiflow.operators.scope import Scope
from aiflow.policies import Policy
from aiflow.testing.operators import run_operator

TEXT = "One.\n\n  Two,\nand more.\n \n\n\nThree.\n"


def source(*folders: Path, **params: object) -> TextInput:
    """Return a source of the text above."""
    return TextInput(TextInputParams.model_validate({"text": TEXT, **params}), folders)


def texts(operator: TextInput, run_input: str | None = None) -> list[str]:
    """Return what comes in the first conversation."""
    return [each.text for each in run_operator(operator, run_input=run_input).at("out")]


@pytest.mark.parametrize(
    ("split", "pieces"),
    [
        ("lines", ["One.", "Two,", "and more.", "Three."]),
        ("paragraphs", ["One.", "Two,\nand more.", "Three."]),
        ("whole", [TEXT.strip()]),
    ],
)
def test_a_text_is_cut_as_the_params_say(split: str, pieces: list[str]) -> None:
    """Empty pieces are left out."""
    assert texts(source(split=split)) == pieces


def test_each_text_may_have_a_conversation_of_its_own() -> None:
    """As many conversations as texts; the fifth begins again with the first."""
    operator = source(conversations="each")
    got = []
    for number in range(1, 6):
        scope = Scope("input", SystemClock())
        scope.number = number
        got.append([each.text for each in operator.stream(scope)])

    assert operator.conversations() == 4
    assert got == [["One."], ["Two,"], ["and more."], ["Three."], ["One."]]


@pytest.mark.parametrize("conversations", ["one", "each"])
def test_the_text_given_to_a_run_takes_the_place_of_all(conversations: str) -> None:
    """`aiflow run --input` sends what it says."""
    assert texts(source(conversations=conversations), "a\nb") == ["a", "b"]


def test_a_file_is_read_whatever_system_wrote_it(tmp_path: Path) -> None:
    """Marks at the beginning and line ends of other systems are no text."""
    (tmp_path / "asked.txt").write_bytes(b"\xef\xbb\xbf\xc3\xbc\r\nb\rc")
    operator = source(tmp_path, path="asked.txt", role="system")

    assert run_operator(operator).at("out") == [Message(each, "system") for each in ("ü", "b", "c")]


def test_a_file_is_read_once_for_all_its_conversations(tmp_path: Path) -> None:
    """Whatever is written into it meanwhile; the next run reads it anew, beside the first."""
    (tmp_path / "a.txt").write_text("one\ntwo", encoding="utf-8")
    operator = source(tmp_path, path="a.txt", conversations="each")
    first = operator.for_run()
    (tmp_path / "a.txt").write_text("three", encoding="utf-8")
    second = operator.for_run()

    assert (first.conversations(), second.conversations()) == (2, 1)
    assert (texts(first), texts(second)) == (["one"], ["three"])


def test_nothing_but_blanks_is_one_conversation_without_a_text() -> None:
    """A run of it ends at once instead of failing."""
    operator = source(text=" \n\n", conversations="each")

    assert (operator.conversations(), texts(operator)) == (1, [])


@pytest.mark.parametrize(
    ("content", "reason"), [(None, "there is no such file"), (b"a\xff", "byte 1 is not UTF-8")]
)
def test_a_file_that_cannot_be_read_is_told_before_the_run(
    tmp_path: Path, content: bytes | None, reason: str
) -> None:
    """By the check; and a run of it fails instead of sending nothing."""
    if content is not None:
        (tmp_path / "a.txt").write_bytes(content)
    operator = source(tmp_path, path="a.txt", conversations="each")

    (clause,) = operator.check(Policy())
    assert reason in clause
    assert operator.conversations() == 1
    with pytest.raises(NamedFileError, match=reason):
        texts(operator)


def test_a_file_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory holds a prompt, not an archive."""
    monkeypatch.setattr("aiflow.retrieval.files.MAX_BYTES", 2**20)
    (tmp_path / "a.txt").write_bytes(b"a" * (2**20 + 1))

    assert "larger than 1 MiB" in next(source(tmp_path, path="a.txt").check(Policy()))
