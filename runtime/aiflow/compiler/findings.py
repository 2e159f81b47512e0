"""How checks make diagnostics, so that all read alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from aiflow.compiler.diagnostics import Diagnostic, Fix, Severity
from aiflow.compiler.resolved import Resolved
from aiflow.graph.model import Graph

_LONGEST = 200

#: A check: reads the graph with all that is known of it, yields what it finds.
Check = Callable[[Resolved], Iterator[Diagnostic]]


class Finding:
    """Makes diagnostics of one code.

    A check begins with `found = Finding("AF102")` and ends with `found.error(...)`.

    Args:
        code: `AFnnn`, as in the check's docstring.
    """

    def __init__(self, code: str) -> None:
        self._code = code

    def error(self, text: str, hint: str = "", **where: Any) -> Diagnostic:
        """Return a finding that keeps the graph from running; see `_make`."""
        return self._make(Severity.ERROR, text, hint, where)

    def warning(self, text: str, hint: str = "", **where: Any) -> Diagnostic:
        """Return a finding that the graph runs with; see `_make`."""
        return self._make(Severity.WARNING, text, hint, where)

    def hint(self, text: str, hint: str = "", **where: Any) -> Diagnostic:
        """Return a finding that may be meant so; see `_make`."""
        return self._make(Severity.HINT, text, hint, where)

    def _make(
        self, severity: Severity, text: str, hint: str, where: Mapping[str, Any]
    ) -> Diagnostic:
        """Fill the places of `text` and `hint` from `where`.

        Args:
            severity: how bad it is.
            text: what and where, a template.
            hint: what to do, a template.
            where: `node`, `edge`, `field`, `fix`, and all that the templates name.
        """
        arguments = {k: v for k, v in where.items() if k != "fix" and v is not None}
        shown = {k: clipped(v) if isinstance(v, str) else v for k, v in arguments.items()}
        return Diagnostic(
            self._code,
            severity,
            text.format_map(shown),
            hint.format_map(shown),
            node=where.get("node"),
            edge=where.get("edge"),
            field=where.get("field"),
            arguments=arguments,
            fix=where.get("fix"),
        )


def clipped(text: str) -> str:
    """Return a text from the file as a sentence may hold it: its beginning where it is long."""
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def suggestion(word: str, choices: Iterable[str]) -> str:
    """Return the choice that was probably meant; "" where none is near."""
    known = list(choices)
    near = get_close_matches(word, known, n=1, cutoff=0.6)
    # A long name that somebody has only begun is not near by its letters.
    near = near or [each for each in known if word and each.startswith(word)]
    return near[0] if near else ""


def did_you_mean(word: str, choices: Iterable[str], otherwise: str) -> str:
    """Return advice that names the choice that was probably meant, else `otherwise`."""
    near = suggestion(word, choices)
    return f"Did you mean {near}?" if near else otherwise


def listed(names: Iterable[str], most: int = 8) -> str:
    """Return names as text, "none" for none, with an ellipsis where there are too many."""
    known = list(names)
    shown = ", ".join(known[:most])
    return f"{shown}, …" if len(known) > most else shown or "none"


def fix(label: str, edit: Callable[..., Graph], *args: Any, **kwargs: Any) -> Fix:
    """Return a fix that applies an edit of `aiflow.graph.edits` with these arguments."""
    return Fix(label, lambda graph: edit(graph, *args, **kwargs))
