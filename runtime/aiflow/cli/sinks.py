"""What sinks show, as labelled lines: no line mixes two nodes or two conversations."""

from __future__ import annotations

from collections.abc import Callable, Collection

from aiflow.cli.console import printable

LINE_WIDTH = 88


class SinkLines:
    """Puts pieces of shown text together into lines.

    A newline ends a line; running text is broken at a blank before `LINE_WIDTH`, so that a
    reader need not wait for the end of a paragraph.

    Args:
        write: takes one line without its newline.
        nodes: ids of the nodes that show something as a rule, for the width of the label.
        has_many: more than one conversation may speak, so each line names its own.
    """

    def __init__(
        self, write: Callable[[str], None], nodes: Collection[str], *, has_many: bool
    ) -> None:
        self._write = write
        self._width = max(map(len, nodes), default=0)
        self._has_many = has_many
        self._open: dict[tuple[str, str], str] = {}

    def show(self, node: str, conversation: str, text: str) -> None:
        """Take what a node showed next."""
        key = (node, conversation)
        *lines, rest = (self._open.pop(key, "") + text).split("\n")
        for line in lines:
            # Structured lines (JSON) stay whole; only text that still grows is broken.
            self._line(key, line)
        while len(rest) > LINE_WIDTH and not rest.startswith(("{", "[")):
            cut = rest.rfind(" ", 1, LINE_WIDTH)
            if cut < 0:
                break
            self._line(key, rest[:cut])
            rest = rest[cut + 1 :]
        if rest:
            self._open[key] = rest

    def close(self) -> None:
        """Write what is left without an end."""
        for key, rest in self._open.items():
            self._line(key, rest)
        self._open.clear()

    def _line(self, key: tuple[str, str], line: str) -> None:
        if not line.strip():
            return
        node, conversation = key
        label = f"{node:<{self._width}}" + (f" {conversation:<5}" if self._has_many else "")
        self._write(f"{label} │ {printable(line.rstrip())}")
