"""Tests of `aiflow.speech.engines`."""

from __future__ import annotations

import asyncio
import shutil
from typing import Any

import pytest

from aiflow.speech.clip import Clip
from aiflow.speech.engines import EspeakNg, Hibari, Silent
from aiflow.speech.faults import NotInstalledFault, SpeechFault
from tests.runtime.speech.fake_packages import hide, put_hibari
from tests.runtime.speech.fake_programs import RATE, FakeEspeak, espeak, needs_processes

__all__ = ["espeak"]


def made(engine: Any, *sentences: str) -> list[Clip]:
    """Return what an engine makes once it has been started."""

    async def run() -> list[Clip]:
        await engine.start()
        return [await engine.make(sentence) for sentence in sentences]

    return asyncio.run(run())


@needs_processes
def test_espeak_is_called_once_for_each_sentence(espeak: FakeEspeak) -> None:
    """With the text on stdin, so that dashes are no options and brackets no phonemes."""
    engine = EspeakNg("de", 160.4, 9)
    (clip,) = made(engine, "--help [[a]]")

    assert engine.rate == clip.rate == RATE
    assert clip.duration_s == pytest.approx(0.013)
    options = "--stdin --stdout -b 1 -v de -s 160"
    assert espeak.asked() == [(options, "Ready."), (options, "--help [ [a]]")]


@needs_processes
@pytest.mark.parametrize(
    ("sentence", "fault"),
    [
        ("it crashes", "espeak-ng cannot speak: it ended with exit code 3: a wire is loose"),
        ("it kills itself", "espeak-ng cannot speak: it ended with signal 9"),
        ("it is garbage", "espeak-ng cannot speak: it gave something else than a WAV file"),
        ("it says nothing", "espeak-ng cannot speak: it gave something else than a WAV file"),
        ("it hangs", r"espeak-ng cannot speak: it made no sound within 0.2 s and was stopped"),
    ],
)
def test_an_espeak_that_does_not_speak_is_a_clause(
    espeak: FakeEspeak, sentence: str, fault: str
) -> None:
    """What happened, and what it said itself."""
    with pytest.raises(SpeechFault) as raised:
        asyncio.run(EspeakNg("", None, 0.2 if "hangs" in sentence else 60).make(sentence))

    assert str(raised.value) == fault


def test_a_missing_espeak_is_told_with_the_command(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    """The command that installs it on this kind of machine."""
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(NotInstalledFault) as raised:
        made(EspeakNg("", None, 9))

    assert str(raised.value) == (
        "espeak-ng is not installed; sudo apt-get install -y --no-install-recommends espeak-ng"
    )


def test_hibari_speaks_in_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its samples become ours, and its pace is a share of the usual one."""
    model = put_hibari(monkeypatch)
    engine = Hibari("", 350, 9)

    (clip,) = made(engine, "ab")

    assert engine.rate == 8_000
    assert clip.frames == b"\xff\x3f\x01\x80" * 80
    assert model.speeds == [2.0, 2.0]


@pytest.mark.parametrize(
    ("voice", "fault"),
    [
        ("bob", "hibari has no voice bob; it has heart, emma"),
        (
            "emma",
            "the voice emma of hibari is not on this machine;"
            " `hibari --voice emma Hello -o hello.wav` fetches it",
        ),
    ],
)
def test_a_voice_that_hibari_has_not_is_never_fetched(
    monkeypatch: pytest.MonkeyPatch, voice: str, fault: str
) -> None:
    """A run reaches no other machine by itself."""
    put_hibari(monkeypatch)

    with pytest.raises(SpeechFault) as raised:
        made(Hibari(voice, None, 9))

    assert str(raised.value) == fault


def test_a_hibari_that_fails_or_waits_is_a_clause(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever foreign code raises."""
    model = put_hibari(monkeypatch)
    with pytest.raises(SpeechFault, match="hibari cannot speak: ValueError: no phonemes"):
        made(Hibari("", None, 9), "it fails")

    async def run() -> None:
        engine = Hibari("", None, 60)
        await engine.start()
        engine._limit_s = 0.01
        try:
            with pytest.raises(SpeechFault, match=r"it made no sound within 0\.01 s"):
                await engine.make("it waits")
        finally:
            model.may_go_on.set()

    asyncio.run(run())


def test_a_missing_hibari_is_told_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """The extra of this package."""
    hide(monkeypatch, "hibari")

    with pytest.raises(NotInstalledFault, match=r"pip install 'aiflow-runtime\[speech\]'"):
        made(Hibari("", None, 9))


def test_silence_is_as_long_as_the_words_would_take() -> None:
    """165 a minute where nobody says how many."""
    usual, slow = made(Silent(None), "one two three"), made(Silent(90), "one two three")

    assert usual[0].duration_s == pytest.approx(3 * 60 / 165, abs=1e-4)
    assert slow[0].duration_s == pytest.approx(2.0)
    assert set(slow[0].frames) == {0}


@pytest.mark.live
@pytest.mark.skipif(shutil.which("espeak-ng") is None, reason="espeak-ng is not installed")
def test_the_real_espeak_speaks() -> None:
    """Longer for more, faster where told to; a dash is no option; a voice may be missing."""
    short, long = made(EspeakNg("", None, 20), "-v no", "One two three four five six seven.")
    (fast,) = made(EspeakNg("", 350, 20), "One two three four five six seven.")

    assert 0.2 < short.duration_s < long.duration_s / 2
    assert fast.duration_s < long.duration_s * 0.8
    with pytest.raises(SpeechFault, match="voice does not exist"):
        made(EspeakNg("nobody", None, 20))


@pytest.mark.live
def test_the_real_hibari_speaks() -> None:
    """At 24 kHz, faster where told to."""
    pytest.importorskip("hibari", reason="hibari-tts is not installed")
    (usual,) = made(Hibari("", None, 60), "One two three four five six seven.")
    (fast,) = made(Hibari("", 300, 60), "One two three four five six seven.")

    assert usual.rate == 24_000
    assert 1 < usual.duration_s < 6
    assert fast.duration_s < usual.duration_s * 0.8
