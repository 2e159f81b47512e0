"""Tests of `aiflow.cli.interrupts`."""

from __future__ import annotations

import asyncio
import signal
import threading

import pytest

from aiflow.cli.interrupts import Interrupts
from aiflow.testing.virtual import run_virtual


class Session:
    """Keeps what it was asked for and says when."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.was_asked = asyncio.Event()

    def drain(self) -> None:
        self.asked.append("drain")
        self.was_asked.set()

    def stop(self) -> None:
        self.asked.append("stop")
        self.was_asked.set()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_drains_and_the_second_stops(
    number: signal.Signals, capsys: pytest.CaptureFixture[str]
) -> None:
    """A person who is in a hurry asks twice; afterwards the signals are as before."""
    before = signal.getsignal(number)

    async def two_signals() -> tuple[list[str], int]:
        session = Session()
        with Interrupts(asyncio.get_running_loop(), session) as interrupts:
            for _ in range(2):
                session.was_asked.clear()
                signal.raise_signal(number)
                await session.was_asked.wait()
        return session.asked, interrupts.count

    asked, count = asyncio.run(two_signals())

    assert (asked, count) == (["drain", "stop"], 2)
    assert "aiflow: draining; " in capsys.readouterr().err
    assert signal.getsignal(number) is before


def test_what_sigterm_does_not_drain_in_time_is_cut_off() -> None:
    """On the virtual clock: four seconds later it is as if it had come again."""

    async def one_signal() -> tuple[list[str], float, bool]:
        loop, session = asyncio.get_running_loop(), Session()
        with Interrupts(loop, session, grace_s=4.0) as interrupts:
            signal.raise_signal(signal.SIGTERM)
            await session.was_asked.wait()
            drained = interrupts.is_interrupted
            session.was_asked.clear()
            await session.was_asked.wait()
            assert interrupts.is_interrupted
        return session.asked, loop.time(), drained

    assert run_virtual(one_signal()) == (["drain", "stop"], 4.0, False)


def test_what_sigterm_has_drained_is_not_interrupted() -> None:
    """The run did what it was asked to do; the time it had left is of no use to anyone."""

    async def one_signal() -> bool:
        session = Session()
        with Interrupts(asyncio.get_running_loop(), session, grace_s=4.0) as interrupts:
            signal.raise_signal(signal.SIGTERM)
            await session.was_asked.wait()
        await asyncio.sleep(9.0)
        return interrupts.is_interrupted or session.asked != ["drain"]

    assert not run_virtual(one_signal())


@pytest.mark.parametrize("signals", [[signal.SIGTERM], [signal.SIGINT, signal.SIGINT]])
def test_a_loop_that_does_not_answer_does_not_keep_the_process(
    signals: list[signal.Signals], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thread waits beside it, and leaves; one Ctrl+C alone has all the time there is."""
    monkeypatch.setattr("aiflow.cli.interrupts.STOP_S", 0.01)
    has_left = threading.Event()

    async def blocked() -> bool:
        with Interrupts(asyncio.get_running_loop(), Session(), 0.01, has_left.set):
            for number in signals:
                signal.raise_signal(number)
            return has_left.wait(30.0)  # nothing else of this loop runs meanwhile

    assert asyncio.run(blocked())
