"""Tests of `aiflow.operators.builtin.retrieve`."""

from __future__ import annotations

from aiflow.events import Message, Retrieval
from aiflow.operators.builtin.retrieve import Retrieve, RetrieveParams
from aiflow.retrieval.store import Found
from aiflow.testing.operators import OperatorRun, run_operator


class FakeIndex:
    """Finds three passages for anything but "nothing", and keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, int]] = []

    def search(self, query: str, limit: int) -> list[Found]:
        self.asked.append((query, limit))
        found = [
            Found("a.md", 2, "A", "text a", 4.0, "…a"),
            Found("b.md", 1, "B", "text b", 2.0000000001, "…b"),
            Found("c.md", 1, "C", "text c", 0.5, "…c"),
        ]
        return [] if query == "nothing" else found[:limit]


def retrieve(*queries: str, **params: float) -> OperatorRun:
    """Run a retriever on queries."""
    operator = Retrieve(RetrieveParams.model_validate(params))
    return run_operator(operator, map(Message, queries), resources={"index": FakeIndex()})


def test_passages_leave_best_first_and_the_text_behind_them() -> None:
    """With all that a citation needs."""
    run = retrieve("why?")

    assert [port for port, _ in run.outputs] == ["out", "out", "out", "query"]
    assert run.at("out")[0] == Retrieval(
        "a.md#2", "A", "a.md", "text a", 4.0, {"rank": 1, "snippet": "…a"}
    )
    assert run.at("out")[1].score == 2.0
    assert run.at("query") == [Message("why?")]


def test_where_nothing_is_found_the_text_goes_on_alone() -> None:
    """A question without passages is still a question."""
    assert retrieve("nothing").outputs == [("query", Message("nothing"))]


def test_the_limit_and_the_least_share_leave_out_the_rest() -> None:
    """The limit is the index's to keep; the share is of the best score."""
    assert [each.id for each in retrieve("x", limit=2).at("out")] == ["a.md#2", "b.md#1"]
    assert [each.id for each in retrieve("x", min_share=0.5).at("out")] == ["a.md#2", "b.md#1"]
    assert [each.id for each in retrieve("x", min_share=1).at("out")] == ["a.md#2"]
