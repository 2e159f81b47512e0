"""The resource `index`: local documents that nodes search while a run goes on."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from pydantic import Field, field_validator

from aiflow.clock import Clock
from aiflow.errors import NamedFileError, ResourceError
from aiflow.resources import Resource, ResourceParams
from aiflow.retrieval.documents import Document, made, read
from aiflow.retrieval.store import Found, Store

# Documents that nodes add are told from files by a letter that no file's name begins with.
_ADDED = "/"


class IndexParams(ResourceParams):
    """Parameters of an index."""

    documents: str = Field(
        "documents",
        description="Folder of the documents, or one document, relative to the graph's folder, else"
        " to the shipped graphs; empty begins with none.",
        json_schema_extra={"x-editor": "path"},
    )
    files: tuple[str, ...] = Field(
        ("**/*.md", "**/*.txt", "**/*.pdf"),
        description="Which files of the folder, as patterns; ** is any folder below.",
    )
    file: str = Field(
        "",
        description="File that keeps the index for the next run, relative to the graph's folder;"
        " empty makes it anew in memory each time, which is quick for some hundred pages.",
        json_schema_extra={"x-editor": "save-path"},
    )
    passage_characters: int = Field(
        600,
        ge=50,
        le=100_000,
        description="Longest passage that is found as one.",
        json_schema_extra={"x-unit": "characters"},
    )

    @field_validator("files")
    @classmethod
    def _patterns_stay_below(cls, files: tuple[str, ...]) -> tuple[str, ...]:
        for pattern in files:
            parts = Path(pattern).parts
            if not parts or ".." in parts or Path(pattern).is_absolute() or "\0" in pattern:
                raise ValueError(f"{pattern!r} is no pattern of files below the folder")
            if any("**" in part and part != "**" for part in parts):
                raise ValueError(f"in the pattern {pattern!r} a ** must stand between slashes")
        return files


class Index(Resource[IndexParams]):
    """Local text, Markdown and PDF files in a SQLite full-text index."""

    kind: ClassVar[str] = "index"
    title: ClassVar[str] = "Document index"
    summary: ClassVar[str] = "Local text, Markdown and PDF files that can be searched."
    Params: ClassVar[type[ResourceParams]] = IndexParams

    _store: Store | None = None

    def check(self) -> Iterator[str]:
        """Name the folder or the file that cannot be used."""
        if self.params.documents and self._place() is None:
            yield f"there is no folder or file {self.params.documents}; correct the path"
        path = self._path()
        if path is not None and not path.parent.is_dir():
            yield f"the folder of its file {self.params.file} does not exist"

    async def start(self, clock: Clock) -> None:
        """Open the index and read what has changed.

        On a real clock in a thread, so that a large folder does not hold up the loop.

        Raises:
            ResourceError: a document cannot be read, or the file is no index.
        """
        for fault in self.check():
            raise ResourceError(self.id, fault)
        if clock.is_virtual:
            self._open()
        else:
            await asyncio.to_thread(self._open)

    async def stop(self) -> None:
        """Close the index."""
        store, self._store = self._store, None
        if store is not None:
            store.close()

    def search(self, query: str, limit: int) -> list[Found]:
        """Return the best passages for a query, best first.

        Raises:
            ResourceError: the index is not open, or its file broke.
        """
        try:
            return self._opened().search(query, limit)
        except sqlite3.Error as error:
            raise ResourceError(self.id, f"it cannot be searched: {error}") from error

    def add(self, name: str, text: str) -> bool:
        """Add a text, or put it in place of the last one of that name.

        Returns:
            Whether it differs from what was there.

        Raises:
            ResourceError: the index is not open, or its file cannot be written.
        """
        try:
            return self._opened().put(made(f"{_ADDED}{name}.md", text.encode()))
        except sqlite3.Error as error:
            raise ResourceError(self.id, f"it cannot be written: {error}") from error

    def count(self) -> tuple[int, int]:
        """Return how many documents and passages there are."""
        return self._opened().count()

    def _opened(self) -> Store:
        if self._store is None:
            raise ResourceError(self.id, "it has not been started")
        return self._store

    def _open(self) -> None:
        store = None
        try:
            store = Store(self._path(), self.params.passage_characters)
            self._sync(store)
        except (sqlite3.Error, ValueError, NamedFileError) as error:
            if store is not None:
                store.close()
            raise ResourceError(self.id, self._reason(error)) from error
        self._store = store

    def _reason(self, error: Exception) -> str:
        """Return why it cannot start, and what to do."""
        if isinstance(error, NamedFileError):
            return f"a document cannot be indexed: {error}"
        if "fts5" in str(error):
            return "the SQLite of this Python has no full-text search (FTS5); use another Python"
        file = self.params.file or "in memory"
        return f"its file {file} cannot be used: {error}; name another one"

    def _sync(self, store: Store) -> None:
        added = [name for name in store.names() if name.startswith(_ADDED)]
        store.sync(self._documents(), keep=added)

    def _documents(self) -> Iterator[Document]:
        place = self._place()
        if place is None:
            return
        if place.is_file():
            yield read(place.name, place)
            return
        found = {path for pattern in self.params.files for path in place.glob(pattern)}
        for path in sorted(path for path in found if path.is_file()):
            yield read(path.relative_to(place).as_posix(), path)

    def _place(self) -> Path | None:
        if not self.params.documents:
            return None
        places = [folder / self.params.documents for folder in self.folders or (Path(),)]
        return next((place for place in places if place.exists()), None)

    def _path(self) -> Path | None:
        if not self.params.file:
            return None
        return (self.folders[0] if self.folders else Path()) / self.params.file
