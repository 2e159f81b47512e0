"""The run bar: run, drain, stop, strategy, validate, and how the run stands.

It decides nothing: buttons trigger the application's actions, and `show_phase` says what the
first button reads.
"""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QEvent, QSize, Qt, Signal
from PySide6.QtGui import QAction, QResizeEvent
from PySide6.QtWidgets import QComboBox, QLabel, QSizePolicy, QToolBar, QToolButton, QWidget

from aiflow.metrics.snapshot import Phase
from aiflow_studio.ui.look import icon, plain_tip, set_tone
from aiflow_studio.ui.theme import Theme

#: Strategy -> what it does, for the drop-down; the paper's four.
STRATEGIES: Mapping[str, str] = {
    "aiflow": "Bounded queues; a slow consumer slows its producers.",
    "aggregate": "Wait for the whole answer, then hand it on.",
    "callback": "Carry each event to the end before the next is read.",
    "unbounded": "Queues without limit; nothing waits, memory grows.",
}

_RUN_TEXT: Mapping[Phase, str] = {"running": "Running", "draining": "Draining"}
_ICON_PX = 14
#: Buttons that can be known by their icon alone, where the sentence needs their room.
_SHORT = ("drain", "stop", "record", "validate")
#: Letters of a sentence that are worth so much.
_MOST_LETTERS = 60


class RunBar(QToolBar):
    """The tool bar above the canvas.

    Signals:
        strategy_chosen(str): a person chose another strategy for the next start.

    Args:
        actions: the application's actions `run`, `drain`, `stop`, `record`, `validate` and `apply`.
    """

    strategy_chosen = Signal(str)

    def __init__(
        self, actions: Mapping[str, QAction], theme: Theme, parent: QWidget | None = None
    ) -> None:
        super().__init__("Run", parent)
        self.setObjectName("runbar")
        self.setMovable(False)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.PreventContextMenu)
        self._phase: Phase = "idle"
        self._buttons = {name: _ActionButton(name, actions[name]) for name in actions}
        self._strategy = self._make_strategy()
        for name in ("run", "drain", "stop", "record"):
            self.addWidget(self._buttons[name])
        self._add_space()
        self.addWidget(QLabel("Strategy"))
        self.addWidget(self._strategy)
        self.addWidget(self._buttons["validate"])
        self._apply_place = self.addWidget(self._buttons["apply"])
        self._apply_place.setVisible(False)
        self._said = _Said()
        self.addWidget(self._said)
        self.set_theme(theme)

    @property
    def strategy(self) -> str:
        """The strategy for the next start."""
        return str(self._strategy.currentText())

    def choose_strategy(self, strategy: str) -> None:
        """Show another strategy; an unknown one changes nothing."""
        self._strategy.setCurrentText(strategy)

    def show_phase(self, phase: Phase) -> None:
        """Make the first button say how the run stands, in words and colour."""
        self._phase = phase
        button = self._buttons["run"]
        button.setText(_RUN_TEXT.get(phase, "Run"))
        set_tone(button, "running" if phase in _RUN_TEXT else "")
        self._make_room()

    def show_apply(self, is_wanted: bool) -> None:
        """Offer to restart with the document as it is now, or stop offering it."""
        self._apply_place.setVisible(is_wanted)
        self._make_room()

    def say(self, sentence: str, tone: str = "muted") -> None:
        """Show a sentence at the right until another one comes.

        Args:
            sentence: cut where there is no room; the tooltip has all of it.
            tone: `muted`, `ok` or `error`, for the stylesheet.
        """
        self._said.say(sentence, tone)
        self._make_room()

    @property
    def said(self) -> str:
        """The sentence that is shown, whole."""
        return self._said.sentence

    def set_theme(self, theme: Theme) -> None:
        """Draw the icons in the theme's colours."""
        for button in self._buttons.values():
            button.setIcon(icon(button.icon_name, theme.text))
        self._buttons["run"].setIcon(icon("run", theme.ok))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Share the room anew."""
        super().resizeEvent(event)
        self._make_room()

    def changeEvent(self, event: QEvent) -> None:
        """Share the room anew among letters of another size."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.StyleChange:
            self._make_room()

    def _make_room(self) -> None:
        """Show some buttons without their words where the sentence has no room beside them."""
        if not self.isVisible():
            return
        metrics = self.fontMetrics()
        most = _MOST_LETTERS * metrics.averageCharWidth()
        wanted = min(metrics.horizontalAdvance(self._said.sentence) + _Said.SPARE_PX, most)
        # Each as wide as with its words, so that the answer does not hang on the last one.
        widths = [
            each.full_width() if isinstance(each, _ActionButton) else each.sizeHint().width()
            for each in map(self.widgetForAction, self.actions())
            if each is not self._said and not each.isHidden()
        ]
        layout = self.layout()
        assert layout is not None, "a tool bar has one"
        margins = layout.contentsMargins()
        gaps = layout.spacing() * len(widths) + margins.left() + margins.right()
        is_short = bool(self._said.sentence) and sum(widths) + gaps + wanted > self.width()
        for name in _SHORT:
            self._buttons[name].show_words(not is_short)

    def _make_strategy(self) -> QComboBox:
        box = QComboBox()
        box.setObjectName("strategy")
        box.setAccessibleName("Strategy")
        for at, (name, what) in enumerate(STRATEGIES.items()):
            box.addItem(name)
            box.setItemData(at, what, Qt.ItemDataRole.ToolTipRole)
        box.setToolTip("How the graph is run; takes effect at the next start")
        box.currentTextChanged.connect(self.strategy_chosen)
        return box

    def _add_space(self) -> None:
        space = QWidget()
        space.setFixedWidth(12)
        self.addWidget(space)


class _Said(QLabel):
    """A sentence that is cut to the room there is."""

    SPARE_PX = 8

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("said")
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.sentence = ""

    def say(self, sentence: str, tone: str) -> None:
        """Show another sentence."""
        self.sentence = sentence
        self.setToolTip(plain_tip(sentence))
        self.setAccessibleName(sentence)
        set_tone(self, tone)
        self._cut()

    def sizeHint(self) -> QSize:
        """Ask for no width: it gets what the buttons leave."""
        return QSize(0, super().sizeHint().height())

    def minimumSizeHint(self) -> QSize:
        """Need no width."""
        return self.sizeHint()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Cut anew."""
        super().resizeEvent(event)
        self._cut()

    def _cut(self) -> None:
        room = self.width() - self.SPARE_PX
        self.setText(
            self.fontMetrics().elidedText(self.sentence, Qt.TextElideMode.ElideRight, room)
        )


class _ActionButton(QToolButton):
    """A button that triggers an action, follows its enabled state, and has its own words."""

    _ICONS: Mapping[str, str] = {"apply": "restart"}
    _SHOWN_KEY: frozenset[str] = frozenset({"validate"})

    def __init__(self, name: str, action: QAction) -> None:
        super().__init__()
        self.setObjectName(name)
        self.icon_name = self._ICONS.get(name, name)
        self.setIconSize(QSize(_ICON_PX, _ICON_PX))
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        key = action.shortcut().toString()
        text = action.text().replace("&", "")
        self.setText(f"{text}  {key}" if name in self._SHOWN_KEY and key else text)
        self.setToolTip(f"{action.toolTip()} ({key})" if key else action.toolTip())
        self.setCheckable(action.isCheckable())
        self.clicked.connect(action.trigger)
        self._action = action
        action.enabledChanged.connect(self._follow)
        action.toggled.connect(self._follow)
        self._follow()

    def show_words(self, is_wanted: bool) -> None:
        """Show icon and words, or the icon alone; the tool tip has the words then."""
        beside, alone = (
            Qt.ToolButtonStyle.ToolButtonTextBesideIcon,
            Qt.ToolButtonStyle.ToolButtonIconOnly,
        )
        if is_wanted == (self.toolButtonStyle() == alone):
            self.setToolButtonStyle(beside if is_wanted else alone)

    def full_width(self) -> int:
        """Return the width with words, whether they are shown or not."""
        width = self.sizeHint().width()
        if self.toolButtonStyle() == Qt.ToolButtonStyle.ToolButtonIconOnly:
            metrics = self.fontMetrics()
            # As Qt reckons: icon, a gap of 4, and the text with a space on either side.
            width += metrics.horizontalAdvance(self.text()) + 2 * metrics.horizontalAdvance(" ") + 4
        return width

    def _follow(self) -> None:
        self.setEnabled(self._action.isEnabled())
        self.setChecked(self._action.isChecked())
