"""What a provider says when it fails inside a stream, and the error made of it.

After HTTP 200 a failure comes as an event, a field, a line or a bare object, in many shapes.
A `Failure` is their common reading; it travels as plain values in the `finish` control.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, TypeVar, cast

from aiflow.errors import ProviderError
from aiflow.providers.text import scrub
from aiflow.transport.failures import is_transient
from aiflow.transport.masking import without

T = TypeVar("T")

FailureKind = Literal[
    "connection",
    "first_byte_timeout",
    "idle_timeout",
    "total_timeout",
    "status",
    "protocol",
    "stream",
    "incomplete",
]

# Words of in-stream errors after which the same request may well succeed.
_PASSING_WORDS = (
    "overload",
    "rate_limit",
    "server_error",
    "api_error",
    "internal_error",
    "network_error",
    "timeout",
    "unavailable",
    "over_capacity",
    "insufficient_system_resource",
    "bad_gateway",
)
_FIRST_ERROR = 400
_LAST_STATUS = 599


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a stream ended without an answer.

    Attributes:
        message: the provider's own words, or ours where it has none.
        kind: `stream`: the provider said so; the others name what broke.
        code: the provider's code as it came: a word, a number or None.
        type: the provider's class of errors, None where it gives none.
        status: HTTP status that it stands for, None where none is known.
        status_name: the provider's own name of it, such as RESOURCE_EXHAUSTED; None as a rule.
    """

    message: str
    kind: FailureKind = "stream"
    code: str | int | None = None
    type: str | None = None
    status: int | None = None
    retryable: bool = False
    retry_after_s: float | None = None
    status_name: str | None = None

    def as_data(self) -> dict[str, Any]:
        """Return plain values, for a `Control` and for JSON.

        `status` is as the provider gave it: its name where it has one, else the number.
        """
        data = asdict(self)
        name = data.pop("status_name")
        return data | ({"status": name} if name else {})

    def as_error(self, where: str, dialect: str) -> ProviderError:
        """Return the error that a node raises.

        Args:
            where: the provider, as a person knows it.
            dialect: the wire format it was read as.
        """
        if self.kind == "protocol":
            sentence = f"{self.message}; check that the endpoint speaks {dialect}"
        elif self.kind == "stream":
            advice = "try again" if self.retryable else "check the request and the model"
            sentence = f"it ended the stream with an error: {self.message}; {advice}"
        else:
            sentence = f"{self.message}; try again"
        return ProviderError(
            f"{where}: {sentence}",
            kind=self.kind,
            status=self.status,
            code=None if self.code is None else str(self.code),
            retry_after_s=self.retry_after_s,
            retryable=self.retryable,
            detail=self.message,
        )

    def without(self, secret: str) -> Failure:
        """Return the same with a key taken out of all that the provider said; "" is none.

        The very same where no key was in it, so that who reported it knows it again.
        """
        if not secret:
            return self

        def clean(said: T) -> T:
            return cast(T, without(said, secret)) if isinstance(said, str) else said

        cleaned = replace(
            self,
            message=clean(self.message),
            code=clean(self.code),
            type=clean(self.type),
            status_name=clean(self.status_name),
        )
        return self if cleaned == self else cleaned

    @classmethod
    def of_error(cls, error: ProviderError) -> Failure:
        """Return the reading of an error that the transport raised."""
        return cls(
            message=error.detail or str(error),
            kind=cast(FailureKind, error.kind),
            code=error.code,
            status=error.status,
            retryable=error.retryable,
            retry_after_s=error.retry_after_s,
        )

    @classmethod
    def of_report(cls, report: object, outer: Mapping[str, Any] | None = None) -> Failure:
        """Read what a provider sent as an error.

        Args:
            report: an object, a plain text, or anything else.
            outer: the frame around it, which may hold the status.
        """
        if not isinstance(report, Mapping):
            text = report if isinstance(report, str) else json.dumps(report)
            return cls(message=scrub(text), retryable=_passes(text))
        code = report.get("code")
        code = code if isinstance(code, str | int) and not isinstance(code, bool) else None
        word = report.get("type")
        word = scrub(word) if isinstance(word, str) else None
        name = report.get("status")
        name = scrub(name) if isinstance(name, str) and not name.isdecimal() else None
        status = _status(report.get("status_code"), report.get("status"), code, outer or {})
        return cls(
            message=_message(report),
            code=scrub(code) if isinstance(code, str) else code,
            type=word,
            status=status,
            retryable=(status is not None and is_transient(status))
            or any(map(_passes, (word, code, name))),
            status_name=name or None,
        )

    @classmethod
    def of_body(cls, value: Mapping[str, Any], wanted: str) -> Failure:
        """Read a JSON object that stands where an answer was due.

        Args:
            value: the object.
            wanted: what it should have been, with its article.
        """
        if value.get("error"):
            return cls.of_report(value["error"], value)
        if value.get("detail") or value.get("message"):
            return cls.of_report(value)
        return cls(f"the provider's answer is JSON, but not {wanted}", "protocol")


def _passes(word: object) -> bool:
    return isinstance(word, str) and any(part in word.lower() for part in _PASSING_WORDS)


def _message(report: Mapping[str, Any]) -> str:
    for key in ("message", "detail", "error", "msg"):
        value = report.get(key)
        if isinstance(value, str) and value:
            return scrub(value)
    return scrub(json.dumps(report, ensure_ascii=False))


def _status(*candidates: object) -> int | None:
    for candidate in candidates:
        value = candidate.get("status_code") if isinstance(candidate, Mapping) else candidate
        text = str(value) if isinstance(value, str | int) else ""
        if text.isdecimal() and _FIRST_ERROR <= int(text) <= _LAST_STATUS:
            return int(text)
    return None
