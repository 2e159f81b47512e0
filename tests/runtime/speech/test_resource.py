"""Tests of `aiflow.speech.resource`."""

from __future__ import annotations

import asyncio
import shutil
import wave
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from aiflow.clock import Clock, SystemClock, VirtualClock, VirtualLoop
from aiflow.errors import ResourceError
from aiflow.speech import device as device_room
from aiflow.speech.clip import Clip, silence
from aiflow.speech.device import DevicePlayer
from aiflow.speech.faults import SpeechFault
from aiflow.speech.resource import SpeechEngine, SpeechEngineParams
from aiflow.testing.virtual import run_virtual
from tests.runtime.speech.fake_packages import Device, hide, put_hibari, put_miniaudio
from tests.runtime.speech.fake_programs import (
    RATE,
    FakeEspeak,
    cancelled,
    espeak,
    is_running,
    needs_processes,
)

__all__ = ["espeak"]

Use = Callable[[SpeechEngine], Awaitable[object]]


def voice(folder: Path | None = None, **params: object) -> SpeechEngine:
    """Return a speech engine, not started."""
    folders = () if folder is None else (folder,)
    return SpeechEngine("voice", SpeechEngineParams.model_validate(params), folders)


async def used(made: SpeechEngine, clock: Clock, use: Use) -> Any:
    """Return what a use of the started engine gives."""
    await made.start(clock)
    try:
        return await use(made)
    finally:
        await made.stop()
        await made.stop()


def virtually(made: SpeechEngine, use: Use) -> Any:
    """Use it on the virtual clock."""

    async def run() -> Any:
        return await used(made, virtual_clock(), use)

    return run_virtual(run())


def really(made: SpeechEngine, use: Use) -> Any:
    """Use it on the real clock."""
    return asyncio.run(used(made, SystemClock(), use))


def virtual_clock() -> VirtualClock:
    """Return the running loop's clock."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    return VirtualClock(loop)


async def notices(made: SpeechEngine) -> list[str]:
    """Return what it tells, once."""
    told = made.take_notices()
    assert made.take_notices() == []
    return told


def sound(path: Path) -> tuple[int, int]:
    """Return rate and samples of a file."""
    with wave.open(str(path)) as reader:
        return reader.getframerate(), reader.getnframes()


class FakeEngine:
    """Takes half a second for a clip of two, on the virtual clock, and notes what it does."""

    name, rate = "fake", 8_000

    def __init__(self) -> None:
        self.log: list[tuple[float, str]] = []

    def note(self, what: str) -> None:
        self.log.append((virtual_clock().now(), what))

    async def start(self) -> None:
        """Nothing has to be there."""

    async def make(self, sentence: str) -> Clip:
        self.note(f"make {sentence}")
        try:
            await virtual_clock().sleep(0.5)
        except asyncio.CancelledError:
            self.note(f"never mind {sentence}")
            raise
        if "bad" in sentence:
            raise SpeechFault("a wire is loose")
        return silence(2, self.rate)


def faked(made: SpeechEngine) -> FakeEngine:
    """Put another engine into a started resource."""
    made._engine = engine = FakeEngine()
    return engine


def test_silence_serves_on_the_virtual_clock_and_says_so() -> None:
    """Six words at 120 a minute take three seconds; what has no words takes none."""

    async def use(made: SpeechEngine) -> tuple[list[str], float]:
        told = await notices(made)
        for text in ("One two three. Four five,", "six!", "---", ""):
            await made.say(text)
        return told, virtual_clock().now()

    told, took_s = virtually(voice(engine="silent", words_per_minute=120), use)

    assert told == ["no sound: the engine of voice is silent"]
    assert took_s == pytest.approx(3.0)


def test_what_needs_programs_needs_a_real_clock() -> None:
    """Only silence does not."""
    assert voice(engine="silent").needs_real_clock() == ""
    for engine in ("auto", "hibari", "espeak-ng"):
        assert "with the engine silent" in voice(engine=engine).needs_real_clock()


def test_the_next_sentence_is_made_while_one_is_heard() -> None:
    """One, no more: the first after half a second, the others without a gap."""

    async def use(made: SpeechEngine) -> list[tuple[float, str]]:
        engine = faked(made)
        await made.say("A. B. C.")
        engine.note("done")
        return engine.log

    assert virtually(voice(engine="silent"), use) == [
        (0.0, "make A."),
        (0.5, "make B."),
        (2.5, "make C."),
        (6.5, "done"),
    ]


@pytest.mark.parametrize(
    ("after_s", "log"),
    [
        (0.2, [(0.0, "make A."), (0.2, "never mind A.")]),
        (0.7, [(0.0, "make A."), (0.5, "make B."), (0.7, "never mind B.")]),
        (1.7, [(0.0, "make A."), (0.5, "make B.")]),
    ],
)
def test_cancelled_it_is_silent_at_once_and_makes_nothing_more(
    after_s: float, log: list[tuple[float, str]]
) -> None:
    """While the first is made, while the next is, and while only sound is to be heard."""

    async def use(made: SpeechEngine) -> tuple[list[tuple[float, str]], float]:
        engine = faked(made)
        await cancelled(lambda: made.say("A. B. C."), virtual_clock().sleep(after_s))
        return engine.log, virtual_clock().now()

    assert virtually(voice(engine="silent"), use) == (log, after_s)


def test_two_that_speak_wait_for_each_other() -> None:
    """Two voices at once are no speech; one that is cancelled while it waits says nothing."""

    async def use(made: SpeechEngine) -> list[str]:
        engine = faked(made)
        said = [asyncio.create_task(made.say(text)) for text in ("A. B.", "C.", "D.")]
        await virtual_clock().sleep(0.1)
        said[1].cancel()
        await asyncio.wait(said)
        assert virtual_clock().now() == pytest.approx(0.5 + 4 + 0.5 + 2)
        return [what for _, what in engine.log]

    assert virtually(voice(engine="silent"), use) == ["make A.", "make B.", "make D."]


def test_an_engine_that_breaks_down_names_the_resource_after_what_it_could_say() -> None:
    """The sentence before is heard to its end."""

    async def use(made: SpeechEngine) -> float:
        faked(made)
        with pytest.raises(ResourceError, match="resource voice: a wire is loose"):
            await made.say("Good. The bad one. Never.")
        return virtual_clock().now()

    assert virtually(voice(engine="silent"), use) == pytest.approx(2.5)


def test_a_file_is_relative_to_the_graph_and_whole(tmp_path: Path) -> None:
    """Silence is kept as well as a voice."""
    made = voice(tmp_path, engine="silent", file="said.wav", words_per_minute=120)

    virtually(made, lambda it: it.say("one two three"))
    virtually(made, lambda it: it.say("four"))

    assert sound(tmp_path / "said.wav") == (22_050, 22_050 * 2)


def test_what_keeps_it_from_starting_is_found_before_the_run(tmp_path: Path) -> None:
    """A folder that is not there, and a file that is none."""
    for file, reason in [
        ("gone/said.wav", "the folder of its file gone/said.wav does not exist"),
        (".", "its file . is a folder; name a file"),
    ]:
        made = voice(tmp_path, engine="silent", file=file)
        assert list(made.check()) == [reason]
        with pytest.raises(ResourceError, match=f"resource voice: {reason}"):
            virtually(made, notices)
    for content, reason in [
        (b"dear diary", r"its file notes\.wav holds something else than sound; name another one"),
        (b"RIFFraff" * 9, r"the file notes\.wav holds something else than sound of this engine"),
    ]:
        (tmp_path / "notes.wav").write_bytes(content)
        with pytest.raises(ResourceError, match=f"resource voice: {reason}"):
            virtually(voice(tmp_path, engine="silent", file="notes.wav"), notices)
        assert (tmp_path / "notes.wav").read_bytes() == content


def test_an_engine_that_is_asked_for_and_missing_is_lacking_here(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The graph is right; another machine may have it."""
    hide(monkeypatch, "hibari")
    monkeypatch.setenv("PATH", str(tmp_path))

    for engine, get in (("hibari", "pip install"), ("espeak-ng", "sudo apt-get install")):
        made = voice(engine=engine)
        (reason,) = made.lacks()
        assert get in reason
        assert reason.endswith("or choose the engine auto")
        with pytest.raises(ResourceError, match=get):
            really(made, notices)
    assert list(voice(engine="auto").lacks()) == []


def test_without_any_engine_time_passes_and_the_node_says_why(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """With both commands."""
    hide(monkeypatch, "hibari")
    monkeypatch.setenv("PATH", str(tmp_path))

    assert really(voice(), notices) == [
        "no sound: no speech engine works here: none is installed;"
        " pip install 'aiflow-runtime[speech]' or"
        " sudo apt-get install -y --no-install-recommends espeak-ng"
    ]


@needs_processes
def test_auto_takes_espeak_where_hibari_is_not_installed(
    espeak: FakeEspeak, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Which is no news."""
    hide(monkeypatch, "hibari")

    assert really(voice(tmp_path, file="a.wav"), notices) == []
    assert len(espeak.asked()) == 1


@needs_processes
def test_auto_takes_hibari_unless_it_does_not_speak(
    espeak: FakeEspeak, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Then espeak-ng, which is told with the reason."""
    put_hibari(monkeypatch)

    assert really(voice(tmp_path, file="a.wav"), notices) == []
    assert espeak.asked() == []
    assert really(voice(tmp_path, file="b.wav", voice="de"), notices) == [
        "espeak-ng speaks instead: hibari has no voice de; it has heart, emma"
    ]
    assert "-v de" in espeak.asked()[-1][0]


def test_an_engine_that_is_installed_and_does_not_speak_is_told_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """To install it once more would not help."""
    monkeypatch.setenv("PATH", str(tmp_path))
    put_hibari(monkeypatch)

    assert really(voice(voice="bob"), notices) == [
        "no sound: no speech engine works here: hibari has no voice bob; it has heart, emma"
    ]


@needs_processes
def test_a_real_program_speaks_into_a_file(espeak: FakeEspeak, tmp_path: Path) -> None:
    """What was said, and no more, when it is cancelled in the middle; nothing is left running."""

    async def use(made: SpeechEngine) -> int:
        await made.say("Hi. Yo.")
        told = asyncio.ensure_future(espeak.pid())
        await cancelled(lambda: made.say("Oh. It hangs."), told)
        return told.result()

    pid = really(voice(tmp_path, engine="espeak-ng", file="said.wav"), use)

    assert not is_running(pid)
    # A millisecond for each letter.
    assert sound(tmp_path / "said.wav") == (RATE, 9 * RATE // 1000)


@needs_processes
def test_a_missing_device_is_told_and_the_time_passes(
    espeak: FakeEspeak, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As long as it would have been heard."""
    put_miniaudio(monkeypatch)
    monkeypatch.setattr(device_room, "may_have_sound", lambda: False)

    async def use(made: SpeechEngine) -> tuple[list[str], float]:
        began = SystemClock().now()
        await made.say("Hi.")
        return await notices(made), SystemClock().now() - began

    told, took_s = really(voice(engine="espeak-ng"), use)

    assert told == ["no sound: there is no sound device; the time passes in silence"]
    assert took_s >= 0.003


@needs_processes
def test_the_device_is_opened_for_the_rate_of_the_engine(
    espeak: FakeEspeak, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And closed with the run."""
    put_miniaudio(monkeypatch)
    monkeypatch.setattr(device_room, "may_have_sound", lambda: True)

    assert really(voice(engine="espeak-ng"), notices) == []
    assert Device.made[0].options["sample_rate"] == RATE
    assert Device.made[0].is_closed


def test_a_device_that_is_taken_away_is_told_once_and_the_rest_passes_in_silence() -> None:
    """The conversation goes on."""

    class Lost(DevicePlayer):
        async def play(self, clip: Clip) -> None:
            raise SpeechFault("the sound device takes no more sound")

    async def use(made: SpeechEngine) -> tuple[list[str], float]:
        faked(made)
        made.take_notices()
        made._player = Lost()
        await made.say("A. B.")
        return await notices(made), virtual_clock().now()

    told, took_s = virtually(voice(engine="silent"), use)

    assert told == [
        "no sound any more: the sound device takes no more sound; the time passes in silence"
    ]
    # The first is lost at once, while the second is still being made.
    assert took_s == pytest.approx(0.5 + 0.5 + 2)


def test_it_speaks_only_while_it_runs() -> None:
    """Before the start and after the stop it says so."""
    made = voice(engine="silent")
    with pytest.raises(ResourceError, match="has not been started"):
        asyncio.run(made.say("a"))
    virtually(made, notices)
    with pytest.raises(ResourceError, match="has not been started"):
        asyncio.run(made.say("a"))


@pytest.mark.parametrize("name", ["-q", "../x", "a b", "a/b", "a\nb", "ü"])
def test_a_voice_that_could_be_an_option_or_a_path_is_refused(name: str) -> None:
    """Told while typing."""
    with pytest.raises(ValidationError, match="voice"):
        SpeechEngineParams(voice=name)


@pytest.mark.live
@pytest.mark.skipif(shutil.which("espeak-ng") is None, reason="espeak-ng is not installed")
def test_the_real_espeak_speaks_into_a_file(tmp_path: Path) -> None:
    """About as long as it takes to say."""
    made = voice(tmp_path, engine="espeak-ng", file="said.wav")

    took_s = really(made, lambda it: timed(it.say("Good morning. How are you?")))

    rate, samples = sound(tmp_path / "said.wav")
    assert rate == 22_050
    assert 1 < samples / rate < 5
    assert samples / rate <= took_s


async def timed(done: Awaitable[object]) -> float:
    """Return how long something takes."""
    began = SystemClock().now()
    await done
    return SystemClock().now() - began
