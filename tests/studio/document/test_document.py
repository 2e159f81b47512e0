"""Tests of `aiflow_studio.document.document`."""

from __future__ import annotations

from dataclasses import replace

from aiflow.graph import edits
from aiflow.graph.model import Graph
from aiflow_studio.document.document import Document


def _marked(graph: Graph) -> Graph:
    return replace(graph, description=graph.description + "!")


def test_a_rewrite_reaches_the_whole_history(qapp):
    """Undone or redone, every step has what the rewrite put there, and the names stay."""
    document = Document()
    document.replace(edits.add_node(document.graph, "one"), "Add one")
    document.replace(edits.add_node(document.graph, "two"), "Add two")
    document.undo_stack.undo()

    document.rewrite(_marked)

    shown = [(document.graph.description, len(document.graph.nodes))]
    for go in (document.undo_stack.undo, document.undo_stack.redo, document.undo_stack.redo):
        go()
        shown.append((document.graph.description, len(document.graph.nodes)))
    assert shown == [("!", 1), ("!", 0), ("!", 1), ("!", 2)]
    assert document.undo_stack.undoText() == "Add two"


def test_a_rewrite_is_no_change_by_itself(qapp):
    """What was clean is clean, also after undoing and redoing what came before."""
    document = Document()
    document.replace(edits.add_node(document.graph, "one"), "Add one")
    document.mark_saved()

    document.rewrite(_marked)
    was_clean = not document.is_dirty
    document.undo_stack.undo()
    was_dirty = document.is_dirty
    document.undo_stack.redo()

    assert (was_clean, was_dirty, document.is_dirty) == (True, True, False)


def test_a_rewrite_that_changes_nothing_says_nothing(qapp, qtbot):
    """No view has to draw anew for it."""
    document = Document()

    with qtbot.assertNotEmitted(document.changed):
        document.rewrite(lambda graph: graph)
