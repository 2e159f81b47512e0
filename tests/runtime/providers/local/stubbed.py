"""A child process without a model: real process, real pipes, real sockets, no package."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import sys
from pathlib import Path

import pytest

STUB = Path(__file__).with_name("stub")

needs_linux = pytest.mark.skipif(
    sys.platform != "linux", reason="watches a process that is not its own child"
)


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let this process and its children find the stub before the package."""
    monkeypatch.syspath_prepend(str(STUB))
    monkeypatch.setenv("PYTHONPATH", str(STUB))
    return STUB


def model_file(folder: Path, name: str = "tiny") -> Path:
    """Return a file that passes for a model."""
    path = folder / f"{name}.gguf"
    path.write_bytes(b"GGUF and more")
    return path


def is_there(pid: int) -> bool:
    """Say whether a process has not been reaped."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def gone(pid: int) -> None:
    """Wait until a process that is nobody's child here has ended; needs Linux."""
    try:
        watched = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        await asyncio.to_thread(select.select, [watched], [], [], 30)
        assert select.select([watched], [], [], 0)[0], f"process {pid} outlives its parent"
    except AssertionError:
        os.kill(pid, signal.SIGKILL)
        raise
    finally:
        os.close(watched)
