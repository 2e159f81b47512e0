"""Tests of `aiflow.transport.failures`; its sentences are tested in `test_client.py`."""

from __future__ import annotations

import pytest

from aiflow.transport.failures import is_transient, parse_retry_after


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None),
        ("", None),
        ("0", 0.0),
        ("1.5", 1.5),
        ("-3", 0.0),
        ("nan", None),
        ("inf", None),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0),
        ("Thu, 01 Jan 1970 00:00:00", 0.0),
        ("next week", None),
    ],
)
def test_retry_after_in_both_forms(value: str | None, seconds: float | None) -> None:
    """Seconds, an HTTP date in the past, and what is neither."""
    assert parse_retry_after(value) == seconds


def test_a_date_to_come_is_a_wait() -> None:
    """Far ahead, so that the test does not depend on the hour."""
    wait = parse_retry_after("Fri, 31 Dec 9999 23:59:59 GMT")

    assert wait is not None
    assert wait > 1e9


@pytest.mark.parametrize(
    ("status", "may_succeed"),
    [(400, False), (401, False), (404, False), (408, True), (429, True), (500, True), (529, True)],
)
def test_which_refusals_pass_by_themselves(status: int, may_succeed: bool) -> None:
    """Too early, too many, or the server's own fault."""
    assert is_transient(status) == may_succeed
