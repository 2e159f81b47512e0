"""Runs in a process of their own, and runs of others that are attached to: real processes."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import aiflow.remote
from aiflow.engine.session import Session
from aiflow.errors import AiFlowError, CompileError, EngineError, RemoteError
from aiflow.graph import codec, edits
from aiflow.graph.model import Graph, PortRef
from aiflow.metrics.snapshot import Snapshot
from aiflow.operators.local import with_file
from aiflow.operators.registry import Catalog
from aiflow.transport.trace import Trace, TraceWriter
from aiflow_studio.runs.child import ChildHost
from aiflow_studio.runs.host import RunHost, RunRequest
from aiflow_studio.runs.remote import AttachedHost, RemoteHost
from tests.runtime.remote.served import TOKEN, Gate, plan_of
from tests.studio.app.conftest import Await

CATALOG = Catalog.load()
LOOK_S = 0.01
PATIENCE_S = 60.0


def graph(count: int = 1_000_000) -> str:
    """Return a source of many tokens before a screen and a counter, as text."""
    made = edits.add_node(Graph(name="small"), "synthetic")
    made = edits.add_node(made, "screen")
    made = edits.set_params(made, "synthetic", {"count": count, "rate": 50})
    return codec.dumps(edits.connect(made, PortRef("synthetic", "out"), PortRef("screen", "in")))


EDGE = "synthetic.out>screen.in"


async def until(host: RemoteHost, is_so: Callable[[Snapshot], bool]) -> Snapshot:
    """Look as the window does, until the numbers say what is waited for."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            snapshot = host.snapshot()
            if snapshot is not None and is_so(snapshot):
                return snapshot
            await asyncio.sleep(LOOK_S)


def flows(snapshot: Snapshot) -> bool:
    """Something has come to the sink."""
    return "screen" in snapshot.nodes and snapshot.nodes["screen"].processed > 0


def on_a_child(wait_for: Await, scene: Callable[[ChildHost], Any]) -> None:
    """Play a scene with a host; its process is gone afterwards."""

    async def play() -> None:
        host = ChildHost(CATALOG)
        try:
            await scene(host)
        finally:
            await host.kill()
            assert not host.is_active

    wait_for(play())


def is_there(process: int) -> bool:
    """Say whether a process exists."""
    try:
        os.kill(process, 0)
    except OSError:
        return False
    return True


def test_a_run_in_a_process_of_its_own_is_the_same_to_a_panel(wait_for: Await) -> None:
    """Numbers, text, tuning, breakpoints: all of it comes over the wire."""

    async def scene(host: ChildHost) -> None:
        as_protocol: RunHost = host
        assert as_protocol.snapshot() is None
        as_protocol.start(RunRequest(graph()))
        await until(host, flows)
        assert host.process_id not in (None, os.getpid())
        assert host.outputs(0)[0].number == 1
        assert await as_protocol.tune("screen", {"queue_capacity": 3}) == {"queue_capacity": [8, 3]}
        await as_protocol.set_breakpoint(EDGE, True)
        await until(host, lambda now: now.nodes["screen"].depth == 3)
        assert len(await as_protocol.queue("screen", 10)) == 3
        assert await as_protocol.step(EDGE) is True
        assert await as_protocol.resume(EDGE) is True
        as_protocol.tap(EDGE, 5)
        trace = await as_protocol.trace("synthetic", None)
        await until(host, lambda _: len(as_protocol.tap(EDGE, 5)) == 5)
        assert [row["node"] for row in await as_protocol.traced(trace)] == ["synthetic", "screen"]
        with pytest.raises(RemoteError, match="there is no node nobody in this run"):
            await as_protocol.tune("nobody", {"workers": 2})
        as_protocol.stop()
        await until(host, lambda now: now.phase == "cancelled")

    on_a_child(wait_for, scene)


def test_a_drained_child_completes_and_another_can_start(wait_for: Await) -> None:
    """All that was shown has been read when it is over."""

    async def scene(host: ChildHost) -> None:
        host.start(RunRequest(graph(), repeats=True))
        with pytest.raises(EngineError, match="a run is going on"):
            host.start(RunRequest(graph()))
        await until(host, flows)
        host.drain()
        last = await until(host, lambda now: now.phase == "completed")
        # The screen ends its last line.
        assert len(host.outputs(0)) == last.nodes["screen"].processed + 1
        host.start(RunRequest(graph(3)))
        assert host.snapshot() is None
        last = await until(host, lambda now: now.phase == "completed")
        assert "".join(line.text for line in host.outputs(0)) == "1 2 3 \n"

    on_a_child(wait_for, scene)


def test_a_child_that_records_says_beside_the_node_where_its_answer_went(
    wait_for: Await, tmp_path: Path
) -> None:
    """As a run in this process does."""
    trace = tmp_path / "pond.trace"
    with TraceWriter(trace, "ollama") as writer:
        writer.write(0.0, b'{"message":{"content":"x"},"done":true,"done_reason":"stop"}\n')
    asks = edits.add_node(Graph(name="asks"), "chat", id="model")
    asks = edits.add_resource(asks, "provider", id="pond", params={"trace": str(trace)})
    asks = edits.set_resource(asks, "model", "provider", "pond")
    asks = edits.connect(edits.add_node(asks, "counter"), "model.out", "counter.in")
    folder = tmp_path / "recordings"

    async def scene(host: ChildHost) -> None:
        host.start(RunRequest(codec.dumps(asks), record_to=str(folder)))
        await until(host, lambda now: now.phase == "completed")
        shown = [line.text for line in host.outputs(0) if line.node == "model"]
        assert shown == [f"recorded in {folder / 'model-c1.trace'}\n"]

    on_a_child(wait_for, scene)
    assert Trace.open(folder / "model-c1.trace").check() == "closed"


OPERATOR = """
from aiflow import operator
from aiflow.events import Token


@operator
def shout(payload: Token) -> Token:
    return Token(payload.text.upper() + "!")
"""


def test_a_child_knows_the_operators_of_the_files_that_were_named(
    wait_for: Await, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the names are relative and the graph is in another folder."""
    (tmp_path / "shout.py").write_text(OPERATOR, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    made = edits.add_node(Graph(name="loud"), "synthetic")
    made = edits.set_params(made, "synthetic", {"count": 2, "rate": 50, "text": "a{n}"})
    made = edits.add_node(edits.add_node(made, "shout"), "screen")
    made = edits.connect(made, PortRef("synthetic", "out"), PortRef("shout", "in"))
    made = edits.connect(made, PortRef("shout", "out"), PortRef("screen", "in"))
    host = ChildHost(with_file(CATALOG, "shout.py"), ["shout.py"])
    (tmp_path / "elsewhere").mkdir()

    async def scene() -> None:
        try:
            host.start(RunRequest(codec.dumps(made), base=str(tmp_path / "elsewhere")))
            await until(host, lambda now: now.phase == "completed")
        finally:
            await host.kill()
        assert "".join(line.text for line in host.outputs(0)) == "A1!A2!\n"

    wait_for(scene())


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in is a shell's script")
def test_a_packed_studio_starts_itself_as_the_runs_process(
    wait_for: Await, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is no Python beside it that could be asked for the module."""
    code = (
        "import sys; sys.frozen = True; from aiflow_studio.app.main import main; sys.exit(main())"
    )
    program = tmp_path / "studio"
    program.write_text(f"#!/bin/sh\nexec {sys.executable} -c '{code}' \"$@\"\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.setattr(sys, "executable", str(program))

    async def scene(host: ChildHost) -> None:
        host.start(RunRequest(graph(3)))
        await until(host, lambda now: now.phase == "completed")
        assert "".join(line.text for line in host.outputs(0)) == "1 2 3 \n"

    on_a_child(wait_for, scene)


def test_what_cannot_run_is_told_before_a_process_is_started(wait_for: Await) -> None:
    """The sentences are those of a run in the window."""

    async def scene(host: ChildHost) -> None:
        broken = codec.dumps(edits.add_node(Graph(), "nothing-like-it"))
        with pytest.raises(CompileError, match="AF1"):
            host.start(RunRequest(broken))
        with pytest.raises(AiFlowError, match="nothing runs"):
            await host.tune("screen", {"workers": 2})
        assert host.process_id is None

    on_a_child(wait_for, scene)


def test_a_killed_host_leaves_no_process(wait_for: Await) -> None:
    """Neither before the process has said a word nor afterwards."""

    async def scene(host: ChildHost) -> None:
        for has_begun in (False, True):
            host.start(RunRequest(graph()))
            if has_begun:
                await until(host, flows)
            process = host.process_id
            assert process is not None
            await host.kill()
            assert not is_there(process)

    on_a_child(wait_for, scene)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
def test_a_process_that_is_killed_is_told_in_one_sentence(wait_for: Await) -> None:
    """The run has failed, its last numbers stay, and another can start."""

    async def scene(host: ChildHost) -> None:
        host.start(RunRequest(graph()))
        await until(host, flows)
        os.kill(host.process_id or 0, signal.SIGKILL)
        last = await until(host, lambda now: now.phase == "failed")
        assert last.error == "The process of the run was killed (signal 9)"
        assert flows(last)
        host.start(RunRequest(graph(3)))
        await until(host, lambda now: now.phase == "completed")

    on_a_child(wait_for, scene)


def test_a_process_that_cannot_serve_says_why(
    wait_for: Await, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What it said last is the reason."""
    program = tmp_path / "python"
    program.write_text("#!/bin/sh\necho 'aiflow: no room left' >&2\nexit 3\n", encoding="utf-8")
    program.chmod(0o755)

    async def scene(host: ChildHost) -> None:
        monkeypatch.setattr(sys, "executable", str(program))
        host.start(RunRequest(graph()))
        last = await until(host, lambda now: now.phase == "failed")
        said = "The process of the run ended by itself (exit code 3): no room left"
        assert last.error == said
        monkeypatch.setattr(sys, "executable", str(tmp_path / "nothing"))
        host.start(RunRequest(graph()))
        last = await until(host, lambda now: now.phase == "failed")
        assert last.error == "The process of the run cannot be started"

    if sys.platform != "win32":
        on_a_child(wait_for, scene)


def test_the_token_is_in_no_error_and_on_no_command_line(wait_for: Await) -> None:
    """It is handed on in the environment, which only the user's own processes can read."""

    async def scene(host: ChildHost) -> None:
        host.start(RunRequest(graph()))
        await until(host, flows)
        process = host._process
        assert process is not None
        assert host._token
        assert host._token not in " ".join(process.arguments())
        assert host._token not in " ".join(host._said)

    on_a_child(wait_for, scene)


def test_a_run_that_others_have_started_goes_on_when_it_is_left(wait_for: Await) -> None:
    """Attaching shows its numbers; leaving it changes nothing."""

    async def scene() -> None:
        gate = Gate()
        session = Session(plan_of(gate))
        async with aiflow.remote.serve(session, "127.0.0.1:0", TOKEN) as server:
            task = asyncio.create_task(session.run())
            host = AttachedHost(server.address, TOKEN)
            await host.open()
            await until(host, lambda now: now.nodes["k"].depth == 4)
            assert host.graph == "by hand"
            with pytest.raises(EngineError, match="was started elsewhere"):
                host.start(RunRequest(graph()))
            assert await host.tune("k", {"queue_capacity": 6}) == {"queue_capacity": [4, 6]}
            await host.kill()
            assert session.status.phase == "running"

            host = AttachedHost(server.address, TOKEN)
            await host.open()
            gate.open()
            await task
        last = await until(host, lambda now: now.phase == "completed")
        assert last.nodes["k"].processed == 20
        assert [line.text for line in host.outputs(0)] == [str(number) for number in range(20)]

    wait_for(scene())


def test_attaching_with_a_wrong_token_is_refused_in_a_sentence(wait_for: Await) -> None:
    """Nothing of a run is shown."""

    async def scene() -> None:
        session = Session(plan_of(Gate()))
        async with aiflow.remote.serve(session, "127.0.0.1:0", TOKEN) as server:
            host = AttachedHost(server.address, "a token of something else")
            with pytest.raises(RemoteError, match="refuses: the token is another"):
                await host.open()
            assert host.snapshot() is None

    wait_for(scene())
