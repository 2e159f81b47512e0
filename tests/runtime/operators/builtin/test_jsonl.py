"""Tests of `aiflow.operators.builtin.jsonl`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from aiflow.events import Audio, Token, ToolFragment
from aiflow.operators.builtin.jsonl import Jsonl, JsonlParams
from aiflow.policies import Policy
from aiflow.testing.operators import run_operator


class Odd:
    """A payload that is no plain value."""

    def __repr__(self) -> str:
        return "Odd()"


def test_a_line_says_where_the_event_stands_and_what_it_holds() -> None:
    """The six fields that a reader of the log needs."""
    run = run_operator(Jsonl(JsonlParams()), [Token("ü", "reasoning"), ToolFragment(0, name="f")])

    first, second = map(json.loads, run.shown.splitlines())
    assert first == {
        "conversation": "c1",
        "turn": 0,
        "sequence": 0,
        "type": "token",
        "payload": {"text": "ü", "channel": "reasoning", "choice": 0},
        "created_at": 0.0,
    }
    assert (second["type"], second["sequence"]) == ("tool-fragment", 1)
    assert "ü" in run.shown


@pytest.mark.parametrize("payload", [Odd(), Audio(b"\x00\xff", 16000), float("nan")])
def test_any_payload_makes_a_line(payload: object) -> None:
    """What is no plain value is logged by its repr rather than lost."""
    run = run_operator(Jsonl(JsonlParams()), [payload])

    assert isinstance(json.loads(run.shown), dict)


def test_lines_are_appended_to_a_file_beside_the_graph(tmp_path: Path) -> None:
    """A relative path starts at the graph's folder, and an old log is kept."""
    (tmp_path / "log.jsonl").write_text('{"old": 1}\n', encoding="utf-8")
    jsonl = Jsonl(JsonlParams(path="log.jsonl"), [tmp_path, tmp_path / "elsewhere"])

    run = run_operator(jsonl, [Token("a"), Token("b")])

    lines = (tmp_path / "log.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line).get("sequence") for line in lines] == [None, 0, 1]
    assert run.shown == ""


def test_a_folder_that_is_not_there_is_found_before_the_run(tmp_path: Path) -> None:
    """The check says so, and a run fails instead of losing lines."""
    jsonl = Jsonl(JsonlParams(path="gone/log.jsonl"), [tmp_path])

    assert list(jsonl.check(Policy())) == ["the folder of its file gone/log.jsonl does not exist"]
    with pytest.raises(FileNotFoundError):
        run_operator(jsonl, [Token("a")])
