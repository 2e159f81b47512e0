"""Tests of `aiflow.cli.console`."""

from __future__ import annotations

import io
import json
import sys

import pytest

from aiflow.cli.console import complain, never_fail_to_encode, put, put_json, say

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


def test_an_encoding_without_our_signs_shows_plain_ones_to_a_person(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A bar is a bar, and a letter that nothing stands for is an escape."""
    out, err = io.BytesIO(), io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(out, encoding="ascii"))
    monkeypatch.setattr(sys, "stderr", io.TextIOWrapper(err, encoding="ascii"))
    never_fail_to_encode()

    put("screen │ ja – grün")
    say("speech: ■□ 1/2 → ok")

    assert out.getvalue() == b"screen | ja - gr\\u00fcn\n"
    assert err.getvalue() == b"speech: #. 1/2 -> ok\n"


def test_an_encoding_without_a_letter_changes_no_json(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program reads each letter, also those beyond 16 bits."""
    buffer = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(buffer, encoding="latin-1"))
    never_fail_to_encode()

    put_json({"text": "│ grün 🎈"})

    written = buffer.getvalue().decode("latin-1")
    assert json.loads(written) == {"text": "│ grün 🎈"}
