"""`Chart`: one plot with labels that stand at the ends of the lines.

Everything is made once and reused: curves, bounds and labels come from pools, and an update
only sets data. Cosmetic pens without antialiasing, which costs a multiple; two pixels for curves,
to be seen from the back of a room, cost nothing here because only the corners of a line are kept.
What is drawn is decided in `panel`, the numbers are made in `series`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPen
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from aiflow_studio.plots.axes import CountAxis, DecadeAxis, SecondsAxis
from aiflow_studio.plots.series import Line, spread
from aiflow_studio.ui.elided import ElidedLabel
from aiflow_studio.ui.look import make_font
from aiflow_studio.ui.theme import Theme

#: Pixels that curves of the same height stand apart, so that none hides another.
_APART_PX = 2.0
_LABEL_PX = 11
#: Pixels between the end of a line and its label.
_GAP_PX = 6
#: Dash patterns in pen widths.
SOLID: tuple[float, ...] = ()
DASHED: tuple[float, ...] = (8, 5)
DOTTED: tuple[float, ...] = (2, 3)


@dataclass(frozen=True, slots=True)
class Curve:
    """One line to draw.

    Attributes:
        label: stands at its end; none where empty.
        color: `#rrggbb`.
        dashes: one of `SOLID`, `DASHED`, `DOTTED`.
        weight: width of a solid line in pixels.
    """

    label: str
    line: Line
    color: str
    dashes: tuple[float, ...] = SOLID
    weight: int = 2


#: Curves, bounds, and the ends of both axes.
_Shown = tuple[
    Sequence[Curve], Sequence[tuple[float, str]], tuple[float, float], tuple[float, float]
]


class Chart(QWidget):
    """A title, a legend in words, and a plot.

    Args:
        most: curves that can be shown at once.
        is_log: the y axis counts powers of ten; else curves of one height are drawn side by side.
    """

    def __init__(
        self, title: str, legend: str, theme: Theme, *, most: int, is_log: bool = False
    ) -> None:
        super().__init__()
        self._theme = theme
        self._scale = 1.0
        self._is_log = is_log
        self._title = ElidedLabel(title)
        self._title.setProperty("role", "heading")
        self._legend = ElidedLabel(legend)
        self._legend.setProperty("tone", "muted")
        self._left = DecadeAxis("left") if is_log else CountAxis("left")
        self._bottom = SecondsAxis("bottom")
        self.plot = pg.PlotWidget(
            background=theme.panel, axisItems={"left": self._left, "bottom": self._bottom}
        )
        self._item = self.plot.getPlotItem()
        self._curves = [pg.PlotCurveItem(skipFiniteCheck=True) for _ in range(most)]
        self._labels = [pg.TextItem(anchor=(0, 0.5)) for _ in range(most)]
        self._bounds = [pg.PlotCurveItem(skipFiniteCheck=True) for _ in range(most)]
        self._bound_labels = [pg.TextItem(anchor=(0, 1)) for _ in range(most)]
        self._shown: _Shown | None = None
        self._prepare()
        self._lay_out()
        self.set_theme(theme)

    def show_curves(
        self,
        curves: Sequence[Curve],
        bounds: Sequence[tuple[float, str]],
        x_range: tuple[float, float],
        y_range: tuple[float, float],
    ) -> None:
        """Draw these curves and bounds, and nothing else.

        Args:
            curves: drawn in this order, so that the first is undermost.
            bounds: height and label of dashed lines across the plot.
            x_range: seconds of the run at the ends of the time axis.
            y_range: ends of the y axis, in powers of ten on a log scale.
        """
        self._shown = (curves, bounds, x_range, y_range)
        self._item.setXRange(*x_range, padding=0)
        self._item.setYRange(*y_range, padding=0)
        pixel = self._pixel_height(y_range)
        for at, item in enumerate(self._curves):
            if at < len(curves) and not curves[at].line.is_empty:
                self._draw(item, curves[at], 0.0 if self._is_log else at * _APART_PX * pixel)
            else:
                item.setVisible(False)
        ends = [curve.line.x[-1] for curve in curves if curve.label and not curve.line.is_empty]
        self._draw_bounds(bounds, x_range, float(min(ends, default=x_range[1])))
        self._place_labels(curves, x_range, y_range, pixel)

    def set_theme(self, theme: Theme) -> None:
        """Draw in other colours; curves follow at the next `show_curves`."""
        self._theme = theme
        self.plot.setBackground(theme.panel)
        for label in self._labels:
            # A line that runs under its label would strike the words through.
            label.fill = pg.mkBrush(theme.panel)
        for axis in (self._left, self._bottom):
            axis.setPen(QPen(QColor(theme.line)))
            axis.setTextPen(QPen(QColor(theme.muted)))
        self._item.showGrid(x=False, y=True, alpha=0.35)

    def set_text_scale(self, scale: float) -> None:
        """Write larger or smaller, as the window's text is."""
        self._scale = scale
        font = make_font(scale, _LABEL_PX)
        for axis in (self._left, self._bottom):
            axis.setStyle(tickFont=font)
        self._left.setWidth(round(46 * scale))
        self._bottom.setHeight(round(22 * scale))
        for label in (*self._labels, *self._bound_labels):
            label.setFont(font)

    def close_plot(self) -> None:
        """Take the plot down before the application goes: it complains otherwise."""
        self.plot.close()
        # It has left its parent by that.
        self.plot.deleteLater()

    def _again(self) -> None:
        """Place everything anew: what a pixel is worth has changed."""
        if self._shown is not None:
            self.show_curves(*self._shown)

    def _prepare(self) -> None:
        self._item.setMenuEnabled(False)
        self._item.hideButtons()
        self._item.setMouseEnabled(x=False, y=False)
        self._item.getViewBox().disableAutoRange()
        self._item.getViewBox().sigResized.connect(self._again)
        self._item.setContentsMargins(0, 4, 8, 0)
        self.plot.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        for item in (*self._bounds, *self._curves, *self._labels, *self._bound_labels):
            item.setVisible(False)
            # Labels may stand beyond the last sample, but never widen the axes.
            self._item.addItem(item, ignoreBounds=True)
        for label in self._labels:
            # Labels stand line by line; the margin a document has would cover the next one.
            label.textItem.document().setDocumentMargin(1)
        self.set_text_scale(self._scale)

    def _lay_out(self) -> None:
        head = QHBoxLayout()
        head.setContentsMargins(12, 4, 12, 0)
        head.setSpacing(12)
        # Where there is no room for both, the legend is cut.
        self._legend.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._legend.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        head.addWidget(self._title)
        head.addWidget(self._legend, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(head)
        column.addWidget(self.plot, 1)

    def _pixel_height(self, y_range: tuple[float, float]) -> float:
        """Return how much of the y axis one pixel is."""
        return (y_range[1] - y_range[0]) / max(1.0, float(self._item.getViewBox().height()))

    def _pixel_width(self, x_range: tuple[float, float]) -> float:
        """Return how many seconds of the time axis one pixel is."""
        return (x_range[1] - x_range[0]) / max(1.0, float(self._item.getViewBox().width()))

    def _draw(self, item: pg.PlotCurveItem, curve: Curve, lower: float) -> None:
        heights = np.log10(curve.line.y) if self._is_log else curve.line.y - lower
        item.setPen(_pen(curve.color, curve.dashes, curve.weight))
        item.setData(curve.line.x, heights, skipFiniteCheck=True)
        item.setVisible(True)

    def _draw_bounds(
        self, bounds: Sequence[tuple[float, str]], x_range: tuple[float, float], labels_at: float
    ) -> None:
        """Draw the bounds; their labels at the left, or opposite where the curves' labels are."""
        metrics = QFontMetricsF(make_font(self._scale, _LABEL_PX))
        width = max((metrics.horizontalAdvance(text) for _, text in bounds), default=0.0)
        taken = (width + 2 * _LABEL_PX) * self._pixel_width(x_range)
        is_left = labels_at - x_range[0] > taken
        for at, (line, label) in enumerate(zip(self._bounds, self._bound_labels, strict=True)):
            is_shown = at < len(bounds)
            line.setVisible(is_shown)
            label.setVisible(is_shown)
            if is_shown:
                height, text = bounds[at]
                line.setPen(_pen(self._theme.error, DASHED))
                line.setData(np.array(x_range), np.array([height, height]), skipFiniteCheck=True)
                label.setText(text, color=self._theme.error)
                label.setAnchor((0, 1) if is_left else (1, 1))
                label.setPos(x_range[0] if is_left else x_range[1], height)

    def _place_labels(
        self,
        curves: Sequence[Curve],
        x_range: tuple[float, float],
        y_range: tuple[float, float],
        pixel: float,
    ) -> None:
        metrics = QFontMetricsF(make_font(self._scale, _LABEL_PX))
        line_px = metrics.height() + 2
        wanted = [
            (at, float(np.log10(curve.line.last)) if self._is_log else curve.line.last)
            for at, curve in enumerate(curves)
            if curve.label and not curve.line.is_empty
        ]
        # The first curve's label is the uppermost of those at one height, as the curve is.
        nudged = [height - at * _APART_PX * pixel for at, height in wanted]
        half = line_px / 2 * pixel
        places = spread(nudged, line_px * pixel, y_range[0] + half, y_range[1] - half)
        for label in self._labels:
            label.setVisible(False)
        pixel_s = self._pixel_width(x_range)
        for (at, _), place in zip(wanted, places, strict=True):
            curve = curves[at]
            self._labels[at].setText(curve.label, color=curve.color)
            # A narrow plot has no room behind the line's end: better over the line than cut off.
            right = x_range[1] - (metrics.horizontalAdvance(curve.label) + 4) * pixel_s
            behind = float(curve.line.x[-1]) + _GAP_PX * pixel_s
            self._labels[at].setPos(QPointF(max(x_range[0], min(behind, right)), place))
            self._labels[at].setVisible(True)


def _pen(color: str, dashes: tuple[float, ...], weight: int = 1) -> QPen:
    pen = QPen(QColor(color))
    pen.setWidth(1 if dashes else weight)
    pen.setCosmetic(True)
    if dashes:
        pen.setDashPattern(list(dashes))
    return pen
