"""Tests of `aiflow.operators.builtin.merge`."""

from __future__ import annotations

from typing import Any

from aiflow.engine.session import Session
from aiflow.events import Token
from aiflow.operators.base import NoParams
from aiflow.operators.builtin.merge import Merge
from aiflow.testing.operators import run_operator
from aiflow.testing.plans import PlanBuilder
from aiflow.testing.virtual import run_virtual


def test_every_event_passes_unchanged() -> None:
    """The very same payload, in order."""
    payloads = [Token("a"), Token("b")]

    run = run_operator(Merge(NoParams()), payloads)

    assert [id(each) for each in run.at("out")] == [id(each) for each in payloads]


def test_streams_of_several_nodes_become_one_that_loses_nothing() -> None:
    """Each branch keeps its own order, and the end comes when all branches have ended."""
    seen: list[Any] = []
    plan = (
        PlanBuilder(max_conversations=1)
        .source("left", range(50))
        .source("right", range(100, 150))
        .operator("merge", Merge(NoParams()), queue_capacity=2)
        .sink("sink", seen.append)
        .chain("left", "merge", "sink")
        .edge("right", "merge")
        .build()
    )

    async def session() -> None:
        await Session(plan).run()

    run_virtual(session())
    assert [each for each in seen if each < 100] == list(range(50))
    assert [each for each in seen if each >= 100] == list(range(100, 150))
