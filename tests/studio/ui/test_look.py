"""Tests of `aiflow_studio.ui.look` and `aiflow_studio.ui.theme`."""

from __future__ import annotations

import dataclasses
import re

import pytest
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QApplication

from aiflow_studio.ui.look import SCALES, Look, fill_in, icon, make_font
from aiflow_studio.ui.resources import resource
from aiflow_studio.ui.theme import DARK, LIGHT, PROJECTOR, THEMES, Theme, blend

THEME_IDS = pytest.mark.parametrize("theme", THEMES.values(), ids=lambda theme: theme.name)


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of WCAG 2, 1 to 21."""

    def luminance(color: str) -> float:
        channels = (part / 255 for part in bytes.fromhex(color[1:]))
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@THEME_IDS
def test_text_can_be_read(theme: Theme) -> None:
    """4.5 : 1 for text on every ground it stands on."""
    for ground in (theme.background, theme.panel, theme.raised):
        for role in ("text", "muted", "accent", "error", "ok", "warning"):
            assert contrast(getattr(theme, role), ground) >= 4.5, (role, ground)


@THEME_IDS
def test_marks_can_be_seen(theme: Theme) -> None:
    """3 : 1 for everything that means something by its colour."""
    roles = (
        *("busy", "backpressured", "window_blocked", "token"),
        *("chunk", "tool", "retrieval", "safety", "other"),
    )
    for role in roles:
        assert contrast(getattr(theme, role), theme.panel) >= 3.0, role


@THEME_IDS
def test_the_status_bar_can_be_read_while_it_is_tinted(theme: Theme) -> None:
    """Green or red behind the words leaves them legible."""
    assert contrast(theme.text, theme.tint("ok", 0.16)) >= 7
    assert contrast(theme.text, theme.tint("error", 0.18)) >= 7


@THEME_IDS
def test_every_colour_is_one(theme: Theme) -> None:
    """Six digits and a hash."""
    colors = {
        field.name: getattr(theme, field.name)
        for field in dataclasses.fields(theme)
        if field.name not in ("name", "title", "text_scale")
    }

    assert [name for name, c in colors.items() if not re.fullmatch(r"#[0-9a-f]{6}", c)] == []


@THEME_IDS
def test_the_stylesheet_is_filled_in_completely(theme: Theme) -> None:
    """No placeholder is left, and sizes grow with the text."""
    rules = resource("themes", "studio.qss").read_text(encoding="utf-8")

    filled = fill_in(re.sub(r"/\*.*?\*/", "", rules, flags=re.DOTALL), theme, 2.0)

    assert "@" not in filled
    assert "font-size: 22px" in filled


def test_a_colour_between_two() -> None:
    """Ends and middle."""
    assert [blend("#000000", "#ffffff", share) for share in (0, 0.5, 1)] == [
        "#000000",
        "#808080",
        "#ffffff",
    ]


def test_text_grows_in_steps_and_within_bounds(qapp: QApplication) -> None:
    """Ctrl + at the end of the scale does nothing."""
    look = Look(qapp)
    changes: list[float] = []
    look.changed.connect(lambda: changes.append(look.scale))

    for _ in range(20):
        look.step_scale(1)

    assert changes == [scale for scale in SCALES if scale > 1.0]
    assert qapp.font().pixelSize() == 26
    look.set_scale(1.0)
    qapp.setStyleSheet("")


def test_the_projector_theme_is_larger_by_itself(qapp: QApplication) -> None:
    """Without touching what the person chose."""
    look = Look(qapp)

    look.set_theme(PROJECTOR)

    assert (look.scale, look.text_scale) == (1.0, 1.25)
    look.set_theme(DARK)
    qapp.setStyleSheet("")


def test_a_font_that_is_there_is_taken(qapp: QApplication) -> None:
    """Also on a machine with none of the wished families."""
    assert make_font(1.0).families()
    assert make_font(2.0).pixelSize() == 26


def test_icons_are_drawn_in_the_colour_asked_for(qapp: QApplication) -> None:
    """The stop icon's middle is its colour."""
    image: QImage = icon("stop", LIGHT.error).pixmap(64, 64).toImage()

    assert image.pixelColor(image.width() // 2, image.height() // 2).name() == LIGHT.error
