"""`retrieve`: find passages for a text, and send them one by one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from pydantic import Field

from aiflow.events import Chunk, Message, Retrieval, Token
from aiflow.operators.base import Emit, Operator, Params, Port
from aiflow.operators.scope import Scope
from aiflow.retrieval.resource import Index
from aiflow.retrieval.store import Found
from aiflow.types import RETRIEVAL, TEXT


class RetrieveParams(Params):
    """Parameters of `retrieve`."""

    limit: int = Field(
        4,
        ge=1,
        le=1_000,
        title="Passages",
        description="Most passages for one text.",
        json_schema_extra={"x-unit": "passages"},
    )
    min_share: float = Field(
        0.0,
        ge=0,
        le=1,
        title="Least share",
        description="Leaves out what scores less than this share of the best passage, 0 to 1.",
    )


class Retrieve(Operator[RetrieveParams]):
    """Look a text up in an index: the best passages by BM25 leave first, then the text itself.

    Connect both ports to one port of a prompt builder: it then has all passages of a question
    before the question, because what one node sends to one port keeps its order.

    Emits when: a text arrives; its passages at `out`, best first, none where nothing fits, and
        the text at `query` behind them.
    Backpressures when: downstream does; the next passage is made only when the last has left.
    Completes when: its input has ended.
    Fails when: the index cannot be searched.
    """

    name = "retrieve"
    title = "Retriever"
    category = "retrieval"
    summary = "Finds passages for a text in a document index."
    inputs = (Port("in", TEXT, "what to look up"),)
    outputs = (
        Port("out", RETRIEVAL, "passages, best first, with rank and snippet in raw"),
        Port("query", TEXT, "the text, behind its passages", like="in"),
    )
    Params: ClassVar = RetrieveParams
    requires: ClassVar = {"index": "index"}

    def most_outputs(self) -> int:
        """Return the passages and the text itself."""
        return self.params.limit + 1

    def process(self, payload: Token | Chunk | Message, scope: Scope) -> Iterator[Emit]:
        """Yield the passages, then the text."""
        index: Index = scope.resources["index"]
        found = index.search(payload.text, self.params.limit)
        least = found[0].score * self.params.min_share if found else 0.0
        for rank, each in enumerate(found, 1):
            if each.score >= least:
                yield Emit("out", _retrieval(each, rank))
        yield Emit("query", payload)


def _retrieval(found: Found, rank: int) -> Retrieval:
    return Retrieval(
        id=f"{found.document}#{found.place}",
        title=found.title,
        url=found.document,
        text=found.text,
        score=round(found.score, 6),
        raw={"rank": rank, "snippet": found.snippet},
    )
