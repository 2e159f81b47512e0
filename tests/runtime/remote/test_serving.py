"""Serving a session: who has the token steers it, who has not is told nothing and costs nothing."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
from pathlib import Path

import pytest

import aiflow.remote
from aiflow.engine.session import Session
from aiflow.errors import RemoteError
from aiflow.remote import server as server_module
from aiflow.remote import tokens
from aiflow.remote.wire import MOST_HELLO, MOST_REQUEST
from aiflow.testing.virtual import run_virtual
from tests.runtime.remote.served import TOKEN, Gate, plan_of, serving


async def said_to(address: str, *lines: bytes) -> bytes:
    """Say lines to a server and return all it says until it closes the connection."""
    host, _, port = address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        writer.writelines(lines)
        return await reader.read()
    except ConnectionError:
        return b""
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


def test_a_client_reads_the_numbers_of_the_run() -> None:
    """A snapshot comes over the wire as it was made there."""

    async def go() -> None:
        async with serving() as it, aiflow.remote.connect(it.address, TOKEN) as run:
            snapshot = await run.snapshot()

            assert run.graph == "by hand"
            assert snapshot.edges.keys() == it.session.snapshot().edges.keys()
            assert snapshot.nodes["k"].depth == 4
            assert snapshot.conversations == {"c1": "active"}

    asyncio.run(go())


def test_a_client_tunes_a_node_and_hears_what_has_changed() -> None:
    """The change is made in the run, and the answer says old and new."""

    async def go() -> None:
        async with serving() as it, aiflow.remote.connect(it.address, TOKEN) as run:
            tuning = await run.tune("k", queue_capacity=6)

            assert tuning.changes == {"queue_capacity": (4, 6)}
            assert it.session.plan.nodes["k"].policy.queue_capacity == 6

    asyncio.run(go())


def test_a_refusal_comes_as_the_sentence_it_is() -> None:
    """What the session says is what the client hears."""

    async def go() -> None:
        async with serving() as it, aiflow.remote.connect(it.address, TOKEN) as run:
            with pytest.raises(RemoteError, match=r"^there is no node kk in this run"):
                await run.tune("kk", workers=2)
            with pytest.raises(RemoteError, match=r"^there is no edge s.out>q.in in this run"):
                await run.tap("s.out>q.in")
            with pytest.raises(RemoteError, match=r"^there is no conversation c9"):
                await run.cancel("c9")

    asyncio.run(go())


def test_what_sinks_show_is_read_once_and_in_order() -> None:
    """Asked after the last number seen, only newer lines come; the last ones with the goodbye."""

    async def go() -> None:
        async with serving(5) as it:
            run = await aiflow.remote.connect(it.address, TOKEN)
            assert await run.outputs() == []
            it.gate.open()
            await it.task
            lines = await run.outputs(0)
            await it.server.close()
            assert [line.text for line in lines] == ["0", "1", "2", "3", "4"]
            assert await run.outputs(lines[-1].number) == []
            await run.close()

    asyncio.run(go())


def test_the_goodbye_holds_the_last_numbers_and_lines() -> None:
    """A client that asks after the end hears how it ended, and what it had not read."""

    async def go() -> None:
        async with serving(5) as it:
            run = await aiflow.remote.connect(it.address, TOKEN)
            it.gate.open()
            await it.task
            await it.server.close()

            snapshot = await run.snapshot()
            assert snapshot.phase == "completed"
            assert [line.text for line in await run.outputs(3)] == ["3", "4"]
            assert not run.is_open
            with pytest.raises(RemoteError, match="has ended"):
                await run.drain()
            await run.close()

    asyncio.run(go())


def test_a_client_drains_stops_and_cancels() -> None:
    """Each ends the run in its own way."""

    async def go() -> list[str]:
        phases: list[str] = []
        for call in ("drain", "stop", "cancel"):
            async with serving() as it, aiflow.remote.connect(it.address, TOKEN) as run:
                if call == "cancel":
                    assert await run.cancel("c1") is True
                else:
                    await getattr(run, call)()
                it.gate.open()
                await it.task
                phases.append((await run.snapshot()).phase)
        return phases

    assert asyncio.run(go()) == ["completed", "cancelled", "cancelled"]


def test_a_client_looks_inside_and_steps_through() -> None:
    """Queue, breakpoint, step, injected event and trace, all over the wire."""
    edge = "s.out>k.in"

    async def go() -> None:
        async with (
            serving(3, is_over=False) as it,
            aiflow.remote.connect(it.address, TOKEN) as run,
        ):
            await run.set_breakpoint(edge)
            it.gate.open()
            snapshot = await run.snapshot()
            assert snapshot.edges[edge].has_breakpoint
            assert snapshot.nodes["k"].is_paused
            rows = await run.queue("k", 2)
            assert [row["payload"]["text"] for row in rows] == ["1", "2"]
            assert await run.step(edge) is True
            await run.inject(edge, {"type": "token", "text": "mine"})
            assert await run.resume(edge) is True
            trace = await run.trace("s", 1)
            assert await run.traced(trace) == []
            it.gate.over.set()
            await it.task
            assert [line.text for line in await run.outputs()] == ["0", "1", "2", "mine"]
            await run.end_trace(trace)
            with pytest.raises(RemoteError, match="there is no trace 1"):
                await run.traced(trace)

    asyncio.run(go())


def test_a_client_that_goes_lets_go_what_it_has_held() -> None:
    """Nobody would be left to resume it; a breakpoint of the program stays."""

    async def go() -> None:
        async with serving(8) as it:
            gone = asyncio.Event()
            it.server.on_left = gone.set
            run = await aiflow.remote.connect(it.address, TOKEN)
            await run.set_breakpoint("s.out>k.in")
            await run.trace("s")
            assert it.session.breakpoints == {"s.out>k.in"}
            await run.close()
            await gone.wait()

            assert it.session.breakpoints == frozenset()
            assert not it.session.snapshot().nodes["k"].is_paused

    asyncio.run(go())


@pytest.mark.parametrize(
    "line",
    [
        b'{"aiflow": 1, "token": "another token of that length"}\n',
        b'{"aiflow": 1}\n',
        b'{"aiflow": 1, "token": 7}\n',
        b'{"aiflow": 2, "token": "another token of that length"}\n',
        b"GET / HTTP/1.1\r\n\r\n",
        b"\xff\xfe\n",
        b"\n",
        b'{"aiflow": 1, "token": "' + b"x" * MOST_HELLO + b'"}\n',
        b"x" * (3 * MOST_REQUEST),
    ],
)
def test_who_has_no_token_is_told_nothing(line: bytes, caplog: pytest.LogCaptureFixture) -> None:
    """The connection ends without a word, without a log line, and the run is as it was."""

    async def go() -> bytes:
        async with serving() as it:
            said = await said_to(it.address, line, b'{"id": 1, "call": "stop"}\n')
            assert it.session.status.phase == "running"
            assert it.server.clients == 0
            return said

    with caplog.at_level(logging.DEBUG, "aiflow"):
        assert asyncio.run(go()) == b""
    assert caplog.text == ""


def test_who_says_nothing_is_sent_away_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection that shows no token is not held for long."""
    monkeypatch.setattr(server_module, "HELLO_S", 0.01)

    async def go() -> bytes:
        async with serving() as it:
            return await said_to(it.address)

    assert asyncio.run(go()) == b""


def test_only_a_few_are_heard_at_once_without_a_token() -> None:
    """The next is sent away at once; who has a token gets in when one of them has gone."""

    async def go() -> None:
        async with serving() as it:
            host, _, port = it.address.rpartition(":")
            strangers = [
                await asyncio.open_connection(host, int(port))
                for _ in range(server_module.MOST_STRANGERS)
            ]
            # The server has met them all when it answers one that it has sent away.
            assert await said_to(it.address) == b""
            for _, writer in strangers:
                writer.close()
            for reader, _ in strangers:
                await reader.read()
            async with aiflow.remote.connect(it.address, TOKEN) as run:
                assert (await run.snapshot()).phase == "running"

    asyncio.run(go())


def test_a_client_that_goes_leaves_nothing_behind() -> None:
    """Its taps are closed, those of others are not, and the run goes on."""

    async def go() -> None:
        async with serving() as it:
            gone = asyncio.Event()
            it.server.on_left = gone.set
            run = await aiflow.remote.connect(it.address, TOKEN)
            await run.tap("s.out>k.in")
            assert it.session.tapped == {"s.out>k.in"}
            await run.close()
            await gone.wait()

            assert it.session.tapped == frozenset()
            assert it.session.status.phase == "running"

    asyncio.run(go())


def test_a_tap_that_the_program_has_opened_stays_when_a_client_goes() -> None:
    """Who has opened it closes it."""

    async def go() -> None:
        async with serving() as it:
            gone = asyncio.Event()
            it.server.on_left = gone.set
            it.session.tap("s.out>k.in")
            run = await aiflow.remote.connect(it.address, TOKEN)
            await run.tap("s.out>k.in")
            await run.close()
            await gone.wait()

            assert it.session.tapped == {"s.out>k.in"}

    asyncio.run(go())


def test_a_client_that_reads_nothing_neither_slows_the_run_nor_piles_up_answers() -> None:
    """One answer is under way to it, and the run ends while it still does not read."""

    async def go() -> None:
        async with serving(200) as it:
            host, _, port = it.address.rpartition(":")
            reader, writer = await asyncio.open_connection(host, int(port), limit=1024)
            hello = json.dumps({"aiflow": 1, "token": TOKEN}).encode() + b"\n"
            asks = b"".join(b'{"id": %d, "call": "snapshot"}\n' % n for n in range(4000))
            writer.write(hello + asks)
            async with aiflow.remote.connect(it.address, TOKEN) as other:
                it.gate.open()
                assert (await it.task).phase == "completed"
                # What has been made for it is what fits on its way, not what it has asked for.
                waiting = sum(each.transport.get_write_buffer_size() for each in it.server._clients)
                assert waiting < 64 * 1024
                assert (await other.snapshot()).phase == "completed"
            writer.transport.abort()
            assert reader is not None

    asyncio.run(go())


def test_nonsense_of_a_client_is_answered_and_the_next_request_too() -> None:
    """A wrong call, a wrong argument and no request at all each get a sentence."""

    async def go() -> list[str]:
        async with serving() as it:
            host, _, port = it.address.rpartition(":")
            reader, writer = await asyncio.open_connection(host, int(port))
            hello = json.dumps({"aiflow": 1, "token": TOKEN}).encode() + b"\n"
            writer.write(
                hello
                + b'{"id": 1, "call": "snap"}\n'
                + b'{"id": 2, "call": "outputs", "arguments": {"after": "x"}}\n'
                + b"[]\n"
                + b'{"id": 3, "call": "snapshot"}\n'
            )
            answers = [json.loads(await reader.readline()) for _ in range(5)]
            writer.close()
            await writer.wait_closed()
            return [str(each.get("error", "")) for each in answers]

    hello, call, argument, nothing, fine = asyncio.run(go())

    assert (hello, fine) == ("", "")
    assert call == "a run cannot snap; Did you mean snapshot?"
    assert "outputs cannot be asked so" in argument
    assert "this is no request" in nothing


def test_a_request_nested_without_end_does_not_end_its_connection(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It is nonsense as any other; the next request is answered and nothing is logged."""

    async def go() -> list[str]:
        async with serving() as it:
            host, _, port = it.address.rpartition(":")
            reader, writer = await asyncio.open_connection(host, int(port))
            deep = b"[" * 3000 + b"]" * 3000
            writer.write(json.dumps({"aiflow": 1, "token": TOKEN}).encode() + b"\n")
            writer.write(b'{"id": 1, "call": "snapshot", "arguments": {"a": ' + deep + b"}}\n")
            writer.write(b'{"id": 2, "call": "snapshot"}\n')
            answers = [json.loads(await reader.readline()) for _ in range(3)]
            writer.close()
            await writer.wait_closed()
            return [str(each.get("error", "")) for each in answers]

    _hello, nested, fine = asyncio.run(go())

    assert nested == "this is no request: it is nested too deeply"
    assert fine == ""
    assert not caplog.records


@pytest.mark.parametrize(
    "answer",
    [
        b'{"id": 1, "result": {"a": 5}}',
        b'{"id": 1, "result": [7]}',
        b'{"bye": {}}',
        b'{"bye": 3}',
        b"[" * 3000,
    ],
)
def test_a_server_that_is_no_run_is_not_told_as_a_bug_here(answer: bytes) -> None:
    """Something else listens there, or a run of another version."""

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(b'{"aiflow": 1, "graph": "x"}\n')
        await reader.readline()
        writer.write(answer + b"\n")
        await writer.drain()
        writer.close()

    async def go() -> None:
        server = await asyncio.start_server(speak, "127.0.0.1", 0)
        async with server:
            port = server.sockets[0].getsockname()[1]
            async with aiflow.remote.connect(f"127.0.0.1:{port}", TOKEN) as run:
                await run.snapshot()

    with pytest.raises(RemoteError, match="does not speak as a run does"):
        asyncio.run(go())


def test_a_made_token_is_in_a_file_that_only_its_owner_reads_until_the_end(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A client of the same user needs no token; afterwards the file is gone."""
    monkeypatch.delenv(tokens.VARIABLE, raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path))

    async def go() -> Path:
        gate = Gate()
        async with aiflow.remote.serve(Session(plan_of(gate))) as server:
            file = server.token_file
            assert file is not None
            assert file.read_text(encoding="utf-8").strip() == server.token
            if os.name == "posix":
                assert file.stat().st_mode & 0o777 == 0o600
                assert file.parent.stat().st_mode & 0o777 == 0o700
            async with aiflow.remote.connect(server.address) as run:
                assert (await run.snapshot()).phase == "idle"
            return file

    assert not asyncio.run(go()).exists()


def test_a_token_of_the_environment_is_taken_and_kept_nowhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whoever sets it knows it."""
    monkeypatch.setenv(tokens.VARIABLE, TOKEN)

    async def go() -> None:
        async with aiflow.remote.serve(Session(plan_of(Gate()))) as server:
            assert (server.token, server.token_file) == (TOKEN, None)
            async with aiflow.remote.connect(server.address) as run:
                assert run.graph == "by hand"

    asyncio.run(go())


def test_an_address_that_others_reach_must_be_meant() -> None:
    """Nothing is encrypted: it takes a word to leave the machine."""
    session = Session(plan_of(Gate()))

    for address in ("0.0.0.0:0", "192.168.1.4:8080", "example.org:80", "[::]:0"):
        with pytest.raises(RemoteError, match="can be reached from other machines"):
            aiflow.remote.serve(session, address, TOKEN)
    aiflow.remote.serve(session, "0.0.0.0:0", TOKEN, serve_anywhere=True)


@pytest.mark.parametrize("token", ["", "short", "x" * 1000, "with a line\nbreak in it"])
def test_a_token_that_is_none_is_refused_and_not_shown(token: str) -> None:
    """An empty one would let everybody in."""
    with pytest.raises(RemoteError) as caught:
        aiflow.remote.serve(Session(plan_of(Gate())), "127.0.0.1:0", token)

    assert "16 to 512 letters" in str(caught.value)
    assert not token or token not in str(caught.value)


def test_a_wrong_token_is_not_in_what_the_client_says() -> None:
    """The sentence says that it was refused, and nothing of what was shown."""

    async def go() -> str:
        async with serving() as it:
            with pytest.raises(RemoteError) as caught:
                await aiflow.remote.connect(it.address, "not the token of this run")
            return str(caught.value)

    said = asyncio.run(go())
    assert "refuses: the token is another" in said
    assert "not the token" not in said
    assert TOKEN not in said


def test_a_run_that_is_not_there_is_told_in_a_sentence() -> None:
    """Nobody listens at the port."""

    async def go() -> None:
        async with serving() as it:
            address = it.address
        with pytest.raises(RemoteError, match=f"no run can be reached at {address}"):
            await aiflow.remote.connect(address, TOKEN)

    asyncio.run(go())


def test_a_taken_port_is_told_in_a_sentence() -> None:
    """Two runs cannot listen at one port."""

    async def go() -> None:
        async with serving() as it:
            with pytest.raises(RemoteError, match=r"cannot listen at .*; choose another port"):
                await aiflow.remote.serve(it.session, it.address, TOKEN)

    asyncio.run(go())


def test_a_run_on_the_virtual_clock_is_not_served() -> None:
    """Nobody could follow a time that jumps."""

    async def go() -> None:
        with pytest.raises(RemoteError, match="on the virtual clock cannot be served"):
            await aiflow.remote.serve(Session(plan_of(Gate())), "127.0.0.1:0", TOKEN)

    run_virtual(go())


def test_all_that_was_shown_comes_with_the_goodbye() -> None:
    """Also where more was shown at the end than one answer holds."""

    async def go() -> None:
        async with serving(3_000) as it:
            run = await aiflow.remote.connect(it.address, TOKEN)
            it.gate.open()
            await it.task
            await it.server.close()

            lines = await run.outputs(0)
            assert [line.number for line in lines] == list(range(1, 3_001))
            await run.close()

    asyncio.run(go())
