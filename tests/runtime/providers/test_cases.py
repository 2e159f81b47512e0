"""Every case of our own, at every cut of its bytes."""

from __future__ import annotations

import json

import pytest

from tests.runtime.providers.cases import CASES, Case
from tests.runtime.providers.read_stream import agrees, read, single_bytes, single_cuts


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.dialect}-{case.id}")
def test_a_case_reads_right_at_every_cut(case: Case) -> None:
    """Whole, byte by byte, and cut in two anywhere: the same right reading."""
    clean = case.end == "closed"
    for pieces in ([case.body], single_bytes(case.body), *single_cuts(case.body)):
        summary = read(pieces, case.dialect, clean=clean, **case.options)

        assert agrees(case.expect, summary), summary
        json.dumps(summary, ensure_ascii=False).encode()


def test_no_two_cases_have_one_name() -> None:
    """A name stands for one case of a dialect."""
    names = [(case.dialect, case.id) for case in CASES]

    assert len(set(names)) == len(names)
