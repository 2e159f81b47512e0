"""`aiflow run --serve` and `aiflow attach`, each a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from aiflow.cli import serving
from aiflow.graph.shipped import graphs_dir
from aiflow.remote.addresses import announced

SPEECH = graphs_dir() / "examples" / "slow-speech.aiflow.json"
TOKEN = "a token of the test that is long enough"

Start = Callable[..., "subprocess.Popen[bytes]"]


@dataclass
class Served:
    """A run in a process of its own.

    Attributes:
        said: its lines on stderr up to the address and, where one was made, the token.
    """

    process: subprocess.Popen[bytes]
    address: str
    said: list[str]

    def end(self) -> tuple[int, str, str]:
        """Wait for its end and return exit code, stdout and the rest of stderr."""
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, out.decode(), err.decode()


def environment(home: Path, token: str | None = TOKEN) -> dict[str, str]:
    """Return an environment with this token, or with none."""
    own = {**os.environ, "PYTHONWARNINGS": "error", "XDG_RUNTIME_DIR": str(home)}
    own |= {"LOCALAPPDATA": str(home)}
    own.pop("AIFLOW_TOKEN", None)
    return own if token is None else own | {"AIFLOW_TOKEN": token}


@contextmanager
def served(
    start: Start, home: Path, *options: str, token: str | None = TOKEN, lines: int = 1
) -> Iterator[Served]:
    """Run slow-speech again and again, served, until the block ends."""
    process = start(
        "run", SPEECH, "--json", "--repeat", "--serve", "127.0.0.1:0", *options,
        env=environment(home, token),
    )  # fmt: skip
    try:
        assert process.stderr is not None
        said = [process.stderr.readline().decode() for _ in range(lines)]
        address = announced(said[0])
        assert address is not None, said
        yield Served(process, address, said)
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def attached(start: Start, env: dict[str, str], *arguments: str) -> tuple[int, str, str]:
    """Call `aiflow attach` and return exit code, stdout and stderr."""
    process = start("attach", *arguments, env=env)
    out, err = process.communicate(timeout=60)
    return process.returncode, out.decode(), err.decode()


def test_a_run_is_tuned_from_another_process(aiflow_process: Start, tmp_path: Path) -> None:
    """The change holds in the run, and its report and the client's snapshot tell it."""
    env = environment(tmp_path)
    with served(aiflow_process, tmp_path) as it:
        code, _, err = attached(
            aiflow_process, env, it.address, "--tune", "speech.q=12", "--tune", "router.k=2"
        )
        assert (code, err.splitlines()) == (
            0,
            [
                "aiflow: speech.queue_capacity was 8, is 12",
                "aiflow: router.workers was 1, is 2",
            ],
        )
        code, out, err = attached(aiflow_process, env, it.address, "--once", "--json")
        snapshot = json.loads(out)
        assert (code, err) == (0, "")
        assert snapshot["nodes"]["speech"]["queue_capacity"] == 12
        assert snapshot["nodes"]["router"]["workers"] == 2

        code, _, _ = attached(aiflow_process, env, it.address, "--stop")
        assert code == 0
        code, out, _ = it.end()
        assert (code, json.loads(out)["status"]) == (1, "cancelled")


def test_a_wrong_token_is_refused_and_the_run_goes_on(
    aiflow_process: Start, tmp_path: Path
) -> None:
    """One clear line, exit 1, nothing changed, and neither token is shown anywhere."""
    wrong = "another token that is as long"
    with served(aiflow_process, tmp_path) as it:
        code, out, err = attached(
            aiflow_process, environment(tmp_path, wrong), it.address, "--tune", "speech.q=1"
        )
        assert (code, out) == (1, "")
        assert f"aiflow: the run at {it.address} refuses" in err
        assert wrong not in err

        env = environment(tmp_path)
        code, out, _ = attached(aiflow_process, env, it.address, "--once", "--json")
        assert json.loads(out)["nodes"]["speech"]["queue_capacity"] == 8
        attached(aiflow_process, env, it.address, "--stop")
        _, out, err = it.end()
        assert TOKEN not in "".join((out, err, *it.said))


def test_what_the_checks_forbid_is_refused_from_afar_too(
    aiflow_process: Start, tmp_path: Path
) -> None:
    """The sentence of `aiflow check` comes over the wire."""
    with served(aiflow_process, tmp_path) as it:
        code, _, err = attached(
            aiflow_process, environment(tmp_path), it.address, "--tune", "speech.k=2"
        )

    assert (code, err) == (
        1,
        "aiflow: AF301: node speech has 2 workers, but its state is serialized: one at a time\n",
    )


def test_a_made_token_is_told_once_and_found_by_the_same_user(
    aiflow_process: Start, tmp_path: Path
) -> None:
    """It stands on stderr and in a file; `attach` of the same user needs neither."""
    with served(aiflow_process, tmp_path, token=None, lines=2) as it:
        (file,) = (tmp_path / "aiflow").iterdir()
        token = file.read_text(encoding="utf-8").strip()
        assert it.said[1] == f"aiflow: token {token}, kept in {file}\n"
        if os.name == "posix":
            assert file.stat().st_mode & 0o777 == 0o600

        env = environment(tmp_path, None)
        code, _, _ = attached(aiflow_process, env, it.address, "--drain")
        assert code == 0
        code, out, err = it.end()
        assert (code, json.loads(out)["status"]) == (0, "completed")
        assert token not in err
        assert not file.exists()


def test_a_run_that_is_watched_is_told_line_by_line_until_it_ends(
    aiflow_process: Start, tmp_path: Path
) -> None:
    """Where there is no terminal, `attach` prints plain lines; the last says how it ended."""
    env = environment(tmp_path)
    with served(aiflow_process, tmp_path) as it:
        watching = aiflow_process("attach", it.address, env=env)
        assert watching.stdout is not None
        first = watching.stdout.readline().decode()
        attached(aiflow_process, env, it.address, "--drain")
        out, err = watching.communicate(timeout=60)

        assert first.startswith("running ")
        assert "in flight" in first
        assert out.decode().splitlines()[-1].startswith("completed ")
        assert (watching.returncode, err) == (0, b"")
        it.end()


def test_a_killed_client_leaves_the_run_alone(aiflow_process: Start, tmp_path: Path) -> None:
    """A connection that breaks off is no reason for anything."""
    env = environment(tmp_path)
    with served(aiflow_process, tmp_path) as it:
        watching = aiflow_process("attach", it.address, env=env)
        assert watching.stdout is not None
        watching.stdout.readline()
        watching.kill()
        watching.communicate()

        code, out, _ = attached(aiflow_process, env, it.address, "--once", "--json")
        assert (code, json.loads(out)["phase"]) == (0, "running")


def test_a_killed_run_is_told_in_a_sentence(aiflow_process: Start, tmp_path: Path) -> None:
    """The client neither hangs nor shows a traceback."""
    with served(aiflow_process, tmp_path) as it:
        watching = aiflow_process("attach", it.address, env=environment(tmp_path))
        assert watching.stdout is not None
        watching.stdout.readline()
        it.process.kill()
        _, err = watching.communicate(timeout=60)

    assert watching.returncode == 1
    assert (
        err.decode()
        == f"aiflow: the run at {it.address} has gone without a word; has it been killed?\n"
    )


def test_a_run_stops_when_it_is_left_if_that_is_wanted(
    aiflow_process: Start, tmp_path: Path
) -> None:
    """Whoever started it has died: nothing of it is left."""
    with served(aiflow_process, tmp_path, "--stop-when-left") as it:
        watching = aiflow_process("attach", it.address, env=environment(tmp_path))
        assert watching.stdout is not None
        watching.stdout.readline()
        watching.kill()
        watching.communicate()

        code, out, _ = it.end()
        assert (code, json.loads(out)["status"]) == (1, "cancelled")


@pytest.mark.skipif(os.name != "posix", reason="a signal to another process is POSIX")
def test_a_run_that_waits_for_company_is_not_told_as_blocked_when_interrupted(
    aiflow_process: Start, tmp_path: Path
) -> None:
    """Ctrl+C ends the waiting at once, and no operator is blamed for it."""
    with served(aiflow_process, tmp_path, "--stop-when-left") as it:
        it.process.send_signal(signal.SIGINT)

        code, out, err = it.end()
        assert (code, json.loads(out)["status"]) == (130, "cancelled")
        assert err == "aiflow: draining; press Ctrl+C once more to stop at once\n"


def test_a_run_that_nobody_comes_to_see_is_not_begun(
    aiflow: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever started it has died before it could attach."""
    monkeypatch.setenv("AIFLOW_TOKEN", TOKEN)
    monkeypatch.setattr(serving, "ALONE_S", 0.01)

    called = aiflow("run", SPEECH, "--serve", "127.0.0.1:0", "--stop-when-left")

    assert called.code == 1
    assert "nobody has attached within 0.01 s, so the run was not begun" in called.err
    assert called.out == ""


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("run", str(SPEECH), "--clock", "virtual", "--serve", "0"), "--serve takes the real"),
        (("run", str(SPEECH), "--serve", "here"), "aiflow: --serve: 'here' is no address"),
        (("run", str(SPEECH), "--prometheus", "70000"), "aiflow: --prometheus: '70000' is no"),
        (("run", str(SPEECH), "--serve", "0.0.0.0:0"), "(--serve-anywhere)"),
        (("run", str(SPEECH), "--stop-when-left"), "go with --serve ADDRESS"),
        (("attach", "127.0.0.1:1", "--json"), "say --once too"),
        (("attach", "nowhere"), "'nowhere' is no address"),
        (("attach", f"{TOKEN}@127.0.0.1:1"), "this is no address"),
        (("attach", f"http://127.0.0.1:1/?token={TOKEN}"), "this is no address"),
        (("attach", "127.0.0.1:1", "--token", TOKEN), "set AIFLOW_TOKEN to it"),
        (("run", str(SPEECH), "--serve", f"{TOKEN}@127.0.0.1:0"), "this is no address"),
        (("attach", "1", "--tune", "speech"), "--tune takes node.member=value"),
        (("attach", "1", "--token-file", "gone"), "gone cannot be read: there is no such file"),
    ],
)
def test_what_cannot_be_served_or_attached_to_is_a_wrong_command_line(
    arguments: tuple[str, ...],
    sentence: str,
    aiflow: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Exit 2 and one line that says what to do."""
    monkeypatch.setenv("AIFLOW_TOKEN", TOKEN)

    called = aiflow(*arguments)

    assert called.code == 2
    assert sentence in called.err
    assert called.err.count("\n") == 1
    assert TOKEN not in called.err


def test_attach_without_any_token_says_where_it_looked(
    aiflow: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Nobody is asked, because there is nothing to show."""
    monkeypatch.delenv("AIFLOW_TOKEN", raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path))

    called = aiflow("attach", "127.0.0.1:1")

    assert called.code == 1
    assert "there is no token for port 1 on this machine" in called.err
    assert "set AIFLOW_TOKEN to the token" in called.err


def test_a_graph_is_read_from_standard_input(aiflow_process: Start, tmp_path: Path) -> None:
    """`aiflow run -`: its relative paths start from the current folder."""
    process = aiflow_process(
        "run", "-", "--json", "--clock", "virtual", stdin=subprocess.PIPE, cwd=tmp_path
    )
    out, err = process.communicate(SPEECH.read_bytes(), timeout=60)

    assert (process.returncode, err) == (0, b"")
    assert json.loads(out)["status"] == "completed"


def test_one_look_at_a_run_is_a_table_for_a_person(aiflow_process: Start, tmp_path: Path) -> None:
    """Whole names, and rates since the run's start."""
    with served(aiflow_process, tmp_path) as it:
        code, out, err = attached(aiflow_process, environment(tmp_path), it.address, "--once")

    assert (code, err) == (0, "")
    lines = [line.split() for line in out.splitlines()]
    assert out.startswith("running ")
    assert {"model", "router", "log", "chunks", "speech", "screen"} <= {
        line[0] for line in lines if line
    }
