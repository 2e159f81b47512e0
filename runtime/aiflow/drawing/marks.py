"""How a port type looks on paper: a colour and a glyph together, never colour alone.

The same as in the studio's light theme; a test holds the two together, because neither
package may import the other's.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mark:
    """Colour as `#rrggbb`, and a character that says the same."""

    color: str
    glyph: str


_TOKEN = Mark("#0a756b", "●")
_CHUNK = Mark("#1565c0", "■")
_TOOL = Mark("#a25800", "▲")
_OTHER = Mark("#5a6575", "○")

MARKS = {
    **dict.fromkeys(("token", "text"), _TOKEN),
    **dict.fromkeys(("chunk", "message", "audio"), _CHUNK),
    **dict.fromkeys(("tool", "tool-fragment", "tool-call", "tool-result"), _TOOL),
    "retrieval": Mark("#3b751c", "◆"),
    "safety": Mark("#b4246c", "⬢"),
    **dict.fromkeys(("control", "any"), _OTHER),
}


def mark_of(type_name: str) -> Mark:
    """Return the mark of a port type; types of plug-ins look like `any`."""
    return MARKS.get(type_name, _OTHER)
