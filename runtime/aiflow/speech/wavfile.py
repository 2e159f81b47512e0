"""A WAV file that grows while it is spoken into, and is whole after each addition.

Sound is added behind what the header counts, then the header is written anew in one go: a
program that is killed between the two leaves a file that ends a moment earlier.
"""

from __future__ import annotations

import io
import struct
from pathlib import Path

from aiflow.errors import reason_of
from aiflow.speech.clip import WIDTH
from aiflow.speech.faults import SpeechFault

try:
    from fcntl import LOCK_EX, LOCK_NB, flock
except ImportError:  # Windows, where two runs are not kept apart
    flock = None  # type: ignore[assignment]

_HEADER = struct.Struct("<4sI4s4sIHHIIHH4sI")
# What the sizes in a header can count.
_MOST_BYTES = 2**32 - 1 - _HEADER.size


class WavFile:
    """Sound that is added to a file.

    Args:
        path: where it is. `name`: what the graph calls it.
        rate: samples a second.

    Raises:
        SpeechFault: it cannot be opened, holds something else, or another voice writes it.
    """

    def __init__(self, path: Path, name: str, rate: int) -> None:
        self._name = name
        self._rate = rate
        try:
            self._file = io.FileIO(path, "r+" if path.exists() else "x+")
        except OSError as error:
            raise self._fault(f"cannot be opened ({reason_of(error)})") from error
        try:
            self._end = self._begin()
        except OSError as error:
            self._file.close()
            raise self._fault(f"cannot be used ({reason_of(error)})") from error
        except BaseException:
            self._file.close()
            raise

    def add(self, frames: bytes) -> None:
        """Add samples; what was there stays whole whatever happens.

        Raises:
            SpeechFault: the disk is full, or the file is.
        """
        if self._end + len(frames) > _MOST_BYTES:
            raise self._fault("is full: a WAV file takes 4 GiB; name another one")
        try:
            self._write(_HEADER.size + self._end, frames)
            self._write(0, header(self._rate, self._end + len(frames)))
        except OSError as error:
            raise self._fault(f"cannot be written ({reason_of(error)}); make room") from error
        self._end += len(frames)

    def close(self) -> None:
        """Close it; safe to repeat."""
        self._file.close()

    def _begin(self) -> int:
        """Return how many bytes of sound are there, in a file that is ours to write."""
        if flock is not None:
            try:
                flock(self._file, LOCK_EX | LOCK_NB)
            except BlockingIOError:
                raise self._fault("is being written by another voice; name another one") from None
        size = self._file.seek(0, io.SEEK_END)
        if not size:
            self._write(0, header(self._rate, 0))
            return 0
        self._file.seek(0)
        counted = counted_bytes(self._file.read(_HEADER.size), self._rate)
        if counted is None:
            raise self._fault(
                f"holds something else than sound of this engine (16 bits, one channel,"
                f" {self._rate:,} Hz); name another one"
            )
        return min(counted, size - _HEADER.size) // WIDTH * WIDTH

    def _write(self, at: int, data: bytes) -> None:
        self._file.seek(at)
        rest = memoryview(data)
        while rest:
            # A disk that is nearly full takes a part and says nothing.
            rest = rest[self._file.write(rest) :]

    def _fault(self, reason: str) -> SpeechFault:
        return SpeechFault(f"the file {self._name} {reason}")


def may_be_wav(path: Path) -> bool:
    """Say whether a file may turn out to be one of ours; the run tells for sure."""
    try:
        if not path.is_file():
            return True
        with path.open("rb") as file:
            return file.read(4) in (b"", b"RIFF")
    except OSError:
        return True  # Whoever cannot read it may hear so from the run.


def header(rate: int, data_bytes: int) -> bytes:
    """Return the header of a file with so much sound."""
    return _HEADER.pack(
        *(b"RIFF", _HEADER.size - 8 + data_bytes, b"WAVE", b"fmt ", 16, 1, 1),
        *(rate, rate * WIDTH, WIDTH, 8 * WIDTH, b"data", data_bytes),
    )


def counted_bytes(start: bytes, rate: int) -> int | None:
    """Return how much sound a header of ours counts, None where it is another's."""
    if len(start) < _HEADER.size:
        return None
    counted = int(_HEADER.unpack(start)[-1])
    return counted if start == header(rate, counted) else None
