"""Tests of `aiflow_studio.app.guard`."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from aiflow_studio.app import guard


@pytest.mark.parametrize(
    ("python", "pyside"),
    [
        ((3, 11), "6.8.0"),
        ((3, 11), "6.11.3"),
        ((3, 12), "6.12.0"),
        ((3, 13), "6.12.0"),
    ],
)
def test_pairs_that_work_are_let_in(python: tuple[int, int], pyside: str) -> None:
    """Versions tried together give no complaint."""
    assert guard.check_versions(python, pyside) is None


@pytest.mark.parametrize(
    ("python", "pyside", "says"),
    [
        ((3, 10), "6.11.3", "needs Python 3.11, 3.12 or 3.13, and this is 3.10"),
        ((3, 14), "6.11.3", "and this is 3.14"),
        ((3, 11), "", "needs PySide6-Essentials: pip install"),
        ((3, 12), "6.7.3", "PySide6 6.8 or newer, and this is 6.7.3"),
        ((3, 11), "6.12.0", "PySide6 6.12.0 aborts on Python 3.11"),
        ((3, 11), "7.0", "PySide6 7.0 aborts on Python 3.11"),
        ((3, 12), "odd", "this is odd"),
    ],
)
def test_a_bad_pair_is_one_sentence(python: tuple[int, int], pyside: str, says: str) -> None:
    """Each bad pair says what is there and what to do, in one line."""
    sentence = guard.check_versions(python, pyside)

    assert sentence is not None
    assert says in sentence
    assert "\n" not in sentence


def test_the_installed_pair_is_good() -> None:
    """What the lock file pins works with the Python that runs this."""
    assert guard.check_versions(sys.version_info[:2], guard.installed_pyside()) is None


def test_no_display_is_said_without_starting_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any display variable the answer needs no child process."""
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(subprocess, "run", None)

    assert guard.probe_display({}) == (
        "There is no display: neither DISPLAY nor WAYLAND_DISPLAY is set."
    )


def test_offscreen_needs_no_display() -> None:
    """A platform without a screen is always there."""
    assert guard.probe_display({"QT_QPA_PLATFORM": "offscreen:size=1600x1000"}) is None


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the xcb platform is Linux's")
def test_a_display_that_is_not_there_is_said_and_nothing_aborts() -> None:
    """A dead display costs a child process, not this one, and Qt's own first line is passed on."""
    environ = {**os.environ, "QT_QPA_PLATFORM": "xcb", "DISPLAY": ":4711"}
    environ.pop("WAYLAND_DISPLAY", None)

    sentence = guard.probe_display(environ)

    assert sentence is not None
    assert sentence.startswith("Qt could not open the display: ")
    assert ":4711" in sentence


def test_a_display_that_hangs_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """A probe that never ends is given up after its time."""

    def hang(*_args: object, **_kwargs: object) -> None:
        raise subprocess.TimeoutExpired("probe", guard.PROBE_TIMEOUT_S)

    monkeypatch.setattr(subprocess, "run", hang)

    assert guard.probe_display({"DISPLAY": ":0"}) == "The display did not answer within 30 s."


def test_the_guard_imports_no_qt() -> None:
    """A bad pair must be told before Qt is loaded."""
    code = "import sys, aiflow_studio.app.guard; print('PySide6' in sys.modules)"

    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert child.stdout.strip() == "False"
