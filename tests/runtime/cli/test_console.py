"""Tests of `aiflow.cli.console`."""

from __future__ import annotations

import json

import pytest

from aiflow.cli.console import complain, put, put_json, say

NASTY = "a\x1b[2J\rb\x07\x7f\x9b31m\tc\nd"


def test_a_terminal_is_never_told_what_a_text_from_outside_says(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Escape sequences are shown by pictures; tabs and newlines stay."""
    put(NASTY)
    say(NASTY)

    out, err = capsys.readouterr()
    assert out == err == "a␛[2J␍b␇␡\ufffd31m\tc\nd\n"


def test_an_error_is_one_line_without_escape_sequences(capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever a provider or a file put into it."""
    complain("it says\n\x1b[31mno")

    assert capsys.readouterr().err == "aiflow: it says ␛[31mno\n"


def test_json_keeps_each_letter(capsys: pytest.CaptureFixture[str]) -> None:
    """JSON has its own escapes, so a program reads what was there."""
    put_json({"text": NASTY})

    assert json.loads(capsys.readouterr().out) == {"text": NASTY}
