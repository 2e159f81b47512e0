"""Stand-ins for the optional packages, hibari and miniaudio, as far as they are used."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sys
import threading
from types import ModuleType
from typing import Any, ClassVar

import pytest

_RATE = 8_000


def put(monkeypatch: pytest.MonkeyPatch, name: str, **members: Any) -> ModuleType:
    """Make a module importable under this name."""
    module = ModuleType(name)
    module.__spec__ = importlib.machinery.ModuleSpec(name, None)
    vars(module).update(members)
    monkeypatch.setitem(sys.modules, name, module)
    return module


def hide(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Let packages be missing even where they are installed."""
    real = importlib.util.find_spec

    def find(name: str, package: str | None = None) -> Any:
        return None if name in names else real(name, package)

    monkeypatch.setattr(importlib.util, "find_spec", find)


class Samples(list[float]):
    """What numpy's arrays can do, as far as it is needed."""

    def clip(self, low: float, high: float) -> Samples:
        return Samples(min(max(each, low), high) for each in self)

    def __mul__(self, factor: object) -> Samples:
        assert isinstance(factor, float)
        return Samples(each * factor for each in self)

    def astype(self, kind: str) -> Samples:
        assert kind == "<i2"
        return self

    def tobytes(self) -> bytes:
        return b"".join(int(each).to_bytes(2, "little", signed=True) for each in self)


class Model:
    """A voice: 10 ms for each letter, and it fails where it is told to."""

    sample_rate = _RATE
    may_go_on: ClassVar = threading.Event()
    speeds: ClassVar[list[float]] = []

    def __init__(self, voice: str) -> None:
        self.voice = voice

    def __call__(self, text: str, speed: float) -> Samples:
        self.speeds.append(speed)
        if "fails" in text:
            raise ValueError("no\nphonemes")
        if "waits" in text:
            self.may_go_on.wait()
        return Samples([0.5, -2.0] * (len(text) * _RATE // 200))


def put_hibari(monkeypatch: pytest.MonkeyPatch) -> type[Model]:
    """Install a hibari with the voice that comes with it and one that is not on the machine."""

    def voice_path(voice: str, download_missing: bool = True) -> str:
        assert not download_missing
        if voice != "heart":
            raise FileNotFoundError(voice)
        return voice

    monkeypatch.setattr(Model, "may_go_on", threading.Event())
    monkeypatch.setattr(Model, "speeds", [])
    put(monkeypatch, "hibari", Hibari=Model, __path__=[])
    voices: dict[str, object] = {"heart": {}, "emma": {}}
    put(monkeypatch, "hibari.voices", DEFAULT="heart", VOICES=voices, voice_path=voice_path)
    return Model


class MiniaudioError(Exception):
    """What the package raises."""


class Device:
    """A device that takes sound when the test says so.

    Attributes:
        taken: all that was heard, as blocks.
    """

    made: ClassVar[list[Device]] = []
    is_missing = False

    def __init__(self, **options: Any) -> None:
        if self.is_missing:
            raise MiniaudioError("failed to init device", -401)
        self.options = options
        self.taken: list[bytes] = []
        self.is_closed = False
        self._frames: Any = None
        self.made.append(self)

    def start(self, frames: Any) -> None:
        self._frames = frames

    def take(self, count: int) -> None:
        """Ask for so many samples, as a device's thread does."""
        thread = threading.Thread(target=lambda: self.taken.append(self._frames.send(count)))
        thread.start()
        thread.join()

    def close(self) -> None:
        self.is_closed = True


def put_miniaudio(monkeypatch: pytest.MonkeyPatch) -> type[Device]:
    """Install a miniaudio whose device is in the test's hands."""

    class Backend:
        PULSEAUDIO, ALSA = "pulse", "alsa"

    monkeypatch.setattr(Device, "made", [])
    monkeypatch.setattr(Device, "is_missing", False)
    put(
        monkeypatch,
        "miniaudio",
        PlaybackDevice=Device,
        MiniaudioError=MiniaudioError,
        Backend=Backend,
    )
    return Device
