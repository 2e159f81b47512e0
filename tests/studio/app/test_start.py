"""The program as a process: what it prints, what it writes, how it ends. Each takes seconds."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QApplication

from aiflow.graph.shipped import graphs_dir

EXAMPLE = graphs_dir() / "examples" / "slow-speech.aiflow.json"

pytestmark = pytest.mark.slow


def command(*arguments: object) -> list[str]:
    """Return the line that starts the studio."""
    return [sys.executable, "-m", "aiflow_studio", *map(str, arguments)]


def run(*arguments: object, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run the studio to its end."""
    return subprocess.run(
        command(*arguments),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen", **environ},
    )


def test_a_picture_of_the_running_demo(qapp: QApplication, tmp_path: Path) -> None:
    """One line, a picture of the default size, nothing on stderr, exit code 0."""
    shot = tmp_path / "shot.png"

    done = run(EXAMPLE, "--run", "--screenshot", shot, "--after", 6)

    line = json.loads(done.stdout)
    assert (done.returncode, done.stderr, done.stdout.count("\n")) == (0, "", 1)
    assert (line["state"], line["nodes"], line["edges"], line["problems"]) == ("running", 6, 5, 0)
    assert line["max_depth"]["speech"] == line["depth"]["speech"] == 8
    image = QImage(str(shot))
    assert (image.width(), image.height()) == (1600, 1000)


@pytest.mark.parametrize("theme", ["light", "high-contrast", "projector"])
def test_a_picture_in_each_theme_without_a_run(tmp_path: Path, theme: str) -> None:
    """The state is idle and nothing complains."""
    done = run(EXAMPLE, "--theme", theme, "--screenshot", tmp_path / "shot.png")

    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["state"] == "idle"


def test_a_file_that_is_no_graph_opens_nothing(tmp_path: Path) -> None:
    """One sentence on stderr that names the file, exit code 2."""
    bad = tmp_path / "bad.aiflow.json"
    bad.write_text("{")

    done = run(bad)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"aiflow-studio: {bad}: not JSON")
    assert done.stderr.count("\n") == 1


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="displays are named elsewise")
def test_a_display_that_is_not_there_is_one_sentence() -> None:
    """No abort of Qt's, exit code 1, and the way on without a window."""
    done = run(EXAMPLE, QT_QPA_PLATFORM="", DISPLAY="", WAYLAND_DISPLAY="")

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("aiflow-studio: There is no display")
    assert "aiflow run GRAPH" in done.stderr


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="displays are named elsewise")
def test_a_picture_without_a_display_is_told_how(tmp_path: Path) -> None:
    """Whoever asks for a picture needs no window, but Qt has to be told so."""
    wanted = ("--screenshot", str(tmp_path / "shot.png"))

    done = run(EXAMPLE, *wanted, QT_QPA_PLATFORM="", DISPLAY="", WAYLAND_DISPLAY="")

    assert done.returncode == 1
    assert "QT_QPA_PLATFORM=offscreen" in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_run_and_window(tmp_path: Path, number: signal.Signals) -> None:
    """Ctrl-C and a service manager both get a clean exit while a run goes on, said twice or once.

    `timeout` says it to the program and then to its whole group.
    """
    started = tmp_path / "started"
    program = (
        "import sys, pathlib\n"
        "from aiflow_studio.runs import controller\n"
        "sample = controller.RunController.sample\n"
        "def told(self):\n"
        "    sample(self)\n"
        f"    pathlib.Path({str(started)!r}).touch()\n"
        "controller.RunController.sample = told\n"
        "from aiflow_studio.app.main import main\n"
        f"sys.exit(main([{str(EXAMPLE)!r}, '--run']))\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen"},
    )
    try:
        while not started.exists() and child.poll() is None:
            pass
        for _ in range(2):
            child.send_signal(number)
        out, error = child.communicate(timeout=60)
    finally:
        child.kill()

    assert (child.returncode, out, error) == (0, "", "")


def test_what_was_copied_does_not_crash_the_end() -> None:
    """Where there is no system's clipboard Qt keeps it until after Python's own end."""
    copies = (
        "from PySide6.QtGui import QGuiApplication\n"
        "from aiflow.graph.model import Graph\n"
        "from aiflow_studio.app.start import let_go, make_application\n"
        "from aiflow_studio.document.clipboard import to_mime\n"
        "app = make_application()\n"
        "QGuiApplication.clipboard().setMimeData(to_mime(Graph()))\n"
        "let_go()\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", copies],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen"},
    )

    assert (ended.returncode, ended.stderr) == (0, "")
