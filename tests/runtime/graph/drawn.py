"""Graphs and documents that hypothesis draws, for the tests of codec, edits and compiler."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from aiflow.graph import edits
from aiflow.graph.model import Graph, PortRef, Resource

IDS = st.builds("{}{}".format, st.sampled_from("abz"), st.text("a9_-", max_size=3))
# Any text but halves of surrogate pairs, which have a test of their own.
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
PLACES = st.tuples(*(2 * [st.floats(-1e6, 1e6).map(lambda part: round(part, 2))]))
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
# A few awkward ones; drawing anything for every field of a graph would take most of the time.
OBJECTS: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [{}, {}, {"a": None}, {"b": [True, 1, -0.5], "ρ": {"": []}}, {"queue_capacity": 3, "z": 1e300}]
)
OPERATORS = st.sampled_from(["synthetic", "delay", "router", "screen", "chunker", "nowhere"])


@st.composite
def graphs(draw: st.DrawFn, least_nodes: int = 0) -> Graph:
    """Draw a graph that was made by edits, with whatever in params, policy and extras."""
    graph = Graph(
        name=draw(TEXTS),
        description=draw(TEXTS),
        max_conversations=draw(st.integers(1, 20)),
        resources={
            id: Resource(id, draw(TEXTS), draw(OBJECTS)) for id in draw(st.sets(IDS, max_size=2))
        },
        notes=tuple(draw(st.lists(OBJECTS, max_size=2))),
        extra=draw(st.dictionaries(st.sampled_from(["later", "$schema"]), OBJECTS, max_size=2)),
    )
    for id in draw(st.lists(IDS, unique=True, min_size=least_nodes, max_size=4)):
        graph = edits.add_node(
            graph,
            draw(OPERATORS),
            id=id,
            at=draw(st.none() | PLACES),
            params=draw(OBJECTS),
            policy=draw(OBJECTS),
        )
        graph = edits.set_disabled(graph, id, draw(st.booleans()))
    ids = list(graph.nodes)
    if ids:
        ports = st.builds(PortRef, st.sampled_from(ids), IDS)
        pairs = st.lists(st.tuples(ports, ports), unique=True, max_size=4)
        for source, target in draw(pairs):
            fanout = draw(st.sampled_from(["strict", "detached"]))
            graph = edits.connect(graph, source, target, fanout=fanout)
        graph = edits.set_measure(graph, draw(st.sets(st.sampled_from(ids), max_size=2)))
    return graph


def _entries(**known: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Draw objects with some of the known fields, right or wrong, and perhaps an unknown one."""
    fields = {key: value | VALUES for key, value in known.items()}
    return st.fixed_dictionaries({}, optional={**fields, "later": VALUES})


#: Documents that are a graph by their head, and anything in their fields.
DOCUMENTS = st.builds(
    lambda fields: {"format": "aiflow", "version": "1.0", **fields},
    st.fixed_dictionaries(
        {},
        optional={
            "name": TEXTS | VALUES,
            "max_conversations": st.integers() | VALUES,
            "measure": st.lists(IDS, max_size=2) | VALUES,
            "nodes": st.lists(
                st.builds(
                    lambda id, entry: {**entry, "id": id},
                    IDS | TEXTS,
                    _entries(
                        operator=OPERATORS,
                        params=OBJECTS,
                        policy=OBJECTS,
                        resources=st.dictionaries(IDS, IDS, max_size=2),
                        disabled=st.booleans(),
                        suppress=st.lists(st.fixed_dictionaries({"code": TEXTS}), max_size=2),
                    ),
                ),
                max_size=4,
                unique_by=lambda entry: str(entry["id"]),
            ),
            "edges": st.lists(
                _entries(
                    **{"from": st.sampled_from(["a.out", "b.out", "a", "."]), "to": TEXTS},
                    fanout=st.sampled_from(["strict", "detached"]),
                    overflow=TEXTS,
                    feedback=st.dictionaries(
                        st.sampled_from(["credit", "hops", "later"]), st.integers(), max_size=2
                    ),
                ),
                max_size=4,
            ),
            "layout": st.dictionaries(
                IDS, st.lists(st.integers(-9, 9), min_size=2, max_size=2) | VALUES, max_size=3
            ),
            "frames": st.lists(VALUES, max_size=2),
            "later": VALUES,
        },
    ),
)
