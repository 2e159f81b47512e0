"""Files that a graph names and that are read whole: how large, in what encoding, and who says so.

What is made of their text is the business of who reads: passages in `documents`, prompts in the
operator `text-input`.
"""

from __future__ import annotations

import re
from pathlib import Path

from aiflow.errors import NamedFileError, reason_of

#: Largest file that is read, in bytes: memory holds a prompt or a document, not an archive.
MAX_BYTES = 64 * 1024 * 1024
#: What parts paragraphs.
BLANK_LINES = re.compile(r"\n[ \t]*\n\s*")


def content_of(name: str, path: Path) -> bytes:
    """Return what a file holds.

    Args:
        name: what the graph or its folder calls it, for errors.
        path: where it is.

    Raises:
        NamedFileError: it is too large or cannot be read.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise NamedFileError(name, f"it is larger than {MAX_BYTES // 2**20} MiB; cut it")
        return path.read_bytes()
    except OSError as error:
        raise NamedFileError(name, f"it cannot be read ({reason_of(error)})") from error


def decoded(name: str, content: bytes) -> str:
    """Return content as text: a mark at its beginning is none, and all line ends are LF.

    Raises:
        NamedFileError: it is not in UTF-8.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise NamedFileError(name, f"byte {error.start} is not UTF-8; save it as UTF-8") from error
    return text.replace("\r\n", "\n").replace("\r", "\n")
