"""Tests of `aiflow.types`."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiflow.types import (
    ANY,
    BUILTIN,
    CHUNK,
    CONTROL,
    MESSAGE,
    TEXT,
    TOKEN,
    TOOL,
    TOOL_CALL,
    TOOL_FRAGMENT,
    PortType,
    least_common,
)

OWN = PortType("own")


def test_text_takes_what_is_text_and_any_takes_all() -> None:
    """The lattice of the built-in types, and a plug-in's beside it."""
    assert {type for type in BUILTIN if TEXT.accepts(type)} == {TOKEN, CHUNK, MESSAGE, TEXT}
    assert all(ANY.accepts(type) for type in (*BUILTIN, OWN))
    assert not TOKEN.accepts(TEXT)
    assert not TEXT.accepts(ANY)


@pytest.mark.parametrize(
    ("types", "expected"),
    [
        ([TOKEN], TOKEN),
        ([TOKEN, TOKEN], TOKEN),
        ([TOKEN, CHUNK], TEXT),
        ([TOKEN, TEXT], TEXT),
        ([TOOL_CALL, TOOL_FRAGMENT], TOOL),
        ([TOKEN, CONTROL], ANY),
        ([OWN], OWN),
        ([OWN, TOKEN], ANY),
        ([], ANY),
    ],
)
def test_the_narrowest_common_type_is_found(types: list[PortType], expected: PortType) -> None:
    """What leaves a node that several types enter."""
    assert least_common(types) == expected


@given(st.lists(st.sampled_from([*BUILTIN, OWN]), min_size=1))
def test_the_common_type_accepts_all_and_nothing_narrower_does(types: list[PortType]) -> None:
    """Whatever comes together."""
    common = least_common(types)

    assert all(common.accepts(each) for each in types)
    assert not any(
        other != common and common.accepts(other) and all(other.accepts(each) for each in types)
        for other in BUILTIN
    )
