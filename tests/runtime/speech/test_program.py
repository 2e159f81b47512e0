"""Tests of `aiflow.speech.program`, with a real process that misbehaves as it is told to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from aiflow.speech.faults import SpeechFault
from aiflow.speech.program import Answer, ask
from tests.runtime.speech.fake_programs import (
    FakeEspeak,
    cancelled,
    espeak,
    is_running,
    needs_processes,
    wait_until_gone,
)

__all__ = ["espeak"]

pytestmark = needs_processes


@pytest.fixture(params=["asyncio", "uvloop", "qasync"])
def on_loop(request: pytest.FixtureRequest) -> Iterator[Callable[[Any], Any]]:
    """Return a function that runs a coroutine on a loop of each kind that is installed."""
    loop: asyncio.AbstractEventLoop
    if request.param == "qasync":
        studio = pytest.importorskip("aiflow_studio.app.loop")
        # The application that all tests of this process share.
        request.getfixturevalue("qapp")
        loop = studio.new_loop()
    elif request.param == "uvloop":
        loop = pytest.importorskip("uvloop").new_event_loop()
    else:
        loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield loop.run_until_complete
    loop.run_until_complete(loop.shutdown_default_executor())
    asyncio.set_event_loop(None)
    loop.close()


@pytest.fixture
def pids(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the ids of the processes that have been started."""
    started: list[int] = []
    start = asyncio.create_subprocess_exec

    async def noted(*args: Any, **options: Any) -> asyncio.subprocess.Process:
        process = await start(*args, **options)
        started.append(process.pid)
        return process

    monkeypatch.setattr(asyncio, "create_subprocess_exec", noted)
    return started


def asked(espeak: FakeEspeak, text: str, limit_s: float = 60.0, most: int = 2**20) -> Any:
    """Return the coroutine of a call."""
    return ask([str(espeak.folder / "espeak-ng"), "-x"], text.encode(), limit_s, most)


def test_it_is_fed_and_its_answer_is_read(espeak: FakeEspeak, on_loop: Any) -> None:
    """The text comes by stdin, whatever it looks like."""
    answer = on_loop(asked(espeak, "--help"))

    assert answer.code == 0
    assert answer.out.startswith(b"RIFF")
    assert espeak.asked() == [("-x", "--help")]


def test_a_crash_is_an_answer_with_its_last_words(espeak: FakeEspeak, on_loop: Any) -> None:
    """Or with the signal."""
    assert on_loop(asked(espeak, "crashes")) == Answer(3, b"", "a wire is loose")
    assert on_loop(asked(espeak, "kills itself")) == Answer(-9, b"", "")


def test_what_is_no_program_cannot_be_started(espeak: FakeEspeak) -> None:
    """Missing, or not to be run."""
    with pytest.raises(SpeechFault, match=r"cannot be started \(there is no such file or folder\)"):
        asyncio.run(ask([str(espeak.folder / "nothing")], b"", 1, 1))
    with pytest.raises(SpeechFault, match=r"cannot be started \(you have no permission for it\)"):
        asyncio.run(ask([str(espeak.folder)], b"", 1, 1))


def test_one_that_hangs_is_killed_in_time(
    espeak: FakeEspeak, on_loop: Any, pids: list[int]
) -> None:
    """And nothing of it is left."""
    with pytest.raises(SpeechFault, match=r"it made no sound within 0\.1 s and was stopped"):
        on_loop(asked(espeak, "hangs", limit_s=0.1))

    assert [is_running(pid) for pid in pids] == [False]


def test_a_cancelled_call_leaves_no_process(espeak: FakeEspeak, on_loop: Any) -> None:
    """It is dead when the cancellation has come through."""

    async def run() -> int:
        told = asyncio.ensure_future(espeak.pid())
        await cancelled(lambda: asked(espeak, "hangs"), told)
        return told.result()

    assert not is_running(on_loop(run()))


def test_a_child_that_it_leaves_behind_goes_with_it(espeak: FakeEspeak, on_loop: Any) -> None:
    """It would hold the pipes open."""

    async def run() -> int:
        told = asyncio.ensure_future(espeak.pid())
        await cancelled(lambda: asked(espeak, "leaves a child"), told)
        return told.result()

    wait_until_gone(on_loop(run()))


def test_one_that_writes_without_end_is_stopped(espeak: FakeEspeak, on_loop: Any) -> None:
    """Before it fills the memory."""
    with pytest.raises(SpeechFault, match="it wrote more than 4 MiB for one sentence"):
        on_loop(asked(espeak, "floods", most=4 * 2**20))


@pytest.mark.parametrize("steps", [0, 1, 2, 3, 4, 6, 9, 14, 30])
def test_whenever_a_call_is_cancelled_no_child_is_left(
    espeak: FakeEspeak, on_loop: Any, steps: int
) -> None:
    """Before the process is there, while its pipes are joined, while it speaks."""

    async def run() -> None:
        task = asyncio.ensure_future(asked(espeak, "Hello."))
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])

    before = children()
    on_loop(run())

    assert children() <= before


def children() -> set[str]:
    """Return the ids of this process's children."""
    lists = Path("/proc/self/task").glob("*/children")
    return {pid for each in lists for pid in each.read_text().split()}
