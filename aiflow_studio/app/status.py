"""The status bar: is it running, is it bounded, how fast was the first token.

`describe` is pure; the bar shows what it says, in words always and in colour too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape

from PySide6.QtCore import QEvent, QSize, Qt, Signal
from PySide6.QtGui import QFontMetricsF, QResizeEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QStatusBar, QWidget

from aiflow.metrics.snapshot import Phase, Snapshot
from aiflow_studio.ui.look import plain_tip, set_tone
from aiflow_studio.ui.theme import Theme

_WORDS: Mapping[Phase, tuple[str, str]] = {
    "idle": ("○", "Not started"),
    "running": ("●", "Running"),
    "draining": ("◐", "Draining"),
    "completed": ("✓", "Completed"),
    "failed": ("✗", "Failed"),
    "cancelled": ("■", "Stopped"),
}
#: Spaces between two parts.
_GAP = 5
_TONES: Mapping[Phase, str] = {"running": "running", "draining": "running", "failed": "failed"}

#: A value in a sentence, told from the words around it by weight.
Value = tuple[str, bool]


@dataclass(frozen=True, slots=True)
class RunWords:
    """What the left half of the bar says; each is words and values by turns.

    Attributes:
        tone: `running`, `failed` or "".
    """

    parts: tuple[tuple[Value, ...], ...]
    tone: str


def describe(phase: Phase, snapshot: Snapshot | None) -> RunWords:
    """Say how a run stands."""
    glyph, word = _WORDS[phase]
    if snapshot is None:
        return RunWords((((f"{glyph} ", False), (word, True)),), _TONES.get(phase, ""))
    elapsed = clock_text(snapshot.at - snapshot.started_at)
    parts: list[tuple[Value, ...]] = [
        ((f"{glyph} ", False), (word, True), (f" {elapsed}", False)),
        _in_flight(snapshot),
    ]
    if phase == "failed" and snapshot.error:
        parts.append(((_shorten(snapshot.error), False),))
    else:
        parts.append(_first_token(snapshot))
    if snapshot.waiting_requests:
        parts.append((("requests in line ", False), (f"{snapshot.waiting_requests}", True)))
    dropped = sum(sum(node.dropped.values()) for node in snapshot.nodes.values())
    parts.append((("dropped ", False), (f"{dropped:,}".replace(",", " "), True)))
    parts.append(_conversations(snapshot))
    return RunWords(tuple(parts), _TONES.get(phase, ""))


def clock_text(seconds: float) -> str:
    """Return `m:ss.t`, as in 0:06.2."""
    tenths = max(0, int(seconds * 10))
    return f"{tenths // 600}:{tenths // 10 % 60:02d}.{tenths % 10}"


class StatusBar(QStatusBar):
    """The bar at the foot of the window."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("status")
        self.setSizeGripEnabled(False)
        self._theme = theme
        self._words = describe("idle", None)
        self._run = _RunLabel()
        self._run.resized.connect(self._show)
        self._saved = QLabel()
        self._saved.setObjectName("saved")
        self._problems = QLabel()
        self._problems.setObjectName("problem-count")
        self._zoom = QLabel()
        self._zoom.setObjectName("zoom")
        self.addWidget(self._run, 1)
        for label in (self._saved, self._problems, self._zoom):
            self.addPermanentWidget(label)
        self._show()

    def show_run(self, phase: Phase, snapshot: Snapshot | None) -> None:
        """Show how the run stands."""
        words = describe(phase, snapshot)
        if words != self._words:
            self._words = words
            self._show()

    @property
    def run_text(self) -> str:
        """What the left half says, without its dress."""
        return "  ".join("".join(text for text, _ in part) for part in self._words.parts)

    def show_document(self, *, is_saved: bool, has_file: bool) -> None:
        """Show whether the document has changes that are in no file, or no file at all."""
        unchanged = "saved" if has_file else "not saved"
        self._saved.setText(unchanged if is_saved else "unsaved changes")

    def show_problems(self, problems: int) -> None:
        """Show how many problems there are."""
        self._problems.setText(problem_text(problems))

    def show_zoom(self, factor: float) -> None:
        """Show the canvas's zoom; 1.0 is 100 %."""
        self._zoom.setText(f"{round(factor * 100)} %")

    def set_theme(self, theme: Theme) -> None:
        """Write in the theme's colours."""
        self._theme = theme
        self._show()

    def _show(self) -> None:
        set_tone(self, self._words.tone)
        quiet = self._theme.muted if not self._words.tone else self._theme.text
        parts = self._run.fitting(self._words.parts)
        gap = "&nbsp;" * _GAP
        self._run.setText(gap.join(self._html(part, quiet) for part in parts))
        self._run.setToolTip("" if parts == self._words.parts else plain_tip(self.run_text))
        self._run.setAccessibleName(self.run_text)

    def _html(self, part: tuple[Value, ...], quiet: str) -> str:
        return "".join(
            f'<b style="color:{self._theme.text}">{escape(text)}</b>'
            if is_value
            else f'<span style="color:{quiet}">{escape(text)}</span>'
            for text, is_value in part
        )


class _RunLabel(QLabel):
    """The left half: it takes the room that is left, and says what has room in it.

    Signals:
        resized(): there is another room, or letters of another size.
    """

    resized = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("run-state")
        self.setTextFormat(Qt.TextFormat.RichText)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)

    def fitting(self, parts: tuple[tuple[Value, ...], ...]) -> tuple[tuple[Value, ...], ...]:
        """Return what has room: the first parts whole, the one after them cut if it is a text."""
        values = self.font()
        values.setBold(True)
        words, bold = QFontMetricsF(self.font()), QFontMetricsF(values)
        room, gap = float(self.contentsRect().width()), words.horizontalAdvance(" ") * _GAP
        shown: list[tuple[Value, ...]] = []
        for part in parts:
            widths = [(bold if value else words).horizontalAdvance(text) for text, value in part]
            room -= sum(widths) + (gap if shown else 0.0)
            if room < 0:
                if len(part) == 1 or not shown:
                    left = int(room + widths[-1])
                    text, is_value = part[-1]
                    cut = words.elidedText(text, Qt.TextElideMode.ElideRight, max(0, left))
                    shown.append((*part[:-1], (cut, is_value)))
                break
            shown.append(part)
        return tuple(shown)

    def minimumSizeHint(self) -> QSize:
        """Need no width: the window may be as narrow as somebody likes."""
        return QSize(0, super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Tell that there is another room."""
        super().resizeEvent(event)
        self.resized.emit()

    def changeEvent(self, event: QEvent) -> None:
        """Tell that letters have another size."""
        super().changeEvent(event)
        if event.type() in {QEvent.Type.FontChange, QEvent.Type.StyleChange}:
            self.resized.emit()


def problem_text(problems: int) -> str:
    """Return `valid`, `1 problem` or `n problems`."""
    if problems == 0:
        return "valid"
    return "1 problem" if problems == 1 else f"{problems} problems"


def _in_flight(snapshot: Snapshot) -> tuple[Value, ...]:
    if snapshot.bound is None:
        return (("in flight ", False), (str(snapshot.in_flight), True), (", without limit", False))
    return (
        ("in flight ", False),
        (str(snapshot.in_flight), True),
        (" of at most ", False),
        (str(snapshot.bound), True),
    )


def _first_token(snapshot: Snapshot) -> tuple[Value, ...]:
    first, model = snapshot.ttfpt_ms, snapshot.model_ttft_ms
    if first is None:
        return (("first token ", False), ("–", True))
    told: list[Value] = [("first token ", False), (f"{first:.0f} ms", True)]
    if model is not None:
        told.append((f" (model {model:.0f} ms)", False))
    return tuple(told)


def _conversations(snapshot: Snapshot) -> tuple[Value, ...]:
    return (("conversations ", False), (str(len(snapshot.conversations)), True))


def _shorten(sentence: str, most: int = 110) -> str:
    return sentence if len(sentence) <= most else sentence[: most - 1] + "…"
