"""Tests of `aiflow.providers.local.child`, and with it of `serve`, over real processes."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from aiflow.providers.local import child
from aiflow.providers.local.child import ModelServer, Order, ServerFailedError
from tests.runtime.providers.local.stubbed import gone, is_there, model_file, needs_linux, stub

__all__ = ["stub"]

pytestmark = pytest.mark.usefixtures("stub")


def order(folder: Path, name: str = "tiny") -> Order:
    """Return an order for a model whose name says what goes wrong."""
    return Order(str(model_file(folder, name)), name, "a-key")


def test_a_server_is_ready_when_started_and_gone_when_stopped(tmp_path: Path) -> None:
    """What the library prints is no answer; after the stop not even a zombie is left."""

    async def main() -> None:
        server = ModelServer(order(tmp_path))
        await server.start(30)
        pid = server.pid
        assert pid is not None
        assert server.address.startswith("http://127.0.0.1:")
        assert server.fault() == ""

        await server.stop()
        await server.stop()

        assert not is_there(pid)
        assert (server.pid, server.address) == (None, "")
        assert "has been stopped" in server.fault()

    asyncio.run(main())


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("refused", r"^the model cannot be loaded \(it has no tensors\); is its file whole"),
        ("old-processor", "lacks an instruction that its server needs"),
        ("broken", "has ended with exit code 3: assertion failed: n > 0$"),
    ],
)
def test_a_server_that_does_not_come_up_says_why(tmp_path: Path, name: str, says: str) -> None:
    """In the library's words, the signal's meaning, or the last line of a crash."""

    async def main() -> None:
        server = ModelServer(order(tmp_path, name))
        with pytest.raises(ServerFailedError, match=says):
            await server.start(30)
        assert server.pid is None

    asyncio.run(main())


def test_a_library_that_cannot_be_loaded_is_told_with_its_debian_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bare system lacks it, and the linker's words alone help nobody."""
    (tmp_path / "xllamacpp.py").write_text("raise ImportError('libgomp.so.1: no such file')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    with pytest.raises(ServerFailedError, match=r"libgomp\.so\.1: no such file.*libgomp1"):
        asyncio.run(ModelServer(order(tmp_path)).start(30))


def test_a_server_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    """The time is told, and nothing goes on loading."""

    async def main() -> None:
        server = ModelServer(order(tmp_path, "loads-for-ever"))
        start = asyncio.create_task(server.start(0.2))
        pid = await _pid_of(server)
        with pytest.raises(ServerFailedError, match=r"was not ready after 0\.2 s"):
            await start
        assert not is_there(pid)

    asyncio.run(main())


def test_a_server_that_dies_before_it_is_told_anything_says_how(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its order stays in a buffer that cannot be emptied, and that hides no reason."""
    ask = child._ask

    def ask_the_dead(process: subprocess.Popen[bytes], order: Order) -> dict[str, Any]:
        process.kill()
        process.wait()
        return ask(process, order)

    monkeypatch.setattr(child, "_ask", ask_the_dead)
    server = ModelServer(order(tmp_path))

    with pytest.raises(ServerFailedError, match="ended by signal 9"):
        asyncio.run(server.start(30))

    assert server._complaints.closed


def test_a_cancelled_start_leaves_no_process(tmp_path: Path) -> None:
    """Whoever closes the window while the model is being loaded."""

    async def main() -> None:
        server = ModelServer(order(tmp_path, "loads-for-ever"))
        start = asyncio.create_task(server.start(30))
        pid = await _pid_of(server)
        start.cancel()
        with pytest.raises(asyncio.CancelledError):
            await start
        assert not is_there(pid)

    asyncio.run(main())


def test_ctrl_c_in_the_terminal_is_the_parent_s_business(tmp_path: Path) -> None:
    """It goes to the whole group, and a graph that drains still needs its model."""

    async def main() -> None:
        server = ModelServer(order(tmp_path))
        await server.start(30)
        assert server.pid is not None
        os.kill(server.pid, signal.SIGINT)
        host, _, port = server.address.removeprefix("http://").partition(":")
        _, writer = await asyncio.open_connection(host, int(port))
        writer.close()
        await writer.wait_closed()
        assert server.fault() == ""
        await server.stop()

    asyncio.run(main())


@needs_linux
def test_a_server_that_dies_is_noticed(tmp_path: Path) -> None:
    """With the signal that ended it."""

    async def main() -> None:
        server = ModelServer(order(tmp_path))
        await server.start(30)
        assert server.pid is not None
        watcher = asyncio.create_task(gone(server.pid))
        await asyncio.sleep(0)
        os.kill(server.pid, signal.SIGSEGV)
        await watcher
        assert "was ended by signal 11" in server.fault()
        await server.stop()

    asyncio.run(main())


_PARENT = """
import asyncio, sys
from aiflow.providers.local.child import ModelServer, Order

async def main():
    server = ModelServer(Order(sys.argv[1], "m", "k"))
    start = asyncio.create_task(server.start(30))
    while server.pid is None:
        await asyncio.sleep(0)
    if sys.argv[2] == "serving":
        await start
    print(server.pid, flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


@pytest.mark.slow
@needs_linux
@pytest.mark.parametrize(
    ("name", "when"), [("tiny", "serving"), ("loads-for-ever", "while it loads")]
)
def test_a_server_dies_with_a_parent_that_is_killed(tmp_path: Path, name: str, when: str) -> None:
    """SIGKILL leaves the parent no time for anything."""
    model = model_file(tmp_path, name)
    command = [sys.executable, "-c", _PARENT, str(model), when]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert is_there(pid)
        parent.kill()

    asyncio.run(gone(pid))


async def _pid_of(server: ModelServer) -> int:
    # Nothing tells of it: the process is there after a turn or two of the loop.
    while server.pid is None:  # noqa: ASYNC110
        await asyncio.sleep(0)
    return server.pid
