"""Live tuning: what of a node's policy is changed while it runs holds in the run at once.

The document stays the truth: whoever changes q, k, ρ, o or r there, by a form, by undo or by a
fix, has it tuned. A change that the run refuses stays in the document and waits for the next
start, as every other change does.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import replace
from typing import Any

from PySide6.QtCore import QObject, Signal

from aiflow.engine.tuning import TUNABLE
from aiflow.errors import AiFlowError
from aiflow.graph import codec, edits
from aiflow.graph.model import Graph
from aiflow.graph.values import UNSET
from aiflow.policies import TUPLE, Policy
from aiflow_studio.document.document import Document
from aiflow_studio.runs.controller import RunController
from aiflow_studio.runs.host import RunRequest

_SYMBOLS = {key: symbol for symbol, key in TUPLE}
_DEFAULTS = Policy().model_dump(mode="json")


class LiveTuning(QObject):
    """Follows the document, and hands changes of policies to the run one after another.

    Signals:
        tuned(str): a change holds; a sentence that says which.
        refused(str): why it does not.

    Args:
        document: what is edited. `runs`: what runs.
        run_task: starts a coroutine as a task that somebody owns.
    """

    tuned = Signal(str)
    refused = Signal(str)

    def __init__(
        self,
        document: Document,
        runs: RunController,
        run_task: Callable[[Coroutine[Any, Any, Any], str], object],
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._runs = runs
        self._run_task = run_task
        self._wanted: dict[str, dict[str, Any]] = {}
        self._is_tuning = False
        document.changed.connect(self._on_changed)

    def _on_changed(self, before: Graph, after: Graph) -> None:
        if not self._runs.is_active or self._runs.request is None:
            return
        for node, changes in policy_changes(before, after).items():
            # Typed on while the last change is under way: only the newest value counts.
            self._wanted.setdefault(node, {}).update(changes)
        if self._wanted and not self._is_tuning:
            self._is_tuning = True
            self._run_task(self._tune_all(), "tune")

    async def _tune_all(self) -> None:
        try:
            while self._wanted:
                node = next(iter(self._wanted))
                await self._tune(node, self._wanted.pop(node))
        finally:
            self._is_tuning = False

    async def _tune(self, node: str, given: dict[str, Any]) -> None:
        request = self._runs.request
        if request is None or not self._runs.is_active:
            return
        changes = {name: _whole(name, value) for name, value in given.items()}
        try:
            changed = await self._runs.host.tune(node, changes)
        except AiFlowError as error:
            self.refused.emit(f"Not in this run: {error}")
            return
        if request is self._runs.request:
            self._runs.amend(_amended(request, node, given))
        if changed:
            self.tuned.emit(f"{node} runs with {told(changed)}")


def policy_changes(before: Graph, after: Graph) -> dict[str, dict[str, Any]]:
    """Return node -> what its file gives now for members that can be tuned and have changed.

    `UNSET` stands where it gives nothing.
    """
    found: dict[str, dict[str, Any]] = {}
    for id, node in after.nodes.items():
        old = before.nodes.get(id)
        if old is None or old.policy is node.policy:
            continue
        changes = {
            name: node.policy.get(name, UNSET)
            for name in TUNABLE
            if node.policy.get(name) != old.policy.get(name)
        }
        if changes:
            found[id] = changes
    return found


def told(changed: Mapping[str, list[Any]]) -> str:
    """Return changes as a person reads them: `q 4 instead of 8`."""
    return ", ".join(
        f"{_SYMBOLS.get(name, name)} {_word(new)} instead of {_word(old)}"
        for name, (old, new) in changed.items()
    )


def _word(value: object) -> str:
    return "none" if value is None else str(value).replace("_", " ")


def _whole(name: str, given: Any) -> Any:  # noqa: ANN401 - any plain value
    """Return the value that holds: the default where the file gives none, of retry all members."""
    if given is UNSET:
        return _DEFAULTS[name]
    return {**_DEFAULTS[name], **given} if isinstance(given, Mapping) else given


def _amended(request: RunRequest, node: str, given: Mapping[str, Any]) -> RunRequest:
    """Return a request for what runs now, so that only other differences ask for a restart."""
    graph = edits.merge_policy(codec.loads(request.graph), node, given)
    return replace(request, graph=codec.dumps(graph, export=True))
