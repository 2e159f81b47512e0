"""Every case of our own, at many and at all cuts of its bytes."""

from __future__ import annotations

import json

import pytest

from tests.runtime.providers import cases, cases_anthropic, cases_gemini, cases_responses
from tests.runtime.providers.cases import Case
from tests.runtime.providers.read_stream import agrees, read, single_bytes, single_cuts

CASES = [
    *cases.CASES,
    *cases_anthropic.CASES,
    *cases_gemini.CASES,
    *cases_responses.CASES,
]


# Enough to cut every kind of place in a long body; the slow test cuts at all of them.
_FEW = 60


def _check(case: Case, every: int) -> None:
    clean = case.end == "closed"
    for pieces in ([case.body], single_bytes(case.body), *single_cuts(case.body, every)):
        summary = read(pieces, case.dialect, clean=clean, **case.options)

        assert agrees(case.expect, summary), summary
        json.dumps(summary, ensure_ascii=False).encode()


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.dialect}-{case.id}")
def test_a_case_reads_right_at_many_cuts(case: Case) -> None:
    """Whole, byte by byte, and cut in two at many places: the same right reading."""
    _check(case, every=1 + len(case.body) // _FEW)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.dialect}-{case.id}")
def test_a_case_reads_right_at_every_cut(case: Case) -> None:
    """Cut in two anywhere."""
    _check(case, every=1)


def test_no_two_cases_have_one_name() -> None:
    """A name stands for one case of a dialect."""
    names = [(case.dialect, case.id) for case in CASES]

    assert len(set(names)) == len(names)
