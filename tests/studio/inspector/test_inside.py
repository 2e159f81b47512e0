"""What a person sees of the inside of a run, and asks of it, in the inspector."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLineEdit, QPlainTextEdit, QPushButton, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from aiflow.metrics.snapshot import EdgeStats, NodeStats, Snapshot
from aiflow_studio.document.selection import Selection
from aiflow_studio.inspector.figures import queue_text, trace_text
from aiflow_studio.inspector.panel import InspectorPanel

EDGE = "model.out>speech.in"
Field = Callable[[str], Any]
Asked = list[tuple[str, dict[str, Any], Callable[[Any], None]]]


def snapshot_of(at: float = 1.0, *, held: bool = False, phase: Any = "running") -> Snapshot:
    """Return the numbers of a run whose speech is held, or not."""
    nodes = {
        "model": NodeStats("model"),
        "speech": NodeStats("speech", is_paused=held, depth=3),
        "log": NodeStats("log"),
    }
    edges = {EDGE: EdgeStats(EDGE, depth=3, has_breakpoint=held)}
    return Snapshot(at, 0.0, phase, "aiflow", 20, 4, 4, nodes, edges, {"c1": "active"})


@pytest.fixture
def asked(panel: InspectorPanel) -> Asked:
    """Return what is asked of the run."""
    calls: Asked = []
    panel.run_asked.connect(lambda *call: calls.append(call))
    return calls


def row(**fields: Any) -> dict[str, Any]:
    """Return one entry of a queue."""
    return {
        "conversation": "c1", "sequence": 7, "type": "token", "payload": {"text": " wait  a\nbit"},
        "waited_s": 1.25, **fields,
    }  # fmt: skip


def test_a_breakpoint_is_set_and_taken_away_at_the_edge(
    panel: InspectorPanel, selection: Selection, field: Field, asked: Asked, qtbot: QtBot
) -> None:
    """The button says what it will do next; a step is there while the node is held."""
    selection.set(edges=frozenset({EDGE}))
    panel.set_snapshot(snapshot_of())
    button: QPushButton = field("breakpoint")
    assert (button.text(), field("step").isEnabled()) == ("Breakpoint", False)

    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    panel.set_snapshot(snapshot_of(held=True))
    assert (button.text(), field("step").isEnabled()) == ("Resume", True)
    assert field("breakpoint.said").text() == ("speech is held; 3 wait here. The others go on.")
    qtbot.mouseClick(field("step"), Qt.MouseButton.LeftButton)
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)

    assert [(call, arguments) for call, arguments, _ in asked] == [
        ("set_breakpoint", {"edge": EDGE, "is_set": True}),
        ("step", {"edge": EDGE}),
        ("set_breakpoint", {"edge": EDGE, "is_set": False}),
    ]


def test_without_a_run_there_is_no_inside(
    panel: InspectorPanel, selection: Selection, field: Field
) -> None:
    """Before it, after it, and at an edge that the run does not have."""
    selection.set(edges=frozenset({EDGE}))
    button: QWidget = field("breakpoint")
    assert not button.isVisible()
    panel.set_snapshot(snapshot_of())
    assert button.isVisible()
    panel.set_snapshot(replace(snapshot_of(), edges={}))
    assert not button.isVisible()
    panel.set_snapshot(snapshot_of(phase="completed"))
    assert not button.isVisible()


def test_what_waits_is_asked_for_only_while_it_is_in_sight(
    panel: InspectorPanel, selection: Selection, field: Field, asked: Asked, qtbot: QtBot
) -> None:
    """Twice a second at most, and shown line by line."""
    selection.set(nodes=frozenset({"speech"}))
    panel.set_snapshot(snapshot_of(1.0))
    assert asked == []

    fold: QToolButton = field("queue")
    qtbot.mouseClick(fold, Qt.MouseButton.LeftButton)
    for at in (1.1, 1.2, 1.7):
        panel.set_snapshot(snapshot_of(at))

    assert [each[:2] for each in asked] == [("queue", {"place": "speech", "most": 100})] * 2
    asked[0][2]([row()])
    shown: QPlainTextEdit = field("queue.rows")
    assert shown.toPlainText() == "  1.25 s  c1 #7  token “wait a bit”"


def test_an_answer_that_comes_late_finds_nobody(
    panel: InspectorPanel, selection: Selection, field: Field, asked: Asked, qtbot: QtBot
) -> None:
    """Another page is shown by then; nothing breaks, and its trace is ended."""
    selection.set(nodes=frozenset({"model"}))
    panel.set_snapshot(snapshot_of())
    qtbot.mouseClick(field("trace"), Qt.MouseButton.LeftButton)
    page = panel.findChild(QWidget, "page")
    assert page is not None
    with qtbot.waitSignal(page.destroyed):
        selection.set(nodes=frozenset({"speech"}))

    asked[0][2](4)

    assert asked[-1][:2] == ("end_trace", {"trace": 4})


def test_the_way_of_the_next_event_is_followed_at_its_source(
    panel: InspectorPanel, selection: Selection, field: Field, asked: Asked, qtbot: QtBot
) -> None:
    """It is begun, looked at, and told node by node."""
    selection.set(nodes=frozenset({"model"}))
    panel.set_snapshot(snapshot_of(1.0))
    qtbot.mouseClick(field("trace"), Qt.MouseButton.LeftButton)
    asked[0][2](1)
    panel.set_snapshot(snapshot_of(2.0))
    stay = {
        "conversation": "c1", "sequence": 5, "source": "model", "part": 0, "node": "speech",
        "wait_s": 0.5, "service_s": 0.25, "blocked_s": None, "outcome": "",
    }  # fmt: skip
    asked[1][2]([stay])

    assert [each[:2] for each in asked] == [
        ("trace", {"source": "model", "sequence": None}),
        ("traced", {"trace": 1}),
    ]
    shown: QPlainTextEdit = field("trace.rows")
    assert shown.toPlainText() == (
        "c1 #5 of model\nspeech: wait 500 ms · service 250 ms · here now"
    )


def test_a_text_is_put_into_an_edge_with_enter(
    panel: InspectorPanel, selection: Selection, field: Field, asked: Asked, qtbot: QtBot
) -> None:
    """And the field is empty for the next one."""
    selection.set(edges=frozenset({EDGE}))
    panel.set_snapshot(snapshot_of())
    text: QLineEdit = field("inject")

    qtbot.keyClicks(text, "from me")
    qtbot.keyClick(text, Qt.Key.Key_Return)

    assert [each[:2] for each in asked] == [("inject", {"edge": EDGE, "payload": "from me"})]
    assert text.text() == ""


def test_lines_say_what_a_person_needs() -> None:
    """Nothing waiting, payloads without text, parts and outcomes."""
    assert queue_text([]) == "Nothing waits."
    long = queue_text([row(payload={"text": "x" * 99}), row(payload={"data": 1}, type="control")])
    assert long.splitlines()[0].endswith("x…”")
    assert long.splitlines()[1].endswith("control")
    stays = [
        {
            "conversation": "c1", "sequence": 0, "source": "s", "part": 2, "node": "n",
            "wait_s": 0.0, "service_s": 0.001, "blocked_s": 2.0, "outcome": "dropped: drop_oldest",
        }
    ]  # fmt: skip
    assert trace_text(stays).splitlines()[1] == (
        "n part 2: wait 0 ms · service 1.0 ms · out 2.00 s · dropped: drop_oldest"
    )
