"""Operators, resources and graphs for the compiler's tests; no built-in is needed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from pydantic import Field

from aiflow.compiler.compile import Compiled, compile
from aiflow.graph import codec
from aiflow.graph.json_text import render
from aiflow.graph.model import Graph
from aiflow.operators.base import Operator, Params, Port, Source
from aiflow.operators.registry import Catalog
from aiflow.policies import Policy, SideEffects, State
from aiflow.resources import Resource, ResourceParams, ResourceScope
from aiflow.types import ANY, CHUNK, MESSAGE, TEXT, TOKEN

#: Codes of which no graph of built-in operators and resources can be an example.
ONLY_WITH_A_PLUGIN = {"AF510"}


class LimitParams(Params):
    """One bounded number."""

    limit: int = Field(3, ge=1, description="A limit.")


class Spring(Source[LimitParams]):
    """A source that opens `limit` conversations."""

    name = "spring"
    Params: ClassVar = LimitParams
    outputs = (Port("out", TOKEN), Port("whole", MESSAGE))

    def conversations(self) -> int:
        """Return the limit."""
        return self.params.limit


class Pass(Operator[Params]):
    """Passes on what comes."""

    name = "pass"
    inputs = (Port("in", ANY),)
    outputs = (Port("out", ANY, like="in"),)


class Both(Operator[LimitParams]):
    """Two inputs, one of them optional; keeps events and lists outputs."""

    name = "both"
    Params: ClassVar = LimitParams
    inputs = (Port("left", TEXT), Port("right", TEXT, is_optional=True))
    outputs = (Port("out", CHUNK),)
    state = State.SERIALIZED
    side_effects = SideEffects.IDEMPOTENT
    max_outputs = 3

    def kept_events(self) -> int:
        """Return the limit."""
        return self.params.limit

    def check(self, policy: Policy) -> Iterator[str]:
        """Object to a queue of 13."""
        if policy.queue_capacity == 13:
            yield "thirteen is no number for a queue"


class Drain(Operator[Params]):
    """A sink for text."""

    name = "drain"
    inputs = (Port("in", TEXT),)


class Asks(Operator[Params]):
    """A sink that needs a well and a socket."""

    name = "asks"
    inputs = (Port("in", ANY),)
    requires: ClassVar = {"water": "well"}
    runs_on_virtual_clock = False


class Sips(Operator[Params]):
    """A sink that may be given a well, and does without."""

    name = "sips"
    inputs = (Port("in", ANY),)
    accepts: ClassVar = {"water": "well"}


class WellParams(ResourceParams):
    """Depth and key of a well."""

    depth: int = Field(1, ge=1, description="Depth.")
    key: str = Field("", description="Name of the variable that holds its key.")


class Well(Resource[WellParams]):
    """A resource that objects to a depth of 13 and to the virtual clock below 100."""

    kind = "well"
    Params = WellParams

    def credentials(self) -> tuple[str, ...]:
        """Return the key's variable."""
        return (self.params.key,) if self.params.key else ()

    def check(self) -> Iterator[str]:
        """Object to 13."""
        if self.params.depth == 13:
            yield "thirteen is no depth"

    def needs_real_clock(self) -> str:
        """Object below 100."""
        return "it is too deep" if self.params.depth > 100 else ""


class Pond(Resource[ResourceParams]):
    """Another kind."""

    kind = "pond"


class Tank(Resource[WellParams]):
    """Stands in for a well; below 10 this machine has no pump for it."""

    kind = "tank"
    serves_as = ("well",)
    Params = WellParams

    def lacks(self) -> Iterator[str]:
        """Ask for a pump below 10."""
        if self.params.depth > 10:
            yield "there is no pump; buy one"


class Bath(Resource[ResourceParams]):
    """One for each conversation."""

    kind = "bath"
    scope = ResourceScope.CONVERSATION


class Bathes(Operator[Params]):
    """A sink that needs a bath."""

    name = "bathes"
    inputs = (Port("in", ANY),)
    requires: ClassVar = {"water": "bath"}


class Guess(Operator[Params]):
    """Passes on what comes; its effects are speculative."""

    name = "guess"
    inputs = (Port("in", ANY),)
    outputs = (Port("out", ANY, like="in"),)
    side_effects = SideEffects.SPECULATIVE


class Grinds(Guess):
    """Does the same in a thread."""

    name = "grinds"
    is_blocking = True


CATALOG = Catalog.of(
    *(Spring, Pass, Both, Drain, Asks, Sips, Bathes, Guess, Grinds),
    resources={"well": Well, "pond": Pond, "tank": Tank, "bath": Bath},
)


def graph(*edges: str, **nodes: Any) -> Graph:
    """Return a graph of edges such as `a.out>b.in`; each node is given as operator or fields.

    A node's name with `_` for `-`; its fields are an operator, or a dict with `operator`.
    """
    entries = [
        {"id": id.replace("_", "-"), **({"operator": given} if isinstance(given, str) else given)}
        for id, given in nodes.items()
    ]
    ends = [dict(zip(("from", "to"), edge.split(">"), strict=True)) for edge in edges]
    document = {"format": "aiflow", "version": "1.0", "nodes": entries, "edges": ends}
    return codec.loads(render(document, "test"))


def chain(**middle: Any) -> Graph:
    """Return spring → middle → drain; the fields are those of the node in the middle."""
    entry = {"operator": "pass", **middle}
    port = {"both": "left"}.get(str(entry["operator"]), "in")
    return graph(
        f"spring.out>middle.{port}",
        "middle.out>drain.in",
        spring={"operator": "spring", "params": {"limit": 1}},
        middle=entry,
        drain="drain",
    )


def codes(compiled: Compiled) -> list[str]:
    """Return the codes found, each once, sorted."""
    return sorted({diagnostic.code for diagnostic in compiled.diagnostics})


def check(graph: Graph, **options: Any) -> Compiled:
    """Compile with this module's catalog."""
    return compile(graph, CATALOG, **options)
