"""Documents: what a text, Markdown or PDF file says, cut into passages that can be found.

Only reading and cutting; where passages are kept and how they are searched is in `store`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from aiflow.errors import NamedFileError
from aiflow.retrieval.files import BLANK_LINES, content_of, decoded

#: Kinds of files that can be read, by the end of their names; any other is read as text.
MARKDOWN, PDF = (".md", ".markdown"), (".pdf",)

_HEADING = re.compile(r"^#{1,6}[ \t]+(.+?)[ \t#]*$", re.M)
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a document.

    Attributes:
        title: of its document, with the heading it stands under.
    """

    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Document:
    """A file as it was read.

    Attributes:
        name: its path below the folder of documents, with slashes on every system.
        digest: of its bytes; the same content has the same.
    """

    name: str
    digest: str
    content: bytes


def read(name: str, path: Path) -> Document:
    """Read a file.

    Raises:
        NamedFileError: it is too large or cannot be read.
    """
    return made(name, content_of(name, path))


def made(name: str, content: bytes) -> Document:
    """Return a document of some bytes."""
    return Document(name, hashlib.sha256(content).hexdigest(), content)


def passages(document: Document, size: int) -> list[Passage]:
    """Cut a document into passages, at headings first, then between paragraphs.

    Args:
        document: read as what the end of its name says.
        size: longest passage in characters; only a single word is ever longer.

    Raises:
        NamedFileError: its content is not what the end of its name says.
    """
    ending = Path(document.name).suffix.lower()
    text = _pdf_text(document) if ending in PDF else decoded(document.name, document.content)
    headed = list(_sections(text)) if ending in MARKDOWN else [("", text)]
    stem = Path(document.name).stem.replace("-", " ").replace("_", " ")
    title = next((heading for heading, _ in headed if heading), stem)
    found = []
    for heading, section in headed:
        name = title if heading in ("", title) else f"{title}: {heading}"
        found += [Passage(name, piece) for piece in _pieces(section, size)]
    return found


def _sections(text: str) -> Iterator[tuple[str, str]]:
    """Yield each heading with the text below it; what stands before the first has none."""
    heading, at = "", 0
    for found in _HEADING.finditer(text):
        yield heading, text[at : found.start()]
        heading, at = found[1], found.end()
    yield heading, text[at:]


def _pieces(text: str, size: int) -> Iterator[str]:
    """Join paragraphs into pieces of at most `size` characters; cut those that are longer."""
    piece = ""
    for paragraph in BLANK_LINES.split(text):
        words = _SPACE.sub(" ", paragraph).strip()
        for part in _cut(words, size):
            if piece and len(piece) + 1 + len(part) > size:
                yield piece
                piece = ""
            piece = f"{piece} {part}" if piece else part
    if piece:
        yield piece


def _cut(words: str, size: int) -> Iterator[str]:
    """Cut a paragraph at the last sentence, or else word, that fits."""
    while len(words) > size:
        sentence = max(words.rfind(mark, 0, size) for mark in (". ", "! ", "? "))
        end = sentence + 1 if sentence > 0 else words.rfind(" ", 0, size + 1)
        if end <= 0:
            end = words.find(" ")
            if end < 0:
                break
        yield words[:end].strip()
        words = words[end:].strip()
    if words:
        yield words


def _pdf_text(document: Document) -> str:
    # Loading it takes half a second, which only who has a PDF should wait for.
    import pypdf  # noqa: PLC0415

    try:
        reader = pypdf.PdfReader(BytesIO(document.content))
        text = "\n\n".join(page.extract_text() for page in reader.pages)
    # A broken file makes it raise whatever its parser stumbles over, AttributeError included.
    except Exception as error:
        reason = f"it is no PDF that can be read ({type(error).__name__}: {error})"
        raise NamedFileError(document.name, f"{reason}; mend it or leave it out") from error
    if not text.strip():
        raise NamedFileError(
            document.name, "it holds no text, only pictures; leave it out or convert it"
        )
    return text
