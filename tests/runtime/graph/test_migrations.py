"""Tests of `aiflow.graph.migrations`."""

from __future__ import annotations

from typing import Any

import pytest

from aiflow.errors import GraphFileError
from aiflow.graph.migrations import MIGRATIONS, Migration, migrate
from aiflow.graph.model import VERSION


def _noting(name: str, to: tuple[int, int]) -> Migration:
    """Return a step that notes that it was taken."""

    def apply(document: dict[str, Any]) -> dict[str, Any]:
        return {**document, "steps": [*document.get("steps", []), name]}

    return Migration(to, apply)


STEPS = (_noting("a", (0, 2)), _noting("b", (0, 7)), _noting("c", (1, 0)))


@pytest.mark.parametrize(
    ("version", "taken"),
    [((0, 0), "abc"), ((0, 2), "bc"), ((0, 6), "bc"), ((0, 7), "c"), ((0, 99), "c")],
)
def test_only_the_steps_ahead_are_taken(version: tuple[int, int], taken: str) -> None:
    """Each in turn, from wherever the document stands."""
    document, reached = migrate({}, version, "here", STEPS)

    assert "".join(document["steps"]) == taken
    assert reached == VERSION


@pytest.mark.parametrize("version", [VERSION, (VERSION[0], VERSION[1] + 1), (VERSION[0] + 1, 0)])
def test_a_document_as_new_as_we_are_is_left_alone(version: tuple[int, int]) -> None:
    """Also one that is newer."""
    assert migrate({"a": 1}, version, "here", STEPS) == ({"a": 1}, version)


def test_a_gap_in_the_steps_is_refused() -> None:
    """Steps that end before this version leave nothing half migrated."""
    with pytest.raises(GraphFileError, match=r"here: version 0\.7 is older than any"):
        migrate({}, (0, 1), "here", STEPS[:2])


def test_steps_are_in_order() -> None:
    """Each step of this program leads further than the one before it, and none too far."""
    ends = [step.to for step in MIGRATIONS]

    assert ends == sorted(set(ends))
    assert all(end <= VERSION for end in ends)
