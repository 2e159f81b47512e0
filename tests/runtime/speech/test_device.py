"""Tests of `aiflow.speech.device`: with a device in the test's hands, and with a real one."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from aiflow.clock import VirtualLoop
from aiflow.speech import device as room
from aiflow.speech.clip import Clip, silence
from aiflow.speech.device import DevicePlayer, may_have_sound
from aiflow.speech.faults import NotInstalledFault, SpeechFault
from aiflow.testing.virtual import run_virtual
from tests.runtime.speech.fake_packages import Device, hide, put_miniaudio

CLIP = Clip(bytes(range(100)), 8_000)


@pytest.fixture
def devices(monkeypatch: pytest.MonkeyPatch) -> type[Device]:
    """Install a miniaudio whose device asks when the test says so."""
    monkeypatch.setattr(room, "may_have_sound", lambda: True)
    return put_miniaudio(monkeypatch)


async def opened() -> tuple[DevicePlayer, Device]:
    """Return a player and its device."""
    player = DevicePlayer()
    await player.open(8_000)
    return player, Device.made[-1]


def test_a_clip_is_heard_and_then_silence(devices: type[Device]) -> None:
    """It has been played when the device has taken the last of it."""

    async def run() -> Device:
        player, device = await opened()
        device.take(5)
        task = asyncio.create_task(player.play(CLIP))
        await asyncio.sleep(0)
        device.take(30)
        await asyncio.sleep(0)
        assert not task.done()
        device.take(30)
        await task
        device.take(30)
        await player.play(silence(0, 8_000))
        await player.close()
        await player.close()
        return device

    device = asyncio.run(run())

    assert device.taken == [b"", CLIP.frames[:60], CLIP.frames[60:], b""]
    assert device.options["sample_rate"] == 8_000
    assert device.options["nchannels"] == 1
    assert device.is_closed


def test_a_cancelled_clip_is_heard_no_further(devices: type[Device]) -> None:
    """The next thing that the device takes is silence, then the next clip."""

    async def run() -> list[bytes]:
        player, device = await opened()
        task = asyncio.create_task(player.play(CLIP))
        await asyncio.sleep(0)
        device.take(10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        device.take(10)
        after = asyncio.create_task(player.play(CLIP))
        await asyncio.sleep(0)
        device.take(50)
        await after
        await player.close()
        return device.taken

    assert asyncio.run(run()) == [CLIP.frames[:20], b"", CLIP.frames]


def test_a_device_that_is_taken_away_is_a_fault(devices: type[Device]) -> None:
    """Nobody waits for it for ever."""

    async def run() -> float:
        player = DevicePlayer()
        # A virtual loop has no threads to wait for.
        player._open(8_000, None)
        with pytest.raises(SpeechFault, match="the sound device takes no more sound"):
            await player.play(silence(2, 8_000))
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        return loop.time()

    assert run_virtual(run()) == pytest.approx(7)


def test_an_end_that_comes_when_the_loop_is_gone_is_no_error(devices: type[Device]) -> None:
    """The device's thread does not know."""

    async def run() -> tuple[DevicePlayer, Any]:
        player, _ = await opened()
        task = asyncio.create_task(player.play(CLIP))
        await asyncio.sleep(0)
        playing = player._playing
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return player, playing

    player, playing = asyncio.run(run())
    player._playing = playing
    Device.made[-1].take(99)

    assert Device.made[-1].taken == [CLIP.frames]


def test_a_machine_without_device_or_package_is_told_so(
    devices: type[Device], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each in a clause."""
    monkeypatch.setattr(Device, "is_missing", True)
    with pytest.raises(SpeechFault, match=r"no sound device \(failed to init device\)"):
        asyncio.run(opened())
    monkeypatch.setattr(room, "may_have_sound", lambda: False)
    with pytest.raises(SpeechFault, match="there is no sound device"):
        asyncio.run(opened())
    hide(monkeypatch, "miniaudio")
    with pytest.raises(NotInstalledFault, match=r"pip install 'aiflow-runtime\[speech\]'"):
        asyncio.run(opened())


def test_a_sound_server_is_looked_for_on_linux(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Without one and without a card, its library is not even asked."""
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr(Path, "glob", lambda *_: iter(()))
    monkeypatch.delenv("PULSE_SERVER", raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert not may_have_sound()

    (tmp_path / "pulse").mkdir()
    (tmp_path / "pulse" / "native").touch()
    assert may_have_sound()

    monkeypatch.setattr("sys.platform", "darwin")
    assert may_have_sound()


@pytest.mark.live
@pytest.mark.parametrize("backend", ["NULL", "any"])
def test_the_real_package_paces(backend: str) -> None:
    """A clip takes its time, a cancelled one ends, and any number of runs can have a device."""
    miniaudio = pytest.importorskip("miniaudio", reason="miniaudio is not installed")
    if backend == "any" and not may_have_sound():
        pytest.skip("this machine has no sound device")
    backends = [miniaudio.Backend.NULL] if backend == "NULL" else None

    async def run() -> list[float]:
        loop = asyncio.get_running_loop()
        player = DevicePlayer()
        await player.open(8_000, backends)
        times = [loop.time()]
        await player.play(silence(0.5, 8_000))
        times.append(loop.time())
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await player.play(silence(60, 8_000))
        times.append(loop.time())
        await player.close()
        for _ in range(60):
            await player.open(8_000, backends)
            await player.close()
        return times

    began, played, ended = asyncio.run(run())

    # A device has three periods ahead; a server that wakes for it may have two seconds.
    assert 0.3 < played - began < 4
    assert ended - played < 0.7
