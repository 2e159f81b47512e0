"""The runtime draws on paper what the studio draws on its canvas."""

from __future__ import annotations

import pytest

from aiflow.drawing.marks import mark_of
from aiflow.types import BUILTIN
from aiflow_studio.ui.theme import LIGHT


@pytest.mark.parametrize("name", [type.name for type in BUILTIN] + ["of-a-plug-in"])
def test_a_type_looks_the_same_in_a_picture_and_in_the_studio(name: str) -> None:
    """Colour and glyph of the light theme; neither package may import the other's."""
    ours, theirs = mark_of(name), LIGHT.type_mark(name)

    assert (ours.color, ours.glyph) == (theirs.color, theirs.glyph)
