"""Hands edits to the document as undo steps: what is typed in one visit of a field is one."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from aiflow.errors import EditError
from aiflow.graph.model import Graph
from aiflow_studio.document.document import Document


class Steps:
    """The only way from a form into the document."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._visit = 0
        self._key: tuple[Hashable, ...] = ()
        self._first: Graph | None = None
        self._last: Graph | None = None

    def take(
        self,
        edit: Callable[[Graph], Graph],
        label: str,
        key: tuple[Hashable, ...],
        is_trial: bool = False,
    ) -> str:
        """Apply an edit; return "" or one sentence that says why it was refused.

        Args:
            edit: pure function from graph to graph.
            label: what the step did, as in "Undo: Set workers of router".
            key: which field it is, as in ("param", node, field).
            is_trial: only ask whether it could be done.
        """
        before = self._document.graph
        try:
            after = edit(before)
        except EditError as error:
            text = str(error)
            return f"{text[:1].upper()}{text[1:]}."
        if is_trial or after is before:
            return ""
        merge = (*key, self._visit)
        if merge != self._key or before is not self._last:
            self._key, self._first = merge, before
        elif after == self._first:
            # Typed back to where it began: the very same graph, so that nothing is unsaved.
            after = self._first
        self._last = after
        self._document.replace(after, label, merge=merge)
        return ""

    def end_visit(self) -> None:
        """Let whatever comes next be a step of its own."""
        self._visit += 1
