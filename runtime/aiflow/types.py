"""Port types: which payloads an edge may carry, and which port may feed which.

A small lattice: a type accepts itself, the types it names, and whatever those accept.
How a type looks (colour, glyph) belongs to the studio. Payload classes live in `events`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PortType:
    """A named set of payloads.

    Attributes:
        name: shown at the port and kept in diagnostics.
        takes: types whose payloads this one accepts beside its own.
        takes_all: accepts every type, also those of plug-ins.
    """

    name: str
    takes: tuple[PortType, ...] = ()
    takes_all: bool = False

    def accepts(self, source: PortType) -> bool:
        """Say whether an output of type `source` may feed an input of this type."""
        if self.takes_all or source == self:
            return True
        return any(part.accepts(source) for part in self.takes)

    def __str__(self) -> str:
        """Return the name."""
        return self.name


TOKEN = PortType("token")
CHUNK = PortType("chunk")
MESSAGE = PortType("message")
TEXT = PortType("text", (TOKEN, CHUNK, MESSAGE))
TOOL_FRAGMENT = PortType("tool-fragment")
TOOL_CALL = PortType("tool-call")
TOOL_RESULT = PortType("tool-result")
TOOL = PortType("tool", (TOOL_FRAGMENT, TOOL_CALL, TOOL_RESULT))
RETRIEVAL = PortType("retrieval")
SAFETY = PortType("safety")
JOINED = PortType("joined")
AUDIO = PortType("audio")
CONTROL = PortType("control")
DEAD_LETTER = PortType("dead-letter")
ANY = PortType("any", takes_all=True)

BUILTIN: tuple[PortType, ...] = (
    TOKEN,
    CHUNK,
    MESSAGE,
    TEXT,
    TOOL_FRAGMENT,
    TOOL_CALL,
    TOOL_RESULT,
    TOOL,
    RETRIEVAL,
    SAFETY,
    JOINED,
    AUDIO,
    CONTROL,
    DEAD_LETTER,
    ANY,
)


def least_common(types: Iterable[PortType]) -> PortType:
    """Return the narrowest type that accepts all of these; `any` where nothing narrower does."""
    given = tuple(dict.fromkeys(types))
    if len(given) == 1:
        return given[0]
    # BUILTIN stands in order of width: what accepts a type never stands before it.
    for wider in (*given, *BUILTIN):
        if given and all(wider.accepts(each) for each in given):
            return wider
    return ANY
