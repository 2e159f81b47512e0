"""The laws are seen to hold the engine: a named fault in any part of it breaks one of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.runtime.engine.mutants.faults import MUTANTS

ROOT = Path(__file__).parents[3]

pytestmark = pytest.mark.skipif(
    not hasattr(os, "fork"), reason="each fault is tried in a child, which it may hang"
)


def tried(names: list[str]) -> list[dict[str, Any]]:
    """Return what became of mutants of these names, in a process that nothing else runs in."""
    found = subprocess.run(
        [sys.executable, "-m", "tests.runtime.engine.mutants", *names],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert found.returncode == 0, found.stderr
    return [json.loads(line) for line in found.stdout.splitlines()]


def test_the_laws_kill_every_mutant() -> None:
    """Each fault breaks a law; one that breaks none shows a law that nothing checks."""
    told = tried([mutant.name for mutant in MUTANTS])

    assert [each["mutant"] for each in told] == [mutant.name for mutant in MUTANTS]
    assert [(each["mutant"], each["why"]) for each in told if each["law"] is None] == []


def test_the_sound_engine_survives_what_kills_the_mutants() -> None:
    """The same laws on the same graphs."""
    (told,) = tried(["none"])

    assert told["law"] is None, told


def test_there_is_a_fault_for_each_part_of_the_engine() -> None:
    """Some 25 at least, each with a name of its own and what a user would see of it."""
    names = [mutant.name for mutant in MUTANTS]

    assert len(set(names)) == len(names) >= 25
    assert all(mutant.reason for mutant in MUTANTS)
