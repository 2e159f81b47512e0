"""Every dialect reads frames whose values are not what they should be, without falling over."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.runtime.providers import cases, cases_anthropic, cases_gemini, cases_responses
from tests.runtime.providers.cases import Case
from tests.runtime.providers.read_stream import read

JUNK: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    2.5,
    "",
    "x",
    "\ud83e",
    [],
    {},
    [None],
    ["x"],
    [{}],
    {"x": 1},
    [[1]],
)
CASES = [*cases.CASES, *cases_anthropic.CASES, *cases_gemini.CASES, *cases_responses.CASES]


def documents(case: Case) -> list[Any]:
    """Return the JSON values of a case, those that can be read."""
    values = []
    for line in case.body.decode("utf-8", "replace").splitlines():
        try:
            values.append(json.loads(line.removeprefix("data: ")))
        except ValueError:
            continue
    return [value for value in values if isinstance(value, dict)]


def spots(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the path to every value inside a value."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    found = []
    for key, part in pairs:
        found.append((*path, key))
        if isinstance(part, dict | list):
            found += spots(part, (*path, key))
    return found


def replaced(value: Any, path: tuple[Any, ...], junk: Any) -> Any:
    """Return a copy with what stands at the path replaced."""
    copy = json.loads(json.dumps(value))
    inner = copy
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = junk
    return copy


BODIES = {
    name: [found for case in CASES if case.dialect == name and (found := documents(case))]
    for name in sorted({case.dialect for case in CASES})
}


@pytest.mark.parametrize("dialect", BODIES)
@given(data=st.data())
@settings(max_examples=150)
def test_no_value_of_any_type_breaks_a_reader(dialect: str, data: st.DataObject) -> None:
    """One value anywhere is something else: there is a reading, and it can be encoded."""
    values = list(data.draw(st.sampled_from(BODIES[dialect])))
    number = data.draw(st.integers(0, len(values) - 1))
    places = spots(values[number])
    if places:
        place = data.draw(st.sampled_from(places))
        values[number] = replaced(values[number], place, data.draw(st.sampled_from(JUNK)))
    lines = [f"data: {json.dumps(value)}\n\n" for value in values]

    summary = read(["".join(lines).encode()], dialect)

    json.dumps(summary, ensure_ascii=False).encode()


@pytest.mark.slow
@pytest.mark.parametrize("dialect", BODIES)
def test_no_value_at_any_place_breaks_a_reader(dialect: str) -> None:
    """Every place of every case, with everything that it should not be."""
    for values in BODIES[dialect]:
        lines = [f"data: {json.dumps(value)}\n\n" for value in values]
        for number, value in enumerate(values):
            for place in spots(value):
                for junk in JUNK:
                    changed = f"data: {json.dumps(replaced(value, place, junk))}\n\n"
                    body = "".join([*lines[:number], changed, *lines[number + 1 :]])

                    json.dumps(read([body.encode()], dialect), ensure_ascii=False).encode()
