"""A small program in place of espeak-ng: a real process whose sentence says how it behaves."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

needs_processes = pytest.mark.skipif(sys.platform == "win32", reason="a script as a program")

#: Says `RATE` samples a second, a millisecond for each letter.
RATE = 8_000

_PROGRAM = """#!{python} -SE
import os, struct, sys, time
text = sys.stdin.buffer.read().decode()
with open({log!r}, "a") as log:
    log.write(" ".join(sys.argv[1:]) + "|" + text + "\\n")
def tell():
    with open({fifo!r}, "w") as fifo:
        fifo.write(str(os.getpid()))
out = sys.stdout.buffer
if "hangs" in text:
    tell()
    time.sleep(600)
elif "crashes" in text:
    sys.stderr.write("a wire\\nis loose")
    sys.exit(3)
elif "kills itself" in text:
    os.kill(os.getpid(), 9)
elif "says nothing" in text:
    pass
elif "floods" in text:
    while True:
        out.write(bytes(2**20))
elif "is garbage" in text:
    out.write(b"RIFFraff" * 100)
elif "leaves a child" in text:
    if not os.fork():
        tell()
        time.sleep(600)
else:
    size = len(text) * {rate} // 1000 * 2
    out.write(struct.pack("<4sI4s4sIHHIIHH4sI", b"RIFF", 0x7ffff024, b"WAVE", b"fmt ", 16, 1, 1,
                          {rate}, {rate} * 2, 2, 16, b"data", 0x7ffff000) + b"\\1\\2" * (size // 2))
"""


class FakeEspeak:
    """The program on the path, and what it was asked.

    Attributes:
        folder: where it is.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._log, self._fifo = folder / "log", folder / "fifo"
        os.mkfifo(self._fifo)
        program = folder / "espeak-ng"
        program.write_text(
            _PROGRAM.format(
                python=sys.executable, log=str(self._log), fifo=str(self._fifo), rate=RATE
            )
        )
        program.chmod(0o755)

    def asked(self) -> list[tuple[str, str]]:
        """Return options and text of each call."""
        if not self._log.exists():
            return []
        calls = (line.split("|") for line in self._log.read_text().splitlines())
        return [(options, text) for options, text in calls]

    async def pid(self) -> int:
        """Return the id of the process that hangs, as soon as it does."""
        return int(await asyncio.to_thread(self._fifo.read_text))


@pytest.fixture
def espeak(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeEspeak:
    """Put the program where espeak-ng is looked for."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return FakeEspeak(folder)


def is_running(pid: int) -> bool:
    """Say whether a process does anything; one that is dead and not yet buried does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


def wait_until_gone(pid: int) -> None:
    """Wait for the end of a process that is nobody's child here; a test that hangs tells."""
    while is_running(pid):
        os.sched_yield()


async def cancelled(started: Callable[[], Awaitable[object]], when: Awaitable[object]) -> None:
    """Start something and cancel it when something else has happened."""
    task = asyncio.ensure_future(started())
    await when
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
