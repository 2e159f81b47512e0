"""Tests of `aiflow.speech.players`, on the virtual clock."""

from __future__ import annotations

import asyncio
import wave
from pathlib import Path

import pytest

from aiflow.clock import VirtualClock, VirtualLoop
from aiflow.speech.clip import Clip, silence
from aiflow.speech.players import ClockPlayer, FilePlayer, Player
from aiflow.speech.wavfile import WavFile
from aiflow.testing.virtual import run_virtual

RATE = 8_000


def clock() -> VirtualClock:
    """Return the running loop's clock."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    return VirtualClock(loop)


def seconds(path: Path) -> float:
    """Return how much is in a file."""
    with wave.open(str(path)) as reader:
        return reader.getnframes() / reader.getframerate()


@pytest.mark.parametrize("to_file", [False, True])
def test_a_clip_takes_as_long_as_it_is(tmp_path: Path, to_file: bool) -> None:
    """To nobody and into a file."""

    async def run() -> float:
        player: Player = ClockPlayer(clock())
        if to_file:
            player = FilePlayer(WavFile(tmp_path / "a.wav", "a.wav", RATE), clock())
        for length in (1.3, 0.0, 0.05):
            await player.play(silence(length, RATE))
        await player.close()
        return clock().now()

    assert run_virtual(run()) == pytest.approx(1.35)
    assert not to_file or seconds(tmp_path / "a.wav") == pytest.approx(1.35)


def test_a_file_has_what_was_said_before_the_cancel(tmp_path: Path) -> None:
    """To within a fifth of a second, and it is whole."""
    path = tmp_path / "a.wav"

    async def run() -> None:
        player = FilePlayer(WavFile(path, "a.wav", RATE), clock())
        task = asyncio.create_task(player.play(Clip(b"\1\2" * 10 * RATE, RATE)))
        await clock().sleep(3.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert seconds(path) == pytest.approx(3.2)
        await player.play(silence(1, RATE))
        await player.close()

    run_virtual(run())

    assert seconds(path) == pytest.approx(4.2)
