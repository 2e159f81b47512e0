"""Recovery: unsaved work is written down while a person works, and offered at the next start.

The document's own file is never touched: who did not save may not want it. The journal is taken
away by saving, by an answered question, and by undoing back to what is saved; it stays after a
crash, a kill and a signal. Restored work is unsaved work again, so a second crash costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, QTimer
from PySide6.QtWidgets import QWidget

from aiflow_studio.app.files import FileDesk
from aiflow_studio.document.document import Document
from aiflow_studio.document.journal import Journal, Orphan, Work, file_state
from aiflow_studio.ui.dialogs import Restore, ask_to_restore

#: Most of the work, in milliseconds, that a crash may cost.
DELAY_MS = 1000


class Recovery(QObject):
    """Keeps the journal of the open document.

    Args:
        folder: where journals lie; None keeps and offers nothing.
        say: shows a sentence to the person, with a tone.
    """

    def __init__(
        self,
        folder: Path | None,
        document: Document,
        desk: FileDesk,
        window: QWidget,
        say: Callable[[str, str], None],
    ) -> None:
        super().__init__(window)
        self._document = document
        self._desk = desk
        self._window = window
        self._say = say
        self._journal = Journal(folder)
        self._is_given_up = False
        # Not postponed by the next edit: who never pauses has most to lose.
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(DELAY_MS)
        self._timer.timeout.connect(self.keep_now)
        desk.moved.connect(self._note)

    def keep_now(self) -> None:
        """Write down what is unsaved."""
        self._timer.stop()
        if self._document.is_dirty:
            self._journal.keep(self._document.graph, self._desk.path, self._desk.seen)

    def give_up(self) -> None:
        """The person was asked and does not want what is unsaved."""
        self._is_given_up = True

    def end(self) -> None:
        """The window closes: keep what nobody was asked about."""
        if self._is_given_up:
            self._timer.stop()
            self._journal.forget()
        else:
            self.keep_now()
        self._journal.release()

    async def offer(self) -> None:
        """Offer what studios left behind that ended without being closed, the newest first."""
        is_restored = False
        for orphan in self._journal.orphans():
            if is_restored:
                # One window holds one document; the next start asks about this one.
                orphan.release()
            elif orphan.is_saved:
                orphan.discard()
            else:
                is_restored = await self._offer(orphan)

    async def _offer(self, orphan: Orphan) -> bool:
        """Ask about one; say whether it is the document now."""
        try:
            answer = await ask_to_restore(self._window, *question(orphan.work))
        except BaseException:
            orphan.release()
            raise
        if answer is Restore.DISCARD:
            orphan.discard()
            return False
        work = orphan.work
        if answer is Restore.LATER or not await self._desk.restore(
            work.graph, work.path, work.seen
        ):
            orphan.release()
            return False
        # The new journal first: between the two there is never none.
        self.keep_now()
        orphan.discard()
        if work.masked:
            self._say(f"not kept, as it looks like a key: {', '.join(work.masked)}", "error")
        return True

    def _note(self) -> None:
        if not self._document.is_dirty:
            self._timer.stop()
            self._journal.forget()
        elif not self._timer.isActive():
            self._timer.start()


def question(work: Work) -> tuple[str, str]:
    """Return the sentence that offers work, and what is good to know besides."""
    name = work.path.name if work.path is not None else work.graph.name or "an untitled graph"
    when = work.kept_at_utc.astimezone().strftime("%d %B %Y, %H:%M")
    asked = f"Restore the changes to {name} that were not saved ({when})?"
    notes = ["Your file is as it was; nothing is written to it until you save."]
    if work.path is None:
        notes = ["It has no file yet."]
    elif (now := file_state(work.path)) is None:
        notes = [f"Its file is no longer in {work.path.parent}; saving writes it again."]
    elif now != work.seen:
        notes = ["The file has been changed since; saving asks before it overwrites that."]
    if work.masked:
        notes.append("What looked like a key was not kept.")
    return asked, " ".join(notes)
