"""Operators that do what they must not: the session answers, and nobody else is harmed.

What each does is in `hostile`. Others of `test_fault_injection` are of the same kind, with the
kinds of functions that an operator may be; what blocks the loop is told of in `test_watchdog`.
"""

from __future__ import annotations

import asyncio
import gc
import re
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from aiflow.clock import VirtualLoop
from aiflow.compiler.plan import Plan
from aiflow.engine.session import Session
from aiflow.engine.taps import TapView
from aiflow.events import Chunk
from aiflow.metrics.snapshot import Snapshot
from aiflow.operators.scope import Scope
from aiflow.testing.plans import PlanBuilder
from tests.runtime.engine.hostile import HOSTILES, Hostile, Process, Stage, telling

#: Within which a run has to end, however it is treated.
DEADLINE_S = 60.0
#: Turns of the loop after which somebody asks for the end of what would not come to one.
PATIENCE = 20
#: An error is a sentence: what an operator's own says is cut off somewhere.
LONGEST = 1_200
WHOLE = {each: [f"{each} {number}" for number in range(3)] for each in ("c1", "c2")}

Heard = dict[str, list[str]]


def plan_of(hostile: Hostile, process: Process, heard: Heard, *, tells: bool) -> Plan:
    """Return two conversations through a hostile node, and on a branch beside it."""

    def stream(scope: Scope) -> Iterator[Chunk]:
        for text in WHOLE[scope.conversation]:
            yield Chunk(text)

    def hears(name: str) -> Callable[[Any], None]:
        # What has come may be anything: it is not even asked for its text.
        return lambda payload: heard[name].append(payload.text if type(payload) is Chunk else "")

    builder = PlanBuilder(2).source("s", stream, conversations=2)
    finish = telling(process) if tells else None
    process = (lambda chunk: chunk) if tells else process
    builder.node("odd", process, finish=finish, is_blocking=hostile.is_blocking, **hostile.policy)
    builder.node("beside", lambda chunk: chunk).sink("k", hears("k")).sink("l", hears("l"))
    return builder.chain("s", "odd", "k").chain("s", "beside", "l").build()


async def scene(hostile: Hostile, stage: Stage, heard: Heard, how: str) -> Snapshot:
    """Run a hostile operator to the end of its session, and take away what it left behind."""
    is_watched = how == "watched"
    plan = plan_of(hostile, hostile.make(stage), heard, tells=how == "in finish")
    lines: list[str] = []
    log = lines.append if is_watched else None
    session = stage.session = Session(plan, stop_deadline_s=2.0, log=log)
    before = asyncio.all_tasks()
    stage.playing = asyncio.current_task()
    running = stage.running = asyncio.ensure_future(session.run())
    taps: list[TapView] = []
    if is_watched:
        await asyncio.sleep(0)
        taps = [session.tap(edge) for edge in plan.edges]
        session.trace("s")
    if hostile.asks:
        for _ in range(PATIENCE):
            await asyncio.sleep(0)
        if "for ever" not in hostile.name:
            await asyncio.sleep(1.0)
        session.stop() if hostile.asks == "stop" else session.cancel("c1")
    async with asyncio.timeout(DEADLINE_S):
        await asyncio.wait([running])
    assert all(isinstance(tap.rows(), list) for tap in taps)
    assert asyncio.all_tasks() - before <= set(stage.tasks)
    stage.is_over = True
    for task in stage.tasks:
        task.cancel()
    return session.snapshot()


def played(hostile: Hostile, stage: Stage, heard: Heard, how: str) -> Snapshot:
    """Play the scene on a loop of its own, which goes on when an operator stops it."""
    loop = asyncio.new_event_loop() if hostile.is_blocking else VirtualLoop()
    playing = loop.create_task(scene(hostile, stage, heard, how))
    try:
        while not playing.done():
            try:
                loop.run_until_complete(playing)
            except RuntimeError as error:
                if "Event loop stopped" not in str(error):
                    raise
        loop.run_until_complete(asyncio.wait(stage.tasks) if stage.tasks else asyncio.sleep(0))
        return playing.result()
    finally:
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()
        stage.goes_on.set()
        for thread in stage.threads:
            thread.join()


@pytest.mark.parametrize(
    ("hostile", "how"),
    [
        pytest.param(hostile, how, id=f"{hostile.name}-{how}")
        for hostile in HOSTILES
        for how in ("alone", "watched", *(("in finish",) if hostile.tells else ()))
    ],
)
def test_a_hostile_operator_harms_nobody_else(
    hostile: Hostile, how: str, allow_log: Callable[[str, str], None]
) -> None:
    """Watched by a log, taps and a trace, which have to show what it has made; or at the end."""
    allow_log("aiflow.engine", "raised while it was closed")
    allow_log("asyncio", "closing of asynchronous generator")
    heard: Heard = {"k": [], "l": []}
    threads = set(threading.enumerate())

    snapshot = played(hostile, Stage(), heard, how)
    gc.collect()

    assert snapshot.conversations == {"c1": hostile.ends, "c2": hostile.others}
    if hostile.says:
        said = snapshot.error or ""
        assert re.search(hostile.says, said), said
        assert "\n" not in said
        assert len(said) < LONGEST
    else:
        assert snapshot.error is None, snapshot.error
    check_heard(hostile, heard)
    check_books(snapshot, is_left="did not end" in (snapshot.error or ""))
    started = set(threading.enumerate()) - threads
    for thread in started:
        if thread.name != "watchdog of aiflow":
            thread.join(DEADLINE_S)  # it has been told to end, and may not have come to that yet
            assert not thread.is_alive()


def check_heard(hostile: Hostile, heard: Heard) -> None:
    """Hold what came out to what was sent in."""
    by = {
        (sink, each): [text for text in heard[sink] if text.startswith(each)]
        for sink in "kl"
        for each in WHOLE
    }
    if hostile.is_whole:
        assert by["k", "c2"] == by["l", "c2"] == WHOLE["c2"]
        if hostile.ends == "completed":
            assert by["l", "c1"] == WHOLE["c1"]
    assert "c1 late" not in heard["k"]


def check_books(snapshot: Snapshot, *, is_left: bool) -> None:
    """Hold all counts to each other; only an operator that has not ended may hold an event."""
    in_flight = sum(node.in_flight for node in snapshot.nodes.values())
    assert snapshot.in_flight == in_flight
    assert in_flight == 0 or is_left
    assert snapshot.max_in_flight <= (snapshot.bound or 0)
    for node in snapshot.nodes.values():
        settled = node.processed + sum(node.dropped.values()) + node.failed + node.cancelled
        assert node.received == settled + node.in_flight
    for edge in snapshot.edges.values():
        assert edge.appended == edge.taken + edge.purged + edge.dropped + edge.depth


def test_there_are_many_ways_to_misbehave() -> None:
    """Each has a name of its own."""
    names = [hostile.name for hostile in HOSTILES]

    assert len(set(names)) == len(names) >= 30
