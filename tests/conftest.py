"""What holds for every test: a home of its own, no screen, and a suite that listens.

The listening itself is in `tests/listening.py`, as a plugin, so that it can be tested.
"""

from __future__ import annotations

import os
import shutil
import signal
import tempfile

import hypothesis
import pytest

# Before anything imports Qt: no test may need a screen, and every Qt library must pick the same.
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
os.environ["QT_API"] = "PySide6"

# No test may read or write the settings, caches and autosaves of whoever runs it.
_HOME = tempfile.mkdtemp(prefix="aiflow-tests-")
os.environ["HOME"] = os.environ["USERPROFILE"] = _HOME
for _name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "APPDATA"):
    os.environ[_name] = os.path.join(_HOME, _name.lower())

# Nor the keys: programs under test find an empty keyring, tests of the keyring bring their own.
os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.null.Keyring"

# A shell starts what it puts into the background with SIGINT ignored, and every child inherits
# that: a program under test would then never see the Ctrl+C that its test sends.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Two cores are often busy: a deadline would measure the machine. In CI the same cases each time,
# so that a red run is about the change; elsewhere new cases each time.
hypothesis.settings.register_profile("here", deadline=None)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "here")

pytest_plugins = ["pytester", "tests.listening"]

# Options of pytest-qt that stand in pyproject.toml.
_QT_OPTIONS = ("qt_api", "qt_log_level_fail", "qt_log_ignore")


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Make Qt's options known without pytest-qt too: a server tests the runtime alone."""
    if not pluginmanager.hasplugin("pytest-qt"):
        for name in _QT_OPTIONS:
            parser.addini(name, "read by pytest-qt where it is installed", type="linelist")


def pytest_unconfigure() -> None:
    """Remove the home made for this run."""
    shutil.rmtree(_HOME, ignore_errors=True)
