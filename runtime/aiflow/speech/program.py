"""A program that is called once, fed a text, and killed when nobody waits for it any more.

Whatever it does (hang, write without end, leave a child behind), nothing of it outlives the call.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import Sequence
from dataclasses import dataclass

from aiflow.errors import reason_of
from aiflow.speech.faults import SpeechFault

_AT_ONCE = 2**16
_LAST_WORDS = 2_000


@dataclass(frozen=True, slots=True)
class Answer:
    """What a program left.

    Attributes:
        code: its exit code; negative where a signal ended it.
        out: all that it wrote to stdout.
        said: the last that it wrote to stderr, in one line.
    """

    code: int
    out: bytes
    said: str


async def ask(command: Sequence[str], text: bytes, limit_s: float, most_bytes: int) -> Answer:
    """Run a program on a text until it ends.

    Args:
        command: the program and its arguments; no shell reads them.
        text: what it finds on stdin.
        limit_s: seconds after which it is killed.
        most_bytes: more than so many on stdout, and it is killed too.

    Raises:
        SpeechFault: it cannot be started, took too long or wrote too much.
    """
    process = await _started(command)
    answer = None
    try:
        # Real time: a run on the virtual clock has no programs.
        async with asyncio.timeout(limit_s):
            answer = await _converse(process, text, most_bytes)
    except TimeoutError:
        raise SpeechFault(f"it made no sound within {limit_s:g} s and was stopped") from None
    finally:
        await _end(process, has_ended=answer is not None)
    if len(answer.out) > most_bytes:
        raise SpeechFault(f"it wrote more than {most_bytes // 2**20} MiB for one sentence")
    return answer


async def _started(command: Sequence[str]) -> Process:
    """Start a program; a cancel waits for the start, which is a matter of milliseconds."""
    # A session of its own, so that what it starts can be killed with it, and so that
    # Ctrl+C in a terminal ends the run first.
    start = asyncio.ensure_future(
        asyncio.create_subprocess_exec(
            *command, stdin=PIPE, stdout=PIPE, stderr=PIPE, start_new_session=True
        )
    )
    try:
        return await asyncio.shield(start)
    except OSError as error:
        raise SpeechFault(f"it cannot be started ({reason_of(error)})") from error
    except asyncio.CancelledError:
        # Half started, it would be out of sight and live on.
        await asyncio.wait([start])
        if start.exception() is None:
            await _end(start.result(), has_ended=False)
        raise


async def _converse(process: Process, text: bytes, most_bytes: int) -> Answer:
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    async with asyncio.TaskGroup() as group:
        group.create_task(_feed(process.stdin, text))
        said = group.create_task(_last_words(process.stderr))
        out = await _read(process.stdout, most_bytes)
        if len(out) > most_bytes:
            _kill(process)
    return Answer(await process.wait(), out, said.result())


async def _feed(pipe: asyncio.StreamWriter, text: bytes) -> None:
    # A program may end before it has read all; its exit code tells why.
    with contextlib.suppress(ConnectionError):
        pipe.write(text)
        await pipe.drain()
    pipe.close()


async def _read(pipe: asyncio.StreamReader, most_bytes: int) -> bytes:
    """Return what comes until the end, or a little more than is allowed."""
    parts = bytearray()
    while len(parts) <= most_bytes and (part := await pipe.read(_AT_ONCE)):
        parts += part
    return bytes(parts)


async def _last_words(pipe: asyncio.StreamReader) -> str:
    last = b""
    while part := await pipe.read(_AT_ONCE):
        last = (last + part)[-_LAST_WORDS:]
    return " ".join(last.decode(errors="replace").split())


async def _end(process: Process, *, has_ended: bool) -> None:
    """Kill what still runs, let go of its pipes, and see it off.

    Args:
        process: the program.
        has_ended: it has, and nobody holds its pipes any more.
    """
    transport = process._transport  # type: ignore[attr-defined]  # noqa: SLF001 - no public way
    try:
        if not has_ended:
            # It may be over and have left a child behind.
            _kill(process)
            # A child in a session of its own is out of reach and may hold the other ends open.
            for pipe in filter(None, map(transport.get_pipe_transport, range(3))):
                pipe.close()
            await process.wait()
    finally:
        # Only now: closing a transport whose process runs would reap it behind asyncio's back.
        transport.close()


def _kill(process: Process) -> None:
    """Kill a program with all that it has started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
