"""What each action does; `actions.ACTIONS` names these methods.

A command that has to ask is a coroutine. Nothing is decided here that a panel, the document
or the run controller decides: commands only bring them together.
"""

from __future__ import annotations

import platform
from dataclasses import dataclass
from pathlib import Path

import PySide6
from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QMessageBox

from aiflow.compiler.diagnostics import Diagnostic, Severity
from aiflow.errors import AiFlowError, GraphFileError
from aiflow.graph import codec, edits
from aiflow.graph.model import Graph
from aiflow_studio import __version__
from aiflow_studio.app.files import FileDesk
from aiflow_studio.app.recording import RecordSwitch
from aiflow_studio.app.window import TITLE, MainWindow
from aiflow_studio.canvas.controller import CanvasController
from aiflow_studio.canvas.view import CanvasView
from aiflow_studio.document.document import Document
from aiflow_studio.document.selection import Selection
from aiflow_studio.palette.panel import PalettePanel
from aiflow_studio.problems.linter import Linter
from aiflow_studio.problems.panel import ProblemsPanel
from aiflow_studio.runbar.panel import RunBar
from aiflow_studio.runs.controller import RunController
from aiflow_studio.runs.host import RunRequest
from aiflow_studio.runs.remote import AttachedHost
from aiflow_studio.ui.dialogs import ask_where_to_attach
from aiflow_studio.ui.look import Look

_ZOOM_STEP = 1.2
_DUPLICATE_BY = (32.0, 32.0)


@dataclass(frozen=True, slots=True)
class Parts:
    """What commands work with; made once by the composition root."""

    document: Document
    selection: Selection
    look: Look
    window: MainWindow
    bar: RunBar
    canvas: CanvasView
    editor: CanvasController
    palette: PalettePanel
    linter: Linter
    problems: ProblemsPanel
    runs: RunController
    desk: FileDesk
    recording: RecordSwitch


class Commands:
    """The handlers of the action table."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        # Asked at every click while a run goes on: written anew only for another graph.
        self._written: tuple[Graph, str] | None = None

    # File

    async def new(self) -> None:
        """Begin an empty document."""
        await self._parts.desk.new()

    async def open(self) -> None:
        """Ask for a file and open it."""
        await self._parts.desk.open()

    async def open_path(self, path: Path, *, as_copy: bool = False) -> None:
        """Open a file."""
        await self._parts.desk.open_path(path, as_copy=as_copy)

    async def save(self) -> None:
        """Save."""
        if await self._parts.desk.save():
            self._parts.bar.say(f"Saved {self._parts.desk.name}")

    async def save_as(self) -> None:
        """Save under another name."""
        if await self._parts.desk.save_as():
            self._parts.bar.say(f"Saved {self._parts.desk.name}")

    async def export(self) -> None:
        """Export."""
        if await self._parts.desk.export():
            self._parts.bar.say("Exported without layout and notes")

    def quit(self) -> None:
        """Ask for the window to be closed."""
        self._parts.window.close()

    # Edit

    def undo(self) -> None:
        """Take the last edit back."""
        self._parts.document.undo_stack.undo()

    def redo(self) -> None:
        """Do again what was taken back."""
        self._parts.document.undo_stack.redo()

    def cut(self) -> None:
        """Cut the selected nodes."""
        self._parts.editor.cut()

    def copy(self) -> None:
        """Copy the selected nodes."""
        self._parts.editor.copy()

    def paste(self) -> None:
        """Paste nodes."""
        self._parts.editor.paste()

    def duplicate(self) -> None:
        """Put a copy of the selected nodes beside them; the clipboard keeps what it has."""
        document, canvas = self._parts.document, self._parts.canvas
        nodes = self._parts.selection.nodes
        if not nodes:
            return
        # Places that only the view knows become the document's, or all would be placed anew.
        shown = canvas.shown_nodes()
        homeless = {id: shown[id] for id in document.graph.nodes.keys() - document.graph.layout}
        graph = edits.move(document.graph, homeless) if homeless else document.graph
        after = edits.paste(graph, edits.subgraph(graph, nodes), _DUPLICATE_BY)
        added = list(after.nodes)[len(graph.nodes) :]
        document.replace(after, f"Duplicate {len(added)} node{'s' if len(added) != 1 else ''}")
        self._parts.selection.set(frozenset(added))

    def delete(self) -> None:
        """Take the selected nodes and edges away."""
        self._parts.editor.remove_selected()

    def rename(self) -> None:
        """Type another name for the selected node."""
        self._parts.editor.rename_selected()

    def select_all(self) -> None:
        """Select every node."""
        self._parts.editor.select_all()

    def find_operator(self) -> None:
        """Go to the palette's search."""
        self._parts.window.docks()[0].setVisible(True)
        self._parts.palette.focus_search()

    # View

    def zoom_in(self) -> None:
        """Look at the canvas more closely."""
        self._parts.canvas.set_zoom(self._parts.canvas.zoom() * _ZOOM_STEP)

    def zoom_out(self) -> None:
        """Look at the canvas from farther away."""
        self._parts.canvas.set_zoom(self._parts.canvas.zoom() / _ZOOM_STEP)

    def zoom_reset(self) -> None:
        """Look at the canvas at 100 %."""
        self._parts.canvas.set_zoom(1.0)

    def fit(self) -> None:
        """See the whole graph."""
        self._parts.canvas.fit()

    def graph_only(self) -> None:
        """Show the graph alone, as large as it can be, or the panels again."""
        self._parts.window.toggle_panels()
        # The canvas has its new size once the window has laid itself out.
        QTimer.singleShot(0, self._parts.window, self.fit)

    def text_larger(self) -> None:
        """Make all text larger."""
        self._parts.look.step_scale(1)

    def text_smaller(self) -> None:
        """Make all text smaller."""
        self._parts.look.step_scale(-1)

    def text_reset(self) -> None:
        """Make all text as large as designed."""
        self._parts.look.set_scale(1.0)

    # Run

    def validate(self) -> None:
        """Say that the graph is valid and what it may hold, or lead to its first problem."""
        compiled = self._parts.linter.check_anew()
        problem = first_problem(compiled.diagnostics)
        if problem is None:
            bound = "any number of" if compiled.bound is None else f"at most {compiled.bound}"
            self._parts.bar.say(f"valid, {bound} events in flight", "ok")
            return
        self._parts.bar.say(f"{problem.code}: {problem.message}", "error")
        self.reveal(problem)

    def run(self) -> bool:
        """Run the document as it is; say whether a run began."""
        request = self.request()
        return request is not None and self._parts.runs.start(request)

    def drain(self) -> None:
        """Let what is inside come out, then end."""
        self._parts.runs.drain()

    def stop(self) -> None:
        """Cancel the run."""
        self._parts.runs.stop()

    async def attach(self) -> None:
        """Ask for a run that was started elsewhere, and follow it."""
        wanted = await ask_where_to_attach(self._parts.window)
        if wanted is None:
            return
        address, token = wanted
        try:
            host = AttachedHost(address, token or None)
            await host.open()
        except AiFlowError as error:
            self._parts.bar.say(f"Not attached: {error}", "error")
            return
        if not self._parts.runs.follow(host):
            await host.kill()
            self._parts.bar.say("Not attached: a run is going on here", "error")
            return
        self._parts.bar.say(f"attached to {host.graph or 'a run'} at {address}", "ok")

    async def apply(self) -> None:
        """Stop the run and run the document as it is now."""
        request = self.request()
        if request is not None:
            await self._parts.runs.restart(request)

    async def record(self) -> None:
        """Keep the answers of models from the next run on, or keep them no more."""
        await self._parts.recording.toggle()

    async def record_into(self) -> None:
        """Choose the folder in which answers are kept, and keep them."""
        await self._parts.recording.choose()

    def request(self) -> RunRequest | None:
        """Return what a run of the document would be asked for; None where it has no text."""
        try:
            text = self._text()
        except GraphFileError as error:
            self._parts.bar.say(str(error), "error")
            return None
        base = self._parts.desk.base
        return RunRequest(
            graph=text,
            base=str(base) if base is not None else "",
            strategy=self._parts.bar.strategy,
            repeats=True,
            record_to=self._parts.recording.record_to,
        )

    def differs(self) -> bool:
        """Say whether the document, or the strategy, is another than what runs."""
        running = self._parts.runs.request
        if running is None or not self._parts.runs.is_active:
            return False
        if running.strategy != self._parts.bar.strategy:
            return True
        try:
            return self._text() != running.graph
        except GraphFileError:
            return True

    def reveal(self, finding: Diagnostic) -> None:
        """Select what a finding is about and bring it into sight, with the problems beside it."""
        self._parts.window.show_tab(self._parts.problems)
        graph = self._parts.document.graph
        if finding.node is not None and finding.node in graph.nodes:
            self._parts.selection.set(nodes=frozenset({finding.node}))
            self._parts.canvas.reveal(finding.node)
        elif finding.edge is not None and finding.edge in graph.edges:
            self._parts.selection.set(edges=frozenset({finding.edge}))
            self._parts.canvas.reveal(finding.edge)

    # Help

    def about(self) -> None:
        """Say what this is."""
        box = QMessageBox(self._parts.window)
        box.setObjectName("about")
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        box.setWindowTitle(f"About {TITLE}")
        box.setText(f"<b>{TITLE} {__version__}</b>")
        box.setInformativeText(
            "Draw a graph of a streaming LLM application, run it on bounded queues, and watch"
            " where it waits.<br><br>MIT licence. "
            f"Python {platform.python_version()}, PySide6 {PySide6.__version__}."
        )
        box.open()

    def _text(self) -> str:
        """Return the graph as a run reads it; moving a node is no difference."""
        graph = self._parts.document.graph
        if self._written is None or self._written[0] is not graph:
            self._written = (graph, codec.dumps(graph, export=True))
        return self._written[1]


def first_problem(diagnostics: tuple[Diagnostic, ...] | list[Diagnostic]) -> Diagnostic | None:
    """Return the first error, else the first warning; hints are no problems."""
    for severity in (Severity.ERROR, Severity.WARNING):
        for finding in diagnostics:
            if finding.severity is severity:
                return finding
    return None
