"""Event loops by name, the run list's turns, and runs on other loops than asyncio's own."""

from __future__ import annotations

import asyncio
from importlib.util import find_spec

import pytest

from aiflow.engine.loops import asyncio_loop, loop_factory, loop_names, uvloop_loop
from aiflow.engine.runlist import RunList
from aiflow.engine.session import Session
from aiflow.errors import PluginError
from aiflow.events import Token
from aiflow.testing.plans import PlanBuilder

NAMES = ["asyncio", *(["uvloop"] if find_spec("uvloop") else [])]


@pytest.mark.parametrize("name", NAMES)
def test_a_plan_runs_on_every_loop(name: str) -> None:
    """Operators that wait and operators that do not, in one graph."""
    seen: list[str] = []

    async def wait(token: Token) -> Token:
        await asyncio.sleep(0)
        return token

    builder = PlanBuilder(2).source("s", [Token(str(n)) for n in range(50)], conversations=2)
    builder.node("a", lambda token: token).node("b", wait, workers=2, reorder_capacity=2)
    plan = builder.sink("k", lambda t: seen.append(t.text)).chain("s", "a", "b", "k").build()
    with asyncio.Runner(loop_factory=loop_factory(name)) as runner:
        snapshot = runner.run(Session(plan).run())

    assert snapshot.phase == "completed"
    assert len(seen) == 100
    assert snapshot.max_in_flight <= (snapshot.bound or 0)


def test_the_built_in_loops_come_by_their_entry_points() -> None:
    """As the studio's does."""
    assert {"asyncio", "uvloop"} <= set(loop_names())
    assert loop_factory("asyncio") is asyncio_loop
    assert loop_factory("uvloop") is uvloop_loop


def test_an_unknown_loop_is_named_with_those_there_are() -> None:
    """A typing mistake on the command line is understood at once."""
    with pytest.raises(PluginError, match="no event loop has that name; there are asyncio"):
        loop_factory("asynco")


def test_all_sessions_of_a_loop_share_one_run_list() -> None:
    """And so one budget; another loop has another."""
    first, second = asyncio.new_event_loop(), asyncio.new_event_loop()
    try:
        assert RunList.of(first) is RunList.of(first)
        assert RunList.of(first) is not RunList.of(second)
    finally:
        first.close()
        second.close()


def test_the_newest_entry_runs_first_and_those_from_outside_in_their_order() -> None:
    """Depth first within a turn; timers that fired one after the other stay so."""
    ran: list[str] = []

    async def go() -> None:
        runlist = RunList.of(asyncio.get_running_loop())

        def note(name: str, then: list[str]) -> None:
            ran.append(name)
            for other in then:
                runlist.push(note, other, [])

        runlist.push(note, "first", ["a", "b"])
        runlist.push(note, "second", [])
        await asyncio.sleep(0)

    asyncio.run(go())

    assert ran == ["first", "b", "a", "second"]
