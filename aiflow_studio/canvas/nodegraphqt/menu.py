"""The menu of a right click on the canvas."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QMenu

from aiflow_studio.canvas.intents import Copy, Disconnect, Paste, Remove
from aiflow_studio.canvas.nodegraphqt.viewer import Viewer


class CanvasMenu:
    """Makes a menu for what was clicked.

    Args:
        viewer: where the click was; it says what is asked for.
        rename: starts renaming a node.
        fit: shows the whole graph.
    """

    def __init__(
        self, viewer: Viewer, rename: Callable[[str], None], fit: Callable[[], None]
    ) -> None:
        self._viewer = viewer
        self._rename = rename
        self._fit = fit

    def open(self, at: QPoint, item: str) -> None:
        """Open the menu at a global position, without waiting for it.

        Args:
            at: where, in global coordinates.
            item: node or edge under the pointer, "" for neither.
        """
        menu = QMenu(self._viewer)
        menu.setObjectName("canvas-menu")
        menu.aboutToHide.connect(menu.deleteLater)
        if ">" in item:
            menu.addAction("Disconnect", lambda: self._viewer.ask(Disconnect(item)))
        elif item:
            self._fill_for_node(menu, item)
        else:
            self._fill_for_ground(menu, at)
        menu.popup(at)

    def _fill_for_node(self, menu: QMenu, node: str) -> None:
        viewer = self._viewer
        picked = viewer.picked_nodes() or frozenset({node})
        menu.addAction("Rename…\tF2", lambda: self._rename(node))
        menu.addSeparator()
        menu.addAction("Cut\tCtrl+X", lambda: viewer.ask(Copy(removes=True)))
        menu.addAction("Copy\tCtrl+C", lambda: viewer.ask(Copy()))
        menu.addSeparator()
        menu.addAction("Delete\tDel", lambda: viewer.ask(Remove(picked, frozenset())))

    def _fill_for_ground(self, menu: QMenu, at: QPoint) -> None:
        viewer = self._viewer
        where = viewer.mapToScene(viewer.viewport().mapFromGlobal(at))
        menu.addAction("Add node…\tTab", lambda: viewer.search_wanted.emit(where.x(), where.y()))
        menu.addAction("Paste here\tCtrl+V", lambda: viewer.ask(Paste(where.x(), where.y())))
        menu.addSeparator()
        menu.addAction("Fit to window", self._fit)
