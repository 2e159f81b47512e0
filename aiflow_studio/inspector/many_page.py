"""What the panel shows for several things at once."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QPushButton,
    QWidget,
)

from aiflow.graph import edits
from aiflow_studio.inspector.labels import text_label
from aiflow_studio.inspector.page import Page, counted
from aiflow_studio.inspector.parts import Desk


class ManyPage(Page):
    """Several things at once: how many, and a way to delete them."""

    def __init__(
        self, desk: Desk, nodes: frozenset[str], edges: frozenset[str], parent: QWidget
    ) -> None:
        super().__init__(desk, parent)
        self._nodes, self._edges = nodes, edges
        parts = [counted(len(nodes), "node")] * bool(nodes) + [counted(len(edges), "edge")] * bool(
            edges
        )
        self._what = " and ".join(parts)
        self.add(text_label(f"{self._what} selected", "title", wraps=True))
        names = text_label(", ".join(sorted(nodes)), "muted", wraps=True)
        self.add(names)
        names.setVisible(bool(nodes))
        button = QPushButton("Delete")
        button.setObjectName("selection.delete")
        button.clicked.connect(self._delete)
        self.column.addWidget(button, 0, Qt.AlignmentFlag.AlignLeft)
        self.column.addStretch(1)

    def _delete(self) -> None:
        self.desk.steps.take(
            lambda graph: edits.remove(graph, self._nodes, self._edges),
            f"Delete {self._what}",
            ("delete", self._nodes, self._edges),
        )
        self.desk.steps.end_visit()
