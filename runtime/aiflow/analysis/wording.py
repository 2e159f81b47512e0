"""How durations, counts and names read in a sentence."""

from __future__ import annotations

from collections.abc import Sequence

_MINUTE_S = 60


def duration(seconds: float) -> str:
    """Return a duration as a person says it: `250 ms`, `2.5 s`, `3 min`."""
    if seconds >= 2 * _MINUTE_S:
        return f"{seconds / _MINUTE_S:,.0f} min"
    if seconds >= 1:
        return f"{seconds:.1f} s"
    milliseconds = seconds * 1e3
    return f"{milliseconds:.0f} ms" if milliseconds >= 1 else f"{milliseconds:.3g} ms"


def counted(count: int, noun: str) -> str:
    """Return a count with its noun: `1 node`, `1,600 events`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def listed(names: Sequence[str]) -> str:
    """Return one or more names as a list in a sentence."""
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last
