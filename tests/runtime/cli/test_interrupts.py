"""Tests of `aiflow.cli.interrupts`."""

from __future__ import annotations

import asyncio
import signal

import pytest

from aiflow.cli.interrupts import Interrupts


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
    assert "press Ctrl+C once more" in capsys.readouterr().err
    assert signal.getsignal(number) is before
