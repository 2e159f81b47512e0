"""The composition root's one object: makes every part once and wires them.

Nothing else knows more than its neighbours. Taking it down is the reverse, in an order that Qt
and Python both survive: run, tasks, plots, canvas, window.
"""

from __future__ import annotations

import asyncio
import base64
import inspect
import logging
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, QTimer
from PySide6.QtGui import QCursor
from PySide6.QtWidgets import QApplication, QLineEdit

from aiflow.compiler.compile import Compiled
from aiflow.compiler.diagnostics import Severity
from aiflow.errors import AiFlowError
from aiflow.operators.registry import Catalog
from aiflow_studio.app.actions import ActionBook, Situation
from aiflow_studio.app.commands import Commands, Parts
from aiflow_studio.app.crash import CrashReporter
from aiflow_studio.app.errands import Errands
from aiflow_studio.app.files import FileDesk, shipped_graphs
from aiflow_studio.app.keys import change_key
from aiflow_studio.app.menus import (
    fill_choice,
    fill_examples,
    fill_panels,
    keep_recent,
    show_choice,
)
from aiflow_studio.app.recording import RecordSwitch
from aiflow_studio.app.recovery import Recovery
from aiflow_studio.app.settings import SettingsFile
from aiflow_studio.app.tuning import LiveTuning
from aiflow_studio.app.window import MainWindow, Panels
from aiflow_studio.canvas.controller import CanvasController
from aiflow_studio.canvas.intents import LooseWire
from aiflow_studio.canvas.nodegraphqt.adapter import NodeGraphQtCanvas
from aiflow_studio.document.document import Document
from aiflow_studio.document.selection import Selection
from aiflow_studio.inspector.panel import InspectorPanel
from aiflow_studio.output.panel import OutputPanel
from aiflow_studio.palette.panel import PalettePanel
from aiflow_studio.palette.popup import OperatorSearch
from aiflow_studio.plots.panel import PlotsPanel
from aiflow_studio.problems.linter import Linter
from aiflow_studio.problems.panel import ProblemsPanel
from aiflow_studio.runbar.panel import STRATEGIES, RunBar
from aiflow_studio.runs.controller import RunController
from aiflow_studio.runs.host import RunHost
from aiflow_studio.ui.dialogs import ask_yes_no, tell
from aiflow_studio.ui.look import Look
from aiflow_studio.ui.theme import DARK, THEMES

#: Seconds that a run may take to end when the window closes.
CLOSING_S = 3.0
#: Plots follow every second sample: a curve that grows 7 times a second looks as smooth.
_PLOT_EVERY = 2
_CLIPPED = 300
#: Where runs live -> what the menu calls it.
PLACES = {"here": "In this window", "apart": "In a process of its own"}
#: Stands between the place of the window and that of its docks.
_BETWEEN = b"\0docks\0"


_log = logging.getLogger(__name__)


class Studio(QObject):
    """Everything that is open, from the window to the run.

    Args:
        app: the application.
        catalog: operators and resources there are.
        host: where runs live.
        settings: what is remembered between starts, and where unsaved work outlives a crash.
        crash: told of every error that nobody caught.
        apart: where runs live that are to have a process of their own; None is `host`.
    """

    def __init__(
        self,
        app: QApplication,
        catalog: Catalog,
        host: RunHost,
        settings: SettingsFile,
        crash: CrashReporter,
        apart: RunHost | None = None,
    ) -> None:
        super().__init__()
        self._hosts = {"here": host, "apart": apart or host}
        self._settings_file = settings
        self._settings = settings.read()
        self._is_closing = self._is_leaving = False
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.crash = crash
        self.errands = Errands(crash.report)
        self.look = Look(
            app, THEMES.get(self._settings.theme, DARK), self._settings.text_scale, self
        )
        theme = self.look.theme
        self.document = Document(parent=self)
        self.selection = Selection(self)
        self.runs = RunController(host, self)
        self.linter = Linter(self.document, catalog, self)
        self.canvas = NodeGraphQtCanvas(catalog, theme, self)
        self.palette = PalettePanel(catalog, theme)
        self.inspector = InspectorPanel(self.document, self.selection, catalog, theme)
        self.plots = PlotsPanel(self.runs.history, self.selection, theme)
        self.output = OutputPanel(theme)
        self.problems = ProblemsPanel(self.document, self.selection, theme)
        self.book = ActionBook(self._run_handler, self)
        bar_actions = ("run", "drain", "stop", "record", "validate", "apply")
        self.bar = RunBar({name: self.book.actions[name] for name in bar_actions}, theme)
        panels = Panels(
            palette=self.palette,
            canvas=self.canvas.widget(),
            inspector=self.inspector,
            plots=self.plots,
            output=self.output,
            problems=self.problems,
        )
        self.window = MainWindow(panels, self.bar, theme)
        self.search = OperatorSearch(catalog, theme, self.window)
        self.editor = CanvasController(self.canvas, self.document, self.selection, catalog, self)
        self.desk = FileDesk(self.document, self.linter, catalog, self.window, self._leave_run)
        self.recording = RecordSwitch(
            self.book.actions["record"],
            self.window,
            self._settings.record_folder,
            self._remember_record_folder,
            self.bar.say,
        )
        self.commands = Commands(
            Parts(
                document=self.document,
                selection=self.selection,
                look=self.look,
                window=self.window,
                bar=self.bar,
                canvas=self.canvas,
                editor=self.editor,
                palette=self.palette,
                linter=self.linter,
                problems=self.problems,
                runs=self.runs,
                desk=self.desk,
                recording=self.recording,
            )
        )
        self._search_at = (0.0, 0.0)
        self._search_wire: LooseWire | None = None
        self._samples = 0
        self._fill_menus()
        self._wire_document()
        self._wire_run()
        self._wire_window()
        self._show_look()
        self._restore_geometry()
        self._show_situation()

    def open_at_start(self, path: Path | None) -> None:
        """Show a file, or an empty document.

        Raises:
            GraphFileError: the file cannot be read or is no graph.
        """
        if path is not None:
            self.desk.load(path)
        self.desk.moved.emit()
        self.linter.check_now()
        self.canvas.fit()

    async def close(self) -> None:
        """Ask about unsaved changes, end the run, and close the window for good."""
        if self._is_closing:
            return
        self._is_closing = True
        self._end_typing()
        try:
            if await self.desk.may_leave():
                self.recovery.give_up()
                await self.leave()
        finally:
            self._is_closing = False

    async def leave(self) -> None:
        """End the run and close the window, without asking; only the first call does.

        Unsaved work that nobody was asked about is kept for the next start.
        """
        if self._is_leaving:
            return
        self._is_leaving = True
        # What would be typed while the run ends would be lost.
        self.window.setEnabled(False)
        self._remember()
        self.recovery.end()
        # The host cancels what does not end by itself; this is for one that hangs.
        try:
            async with asyncio.timeout(CLOSING_S):
                await self.runs.close()
        except TimeoutError:
            _log.warning("the run did not end within %g s; closing all the same", CLOSING_S)
        self.window.close_for_good()
        if not self.closed.done():
            self.closed.set_result(None)

    async def dismantle(self) -> None:
        """Take everything down; the window has been closed."""
        await self.errands.close()
        self.search.close()
        self.plots.close_plots()
        self.canvas.close()
        self.window.deleteLater()
        self.deleteLater()

    # Wiring

    def _wire_document(self) -> None:
        self.recovery = Recovery(
            self._settings_file.journals, self.document, self.desk, self.window, self.bar.say
        )
        self.document.changed.connect(self._show_situation)
        self.selection.changed.connect(self._show_situation)
        self.selection.changed.connect(self.plots.refresh)
        self.document.undo_stack.indexChanged.connect(self._show_situation)
        self.linter.compiled.connect(self._show_compiled)
        self.problems.reveal.connect(self._reveal)
        self.palette.add_requested.connect(self._add)
        self.canvas.search_requested.connect(self._open_search)
        self.canvas.wire_dropped.connect(self._open_search)
        self.editor.refused.connect(lambda sentence: self.bar.say(sentence, "error"))
        self.search.chosen.connect(self._add_where_searched)
        self.inspector.key_wanted.connect(self._change_key)
        self.inspector.run_asked.connect(self._ask_run)
        self.canvas.zoomed.connect(self.window.status.show_zoom)
        self.window.status.show_zoom(self.canvas.zoom())

    def _wire_run(self) -> None:
        self.runs.started.connect(self._begin_run)
        self.runs.sampled.connect(self._show_snapshot)
        self.runs.shown.connect(self.output.append)
        self.runs.phase_changed.connect(self._show_phase)
        self.runs.refused.connect(self._refuse_run)
        self.bar.strategy_chosen.connect(self._show_situation)
        self.tuning = LiveTuning(self.document, self.runs, self.errands.run, self)
        self.tuning.tuned.connect(self._tell_tuned)
        self.tuning.refused.connect(lambda sentence: self.bar.say(sentence, "error"))
        self._choose_place("apart" if self._settings.runs_apart else "here")

    def _wire_window(self) -> None:
        self.window.close_asked.connect(lambda: self.errands.run(self.close(), "close"))
        self.window.dropped.connect(lambda path: self.errands.run(self._take_drop(path), "drop"))
        self.desk.moved.connect(self._show_file)
        self.desk.visited.connect(self._visit)
        self.look.changed.connect(self._show_look)
        self.crash.crashed.connect(self._tell_crash)
        # The canvas has keys of its own for all but this one.
        self.canvas.widget().addAction(self.book.actions["duplicate"])

    def _fill_menus(self) -> None:
        self.book.fill(self.window.menuBar())
        menus = self.book.submenus
        keep_recent(menus["recent"], lambda: self._settings.recent, self._open)
        open_copy = partial(self._open, as_copy=True)
        fill_examples(
            menus["examples"], shipped_graphs("examples"), shipped_graphs("live"), open_copy
        )
        titles = {name: theme.title for name, theme in THEMES.items()}
        fill_choice(menus["theme"], titles, lambda name: self.look.set_theme(THEMES[name]))
        fill_choice(
            menus["strategy"], {name: name for name in STRATEGIES}, self.bar.choose_strategy
        )
        fill_choice(menus["place"], PLACES, self._choose_place)
        fill_panels(menus["panels"], self.window.docks())

    def _run_handler(self, name: str) -> None:
        self._end_typing()
        result = getattr(self.commands, name)()
        if inspect.iscoroutine(result):
            self.errands.run(result, name)

    def _end_typing(self) -> None:
        """Take the name that is being typed on the canvas: a command is for what can be seen."""
        typed_in = QApplication.focusWidget()
        if isinstance(typed_in, QLineEdit) and self.canvas.widget().isAncestorOf(typed_in):
            typed_in.clearFocus()

    # Document

    def _open(self, path: Path, *, as_copy: bool = False) -> None:
        self.errands.run(self.commands.open_path(path, as_copy=as_copy), "open")

    async def _take_drop(self, path: Path) -> None:
        if await ask_yes_no(self.window, "Open", f"Open {path.name}?", "Open"):
            await self.commands.open_path(path)

    async def _leave_run(self) -> None:
        """End the run of a document that is about to go, and forget what it showed."""
        await self.runs.end()
        self.runs.forget()
        self.canvas.activity(None)
        self.inspector.set_snapshot(None)
        self.output.clear()
        self.plots.refresh()
        self.window.status.show_run("idle", None)

    def _add(self, operator: str) -> None:
        self.editor.add(operator)
        self.canvas.widget().setFocus()

    def _open_search(self, x: float, y: float, wire: LooseWire | None = None) -> None:
        """Open the search; from a wire in hand only for what it can end at."""
        self._search_at, self._search_wire = (x, y), wire
        fits = self.editor.type_of(wire) if wire is not None else None
        is_wanted_before = wire is not None and wire.is_input
        view = self.canvas.widget()
        at = QCursor.pos()
        inside = view.rect().contains(view.mapFromGlobal(at))
        self.search.open_at(
            at if inside else view.mapToGlobal(view.rect().center()),
            source=None if is_wanted_before else fits,
            target=fits if is_wanted_before else None,
        )

    def _add_where_searched(self, operator: str) -> None:
        self.editor.add(operator, self._search_at, self._search_wire)
        self.canvas.widget().setFocus()

    def _change_key(self, name: str) -> None:
        self.errands.run(self._ask_for_key(name), "key")

    async def _ask_for_key(self, name: str) -> None:
        if await change_key(self.window, name, lambda sentence: self.bar.say(sentence, "ok")):
            self.linter.check_anew()

    def _reveal(self, item: str) -> None:
        self.canvas.reveal(item)

    def _visit(self, path: Path) -> None:
        self._settings = self._settings.with_recent(path)
        self._settings_file.write(self._settings)

    def _remember_record_folder(self, folder: str) -> None:
        self._settings = self._settings.model_copy(update={"record_folder": folder})
        self._settings_file.write(self._settings)

    # Showing

    def _show_file(self) -> None:
        name = self.document.graph.name
        self.window.show_file(self.desk.path, name, self.document.is_dirty)
        self.inspector.base = self.desk.base

    def _show_situation(self, *_: object) -> None:
        graph, stack = self.document.graph, self.document.undo_stack
        differs = self.commands.differs()
        self.book.update(
            Situation(
                nodes=len(graph.nodes),
                selected_nodes=len(self.selection.nodes),
                selected_edges=len(self.selection.edges),
                is_running=self.runs.is_active,
                is_draining=self.runs.phase == "draining",
                differs=differs,
                undo=stack.undoText() if stack.canUndo() else "",
                redo=stack.redoText() if stack.canRedo() else "",
            )
        )
        self.bar.show_apply(differs)
        show_choice(self.book.submenus["strategy"], self.bar.strategy)

    def _show_compiled(self, _compiled: object) -> None:
        compiled = self.linter.check_now()
        self.canvas.badge(compiled.diagnostics)
        self.inspector.set_compiled(compiled)
        self.problems.show_compiled(compiled)
        self.window.show_problem_count(problem_count(compiled))

    def _show_look(self) -> None:
        theme, scale = self.look.theme, self.look.text_scale
        for panel in (
            *(self.canvas, self.palette, self.inspector, self.plots),
            *(self.output, self.problems, self.bar, self.window, self.search),
        ):
            panel.set_theme(theme)
        self.canvas.set_text_scale(scale)
        self.plots.set_text_scale(scale)
        self.window.set_text_scale(scale)
        show_choice(self.book.submenus["theme"], theme.name)

    # Run

    def _choose_place(self, place: str) -> None:
        """Let runs live here or in a process of their own, from the next start on."""
        self.runs.use(self._hosts[place])
        self._settings = self._settings.model_copy(update={"runs_apart": place == "apart"})
        show_choice(self.book.submenus["place"], place)

    def _ask_run(self, call: str, arguments: dict[str, Any], then: object) -> None:
        """Ask the run at hand, hand on its answer, and say why where it refuses."""
        if self.runs.is_active:
            self.errands.run(self._answer(call, arguments, then), call)

    async def _answer(self, call: str, arguments: dict[str, Any], then: object) -> None:
        try:
            answer = await getattr(self.runs.host, call)(**arguments)
        except AiFlowError as error:
            if self.runs.is_active:
                self.bar.say(str(error), "error")
            return
        if callable(then):
            then(answer)

    def _tell_tuned(self, sentence: str) -> None:
        self.bar.say(sentence, "ok")
        self._show_situation()

    def _begin_run(self) -> None:
        self._samples = 0
        self.canvas.activity(None)
        self.output.clear()
        self.bar.say("")

    def _show_snapshot(self) -> None:
        self.canvas.activity(self.runs.snapshot)
        self.inspector.set_snapshot(self.runs.snapshot)
        self._samples += 1
        if self._samples % _PLOT_EVERY == 0 or not self.runs.is_active:
            self.plots.refresh()
        self.window.status.show_run(self.runs.phase, self.runs.snapshot)
        self._say_error()

    def _say_error(self) -> None:
        """Say the run's first error once: one conversation may fail while others go on."""
        error = self.runs.snapshot.error if self.runs.snapshot is not None else None
        if error and error != self.bar.said:
            self.bar.say(error, "error")

    def _show_phase(self, _phase: str) -> None:
        self.bar.show_phase(self.runs.phase)
        self.window.status.show_run(self.runs.phase, self.runs.snapshot)
        self._show_situation()

    def _refuse_run(self, sentence: str) -> None:
        """Say why nothing runs, and lead to the first problem where the graph has one."""
        self.commands.validate()
        self.bar.say(f"Not started: {sentence}", "error")

    def _tell_crash(self, sentence: str, details: str) -> None:
        # One box at a time: an error in a timer would open twenty a second.
        if self.window.findChild(QObject, "crash") is None:
            box = tell(
                self.window,
                "Something went wrong",
                f"{sentence[:_CLIPPED]}\n\nThe run and the document are as they were.",
                details,
            )
            box.setObjectName("crash")

    # Between starts

    def _remember(self) -> None:
        geometry = bytes(self.window.saveGeometry().data())
        docks = self.window.docks_state()
        state = _BETWEEN.join((geometry, docks))
        self._settings = self._settings.model_copy(
            update={
                "theme": self.look.theme.name,
                "text_scale": self.look.scale,
                "geometry": base64.b64encode(state).decode("ascii"),
            }
        )
        self._settings_file.write(self._settings)

    def _restore_geometry(self) -> None:
        try:
            raw = base64.b64decode(self._settings.geometry, validate=True)
        except ValueError:
            return
        geometry, _, state = raw.partition(_BETWEEN)
        if geometry and state:
            self.window.restoreGeometry(geometry)
            # After the first layout, which would undo it.
            QTimer.singleShot(0, self, lambda: self.window.restore_docks(state))


def problem_count(compiled: Compiled) -> int:
    """Return how many findings are problems; hints are none."""
    return sum(each.severity is not Severity.HINT for each in compiled.diagnostics)
