"""`aiflow run`: results, reports, files, exit codes, signals and pipes."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from aiflow.graph.shipped import graphs_dir

EXAMPLES = graphs_dir() / "examples"
DROPS = EXAMPLES / "drop-oldest.aiflow.json"
ORDERED = EXAMPLES / "ordered-workers.aiflow.json"
SPEECH = EXAMPLES / "slow-speech.aiflow.json"

VIRTUAL = ("--clock", "virtual")


@pytest.fixture
def ticking(tmp_path: Path) -> Path:
    """Return a graph that shows a number every 20 ms for a long time."""
    return _written(
        tmp_path,
        nodes=[
            {"id": "numbers", "operator": "synthetic", "params": {"count": 100000, "rate": 50}},
            {"id": "log", "operator": "jsonl"},
        ],
        edges=[{"from": "numbers.out", "to": "log.in"}],
    )


@pytest.fixture
def failing(tmp_path: Path) -> Path:
    """Return a graph whose log has no folder that it could be written to."""
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "log.jsonl").mkdir()
    return _written(
        tmp_path,
        nodes=[
            {"id": "numbers", "operator": "synthetic", "params": {"count": 3}},
            {"id": "log", "operator": "jsonl", "params": {"path": "logs/log.jsonl"}},
        ],
        edges=[{"from": "numbers.out", "to": "log.in"}],
    )


class TestOutput:
    """What a run prints."""

    def test_sinks_go_to_stdout_and_all_else_to_stderr(self, aiflow) -> None:
        """Each line of stdout is labelled with its sink."""
        called = aiflow("run", DROPS, *VIRTUAL)

        assert called.code == 0
        assert {line.partition("│")[0].strip() for line in called.out.splitlines()} == {
            *("screen", "shown", "record")
        }
        assert "Drop oldest: 5 nodes, at most 33 events in flight" in called.err
        assert "completed in" in called.err
        assert "dropped: view" in called.err

    def test_the_summary_names_the_slow_consumer(self, aiflow) -> None:
        """The demo's lesson in one sentence."""
        called = aiflow("run", SPEECH, *VIRTUAL)

        assert "speech was the slow consumer" in called.err
        assert "at most 8 of 8 events in its queue" in called.err

    @pytest.mark.parametrize(
        ("strategy", "bound", "sentence"),
        [
            ("unbounded", "no bound (strategy unbounded)", "275 events piled up in it"),
            ("callback", "at most 16 events in flight (strategy callback)", "was the slow step"),
        ],
    )
    def test_a_strategy_is_told_with_its_own_bound_and_its_price(
        self, aiflow, strategy: str, bound: str, sentence: str
    ) -> None:
        """What the run may hold is the strategy's figure, not the policies'."""
        called = aiflow("run", SPEECH, *VIRTUAL, "--strategy", strategy)

        assert f"Slow speech: 6 nodes, {bound}" in called.err
        assert sentence in called.err

    def test_json_is_one_object_and_nothing_else(self, aiflow) -> None:
        """No sink, no table and no summary beside it."""
        called = aiflow("run", DROPS, *VIRTUAL, "--json")

        assert called.code == 0
        assert called.err == ""
        assert list(called.json) == [
            *("status", "bound", "max_in_flight", "model_ttft_ms", "ttfpt_ms", "sinks"),
            *("duration_s", "nodes", "conversations", "error"),
        ]
        assert set(called.json["sinks"]) == {"screen", "shown", "record"}

    def test_the_real_clock_gives_the_same_counts(self, aiflow) -> None:
        """A short run through the machine's own loop."""
        short = ("--set", "numbers.count=8", "--set", "work.seconds=0.01", "--json")

        real, virtual = (aiflow("run", ORDERED, *short, *how).json for how in ((), VIRTUAL))

        for id, node in virtual["nodes"].items():
            for key in ("received", "processed", "emitted", "dropped", "failed"):
                assert real["nodes"][id][key] == node[key]


class TestSettings:
    """What is changed for one run."""

    def test_params_policies_and_seed_count(self, aiflow) -> None:
        """The file stays as it is, the run is another."""
        before = DROPS.read_bytes()
        options = ("--set", "ticker.count=50", "--policy", "view.overflow=block", "--json")

        result = aiflow("run", DROPS, *VIRTUAL, *options).json

        assert result["nodes"]["view"]["received"] == 50
        assert result["nodes"]["view"]["dropped"] == {}
        assert DROPS.read_bytes() == before

    def test_a_duration_drains_the_run(self, aiflow, ticking: Path) -> None:
        """What has been read comes out, and the run has completed."""
        called = aiflow("run", ticking, *VIRTUAL, "--duration", "10", "--json")

        assert called.code == 0
        assert 10 <= called.json["duration_s"] < 10.1
        assert called.json["nodes"]["log"]["processed"] == pytest.approx(500, abs=2)

    @pytest.mark.parametrize(
        ("options", "reason"),
        [
            (("--strategy", "agregate"), "no strategy 'agregate'; did you mean aggregate?"),
            (("--loop", "uvlop"), "no loop 'uvlop'; did you mean uvloop?"),
            (("--loop", "asyncio", *VIRTUAL), "leave --loop out"),
            (("--set", "vew.seconds=1"), "no node 'vew'; did you mean view?"),
            (("--set", "view.second=1"), "no param 'second'; did you mean seconds?"),
            (("--set", "view.seconds=long"), "seconds cannot be 'long'"),
            (("--policy", "view.q=0"), "queue_capacity cannot be '0'"),
            (("--duration", "0"), "--duration is 0.0"),
            (("--seed", "x"), "invalid int value"),
            (("--events", "gone/events.jsonl"), "gone/events.jsonl cannot be written"),
        ],
    )
    def test_wrong_use_exits_with_2_and_one_sentence(
        self, aiflow, options: tuple[str, ...], reason: str
    ) -> None:
        """What is wrong and what is near it; nothing has run."""
        called = aiflow("run", DROPS, *options)

        assert called.code == 2
        assert called.out == ""
        assert called.err.startswith("aiflow: ") or "\naiflow: " in called.err
        assert reason in called.err


class TestFailures:
    """What cannot run and what breaks."""

    def test_a_graph_with_errors_does_not_run(self, aiflow, tmp_path: Path) -> None:
        """Findings on stderr and in the JSON alike, exit code 1."""
        path = _written(tmp_path, nodes=[{"id": "x", "operator": "speach"}], edges=[])

        called, as_json = aiflow("run", path), aiflow("run", path, "--json")

        assert called.code == as_json.code == 1
        assert called.out == ""
        assert "has an error and cannot run" in called.err
        assert "you mean speech?" in called.err
        assert as_json.json["status"] == "failed"
        assert "speach" in as_json.json["error"]
        assert as_json.json["diagnostics"][0]["node"] == "x"

    def test_a_file_that_cannot_be_read_exits_with_2(self, aiflow, tmp_path: Path) -> None:
        """One line on stderr; with --json the object says the same."""
        called = aiflow("run", tmp_path / "gone.aiflow.json", "--json")

        assert called.code == 2
        assert called.json["status"] == "failed"
        assert "there is no such file" in called.json["error"]
        assert len(called.err.splitlines()) == 1

    def test_a_failing_node_fails_the_run(self, aiflow, failing: Path) -> None:
        """The conversation has failed, the error names the node, exit code 1."""
        called = aiflow("run", failing, *VIRTUAL, "--json")

        assert called.code == 1
        assert called.json["status"] == "failed"
        assert called.json["conversations"] == {"c1": "failed"}
        assert "node log failed" in called.json["error"]
        assert called.err.startswith("aiflow: node log failed")
        assert "Traceback" not in called.err


class TestFiles:
    """`--events` and `--metrics`."""

    def test_events_have_a_header_that_says_what_ran(self, aiflow, tmp_path: Path) -> None:
        """Who opens the file later knows what ran."""
        path = tmp_path / "events.jsonl"

        aiflow("run", DROPS, *VIRTUAL, "--json", "--events", path, "--seed", "3")

        header, *lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
        assert header["graph"] == "Drop oldest"
        assert (header["seed"], header["clock"], header["strategy"]) == (3, "virtual", "aiflow")
        assert {line["record"] for line in lines} == {"emitted", "settled", "ended"}
        assert [line["at"] for line in lines] == sorted(line["at"] for line in lines)

    def test_another_seed_gives_another_log(self, aiflow, tmp_path: Path) -> None:
        """Chance is in the file, so the seed must be."""
        paths = [tmp_path / "1.jsonl", tmp_path / "2.jsonl"]

        for seed, path in enumerate(paths):
            aiflow("run", DROPS, *VIRTUAL, "--json", "--events", path, "--seed", str(seed))

        first, second = (path.read_text(encoding="utf-8").splitlines()[1:] for path in paths)
        assert first != second

    def test_metrics_are_snapshots_up_to_the_end(self, aiflow, tmp_path: Path) -> None:
        """Four a second, and the last one after the end."""
        path = tmp_path / "metrics.jsonl"

        result = aiflow("run", DROPS, *VIRTUAL, "--json", "--metrics", path).json

        _, *lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
        assert len(lines) >= 4 * int(result["duration_s"])
        assert lines[-1]["phase"] == "completed"
        assert lines[-1]["in_flight"] == 0
        assert lines[-1]["nodes"]["view"]["received"] == 500

    @pytest.mark.parametrize("option", ["--events", "--metrics"])
    @pytest.mark.parametrize("victim", ["graph.aiflow.json", "answer.trace"])
    def test_no_file_of_another_kind_is_harmed(
        self, aiflow, tmp_path: Path, option: str, victim: str
    ) -> None:
        """A graph or a trace named by mistake stays as it is; stdout and stderr say so alike."""
        path = tmp_path / victim
        path.write_bytes(DROPS.read_bytes())

        called = aiflow("run", DROPS, *VIRTUAL, "--json", option, path)

        assert called.code == 2
        assert called.err == f"aiflow: {called.json['error']}\n"
        assert f"{victim} is not replaced" in called.err
        assert path.read_bytes() == DROPS.read_bytes()

    def test_events_and_metrics_do_not_share_a_file(self, aiflow, tmp_path: Path) -> None:
        """They would overwrite one another, also by different paths to the same place."""
        (tmp_path / "link").symlink_to(tmp_path)
        files = ("--events", tmp_path / "run.jsonl", "--metrics", tmp_path / "link" / "run.jsonl")

        called = aiflow("run", DROPS, *VIRTUAL, "--json", *files)

        assert called.code == 2
        assert "name two files" in called.json["error"]
        assert not (tmp_path / "run.jsonl").exists()

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full disk")
    @pytest.mark.parametrize("option", ["--events", "--metrics"])
    def test_a_full_disk_ends_the_run_in_order(self, aiflow, option: str) -> None:
        """The file is named on stderr and in the report, which is whole; the exit code is 1."""
        called = aiflow("run", DROPS, *VIRTUAL, "--json", option, "/dev/full")

        assert called.code == 1
        assert "/dev/full cannot be written: the disk is full" in called.err
        assert called.json["status"] == "failed"
        assert "/dev/full cannot be written" in called.json["error"]


class TestProcess:
    """The program as a process of its own."""

    def test_ctrl_c_drains_and_exits_with_130(self, aiflow_process, ticking: Path) -> None:
        """What has been read comes out, the object is printed all the same."""
        with aiflow_process("run", ticking) as process:
            assert b"log" in process.stdout.readline()
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=20)

        assert process.returncode == 130
        assert b"draining" in err
        assert b"Traceback" not in err

    def test_a_second_ctrl_c_stops(self, aiflow_process, ticking: Path) -> None:
        """A speech that takes an hour is not waited for."""
        graph = json.loads(ticking.read_text(encoding="utf-8"))
        graph["nodes"].append(
            {"id": "speech", "operator": "speech", "params": {"seconds_per_chunk": 3600}}
        )
        graph["edges"].append({"from": "numbers.out", "to": "speech.in"})
        ticking.write_text(json.dumps(graph), encoding="utf-8")
        with aiflow_process("run", ticking) as process:
            process.stdout.readline()
            process.send_signal(signal.SIGINT)
            while b"draining" not in process.stderr.readline():
                pass
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=20)

        assert process.returncode == 130

    @pytest.mark.parametrize("command", ["run", "operators"])
    def test_a_reader_that_goes_away_ends_it_quietly(
        self, aiflow_process, ticking: Path, command: str
    ) -> None:
        """`| head -1` gets its line, and nobody complains."""
        arguments = (ticking,) if command == "run" else ()
        with aiflow_process(command, *arguments) as process:
            assert process.stdout.readline()
            process.stdout.close()
            err = process.stderr.read()
            process.wait(timeout=20)

        assert b"Traceback" not in err
        assert b"BrokenPipe" not in err

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full disk")
    @pytest.mark.parametrize("command", ["run", "operators"])
    def test_a_full_disk_behind_stdout_is_told_once(
        self, aiflow_process, ticking: Path, command: str
    ) -> None:
        """One line, exit code 1, and a run does not go on for nobody."""
        arguments = (ticking,) if command == "run" else ()
        with (
            open("/dev/full", "wb") as full,
            aiflow_process(command, *arguments, stdout=full) as process,
        ):
            _, err = process.communicate(timeout=20)

        assert process.returncode == 1
        assert err.count(b"stdout cannot be written: the disk is full") == 1
        assert b"Traceback" not in err
        assert b"Exception ignored" not in err

    def test_ctrl_c_while_it_loads_ends_it_quietly(self) -> None:
        """Most of a short command's time is the reading of modules, and no place for a trace."""
        code = (
            "import sys, signal, aiflow.cli\n"
            "class Interrupting:\n"
            "    def find_spec(self, name, *rest):\n"
            "        if name == 'aiflow.cli.run':\n"
            "            signal.raise_signal(signal.SIGINT)\n"
            "sys.meta_path.insert(0, Interrupting())\n"
            "sys.exit(aiflow.cli.main(['operators']))\n"
        )
        called = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)

        assert (called.returncode, called.stdout, called.stderr) == (130, b"", b"")

    def test_signs_that_stdout_has_not_are_plain_ones(self, aiflow_process) -> None:
        """An old terminal shows less, and nothing breaks."""
        environment = {**os.environ, "PYTHONIOENCODING": "ascii:strict"}
        with aiflow_process("run", ORDERED, *VIRTUAL, env=environment) as process:
            out, err = process.communicate(timeout=20)

        assert process.returncode == 0
        assert b"screen | 1 2 3" in out
        assert b"Traceback" not in err

    def test_a_closed_stdout_is_no_error(self) -> None:
        """`>&-` means that nobody wants to see it."""
        words = [sys.executable, "-m", "aiflow", "run", str(DROPS), *VIRTUAL]

        done = subprocess.run(
            ["sh", "-c", f"exec {shlex.join(words)} >&-"],
            capture_output=True,
            timeout=30,
            check=False,
        )

        assert done.returncode == 0
        assert b"completed in" in done.stderr
        assert b"Traceback" not in done.stderr

    @pytest.mark.skipif(not hasattr(os, "openpty"), reason="this system has no pseudo terminal")
    def test_a_terminal_gets_a_live_table(self, aiflow_process, ticking: Path) -> None:
        """Depth bars while it runs, and the summary stays."""
        try:
            master, slave = os.openpty()
        except OSError as error:  # a bare container may have none mounted
            pytest.skip(f"this system has no pseudo terminal: {error}")
        try:
            with aiflow_process("run", ticking, "--duration", "0.5", stderr=slave) as process:
                os.close(slave)
                process.communicate(timeout=20)
            drawn = os.read(master, 1 << 16).decode(errors="replace")
        finally:
            os.close(master)

        assert process.returncode == 0
        assert "□" in drawn or "■" in drawn
        assert "in flight" in drawn


def _written(folder: Path, **fields: object) -> Path:
    path = folder / "graph.aiflow.json"
    document = {"format": "aiflow", "version": "1.0", **fields}
    path.write_text(json.dumps(document), encoding="utf-8")
    return path
