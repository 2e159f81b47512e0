"""The look of the application: palette, fonts and stylesheet, made from a theme and a scale.

The only place that sets a stylesheet. `resources/themes/studio.qss` holds the rules, with
`@role` for a colour of the theme and `@px(13)` for a size that grows with the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

from PySide6.QtCore import QByteArray, QObject, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontDatabase, QIcon, QPainter, QPalette, QPixmap
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QApplication, QWidget

from aiflow_studio.ui.resources import resource
from aiflow_studio.ui.theme import DARK, Theme

#: Families in the order in which they are taken; all have tabular figures and the port glyphs.
FAMILIES = ("Inter", "Noto Sans", "DejaVu Sans")
BASE_PX = 13
#: Scales that Ctrl + and Ctrl − step through.
SCALES = (0.75, 0.85, 1.0, 1.15, 1.3, 1.5, 1.75, 2.0)
_ICON_PX = 64

_ROLE = re.compile(r"@([a-z_]+)(?:\(([a-z_0-9.]+)(?:,\s*([0-9.]+))?\))?")


class Look(QObject):
    """Theme and text size, for the whole application.

    Signals:
        changed(): the application looks different now; who paints by hand repaints.
    """

    changed = Signal()

    def __init__(
        self,
        app: QApplication,
        theme: Theme = DARK,
        scale: float = 1.0,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._app = app
        self._theme = theme
        self._scale = min(max(scale, SCALES[0]), SCALES[-1])
        app.setStyle("Fusion")
        self._apply()

    @property
    def theme(self) -> Theme:
        """The theme in use."""
        return self._theme

    @property
    def scale(self) -> float:
        """What the person chose with Ctrl + and Ctrl −; 1.0 is as designed."""
        return self._scale

    @property
    def text_scale(self) -> float:
        """How much larger than designed all text is, the theme's own share included."""
        return self._scale * self._theme.text_scale

    def set_theme(self, theme: Theme) -> None:
        """Change the colours."""
        if theme is not self._theme:
            self._theme = theme
            self._apply()

    def set_scale(self, scale: float) -> None:
        """Change the size of all text, within `SCALES`."""
        scale = min(max(scale, SCALES[0]), SCALES[-1])
        if scale != self._scale:
            self._scale = scale
            self._apply()

    def step_scale(self, steps: int) -> None:
        """Make all text larger (`steps` > 0) or smaller by so many steps."""
        nearest = min(range(len(SCALES)), key=lambda at: abs(SCALES[at] - self._scale))
        self.set_scale(SCALES[min(max(nearest + steps, 0), len(SCALES) - 1)])

    def _apply(self) -> None:
        self._app.setPalette(make_palette(self._theme))
        self._app.setFont(make_font(self.text_scale))
        rules = resource("themes", "studio.qss").read_text(encoding="utf-8")
        self._app.setStyleSheet(fill_in(rules, self._theme, self.text_scale))
        self.changed.emit()


def make_font(scale: float, px: int = BASE_PX) -> QFont:
    """Return the first family this machine has, with figures of equal width."""
    have = set(QFontDatabase.families())
    font = QFont()
    font.setFamilies([name for name in FAMILIES if name in have] or [QFont().family()])
    font.setPixelSize(max(1, round(px * scale)))
    font.setFeature(QFont.Tag.fromString("tnum"), 1)
    return font


def make_palette(theme: Theme) -> QPalette:
    """Return the palette for everything the stylesheet does not reach."""
    role = QPalette.ColorRole
    palette = QPalette()
    for where, color in (
        (role.Window, theme.panel),
        (role.WindowText, theme.text),
        (role.Base, theme.background),
        (role.AlternateBase, theme.raised),
        (role.Text, theme.text),
        (role.PlaceholderText, theme.muted),
        (role.Button, theme.raised),
        (role.ButtonText, theme.text),
        (role.ToolTipBase, theme.raised),
        (role.ToolTipText, theme.text),
        (role.Highlight, theme.accent),
        (role.HighlightedText, theme.background),
        (role.Link, theme.accent),
        (role.Light, theme.line),
        (role.Midlight, theme.line),
        (role.Mid, theme.line),
        (role.Dark, theme.line),
        (role.Shadow, theme.background),
    ):
        palette.setColor(where, QColor(color))
    for where in (role.WindowText, role.Text, role.ButtonText):
        palette.setColor(QPalette.ColorGroup.Disabled, where, QColor(disabled_text(theme)))
    return palette


def disabled_text(theme: Theme) -> str:
    """Return the colour of text that cannot be used now."""
    return theme.tint("muted", 0.6)


def fill_in(rules: str, theme: Theme, scale: float) -> str:
    """Return a stylesheet with the theme's colours and scaled sizes in place.

    `@text` is a colour, `@tint(ok, 0.2)` the panel's colour with a share of it, `@px(13)`
    a size that grows with the text, `@icon(arrow)` the path of an icon.

    Raises:
        AttributeError: the rules name a colour that themes do not have.
    """

    def value(match: re.Match[str]) -> str:
        name, argument, share = match.groups()
        if name == "px":
            return f"{max(1, round(float(argument) * scale))}px"
        if name == "icon":
            return resource("icons", f"{argument}.svg").as_posix()
        if name == "tint":
            return theme.tint(argument, float(share))
        if name == "disabled":
            return disabled_text(theme)
        return str(getattr(theme, name))

    return _ROLE.sub(value, rules)


def set_tone(widget: QWidget, tone: str) -> None:
    """Set the property by which the stylesheet colours a widget: `running`, `error`, … or ""."""
    if widget.property("tone") != tone:
        widget.setProperty("tone", tone)
        widget.style().unpolish(widget)
        widget.style().polish(widget)


def plain_tip(text: str) -> str:
    """Return a tool tip that shows a text as it is, also where it looks like markup."""
    return f'<p style="white-space: pre-wrap">{escape(text)}</p>' if "<" in text else text


def headed_tip(head: str, beside: str, lines: Iterable[str]) -> str:
    """Return a tool tip of plain texts: a bold one, what stands beside it, and lines below."""
    first = f"<b>{escape(head)}</b> {escape(beside)}".rstrip()
    return "<br>".join([first, *(escape(line) for line in lines if line)])


def icon(name: str, color: str) -> QIcon:
    """Return an icon of `resources/icons`, drawn in one colour."""
    drawing = resource("icons", f"{name}.svg").read_bytes().replace(b"currentColor", color.encode())
    renderer = QSvgRenderer(QByteArray(drawing))
    pixmap = QPixmap(_ICON_PX, _ICON_PX)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    renderer.render(painter, QRectF(0, 0, _ICON_PX, _ICON_PX))
    painter.end()
    made = QIcon(pixmap)
    # The stylesheet dims what cannot be used; Qt's own grey would hide a running run's button.
    made.addPixmap(pixmap, QIcon.Mode.Disabled)
    return made
