"""How edits become undo steps."""

from __future__ import annotations

from functools import partial

from aiflow.graph import edits
from aiflow.graph.model import Graph
from aiflow_studio.document.document import Document
from aiflow_studio.inspector.steps import Steps


def _name(steps: Steps, name: str, *, is_trial: bool = False) -> str:
    return steps.take(partial(edits.set_name, name=name), "Name it", ("graph", "name"), is_trial)


def test_what_is_typed_in_one_visit_is_one_step(qapp):
    """Three letters, one undo."""
    document = Document(Graph())
    steps = Steps(document)

    for name in ("a", "ab", "abc"):
        _name(steps, name)

    assert document.graph.name == "abc"
    assert document.undo_stack.count() == 1
    document.undo_stack.undo()
    assert document.graph.name == ""


def test_another_visit_is_another_step(qapp):
    """Leaving the field and coming back starts anew."""
    document = Document(Graph())
    steps = Steps(document)

    _name(steps, "a")
    steps.end_visit()
    _name(steps, "ab")

    assert document.undo_stack.count() == 2


def test_typing_back_to_the_start_leaves_no_step_and_nothing_unsaved(qapp):
    """The very same graph is the document again."""
    document = Document(before := Graph())
    steps = Steps(document)

    _name(steps, "a")
    _name(steps, "")

    assert document.graph is before
    assert document.undo_stack.count() == 0
    assert not document.is_dirty


def test_a_trial_changes_nothing(qapp):
    """It only asks."""
    document = Document(before := Graph())

    assert _name(Steps(document), "a", is_trial=True) == ""
    assert document.graph is before


def test_a_refused_edit_is_a_sentence_and_no_step(qapp):
    """What the edit says, with a capital and a full stop."""
    document = Document(Graph())

    refusal = Steps(document).take(
        lambda graph: edits.rename_node(graph, "a", "b"), "Rename", ("rename",)
    )

    assert refusal == "There is no node a in this graph."
    assert document.undo_stack.count() == 0
