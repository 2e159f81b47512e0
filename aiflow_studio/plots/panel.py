"""The plots: how deep the queues are, and where the time goes, waiting and service apart."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor, log10

from PySide6.QtCore import Qt
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QLabel, QSplitter, QStackedLayout, QWidget

from aiflow.metrics.snapshot import LatencyStats, NodeStats, Snapshot
from aiflow_studio.document.selection import Selection
from aiflow_studio.plots.chart import DASHED, DOTTED, Chart, Curve
from aiflow_studio.plots.series import (
    FILLING,
    MOST_NODES,
    SteadyTop,
    bounds,
    by_waiting,
    choose,
    depth_line,
    depth_top,
    latency_line,
    percentile_line,
    slowest,
    thinned,
    time_window,
)
from aiflow_studio.runs.history import History
from aiflow_studio.ui.theme import Theme

#: Nodes whose latency is drawn, two curves each; more would be a thicket.
_SLOW_NODES = 3
#: Points of a latency curve at most; it is a mean over a second, so more would say nothing.
_LATENCY_POINTS = 200
_LEAST_MS, _MOST_MS = 0.01, 1e7
#: Room above the highest value, as a share, for the label of a bound.
_HEADROOM = 0.22
_BELOW = 0.07


class PlotsPanel(QWidget):
    """Two charts side by side; they are drawn only while they can be seen.

    Args:
        history: the snapshots to draw; somebody else fills it.
        selection: selected nodes are drawn before others.
    """

    def __init__(
        self, history: History, selection: Selection, theme: Theme, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setObjectName("plots")
        self._history = history
        self._selection = selection
        self._theme = theme
        self._chosen: tuple[str, ...] = ()
        self._colors: dict[str, int] = {}
        self._top = SteadyTop(4)
        self._run_started: float | None = None
        self.depth_chart = Chart("Queue depth, events", "", theme, most=MOST_NODES)
        self.latency_chart = Chart(
            "Latency, ms (log)",
            "—  waiting    – –  service    · ·  waiting, p99",
            theme,
            most=2 * _SLOW_NODES + 1,
            is_log=True,
        )
        self._hint = QLabel("Run the graph (F5) to see how its queues fill and where time goes.")
        self._hint.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._hint.setWordWrap(True)
        self._hint.setProperty("tone", "muted")
        self._charts = QSplitter(Qt.Orientation.Horizontal)
        self._charts.addWidget(self.depth_chart)
        self._charts.addWidget(self.latency_chart)
        self._charts.setChildrenCollapsible(False)
        self._pages = QStackedLayout(self)
        self._pages.addWidget(self._hint)
        self._pages.addWidget(self._charts)

    def refresh(self) -> None:
        """Draw the history as it is now, if anybody can see it."""
        last = self._history.last
        if not self.isVisible():
            return
        if last is None:
            self._pages.setCurrentWidget(self._hint)
            return
        self._pages.setCurrentWidget(self._charts)
        if last.started_at != self._run_started:
            self._run_started = last.started_at
            self._chosen = ()
            self._top.reset()
        self._chosen = self._in_order_of_filling(
            last, choose(last, self._selection.nodes, self._chosen)
        )
        window = time_window(last.at - last.started_at)
        since = last.started_at + max(0.0, window[0])
        snapshots = self._history.since(since - 1.0)
        self._draw_depth(last, snapshots, window)
        self._draw_latency(last, thinned(snapshots, _LATENCY_POINTS), window)

    def set_theme(self, theme: Theme) -> None:
        """Draw in other colours."""
        self._theme = theme
        self.depth_chart.set_theme(theme)
        self.latency_chart.set_theme(theme)
        self.refresh()

    def set_text_scale(self, scale: float) -> None:
        """Write larger or smaller."""
        self.depth_chart.set_text_scale(scale)
        self.latency_chart.set_text_scale(scale)
        self.refresh()

    def close_plots(self) -> None:
        """Take the plots down; the panel cannot be used afterwards."""
        self.depth_chart.close_plot()
        self.latency_chart.close_plot()

    def showEvent(self, event: QShowEvent) -> None:
        """Catch up with what came while the panel was hidden."""
        super().showEvent(event)
        self.refresh()

    def _draw_depth(
        self, last: Snapshot, snapshots: Sequence[Snapshot], window: tuple[float, float]
    ) -> None:
        top = self._top.hold(depth_top(last, self._chosen))
        curves = [
            Curve(
                node,
                depth_line(snapshots, node),
                self._color(node),
                weight=2 if node in self._colors else 1,
            )
            for node in self._chosen
        ]
        lines = [(float(q), f"bound q = {q}") for q in bounds(last, self._chosen)]
        self.depth_chart.show_curves(curves, lines, window, (-_BELOW * top, (1 + _HEADROOM) * top))

    def _draw_latency(
        self, last: Snapshot, snapshots: Sequence[Snapshot], window: tuple[float, float]
    ) -> None:
        curves: list[Curve] = []
        # Where queues fill, only their nodes are worth the room; else the one that is slowest.
        filled = [node for node in self._chosen if node in self._colors]
        slow = slowest(last, filled, _SLOW_NODES) or slowest(last, self._chosen, 1)
        for at, node in enumerate(slow):
            color = self._color(node)
            if at == 0:
                curves.append(Curve("", percentile_line(snapshots, node, _wait), color, DOTTED))
            curves.append(Curve(f"{node}, waiting", latency_line(snapshots, node, _wait), color))
            curves.append(
                Curve(f"{node}, service", latency_line(snapshots, node, _service), color, DASHED)
            )
        self.latency_chart.show_curves(curves, [], window, _decades(curves))

    def _in_order_of_filling(self, last: Snapshot, nodes: tuple[str, ...]) -> tuple[str, ...]:
        """Return the nodes that filled first before the others, and give them a colour.

        A queue in which little has ever stood stays grey: what is coloured is worth a look.
        """
        # Several at once, as when the panel was hidden: the slowest has probably filled first.
        for node in by_waiting(last, nodes):
            stats = last.nodes[node]
            if stats.max_depth >= max(2.0, FILLING * (stats.queue_capacity or 0)):
                self._colors.setdefault(node, len(self._colors))
        last_of_all = len(self._colors)
        return tuple(sorted(nodes, key=lambda node: self._colors.get(node, last_of_all)))

    def _color(self, node: str) -> str:
        """Return the node's colour, the same as long as the studio is open."""
        theme = self._theme
        if node not in self._colors:
            return theme.muted
        palette = (
            *(theme.busy, theme.backpressured, theme.window_blocked),
            *(theme.chunk, theme.token, theme.retrieval),
        )
        return palette[self._colors[node] % len(palette)]


def _wait(stats: NodeStats) -> LatencyStats:
    return stats.wait


def _service(stats: NodeStats) -> LatencyStats:
    return stats.service


def _decades(curves: list[Curve]) -> tuple[float, float]:
    """Return whole powers of ten around all that is drawn, never fewer than three decades."""
    shown = [curve.line for curve in curves if not curve.line.is_empty]
    low = min((float(line.y.min()) for line in shown), default=1.0)
    high = max((float(line.y.max()) for line in shown), default=1000.0)
    bottom = floor(log10(min(max(low, _LEAST_MS), 1.0)))
    top = ceil(log10(min(max(high * 1.05, 1000.0), _MOST_MS)))
    return bottom - 0.15, max(top, bottom + 3) + 0.15
