"""Pens, fonts and glyph shapes of the canvas, all from the theme; nothing is drawn here."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainterPath, QPen, QPolygonF

from aiflow_studio.ui.theme import Theme

NAME_PX = 13
SMALL_PX = 11
GRID_STEP = 22

_DOT = " · "


class Style:
    """What all items of one scene draw with.

    Args:
        theme: the colours.
    """

    def __init__(self, theme: Theme) -> None:
        self.theme = theme
        self.background = QColor(theme.background)
        self.card = QColor(theme.raised)
        self.border = QColor(theme.line).lighter(128)
        self.line = QColor(theme.line)
        self.text = QColor(theme.text)
        self.muted = QColor(theme.muted)
        self.accent = QColor(theme.accent)
        self.error = QColor(theme.error)
        self.warning = QColor(theme.warning)
        self.grid = QColor(theme.grid)
        self.empty_cell = QColor(theme.empty_cell)
        self.panel = QColor(theme.panel)
        #: Keeps a port's glyph apart from wire and card.
        self.rim = QPen(self.background, 5)
        self.is_dark = self.background.lightness() < self.text.lightness()
        self._types: dict[str, QColor] = {}
        # Many cards say the same; measuring is most of the work of laying one out.
        self._widths: dict[str, float] = {}
        self._lines: dict[tuple[tuple[str, ...], float], tuple[str, ...]] = {}
        self._activities: dict[str, QColor] = {}
        self._glyphs: dict[tuple[str, float], QPainterPath] = {}
        self._far: dict[int, tuple[QFont, QFontMetricsF]] = {}

    def type_color(self, type_name: str) -> QColor:
        """Return the colour of a port type."""
        color = self._types.get(type_name)
        if color is None:
            color = self._types[type_name] = QColor(self.theme.type_mark(type_name).color)
        return color

    def activity_color(self, activity: str) -> QColor:
        """Return the colour of `busy`, `backpressured`, `window_blocked` or `idle`."""
        color = self._activities.get(activity)
        if color is None:
            color = self._activities[activity] = QColor(self.theme.activity(activity))
        return color

    def width(self, text: str) -> float:
        """Return how wide a text is in the small font."""
        width = self._widths.get(text)
        if width is None:
            width = self._widths[text] = self.small_metrics.horizontalAdvance(text)
        return width

    def elided(self, text: str, room: float) -> str:
        """Return a text in the small font, cut where it is wider than the room for it."""
        if self.width(text) <= room:
            return text
        return str(self.small_metrics.elidedText(text, Qt.TextElideMode.ElideRight, max(room, 0)))

    def wrapped(self, parts: tuple[str, ...], room: float) -> tuple[str, ...]:
        """Return parts joined by dots in the small font, on two lines at most; none is broken."""
        lines = self._lines.get((parts, room))
        if lines is None:
            lines = self._lines[parts, room] = tuple(self._wrap(parts, room))
        return lines

    def glyph(self, glyph: str, size: float) -> QPainterPath:
        """Return the outline of a port glyph, made once a size; whoever changes it copies it."""
        path = self._glyphs.get((glyph, size))
        if path is None:
            path = self._glyphs[glyph, size] = glyph_path(glyph, size)
        return path

    def far_font(self, pixels: int) -> tuple[QFont, QFontMetricsF]:
        """Return the font of names in another size, and its measures."""
        found = self._far.get(pixels)
        if found is None:
            font = QFont(self.name_font)
            font.setPixelSize(pixels)
            found = self._far[pixels] = (font, QFontMetricsF(font))
        return found

    @cached_property
    def name_font(self) -> QFont:
        """The font of names."""
        return _font(NAME_PX, QFont.Weight.DemiBold)

    @cached_property
    def small_font(self) -> QFont:
        """The font of everything else on a card; its figures are all of one width."""
        return _font(SMALL_PX, QFont.Weight.Normal)

    @cached_property
    def strong_font(self) -> QFont:
        """The small font for what should be seen first."""
        return _font(SMALL_PX, QFont.Weight.DemiBold)

    @cached_property
    def name_metrics(self) -> QFontMetricsF:
        """Sizes of `name_font`."""
        return QFontMetricsF(self.name_font)

    @cached_property
    def small_metrics(self) -> QFontMetricsF:
        """Sizes of `small_font`."""
        return QFontMetricsF(self.small_font)

    @cached_property
    def strong_metrics(self) -> QFontMetricsF:
        """Sizes of `strong_font`."""
        return QFontMetricsF(self.strong_font)

    def _wrap(self, parts: tuple[str, ...], room: float) -> Iterator[str]:
        lines: list[str] = []
        for part in parts:
            if lines and self.width(lines[-1] + _DOT + part) <= room:
                lines[-1] += _DOT + part
            else:
                lines.append(part)
        if lines:
            yield self.elided(lines[0], room)
        if len(lines) > 1:
            yield self.elided(_DOT.join(lines[1:]), room)


def glyph_path(glyph: str, size: float) -> QPainterPath:
    """Return the outline of a port glyph about the origin.

    Args:
        glyph: one of `● ■ ▲ ◆ ⬢ ○`; anything else is drawn as a circle.
        size: width and height of the shape.
    """
    half = size / 2
    path = QPainterPath()
    if glyph == "■":
        path.addRect(QRectF(-half * 0.88, -half * 0.88, size * 0.88, size * 0.88))
    elif points := _POLYGONS.get(glyph):
        path.addPolygon(QPolygonF([QPointF(x * half, y * half) for x, y in points]))
        path.closeSubpath()
    else:
        path.addEllipse(QPointF(0, 0), half, half)
    return path


def is_hollow(glyph: str) -> bool:
    """Say whether a glyph is drawn as an outline only."""
    return glyph == "○"


_POLYGONS = {
    "▲": ((0.0, -1.05), (1.05, 0.85), (-1.05, 0.85)),
    "◆": ((0.0, -1.2), (1.2, 0.0), (0.0, 1.2), (-1.2, 0.0)),
    "⬢": ((-0.55, -1.0), (0.55, -1.0), (1.1, 0.0), (0.55, 1.0), (-0.55, 1.0), (-1.1, 0.0)),
}


def _font(pixels: int, weight: QFont.Weight) -> QFont:
    font = QFont()
    font.setPixelSize(pixels)
    font.setWeight(weight)
    # Figures that change many times a second must not make the text around them dance.
    font.setFeature(QFont.Tag("tnum"), 1)
    return font
