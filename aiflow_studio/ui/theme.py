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
    """Colours of one theme, as `#rrggbb`.

    Attributes:
        title: what a menu calls it.
        text_scale: how much larger all text is than in the other themes.
    """

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
    title: str = ""
    text_scale: float = 1.0

    def tint(self, role: str, share: float) -> str:
        """Return the panel's colour with a share (0 to 1) of the colour called `role`."""
        return blend(self.panel, str(getattr(self, role)), share)

    def type_mark(self, type_name: str) -> TypeMark:
        """Return the mark of a port type; types of plug-ins look like `any`."""
        role, glyph = _MARKS.get(type_name, ("other", "○"))
        return TypeMark(getattr(self, role), glyph)

    def activity(self, activity: str) -> str:
        """Return the colour of `busy`, `backpressured`, `window_blocked` or `idle`."""
        return str(getattr(self, activity))


def blend(base: str, other: str, share: float) -> str:
    """Return the colour between `base` (share 0) and `other` (share 1)."""
    pairs = zip(bytes.fromhex(base[1:]), bytes.fromhex(other[1:]), strict=True)
    mixed = bytes(round(one + (two - one) * share) for one, two in pairs)
    return f"#{mixed.hex()}"


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
    title="Dark",
)

LIGHT = Theme(
    name="light",
    background="#f5f7fa",
    panel="#ffffff",
    raised="#ffffff",
    line="#d0d7e0",
    text="#1b222c",
    muted="#566172",
    accent="#1565c0",
    busy="#b06000",
    backpressured="#b4246c",
    window_blocked="#6547cf",
    idle="#7b8798",
    ok="#19774f",
    warning="#8a5600",
    error="#c02826",
    empty_cell="#dde3ea",
    grid="#dfe5ec",
    token="#0a756b",
    chunk="#1565c0",
    tool="#a25800",
    retrieval="#3b751c",
    safety="#b4246c",
    other="#5a6575",
    title="Light",
)

HIGH_CONTRAST = Theme(
    name="high-contrast",
    background="#000000",
    panel="#000000",
    raised="#0b0d10",
    line="#8c97a6",
    text="#ffffff",
    muted="#d3dae3",
    accent="#7cc4ff",
    busy="#ffc24d",
    backpressured="#ff7dbd",
    window_blocked="#c1b1ff",
    idle="#8796ab",
    ok="#5fe0ac",
    warning="#ffd98a",
    error="#ff8a87",
    empty_cell="#2b333f",
    grid="#20262f",
    token="#4fe6d6",
    chunk="#7cc4ff",
    tool="#ffc24d",
    retrieval="#a5ec7d",
    safety="#ff7dbd",
    other="#d3dae3",
    title="High contrast",
)

# For a beamer in a bright room: dark on white, lines that survive, text a quarter larger.
PROJECTOR = Theme(
    name="projector",
    background="#ffffff",
    panel="#ffffff",
    raised="#ffffff",
    line="#8a94a3",
    text="#000000",
    muted="#3d4653",
    accent="#0047b3",
    busy="#a84f00",
    backpressured="#a8005c",
    window_blocked="#4a27c4",
    idle="#68758a",
    ok="#00603a",
    warning="#7a4700",
    error="#b00000",
    empty_cell="#d3dae3",
    grid="#e4e8ee",
    token="#006a60",
    chunk="#0047b3",
    tool="#8f4a00",
    retrieval="#2c6408",
    safety="#a8005c",
    other="#3d4653",
    title="Projector",
    text_scale=1.25,
)

THEMES: MappingProxyType[str, Theme] = MappingProxyType(
    {theme.name: theme for theme in (DARK, LIGHT, HIGH_CONTRAST, PROJECTOR)}
)
