"""`CanvasView`: what any canvas must offer; the seam behind which a canvas library lives.

A canvas shows the document and reports intents. It changes nothing by itself: what a gesture
asked for is seen only when `reconcile` brings it back. `tests/contracts/test_canvas.py` holds
every implementation to that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from PySide6.QtCore import SignalInstance
from PySide6.QtWidgets import QWidget

from aiflow.compiler.diagnostics import Diagnostic
from aiflow.graph.model import Graph
from aiflow.metrics.snapshot import Snapshot
from aiflow_studio.ui.theme import Theme


class CanvasView(Protocol):
    """A picture of the graph that a person can work on.

    Signals:
        intent(Intent): a gesture asks for something; it may be refused.
        selected(nodes, edges): a gesture selected these, two frozensets of ids.
        search_requested(x, y): a person wants to add a node at this layout position.
        wire_dropped(x, y, LooseWire): the same, and a wire is to end at the new node.
        zoomed(factor): the zoom is another now; 1.0 is 100 %.
    """

    @property
    def intent(self) -> SignalInstance:
        """The signal of gestures."""
        ...

    @property
    def selected(self) -> SignalInstance:
        """The signal of selections that gestures made."""
        ...

    @property
    def search_requested(self) -> SignalInstance:
        """The signal that asks for the operator search."""
        ...

    @property
    def wire_dropped(self) -> SignalInstance:
        """The signal that asks for an operator that fits a wire."""
        ...

    @property
    def zoomed(self) -> SignalInstance:
        """The signal of the zoom."""
        ...

    def widget(self) -> QWidget:
        """Return the widget to put into the window; the canvas keeps it."""
        ...

    def reconcile(self, before: Graph, after: Graph) -> None:
        """Make the picture equal to `after`; safe to repeat.

        Args:
            before: what the document held until now; the same graph after a refused intent.
            after: what it holds now.
        """
        ...

    def badge(self, diagnostics: Sequence[Diagnostic]) -> None:
        """Mark the nodes and edges that these findings are about, and no others."""
        ...

    def activity(self, snapshot: Snapshot | None) -> None:
        """Show the numbers of a run, 10 to 20 times a second; None shows no run."""
        ...

    def select(self, nodes: frozenset[str], edges: frozenset[str]) -> None:
        """Show exactly these as selected, without a signal."""
        ...

    def reveal(self, item: str) -> None:
        """Bring a node or an edge into sight; unknown ids do nothing."""
        ...

    def start_rename(self, node: str) -> None:
        """Let the person type another name in place."""
        ...

    def refuse(self, sentence: str) -> None:
        """Tell near the pointer why an intent was refused; it fades by itself."""
        ...

    def zoom(self) -> float:
        """Return the zoom; 1.0 is 100 %."""
        ...

    def set_zoom(self, factor: float) -> None:
        """Zoom about the middle, within 0.1 and 4.0."""
        ...

    def fit(self) -> None:
        """Show the whole graph, at 100 % at most."""
        ...

    def set_theme(self, theme: Theme) -> None:
        """Draw in other colours."""
        ...

    def set_text_scale(self, factor: float) -> None:
        """Draw everything larger or smaller, as the window's text is."""
        ...

    def center(self) -> tuple[float, float]:
        """Return the layout position in the middle of what is seen."""
        ...

    def shown_nodes(self) -> Mapping[str, tuple[float, float]]:
        """Return where each node is drawn, by id."""
        ...

    def shown_edges(self) -> frozenset[str]:
        """Return the ids of the edges that are drawn as wires."""
        ...

    def close(self) -> None:
        """Take the picture down; nothing else may be called afterwards."""
        ...
