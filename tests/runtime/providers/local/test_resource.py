"""Tests of `aiflow.providers.local.resource`, with a stub of the package in the child process."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from aiflow.clock import SystemClock, VirtualClock, VirtualLoop
from aiflow.errors import ResourceError
from aiflow.events import Token
from aiflow.operators.registry import Catalog
from aiflow.providers.local.resource import LocalModel, LocalModelParams
from aiflow.providers.messages import ChatMessage, ChatRequest, ToolSpec
from tests.runtime.providers.local.stubbed import gone, is_there, model_file, needs_linux, stub

__all__ = ["stub"]

HELLO = ChatRequest("", (ChatMessage("user", "hello"),))


@asynccontextmanager
async def running(folder: Path, **params: Any) -> AsyncIterator[LocalModel]:
    """Start a local model on the stub, and stop it."""
    model_file(folder)
    model = LocalModel("local", LocalModelParams(model="tiny.gguf", **params), [folder])
    await model.start(SystemClock())
    try:
        yield model
    finally:
        await model.stop()


async def answer(model: LocalModel, request: ChatRequest = HELLO) -> dict[str, Any]:
    """Return what the stub answers: what it was started with and what it was asked."""
    pieces = [each.payload async for each in model.stream_chat(request)]
    text = "".join(each.text for each in pieces if isinstance(each, Token))
    found: dict[str, Any] = json.loads(text)
    return found


def test_it_is_found_by_its_kind_and_stands_in_for_a_provider() -> None:
    """So a chat that asks for a provider may be handed it."""
    kind = Catalog.load().resources["local-model"]

    assert kind is LocalModel
    assert kind.fits("provider")
    assert kind.fits("local-model")
    assert not kind.fits("index")


@pytest.mark.usefixtures("stub")
def test_a_model_is_asked_as_any_provider_is(tmp_path: Path) -> None:
    """Through a socket, with a key that only this run knows; nothing in the answer is a path."""

    async def main() -> None:
        async with running(tmp_path, threads=3, context_tokens=512, parallel=2) as model:
            found = await answer(model)
            assert model.undecoded_bytes == 0
            assert found.pop("asked")["messages"] == [{"role": "user", "content": "hello"}]
            assert found == {
                "name": ["tiny"],
                "hosts": ["127.0.0.1"],
                "context": 1024,
                "parallel": 2,
                "threads": [3, 3],
                "template": "",
                "grammar": "",
            }

    asyncio.run(main())


@pytest.mark.usefixtures("stub")
def test_what_is_forced_reaches_the_server_and_the_request(tmp_path: Path) -> None:
    """Reasoning by template and grammar, a tool call by a begun answer."""
    with_tool = ChatRequest("", HELLO.messages, tools=(ToolSpec("weather"),))

    async def main() -> None:
        async with running(tmp_path, force="reasoning") as model:
            found = await answer(model)
            assert "<think>" in found["template"]
            assert "</think>" in found["grammar"]
        async with running(tmp_path, force="tool-call") as model:
            found = await answer(model, with_tool)
            assert "<tool_call>" in found["template"]
            assert found["asked"]["messages"][-1]["role"] == "assistant"
            assert found["asked"]["tool_choice"] == "required"

    asyncio.run(main())


@pytest.mark.usefixtures("stub")
def test_after_the_stop_nothing_is_left_and_nothing_is_answered(tmp_path: Path) -> None:
    """Stopping twice is as good as once; before the start it is the same."""

    async def main() -> None:
        async with running(tmp_path) as model:
            assert model.server is not None
            pid = model.server.pid
            assert pid is not None
            await model.stop()
            assert not is_there(pid)
            with pytest.raises(ResourceError, match="resource local: it has not been started"):
                model.stream_chat(HELLO)

    asyncio.run(main())


@needs_linux
@pytest.mark.usefixtures("stub")
def test_a_server_that_died_is_told_when_it_is_asked(tmp_path: Path) -> None:
    """And what to do."""

    async def main() -> None:
        async with running(tmp_path) as model:
            assert model.server is not None
            pid = model.server.pid
            assert pid is not None
            watcher = asyncio.create_task(gone(pid))
            await asyncio.sleep(0)
            os.kill(pid, signal.SIGKILL)
            await watcher
            with pytest.raises(ResourceError, match="signal 9; run the graph again"):
                model.stream_chat(HELLO)

    asyncio.run(main())


@pytest.mark.usefixtures("stub")
def test_a_server_that_does_not_come_up_fails_the_start(tmp_path: Path) -> None:
    """Under the resource's name."""
    model_file(tmp_path, "refused")
    model = LocalModel("local", LocalModelParams(model="refused.gguf"), [tmp_path])

    async def main() -> None:
        with pytest.raises(ResourceError, match="resource local: the model cannot be loaded"):
            await model.start(SystemClock())
        await model.stop()

    asyncio.run(main())


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, r"there is no model own\.gguf; correct the path"),
        (b"MZ", r"own\.gguf is no model in the GGUF format"),
    ],
)
def test_a_file_that_cannot_be_a_model_is_found_without_starting(
    tmp_path: Path, content: bytes | None, says: str
) -> None:
    """The same from `check` and from `start`."""
    if content is not None:
        (tmp_path / "own.gguf").write_bytes(content)
    model = LocalModel("local", LocalModelParams(model="own.gguf"), [tmp_path])

    (fault,) = model.check()

    with pytest.raises(ResourceError, match=says) as caught:
        asyncio.run(model.start(SystemClock()))
    assert fault in str(caught.value)


def test_missing_packages_are_told_by_check_and_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """The graph is right, so it is no fault of `check`."""
    monkeypatch.setattr("aiflow.providers.local.packages.find_spec", lambda name: None)
    model = LocalModel("local", LocalModelParams())

    assert list(model.check()) == []
    with pytest.raises(ResourceError, match="not installed; run `make live`"):
        asyncio.run(model.start(SystemClock()))


@pytest.mark.usefixtures("stub")
def test_it_needs_the_real_clock(tmp_path: Path) -> None:
    """A model does not write faster because time jumps."""
    model_file(tmp_path)
    model = LocalModel("local", LocalModelParams(model="tiny.gguf"), [tmp_path])
    loop = VirtualLoop()
    try:
        with pytest.raises(ResourceError, match="whose time is real"):
            loop.run_until_complete(model.start(VirtualClock(loop)))
    finally:
        loop.close()
    assert "whose time is real" in model.needs_real_clock()
