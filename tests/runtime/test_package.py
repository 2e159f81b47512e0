"""Tests of the package `aiflow` itself: what it offers, and what it reads to do so."""

from __future__ import annotations

import subprocess
import sys

import pytest

import aiflow


@pytest.mark.parametrize("name", aiflow.__all__)
def test_each_name_stands_for_the_thing_of_that_name(name: str) -> None:
    """A name that is not there is noticed here and not by whoever asks for it."""
    assert getattr(aiflow, name).__name__ == name
    assert name in dir(aiflow)


def test_a_name_that_there_is_not_is_an_attribute_error() -> None:
    """As with any module."""
    with pytest.raises(AttributeError, match="module 'aiflow' has no attribute 'nothing'"):
        _ = aiflow.nothing


def test_the_programs_border_is_read_before_all_else() -> None:
    """Ctrl+C while the rest is read is caught by `aiflow.cli.main`, which stands already."""
    names = "[name for name in sys.modules if name.partition('.')[0] == 'aiflow']"
    program = f"import sys; from aiflow.cli import main; print(*sorted({names}))"

    said = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)

    assert said.stdout.decode().split() == ["aiflow", "aiflow.cli"]
