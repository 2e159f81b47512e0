"""Clips: pieces of sound, 16 bits a sample, one channel."""

from __future__ import annotations

import io
import wave
from dataclasses import dataclass

from aiflow.speech.faults import SpeechFault

#: Bytes of one sample.
WIDTH = 2
_LOWEST_RATE, _HIGHEST_RATE = 4_000, 192_000


@dataclass(frozen=True, slots=True)
class Clip:
    """A piece of sound.

    Attributes:
        frames: signed 16-bit samples, little-endian, of one channel.
        rate: samples a second.
    """

    frames: bytes
    rate: int

    @property
    def duration_s(self) -> float:
        """How long it sounds, in seconds."""
        return len(self.frames) / WIDTH / self.rate


def silence(duration_s: float, rate: int) -> Clip:
    """Return a clip in which nothing is heard."""
    return Clip(bytes(round(duration_s * rate) * WIDTH), rate)


def read_wav(data: bytes) -> Clip:
    """Return the sound of a WAV file that a program wrote to a pipe.

    Such a program does not know the length when it writes the header, so what counts is how
    much there is.

    Raises:
        SpeechFault: it is no WAV, or not of 16 bits and one channel.
    """
    try:
        with wave.open(io.BytesIO(data)) as reader:
            form = reader.getsampwidth(), reader.getnchannels()
            rate, frames = reader.getframerate(), reader.readframes(reader.getnframes())
    except (wave.Error, EOFError) as error:
        raise SpeechFault("it gave something else than a WAV file") from error
    if form != (WIDTH, 1) or not _LOWEST_RATE <= rate <= _HIGHEST_RATE:
        raise SpeechFault(
            f"it gave sound of {form[0] * 8} bits, {form[1]} channels and {rate} Hz,"
            " and not of 16 bits and one channel"
        )
    return Clip(frames[: len(frames) // WIDTH * WIDTH], rate)
