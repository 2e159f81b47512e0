"""Diagnostics: what the compiler finds, as values that CLI, studio and JSON all show."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from aiflow.graph.model import Graph


class Severity(StrEnum):
    """How bad a finding is; an error keeps the graph from running."""

    ERROR = "error"
    WARNING = "warning"
    HINT = "hint"


@dataclass(frozen=True, slots=True)
class Fix:
    """A change that removes the finding.

    Attributes:
        label: imperative, as a button shows it.
        apply: pure edit of the graph.
    """

    label: str
    apply: Callable[[Graph], Graph]


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding: what, where, what to do.

    Attributes:
        code: `AFnnn`.
        message: one sentence that says what and where.
        hint: one sentence that says what to do; "" only where nothing can be done.
        node, edge, field: where; None where it does not apply.
        arguments: the values in the message, for translation.
    """

    code: str
    severity: Severity
    message: str
    hint: str = ""
    node: str | None = None
    edge: str | None = None
    field: str | None = None
    # Not `field(...)`: that name is the attribute above by now.
    arguments: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    fix: Fix | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the plain values that `aiflow check --json` prints."""
        return {
            "code": self.code,
            "severity": self.severity.value,
            "node": self.node,
            "edge": self.edge,
            "field": self.field,
            "message": self.message,
            "hint": self.hint,
        }
