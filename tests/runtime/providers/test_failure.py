"""Tests of `aiflow.providers.failure`."""

from __future__ import annotations

from typing import Any

import pytest

from aiflow.errors import ProviderError
from aiflow.providers.failure import Failure


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        ("gone", {"message": "gone", "code": None, "retryable": False}),
        ("server overloaded", {"message": "server overloaded", "retryable": True}),
        ({"message": "m", "code": "429"}, {"code": "429", "status": 429, "retryable": True}),
        ({"message": "m", "code": 404}, {"code": 404, "status": 404, "retryable": False}),
        ({"message": "m", "code": None}, {"code": None, "status": None}),
        ({"message": "m", "code": True}, {"code": None}),
        ({"message": "m", "status_code": 503}, {"status": 503, "retryable": True}),
        ({"message": "m", "type": "overloaded_error"}, {"retryable": True}),
        (
            {"message": "m", "code": 429, "status": "RESOURCE_EXHAUSTED"},
            {"code": 429, "status": "RESOURCE_EXHAUSTED", "retryable": True},
        ),
        ({"message": "m", "status": "UNAVAILABLE"}, {"status": "UNAVAILABLE", "retryable": True}),
        ({"message": "m", "status": "503"}, {"status": 503, "retryable": True}),
        ({"message": None, "detail": "d"}, {"message": "d"}),
        ({"x": 1}, {"message": '{"x": 1}'}),
        ({"message": "half \ud83e"}, {"message": "half \ufffd"}),
        (17, {"message": "17"}),
    ],
)
def test_a_report_of_any_shape_is_read(report: object, expected: dict[str, Any]) -> None:
    """An error may be a text, an object with any of its fields missing, or nonsense."""
    data = Failure.of_report(report).as_data()

    assert {key: data[key] for key in expected} == expected


def test_the_status_may_stand_in_the_frame_around_it() -> None:
    """Some servers put it beside the error."""
    assert Failure.of_report({"message": "m"}, {"status_code": 500}).status == 500


def test_an_error_says_where_what_and_what_to_do() -> None:
    """The sentence of each kind is one line with all three."""
    texts = {
        kind: str(Failure("it broke", kind).as_error("provider p (h:1)", "ollama"))
        for kind in ("stream", "protocol", "connection", "incomplete")
    }

    assert texts == {
        "stream": "provider p (h:1): it ended the stream with an error: it broke;"
        " check the request and the model",
        "protocol": "provider p (h:1): it broke; check that the endpoint speaks ollama",
        "connection": "provider p (h:1): it broke; try again",
        "incomplete": "provider p (h:1): it broke; try again",
    }


def test_an_error_and_its_reading_say_the_same() -> None:
    """What the transport raises keeps its kind, status and wait in the reading."""
    error = ProviderError(
        "p: slow down; wait",
        kind="status",
        status=429,
        retry_after_s=7.0,
        retryable=True,
        detail="slow down",
    )

    data = Failure.of_error(error).as_data()

    assert data == {
        "message": "slow down",
        "kind": "status",
        "code": None,
        "type": None,
        "status": 429,
        "retryable": True,
        "retry_after_s": 7.0,
    }


def test_the_number_of_a_named_status_is_the_errors_own() -> None:
    """A node that retries looks at numbers; what is shown is the provider's name."""
    failure = Failure.of_report({"message": "m", "code": 429, "status": "RESOURCE_EXHAUSTED"})

    assert failure.as_error("p", "gemini").status == 429


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"error": {"message": "m"}}, "m"),
        ({"detail": "d"}, "d"),
        ({"fine": True}, "the provider's answer is JSON, but not a song"),
    ],
)
def test_json_where_an_answer_was_due_is_a_failure(body: dict[str, Any], message: str) -> None:
    """It is the provider's own report, or not what was asked for."""
    assert Failure.of_body(body, "a song").message == message
