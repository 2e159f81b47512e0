"""Serving in rough company: hundreds who say nothing, nonsense, others' versions, broken lines."""

from __future__ import annotations

import asyncio
import json
import socket
from typing import Any

import pytest

import aiflow.remote
from aiflow.errors import RemoteError
from aiflow.remote import server as server_module
from aiflow.remote.wire import MOST_REQUEST
from tests.runtime.remote.served import TOKEN, Served, serving

HELLO = json.dumps({"aiflow": 1, "token": TOKEN}).encode() + b"\n"


async def opened(it: Served) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect without a word."""
    host, _, port = it.address.rpartition(":")
    return await asyncio.open_connection(host, int(port))


def test_hundreds_who_say_nothing_keep_nobody_out_who_has_the_token() -> None:
    """The one that is silent longest makes room, so that few are held and the next is heard."""

    async def go() -> None:
        async with serving() as it:
            silent = [await opened(it) for _ in range(200)]
            async with aiflow.remote.connect(it.address, TOKEN) as run:
                assert (await run.snapshot()).phase == "running"
            assert len(it.server._tasks) <= server_module.MOST_STRANGERS + 1
            for _, writer in silent:
                writer.transport.abort()

    asyncio.run(go())


def test_who_has_the_token_hears_that_the_version_is_another() -> None:
    """It is in the right place with the wrong program; who has no token hears nothing of it."""

    async def go() -> bytes:
        async with serving() as it:
            reader, writer = await opened(it)
            writer.write(json.dumps({"aiflow": 2, "token": TOKEN}).encode() + b"\n")
            said = await reader.read()
            writer.transport.abort()
            return said

    said = json.loads(asyncio.run(go()))
    assert said["error"].startswith("it speaks version 1 and was spoken to in version 2")
    assert "graph" not in said


def test_one_client_too_many_hears_that_it_is() -> None:
    """It is not told that its token is wrong, and gets in when another has gone."""

    async def go() -> None:
        async with serving() as it:
            runs = [
                await aiflow.remote.connect(it.address, TOKEN)
                for _ in range(server_module.MOST_CLIENTS)
            ]
            with pytest.raises(RemoteError, match="refuses: 16 are looking at it already"):
                await aiflow.remote.connect(it.address, TOKEN)
            assert it.server.clients == server_module.MOST_CLIENTS
            for run in runs:
                await run.close()

    asyncio.run(go())


def test_a_run_of_another_version_is_told_as_such() -> None:
    """A client does not go on with a server that it may not understand."""

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(b'{"aiflow": 7, "graph": "x"}\n')
        await reader.read()
        writer.close()

    async def go() -> None:
        async with await asyncio.start_server(speak, "127.0.0.1", 0) as server:
            await aiflow.remote.connect(str(server.sockets[0].getsockname()[1]), TOKEN)

    with pytest.raises(RemoteError, match="does not speak as a run does"):
        asyncio.run(go())


@pytest.mark.parametrize("argument", ["x" * MOST_REQUEST, object()])
def test_a_request_that_cannot_be_sent_is_told_and_the_next_one_is_answered(argument: Any) -> None:
    """Nothing of it is sent, so the connection stays."""

    async def go() -> None:
        async with serving() as it, aiflow.remote.connect(it.address, TOKEN) as run:
            with pytest.raises(RemoteError, match=r"^the request (would have 65|is not made of)"):
                await run.inject("s.out>k.in", {"type": "token", "text": argument})
            assert (await run.snapshot()).phase == "running"

    asyncio.run(go())


def test_an_answer_that_is_too_long_is_told_and_the_next_one_comes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The client could not read it, and would take the run for gone."""
    monkeypatch.setattr(server_module, "MOST_ANSWER", 200)

    async def go() -> None:
        async with serving() as it, aiflow.remote.connect(it.address, TOKEN) as run:
            with pytest.raises(RemoteError, match=r"^the answer would have .*; ask for less$"):
                await run.queue("k")
            assert len(await run.outputs()) == 0

    asyncio.run(go())


IMPOSSIBLE: list[dict[str, Any]] = [
    {},
    {"": 1},
    {"q": 3},
    {"workers\x1b[31m": 2},
    {"state": "stateless"},
    *({"workers": value} for value in (0, -1, 10**30, "2", None, 1.5, True, [2], {"a": 2})),
    *({"workers": value} for value in (float("nan"), float("inf"))),
    *({"overflow": value} for value in ("nope", 3, None)),
    *({"retry": value} for value in (3, None, {"x": 1}, {"attempts": -1}, {"timeout_s": 1e308})),
    # One that could be is not taken where another cannot.
    {"queue_capacity": 6, "workers": 0},
]


def test_impossible_values_change_nothing_and_are_told_in_one_line() -> None:
    """Whatever a client asks for, the run keeps its policy and the client its connection."""

    async def go() -> None:
        async with serving() as it, aiflow.remote.connect(it.address, TOKEN) as run:
            policy = it.session.plan.nodes["k"].policy
            for changes in IMPOSSIBLE:
                with pytest.raises(RemoteError) as caught:
                    await run.tune("k", **changes)
                assert str(caught.value).count("\n") == 0, changes
                assert it.session.plan.nodes["k"].policy == policy
            assert (await run.tune("k", queue_capacity=6)).changes

    asyncio.run(go())


def test_two_who_tune_at_once_hear_what_each_has_changed() -> None:
    """One change is made after the other: what one has found is what the other has left."""

    async def go() -> None:
        async with (
            serving() as it,
            aiflow.remote.connect(it.address, TOKEN) as one,
            aiflow.remote.connect(it.address, TOKEN) as other,
        ):
            tunings = await asyncio.gather(
                *(run.tune("k", queue_capacity=q) for q in range(5, 25) for run in (one, other))
            )
            pairs = [each.changes["queue_capacity"] for each in tunings if each.changes]
            now = it.session.plan.nodes["k"].policy.queue_capacity
            # A chain from the first figure to the last: each value is left as often as it is met.
            assert sorted([4, *(new for _, new in pairs)]) == sorted(
                [now, *(old for old, _ in pairs)]
            )

    asyncio.run(go())


@pytest.mark.parametrize(
    "said",
    [
        b'{"id": 1, "call": "set_breakpoint", "arguments": {"edge": "s.out>k.in"}}\n{"id": 2, "ca',
        b'{"id": 1, "call": "snapshot"}\n' * 500,
        b"x" * (3 * MOST_REQUEST),
    ],
)
def test_who_goes_in_the_middle_leaves_nothing_behind(
    said: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """Half a request, answers that nobody reads, a line without an end."""

    async def go() -> None:
        async with serving() as it:
            gone = asyncio.Event()
            it.server.on_left = gone.set
            _, writer = await opened(it)
            writer.write(HELLO + said)
            await it.server.joined.wait()
            writer.transport.abort()
            await gone.wait()

            assert it.server.clients == 0
            assert it.session.breakpoints == frozenset()
            assert it.session.status.phase == "running"

    asyncio.run(go())
    assert not caplog.records


def test_a_server_that_goes_in_the_middle_of_a_request_is_told_as_gone() -> None:
    """The client does not wait for an answer that will not come."""

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(b'{"aiflow": 1, "graph": "x"}\n')
        await reader.readline()
        writer.write(b'{"id": 1, "resu')
        writer.close()

    async def go() -> None:
        async with await asyncio.start_server(speak, "127.0.0.1", 0) as server:
            address = str(server.sockets[0].getsockname()[1])
            async with aiflow.remote.connect(address, TOKEN) as run:
                await run.tune("k", workers=2)

    with pytest.raises(RemoteError, match="has gone without a word; has it been killed"):
        asyncio.run(go())


def test_a_client_whose_machine_has_gone_is_noticed_by_the_system() -> None:
    """What it holds, such as a breakpoint, would else stop the run for good."""

    async def go() -> None:
        async with serving() as it, aiflow.remote.connect(it.address, TOKEN):
            (writer,) = it.server._clients
            connection = writer.get_extra_info("socket")
            assert connection.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
            if hasattr(socket, "TCP_KEEPIDLE"):
                assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 30

    asyncio.run(go())
