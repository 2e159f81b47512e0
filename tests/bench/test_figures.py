"""The figures beside the engine's speed: all are there, and of the right kind."""

from __future__ import annotations

import asyncio
import time

import pytest

from aiflow.bench import figures


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each figure be of a handful of events, on the standard loop and another."""
    for name in ("MANY", "GAP_EVENTS", "FIRST_TOKENS"):
        monkeypatch.setattr(figures, name, 60)
    monkeypatch.setattr(figures, "MOST", 80)
    monkeypatch.setattr(figures, "FEW", 10)
    monkeypatch.setattr(figures, "CONVERSATIONS", 6)
    monkeypatch.setattr(figures, "PAUSE_S", 0.0)
    monkeypatch.setattr(figures, "clean_clock", time.process_time)
    loops = {"asyncio": asyncio.new_event_loop, "qasync": asyncio.new_event_loop}
    monkeypatch.setattr(figures, "loadable", lambda *_: iter(loops.items()))


@pytest.mark.usefixtures("few")
def test_every_figure_of_the_design_is_measured_on_each_loop() -> None:
    """Growth with events and conversations, gaps, and how soon a first token is through."""
    found = list(figures.figures(1, full=True))

    names = [(figure.name, figure.loop) for figure in found]
    assert len(set(names)) == len(names) == 4 + 1 + 2 * 4
    assert all(figure.value >= 0 for figure in found)
    assert {figure.wanted for figure in found if "p99" in figure.name} == {
        "≤ 16", "< 0.3", "< 0.5",
    }  # fmt: skip


@pytest.mark.usefixtures("few")
def test_a_figure_that_nobody_asked_for_is_neither_met_nor_missed() -> None:
    """Only what has a limit is judged."""
    for figure in figures.figures(1):
        assert (figure.wanted == "") == (figure.is_met is None)
