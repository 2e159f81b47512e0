"""The store: passages in a SQLite full-text table, ranked by BM25.

Incremental: a document whose content has not changed is not read again. Each document is replaced
in one transaction, so a program that is killed leaves documents whole, old or new, and the next
run goes on from there.
Source: Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009,
as SQLite's FTS5 implements it.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from aiflow.retrieval.documents import Document, Passage, passages

# Stands in the file; another layout or another way to cut makes the index anew.
_LAYOUT = 1
_NAMES = ("settings", "documents", "passages")
_TABLES = (
    "CREATE TABLE settings (made_with TEXT NOT NULL)",
    "CREATE TABLE documents (name TEXT PRIMARY KEY, digest TEXT NOT NULL)",
    "CREATE VIRTUAL TABLE passages USING fts5(title, text, name UNINDEXED, place UNINDEXED,"
    " tokenize = 'porter unicode61 remove_diacritics 2')",
)
# A word in the title says more than one in the text.
_SEARCH = """
SELECT name, place, title, text, -bm25(passages, 2.0, 1.0),
  snippet(passages, 1, '', '', '…', 24)
FROM passages WHERE passages MATCH ? ORDER BY bm25(passages, 2.0, 1.0), rowid LIMIT ?"""
_WORD = re.compile(r"\w+")
# A query is a question; who sends a book as one gets what its first words find.
_MAX_WORDS = 64
_BUSY_S = 5.0


@dataclass(frozen=True, slots=True)
class Found:
    """A passage that a query found.

    Attributes:
        document: name of its document. `place`: the passage's number in it, from 1.
        score: BM25, higher is better; comparable within one query only.
        snippet: the part of the text where the query's words stand closest.
    """

    document: str
    place: int
    title: str
    text: str
    score: float
    snippet: str


class Store:
    """One index: a file of its own, or memory.

    Args:
        path: the file, made where there is none; None keeps the index in memory.
        passage_characters: longest passage.

    Raises:
        sqlite3.Error: the file cannot be opened or is no database.
        ValueError: the database is not an index; it is left alone.
    """

    def __init__(self, path: Path | None, passage_characters: int) -> None:
        self._size = passage_characters
        # Made in one thread and asked in another, one after the other, never at once.
        self._database = sqlite3.connect(
            path or ":memory:", timeout=_BUSY_S, check_same_thread=False, isolation_level=None
        )
        try:
            self._prepare()
        except BaseException:
            self._database.close()
            raise

    def close(self) -> None:
        """Close the file; safe to repeat."""
        self._database.close()

    def sync(self, documents: Iterable[Document], keep: Iterable[str] = ()) -> int:
        """Make the index hold these documents; return how many had changed.

        Args:
            documents: read one at a time, so memory holds one.
            keep: names of others that stay; all further ones are removed.

        Raises:
            NamedFileError: one cannot be read; those before it are in the index.
        """
        gone = set(self.names()) - set(keep)
        changed = 0
        for document in documents:
            gone.discard(document.name)
            changed += self.put(document)
        for name in sorted(gone):
            self._replace(name, None, [])
        return changed

    def put(self, document: Document) -> bool:
        """Put one document in place of what had its name; return whether that differed."""
        if self._digest(document.name) == document.digest:
            return False
        self._replace(document.name, document.digest, passages(document, self._size))
        return True

    def search(self, query: str, limit: int) -> list[Found]:
        """Return the best passages for any of a query's words, best first."""
        words = list(dict.fromkeys(_WORD.findall(query.lower())))[:_MAX_WORDS]
        if not words:
            return []
        # Quoted: what looks like the syntax of a search is a word like any other.
        wanted = " OR ".join(f'"{word}"' for word in words)
        with closing(self._database.execute(_SEARCH, (wanted, limit))) as rows:
            return [
                Found(name, int(place), title, text, float(score), snippet)
                for name, place, title, text, score, snippet in rows
            ]

    def names(self) -> list[str]:
        """Return the names of all documents, in order."""
        rows = self._database.execute("SELECT name FROM documents ORDER BY name").fetchall()
        return [name for (name,) in rows]

    def count(self) -> tuple[int, int]:
        """Return how many documents and passages there are."""
        documents, passages_ = self._database.execute(
            "SELECT (SELECT count(*) FROM documents), (SELECT count(*) FROM passages)"
        ).fetchone()
        return documents, passages_

    def _prepare(self) -> None:
        # Asked before anything is set: somebody else's database is not touched.
        self._holds_index()
        database = self._database
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = NORMAL")
        made_with = (f"layout {_LAYOUT}, passages of {self._size}",)
        database.execute("BEGIN IMMEDIATE")
        with database:
            if self._holds_index():
                if database.execute("SELECT made_with FROM settings").fetchone() == made_with:
                    return
                for name in _NAMES:
                    database.execute(f"DROP TABLE {name}")
            for statement in _TABLES:
                database.execute(statement)
            database.execute("INSERT INTO settings VALUES (?)", made_with)

    def _holds_index(self) -> bool:
        """Say whether the tables are there.

        Raises:
            ValueError: there are others instead.
        """
        rows = self._database.execute("SELECT name FROM sqlite_master").fetchall()
        tables = {name for (name,) in rows}
        if tables and not set(_NAMES) <= tables:
            raise ValueError("it is a database of something else")
        return bool(tables)

    def _replace(self, name: str, digest: str | None, pieces: list[Passage]) -> None:
        database = self._database
        database.execute("BEGIN IMMEDIATE")
        with database:
            database.execute("DELETE FROM passages WHERE name = ?", (name,))
            database.execute("DELETE FROM documents WHERE name = ?", (name,))
            if digest is None:
                return
            database.executemany(
                "INSERT INTO passages (title, text, name, place) VALUES (?, ?, ?, ?)",
                [(piece.title, piece.text, name, place) for place, piece in enumerate(pieces, 1)],
            )
            database.execute("INSERT INTO documents VALUES (?, ?)", (name, digest))

    def _digest(self, name: str) -> str | None:
        row = self._database.execute(
            "SELECT digest FROM documents WHERE name = ?", (name,)
        ).fetchone()
        return None if row is None else str(row[0])
