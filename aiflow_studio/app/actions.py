"""The actions of the application, as a table, and the book that makes Qt actions of it.

An entry says id, words, keys, when it can be used, and the name of its handler; the handlers
are in `commands`. Menus, run bar and tests all read this table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMenu, QMenuBar


@dataclass(frozen=True, slots=True)
class Situation:
    """What decides whether an action can be used now."""

    nodes: int = 0
    selected_nodes: int = 0
    selected_edges: int = 0
    is_running: bool = False
    is_draining: bool = False
    differs: bool = False
    undo: str = ""
    redo: str = ""


def always(_now: Situation) -> bool:
    """Any time."""
    return True


def has_nodes(now: Situation) -> bool:
    """There is something to work on."""
    return now.nodes > 0


def has_selection(now: Situation) -> bool:
    """Nodes or edges are selected."""
    return now.selected_nodes + now.selected_edges > 0


def has_nodes_selected(now: Situation) -> bool:
    """Nodes are selected."""
    return now.selected_nodes > 0


def has_one_node_selected(now: Situation) -> bool:
    """Exactly one node is selected."""
    return now.selected_nodes == 1


def may_start(now: Situation) -> bool:
    """There is something to run and nothing runs."""
    return now.nodes > 0 and not now.is_running


def may_drain(now: Situation) -> bool:
    """A run goes on and is not draining yet."""
    return now.is_running and not now.is_draining


@dataclass(frozen=True, slots=True)
class ActionInfo:
    """One action.

    Attributes:
        id: also its object name. `text`: as in a menu, `&` before its mnemonic.
        handler: name of the method of `Commands` that does it.
        keys: in Qt's portable spelling; the first is shown.
        tip: one phrase for tooltips; the text where empty.
        is_local: its keys belong to the canvas alone, so that typing elsewhere keeps them.
        is_switch: it is on or off.
    """

    id: str
    text: str
    handler: str
    keys: tuple[str, ...] = ()
    enabled: Callable[[Situation], bool] = always
    tip: str = ""
    is_local: bool = False
    is_switch: bool = False


ACTIONS: tuple[ActionInfo, ...] = (
    ActionInfo("new", "&New", "new", ("Ctrl+N",)),
    ActionInfo("open", "&Open…", "open", ("Ctrl+O",)),
    ActionInfo("save", "&Save", "save", ("Ctrl+S",)),
    ActionInfo("save-as", "Save &as…", "save_as", ("Ctrl+Shift+S",)),
    ActionInfo(
        "export",
        "&Export…",
        "export",
        ("Ctrl+E",),
        has_nodes,
        "Write the graph without layout and notes, as a server runs it",
    ),
    ActionInfo("quit", "&Quit", "quit", ("Ctrl+Q",)),
    ActionInfo("undo", "&Undo", "undo", ("Ctrl+Z",), lambda now: bool(now.undo)),
    ActionInfo("redo", "&Redo", "redo", ("Ctrl+Shift+Z", "Ctrl+Y"), lambda now: bool(now.redo)),
    ActionInfo("cut", "Cu&t", "cut", ("Ctrl+X",), has_nodes_selected, is_local=True),
    ActionInfo("copy", "&Copy", "copy", ("Ctrl+C",), has_nodes_selected, is_local=True),
    ActionInfo("paste", "&Paste", "paste", ("Ctrl+V",), is_local=True),
    ActionInfo(
        "duplicate", "Dup&licate", "duplicate", ("Ctrl+D",), has_nodes_selected, is_local=True
    ),
    ActionInfo("delete", "&Delete", "delete", ("Del", "Backspace"), has_selection, is_local=True),
    ActionInfo("rename", "Re&name", "rename", ("F2",), has_one_node_selected),
    ActionInfo("select-all", "Select &all", "select_all", ("Ctrl+A",), has_nodes, is_local=True),
    ActionInfo("find-operator", "&Find operator…", "find_operator", ("Ctrl+F",)),
    ActionInfo("zoom-in", "Zoom &in", "zoom_in", ("Ctrl+Alt+=", "Ctrl+Alt++")),
    ActionInfo("zoom-out", "Zoom &out", "zoom_out", ("Ctrl+Alt+-",)),
    ActionInfo("zoom-reset", "Zoom to &100 %", "zoom_reset", ("Ctrl+Alt+0",)),
    ActionInfo("fit", "&Fit graph in view", "fit", ("Ctrl+Shift+F",), has_nodes),
    ActionInfo(
        "graph-only",
        "&Graph only",
        "graph_only",
        ("F11",),
        tip="Hide the panels and fit the graph, or show them again",
    ),
    ActionInfo("text-larger", "Text &larger", "text_larger", ("Ctrl++", "Ctrl+=")),
    ActionInfo("text-smaller", "Text &smaller", "text_smaller", ("Ctrl+-",)),
    ActionInfo("text-reset", "Text as &designed", "text_reset", ("Ctrl+0",)),
    ActionInfo(
        "validate", "&Validate", "validate", ("F7",), tip="Check the graph and name its bound"
    ),
    ActionInfo("run", "&Run", "run", ("F5",), may_start, "Run the graph"),
    ActionInfo("drain", "&Drain", "drain", (), may_drain, "Let what is inside come out, then end"),
    ActionInfo(
        "stop", "&Stop", "stop", ("Shift+F5",), lambda now: now.is_running, "Cancel the run"
    ),
    ActionInfo(
        "apply",
        "&Apply and restart",
        "apply",
        ("Ctrl+F5",),
        lambda now: now.is_running and now.differs,
        "The graph differs from the one that runs: stop, then run it as it is now",
    ),
    ActionInfo(
        "record",
        "Re&cord",
        "record",
        tip="Keep each answer of a model as a trace, from the next run on",
        is_switch=True,
    ),
    ActionInfo(
        "record-into", "Record &into…", "record_into", tip="Choose the folder of the recordings"
    ),
    ActionInfo(
        "attach",
        "Attac&h to a run…",
        "attach",
        (),
        lambda now: not now.is_running,
        "Look at a run that was started with aiflow run --serve, and steer it",
    ),
    ActionInfo("about", "&About AiFlow Studio", "about"),
)

#: Menu -> ids in order; None is a separator, `>name` a submenu that the window fills.
MENUS: Mapping[str, tuple[str | None, ...]] = {
    "&File": (
        *("new", "open", ">recent", ">examples", None),
        *("save", "save-as", "export", None, "quit"),
    ),
    "&Edit": (
        *("undo", "redo", None, "cut", "copy", "paste", "duplicate", "delete", None),
        *("rename", "select-all", "find-operator"),
    ),
    "&View": (
        *("fit", "zoom-in", "zoom-out", "zoom-reset", "graph-only", None),
        *("text-larger", "text-smaller", "text-reset", None, ">theme", ">panels"),
    ),
    "&Run": (
        *("run", "drain", "stop", "apply", None, "validate", ">strategy", ">place", None),
        *("record", "record-into", None, "attach"),
    ),
    "&Help": ("about",),
}

SUBMENU_TITLES: Mapping[str, str] = {
    "recent": "Open &recent",
    "examples": "Open e&xample",
    "theme": "&Theme",
    "panels": "&Panels",
    "strategy": "S&trategy",
    "place": "Run &where",
}


class ActionBook(QObject):
    """The table's entries as Qt actions.

    Args:
        run: called with an entry's handler name when a person asks for it.
    """

    def __init__(self, run: Callable[[str], object], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.actions: dict[str, QAction] = {}
        self.submenus: dict[str, QMenu] = {}
        for info in ACTIONS:
            self.actions[info.id] = self._make(info, run)
        self.update(Situation())

    def update(self, now: Situation) -> None:
        """Enable what can be used now and name what undo and redo would do."""
        for info in ACTIONS:
            self.actions[info.id].setEnabled(info.enabled(now))
        for name, label in (("undo", now.undo), ("redo", now.redo)):
            word = name.capitalize()
            self.actions[name].setText(f"&{word}: {label}" if label else f"&{word}")

    def fill(self, bar: QMenuBar) -> None:
        """Build the menus."""
        for title, entries in MENUS.items():
            menu = bar.addMenu(title)
            menu.setToolTipsVisible(True)
            for entry in entries:
                if entry is None:
                    menu.addSeparator()
                elif entry.startswith(">"):
                    name = entry[1:]
                    self.submenus[name] = menu.addMenu(SUBMENU_TITLES[name])
                else:
                    menu.addAction(self.actions[entry])

    def _make(self, info: ActionInfo, run: Callable[[str], object]) -> QAction:
        action = QAction(info.text, self)
        action.setObjectName(info.id)
        action.setCheckable(info.is_switch)
        action.setToolTip(info.tip or info.text.replace("&", "").rstrip("…"))
        action.setShortcuts([QKeySequence.fromString(key) for key in info.keys])
        if info.is_local:
            # Invariant: such a key acts only while the widget that the action is added to has
            # the focus, so that Backspace in a form never deletes a node.
            action.setShortcutContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        action.triggered.connect(lambda: run(info.handler))
        return action
