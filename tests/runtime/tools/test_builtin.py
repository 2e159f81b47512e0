"""Tests of `aiflow.tools.builtin`."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from aiflow.graph.shipped import graphs_dir
from aiflow.tools.builtin import calculator, clock, lookup
from tests.runtime.tools.calling import call, fault


@pytest.mark.parametrize(
    ("operation", "result"),
    [("add", "8.0"), ("subtract", "4.0"), ("multiply", "12.0"), ("divide", "3.0")],
)
def test_the_calculator_calculates(operation: str, result: str) -> None:
    """With both numbers in their order."""
    assert call(calculator, {"a": 6, "operation": operation, "b": 2}).content == result


def test_a_division_by_nothing_is_told() -> None:
    """As an error that the model reads."""
    error = fault(calculator, {"a": 1, "operation": "divide", "b": 0})

    assert "division by zero" in str(error)


def test_the_clock_tells_the_time_with_its_zone() -> None:
    """Seconds are enough."""
    told = datetime.fromisoformat(call(clock, {}).content)

    assert told.tzinfo is not None
    assert told.microsecond == 0


def test_the_lookup_reads_the_documents_beside_the_graph() -> None:
    """The best passages with their titles."""
    folders = (graphs_dir(),)

    found = call(lookup, {"question": "fares of the crossing"}, folders=folders).content

    assert found.startswith("The ferry: Fares\n")


def test_a_lookup_that_finds_nothing_says_so(tmp_path: Path) -> None:
    """And one without documents fails with what is missing."""
    folders = (graphs_dir(),)

    assert call(lookup, {"question": "zzz"}, folders=folders).content == "Nothing was found."
    assert "no folder or file documents" in str(
        fault(lookup, {"question": "x"}, folders=(tmp_path,))
    )
