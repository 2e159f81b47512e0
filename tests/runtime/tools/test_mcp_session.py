"""Tests of `aiflow.tools.mcp_session`, with a real server in a process of its own.

Starting one takes seconds, so tests that do it no harm share one.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest

from aiflow.errors import ToolError
from aiflow.tools import mcp_ways
from aiflow.tools.mcp_session import McpSession, McpTool
from aiflow.tools.mcp_ways import address_way, program_way
from aiflow.tools.tool import ToolAnswer, ToolEffect
from aiflow.transport.guard import AddressGuard
from tests.runtime.tools.calling import context

T = TypeVar("T")
PROGRAM = [sys.executable, str(Path(__file__).with_name("mcp_program.py"))]
SECRET = "sesame-0123456789"


def with_session(session: McpSession, use: Callable[[Any], Awaitable[T]]) -> T:
    """Open a session, use its tools and close it, on the real loop."""

    async def scenario() -> T:
        try:
            listed = await session.open()
            return await use({each.name: McpTool(session, each, each.name) for each in listed})
        finally:
            await session.close()

    return asyncio.run(scenario())


def program(*arguments: str, secrets: tuple[str, ...] = (), **environment: str) -> McpSession:
    """Return a session with a program of its own."""
    way = program_way([*PROGRAM, *arguments], environment)
    return McpSession("MCP server test", way, secrets)


@contextmanager
def served() -> Iterator[str]:
    """Serve over HTTP, and end the server afterwards."""
    child = subprocess.Popen(
        [*PROGRAM, "http"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        yield f"http://127.0.0.1:{int(child.stdout.readline())}/mcp"
    finally:
        child.stdin.close()
        child.wait(10)
        child.stdout.close()


Shared = Callable[[Callable[[dict[str, McpTool]], Awaitable[Any]]], Any]


@pytest.fixture(scope="module")
def shared() -> Iterator[Shared]:
    """Return what runs a coroutine with the tools of one server that is there for all tests."""
    with asyncio.Runner() as runner, pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOME_OTHER_KEY", SECRET)
        session = program(OWN_KEY="own", secrets=(SECRET,))
        listed = runner.run(session.open())
        tools = {each.name: McpTool(session, each, each.name) for each in listed}

        async def using(use: Callable[[dict[str, McpTool]], Awaitable[Any]]) -> Any:
            return await use(tools)

        yield lambda use: runner.run(using(use))
        runner.run(session.close())


def test_a_programs_tools_are_listed_with_their_schemas(shared: Shared) -> None:
    """As a model is shown them; none is believed to be harmless."""

    async def use(tools: dict[str, McpTool]) -> McpTool:
        return tools["add"]

    add = shared(use)

    assert add.spec.description == "Add two numbers."
    assert add.spec.parameters["required"] == ["a", "b"]
    assert add.effect is ToolEffect.NON_IDEMPOTENT


@pytest.mark.parametrize(
    ("name", "arguments", "answer"),
    [
        ("add", {"a": 2, "b": 3}, ToolAnswer("5")),
        ("picture", {}, ToolAnswer("[image: image/png, which is no text]")),
    ],
)
def test_a_call_is_answered_by_the_program(
    shared: Shared, name: str, arguments: dict[str, Any], answer: ToolAnswer
) -> None:
    """In text; of what is no text only that it is there."""
    assert shared(lambda tools: tools[name].call(arguments, context())) == answer


def test_a_structured_result_is_text_too(shared: Shared) -> None:
    """Whichever way the server tells it."""
    answer = shared(lambda tools: tools["numbers"].call({}, context()))

    assert '"one": 1' in answer.content


def test_a_tool_that_fails_says_so_itself(shared: Shared) -> None:
    """Its words are an answer, and the connection stays."""

    async def use(tools: dict[str, McpTool]) -> tuple[ToolAnswer, ToolAnswer]:
        failed = await tools["fail"].call({"secret": "x"}, context())
        return failed, await tools["add"].call({"a": 1, "b": 1}, context())

    failed, added = shared(use)

    assert failed.is_error
    assert "no, x" in failed.content
    assert added.content == "2"


def test_a_key_that_the_server_sends_back_is_covered(shared: Shared) -> None:
    """Before anybody sees it."""
    answer = shared(lambda tools: tools["fail"].call({"secret": SECRET}, context()))

    assert SECRET not in answer.content
    assert "no, [redacted]" in answer.content


def test_wrong_arguments_are_told_by_the_server(shared: Shared) -> None:
    """It knows its schema best."""
    answer = shared(lambda tools: tools["add"].call({"a": "many"}, context()))

    assert answer.is_error
    assert "a" in answer.content


def test_calls_run_side_by_side(shared: Shared) -> None:
    """One that never answers holds up no other, and can be given up."""

    async def use(tools: dict[str, McpTool]) -> ToolAnswer:
        waiting = asyncio.get_running_loop().create_task(tools["wait"].call({}, context()))
        answer = await tools["add"].call({"a": 1, "b": 2}, context())
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        return answer

    assert shared(use).content == "3"


def test_a_program_gets_no_more_of_the_environment_than_it_is_handed(shared: Shared) -> None:
    """A key that it has no business with stays here."""

    async def use(tools: dict[str, McpTool]) -> list[str]:
        names = ("SOME_OTHER_KEY", "OWN_KEY")
        return [(await tools["variable"].call({"name": n}, context())).content for n in names]

    assert shared(use) == ["not set", "own"]


@pytest.mark.slow
def test_a_program_that_ends_in_mid_call_is_told() -> None:
    """It may have done what it was asked; later calls are told as well."""

    async def use(tools: dict[str, McpTool]) -> list[ToolError]:
        errors = []
        for _ in range(2):
            with pytest.raises(ToolError) as caught:
                await tools["leave"].call({}, context())
            errors.append(caught.value)
        return errors

    first, second = with_session(program(), use)

    assert str(first).startswith("MCP server test: ")
    assert first.has_begun
    assert isinstance(second, ToolError)


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (["no-such-program-anywhere"], "there is no program no-such-program-anywhere"),
        (
            [sys.executable, "-c", f"import sys; sys.exit('bad key {SECRET}')"],
            r"it says: bad key \[redacted\]",
        ),
    ],
)
def test_a_program_that_cannot_serve_is_told(command: list[str], says: str) -> None:
    """With what it said last, without the key."""
    session = McpSession("MCP server x", program_way(command, {}), [SECRET])

    with pytest.raises(ToolError, match=says) as caught:
        with_session(session, lambda _: asyncio.sleep(0))

    assert caught.value.kind == "unreachable"


@pytest.mark.slow
def test_a_closed_session_leaves_no_process() -> None:
    """Its program has ended when `close` returns."""

    async def use(tools: dict[str, McpTool]) -> int:
        answer = await tools["variable"].call({"name": "NAME"}, context())
        assert answer.content == "not set"
        return children()

    before = children()

    assert with_session(program(), use) == before + 1
    assert children() == before


def children() -> int:
    """Return how many processes this one has started that still run."""
    listing = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children")
    if not listing.exists():
        pytest.skip("this system does not list a process's children")
    return len(listing.read_text().split())


@pytest.mark.slow
def test_a_server_is_spoken_to_over_http() -> None:
    """With its key in a header, at an address of this machine that is meant."""
    with served() as url:
        headers = {"Authorization": f"Bearer {SECRET}"}
        way = address_way(url, headers, AddressGuard(allow_private=True))
        answer = with_session(
            McpSession("MCP server test", way, [SECRET]),
            lambda tools: tools["add"].call({"a": 20, "b": 22}, context()),
        )

    assert answer.content == "42"


def test_an_address_of_this_machine_is_refused_where_it_is_not_meant() -> None:
    """As for any tool; nothing is connected."""
    session = McpSession(
        "MCP server test", address_way("http://127.0.0.1:9/mcp", {}, AddressGuard())
    )

    with pytest.raises(ToolError, match="not on the open internet"):
        with_session(session, lambda _: asyncio.sleep(0))


@pytest.mark.parametrize("say", ["'x' * 65536", "'[' + '1,' * 32768", "chr(228) * 9999 + chr(13)"])
def test_a_program_that_never_ends_its_line_is_given_up_with_a_sentence(
    say: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of the line is kept, and the program is ended."""
    monkeypatch.setattr(mcp_ways, "MOST_BYTES", 1024 * 1024)
    code = f"import sys\nwhile True: sys.stdout.write({say})"
    session = McpSession("MCP server x", program_way([sys.executable, "-c", code], {}))

    with pytest.raises(ToolError, match=r"^MCP server x: it sent a message of more than 1 MiB"):
        with_session(session, lambda _: asyncio.sleep(0))


def test_a_message_that_is_too_long_is_told_to_the_call_and_to_the_next(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The one before it, at the limit, is read."""
    monkeypatch.setattr(mcp_ways, "MOST_BYTES", 1024 * 1024)

    async def use(tools: dict[str, McpTool]) -> tuple[str, list[ToolError]]:
        answer = await tools["much"].call({"letters": 500_000}, context())
        errors = []
        for _ in range(2):
            with pytest.raises(ToolError) as caught:
                await tools["much"].call({"letters": 2_000_000}, context())
            errors.append(caught.value)
        return answer.content, errors

    content, errors = with_session(program(), use)

    assert len(content) == 500_000
    for error in errors:
        assert "it sent a message of more than 1 MiB, which is not read" in str(error)
        assert (error.kind, error.is_transient) == ("failed", False)
    assert errors[0].has_begun
    assert not caplog.records


@pytest.mark.slow
def test_a_message_over_http_that_is_too_long_is_told_and_the_next_one_comes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each answer has a connection of its own, so that only one of them is lost."""
    monkeypatch.setattr(mcp_ways, "MOST_BYTES", 1024 * 1024)

    async def use(tools: dict[str, McpTool]) -> str:
        with pytest.raises(ToolError, match="a message of more than 1 MiB, which is not read"):
            await tools["much"].call({"letters": 2_000_000}, context())
        return (await tools["much"].call({"letters": 3}, context())).content

    with served() as url:
        way = address_way(url, {}, AddressGuard(allow_private=True))
        assert with_session(McpSession("MCP server test", way), use) == "xxx"
