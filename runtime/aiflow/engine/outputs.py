"""What sinks showed: a bounded ring of numbered lines, asked for by whoever shows them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice

#: Lines that are kept for those who ask late.
KEPT_LINES = 10_000


@dataclass(frozen=True, slots=True)
class OutputLine:
    """Text that a node showed in one go.

    Attributes:
        number: +1 per line over the whole run, from 1; asks continue after the last seen.
        node: the sink. `conversation`: whose text it is.
    """

    number: int
    node: str
    conversation: str
    text: str


class Outputs:
    """The lines of one session, oldest dropped first.

    Args:
        keep: most lines kept.
        show: called with each line as it comes, by whoever must not miss one; never raises.
    """

    def __init__(
        self, keep: int = KEPT_LINES, show: Callable[[OutputLine], None] | None = None
    ) -> None:
        self._lines: deque[OutputLine] = deque(maxlen=keep)
        self._show = show
        self._count = 0

    def add(self, node: str, conversation: str, text: str) -> None:
        """Append one line."""
        self._count += 1
        line = OutputLine(self._count, node, conversation, text)
        self._lines.append(line)
        if self._show is not None:
            self._show(line)

    def after(self, number: int) -> list[OutputLine]:
        """Return the kept lines with a larger number, oldest first."""
        new = min(len(self._lines), self._count - number)
        return list(islice(self._lines, len(self._lines) - new, None)) if new > 0 else []
