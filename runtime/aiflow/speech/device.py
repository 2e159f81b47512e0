"""The sound device of this machine, through the package miniaudio.

It stays open for a run and plays silence while nobody speaks: stopping one waits until its
buffer has been heard, which would hold up a cancelled turn. A callback in a thread of its own asks
for the next samples; all that it shares with the loop is one attribute.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import os
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

from aiflow.speech.clip import WIDTH, Clip
from aiflow.speech.faults import NotInstalledFault, SpeechFault

#: How to get what plays sound.
GET_PLAYER = "pip install 'aiflow-runtime[speech]'"
# The device asks this often, and has three of them ahead.
_PERIOD_MS = 40
# A device that is this much behind has been taken away.
_PATIENCE_S = 5.0


class DevicePlayer:
    """Plays to the default device."""

    def __init__(self) -> None:
        self._device: Any = None
        self._playing: _Playing | None = None

    async def open(self, rate: int, backends: Any = None) -> None:  # noqa: ANN401 - from a library without types
        """Open the device for sound of one rate, which it may convert.

        Args:
            rate: samples a second.
            backends: those of miniaudio to try; None tries all that make a sound.

        Raises:
            SpeechFault: there is no device, or the package is missing.
        """
        if importlib.util.find_spec("miniaudio") is None:
            raise NotInstalledFault(f"no package is installed that plays sound; {GET_PLAYER}")
        if backends is None and not may_have_sound():
            raise SpeechFault("there is no sound device")
        await asyncio.to_thread(self._open, rate, backends)

    async def play(self, clip: Clip) -> None:
        """Return when the device has taken all of the clip."""
        if not clip.frames:
            return
        self._playing = playing = _Playing(clip)
        try:
            done, _ = await asyncio.wait([playing.end], timeout=clip.duration_s + _PATIENCE_S)
        finally:
            self._playing = None
        if not done:
            raise SpeechFault("the sound device takes no more sound")

    async def close(self) -> None:
        """Close the device, after what is in its buffer."""
        device, self._device = self._device, None
        if device is not None:
            await asyncio.to_thread(_close, device)

    def _open(self, rate: int, backends: Any) -> None:  # noqa: ANN401 - from a library without types
        import miniaudio  # noqa: PLC0415 - not always there

        if backends is None and sys.platform == "linux":
            # Others start servers.
            backends = [miniaudio.Backend.PULSEAUDIO, miniaudio.Backend.ALSA]
        elif backends is None:
            backends = [each for each in miniaudio.Backend if each.name != "NULL"]
        try:
            self._device = miniaudio.PlaybackDevice(
                nchannels=1,
                sample_rate=rate,
                buffersize_msec=_PERIOD_MS,
                backends=backends,
                app_name="AiFlow",
            )
            self._device.start(_begun(self._frames()))
        except miniaudio.MiniaudioError as error:
            if self._device is not None:
                _close(self._device)
            self._device = None
            raise SpeechFault(f"there is no sound device ({error.args[0]})") from error

    def _frames(self) -> Generator[bytes, int, None]:
        """Yield what is asked for, in the device's thread; less is filled up with silence."""
        count = yield b""
        while True:
            playing = self._playing
            count = yield b"" if playing is None else playing.take(count * WIDTH)


class _Playing:
    """A clip on its way to the device.

    Attributes:
        end: done when all of it has been taken.
    """

    def __init__(self, clip: Clip) -> None:
        self._loop = asyncio.get_running_loop()
        self.end: asyncio.Future[None] = self._loop.create_future()
        self._frames = clip.frames
        self._position = 0
        self._has_ended = False

    def take(self, size: int) -> bytes:
        """Return the next bytes, fewer at the end."""
        part = self._frames[self._position : self._position + size]
        self._position += len(part)
        if self._position >= len(self._frames) and not self._has_ended:
            self._has_ended = True
            # The loop may be gone when a device is closed late.
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._note_end)
        return part

    def _note_end(self) -> None:
        if not self.end.done():
            self.end.set_result(None)


def may_have_sound() -> bool:
    """Say whether it makes sense to look for a device.

    Where there is none, Linux's sound library writes a page of complaints to stderr.
    """
    if sys.platform != "linux":
        return True
    home = os.environ.get("XDG_RUNTIME_DIR", f"/run/user/{os.getuid()}")
    has_server = "PULSE_SERVER" in os.environ or Path(home, "pulse", "native").exists()
    return has_server or any(Path("/dev/snd").glob("pcmC*p"))


def _begun(frames: Generator[bytes, int, None]) -> Generator[bytes, int, None]:
    next(frames)
    return frames


def _close(device: Any) -> None:  # noqa: ANN401 - from a library without types
    import miniaudio  # noqa: PLC0415 - it was there when the device was opened

    device.close()
    # Up to 1.71 it keeps its connection to the sound server, of which a user has some 50 only.
    context = getattr(device, "_context", None)
    if context is not None and context != miniaudio.ffi.NULL:
        miniaudio.lib.ma_context_uninit(context)
        device._context = miniaudio.ffi.NULL  # noqa: SLF001 - so that it is not done twice
