"""What the palette lists: operators by category, and which of them a search means.

Pure, without Qt. The panel and the search popup on the canvas read the same entries.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from types import MappingProxyType

from aiflow.operators.base import Port
from aiflow.operators.registry import Catalog
from aiflow.types import PortType

#: Category of an operator -> heading, in the order of the palette; others follow by name.
HEADINGS = MappingProxyType(
    {
        "sources": "Sources",
        "text": "Text",
        "tools": "Tools",
        "retrieval": "Retrieval",
        "flow": "Flow",
        "sinks": "Sinks",
    }
)


@dataclass(frozen=True, slots=True)
class Entry:
    """One operator as the palette shows it.

    Attributes:
        id: the operator's name in files. `mark`: name of the port type that its glyph shows.
        inputs, outputs: its ports.
    """

    id: str
    title: str
    category: str
    summary: str
    mark: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]

    @property
    def details(self) -> str:
        """What hovering says: summary and ports, one a line."""
        lines = [f"{self.title} ({self.id})", self.summary]
        lines += [f"in  {port.name}: {port.type}" for port in self.inputs]
        lines += [f"out {port.name}: {port.type}" for port in self.outputs]
        return "\n".join(line for line in lines if line)


def entries_of(catalog: Catalog) -> tuple[Entry, ...]:
    """Return all operators, by category and then by title."""
    entries = (
        Entry(
            id=name,
            title=operator.title or name,
            category=operator.category,
            summary=operator.summary,
            mark=_mark((*operator.outputs, *operator.inputs)),
            inputs=tuple(operator.inputs),
            outputs=tuple(operator.outputs),
        )
        for name, operator in catalog.operators.items()
    )
    return tuple(sorted(entries, key=lambda each: (_place(each.category), each.title.lower())))


def heading_of(category: str) -> str:
    """Return the heading of a category, also of one that a plug-in made up."""
    return HEADINGS.get(category, category.replace("-", " ").capitalize() or "Others")


def search(entries: Iterable[Entry], query: str) -> tuple[Entry, ...]:
    """Return the entries that a query means, best first; all in their order for an empty one.

    Every word must be found: best at the start of the title, then at the start of a word,
    then anywhere in title or id, in summary or category, at last as letters in that order.
    """
    words = query.lower().split()
    scored = [
        (sum(scores), at, entry)
        for at, entry in enumerate(entries)
        if all(scores := [_score(entry, word) for word in words])
    ]
    return tuple(entry for _, _, entry in sorted(scored, key=lambda each: (-each[0], each[1])))


def fitting(
    entries: Iterable[Entry], *, source: PortType | None = None, target: PortType | None = None
) -> tuple[Entry, ...]:
    """Return the entries that could take from an output, or feed an input, of a type.

    Args:
        entries: what to choose from.
        source: type of the output a wire comes from; None where it comes from none.
        target: type of the input a wire leads to; None where it leads to none.
    """
    return tuple(
        entry
        for entry in entries
        if (source is None or any(port.type.accepts(source) for port in entry.inputs))
        and (target is None or any(target.accepts(port.type) for port in entry.outputs))
    )


def _score(entry: Entry, word: str) -> int:
    """Return how well a word fits, 0 for not at all."""
    title, id_ = entry.title.lower(), entry.id.lower()
    if title.startswith(word) or id_.startswith(word):
        return 60
    if any(part.startswith(word) for part in f"{title} {id_}".replace("-", " ").split()):
        return 50
    if word in title or word in id_:
        return 40
    if word in entry.category.lower() or word in heading_of(entry.category).lower():
        return 30
    if word in entry.summary.lower():
        return 20
    return 10 if _has_in_order(word, title) or _has_in_order(word, id_) else 0


def _has_in_order(letters: str, text: str) -> bool:
    rest = iter(text)
    return all(letter in rest for letter in letters)


def _mark(ports: tuple[Port, ...]) -> str:
    return str(ports[0].type) if ports else "any"


def _place(category: str) -> tuple[int, str]:
    known = list(HEADINGS)
    return (known.index(category), "") if category in known else (len(known), category)
