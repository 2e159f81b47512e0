"""Tests of `aiflow.operators.builtin.sqlite_log`."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from aiflow.engine.session import Session
from aiflow.errors import NamedFileError
from aiflow.events import Audio, Token, ToolFragment
from aiflow.operators.builtin.sqlite_log import Log, SqliteLog, SqliteLogParams
from aiflow.policies import Policy
from aiflow.testing.operators import OperatorRun, run_operator
from aiflow.testing.plans import PlanBuilder
from aiflow.testing.virtual import run_virtual

# Logs as fast as it can until it is killed, and says when the first thousand are logged.
WRITER = """
import sys
from pathlib import Path
from aiflow.clock import SystemClock
from aiflow.events import Token
from aiflow.operators.builtin.sqlite_log import SqliteLog, SqliteLogParams
from aiflow.operators.scope import Scope

folder, batch = sys.argv[1:]
operator = SqliteLog(SqliteLogParams(path="log.sqlite", batch=int(batch)), [Path(folder)])
scope = Scope("log", SystemClock())
scope.conversation, scope.state = "c1", operator.new_state()
while True:
    operator.process(Token("word " * 20), scope)
    scope.sequence += 1
    if scope.sequence == 1000:
        print("a thousand", flush=True)
"""


def log(folder: Path, *payloads: object, **params: object) -> OperatorRun:
    """Run a log on payloads."""
    given = {"path": "log.sqlite", **params}
    return run_operator(SqliteLog(SqliteLogParams.model_validate(given), [folder]), payloads)


def rows(folder: Path, columns: str = "*") -> list[tuple[object, ...]]:
    """Return what the log holds."""
    with closing(sqlite3.connect(folder / "log.sqlite")) as database:
        return database.execute(f"SELECT {columns} FROM events ORDER BY id").fetchall()


def test_a_row_says_where_the_event_stands_and_what_it_holds(tmp_path: Path) -> None:
    """Nine columns; the payload is JSON, its text has a column of its own."""
    run = log(tmp_path, Token("ü", "reasoning"), ToolFragment(0, name="f"))

    first, second = rows(tmp_path)
    assert first[:7] == (1, "sqlite-log", "c1", 0, 0, "token", "ü")
    assert json.loads(str(first[7])) == {"text": "ü", "channel": "reasoning", "choice": 0}
    assert (second[4], second[5], second[6]) == (1, "tool-fragment", "")
    assert run.shown == "events logged: 2 (log.sqlite)\n"


@pytest.mark.parametrize("payload", [object(), Audio(b"\x00\xff", 16000), float("nan")])
def test_any_payload_makes_a_row(tmp_path: Path, payload: object) -> None:
    """What is no plain value is logged by its repr rather than lost."""
    log(tmp_path, payload)

    assert len(rows(tmp_path)) == 1


def test_a_batch_is_one_transaction_and_the_last_may_be_smaller(tmp_path: Path) -> None:
    """Nothing is written before a batch is complete, and all of it at the end."""
    operator = SqliteLog(SqliteLogParams(path="log.sqlite", batch=4), [tmp_path])
    state = operator.new_state()
    state.rows = [("n", "c1", 0, n, "token", "", "{}", 0.0) for n in range(3)]

    assert not (tmp_path / "log.sqlite").exists()
    state.write()
    assert len(rows(tmp_path)) == state.written == 3
    state.close()

    log(tmp_path, *map(Token, "abcdef"), batch=4)
    assert len(rows(tmp_path)) == 9
    assert operator.kept_events() == 3


def test_the_oldest_records_make_room(tmp_path: Path) -> None:
    """Also those of an earlier run; the file never holds more than so many."""
    log(tmp_path, *map(Token, "abcd"))
    log(tmp_path, *map(Token, "efgh"), max_records=5)

    assert [text for (text,) in rows(tmp_path, "text")] == list("defgh")


def test_without_a_file_nothing_is_left_behind(tmp_path: Path, monkeypatch) -> None:
    """Memory only, and it says so."""
    monkeypatch.chdir(tmp_path)
    run = log(tmp_path, Token("a"), path=None)

    assert run.shown == "events logged: 1 (memory only: no file is set)\n"
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_database_fails_with_its_name_and_is_left_alone(tmp_path: Path) -> None:
    """Somebody's text file is not overwritten."""
    (tmp_path / "log.sqlite").write_text("dear diary " * 20, encoding="utf-8")

    with pytest.raises(NamedFileError, match=r"^the file log\.sqlite: no row can be added"):
        log(tmp_path, Token("a"))
    assert (tmp_path / "log.sqlite").read_text(encoding="utf-8").startswith("dear diary")


def test_a_folder_that_is_not_there_is_found_before_the_run(tmp_path: Path) -> None:
    """The check says so, and a run fails instead of losing rows."""
    operator = SqliteLog(SqliteLogParams(path="gone/log.sqlite"), [tmp_path])

    (clause,) = operator.check(Policy())
    assert clause == "the folder of its file gone/log.sqlite does not exist"
    with pytest.raises(NamedFileError, match=r"the file gone/log\.sqlite: .*unable to open"):
        run_operator(operator, [Token("a")])


def test_a_failed_batch_leaves_nothing_of_itself(tmp_path: Path) -> None:
    """All of a transaction or none of it."""
    state = Log(tmp_path / "log.sqlite")
    good = ("n", "c1", 0, 0, "token", "", "{}", 0.0)
    state.rows = [good]
    state.write()
    state.rows = [good, (None, *good[1:])]

    with pytest.raises(NamedFileError, match="NOT NULL"):
        state.write()
    state.close()
    assert len(rows(tmp_path)) == 1


def test_many_conversations_write_one_file_at_once(tmp_path: Path) -> None:
    """None keeps the file to itself between two events, and no row is lost."""
    operator = SqliteLog(SqliteLogParams(path="log.sqlite", batch=3), [tmp_path])
    plan = (
        PlanBuilder(max_conversations=5)
        .source("source", map(Token, []), conversations=1)
        .source("more", [Token(str(n)) for n in range(20)], conversations=5)
        .operator("log", operator)
        .chain("more", "log")
        .edge("source", "log")
        .build()
    )

    async def session() -> None:
        await Session(plan).run()

    run_virtual(session())
    counts = {c: 0 for (c,) in rows(tmp_path, "conversation")}
    for (conversation,) in rows(tmp_path, "conversation"):
        counts[conversation] += 1
    assert counts == {f"c{number}": 20 for number in range(1, 6)}


@pytest.fixture(params=[1, 7])
def killed(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """Return the folder of a log whose writer was killed in the middle of its work."""
    arguments = [sys.executable, "-c", WRITER, str(tmp_path), str(request.param)]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        try:
            assert writer.stdout.readline() == b"a thousand\n"
        finally:
            writer.kill()
    return tmp_path


def test_a_killed_program_leaves_whole_records_without_a_gap(killed: Path) -> None:
    """SIGKILL in mid-write: the file is sound, every record readable, none missing between."""
    with closing(sqlite3.connect(killed / "log.sqlite")) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]

    found = rows(killed, "sequence, payload")
    assert len(found) >= 990
    assert [sequence for sequence, _ in found] == list(range(len(found)))
    assert {json.loads(str(payload))["text"] for _, payload in found} == {"word " * 20}
