"""Tests of `aiflow.retrieval.files`."""

from __future__ import annotations

from pathlib import Path

import pytest

from aiflow.errors import NamedFileError
from aiflow.retrieval import files
from aiflow.retrieval.files import content_of, decoded


def test_a_file_may_be_as_large_as_the_limit_and_no_larger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error has the name that the graph uses, and no folder of this machine."""
    monkeypatch.setattr(files, "MAX_BYTES", 2**20)
    (tmp_path / "a").write_bytes(b"a" * 2**20)

    assert len(content_of("docs/a", tmp_path / "a")) == 2**20
    (tmp_path / "a").write_bytes(b"a" * (2**20 + 1))
    with pytest.raises(NamedFileError, match=r"^the file docs/a: it is larger than 1 MiB; cut it$"):
        content_of("docs/a", tmp_path / "a")


def test_text_is_the_same_whatever_system_wrote_it() -> None:
    """Marks at the beginning are left out, line ends become LF."""
    assert decoded("a", b"\xef\xbb\xbf\xc3\xbc\r\nb\rc") == "ü\nb\nc"


def test_what_is_not_utf_8_is_told_with_its_place() -> None:
    """As the number of the byte."""
    with pytest.raises(NamedFileError, match="the file a: byte 2 is not UTF-8; save it as UTF-8"):
        decoded("a", b"ab\xff")
