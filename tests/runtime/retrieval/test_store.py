"""Tests of `aiflow.retrieval.store`."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiflow.errors import NamedFileError
from aiflow.retrieval.documents import Document, made
from aiflow.retrieval.store import Store

# Puts a hundred documents of many passages in, again and again, until it is killed.
WRITER = """
import sys
from pathlib import Path
from aiflow.retrieval.documents import made
from aiflow.retrieval.store import Store

store = Store(Path(sys.argv[1]), 50)
for turn in range(1, 1_000_000):
    for number in range(100):
        store.put(made(f"{number}.txt", (f"turn{turn} word word.\\n\\n" * 30).encode()))
        if (turn, number) == (2, 50):
            print("half", flush=True)
"""


@pytest.fixture
def store() -> Iterator[Store]:
    """Return an empty index in memory."""
    with closing(Store(None, 200)) as made_store:
        yield made_store


def text(name: str, content: str) -> Document:
    """Return a document."""
    return made(name, content.encode())


def test_the_best_passage_comes_first_with_its_place_and_a_snippet(store: Store) -> None:
    """More of the query's words, and words in the title, weigh more."""
    store.sync(
        [
            text("a.txt", "The ferry waits.\n\n" + "Much else is said here. " * 20),
            text("ferry.txt", "The ferry crosses in fog."),
            text("c.txt", "Bread is baked."),
        ]
    )

    found = store.search("Ferry in FOG?", 5)

    assert [(each.document, each.place) for each in found][:2] == [("ferry.txt", 1), ("a.txt", 1)]
    assert found[0].score > found[1].score > 0
    assert found[0].snippet == "The ferry crosses in fog."
    assert found[0].title == "ferry"
    assert "c.txt" not in [each.document for each in found]


def test_words_are_found_in_other_forms_and_without_accents(store: Store) -> None:
    """`cleaning` finds `cleaned`, `cafe` finds `Café`."""
    store.put(text("a.txt", "The Café is cleaned."))

    assert store.search("cleaning", 1)
    assert store.search("cafe", 1)


@pytest.mark.parametrize("query", ["", "?!", "\n", "\0"])
def test_a_query_without_a_word_finds_nothing(store: Store, query: str) -> None:
    """And is no error."""
    store.put(text("a.txt", "text"))

    assert store.search(query, 3) == []


@given(st.text(max_size=40))
def test_no_query_is_read_as_the_syntax_of_a_search(query: str) -> None:
    """Quotes, stars, brackets, NEAR and NOT are text; a word that is there is found."""
    with closing(Store(None, 200)) as store:
        store.put(text("a.txt", "needle"))

        store.search(query, 3)
        assert store.search(f'{query} NOT "needle* OR', 3)


def test_only_what_has_changed_is_read_again(store: Store) -> None:
    """By content; what is gone from the folder is gone from the index."""
    store.sync([text("a.txt", "one"), text("b.txt", "two"), text("c.txt", "kept")])

    changed = store.sync([text("a.txt", "one"), text("b.txt", "three")], keep=["c.txt"])

    assert changed == 1
    assert store.names() == ["a.txt", "b.txt", "c.txt"]
    assert store.search("two", 1) == []
    assert store.search("three", 1)
    store.sync([])
    assert store.count() == (0, 0)


def test_a_file_keeps_the_index_and_another_way_to_cut_makes_it_anew(tmp_path: Path) -> None:
    """Passages of two lengths never stand side by side."""
    path = tmp_path / "index.sqlite"
    for size, changed in ((100, True), (100, False), (60, True)):
        with closing(Store(path, size)) as store:
            assert store.put(text("a.txt", "one")) == changed


@pytest.mark.parametrize("owner", ["text", "database"])
def test_a_file_of_somebody_else_is_refused_and_left_alone(tmp_path: Path, owner: str) -> None:
    """Neither a text nor another program's database is overwritten."""
    path = tmp_path / "notes"
    if owner == "text":
        path.write_text("dear diary " * 20, encoding="utf-8")
    else:
        with closing(sqlite3.connect(path)) as database:
            database.execute("CREATE TABLE mine (a)")
    before = path.read_bytes()

    with pytest.raises((sqlite3.DatabaseError, ValueError)):
        Store(path, 100)

    assert path.read_bytes() == before


def test_a_document_that_breaks_leaves_those_before_it(store: Store) -> None:
    """And the next run goes on from there."""
    with pytest.raises(NamedFileError):
        store.sync([text("a.txt", "one"), made("b.txt", b"\xff"), text("c.txt", "three")])

    assert store.names() == ["a.txt"]


def test_a_killed_program_leaves_whole_documents(tmp_path: Path) -> None:
    """SIGKILL in mid-write: sound, each document all old or all new, and it goes on."""
    path = tmp_path / "index.sqlite"
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE
    ) as writer:
        assert writer.stdout is not None
        try:
            assert writer.stdout.readline() == b"half\n"
        finally:
            writer.kill()

    with closing(sqlite3.connect(path)) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        database.execute("INSERT INTO passages (passages) VALUES ('integrity-check')")
        rows = database.execute(
            "SELECT name, count(*), count(DISTINCT substr(text, 1, 5)) FROM passages GROUP BY name"
        ).fetchall()
    assert len(rows) == 100
    assert {row[1:] for row in rows} == {rows[0][1:]} == {(rows[0][1], 1)}
    with closing(Store(path, 50)) as store:
        assert store.put(text("0.txt", "new"))
        assert store.search("new", 1)
