"""Tests of `aiflow.speech.clip`."""

from __future__ import annotations

import contextlib
import io
import wave

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from aiflow.speech.clip import Clip, read_wav, silence
from aiflow.speech.faults import SpeechFault
from aiflow.speech.wavfile import header


def wav(frames: bytes, *, width: int = 2, channels: int = 1, rate: int = 8_000) -> bytes:
    """Return a WAV file."""
    out = io.BytesIO()
    with wave.open(out, "wb") as writer:
        writer.setparams((channels, width, rate, 0, "NONE", ""))
        writer.writeframes(frames)
    return out.getvalue()


def test_a_clip_knows_how_long_it_is() -> None:
    """Half a second of silence."""
    clip = silence(0.5, 8_000)

    assert clip == Clip(bytes(8_000), 8_000)
    assert clip.duration_s == 0.5


def test_a_file_is_read_whatever_length_its_header_claims() -> None:
    """espeak-ng writes to a pipe and does not know it; half a sample is dropped."""
    assert read_wav(wav(b"\1\2" * 5)) == Clip(b"\1\2" * 5, 8_000)
    assert read_wav(header(8_000, 0x7FFFF000) + b"\1\2\3") == Clip(b"\1\2", 8_000)
    assert read_wav(header(8_000, 0)).duration_s == 0


@pytest.mark.parametrize("form", [{"width": 1}, {"channels": 2}, {"rate": 1}])
def test_sound_of_another_form_is_refused(form: dict[str, int]) -> None:
    """Played as if it were ours, it would be noise."""
    with pytest.raises(
        SpeechFault, match=r"it gave sound of .* and not of 16 bits and one channel"
    ):
        read_wav(wav(bytes(8), **form))


@given(st.one_of(st.binary(max_size=80), st.binary(max_size=60).map(lambda b: b"RIFF" + b)))
@example(b"RIFF\x00\x00\x00\x00WAVE")
@example(b"RIFF\xff\xff\xff\xffWAVEfmt \x02\x00\x00\x00\x01")
def test_anything_else_is_a_clip_or_a_fault(data: bytes) -> None:
    """No other error."""
    with contextlib.suppress(SpeechFault):
        assert read_wav(data).rate
