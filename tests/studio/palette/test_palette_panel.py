"""What a person does with the palette and the search popup."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QLabel, QWidget

from aiflow.errors import PluginError
from aiflow.operators.registry import Catalog
from aiflow.types import TOKEN
from aiflow_studio.palette.panel import PalettePanel
from aiflow_studio.palette.popup import OperatorSearch
from aiflow_studio.ui.drag import OPERATOR_MIME
from aiflow_studio.ui.theme import DARK, LIGHT

CATALOG = Catalog.load()


@pytest.fixture
def palette(qtbot):
    """Return the palette of all operators, shown."""
    catalog = Catalog(
        CATALOG.operators, CATALOG.resources, [PluginError("gadget", "gadgets", "it is broken")]
    )
    panel = PalettePanel(catalog, DARK)
    qtbot.addWidget(panel)
    panel.resize(216, 900)
    with qtbot.waitExposed(panel):
        panel.show()
    panel.activateWindow()
    return panel


@pytest.fixture
def popup(qtbot):
    """Return the search popup, not yet open."""
    popup = OperatorSearch(CATALOG, DARK)
    qtbot.addWidget(popup)
    return popup


def _titles(view) -> list[str]:
    model = view.model()
    return [model.index(row).data() for row in range(model.rowCount())]


def test_enter_in_the_search_adds_the_first_that_was_found(qtbot, palette):
    """Type, Enter, done."""
    qtbot.keyClicks(palette.box, "speech")

    with qtbot.waitSignal(palette.add_requested) as asked:
        qtbot.keyClick(palette.box, Qt.Key.Key_Return)

    assert asked.args == ["speech"]


def test_the_arrows_move_in_the_list_while_the_search_has_the_cursor(qtbot, palette):
    """Down, then Enter, is the second."""
    qtbot.keyClicks(palette.box, "ch")
    second = _titles(palette.list)[1]
    qtbot.keyClick(palette.box, Qt.Key.Key_Down)

    with qtbot.waitSignal(palette.add_requested) as asked:
        qtbot.keyClick(palette.box, Qt.Key.Key_Return)

    assert CATALOG.operators[asked.args[0]].title == second


def test_enter_without_a_find_adds_nothing(qtbot, palette):
    """And the palette says that nothing fits."""
    qtbot.keyClicks(palette.box, "zzzz")

    with qtbot.assertNotEmitted(palette.add_requested):
        qtbot.keyClick(palette.box, Qt.Key.Key_Return)

    assert any(
        label.isVisible() and label.text() == "No operator fits."
        for label in palette.findChildren(QLabel)
    )


def test_escape_empties_the_search(qtbot, palette):
    """And all operators are back."""
    everything = _titles(palette.list)
    qtbot.keyClicks(palette.box, "ch")

    qtbot.keyClick(palette.box, Qt.Key.Key_Escape)

    assert palette.box.text() == ""
    assert _titles(palette.list) == everything


def test_a_double_click_adds_an_operator_and_never_a_heading(qtbot, palette):
    """At its place in the list."""
    view = palette.list
    heading = view.visualRect(view.model().index(0)).center()
    with qtbot.assertNotEmitted(palette.add_requested):
        qtbot.mouseDClick(view.viewport(), Qt.MouseButton.LeftButton, pos=heading)

    index = view.model().find("router")
    place = view.visualRect(index).center()
    qtbot.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=place)
    with qtbot.waitSignal(palette.add_requested) as asked:
        qtbot.mouseDClick(view.viewport(), Qt.MouseButton.LeftButton, pos=place)

    assert asked.args == ["router"]


def test_a_drag_carries_the_operator_s_id(palette):
    """In the one format that the canvas takes."""
    model = palette.list.model()

    data = model.mimeData([model.find("chunker")])

    assert data.formats() == [OPERATOR_MIME]
    assert bytes(data.data(OPERATOR_MIME)) == b"chunker"
    assert not model.flags(model.index(0)) & Qt.ItemFlag.ItemIsDragEnabled


def test_hovering_says_summary_and_ports(palette):
    """One line a port."""
    tip = palette.list.model().find("router").data(Qt.ItemDataRole.ToolTipRole)

    assert tip.splitlines()[0] == "Channel router (router)"
    assert "in  in: token" in tip
    assert "out answer: token" in tip


def test_a_broken_plug_in_is_a_quiet_line_with_its_reason(palette):
    """It keeps nothing else from being there."""
    titles = _titles(palette.list)

    assert titles[-2] == "Not loaded"
    assert titles[-1] == "gadget of gadgets cannot be loaded: it is broken"


def test_another_theme_paints_without_complaint(palette):
    """Both rows and headings."""
    palette.set_theme(LIGHT)

    assert not palette.grab().isNull()


def test_the_popup_is_no_popup_window_and_takes_typing_at_once(qtbot, popup):
    """Input methods do not reach a Qt.Popup everywhere."""
    popup.open_at(QPoint(10, 10))
    qtbot.waitUntil(popup.box.hasFocus)

    assert popup.windowType() == Qt.WindowType.Tool
    qtbot.keyClicks(popup.box, "chunk")
    with qtbot.waitSignal(popup.chosen) as chosen:
        qtbot.keyClick(popup.box, Qt.Key.Key_Return)

    assert chosen.args == ["chunker"]
    assert not popup.isVisible()


def test_the_popup_offers_only_what_fits_the_wire_and_says_how_many_do_not(qtbot, popup):
    """A token may go to a text input, not to a source."""
    popup.open_at(QPoint(10, 10), source=TOKEN)

    titles = _titles(popup.list)
    assert "Chunker" in titles
    assert "Chat model" not in titles
    hidden = len(CATALOG.operators) - len(titles)
    texts = [label.text() for label in popup.findChildren(QLabel)]
    assert f"{hidden} more do not take token." in texts


def test_escape_dismisses_the_popup(qtbot, popup):
    """Without a choice."""
    popup.open_at(QPoint(10, 10))

    with qtbot.assertNotEmitted(popup.chosen), qtbot.waitSignal(popup.dismissed):
        qtbot.keyClick(popup.box, Qt.Key.Key_Escape)

    assert not popup.isVisible()


def test_the_popup_goes_when_another_window_is_used(qtbot, popup):
    """As a popup would."""
    other = QWidget()
    qtbot.addWidget(other)
    other.show()
    popup.open_at(QPoint(10, 10))
    qtbot.waitUntil(popup.isActiveWindow)

    with qtbot.waitSignal(popup.dismissed):
        other.activateWindow()

    assert not popup.isVisible()


def test_the_popup_stays_on_the_screen(qtbot, popup):
    """Also at the lower right corner."""
    room = popup.screen().availableGeometry()

    popup.open_at(room.bottomRight())

    assert room.contains(popup.geometry())
