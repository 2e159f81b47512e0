"""Axes: seconds of a run, counts of events, powers of ten; each with the marks a person expects."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, log10

import pyqtgraph as pg

#: Width of the time axis in seconds up to which its marks stand so many seconds apart.
_SECONDS_APART = ((10.0, 2.0), (20.0, 5.0), (float("inf"), 10.0))
#: Marks on an axis of counts: most of them, and the steps they may take.
_MOST_MARKS = 5.5
_COUNT_STEPS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)

Spacing = list[tuple[float, float]]


class SecondsAxis(pg.AxisItem):
    """Seconds of the run, as minutes and seconds."""

    def tickSpacing(self, low: float, high: float, _size: float) -> Spacing:
        """Return how far apart marks stand, and their offset."""
        return [(next(step for width, step in _SECONDS_APART if high - low <= width), 0.0)]

    def tickStrings(self, values: Sequence[float], _scale: float, _spacing: float) -> list[str]:
        """Return what stands at each mark; nothing before the run began."""
        return [f"{int(at) // 60}:{int(at) % 60:02d}" if at >= 0 else "" for at in values]


class CountAxis(pg.AxisItem):
    """Whole numbers of events."""

    def tickSpacing(self, _low: float, high: float, _size: float) -> Spacing:
        """Return how far apart marks stand: whole, round, and few."""
        power = 10.0 ** floor(log10(max(1.0, high)))
        steps = (step * power for step in _COUNT_STEPS)
        return [(max(1.0, next(step for step in steps if high / step <= _MOST_MARKS)), 0.0)]

    def tickStrings(self, values: Sequence[float], _scale: float, _spacing: float) -> list[str]:
        """Return what stands at each mark; nothing below zero."""
        return [grouped(at) if at >= 0 else "" for at in values]


class DecadeAxis(pg.AxisItem):
    """Powers of ten, written out."""

    def tickSpacing(self, _low: float, _high: float, _size: float) -> Spacing:
        """Return one mark a decade."""
        return [(1.0, 0.0)]

    def tickStrings(self, values: Sequence[float], _scale: float, _spacing: float) -> list[str]:
        """Return each power as a number."""
        return [grouped(10.0**at) if at >= 0 else f"{10.0**at:g}" for at in values]


def grouped(value: float) -> str:
    """Return a whole number with thin groups of three digits, as in 10 000."""
    return f"{round(value):,}".replace(",", "\N{NARROW NO-BREAK SPACE}")
