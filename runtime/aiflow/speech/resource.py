"""The resource `speech-engine`: a voice, and where it is heard."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from aiflow.clock import Clock
from aiflow.errors import ResourceError
from aiflow.resources import Resource, ResourceParams
from aiflow.speech.clip import Clip
from aiflow.speech.device import DevicePlayer
from aiflow.speech.engines import GET_ESPEAK, GET_HIBARI, Engine, EspeakNg, Hibari, Silent
from aiflow.speech.faults import NotInstalledFault, SpeechFault
from aiflow.speech.players import ClockPlayer, FilePlayer, Player
from aiflow.speech.wavfile import WavFile, may_be_wav
from aiflow.speech.wording import pieces


class SpeechEngineParams(ResourceParams):
    """Parameters of a speech engine."""

    engine: Literal["auto", "hibari", "espeak-ng", "silent"] = Field(
        "auto",
        description="Who speaks. auto takes hibari where it is installed, else espeak-ng, else"
        " none: then the time passes in silence, and the node says so.",
    )
    voice: str = Field(
        "",
        max_length=100,
        pattern=r"^([A-Za-z0-9][A-Za-z0-9_+().-]*)?$",
        description="Name of a voice or language that the engine knows, such as en-gb or de for"
        " espeak-ng; empty takes its usual one. hibari speaks English.",
    )
    words_per_minute: float | None = Field(
        None,
        ge=80,
        le=400,
        description="How fast it speaks, about; empty takes the engine's own pace.",
        json_schema_extra={"x-unit": "words/min"},
    )
    file: str = Field(
        "",
        description="WAV file that is spoken into instead, relative to the graph's folder; what is"
        " there stays, and it is whole at any time. Empty plays to the sound device.",
        json_schema_extra={"x-editor": "save-path"},
    )
    timeout_s: float = Field(
        20.0,
        gt=0,
        le=3600,
        description="Longest wait until a sentence has been made.",
        json_schema_extra={"x-unit": "s"},
    )


class SpeechEngine(Resource[SpeechEngineParams]):
    """A voice that says one text after the other, whoever hands it over.

    A text is said sentence by sentence, and while one is heard the next is made. The gap between
    two texts is what making a sentence takes, a tenth of a second or less on an idle machine.
    """

    kind: ClassVar[str] = "speech-engine"
    title: ClassVar[str] = "Speech engine"
    summary: ClassVar[str] = "A voice, heard from the sound device or kept in a WAV file."
    Params: ClassVar[type[ResourceParams]] = SpeechEngineParams

    _engine: Engine | None = None
    _player: Player | None = None

    def __init__(self, id: str, params: SpeechEngineParams, folders: Sequence[Path] = ()) -> None:
        super().__init__(id, params, folders)
        self._notices: list[str] = []

    def needs_real_clock(self) -> str:
        """Say that programs and devices know no other; silence does."""
        if self.params.engine == "silent":
            return ""
        return "its voice takes real time; with the engine silent it can"

    def check(self) -> Iterator[str]:
        """Name the folder that is not there, and what would be spoken into by mistake."""
        path = self._path()
        if path is None:
            return
        if not path.parent.is_dir():
            yield f"the folder of its file {self.params.file} does not exist"
        elif path.is_dir():
            yield f"its file {self.params.file} is a folder; name a file"
        elif not may_be_wav(path):
            yield f"its file {self.params.file} holds something else than sound; name another one"

    def lacks(self) -> Iterator[str]:
        """Name the engine that is asked for and not installed."""
        try:
            if self.params.engine == "espeak-ng":
                EspeakNg.path()
            elif self.params.engine == "hibari":
                Hibari.require()
        except NotInstalledFault as fault:
            yield f"{fault}; or choose the engine auto"

    async def start(self, clock: Clock) -> None:
        """Find out who speaks and where to.

        Raises:
            ResourceError: the engine that is asked for does not speak, or the file cannot be used.
        """
        for reason in (*self.check(), *self.lacks()):
            raise ResourceError(self.id, reason)
        self._clock = clock
        self._one_voice = asyncio.Lock()
        self._notices.clear()
        try:
            self._engine = await self._find_engine()
            self._player = await self._find_player(self._engine, clock)
        except SpeechFault as fault:
            raise ResourceError(self.id, str(fault)) from fault

    async def stop(self) -> None:
        """Close the device or the file."""
        self._engine = None
        player, self._player = self._player, None
        if player is not None:
            await player.close()

    def take_notices(self) -> list[str]:
        """Return what a person should know of this voice and has not been told yet."""
        notices, self._notices = self._notices, []
        return notices

    async def say(self, text: str) -> None:
        """Return when all of a text has been said; at once where there is nothing to say.

        Cancelled, it is heard no further, and what was being made is thrown away. Two that speak
        at a time wait for each other.

        Raises:
            ResourceError: it has not been started, or cannot speak any more.
        """
        if self._engine is None:
            raise ResourceError(self.id, "it has not been started")
        sentences = pieces(text)
        try:
            async with self._one_voice:
                await self._say(sentences, self._engine)
        except SpeechFault as fault:
            raise ResourceError(self.id, str(fault)) from fault

    async def _say(self, sentences: list[str], engine: Engine) -> None:
        ahead: asyncio.Task[Clip] | None = None
        try:
            for number, sentence in enumerate(sentences):
                clip = await (engine.make(sentence) if ahead is None else ahead)
                ahead = None
                if number + 1 < len(sentences):
                    ahead = asyncio.create_task(engine.make(sentences[number + 1]))
                await self._play(clip)
        finally:
            if ahead is not None:
                await _give_up(ahead)

    async def _play(self, clip: Clip) -> None:
        assert self._player is not None
        try:
            await self._player.play(clip)
        except SpeechFault as fault:
            if not isinstance(self._player, DevicePlayer):
                raise
            lost, self._player = self._player, ClockPlayer(self._clock)
            self._notices.append(f"no sound any more: {fault}; the time passes in silence")
            await lost.close()

    async def _find_engine(self) -> Engine:
        asked = self.params.engine
        if asked == "silent":
            self._notices.append(f"no sound: the engine of {self.id} is silent")
            return self._silent()
        reasons: list[str] = []
        engines: dict[str, type[Hibari | EspeakNg]] = {"hibari": Hibari, "espeak-ng": EspeakNg}
        for name in engines if asked == "auto" else (asked,):
            params = self.params
            engine = engines[name](params.voice, params.words_per_minute, params.timeout_s)
            try:
                await engine.start()
            except SpeechFault as fault:
                if asked != "auto":
                    raise
                if not isinstance(fault, NotInstalledFault):
                    reasons.append(str(fault))
            else:
                self._notices += (f"{engine.name} speaks instead: {reason}" for reason in reasons)
                return engine
        if not reasons:
            reasons.append(f"none is installed; {GET_HIBARI} or {GET_ESPEAK}")
        self._notices.append(f"no sound: no speech engine works here: {'; '.join(reasons)}")
        return self._silent()

    def _silent(self) -> Silent:
        return Silent(self.params.words_per_minute)

    async def _find_player(self, engine: Engine, clock: Clock) -> Player:
        path = self._path()
        if path is not None:
            return FilePlayer(WavFile(path, self.params.file, engine.rate), clock)
        if isinstance(engine, Silent):
            return ClockPlayer(clock)
        device = DevicePlayer()
        try:
            await device.open(engine.rate)
        except SpeechFault as fault:
            self._notices.append(f"no sound: {fault}; the time passes in silence")
            return ClockPlayer(clock)
        return device

    def _path(self) -> Path | None:
        if not self.params.file:
            return None
        return (self.folders[0] if self.folders else Path()) / self.params.file


async def _give_up(ahead: asyncio.Task[Clip]) -> None:
    """End the making of a clip that nobody will hear; how it ends is no news."""
    ahead.cancel()
    await asyncio.wait([ahead])
    if not ahead.cancelled():
        ahead.exception()
