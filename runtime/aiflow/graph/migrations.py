"""Steps from older versions of the graph file to the one this program writes.

A step gets and returns the plain JSON document, before anything is read from it, so it
needs no old classes. The first real step comes with version 2; tests prove the machinery
with a version 0 of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from aiflow.errors import GraphFileError
from aiflow.graph.model import VERSION


@dataclass(frozen=True, slots=True)
class Migration:
    """One step.

    Attributes:
        to: (major, minor) that the step leads to, from whatever came before it.
        apply: returns the document in the form of `to`; may change what it is handed.
    """

    to: tuple[int, int]
    apply: Callable[[dict[str, Any]], dict[str, Any]]


#: In ascending order of `to`.
MIGRATIONS: tuple[Migration, ...] = ()


def migrate(
    document: dict[str, Any],
    version: tuple[int, int],
    where: str,
    steps: Sequence[Migration] = MIGRATIONS,
) -> tuple[dict[str, Any], tuple[int, int]]:
    """Return the document in the form of the newest step that applies, and its version.

    A document as new as this program, or newer, comes back as it is.

    Raises:
        GraphFileError: no step leads from so old a version to this one.
    """
    if version >= VERSION:
        return document, version
    for step in steps:
        if version < step.to:
            document, version = step.apply(document), step.to
    if version[0] != VERSION[0]:
        raise GraphFileError(
            where,
            f"version {version[0]}.{version[1]} is older than any this program can read",
            "open and save it with an older AiFlow first",
        )
    # Within a major version nothing has to change: fields are only ever added.
    return document, VERSION
