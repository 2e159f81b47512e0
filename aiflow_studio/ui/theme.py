"""Colours, sizes and glyphs: the one place that says how a meaning looks.

Widgets and painters ask here and never write a colour of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class TypeMark:
    """How a port type looks: colour and glyph together, never colour alone."""

    color: str
    glyph: str


@dataclass(frozen=True, slots=True)
class Theme:
    """Colours of one theme, as `#rrggbb`."""

    name: str
    background: str
    panel: str
    raised: str
    line: str
    text: str
    muted: str
    accent: str
    busy: str
    backpressured: str
    window_blocked: str
    idle: str
    ok: str
    warning: str
    error: str
    empty_cell: str
    grid: str
    token: str
    chunk: str
    tool: str
    retrieval: str
    safety: str
    other: str

    def type_mark(self, type_name: str) -> TypeMark:
        """Return the mark of a port type; types of plug-ins look like `any`."""
        role, glyph = _MARKS.get(type_name, ("other", "○"))
        return TypeMark(getattr(self, role), glyph)

    def activity(self, activity: str) -> str:
        """Return the colour of `busy`, `backpressured`, `window_blocked` or `idle`."""
        return str(getattr(self, activity))


_MARKS = MappingProxyType(
    {
        "token": ("token", "●"),
        "text": ("token", "●"),
        "chunk": ("chunk", "■"),
        "message": ("chunk", "■"),
        "audio": ("chunk", "■"),
        "tool": ("tool", "▲"),
        "tool-fragment": ("tool", "▲"),
        "tool-call": ("tool", "▲"),
        "tool-result": ("tool", "▲"),
        "retrieval": ("retrieval", "◆"),
        "safety": ("safety", "⬢"),
        "control": ("other", "○"),
        "any": ("other", "○"),
    }
)

DARK = Theme(
    name="dark",
    background="#13161b",
    panel="#1a1e25",
    raised="#20252d",
    line="#2c333d",
    text="#dfe5ec",
    muted="#8f9aa8",
    accent="#5aa9ff",
    busy="#f2a93b",
    backpressured="#e0559b",
    window_blocked="#9b87f5",
    idle="#56657a",
    ok="#46b98a",
    warning="#ffc970",
    error="#f0605d",
    empty_cell="#2b323c",
    grid="#232932",
    token="#35c2b4",
    chunk="#5aa9ff",
    tool="#f2a93b",
    retrieval="#7fc35a",
    safety="#e0559b",
    other="#9aa5b3",
)
