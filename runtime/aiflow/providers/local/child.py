"""The parent's side of the model's server: start it, wait until it is ready, end it by its pid.

A child process, so that a crash in the model's code does not take the run with it. It holds the
read end of a pipe whose write end is here and nowhere else: when this process ends, however it
ends, the system closes that end, and the child goes too.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

_PROGRAM = Path(__file__).with_name("serve.py")
# A crash of native code prints a page; its last line says what it was.
_LONGEST_COMPLAINT = 300


class ServerFailedError(Exception):
    """The server did not start or is gone; the text is a clause that says why."""


@dataclass(frozen=True, slots=True)
class Order:
    """What the child is told.

    Attributes:
        model: path of the model's file.
        name: what the model is called in answers.
        key: what every request must bring, so that no other program of this machine, such as a
            page in a browser, has the model work for it.
        threads: how many compute.
        context_tokens: longest prompt and answer together.
        parallel: answers written at once; each has a context of its own.
        template: chat template in place of the model's own; "" for none.
        grammar: what every answer must obey; "" for none.
    """

    model: str
    name: str
    key: str
    threads: int = 1
    context_tokens: int = 2048
    parallel: int = 1
    template: str = ""
    grammar: str = ""


class ModelServer:
    """The child process of one model; it is started once.

    Attributes:
        address: where it listens, such as `http://127.0.0.1:40867`; "" before it is ready.
    """

    def __init__(self, order: Order) -> None:
        self.address = ""
        self._order = order
        self._process: subprocess.Popen[bytes] | None = None
        self._complaints: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `stop`

    @property
    def pid(self) -> int | None:
        """Process id of the child; None before the start and after the stop."""
        return None if self._process is None else self._process.pid

    def fault(self) -> str:
        """Return why the child has ended by itself, a clause; "" while it runs."""
        if self._process is None:
            return "its server has not been started or has been stopped"
        code = self._process.poll()
        return "" if code is None else _how_it_ended(code, self._last_complaint())

    async def start(self, timeout_s: float) -> None:
        """Start the child and return when it serves.

        Raises:
            ServerFailedError: it did not come up, or not in time.
        """
        try:
            await asyncio.wait_for(self._come_up(), timeout_s)
        except TimeoutError:
            await self.stop()
            raise ServerFailedError(f"its server was not ready after {timeout_s:g} s") from None
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """End the child and wait until it is gone; safe to repeat."""
        process, self._process = self._process, None
        self.address = ""
        try:
            if process is not None:
                process.kill()
                # A killed process needs some milliseconds to give its memory back.
                await asyncio.to_thread(_reap, process)
        finally:
            self._complaints.close()

    async def _come_up(self) -> None:
        process = self._process = self._launch()
        answer = await asyncio.to_thread(_ask, process, self._order)
        if "address" not in answer:
            code = await asyncio.to_thread(process.wait)
            reason = answer.get("error") or _how_it_ended(code, self._last_complaint())
            raise ServerFailedError(str(reason))
        self.address = str(answer["address"])

    def _launch(self) -> subprocess.Popen[bytes]:
        # Not by asyncio: only some loops can start processes, and the studio's is none of them.
        return subprocess.Popen(
            # `-P`: the folder of the program is none to import from.
            [sys.executable, "-P", str(_PROGRAM)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._complaints,
        )

    def _last_complaint(self) -> str:
        self._complaints.seek(0)
        lines = self._complaints.read().decode(errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "")


def _ask(process: subprocess.Popen[bytes], order: Order) -> dict[str, Any]:
    """Hand the order over and return the answer; {} where the child ended without one."""
    # Invariant: both are pipes, see `_come_up`.
    if process.stdin is None or process.stdout is None:
        raise AssertionError("the child was started without its pipes")
    try:
        process.stdin.write(json.dumps(asdict(order)).encode() + b"\n")
        process.stdin.flush()
    except OSError:
        return {}
    line = process.stdout.readline()
    answer: dict[str, Any] = json.loads(line) if line else {}
    return answer


def _reap(process: subprocess.Popen[bytes]) -> None:
    # What it has not read of its order is still in the pipe's buffer, and cannot be handed over.
    with contextlib.suppress(BrokenPipeError), process:
        pass


def _how_it_ended(code: int, complaint: str) -> str:
    said = f": {complaint[:_LONGEST_COMPLAINT]}" if complaint else ""
    if code == -getattr(signal, "SIGILL", 0) != 0:
        return "this processor lacks an instruction that its server needs (AVX2)"
    if code < 0:
        return f"its server was ended by signal {-code}{said}"
    return f"its server has ended with exit code {code}{said}"
