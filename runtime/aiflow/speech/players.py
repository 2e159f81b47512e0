"""Players: what paces speech. A clip has been said when its player returns.

A cancelled `play` is heard no further: a device has at most its own buffer left, a file has what
was said until then. The sound device is in `device`.
"""

from __future__ import annotations

from typing import Protocol

from aiflow.clock import Clock
from aiflow.speech.clip import WIDTH, Clip
from aiflow.speech.wavfile import WavFile

# How much is written to a file at once, in seconds of sound.
_BLOCK_S = 0.2


class Player(Protocol):
    """Plays one clip after the other."""

    async def play(self, clip: Clip) -> None:
        """Return when the clip has been said.

        Raises:
            SpeechFault: it cannot be played.
        """
        ...

    async def close(self) -> None:
        """Let go of what it plays to; never raises."""
        ...


class ClockPlayer:
    """Plays to nobody: time passes as if it did."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    async def play(self, clip: Clip) -> None:
        """Wait as long as the clip is."""
        await self._clock.sleep(clip.duration_s)

    async def close(self) -> None:
        """Nothing is open."""


class FilePlayer:
    """Plays into a WAV file, as fast as one would hear it.

    Args:
        file: is closed with the player.
    """

    def __init__(self, file: WavFile, clock: Clock) -> None:
        self._file = file
        self._clock = clock

    async def play(self, clip: Clip) -> None:
        """Add the clip piece by piece, each as it is said."""
        size = round(_BLOCK_S * clip.rate) * WIDTH
        began = self._clock.now()
        for start in range(0, len(clip.frames), size):
            block = clip.frames[start : start + size]
            self._file.add(block)
            said_s = (start + len(block)) / WIDTH / clip.rate
            await self._clock.sleep_until(began + said_s)

    async def close(self) -> None:
        """Close the file."""
        self._file.close()
