"""Tests of `aiflow_studio.runs.embedded`, on a virtual loop: no test waits."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from aiflow.errors import CompileError, EngineError, GraphFileError
from aiflow.graph import codec, edits
from aiflow.graph.model import Graph, PortRef
from aiflow.graph.shipped import graphs_dir
from aiflow.operators.registry import Catalog
from aiflow.providers.resource import Provider
from aiflow.testing.virtual import run_virtual
from aiflow.transport.trace import Trace, TraceWriter
from aiflow_studio.runs.embedded import EmbeddedHost
from aiflow_studio.runs.host import RunHost, RunRequest

CATALOG = Catalog.load()
EXAMPLE = (graphs_dir() / "examples" / "slow-speech.aiflow.json").read_text(encoding="utf-8")


def small_graph(count: int = 5, seconds: float = 0.25) -> str:
    """Return a source of `count` tokens before a slow screen, as text."""
    graph = edits.add_node(Graph(name="small"), "synthetic")
    graph = edits.add_node(graph, "speech")
    graph = edits.set_params(graph, "synthetic", {"count": count, "rate": 100})
    graph = edits.set_params(graph, "speech", {"seconds_per_chunk": seconds})
    return codec.dumps(edits.connect(graph, PortRef("synthetic", "out"), PortRef("speech", "in")))


def on_a_host(scene: Callable[[EmbeddedHost], Awaitable[None]]) -> None:
    """Play a scene on virtual time; the host is killed afterwards."""

    async def play() -> None:
        host = EmbeddedHost(CATALOG)
        try:
            await scene(host)
        finally:
            await host.kill()
            assert not host._is_running()

    run_virtual(play())


def test_before_the_first_start_there_are_no_numbers() -> None:
    """And nothing to stop, drain or kill."""

    async def scene(host: EmbeddedHost) -> None:
        as_protocol: RunHost = host
        as_protocol.stop()
        as_protocol.drain()
        assert as_protocol.snapshot() is None
        assert as_protocol.outputs(0) == []
        assert as_protocol.tap("a.out>b.in", 5) == []

    on_a_host(scene)


def test_a_run_ends_and_keeps_its_numbers() -> None:
    """The last snapshot and the text stay until the next start."""

    async def scene(host: EmbeddedHost) -> None:
        host.start(RunRequest(small_graph(count=5)))
        await asyncio.sleep(10)

        snapshot = host.snapshot()
        assert snapshot is not None
        assert (snapshot.phase, snapshot.error) == ("completed", None)
        assert snapshot.nodes["speech"].processed == 5
        assert len(host.outputs(0)) == 5
        assert [line.number for line in host.outputs(3)] == [4, 5]

    on_a_host(scene)


def test_a_repeating_run_goes_on_until_it_is_stopped() -> None:
    """Conversation after conversation."""

    async def scene(host: EmbeddedHost) -> None:
        host.start(RunRequest(small_graph(count=4), repeats=True))
        await asyncio.sleep(10)
        snapshot = host.snapshot()
        assert snapshot is not None
        assert len(snapshot.conversations) > 3

        host.stop()
        await asyncio.sleep(1)
        snapshot = host.snapshot()
        assert snapshot is not None
        assert snapshot.phase in {"cancelled", "completed"}
        assert snapshot.in_flight == 0

    on_a_host(scene)


def test_what_asks_a_server_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody pays for answers that a window left open asks for again and again."""
    monkeypatch.setattr(Provider, "needs_real_clock", lambda self: "it talks to a server")

    async def scene(host: EmbeddedHost) -> None:
        host.start(RunRequest(EXAMPLE, repeats=True))
        await asyncio.sleep(300)
        snapshot = host.snapshot()
        assert snapshot is not None
        assert (snapshot.phase, len(snapshot.conversations)) == ("completed", 1)

    on_a_host(scene)


def test_a_failure_ends_a_repeating_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would fail again at once and for ever; the sentence says what happened."""

    async def fail(_speech: object, _payload: object, _scope: object) -> None:
        raise ValueError("no voice")

    async def scene(host: EmbeddedHost) -> None:
        monkeypatch.setattr("aiflow.operators.builtin.speech.Speech.process", fail)
        host.start(RunRequest(small_graph(), repeats=True))
        await asyncio.sleep(10)

        snapshot = host.snapshot()
        assert snapshot is not None
        assert (snapshot.phase, len(snapshot.conversations)) == ("failed", 1)
        assert snapshot.error is not None
        assert "no voice" in snapshot.error

    on_a_host(scene)


def test_draining_lets_everything_out() -> None:
    """What was inside is said to the end; nothing new comes in."""

    async def scene(host: EmbeddedHost) -> None:
        host.start(RunRequest(small_graph(count=1000), repeats=True))
        await asyncio.sleep(1)
        host.drain()
        await asyncio.sleep(60)

        snapshot = host.snapshot()
        assert snapshot is not None
        assert (snapshot.phase, snapshot.in_flight) == ("completed", 0)
        assert snapshot.nodes["speech"].processed < 1000

    on_a_host(scene)


@pytest.mark.parametrize("ask", [EmbeddedHost.stop, EmbeddedHost.drain])
def test_a_run_that_is_ended_at_once_is_not_told_as_broken(
    ask: Callable[[EmbeddedHost], None],
) -> None:
    """A quick second click comes before the first event, and before the run's task."""

    async def scene(host: EmbeddedHost) -> None:
        host.start(RunRequest(small_graph()))
        ask(host)
        await asyncio.sleep(10)
        snapshot = host.snapshot()
        assert snapshot is not None
        assert snapshot.error is None
        assert snapshot.phase in {"cancelled", "completed"}
        host.start(RunRequest(small_graph()))

    on_a_host(scene)


def test_the_strategy_is_applied() -> None:
    """Without bounds the slow queue grows past its capacity."""

    async def scene(host: EmbeddedHost) -> None:
        host.start(RunRequest(small_graph(count=100), strategy="unbounded"))
        await asyncio.sleep(2)
        snapshot = host.snapshot()
        assert snapshot is not None
        assert snapshot.bound is None
        assert snapshot.nodes["speech"].max_depth > 50

    on_a_host(scene)


def test_an_edge_can_be_tapped() -> None:
    """From the first question on, as plain values."""

    async def scene(host: EmbeddedHost) -> None:
        edge = "synthetic.out>speech.in"
        host.start(RunRequest(small_graph(count=5)))
        await asyncio.sleep(0.001)
        host.tap(edge, 3)
        await asyncio.sleep(1)
        rows = host.tap(edge, 3)
        assert 0 < len(rows) <= 3
        assert all(row["conversation"] == "c1" for row in rows)

    on_a_host(scene)


def test_a_key_that_is_not_set_is_told_before_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the finding says of the real clock: nothing starts that could only fail."""
    monkeypatch.delenv("AIFLOW_NO_SUCH_KEY", raising=False)
    params = {"endpoint": "http://127.0.0.1:9", "credential": "AIFLOW_NO_SUCH_KEY"}
    graph = edits.add_resource(Graph(), "provider", id="p", params=params)
    graph = edits.add_node(edits.add_node(graph, "chat"), "screen")
    graph = edits.set_resource(graph, "chat", "provider", "p")
    graph = edits.connect(graph, "chat.out", "screen.in")

    async def scene(host: EmbeddedHost) -> None:
        with pytest.raises(CompileError, match=r"AF505: .*AIFLOW_NO_SUCH_KEY"):
            host.start(RunRequest(codec.dumps(graph)))

        assert host.snapshot() is None

    on_a_host(scene)


def test_a_graph_with_errors_does_not_start() -> None:
    """The sentence names code and node; the host is free for the next start."""

    async def scene(host: EmbeddedHost) -> None:
        graph = edits.add_node(Graph(), "no-such-operator")
        with pytest.raises(CompileError, match=r"AF\d+: .*no-such-operator"):
            host.start(RunRequest(codec.dumps(graph)))
        with pytest.raises(GraphFileError):
            host.start(RunRequest("{"))
        assert host.snapshot() is None
        host.start(RunRequest(small_graph()))

    on_a_host(scene)


def test_one_run_at_a_time() -> None:
    """A second start is refused in a sentence."""

    async def scene(host: EmbeddedHost) -> None:
        host.start(RunRequest(small_graph(count=1000)))
        with pytest.raises(EngineError, match="a run is going on"):
            host.start(RunRequest(small_graph()))

    on_a_host(scene)


def test_a_run_is_over_when_another_can_start() -> None:
    """What is said of a run that is ending and what a start answers are the same."""

    async def scene(host: EmbeddedHost) -> None:
        host.start(RunRequest(small_graph()))
        await asyncio.sleep(0.1)
        host.stop()
        seen: list[str] = []
        while True:
            snapshot = host.snapshot()
            assert snapshot is not None
            seen.append(snapshot.phase)
            if snapshot.phase == "cancelled":
                break
            with pytest.raises(EngineError, match="a run is going on"):
                host.start(RunRequest(small_graph()))
            await asyncio.sleep(0)

        host.start(RunRequest(small_graph()))
        assert set(seen) == {"running", "cancelled"}

    on_a_host(scene)


def test_a_session_that_breaks_down_is_a_failed_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """A crash never leaves a run that looks alive."""

    async def crash(_session: object) -> None:
        raise RuntimeError("out of ideas")

    async def scene(host: EmbeddedHost) -> None:
        monkeypatch.setattr("aiflow.engine.session.Session.run", crash)
        host.start(RunRequest(small_graph()))
        await asyncio.sleep(0.1)
        snapshot = host.snapshot()
        assert snapshot is not None
        assert snapshot.phase == "failed"
        assert snapshot.error == "the run broke down: RuntimeError: out of ideas"

    on_a_host(scene)


def test_the_demo_fills_the_queue_of_speech_to_its_bound() -> None:
    """The lesson of the first example, on the host that the window uses."""

    async def scene(host: EmbeddedHost) -> None:
        host.start(RunRequest(EXAMPLE, repeats=True))
        await asyncio.sleep(6)
        snapshot = host.snapshot()
        assert snapshot is not None
        assert snapshot.error is None
        assert snapshot.nodes["speech"].depth == snapshot.nodes["speech"].max_depth == 8
        assert snapshot.bound is not None
        assert snapshot.max_in_flight <= snapshot.bound

    on_a_host(scene)


def test_requests_are_plain_values() -> None:
    """They could cross a process border."""
    request = RunRequest(EXAMPLE, inputs={"c1": "hello"})

    assert replace(request) == request


def test_a_run_that_records_says_beside_the_node_where_its_answer_went(tmp_path: Path) -> None:
    """Over a real socket, as the trace's own server has it."""
    trace = tmp_path / "pond.trace"
    with TraceWriter(trace, "ollama") as writer:
        writer.write(0.0, b'{"message":{"content":"x"},"done":true,"done_reason":"stop"}\n')
    graph = edits.add_node(Graph(name="asks"), "chat", id="model")
    graph = edits.add_resource(graph, "provider", id="pond", params={"trace": str(trace)})
    graph = edits.set_resource(graph, "model", "provider", "pond")
    graph = edits.connect(edits.add_node(graph, "counter"), "model.out", "counter.in")
    folder = tmp_path / "recordings"

    async def scene() -> list[str]:
        host = EmbeddedHost(CATALOG)
        host.start(RunRequest(codec.dumps(graph), record_to=str(folder)))
        assert host._task is not None
        await host._task
        return [line.text for line in host.outputs(0) if line.node == "model"]

    shown = asyncio.run(scene())

    (path,) = folder.iterdir()
    assert shown == [f"recorded in {path}\n"]
    assert [piece.data for piece in Trace.open(path).pieces()] == [
        piece.data for piece in Trace.open(trace).pieces()
    ]
