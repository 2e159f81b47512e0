"""Files that were damaged anywhere: read, checked and written without ever breaking down."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from aiflow.compiler.compile import compile
from aiflow.errors import GraphFileError
from aiflow.graph import codec
from aiflow.graph.changes import changes
from aiflow.graph.model import Graph
from aiflow.graph.shipped import graphs_dir
from aiflow.operators.registry import Catalog

CATALOG = Catalog.load()
TEXTS = [path.read_bytes() for path in sorted(graphs_dir().glob("*/*.aiflow.json"))]
ODD: list[Any] = [
    *(None, True, 0, -1, 1e308, 2**70, "", "x", ".", "a.b.c", [], {}, [[]], {"a": {}}),
    *("\u0000", "\ud800", "model.out", {"id": "model"}, [1, "2"], "drop_oldest"),
]


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """Draw a shipped graph with some bytes cut, doubled or replaced."""
    text = draw(st.sampled_from(TEXTS))
    for _ in range(draw(st.integers(1, 3))):
        begin = draw(st.integers(0, len(text)))
        end = min(len(text), begin + draw(st.integers(0, 30)))
        between = draw(st.binary(max_size=6) | st.just(text[begin:end] * 2) | st.just(b""))
        text = text[:begin] + between + text[end:]
    return text


@st.composite
def twisted(draw: st.DrawFn) -> str:
    """Draw a shipped graph, still JSON, with some values replaced by odd ones or left out."""
    document = json.loads(draw(st.sampled_from(TEXTS)))
    for _ in range(draw(st.integers(1, 3))):
        inner: Any = document
        while True:
            keys = list(inner) if isinstance(inner, dict) else list(range(len(inner)))
            if not keys:
                break
            key = draw(st.sampled_from(keys))
            if isinstance(inner[key], dict | list) and inner[key] and draw(st.booleans()):
                inner = inner[key]
            elif draw(st.booleans()):
                del inner[key]
                break
            else:
                # A copy: twisted in turn, a shared one would change later cases, or hold itself.
                inner[key] = deepcopy(draw(st.sampled_from(ODD)))
                break
    return json.dumps(document)


def read(text: bytes | str) -> Graph | None:
    """Return the graph, None where it is refused in one sentence."""
    try:
        return codec.loads(text, "damaged")
    except GraphFileError as error:
        sentence = str(error)
    assert sentence.startswith("damaged: ")
    assert "\n" not in sentence
    return None


def holds(graph: Graph) -> None:
    """Hold what holds for any graph: it is checked, and comes back from its own file."""
    compiled = compile(graph, CATALOG)
    assert (compiled.plan is None) == bool(compiled.errors)
    text = codec.dumps(graph)
    again = codec.loads(text)
    assert codec.dumps(again) == text
    assert changes(graph, again) == []


@settings(max_examples=150)
@given(damaged())
def test_damaged_bytes_are_refused_in_a_sentence_or_read(text: bytes) -> None:
    """Nothing but `GraphFileError` ever comes out of reading."""
    graph = read(text)

    if graph is not None:
        holds(graph)


@settings(max_examples=150)
@given(twisted())
def test_odd_values_are_refused_in_a_sentence_or_kept(text: str) -> None:
    """Wrong kinds in any field, and fields that are missing."""
    graph = read(text)

    if graph is not None:
        holds(graph)
