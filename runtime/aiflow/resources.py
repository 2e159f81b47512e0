"""Resources: things that nodes are handed, such as a provider, an index or a speech engine.

Here is only what every kind has in common. Which kinds this process knows is the catalog's
knowledge (`aiflow.resources` entry points); when one starts and stops is the session's.
Below providers and operators, because both build on it and neither may know the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import ClassVar, Generic, TypeVar

from pydantic import BaseModel, ConfigDict

from aiflow.clock import Clock


class ResourceParams(BaseModel):
    """Base of a resource's parameters; each field has a description, a unit or bounds."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class NoResourceParams(ResourceParams):
    """Parameters of a resource that has none."""


class ResourceScope(StrEnum):
    """Who shares one started resource."""

    RUN = "run"
    CONVERSATION = "conversation"


P = TypeVar("P", bound=ResourceParams)


class Resource(Generic[P]):
    """Something that is made from params, started before a run and stopped after it.

    The compiler makes one, asks its questions and throws it away; the session makes
    another and starts that. So construction opens nothing and reads no secret.

    Attributes:
        kind: the word in a graph's `resources` and in an operator's `requires`.
        title: what the studio shows. `summary`: one sentence.
        Params: the model of its parameters.
        scope: who shares one started resource.
        serves_as: further kinds in whose place it can stand.
        id: its id in the graph.
        folders: where relative paths are looked up, first match wins.
    """

    kind: ClassVar[str]
    title: ClassVar[str] = ""
    summary: ClassVar[str] = ""
    Params: ClassVar[type[ResourceParams]] = NoResourceParams
    scope: ClassVar[ResourceScope] = ResourceScope.RUN
    serves_as: ClassVar[tuple[str, ...]] = ()

    def __init__(self, id: str, params: P, folders: Sequence[Path] = ()) -> None:
        self.id = id
        self.params = params
        self.folders = tuple(folders)

    @classmethod
    def fits(cls, kind: str) -> bool:
        """Say whether a node that asks for `kind` may be handed it."""
        return kind == cls.kind or kind in cls.serves_as

    def find(self, path: str) -> Path | None:
        """Return the existing file that `path` means, None where there is none."""
        return find_file(path, self.folders)

    def credentials(self) -> tuple[str, ...]:
        """Return the names of the environment variables that hold its secrets."""
        return ()

    def check(self) -> Iterator[str]:
        """Yield one clause per thing that keeps it from starting, such as a missing file.

        No socket is opened for it. Secrets (`credentials`), the clock (`needs_real_clock`) and
        the machine (`lacks`) are asked for apart.
        """
        return iter(())

    def lacks(self) -> Iterator[str]:
        """Yield one clause per thing that this machine lacks for it, such as a package.

        The graph is right all the same: on another machine it may run.
        """
        return iter(())

    def needs_real_clock(self) -> str:
        """Return why it cannot serve a run on the virtual clock, one clause; "" if it can."""
        return ""

    @property
    def undecoded_bytes(self) -> int:
        """Bytes it has read for nodes and not decoded yet; for the run's snapshot."""
        return 0

    @property
    def waiting_requests(self) -> int:
        """Requests of nodes that wait for its limits now; for the run's snapshot."""
        return 0

    async def start(self, clock: Clock) -> None:
        """Open what it needs; called once, before any node runs.

        Raises:
            ResourceError: it cannot start.
        """

    async def stop(self) -> None:
        """Close what it opened; called once, also after a failed start, and never raises."""


def find_file(path: str, folders: Sequence[Path]) -> Path | None:
    """Return the first existing file that `path` means.

    Args:
        path: absolute, or relative to one of `folders`.
        folders: tried in order: the graph's own folder, then the shipped graphs.
    """
    for folder in folders or (Path(),):
        candidate = folder / path
        if candidate.is_file():
            return candidate
    return None
