"""Looking inside a run: what waits, breakpoints and steps at an edge, one event's way.

Shown while a run goes on. What is wanted is asked of the run by the desk; answers come later,
so whoever gets one looks first whether it is still shown.
"""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QPlainTextEdit, QPushButton, QWidget
from shiboken6 import isValid

from aiflow.metrics.snapshot import Snapshot
from aiflow_studio.inspector.figures import queue_text, trace_text
from aiflow_studio.inspector.labels import text_label
from aiflow_studio.inspector.parts import Desk, Fold, Section

#: Seconds between two looks at a queue or a trace that is in sight.
_LOOK_S = 0.5
_MOST_WAITING = 100
_ACTIVE = ("running", "draining")
#: Types of edges into which a text can be put.
_TAKES_TEXT = frozenset(("token", "text", "any"))


class Waiting(Fold):
    """What waits at a node or behind an edge, oldest first; asked for while it is open.

    Args:
        place: id of the node or the edge.
    """

    def __init__(self, desk: Desk, place: str, parent: QWidget) -> None:
        self._list = _list("queue.rows", "What waits, oldest first")
        super().__init__("What waits", "queue", self._list, parent)
        self._desk = desk
        self._place = place
        self._asked_at = -1.0

    def show_snapshot(self, snapshot: Snapshot) -> None:
        """Ask anew, if it is open and the last look is old."""
        if self.button.isChecked() and abs(snapshot.at - self._asked_at) >= _LOOK_S:
            self._asked_at = snapshot.at
            asked = {"place": self._place, "most": _MOST_WAITING}
            self._desk.ask_run("queue", asked, self._show)

    def _show(self, rows: list[dict[str, Any]]) -> None:
        if isValid(self):
            _set_text(self._list, queue_text(rows))


class EdgeInside(Section):
    """Holds the node behind an edge, steps it, shows what waits there, puts a text in.

    Args:
        edge: its id. `target`: the node behind it.
    """

    def __init__(self, desk: Desk, edge: str, target: str, parent: QWidget) -> None:
        super().__init__("Inside", parent)
        self._desk = desk
        self._edge = edge
        self.hold = QPushButton("Breakpoint")
        self.hold.setObjectName("breakpoint")
        self.hold.setCheckable(True)
        self.hold.setToolTip(f"Hold {target} when an event comes; all others go on")
        self.hold.clicked.connect(lambda: self._on_hold(self.hold.isChecked()))
        self.step = QPushButton("Step")
        self.step.setObjectName("step")
        self.step.setToolTip(f"Let {target} begin one event")
        self.step.clicked.connect(lambda: self._ask("step", {"edge": self._edge}))
        self._said = text_label("", "muted", wraps=True, name="breakpoint.said")
        self.waiting = Waiting(desk, edge, self)
        self.text = QLineEdit()
        self.text.setObjectName("inject")
        self.text.setPlaceholderText("Put a text in here, Enter sends it")
        self.text.setAccessibleName("Text to put into the edge")
        self.text.returnPressed.connect(self._on_text)
        for widget in (_row(self.hold, self.step), self._said, self.text, self.waiting):
            self.add(widget)
        self._target = target
        self.hide()

    def show_type(self, type_name: str) -> None:
        """Offer to put a text in, where one can travel."""
        self.text.setVisible(type_name in _TAKES_TEXT)

    def show_snapshot(self, snapshot: Snapshot | None) -> None:
        """Show whether the edge holds its node."""
        stats = snapshot.edges.get(self._edge) if snapshot is not None else None
        is_live = snapshot is not None and snapshot.phase in _ACTIVE and stats is not None
        self.setVisible(is_live)
        if snapshot is None or stats is None or not is_live:
            return
        node = snapshot.nodes.get(self._target)
        is_paused = node is not None and node.is_paused
        self.hold.setChecked(stats.has_breakpoint)
        self.hold.setText("Resume" if stats.has_breakpoint else "Breakpoint")
        self.step.setEnabled(stats.has_breakpoint and is_paused)
        self._said.setVisible(stats.has_breakpoint)
        self._said.setText(
            f"{self._target} is held; {stats.depth:,} wait here. The others go on."
            if is_paused
            else f"{self._target} is held at the next event that comes."
        )
        self.waiting.show_snapshot(snapshot)

    def _on_hold(self, is_wanted: bool) -> None:
        self._ask("set_breakpoint", {"edge": self._edge, "is_set": is_wanted})

    def _on_text(self) -> None:
        if text := self.text.text():
            self._ask("inject", {"edge": self._edge, "payload": text})
            self.text.clear()

    def _ask(self, call: str, arguments: dict[str, Any]) -> None:
        self._desk.ask_run(call, arguments, lambda _: None)


class NodeInside(Section):
    """Shows what waits at a node; at a source the way of one event of it.

    Args:
        node: its id. `is_source`: it has no queue.
    """

    def __init__(self, desk: Desk, node: str, is_source: bool, parent: QWidget) -> None:
        super().__init__("Inside", parent)
        self._desk = desk
        self._node = node
        self._trace: int | None = None
        self._asked_at = -1.0
        self.waiting = None if is_source else Waiting(desk, node, self)
        self._way: QPlainTextEdit | None = None
        if self.waiting is not None:
            self.add(self.waiting)
        else:
            self._add_way()
        self.hide()

    def show_snapshot(self, snapshot: Snapshot | None) -> None:
        """Look at what is in sight."""
        is_live = snapshot is not None and snapshot.phase in _ACTIVE
        self.setVisible(is_live and snapshot is not None and self._node in snapshot.nodes)
        if snapshot is None or not is_live:
            self._trace = None
            return
        if self.waiting is not None:
            self.waiting.show_snapshot(snapshot)
        if self._trace is not None and abs(snapshot.at - self._asked_at) >= _LOOK_S:
            self._asked_at = snapshot.at
            self._desk.ask_run("traced", {"trace": self._trace}, self._show_way)

    def _add_way(self) -> None:
        follow = QPushButton("Follow the next event")
        follow.setObjectName("trace")
        follow.setToolTip("Show where the next event goes and how long it takes there")
        follow.clicked.connect(self._on_follow)
        self.add(_row(follow))
        self._way = _list("trace.rows", "The way of one event")
        self._way.hide()
        self.add(self._way)

    def _on_follow(self) -> None:
        if self._trace is not None:
            self._desk.ask_run("end_trace", {"trace": self._trace}, lambda _: None)
        if self._way is not None:
            _set_text(self._way, "It has not come yet.")
            self._way.show()
        self._desk.ask_run("trace", {"source": self._node, "sequence": None}, self._begin)

    def _begin(self, trace: int) -> None:
        if isValid(self):
            self._trace = trace
        else:
            self._desk.ask_run("end_trace", {"trace": trace}, lambda _: None)

    def _show_way(self, rows: list[dict[str, Any]]) -> None:
        if isValid(self) and rows and self._way is not None:
            _set_text(self._way, trace_text(rows))


def _list(name: str, what: str) -> QPlainTextEdit:
    shown = QPlainTextEdit()
    shown.setObjectName(name)
    shown.setAccessibleName(what)
    shown.setReadOnly(True)
    shown.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
    shown.setTabChangesFocus(True)
    shown.setFixedHeight(9 * shown.fontMetrics().height())
    return shown


def _set_text(shown: QPlainTextEdit, text: str) -> None:
    """Show another text where it is another, so that a selection outlives a look."""
    if shown.toPlainText() != text:
        bar = shown.verticalScrollBar()
        place = bar.value()
        shown.setPlainText(text)
        bar.setValue(place)


def _row(*widgets: QWidget) -> QWidget:
    row = QWidget()
    line = QHBoxLayout(row)
    line.setContentsMargins(0, 0, 0, 0)
    line.setSpacing(8)
    for widget in widgets:
        line.addWidget(widget)
    line.addStretch(1)
    line.setAlignment(Qt.AlignmentFlag.AlignLeft)
    return row
