"""Whatever is typed anywhere: the document stays sound and nothing falls over."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter
from PySide6.QtCore import QCoreApplication, QEvent, Qt
from PySide6.QtGui import QInputMethodEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QComboBox, QLineEdit, QPlainTextEdit, QWidget

from aiflow.graph import codec, edits
from aiflow.graph.model import Graph
from aiflow.operators.registry import Catalog
from aiflow.policies import Policy
from aiflow_studio.document.document import Document
from aiflow_studio.document.selection import Selection
from aiflow_studio.inspector.panel import InspectorPanel
from aiflow_studio.ui.theme import DARK

CATALOG = Catalog.load()

# Texts that tend to find holes, beside anything at all.
TEXTS = st.one_of(
    st.text(max_size=12),
    st.integers().map(str),
    st.floats().map(str),
    st.sampled_from(
        ["", " ", "0", "-1", "1e999", "NaN", "[", '["\\ud800"]', "{}", "\x00", "٣", "a\nb"]
    ),
)


def _panel(operator: str, qtbot) -> tuple[Document, InspectorPanel]:
    graph = edits.add_node(Graph(), operator, id="node")
    for name, kind in CATALOG.operators[operator].resource_kinds().items():
        graph = edits.add_resource(graph, kind)
        graph = edits.set_resource(graph, "node", name, list(graph.resources)[-1])
    document, selection = Document(graph), Selection()
    selection.set(nodes=frozenset({"node"}))
    panel = InspectorPanel(document, selection, CATALOG, DARK)
    qtbot.addWidget(panel)
    return document, panel


def _fields(panel: QWidget) -> list[QWidget]:
    """Return every widget that takes text, in the order of the form."""
    found: list[QWidget] = [*panel.findChildren(QLineEdit), *panel.findChildren(QPlainTextEdit)]
    lines = [each.lineEdit() for each in panel.findChildren(QComboBox) if each.isEditable()]
    named = [each for each in found if "." in each.objectName()]
    return [*named, *(line for line in lines if line is not None)]


def _put(field: QWidget, text: str) -> None:
    assert isinstance(field, QLineEdit | QPlainTextEdit)
    field.selectAll()
    event = QInputMethodEvent()
    event.setCommitString(text)
    QApplication.sendEvent(field, event)


def _assert_sound(document: Document) -> None:
    """Hold that what was given is valid, by the models themselves, and can be saved."""
    node = next(iter(document.graph.nodes.values()))
    TypeAdapter(CATALOG.operators[node.operator].Params).validate_python(dict(node.params))
    Policy.model_validate(dict(node.policy))
    for resource in document.graph.resources.values():
        CATALOG.resources[resource.kind].Params.model_validate(dict(resource.params))
    text = codec.dumps(document.graph)
    assert codec.dumps(codec.loads(text, "what was typed")) == text


@pytest.mark.parametrize("operator", sorted(CATALOG.operators))
@settings(
    max_examples=6,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data())
def test_no_text_in_any_field_makes_an_unsound_document(operator, data, qtbot):
    """Params, policy, retry, resource, name: all fields of every operator of the catalog."""
    document, panel = _panel(operator, qtbot)

    for field in _fields(panel):
        _put(field, data.draw(TEXTS, label=field.objectName()))
        _assert_sound(document)
        if data.draw(st.booleans(), label="undo"):
            document.undo_stack.undo()
            _assert_sound(document)

    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)


@pytest.mark.parametrize("operator", sorted(CATALOG.operators))
def test_every_param_and_every_policy_member_has_a_named_editor(operator, qtbot):
    """What is in the model is in the form."""
    _, panel = _panel(operator, qtbot)
    names = {widget.objectName() for widget in panel.findChildren(QWidget)}

    for field in CATALOG.operators[operator].Params.model_fields:
        assert f"params.{field}" in names
    for member in Policy.model_fields:
        assert f"policy.{member}" in names
    for need, kind in CATALOG.operators[operator].resource_kinds().items():
        assert f"resources.{need}" in names
        if kind in CATALOG.resources:
            for field in CATALOG.resources[kind].Params.model_fields:
                assert f"resources.{need}.{field}" in names


@pytest.mark.parametrize("operator", sorted(CATALOG.operators))
def test_every_choice_of_every_field_is_sound(operator, qtbot):
    """Each item of each drop-down is a value that its model takes."""
    document, panel = _panel(operator, qtbot)

    for combo in panel.findChildren(QComboBox):
        if not combo.objectName().startswith(("params.", "policy.")) or combo.isEditable():
            continue
        for row in range(combo.count()):
            combo.setCurrentIndex(row)
            combo.activated.emit(row)
            _assert_sound(document)


@pytest.mark.parametrize("typed", ["1e3", "99x", "99999999999", "5-"])
def test_what_stands_before_a_refused_entry_reaches_no_document(typed, qtbot):
    """Letter by letter 1e3 is 1 at first; red, the field's old value is what the document has."""
    document, panel = _panel("speech", qtbot)
    before = document.graph
    field = panel.findChild(QLineEdit, "policy.queue_capacity")
    panel.show()
    field.setFocus()
    field.selectAll()

    QTest.keyClicks(field, typed)

    assert field.text() == typed
    assert field.property("invalid")
    assert document.graph == before
    assert not document.is_dirty
    assert not document.undo_stack.canUndo()


def test_a_refused_entry_that_is_mended_is_taken(qtbot):
    """One step, from the old value to the new one."""
    document, panel = _panel("speech", qtbot)
    field = panel.findChild(QLineEdit, "policy.queue_capacity")
    panel.show()
    field.setFocus()
    field.selectAll()

    QTest.keyClicks(field, "12x")
    QTest.keyClick(field, Qt.Key.Key_Backspace)

    assert document.graph.nodes["node"].policy["queue_capacity"] == 12
    assert document.undo_stack.count() == 1
