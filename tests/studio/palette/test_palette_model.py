"""Which operators a search means, and which fit a wire."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiflow.operators.base import Port
from aiflow.operators.registry import Catalog
from aiflow.types import ANY, CHUNK, TEXT, TOKEN
from aiflow_studio.palette.model import Entry, entries_of, fitting, heading_of, search


def _entry(id_: str, title: str, category: str = "text", summary: str = "", **ports) -> Entry:
    inputs, outputs = ports.get("inputs", ()), ports.get("outputs", ())
    return Entry(id_, title, category, summary, "any", inputs, outputs)


ENTRIES = (
    _entry("chat", "Chat model", "sources", "Asks a model."),
    _entry("chunker", "Chunker", summary="Cuts at the end of a sentence."),
    _entry("router", "Channel router"),
    _entry("speech", "Speech", "sinks", "Says it."),
)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", ["chat", "chunker", "router", "speech"]),
        ("chu", ["chunker", "router"]),
        ("rout", ["router"]),
        ("CHANNEL", ["router"]),
        ("sinks", ["speech"]),
        ("sentence", ["chunker"]),
        ("ch mod", ["chat"]),
        ("spch", ["speech"]),
        ("zzz", []),
    ],
)
def test_a_search_finds_by_title_id_category_summary_and_letters(query, found):
    """Every word must fit somehow."""
    assert [entry.id for entry in search(ENTRIES, query)] == found


def test_the_start_of_a_title_comes_before_its_middle():
    """`ch` is Chat, Chunker, Channel before Speech."""
    assert [entry.id for entry in search(ENTRIES, "ch")] == ["chat", "chunker", "router", "speech"]


@given(st.text())
def test_a_search_only_ever_leaves_out(query):
    """No text invents an operator or names one twice."""
    found = search(ENTRIES, query)

    assert set(found) <= set(ENTRIES)
    assert len(set(found)) == len(found)


def test_a_wire_is_offered_only_what_takes_it():
    """By the lattice of types."""
    entries = (
        _entry("texts", "Texts", inputs=(Port("in", TEXT),), outputs=(Port("out", CHUNK),)),
        _entry("all", "All", inputs=(Port("in", ANY),)),
        _entry("chunks", "Chunks", inputs=(Port("in", CHUNK),), outputs=(Port("out", TOKEN),)),
    )

    assert [each.id for each in fitting(entries, source=TOKEN)] == ["texts", "all"]
    assert [each.id for each in fitting(entries, target=TEXT)] == ["texts", "chunks"]
    assert fitting(entries) == entries


def test_every_operator_of_the_catalog_is_listed_once_by_category():
    """Sources first, sinks last, each with a title of its own."""
    catalog = Catalog.load()
    entries = entries_of(catalog)

    assert {each.id for each in entries} == set(catalog.operators)
    assert len({each.title for each in entries}) == len(entries)
    headings = [heading_of(each.category) for each in entries]
    assert headings[0] == "Sources"
    assert headings[-1] == "Sinks"


def test_a_category_that_a_plug_in_made_up_has_a_heading():
    """Nothing is hidden because it is unknown."""
    assert heading_of("odd-things") == "Odd things"
