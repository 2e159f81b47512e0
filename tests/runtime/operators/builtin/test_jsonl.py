"""Tests of `aiflow.operators.builtin.jsonl`."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from aiflow.errors import NamedFileError
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
    with pytest.raises(NamedFileError, match=r"gone/log\.jsonl: no line can be added"):
        run_operator(jsonl, [Token("a")])


@pytest.mark.parametrize(
    "old",
    ['{\n  "format": "aiflow"\n}\n', '{"format": "aiflow"}', '{"aiflow-trace": 1}\n', "Notes\n"],
)
def test_a_file_that_is_no_log_is_found_before_it_is_spoilt(tmp_path: Path, old: str) -> None:
    """A graph or a trace named by mistake keeps its bytes."""
    (tmp_path / "old").write_text(old, encoding="utf-8")
    jsonl = Jsonl(JsonlParams(path="old"), [tmp_path])

    assert list(jsonl.check(Policy())) == ["its file old holds something else than lines of a log"]


@pytest.mark.parametrize("old", ["", '{"old": 1}\n', '{"old": 1}\n{"torn'])
def test_a_log_may_be_continued(tmp_path: Path, old: str) -> None:
    """Also one of another program, and one whose last line was torn."""
    (tmp_path / "old").write_text(old, encoding="utf-8")

    assert not list(Jsonl(JsonlParams(path="old"), [tmp_path]).check(Policy()))


def test_a_disk_that_takes_half_a_line_does_not_lose_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A raw write may stop early without an error; the rest follows."""

    class Reluctant(io.FileIO):
        def write(self, data: Any, /) -> int:
            return super().write(bytes(data)[:7])

    monkeypatch.setattr(io, "FileIO", Reluctant)

    run_operator(Jsonl(JsonlParams(path="log"), [tmp_path]), [Token("a")])
    monkeypatch.undo()

    line = (tmp_path / "log").read_text(encoding="utf-8")
    assert line.endswith("}\n")
    assert json.loads(line)["payload"]["text"] == "a"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full disk")
def test_a_full_disk_is_told_with_the_files_name() -> None:
    """What, where, and what to do."""
    with pytest.raises(NamedFileError, match=r"/dev/full: no line can be added \(the disk is full"):
        run_operator(Jsonl(JsonlParams(path="/dev/full")), [Token("a")])


def test_a_torn_last_line_is_taken_away_before_the_next(tmp_path: Path) -> None:
    """A record that is whole and lacks its newline stays."""
    log = tmp_path / "log.jsonl"
    for old, kept in (('{"old": 1}\n{"torn', '{"old": 1}\n'), ('{"old": 1}', '{"old": 1}\n')):
        log.write_text(old, encoding="utf-8")
        run_operator(Jsonl(JsonlParams(path="log.jsonl"), [tmp_path]), [Token("a")])
        text = log.read_text(encoding="utf-8")
        assert text.startswith(kept + '{"conversation"')
        assert len(text.splitlines()) == 2


def test_a_file_that_is_full_becomes_an_older_one(tmp_path: Path) -> None:
    """All lines that are kept are whole and in order, and no file is beyond its limit."""
    jsonl = Jsonl(JsonlParams(path="log", rotate_bytes=1_000, keep_files=2), [tmp_path])

    run_operator(jsonl, [Token(str(number)) for number in range(100)])

    files = [tmp_path / name for name in ("log.2", "log.1", "log")]
    assert sorted(tmp_path.iterdir()) == sorted(files)
    assert all(600 < file.stat().st_size <= 1_000 for file in files[:2])
    lines = [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    numbers = [json.loads(line)["sequence"] for line in lines]
    assert numbers == list(range(100 - len(numbers), 100))


def test_what_rotation_would_replace_is_looked_at_too(tmp_path: Path) -> None:
    """A file that only has such a name keeps its bytes."""
    (tmp_path / "log.2").write_text("Notes", encoding="utf-8")
    params = JsonlParams(path="log", rotate_bytes=1_000, keep_files=2)

    assert list(Jsonl(params, [tmp_path]).check(Policy())) == [
        "log.2, which would be replaced, holds something else than a log"
    ]
    assert not list(Jsonl(JsonlParams(path="log"), [tmp_path]).check(Policy()))
