"""What a person can do in the inspector, with real widgets, keys and mouse."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QAction, QInputMethodEvent, QKeySequence, QWheelEvent
from PySide6.QtWidgets import QApplication, QCheckBox, QComboBox, QLabel, QPushButton, QWidget

from aiflow.graph import edits
from aiflow.graph.model import Feedback, Graph, Node
from aiflow.policies import Policy
from aiflow_studio.inspector.panel import InspectorPanel


@pytest.fixture
def type_into(qtbot, field):
    """Return a function that replaces a field's text by typing."""

    def type_text(name: str, text: str) -> QWidget:
        widget = field(name)
        widget.setFocus()
        qtbot.waitUntil(widget.hasFocus)
        widget.selectAll()
        qtbot.keyClick(widget, Qt.Key.Key_Delete)
        if text.isascii():
            qtbot.keyClicks(widget, text)
        else:
            # What an input method has composed arrives in one piece.
            event = QInputMethodEvent()
            event.setCommitString(text)
            QApplication.sendEvent(widget, event)
        return widget

    return type_text


@pytest.fixture
def choose(qtbot, field):
    """Return a function that picks an item of a drop-down, as the keyboard does."""

    def pick(name: str, text: str) -> QComboBox:
        combo = field(name)
        combo.setFocus()
        qtbot.waitUntil(combo.hasFocus)
        row = combo.findText(text)
        assert row >= 0, f"{name} has no {text}"
        while combo.currentIndex() != row:
            key = Qt.Key.Key_Down if combo.currentIndex() < row else Qt.Key.Key_Up
            qtbot.keyClick(combo, key)
        return combo

    return pick


def _reason(field, name: str) -> str:
    label = field(f"{name}.reason")
    assert isinstance(label, QLabel)
    return label.text() if not label.isHidden() else ""


def _focused() -> str:
    widget = QApplication.focusWidget()
    return "" if widget is None else widget.objectName()


def _select(selection, *nodes: str) -> None:
    selection.set(nodes=frozenset(nodes))


def test_typing_a_valid_figure_changes_the_document_at_once(document, selection, panel, type_into):
    """Nothing has to be confirmed, and the paper's tuple follows."""
    _select(selection, "speech")

    type_into("policy.queue_capacity", "16")

    assert document.graph.nodes["speech"].policy == {"queue_capacity": 16}
    tuple_label = panel.findChild(QWidget, "page").findChild(QLabel, "policy.tuple")
    assert tuple_label.text() == "P = (16, 1, 0, serialized, block, propagate, –)"


def test_typing_is_one_undo_step_and_undo_shows_in_the_form(
    document, selection, panel, type_into, field
):
    """However many letters it had."""
    _select(selection, "speech")
    type_into("policy.queue_capacity", "4096")

    assert document.undo_stack.count() == 1
    document.undo_stack.undo()

    assert document.graph.nodes["speech"].policy == {}
    assert field("policy.queue_capacity").text() == "8"


def test_a_wrong_entry_stays_in_the_form_red_and_never_reaches_the_document(
    document, selection, panel, type_into, field
):
    """With the reason below it, in a sentence."""
    _select(selection, "speech")

    entry = type_into("policy.queue_capacity", "-1")

    assert entry.text() == "-1"
    assert entry.property("invalid") is True
    assert _reason(field, "policy.queue_capacity") == (
        "Queue capacity is a whole number from 1 to 1,000,000."
    )
    assert document.graph.nodes["speech"].policy == {}


def test_a_value_equal_to_the_default_is_left_out_of_the_file(
    document, selection, panel, type_into
):
    """Also one that the file gave."""
    document.replace(edits.set_policy(document.graph, "speech", {"workers": 3}), "x")
    _select(selection, "speech")

    type_into("policy.workers", "1")

    assert document.graph.nodes["speech"].policy == {}


def test_the_state_s_default_is_what_the_operator_declares(document, selection, panel, choose):
    """Choosing something looser is written down, for the compiler to judge."""
    _select(selection, "speech")

    assert choose("policy.state", "stateless").currentText() == "stateless"
    assert document.graph.nodes["speech"].policy == {"state": "stateless"}
    choose("policy.state", "serialized")
    assert document.graph.nodes["speech"].policy == {}


def test_a_red_entry_outlives_what_happens_elsewhere(
    qtbot, document, selection, panel, type_into, field
):
    """Undo of another field refreshes the form and leaves the red one alone."""
    _select(selection, "speech")
    type_into("policy.workers", "2")
    type_into("policy.queue_capacity", "many")
    field("policy.reorder_capacity").setFocus()

    document.undo_stack.undo()

    assert field("policy.workers").text() == "1"
    assert field("policy.queue_capacity").text() == "many"
    assert _reason(field, "policy.queue_capacity")


def test_a_red_entry_is_there_again_when_the_node_is_shown_again(
    selection, panel, type_into, field
):
    """Nothing typed is lost by looking at something else."""
    _select(selection, "speech")
    type_into("params.seconds", "soon")

    _select(selection, "log")
    assert field("params.seconds").text() == "0.25"
    _select(selection, "speech")

    assert field("params.seconds").text() == "soon"
    assert field("params.seconds").property("invalid") is True


def test_red_entries_go_with_their_document(document, graph, selection, panel, type_into, field):
    """Another file with a node of that name starts clean."""
    _select(selection, "speech")
    type_into("params.seconds", "soon")

    document.load(replace(graph, name="another"))

    assert field("params.seconds").text() == "0.25"
    assert field("params.seconds").property("invalid") is not True


def test_a_text_in_the_making_is_not_overwritten(document, selection, panel, type_into, field):
    """Though the document writes the figure otherwise."""
    _select(selection, "speech")

    entry = type_into("params.seconds", "0.50")
    document.replace(edits.set_name(document.graph, "elsewhere"), "x")

    assert document.graph.nodes["speech"].params == {"seconds": 0.5}
    assert entry.text() == "0.50"


def test_leaving_a_field_shows_the_value_as_it_is_written(
    qtbot, selection, panel, type_into, field
):
    """Once the person is done."""
    _select(selection, "speech")
    entry = type_into("params.seconds", "0.50")

    qtbot.keyClick(entry, Qt.Key.Key_Return)

    assert entry.text() == "0.5"


def test_escape_brings_back_what_was_there_before(qtbot, document, selection, panel, type_into):
    """No step is left, and the document is not even unsaved."""
    before = document.graph
    _select(selection, "speech")
    entry = type_into("policy.queue_capacity", "77")

    qtbot.keyClick(entry, Qt.Key.Key_Escape)

    assert entry.text() == "8"
    assert document.graph is before
    assert not document.is_dirty


def test_escape_takes_a_red_entry_away(qtbot, selection, panel, type_into, field):
    """Also some time after it was typed."""
    _select(selection, "speech")
    entry = type_into("policy.queue_capacity", "")
    field("policy.workers").setFocus()
    entry.setFocus()

    qtbot.keyClick(entry, Qt.Key.Key_Escape)

    assert entry.text() == "8"
    assert entry.property("invalid") is False
    assert _reason(field, "policy.queue_capacity") == ""


def test_undo_of_the_field_itself_shows_while_the_cursor_is_in_it(
    document, selection, panel, type_into
):
    """The form never says what the document does not hold."""
    _select(selection, "speech")
    entry = type_into("policy.queue_capacity", "16")

    document.undo_stack.undo()

    assert entry.text() == "8"


def test_a_field_refused_because_of_another_is_taken_when_the_other_is_mended(
    document, selection, panel, type_into, field
):
    """A rule over two fields."""
    _select(selection, "speech")
    type_into("params.least", "9")
    assert _reason(field, "params.least") == "Least: least is more than most."

    type_into("params.most", "12")

    assert document.graph.nodes["speech"].params == {"least": 9, "most": 12}
    assert _reason(field, "params.least") == ""


def test_what_a_file_holds_wrongly_is_shown_red(document, selection, panel, field):
    """As it stands there."""
    document.load(
        replace(
            document.graph,
            nodes={"speech": Node("speech", "voice", {"seconds": "slow"}, {"workers": 0})},
        )
    )
    _select(selection, "speech")

    assert field("params.seconds").text() == "slow"
    assert field("params.seconds").property("invalid") is True
    assert _reason(field, "policy.workers") == "Workers is a whole number from 1 to 1,024."
    assert field("policy.queue_capacity").property("invalid") is False


def test_the_wheel_changes_no_field_without_focus(qtbot, document, selection, panel, field):
    """Scrolling the form over a drop-down is scrolling."""
    _select(selection, "speech")
    combo = field("policy.overflow")
    field("policy.workers").setFocus()
    centre = QPointF(combo.rect().center())

    for _ in range(3):
        wheel = QWheelEvent(
            centre,
            QPointF(combo.mapToGlobal(combo.rect().center())),
            QPoint(0, -120),
            QPoint(0, -120),
            Qt.MouseButton.NoButton,
            Qt.KeyboardModifier.NoModifier,
            Qt.ScrollPhase.NoScrollPhase,
            False,
        )
        QApplication.sendEvent(combo, wheel)

    assert combo.currentText() == "block"
    assert document.graph.nodes["speech"].policy == {}


def test_retry_opens_into_its_own_fields(qtbot, document, selection, panel, type_into, field):
    """A member of the tuple that is a model itself."""
    _select(selection, "speech")
    button = field("policy.retry")
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)

    type_into("policy.retry.attempts", "3")

    assert document.graph.nodes["speech"].policy == {"retry": {"attempts": 3}}
    assert button.text() == "attempts 3 ▾"
    type_into("policy.retry.attempts", "1")
    assert document.graph.nodes["speech"].policy == {}


def test_lines_texts_and_switches_are_written_as_values(
    qtbot, document, selection, panel, type_into, field
):
    """A list by lines, a text with line ends, yes or no."""
    _select(selection, "speech")

    words = type_into("params.words", "one")
    qtbot.keyClick(words, Qt.Key.Key_Return)
    qtbot.keyClicks(words, "two")
    type_into("params.note", "Hello, ærlig 你好")
    box = field("params.is_loud")
    assert isinstance(box, QCheckBox)
    box.click()

    assert document.graph.nodes["speech"].params == {
        "words": ["one", "two"],
        "note": "Hello, ærlig 你好",
        "is_loud": True,
    }


def test_an_optional_figure_may_be_emptied(document, selection, panel, type_into):
    """Empty is no limit, which is the default."""
    _select(selection, "speech")
    type_into("params.limit", "5")
    assert document.graph.nodes["speech"].params == {"limit": 5}

    type_into("params.limit", "")

    assert document.graph.nodes["speech"].params == {}


def test_tab_goes_down_the_form(qtbot, selection, panel, field):
    """From one row to the next."""
    _select(selection, "speech")
    field("policy.queue_capacity").setFocus()

    visited = []
    for _ in range(5):
        qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Tab)
        visited.append(_focused())

    assert visited == [
        "policy.workers",
        "policy.reorder_capacity",
        "policy.state",
        "policy.overflow",
        "policy.cancel",
    ]


def test_what_has_no_effect_at_a_source_takes_no_entry(selection, panel, field):
    """It says why, the tuple has dashes, and what does have an effect can be set."""
    _select(selection, "model")

    policy = {name: field(f"policy.{name}") for name in Policy.model_fields}

    assert [name for name, widget in policy.items() if widget.isEnabled()] == [
        *("cancel", "retry", "side_effects", "service_time_s"),
    ]
    assert "It has no effect at a source." in policy["workers"].toolTip()
    assert field("policy.tuple").text() == "P = (–, –, –, –, –, propagate, –)"


def test_what_a_file_says_of_a_source_can_be_taken_out(document, selection, panel, field):
    """The field is open as long as there is something in it."""
    _select(selection, "model")

    document.replace(edits.set_policy(document.graph, "model", {"workers": 4}), "x")
    assert field("policy.workers").isEnabled()
    assert field("policy.tuple").text() == "P = (–, –, –, –, –, propagate, –)"

    document.replace(edits.set_policy(document.graph, "model", {}), "y")
    assert not field("policy.workers").isEnabled()


def test_typing_the_default_of_an_idle_field_does_not_close_it_at_once(
    document, selection, panel, field, type_into
):
    """Only when the person leaves it."""
    document.replace(edits.set_policy(document.graph, "model", {"workers": 4}), "x")
    _select(selection, "model")

    entry = type_into("policy.workers", "1")
    assert document.graph.nodes["model"].policy == {}
    assert entry.isEnabled()

    field("policy.cancel").setFocus()
    assert not entry.isEnabled()


def test_every_field_tells_its_name_to_a_screen_reader(selection, panel, field):
    """Symbol and label, and the reason once it is red."""
    _select(selection, "speech")

    assert field("policy.queue_capacity").accessibleName() == "q Queue capacity"
    assert field("params.seconds").accessibleName() == "Pace"


def test_renaming_waits_for_the_end_of_the_entry_and_keeps_the_node_selected(
    qtbot, document, selection, panel, type_into, field
):
    """A node that changed its name with every letter would flicker on the canvas."""
    _select(selection, "speech")

    entry = type_into("node.name", "voice-1")
    assert "speech" in document.graph.nodes
    qtbot.keyClick(entry, Qt.Key.Key_Return)

    assert list(document.graph.nodes) == ["model", "voice-1", "log"]
    assert "model.out>voice-1.in" in document.graph.edges
    assert selection.nodes == {"voice-1"}
    assert field("node.name").text() == "voice-1"
    document.undo_stack.undo()
    assert selection.nodes == {"speech"}


def test_a_name_in_the_making_is_taken_when_something_else_is_selected(
    document, selection, panel, type_into, field
):
    """Leaving a field is the end of its entry, whatever takes the focus away."""
    _select(selection, "speech")
    type_into("node.name", "other")

    _select(selection, "log")

    assert "other" in document.graph.nodes
    assert selection.nodes == {"log"}
    assert field("node.name").text() == "log"


def test_a_name_in_the_making_does_not_reach_another_document(
    document, graph, selection, panel, type_into, field
):
    """Though it has a node of that name too."""
    _select(selection, "speech")
    type_into("node.name", "other")

    document.load(replace(graph, name="another"))

    assert list(document.graph.nodes) == ["model", "speech", "log"]
    assert field("graph.name").text() == "another"


@pytest.mark.parametrize(
    ("name", "sentence"),
    [("log", "a node log in this graph already"), ("Big Name", "cannot be an id")],
)
def test_a_name_that_cannot_be_is_refused_while_it_is_typed(
    document, selection, panel, type_into, field, name, sentence
):
    """Taken or malformed."""
    _select(selection, "speech")

    type_into("node.name", name)

    assert sentence in _reason(field, "node.name")
    assert "speech" in document.graph.nodes


def test_renaming_by_tab_goes_on_to_the_next_field_of_the_same_node(
    qtbot, document, selection, panel, type_into
):
    """The page is another one then; the person must not notice."""
    _select(selection, "speech")
    entry = type_into("node.name", "other")

    qtbot.keyClick(entry, Qt.Key.Key_Tab)

    assert "other" in document.graph.nodes
    assert _focused() == "params.seconds"


def test_a_provider_can_be_made_and_filled_in_from_the_node(
    qtbot, document, selection, panel, choose, type_into, field
):
    """One step makes it and hands it over; its fields are below."""
    _select(selection, "model")

    choose("resources.provider", "New shop…")
    assert document.graph.nodes["model"].resources == {"provider": "shop"}
    assert document.undo_stack.count() == 1
    type_into("resources.provider.endpoint", "http://127.0.0.1:1")
    secret = type_into("resources.provider.credential", "sk-oops")
    qtbot.keyClick(secret, Qt.Key.Key_Return)

    # Not a letter of it: the name is taken when it is finished.
    assert document.graph.resources["shop"].params == {"endpoint": "http://127.0.0.1:1"}
    assert "never the secret itself" in _reason(field, "resources.provider.credential")


def test_a_line_with_suggestions_holds_what_was_typed_and_no_more(
    qtbot, document, selection, panel, choose, field
):
    """A completion that nobody typed would be shown and not taken."""
    _select(selection, "model")
    choose("resources.provider", "New shop…")
    combo = field("resources.provider.dialect")
    assert isinstance(combo, QComboBox)
    combo.setFocus()
    combo.clearEditText()

    qtbot.keyClicks(combo, "pol")

    assert combo.currentText() == "pol"
    assert document.graph.resources["shop"].params == {"dialect": "pol"}


def test_a_node_can_be_handed_a_resource_that_is_there(document, selection, panel, choose, field):
    """And another node's resource is shared."""
    document.replace(edits.add_resource(document.graph, "shop", id="mine"), "x")
    _select(selection, "model")
    assert "needs a shop" in field("resources.provider.note").text()

    choose("resources.provider", "mine")

    assert document.graph.nodes["model"].resources == {"provider": "mine"}
    choose("resources.provider", "none")
    assert document.graph.nodes["model"].resources == {}


def test_a_resource_of_a_kind_that_stands_in_can_be_made_and_chosen(
    document, selection, panel, choose, field, qtbot
):
    """After the kind that is asked for; it is no complaint, and it can be chosen again."""
    _select(selection, "model")
    combo = field("resources.provider")
    assert [combo.itemText(row) for row in range(combo.count())][-2:] == ["New shop…", "New stall…"]

    combo.showPopup()
    for _ in range(2):
        qtbot.keyClick(combo.view(), Qt.Key.Key_Down)
    qtbot.keyClick(combo.view(), Qt.Key.Key_Return)

    assert document.graph.nodes["model"].resources == {"provider": "stall"}
    assert document.graph.resources["stall"].kind == "stall"
    assert not field("resources.provider.note").text()
    choose("resources.provider", "none")
    choose("resources.provider", "stall")
    assert document.graph.nodes["model"].resources == {"provider": "stall"}


def test_a_resource_that_a_node_can_do_without_is_offered_and_not_asked_for(
    document, selection, panel, choose, field
):
    """The note says so, and is no complaint."""
    _select(selection, "speech")
    note = field("resources.engine.note")
    assert note.text() == "It works without; a shop can be chosen or made."
    assert note.property("role") == "muted"

    choose("resources.engine", "New shop…")

    assert document.graph.nodes["speech"].resources == {"engine": "shop"}
    assert not field("resources.engine.note").text()


def test_an_unknown_operator_shows_what_the_file_says_and_says_so(
    document, selection, panel, field
):
    """Read-only; the policy can still be set."""
    document.load(Graph(nodes={"odd": Node("odd", "nobody", {"a": [1, "ü"]})}))
    _select(selection, "odd")

    raw = field("params.raw")
    assert raw.isReadOnly()
    assert '"ü"' in raw.toPlainText()
    assert any("not known here" in label.text() for label in panel.findChildren(QLabel))


def test_the_graph_s_own_fields_are_there_while_nothing_is_selected(
    document, panel, type_into, field
):
    """Name, conversations, measured sinks."""
    type_into("graph.name", "Mine")
    type_into("graph.max_conversations", "0")
    assert _reason(field, "graph.max_conversations")
    type_into("graph.max_conversations", "3")
    field("graph.measure.log").click()

    graph = document.graph
    assert (graph.name, graph.max_conversations, graph.measure) == ("Mine", 3, ("log",))


def test_an_edge_can_lead_back_and_has_its_limits_then(document, selection, type_into, field):
    """Each is a step of its own, and what is not set is 1."""
    edge = "model.out>speech.in"
    selection.set(edges=frozenset({edge}))
    assert not field("edge.credit").isVisible()

    field("edge.feedback").click()
    assert document.graph.edges[edge].feedback == Feedback()
    assert field("edge.credit").isVisible()

    type_into("edge.hops", "5")
    assert document.graph.edges[edge].feedback == Feedback(1, 1, 5)

    field("edge.feedback").click()
    assert document.graph.edges[edge].feedback is None
    document.undo_stack.undo()
    assert document.graph.edges[edge].feedback == Feedback(1, 1, 5)


def test_an_edge_can_be_made_detached_and_never_blocks_then(
    document, selection, panel, choose, field
):
    """The choice of a full queue comes with it, without `block`."""
    edge = "model.out>speech.in"
    selection.set(edges=frozenset({edge}))
    assert field("edge.overflow").isHidden() or not field("edge.overflow").isVisible()

    choose("edge.fanout", "detached")
    overflow = field("edge.overflow")
    assert overflow.isVisible()
    assert overflow.findText("block") == -1
    choose("edge.overflow", "error")

    assert (document.graph.edges[edge].fanout, document.graph.edges[edge].overflow) == (
        "detached",
        "error",
    )
    choose("edge.fanout", "strict")
    assert document.graph.edges[edge].overflow is None


def test_no_name_makes_the_dock_wider(qtbot, document, selection, panel):
    """However long: it is cut or wrapped, on every page."""
    long = "a" * 120
    document.replace(edits.rename_node(document.graph, "speech", long), "x")
    document.replace(edits.add_resource(document.graph, "shop", id="s" * 120), "x")
    edge = f"model.out>{long}.in"

    for nodes, edges in (
        ((), ()),
        ((long,), ()),
        ((), (edge,)),
        ((long, "log"), ()),
        (("model",), ()),
    ):
        selection.set(frozenset(nodes), frozenset(edges))
        page = panel.findChild(QWidget, "page")
        assert page.minimumSizeHint().width() <= panel.minimumSizeHint().width()


def test_several_nodes_say_how_many_and_can_be_deleted(qtbot, document, selection, panel, field):
    """One undo step."""
    _select(selection, "speech", "log")
    assert any(label.text() == "2 nodes selected" for label in panel.findChildren(QLabel))

    button = field("selection.delete")
    assert isinstance(button, QPushButton)
    button.click()

    assert list(document.graph.nodes) == ["model"]
    assert document.undo_stack.undoText() == "Delete 2 nodes"


def test_a_deleted_node_s_page_gives_way_to_the_graph_s(document, selection, panel, field):
    """Whoever deleted it."""
    _select(selection, "speech")

    document.replace(edits.remove(document.graph, ["speech"]), "x")

    assert field("graph.name") is not None


def test_undo_in_a_line_without_changes_is_left_to_the_document(qtbot, selection, panel, field):
    """Ctrl+Z in a fresh field must reach the window's Undo."""
    _select(selection, "speech")
    line = field("policy.workers")
    line.setFocus()
    qtbot.waitUntil(line.hasFocus)
    heard = []
    action = QAction(panel)
    action.setShortcut(QKeySequence(QKeySequence.StandardKey.Undo))
    action.triggered.connect(lambda: heard.append("undo"))
    panel.addAction(action)

    qtbot.keyClick(line, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert heard == ["undo"]
    qtbot.keyClicks(line, "2")
    qtbot.keyClick(line, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)

    assert heard == ["undo"]
    assert isinstance(panel, InspectorPanel)
