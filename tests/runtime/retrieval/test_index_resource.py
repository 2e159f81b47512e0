"""Tests of `aiflow.retrieval.resource`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import ValidationError

from aiflow.clock import SystemClock, VirtualClock, VirtualLoop
from aiflow.errors import ResourceError
from aiflow.retrieval.resource import Index, IndexParams
from aiflow.testing.virtual import run_virtual
from tests.runtime.retrieval.pdf import make_pdf


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """Return a folder with three documents of three kinds and one that is none."""
    below = tmp_path / "library" / "more"
    below.mkdir(parents=True)
    (tmp_path / "library" / "a.md").write_text("# Bells\n\nThe bell rings.", encoding="utf-8")
    (below / "b.txt").write_text("The ferry waits.", encoding="utf-8")
    (below / "c.pdf").write_bytes(make_pdf("The oven is lit."))
    (below / "d.png").write_bytes(b"\x89PNG")
    return tmp_path


def index(folder: Path, **params: object) -> Index:
    """Return an index of the folder, not started."""
    given = {"documents": "library", **params}
    return Index("library", IndexParams.model_validate(given), [folder])


def used(made: Index, use: Callable[[Index], object]) -> object:
    """Return what a use of the started index gives."""

    async def run() -> object:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        await made.start(VirtualClock(loop))
        try:
            return use(made)
        finally:
            await made.stop()

    return run_virtual(run())


def names(query: str) -> Callable[[Index], object]:
    """Return a use that looks a query up."""
    return lambda made: [each.document for each in made.search(query, 9)]


def test_text_markdown_and_pdf_are_found_below_the_folder(library: Path) -> None:
    """By their path below it, with slashes."""
    for query, name in (("bell", "a.md"), ("ferry", "more/b.txt"), ("oven", "more/c.pdf")):
        assert used(index(library), names(query)) == [name]
    assert used(index(library), Index.count) == (3, 3)


def test_patterns_choose_files_and_one_file_is_a_library_too(library: Path) -> None:
    """What is not chosen is not read."""
    assert used(index(library, files=("*.md",)), Index.count) == (1, 1)
    assert used(index(library, documents="library/more/b.txt"), names("ferry")) == ["b.txt"]
    assert used(index(library, documents=""), Index.count) == (0, 0)


def test_on_the_real_clock_it_is_read_beside_the_loop(library: Path) -> None:
    """And asked on the loop."""
    made = index(library)

    async def run() -> int:
        await made.start(SystemClock())
        try:
            return len(made.search("bell", 3))
        finally:
            await made.stop()
            await made.stop()

    assert asyncio.run(run()) == 1


def test_a_file_keeps_added_texts_and_follows_the_folder(library: Path) -> None:
    """What nodes added stays; a document that was removed is gone."""
    made = index(library, file="index.sqlite")
    assert used(made, lambda it: it.add("n/c1/0/0", "A seal came.")) is True
    (library / "library" / "a.md").unlink()

    again = index(library, file="index.sqlite")

    assert used(again, names("seal")) == ["/n/c1/0/0.md"]
    assert used(again, names("bell")) == []
    assert used(again, lambda it: it.add("n/c1/0/0", "A seal came.")) is False


def test_what_keeps_it_from_starting_is_found_before_the_run(library: Path) -> None:
    """And told again by a start."""
    made = index(library, documents="gone", file="gone/index.sqlite")

    assert list(made.check()) == [
        "there is no folder or file gone; correct the path",
        "the folder of its file gone/index.sqlite does not exist",
    ]
    with pytest.raises(ResourceError, match="resource library: there is no folder or file gone"):
        used(made, Index.count)
    assert list(index(library).check()) == []


def test_a_broken_document_and_a_strange_file_are_named(library: Path) -> None:
    """No run begins with half a library."""
    (library / "library" / "x.txt").write_bytes(b"\xff")
    with pytest.raises(ResourceError, match=r"a document cannot be indexed: the file x\.txt"):
        used(index(library), Index.count)

    (library / "notes").write_text("dear diary " * 20, encoding="utf-8")
    with pytest.raises(ResourceError, match=r"its file notes cannot be used: .*name another one"):
        used(index(library, file="notes"), Index.count)


def test_a_python_without_full_text_search_is_told_so(
    library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not as a fault of the file."""
    monkeypatch.setattr(
        "aiflow.retrieval.store._TABLES", ("CREATE VIRTUAL TABLE a USING fts55(b)",)
    )

    with pytest.raises(ResourceError, match=r"has no full-text search \(FTS5\)"):
        used(index(library), Index.count)


def test_it_answers_only_while_it_runs(library: Path) -> None:
    """Before the start and after the stop it says so."""
    made = index(library)
    with pytest.raises(ResourceError, match="has not been started"):
        made.search("bell", 1)
    used(made, Index.count)
    with pytest.raises(ResourceError, match="has not been started"):
        made.add("a", "b")


@pytest.mark.parametrize("pattern", ["", "../*.md", "/etc/*", "a**", "a\0"])
def test_a_pattern_that_leaves_the_folder_is_an_error_of_the_params(pattern: str) -> None:
    """Told while typing."""
    with pytest.raises(ValidationError, match="pattern"):
        IndexParams(files=(pattern,))
