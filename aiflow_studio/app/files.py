"""The document and its file: new, open, save, export, and what to ask before changes are lost.

Reading and writing are the codec's; here is what a person is asked and told. A failure is one
sentence in a box beside the work: the document and the old file stay as they were.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from aiflow.compiler.paths import rebase_paths
from aiflow.errors import GraphFileError
from aiflow.graph import codec
from aiflow.graph.model import Graph
from aiflow.graph.shipped import graphs_dir
from aiflow.operators.registry import Catalog
from aiflow_studio.document.document import Document
from aiflow_studio.document.files import save_as
from aiflow_studio.document.journal import FileState, file_state
from aiflow_studio.problems.linter import Linter
from aiflow_studio.ui.collector import collector_at_rest
from aiflow_studio.ui.dialogs import (
    GRAPH_SUFFIX,
    Answer,
    ask_for_file,
    ask_to_save,
    ask_where_to_save,
    ask_yes_no,
    tell,
)


class FileDesk(QObject):
    """Knows the path of the open document, and moves graphs between it and files.

    Signals:
        moved(): the path or the dirty mark is another.
        visited(Path): this file was read or written, for the list of recent ones.

    Args:
        before_leaving: awaited before another document takes the place of this one.
    """

    moved = Signal()
    visited = Signal(Path)

    def __init__(
        self,
        document: Document,
        linter: Linter,
        catalog: Catalog,
        window: QWidget,
        before_leaving: Callable[[], Awaitable[None]],
    ) -> None:
        super().__init__(window)
        self._document = document
        self._linter = linter
        self._catalog = catalog
        self._window = window
        self._before_leaving = before_leaving
        self._path: Path | None = None
        self._seen: FileState | None = None
        document.changed.connect(self.moved)

    @property
    def path(self) -> Path | None:
        """The document's file; None while it has none."""
        return self._path

    @property
    def seen(self) -> FileState | None:
        """How that file was when it was last read or written here."""
        return self._seen

    @property
    def base(self) -> Path | None:
        """Folder that relative paths in the graph start from."""
        return self._path.parent if self._path is not None else None

    @property
    def name(self) -> str:
        """What to call the document in a question."""
        return (
            self._path.name if self._path is not None else self._document.graph.name or "untitled"
        )

    def load(self, path: Path) -> None:
        """Make the graph of a file the document, without a question.

        Raises:
            GraphFileError: the file cannot be read or is no graph; nothing has changed.
        """
        seen = file_state(path)
        with collector_at_rest():
            self._take(codec.load(path), path, seen)

    async def new(self) -> None:
        """Begin an empty document."""
        if await self._leave():
            self._take(Graph(), None)

    async def open(self) -> None:
        """Ask for a file and open it."""
        path = await ask_for_file(self._window, "Open graph", str(self._folder()))
        if path is not None:
            await self.open_path(path)

    async def open_path(self, path: Path, *, as_copy: bool = False) -> bool:
        """Open a file in place of the document; say whether it was opened."""
        try:
            # Read first: nobody should be asked about changes for a file that cannot be opened.
            codec.load(path)
            if not await self._leave():
                return False
            # And again: by now the changes may have been saved to this very file.
            seen = file_state(path)
            with collector_at_rest():
                self._take(codec.load(path), None if as_copy else path, seen)
        except GraphFileError as error:
            tell(self._window, "Not opened", str(error))
            return False
        return True

    async def restore(self, graph: Graph, path: Path | None, seen: FileState | None) -> bool:
        """Make unsaved work the document again, as a step from what its file holds.

        Args:
            graph: the work.
            path: its file; it may be gone, or another's by now.
            seen: how that file was when the work began.
        """
        if not await self._leave():
            return False
        try:
            saved = codec.load(path) if path is not None else Graph()
        except GraphFileError:
            saved = Graph()
        self._take(saved, path, seen)
        self._document.replace(graph, "Restore unsaved changes")
        return True

    async def save(self) -> bool:
        """Save to the document's file, or ask for one; say whether it is saved."""
        path = self._path
        if path is None:
            return await self.save_as()
        now = file_state(path)
        # One that is gone harms nobody: it is written again.
        if now is not None and now != self._seen and not await self._may_overwrite(path):
            return False
        return self._write(path)

    async def save_as(self) -> bool:
        """Ask where to save, and go on with that file; say whether it is saved."""
        stem = self._document.graph.name or "untitled"
        suggestion = self._path or self._folder() / f"{stem}{GRAPH_SUFFIX}"
        path = await ask_where_to_save(self._window, "Save graph", suggestion)
        return path is not None and self._write(path)

    async def export(self) -> bool:
        """Write the canonical graph without layout and notes; say whether it was written."""
        errors = len(self._linter.check_anew().errors)
        if errors:
            count = "an error" if errors == 1 else f"{errors} errors"
            question = f"The graph has {count} and will not run as it is. Export it all the same?"
            if not await ask_yes_no(self._window, "Export", question, "Export"):
                return False
        stem = self.name.removesuffix(GRAPH_SUFFIX)
        suggestion = self._folder() / f"{stem}-export{GRAPH_SUFFIX}"
        path = await ask_where_to_save(self._window, "Export graph", suggestion)
        if path is None:
            return False
        try:
            save_as(path, self._document.graph, self._catalog, self.base, export=True)
        except GraphFileError as error:
            tell(self._window, "Not exported", str(error))
            return False
        return True

    async def may_leave(self) -> bool:
        """Ask what becomes of unsaved changes; say whether the document may go."""
        if not self._document.is_dirty:
            return True
        answer = await ask_to_save(self._window, self.name)
        if answer is Answer.SAVE:
            return await self.save()
        return answer is Answer.DISCARD

    async def _leave(self) -> bool:
        """Ask about unsaved changes and end the run; say whether the document may go."""
        if not await self.may_leave():
            return False
        asked_about = self._document.graph
        await self._before_leaving()
        # A run may take its time to end, and the person goes on working meanwhile.
        return self._document.graph is asked_about or await self.may_leave()

    async def _may_overwrite(self, path: Path) -> bool:
        question = (
            f"{path.name} has been changed by another program since it was opened or saved here."
            " Overwrite what is in it now? To keep both, cancel and save under another name."
        )
        return await ask_yes_no(self._window, "Changed meanwhile", question, "Overwrite")

    def _take(self, graph: Graph, path: Path | None, seen: FileState | None = None) -> None:
        self._seen = seen
        self._go_to(path)
        self._document.load(graph)
        self.moved.emit()
        if codec.is_newer(graph):
            self._tell_newer(graph)

    def _go_to(self, path: Path | None) -> None:
        self._path = path.resolve() if path is not None else None
        self._linter.base = self.base
        if self._path is not None:
            codec.sweep_drafts(self._path.parent, datetime.now(UTC).timestamp())
            self.visited.emit(self._path)

    def _write(self, path: Path) -> bool:
        try:
            save_as(path, self._document.graph, self._catalog, self.base)
        except GraphFileError as error:
            tell(self._window, "Not saved", str(error))
            return False
        # No step of the history: undone, it would leave paths that start from the old folder.
        old, new = self.base, path.resolve().parent
        self._document.rewrite(lambda graph: rebase_paths(graph, self._catalog, old, new))
        self._document.mark_saved()
        self._seen = file_state(path)
        self._go_to(path)
        self.moved.emit()
        return True

    def _tell_newer(self, graph: Graph) -> None:
        version = f"{graph.version[0]}.{graph.version[1]}"
        what = (
            "It can be looked at and not saved; open it with a newer AiFlow to change it."
            if codec.is_read_only(graph)
            else "What this program does not know is kept as it is."
        )
        tell(self._window, "Newer file", f"{self.name} is of the newer version {version}. {what}")

    def _folder(self) -> Path:
        return self.base or Path.cwd()


def shipped_graphs(folder_name: Literal["examples", "live"]) -> list[Path]:
    """Return the shipped graphs of one folder, by name; none where the package lacks them."""
    try:
        folder = graphs_dir() / folder_name
    except FileNotFoundError:
        return []
    return sorted(folder.glob(f"*{GRAPH_SUFFIX}"))
