"""Engines: what makes a clip of a sentence.

Each is started once, which shows whether it speaks on this machine, and is asked for one clip
after the other. A cancelled `make` leaves no process behind; hibari, which runs in a thread, may
finish the sentence it is at, unheard.
"""

from __future__ import annotations

import asyncio
import importlib.util
import shutil
import threading
from typing import Any, Protocol

from aiflow.speech.clip import Clip, read_wav, silence
from aiflow.speech.faults import NotInstalledFault, SpeechFault
from aiflow.speech.program import Answer, ask

#: How to get an engine, and hibari together with what plays sound.
GET_ESPEAK = "sudo apt-get install -y --no-install-recommends espeak-ng"
GET_HIBARI = "pip install 'aiflow-runtime[speech]'"
# Words a minute of hibari, and shares of it that it can do.
_USUAL_PACE = 175.0
_SLOWEST, _FASTEST = 0.5, 2.0
_SILENT_PACE = 165.0
_SILENT_RATE = 22_050
_PROBE = "Ready."
# Half an hour of what espeak-ng makes; a sentence is some seconds.
_MOST_BYTES = 64 * 2**20


class Engine(Protocol):
    """Makes clips, all of one rate.

    Attributes:
        name: what the params call it.
        rate: samples a second; known when it has been started.
    """

    name: str
    rate: int

    async def start(self) -> None:
        """Make sure that it speaks.

        Raises:
            SpeechFault: it does not, or is not installed.
        """
        ...

    async def make(self, sentence: str) -> Clip:
        """Return the clip of a sentence.

        Raises:
            SpeechFault: there is none.
        """
        ...


class EspeakNg:
    """The program espeak-ng, called once for each sentence.

    Args:
        voice: one of `espeak-ng --voices`; "" is English.
        words_per_minute: None is its own pace.
        limit_s: seconds for one sentence.
    """

    name = "espeak-ng"

    def __init__(self, voice: str, words_per_minute: float | None, limit_s: float) -> None:
        self.rate = 0
        self._limit_s = limit_s
        # The text goes to stdin: there it is no option, however it begins, and no other user
        # of the machine reads it in the list of processes.
        self._options = ["--stdin", "--stdout", "-b", "1", "-v", voice or "en"]
        if words_per_minute is not None:
            self._options += ["-s", f"{words_per_minute:.0f}"]

    @staticmethod
    def path() -> str:
        """Return where the program is.

        Raises:
            NotInstalledFault: it is nowhere.
        """
        path = shutil.which("espeak-ng")
        if path is None:
            raise NotInstalledFault(f"espeak-ng is not installed; {GET_ESPEAK}")
        return path

    async def start(self) -> None:
        """Let it say a word."""
        self.rate = (await self.make(_PROBE)).rate

    async def make(self, sentence: str) -> Clip:
        """Return what the program makes of it."""
        # Double brackets would be phonemes.
        text = sentence.replace("[[", "[ [").encode("utf-8", "replace")
        try:
            answer = await ask([self.path(), *self._options], text, self._limit_s, _MOST_BYTES)
            return _sound(answer)
        except NotInstalledFault:
            raise
        except SpeechFault as fault:
            raise SpeechFault(f"espeak-ng cannot speak: {fault}") from fault


class Hibari:
    """The package hibari-tts, in a thread.

    Args:
        voice: one of its voices; "" is the one that comes with it.
        words_per_minute: None is its own pace.
        limit_s: seconds for one sentence.
    """

    name = "hibari"

    def __init__(self, voice: str, words_per_minute: float | None, limit_s: float) -> None:
        self.rate = 0
        self._voice = voice
        speed = (words_per_minute or _USUAL_PACE) / _USUAL_PACE
        self._speed = min(max(speed, _SLOWEST), _FASTEST)
        self._limit_s = limit_s
        self._model: Any = None
        # A sentence that nobody waits for any more may still be made when the next is asked for.
        self._one_at_a_time = threading.Lock()

    @staticmethod
    def require() -> None:
        """Make sure that the package is there.

        Raises:
            NotInstalledFault: it is not.
        """
        if importlib.util.find_spec("hibari") is None:
            raise NotInstalledFault(f"hibari-tts is not installed; {GET_HIBARI}")

    async def start(self) -> None:
        """Load the voice, which takes about half a second, and let it say a word."""
        self.require()
        await self._in_thread(self._load)
        await self.make(_PROBE)

    async def make(self, sentence: str) -> Clip:
        """Return what the model makes of it."""
        clip: Clip = await self._in_thread(self._make, sentence)
        return clip

    async def _in_thread(self, function: Any, *args: str) -> Any:  # noqa: ANN401 - whatever the function returns
        try:
            async with asyncio.timeout(self._limit_s):
                return await asyncio.to_thread(function, *args)
        except TimeoutError:
            reason = f"it made no sound within {self._limit_s:g} s"
        except SpeechFault:
            raise
        except Exception as error:  # noqa: BLE001 - foreign code: any failure of it is a finding
            reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
        raise SpeechFault(f"hibari cannot speak: {reason}")

    def _load(self) -> None:
        from hibari import Hibari as Model  # noqa: PLC0415 - half a second, and not always there
        from hibari.voices import DEFAULT, VOICES, voice_path  # noqa: PLC0415

        voice = self._voice or DEFAULT
        if voice not in VOICES:
            raise SpeechFault(f"hibari has no voice {voice}; it has {', '.join(VOICES)}")
        try:
            # A run never fetches one by itself.
            voice_path(voice, download_missing=False)
        except FileNotFoundError:
            get = f"hibari --voice {voice} Hello -o hello.wav"
            raise SpeechFault(
                f"the voice {voice} of hibari is not on this machine; `{get}` fetches it"
            ) from None
        self._model = Model(voice=voice)
        self.rate = int(self._model.sample_rate)

    def _make(self, sentence: str) -> Clip:
        with self._one_at_a_time:
            sound = self._model(sentence, speed=self._speed)
        # An array of numpy, which knows by itself how it becomes bytes.
        samples = (sound.clip(-1.0, 1.0) * 32767.0).astype("<i2")
        return Clip(samples.tobytes(), self.rate)


class Silent:
    """No voice: clips in which nothing is heard, as long as saying the words would take."""

    name = "silent"

    def __init__(self, words_per_minute: float | None) -> None:
        self.rate = _SILENT_RATE
        self._pace = words_per_minute or _SILENT_PACE

    async def start(self) -> None:
        """Nothing has to be there."""

    async def make(self, sentence: str) -> Clip:
        """Return a silent clip."""
        return silence(len(sentence.split()) * 60 / self._pace, self.rate)


def _sound(answer: Answer) -> Clip:
    """Return what a program has made, if it has."""
    if answer.code:
        how = f"exit code {answer.code}" if answer.code > 0 else f"signal {-answer.code}"
        said = answer.said.rstrip(".")
        raise SpeechFault(f"it ended with {how}" + (f": {said}" if said else ""))
    return read_wav(answer.out)
