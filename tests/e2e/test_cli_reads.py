"""The commands that only read: operators, schema, check, normalize, replay; and usage."""

from __future__ import annotations

import json
import signal
from http.client import HTTPConnection
from pathlib import Path

import pytest

from aiflow.graph.schema import graph_schema
from aiflow.graph.shipped import graphs_dir
from aiflow.operators.registry import Catalog

EXAMPLE = graphs_dir() / "examples" / "slow-speech.aiflow.json"
DROPS = graphs_dir() / "examples" / "drop-oldest.aiflow.json"

TRACE = str(graphs_dir() / "traces" / "slow-speech.trace")

STREAM = b"".join(
    b"data: " + json.dumps({"choices": [{"index": 0, "delta": delta}]}).encode() + b"\n\n"
    for delta in ({"content": "<think>hm</think>"}, {"content": "yes"})
)


def write_graph(path: Path, **fields: object) -> Path:
    """Write a graph file that need not be right."""
    path.write_text(json.dumps({"format": "aiflow", "version": "1.0", **fields}), encoding="utf-8")
    return path


def broken_graph(folder: Path) -> Path:
    """Write a graph with an unknown operator."""
    return write_graph(
        folder / "broken.aiflow.json", nodes=[{"id": "x", "operator": "speach"}], edges=[]
    )


class TestOperators:
    """`aiflow operators`."""

    def test_every_operator_is_listed_with_its_ports(self, aiflow) -> None:
        """A person sees by category what there is and what fits what."""
        called = aiflow("operators")

        assert called.code == 0
        assert "SOURCES" in called.out
        assert "in: token → reasoning: token, answer: token, refusal: token" in called.out
        assert all(f"  {name} " in called.out for name in Catalog.load().operators)

    def test_one_operator_is_told_in_full_or_not_at_all(self, aiflow) -> None:
        """A wrong name is answered with the closest."""
        called = aiflow("operators", "chat")
        wrong = aiflow("operators", "chta")

        assert called.code == 0
        assert '  endpoint = ""' in called.out
        assert [entry["name"] for entry in aiflow("operators", "chat", "--json").json] == ["chat"]
        assert wrong.code == 2
        assert "did you mean chat?" in wrong.err

    def test_json_has_all_that_a_form_needs(self, aiflow) -> None:
        """Ports, resources, params with units, the policy's own words."""
        listed = {entry["name"]: entry for entry in aiflow("operators", "--json").json}

        assert set(listed) == set(Catalog.load().operators)
        speech = listed["speech"]
        assert speech["state"] == "serialized"
        assert speech["params"]["properties"]["seconds_per_chunk"]["x-unit"] == "s"
        assert "Backpressures when:" in speech["description"]
        assert listed["chat"]["requires"] == {"provider": "provider"}


class TestSchema:
    """`aiflow schema`."""

    def test_it_prints_the_schema_of_a_graph_file(self, aiflow) -> None:
        """What editors read is what the program writes."""
        called = aiflow("schema")

        assert called.code == 0
        assert called.json == graph_schema()


class TestCheck:
    """`aiflow check`."""

    def test_a_sound_graph_is_called_valid_with_its_bound(self, aiflow) -> None:
        """One line that says what a person wants to know."""
        called = aiflow("check", EXAMPLE)

        assert called.code == 0
        assert "valid, at most 107 events in flight" in called.out

    def test_json_has_bound_edge_types_and_findings(self, aiflow) -> None:
        """The list has an entry per file, in the order of the command line."""
        called = aiflow("check", EXAMPLE, DROPS, "--json", "--clock", "virtual")

        first, second = called.json
        assert called.code == 0
        assert (first["file"], second["file"]) == (str(EXAMPLE), str(DROPS))
        assert first["bound"] == 107
        assert {"id": "chunks.out>speech.in", "type": "chunk"} in first["edges"]

    def test_a_graph_with_errors_exits_with_1(self, aiflow, tmp_path: Path) -> None:
        """Findings name the node, say what is wrong and what to do."""
        path = broken_graph(tmp_path)

        called, as_json = aiflow("check", path), aiflow("check", path, "--json")

        assert called.code == as_json.code == 1
        assert "[x]" in called.out
        assert "you mean speech?" in called.out
        (entry,) = as_json.json
        assert entry["bound"] is None
        found = entry["diagnostics"][0]
        assert list(found) == [*("code", "severity", "node", "edge", "field", "message", "hint")]
        assert (found["severity"], found["node"]) == ("error", "x")

    @pytest.mark.parametrize(
        ("content", "reason"),
        [
            (None, "there is no such file"),
            ("{", "not"),
            ("[]", "not a graph"),
            ('{"format": "aiflow", "version": "1.0", "nodes": 3}', "nodes"),
        ],
    )
    def test_a_file_that_is_no_graph_exits_with_2(
        self, aiflow, tmp_path: Path, content: str | None, reason: str
    ) -> None:
        """One clear line on stderr; the JSON list is printed all the same."""
        path = tmp_path / "x.aiflow.json"
        if content is not None:
            path.write_text(content, encoding="utf-8")

        called = aiflow("check", DROPS, path, "--json")

        assert called.code == 2
        assert len(called.err.splitlines()) == 1
        assert called.err.startswith(f"aiflow: {path}: ")
        assert reason in called.err
        sound, unreadable = called.json
        assert sound["bound"] is not None
        assert unreadable["diagnostics"][0]["severity"] == "error"
        assert str(path) in unreadable["diagnostics"][0]["message"]

    def test_a_shipped_graph_is_found_from_anywhere(
        self, aiflow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """An installed wheel has no checkout to name a path in."""
        monkeypatch.chdir(tmp_path)

        assert aiflow("check", "examples/slow-speech.aiflow.json").code == 0


class TestNormalize:
    """`aiflow normalize`."""

    @pytest.mark.parametrize("size", [None, 1, 7])
    def test_bytes_become_events_at_any_cut(self, aiflow, tmp_path: Path, size: int | None) -> None:
        """Each event is a JSON line, the same however the bytes are cut."""
        path = tmp_path / "raw"
        path.write_bytes(STREAM)
        options = () if size is None else ("--chunk-size", str(size))

        called = aiflow("normalize", "--dialect", "openai-chat", "--think-tags", *options, path)

        events = [json.loads(line) for line in called.out.splitlines()]
        text = [(event["channel"], event["text"]) for event in events if event["type"] == "token"]
        assert called.code == 0
        assert ("reasoning", "hm") in text
        assert ("answer", "yes") in text

    def test_the_summary_is_one_object(self, aiflow, tmp_path: Path) -> None:
        """A stream that broke is a reading with an error in it, not a failure of the program."""
        path = tmp_path / "raw"
        path.write_bytes(STREAM)

        called = aiflow("normalize", "--dialect", "openai-chat", "--summary", path)

        assert called.code == 0
        assert set(called.json) >= {"reasoning", "answer", "finish", "usage", "error"}

    @pytest.mark.parametrize(
        ("arguments", "reason"),
        [
            (("--dialect", "openai-chat", "no-such-file"), "no-such-file cannot be read"),
            (("--dialect", "openai", "-"), "did you mean openai-chat?"),
            (("--dialect", "ollama", "--chunk-size", "0", "-"), "must be 1 or more"),
            (("-",), "--dialect"),
        ],
    )
    def test_wrong_use_exits_with_2(self, aiflow, arguments: tuple[str, ...], reason: str) -> None:
        """One line that says what to do instead."""
        called = aiflow("normalize", *arguments)

        assert called.code == 2
        assert called.out == ""
        assert len(called.err.splitlines()) == 1
        assert reason in called.err


class TestReplay:
    """`aiflow replay`."""

    def test_a_served_trace_answers_a_chat_request(self, aiflow_process) -> None:
        """The address is the first line; the bytes are the trace's; Ctrl+C ends it."""
        with aiflow_process("replay", TRACE, "--speed", "0", "--serve", "0") as process:
            url = process.stdout.readline().decode().strip()
            connection = HTTPConnection(url.removeprefix("http://"), timeout=20)
            connection.request("POST", "/v1/chat/completions", b'{"stream": true}')
            body = connection.getresponse().read()
            connection.close()
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=20)

        assert body.endswith(b"data: [DONE]\n\n")
        assert body.count(b"chat.completion.chunk") > 1600
        assert process.returncode == 130
        assert b"Traceback" not in err

    def test_a_trace_is_played_as_json_lines(self, aiflow) -> None:
        """At once with speed 0; each line has its time in the trace."""
        called = aiflow("replay", TRACE, "--speed", "0")

        events = [json.loads(line) for line in called.out.splitlines()]
        assert called.code == 0
        assert sum(event["type"] == "token" for event in events) == 1600
        times = [event["at"] for event in events]
        assert times == sorted(times)
        assert 0.1 < times[0] < 0.12

    @pytest.mark.parametrize(
        ("arguments", "reason"),
        [
            (("gone.trace",), "gone.trace: it cannot be read"),
            ((str(DROPS),), "looks like a graph"),
            (("gone.trace", "--speed", "-1"), "--speed is -1.0"),
            ((TRACE, "--serve", "localhost"), "'localhost' is no address"),
            ((TRACE, "--serve", "99999"), "'99999' is no address"),
            ((TRACE, "--serve", "203.0.113.1:80"), "cannot listen at 203.0.113.1:80"),
        ],
    )
    def test_what_cannot_be_played_exits_with_2(
        self, aiflow, arguments: tuple[str, ...], reason: str
    ) -> None:
        """A missing file, a file that is no trace, a speed that is none."""
        called = aiflow("replay", *arguments)

        assert called.code == 2
        assert reason in called.err
        assert len(called.err.splitlines()) == 1


class TestUsage:
    """The program itself."""

    @pytest.mark.parametrize(
        "arguments", [(), ("rum",), ("run",), ("check", "--clock", "sun", "x")]
    )
    def test_a_wrong_command_line_is_told_in_one_line(
        self, aiflow, arguments: tuple[str, ...]
    ) -> None:
        """Exit code 2, where the help is, and nothing on stdout."""
        called = aiflow(*arguments)

        assert called.code == 2
        assert called.out == ""
        assert called.err.startswith("aiflow: ")
        assert "--help" in called.err
        assert len(called.err.splitlines()) == 1

    @pytest.mark.parametrize(
        "command", ["run", "check", "operators", "schema", "normalize", "replay", "bench"]
    )
    def test_every_command_has_help(self, aiflow, command: str) -> None:
        """Help goes to stdout and is no error."""
        called = aiflow(command, "--help")

        assert called.code == 0
        assert f"aiflow {command}" in called.out

    def test_the_version_is_that_of_the_package(self, aiflow) -> None:
        """`--version` names the distribution's version."""
        assert aiflow("--version").out.startswith("aiflow ")
