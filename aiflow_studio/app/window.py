"""The main window: menus, docks, status bar, title. It arranges and decides nothing.

Panels are handed in by the composition root; what the window cannot decide (closing with
unsaved changes, a file dropped on it) it asks for by a signal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QMimeData, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QCloseEvent, QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import (
    QDockWidget,
    QMainWindow,
    QTabWidget,
    QToolBar,
    QWidget,
)

from aiflow_studio.app.status import StatusBar
from aiflow_studio.ui.elided import ElidedLabel
from aiflow_studio.ui.theme import Theme

TITLE = "AiFlow Studio"
DEFAULT_SIZE = (1600, 1000)
#: What palette and inspector need for text of the designed size.
_LEAST_PALETTE, _LEAST_INSPECTOR = 152, 316
_FRAME = QSize(16, 48)
PALETTE_WIDTH, INSPECTOR_WIDTH, BOTTOM_HEIGHT = 216, 332, 288
#: Number of the arrangement of docks, as it is remembered between starts.
_STATE_VERSION = 1
#: Narrower than this, for text of the designed size, and larger text leaves the graph no room.
_ROOMY_WIDTH = 1200
#: On a screen that is less high, the graph keeps the most of it.
_BOTTOM_SHARE = 0.32


@dataclass(frozen=True, slots=True)
class Panels:
    """What the window shows; it owns the widgets from then on."""

    palette: QWidget
    canvas: QWidget
    inspector: QWidget
    plots: QWidget
    output: QWidget
    problems: QWidget


class MainWindow(QMainWindow):
    """The window.

    Signals:
        close_asked(): somebody wants the window closed; `close_for_good` does it.
        dropped(Path): a file was dropped on the window.
    """

    close_asked = Signal()
    dropped = Signal(Path)

    def __init__(self, panels: Panels, bar: QToolBar, theme: Theme) -> None:
        super().__init__()
        self.setObjectName("studio")
        self.setAcceptDrops(True)
        self._may_close = False
        self._text_scale = 0.0
        self._put_away: list[QDockWidget] = []
        self._is_palette_away = False
        self.status = StatusBar(theme)
        self.tabs = self._make_tabs(panels)
        self.addToolBar(bar)
        self.setStatusBar(self.status)
        self.setCentralWidget(panels.canvas)
        self.resize(*DEFAULT_SIZE)
        self._place_docks(panels)
        self.file_label = ElidedLabel(mode=Qt.TextElideMode.ElideMiddle)
        self.file_label.setObjectName("corner")
        self.menuBar().setCornerWidget(self.file_label)
        self.set_theme(theme)

    def show_file(self, path: Path | None, name: str, is_dirty: bool) -> None:
        """Name the document in the title, with a dot while it has unsaved changes."""
        shown = path.name if path is not None else f"{name or 'untitled'} (not saved)"
        mark = " •" if is_dirty else ""
        # Qt's own mark `[*]` must be in the title for `setWindowModified`.
        self.setWindowTitle(f"{shown}{mark}[*] – {TITLE}")
        self.setWindowModified(is_dirty)
        self.setWindowFilePath(str(path) if path is not None else "")
        self.file_label.say(f"{shown}{mark}")
        self.status.show_document(is_saved=not is_dirty, has_file=path is not None)

    def show_problem_count(self, problems: int) -> None:
        """Put the number of problems on their tab and into the status bar."""
        self.tabs.setTabText(self.tabs.count() - 1, f"Problems {problems}")
        self.status.show_problems(problems)

    def show_tab(self, panel: QWidget) -> None:
        """Bring a panel of the bottom dock to the front."""
        self.tabs.setCurrentWidget(panel)
        for dock in self.docks():
            if dock.isAncestorOf(panel):
                dock.setVisible(True)

    def docks(self) -> Sequence[QDockWidget]:
        """Return the docks: palette, inspector, bottom."""
        return self._docks

    def set_theme(self, theme: Theme) -> None:
        """Draw the status bar in the theme's colours."""
        self.status.set_theme(theme)

    def set_text_scale(self, scale: float) -> None:
        """Give the docks room for larger text, and leave them as they are for the same."""
        if scale == self._text_scale:
            return
        self._text_scale = scale
        # They have room to spare as designed: what they do not need stays with the canvas.
        palette = max(PALETTE_WIDTH, round(_LEAST_PALETTE * scale))
        inspector = max(INSPECTOR_WIDTH, round(_LEAST_INSPECTOR * scale))
        self.resizeDocks(list(self._docks[:2]), [palette, inspector], Qt.Orientation.Horizontal)
        self._size_bottom()
        self.make_room()

    def fit_screen(self) -> None:
        """Be no larger than the screen; what hangs off its edge could not be reached."""
        room = self.screen().availableGeometry()
        # The frame is known only once the window is shown; this is what frames take.
        size = self.size().boundedTo(room.size() - _FRAME)
        if size != self.size():
            self.resize(size)
            self._size_bottom()
        self.make_room()

    def make_room(self) -> None:
        """Put the palette away where larger text leaves the graph too little of the window.

        Whoever needs it has it back from the View menu, or by going to its search.
        """
        is_narrow = self._text_scale > 1 and self.width() < _ROOMY_WIDTH * self._text_scale
        if not is_narrow:
            self._give_palette_back()
        elif not self._is_palette_away and not self._docks[0].isHidden():
            self._is_palette_away = True
            self._docks[0].hide()

    def docks_state(self) -> bytes:
        """Return how the docks are arranged, for `restore_docks`."""
        # Nobody has closed it: whether there is room is looked at anew at each start.
        self._give_palette_back()
        return bytes(self.saveState(_STATE_VERSION).data())

    def restore_docks(self, state: bytes) -> None:
        """Arrange the docks as they were, as far as there is room."""
        self._give_palette_back()
        self.restoreState(state, _STATE_VERSION)
        self.make_room()

    def _give_palette_back(self) -> None:
        """Show the palette again if it was put away to make room."""
        if self._is_palette_away:
            self._is_palette_away = False
            self._docks[0].show()

    def toggle_panels(self) -> None:
        """Give the canvas the whole window, or the panels back that it had."""
        shown = [dock for dock in self._docks if dock.isVisibleTo(self)]
        if shown:
            self._put_away = shown
        for dock in self._docks:
            dock.setVisible(not shown and dock in (self._put_away or self._docks))

    def close_for_good(self) -> None:
        """Close without asking."""
        self._may_close = True
        self.close()

    def closeEvent(self, event: QCloseEvent) -> None:
        """Let nothing close the window but `close_for_good`."""
        if self._may_close:
            event.accept()
        else:
            event.ignore()
            self.close_asked.emit()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Take one local file."""
        if dropped_file(event.mimeData()) is not None:
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        """Ask for the file to be opened, once the drag is over."""
        path = dropped_file(event.mimeData())
        if path is not None:
            event.acceptProposedAction()
            QTimer.singleShot(0, self, lambda: self.dropped.emit(path))

    def _size_bottom(self) -> None:
        height = min(BOTTOM_HEIGHT, round(self.height() * _BOTTOM_SHARE))
        self.resizeDocks([self._docks[2]], [height], Qt.Orientation.Vertical)

    def _make_tabs(self, panels: Panels) -> QTabWidget:
        tabs = QTabWidget()
        tabs.setObjectName("bottom")
        tabs.setDocumentMode(True)
        tabs.addTab(panels.plots, "Plots")
        tabs.addTab(panels.output, "Output")
        tabs.addTab(panels.problems, "Problems 0")
        return tabs

    def _place_docks(self, panels: Panels) -> None:
        corner, area = Qt.Corner, Qt.DockWidgetArea
        self.setCorner(corner.BottomRightCorner, area.RightDockWidgetArea)
        self.setCorner(corner.BottomLeftCorner, area.BottomDockWidgetArea)
        self._docks = (
            self._dock("Palette", panels.palette, area.LeftDockWidgetArea),
            self._dock("Inspector", panels.inspector, area.RightDockWidgetArea),
            self._dock("Plots, output, problems", self.tabs, area.BottomDockWidgetArea),
        )
        self.set_text_scale(1.0)

    def _dock(self, title: str, panel: QWidget, area: Qt.DockWidgetArea) -> QDockWidget:
        dock = QDockWidget(title, self)
        dock.setObjectName(title)
        # Headed by what it shows, not by a bar; the View menu hides and shows it.
        dock.setTitleBarWidget(QWidget(dock))
        dock.setFeatures(QDockWidget.DockWidgetFeature.DockWidgetClosable)
        dock.setWidget(panel)
        self.addDockWidget(area, dock)
        return dock


def dropped_file(data: QMimeData) -> Path | None:
    """Return the local file that is dragged, None where it is anything else or several."""
    urls = data.urls()
    if len(urls) != 1 or not urls[0].isLocalFile():
        return None
    path = Path(urls[0].toLocalFile())
    return path if path.is_file() else None
