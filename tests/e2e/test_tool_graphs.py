"""What the graphs with tools claim: on the virtual clock, and over real sockets and processes."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import aiflow as library
from aiflow import tool
from aiflow.graph.shipped import graphs_dir
from aiflow.operators.local import with_tools
from aiflow.operators.registry import Catalog
from aiflow.transport.trace import TraceWriter

# The clocks; the real one goes through sockets and takes as long as the answers do.
clocks = pytest.mark.parametrize(
    "clock", ["virtual", pytest.param("real", marks=pytest.mark.slow)], ids=["virtual", "real"]
)


def shipped(name: str, folder: str = "examples") -> Path:
    """Return the path of a shipped graph."""
    return graphs_dir() / folder / f"{name}.aiflow.json"


def shown(out: str) -> dict[str, list[str]]:
    """Return sink -> the lines it showed."""
    lines: dict[str, list[str]] = {}
    for line in out.splitlines():
        sink, _, text = line.partition(" │ ")
        lines.setdefault(sink.strip(), []).append(text)
    return lines


@clocks
def test_a_model_is_asked_again_until_it_needs_no_tool(
    aiflow: Callable[..., Any], clock: str
) -> None:
    """Two look-ups at once, then a sum, then the answer; nothing is left in the loop."""
    ran = aiflow("run", shipped("tool-loop"), "--clock", clock)
    report = aiflow("run", shipped("tool-loop"), "--clock", clock, "--json").json

    said = [line for line in shown(ran.out)["results"] if " says: " in line]
    assert [line.partition(" says: ")[0] for line in said] == ["lookup", "lookup", "calculator"]
    assert said[2].endswith("42.0")
    assert "forty-two crowns" in " ".join(shown(ran.out)["answer"])
    nodes = report["nodes"]
    assert nodes["model"]["received"] == 4
    assert nodes["call"]["received"] == nodes["assemble"]["emitted"] == 3
    assert report["max_in_flight"] <= report["bound"]


def test_several_conversations_are_asked_at_once(
    aiflow: Callable[..., Any], tmp_path: Path
) -> None:
    """As many as there are workers and credit: four take as long as one, and mix nothing up."""
    graph = json.loads(shipped("tool-loop").read_text("utf-8"))
    nodes = {node["id"]: node for node in graph["nodes"]}
    nodes["question"]["params"] = {"text": "a?\nb?\nc?\nd?", "conversations": "each"}
    graph["max_conversations"] = 4
    graph["edges"][-1]["feedback"]["credit"] = 4
    durations = []
    for workers in (1, 4):
        nodes["model"]["policy"] = {"workers": workers, "queue_capacity": 16}
        path = tmp_path / f"{workers}.aiflow.json"
        path.write_text(json.dumps(graph), encoding="utf-8")
        report = aiflow("run", path, "--clock", "virtual", "--json").json
        assert set(report["conversations"].values()) == {"completed"}
        assert report["nodes"]["call"]["received"] == 12
        durations.append(report["duration_s"])

    assert durations[0] / durations[1] > 3.5


def test_hops_that_are_spent_end_a_loop_of_tools(
    aiflow: Callable[..., Any], tmp_path: Path
) -> None:
    """The emergency brake: an error that names the edge, and no hanging."""
    graph = json.loads(shipped("tool-loop").read_text("utf-8"))
    graph["edges"][-1]["feedback"] = {"max_returns": 2, "hops": 1}
    path = tmp_path / "loop.aiflow.json"
    path.write_text(json.dumps(graph), encoding="utf-8")

    report = aiflow("run", path, "--clock", "virtual", "--json").json

    assert report["status"] == "failed"
    assert "call.out>model.results" in report["error"]


@clocks
def test_two_talk_until_one_is_content(aiflow: Callable[..., Any], clock: str) -> None:
    """Each draft is followed by its remark, and approval ends the run."""
    ran = aiflow("run", shipped("two-agents"), "--clock", clock)

    talk = " ".join(shown(ran.out)["talk"])
    parts = ("stairs are many", "count the stairs", "Sixty-two stairs", "Critic: APPROVED")
    order = [talk.index(part) for part in parts]
    assert ran.code == 0
    assert order == sorted(order)


def test_two_who_never_agree_come_to_an_end(aiflow: Callable[..., Any], tmp_path: Path) -> None:
    """After as many hops as the edge allows."""
    graph = json.loads(shipped("two-agents").read_text("utf-8"))
    critic = next(each for each in graph["resources"] if each["id"] == "critic-model")
    critic["params"] = {"trace": "traces/critic-1.trace"}
    path = tmp_path / "talk.aiflow.json"
    path.write_text(json.dumps(graph), encoding="utf-8")

    report = aiflow("run", path, "--clock", "virtual", "--json").json

    assert report["status"] == "failed"
    assert "is-good.no>writer.in" in report["error"]
    assert report["nodes"]["critic"]["received"] == 4


@pytest.mark.parametrize(
    ("memory", "second"), [("conversation", "APPROVED: clear"), ("prompt", "Say when the tours")]
)
def test_a_conversation_is_remembered_over_its_turns_where_that_is_asked_for(
    aiflow: Callable[..., Any], tmp_path: Path, memory: str, second: str
) -> None:
    """The second turn is asked with the first answer in its messages, or like the first."""
    traces = {"trace": "traces/critic-1.trace", "more_traces": ["traces/critic-2.trace"]}
    turns = [{"text": "One."}, {"text": "Two."}]
    graph = {
        **{"format": "aiflow", "version": "1.0", "name": "Turns"},
        "resources": [{"id": "provider", "kind": "provider", "params": traces}],
        "nodes": [
            {"id": "people", "operator": "conversations", "params": {"turns": turns}},
            {
                **{"id": "model", "operator": "chat-loop", "params": {"memory": memory}},
                "resources": {"provider": "provider"},
            },
            {"id": "screen", "operator": "screen"},
        ],
        "edges": [
            {"from": "people.out", "to": "model.in"},
            {"from": "model.out", "to": "screen.in"},
        ],
    }
    path = tmp_path / "turns.aiflow.json"
    path.write_text(json.dumps(graph), encoding="utf-8")

    ran = aiflow("run", path, "--clock", "virtual", "--set", "people.conversations=1")

    assert ran.code == 0, ran.err
    said = " ".join(shown(ran.out)["screen"])
    assert said.startswith("It is friendly")
    assert second in said[len("It is friendly") + 80 :]


@contextmanager
def weather_service() -> Iterator[tuple[str, list[str]]]:
    """Serve a weather on this machine; yield its address and the paths that were asked for."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            body = b'{"temperature_2m": 7.5}'
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_PUT(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            asked.append(self.headers["idempotency-key"])
            self.send_response(200 if len(asked) == 3 else 503)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", asked
        finally:
            server.shutdown()
            thread.join()


def at_this_machine(folder: Path, url: str, **params: Any) -> Path:
    """Return the graph `tool-http` with the service at this machine."""
    graph = json.loads(shipped("tool-http", "live").read_text("utf-8"))
    tool = graph["resources"][1]["params"]["http"][0]
    tool["url"] = tool["url"].replace("https://api.open-meteo.com", url)
    call = next(node for node in graph["nodes"] if node["id"] == "call")
    call["params"] |= params
    path = folder / "weather.aiflow.json"
    path.write_text(json.dumps(graph), encoding="utf-8")
    return path


@pytest.mark.slow
def test_a_tool_over_http_is_called_where_the_node_allows_it(
    aiflow: Callable[..., Any], tmp_path: Path
) -> None:
    """What the model gave stands in the query, and the body is its result."""
    with weather_service() as (url, asked):
        ran = aiflow("run", at_this_machine(tmp_path, url, allow_private=True))

    assert ran.code == 0
    (path,) = asked
    assert path.endswith("&latitude=54.32&longitude=10.14")
    assert 'weather says: {"temperature_2m": 7.5}' in shown(ran.out)["results"][0]


@pytest.mark.slow
def test_this_machine_is_not_called_where_the_node_does_not_allow_it(
    aiflow: Callable[..., Any], tmp_path: Path
) -> None:
    """The model is told, the run ends well, and the service never hears of it."""
    with weather_service() as (url, asked):
        ran = aiflow("run", at_this_machine(tmp_path, url))

    assert ran.code == 0
    assert asked == []
    assert "127.0.0.1 is not on the open internet" in shown(ran.out)["results"][0]


@pytest.mark.slow
@pytest.mark.parametrize(("effect", "attempts"), [("idempotent", 3), ("non_idempotent", 1)])
def test_a_refused_call_is_made_again_with_its_key_where_it_may_be(
    aiflow: Callable[..., Any], tmp_path: Path, effect: str, attempts: int
) -> None:
    """The server is busy twice; the same key lets it know the call again."""
    with weather_service() as (url, asked):
        path = at_this_machine(tmp_path, url, allow_private=True, retries=5, retry_wait_s=0.01)
        graph = json.loads(path.read_text("utf-8"))
        graph["resources"][1]["params"]["http"][0] |= {"method": "PUT", "effect": effect}
        path.write_text(json.dumps(graph), encoding="utf-8")
        ran = aiflow("run", path)

    assert ran.code == 0
    assert len(asked) == attempts
    assert len(set(asked)) == 1
    assert len(asked[0]) == 32


@pytest.mark.slow
def test_a_tool_of_an_mcp_server_is_called(aiflow: Callable[..., Any]) -> None:
    """The server is a process of its own, started by its name alone."""
    ran = aiflow("run", shipped("tool-mcp", "live"))

    assert ran.code == 0
    assert shown(ran.out)["results"][0] == (
        "opening_hours says: The ferry is open from 07:00 to 21:00."
    )


def test_a_graph_that_names_code_starts_nothing(aiflow: Callable[..., Any], tmp_path: Path) -> None:
    """A function or a program that this machine does not offer by that name."""
    graph = json.loads(shipped("tool-loop").read_text("utf-8"))
    graph["resources"][1]["params"] = {
        "functions": ["os:system"],
        "servers": [{"server": "/bin/sh"}],
    }
    path = tmp_path / "evil.aiflow.json"
    path.write_text(json.dumps(graph), encoding="utf-8")

    ran = aiflow("run", path)

    assert ran.code == 1
    assert "this machine offers no tool os:system" in ran.err
    assert "this machine offers no tool /bin/sh" in ran.err


OWN = '''
from aiflow import tool

@tool(effect="none")
def lookup_own(question: str) -> str:
    """Look it up elsewhere."""
    return "found elsewhere"
'''


def test_a_file_given_by_hand_offers_its_tools(aiflow: Callable[..., Any], tmp_path: Path) -> None:
    """The same graph is an error without the file."""
    own = tmp_path / "own.py"
    own.write_text(OWN, encoding="utf-8")
    graph = json.loads(shipped("tool-loop").read_text("utf-8"))
    graph["resources"][1]["params"] = {"functions": ["lookup_own", "calculator"]}
    path = tmp_path / "own.aiflow.json"
    path.write_text(json.dumps(graph), encoding="utf-8")

    without = aiflow("check", path)
    given = aiflow("run", path, "--operators", own, "--clock", "virtual")

    assert without.code == 1
    assert "this machine offers no tool lookup_own" in without.out
    assert given.code == 0
    # The recorded model asks for `lookup`, which this set does not have: it is told, not called.
    assert "there is no tool lookup; there are lookup_own, calculator" in "".join(
        shown(given.out)["results"]
    )


def calling(folder: Path, name: str) -> Path:
    """Return the graph `tool-loop` whose model asks for one tool, with a trace beside it."""
    call = {"index": 0, "id": "c1", "function": {"name": name, "arguments": "{}"}}
    frames = [
        {"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]},
    ]
    with TraceWriter(folder / "call.trace", "openai-chat", "text/event-stream") as writer:
        for frame in frames:
            writer.write(0.0, f"data: {json.dumps(frame)}\n\n".encode())
        writer.write(0.0, b"data: [DONE]\n\n")
    graph = json.loads(shipped("tool-loop").read_text("utf-8"))
    graph["resources"][0]["params"]["trace"] = "call.trace"
    graph["resources"][1]["params"] = {"functions": [name]}
    path = folder / "calling.aiflow.json"
    path.write_text(json.dumps(graph), encoding="utf-8")
    return path


def test_whoever_walks_away_ends_the_call_that_is_open(tmp_path: Path) -> None:
    """The tool is cancelled, and nothing of the loop is left."""
    ended: list[str] = []

    async def scenario() -> None:
        begun = asyncio.Event()

        @tool(effect="none")
        async def wait_for_ever() -> None:
            """Wait."""
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended.append("ended")

        catalog = with_tools(Catalog.load(), wait_for_ever)
        path = calling(tmp_path, "wait_for_ever")
        async with library.open(path, catalog=catalog) as run:
            run.start()
            await begun.wait()

    asyncio.run(scenario())

    assert ended == ["ended"]


def test_a_call_that_outlasts_its_time_goes_back_as_an_error(tmp_path: Path) -> None:
    """And the model, asked again, may go on; here it answers as recorded."""

    @tool(effect="none")
    async def wait_for_ever() -> None:
        """Wait."""
        await asyncio.Event().wait()

    catalog = with_tools(Catalog.load(), wait_for_ever)
    path = calling(tmp_path, "wait_for_ever")
    graph = json.loads(path.read_text("utf-8"))
    provider = graph["resources"][0]["params"]
    provider["more_traces"] = ["traces/tool-loop-3.trace"]
    next(node for node in graph["nodes"] if node["id"] == "call")["params"] = {"retries": 0}
    path.write_text(json.dumps(graph), encoding="utf-8")

    result = library.run(path, catalog=catalog, clock="virtual")

    assert result.snapshot.phase == "completed"
    assert "did not answer within 30 s" in result.shown["results"]
    assert "forty-two crowns" in result.shown["answer"]
