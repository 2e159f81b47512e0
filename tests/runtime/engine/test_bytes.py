"""Bytes beside the count of events: what may wait, exactly counted whatever becomes of it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aiflow.engine.session import Session
from aiflow.events import Audio, Joined, Message, Token, ToolCall, size_of
from aiflow.metrics.snapshot import Snapshot
from aiflow.operators.scope import Scope
from aiflow.testing.plans import PlanBuilder
from aiflow.testing.virtual import run_virtual


class Watched:
    """A run at whose every call the bytes of a node's queue are counted anew.

    Attributes:
        most: the most bytes that waited, where more than one event did.
        faults: where the count was another.
    """

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.most = 0
        self.faults: list[str] = []
        self.session: Session | None = None

    def look(self) -> None:
        """Count what waits at node n, and compare."""
        assert self.session is not None
        guardian = self.session._guardians["n"]
        gate = guardian.gate
        assert gate is not None
        waiting = [entry[0].payload for lane in guardian.ready for entry in lane.queues[0]]
        counted = sum(map(size_of, waiting))
        if counted != sum(gate.bytes):
            self.faults.append(f"{counted} wait and {gate.bytes} are counted")
        if len(waiting) > 1:
            self.most = max(self.most, counted)

    async def run(self, builder: PlanBuilder, cancel_at: float | None = None) -> Snapshot:
        """Run to the end; optionally cancel the first conversation."""
        session = self.session = Session(builder.build())
        if cancel_at is not None:
            asyncio.get_running_loop().call_at(cancel_at, session.cancel, "c1")
        snapshot = await session.run()
        gate = session._guardians["n"].gate
        assert gate is not None
        assert gate.bytes == [0]
        return snapshot


def slow(watched: Watched, seen: list[str]) -> Any:
    """Return an operator that takes a second for each."""

    async def process(payload: Any, scope: Scope) -> None:
        watched.look()
        seen.append(payload.text)
        await scope.sleep(1.0)

    return process


@given(
    st.lists(st.integers(0, 30), max_size=15),
    st.integers(1, 40),
    st.integers(1, 6),
    st.sampled_from(["block", "drop_newest", "drop_oldest"]),
    st.integers(1, 3),
    st.none() | st.floats(0, 20),
)
@settings(max_examples=120)
def test_no_more_bytes_wait_than_may_unless_one_event_is_larger(
    sizes: list[int],
    max_bytes: int,
    queue: int,
    overflow: str,
    conversations: int,
    cancel_at: float | None,
) -> None:
    """Counted anew at each call; taken, dropped and purged bytes are given back exactly."""
    watched = Watched(max_bytes)
    seen: list[str] = []
    builder = PlanBuilder(8).source(
        "s", [Token("x" * size) for size in sizes], conversations=conversations
    )
    builder.sink(
        "n",
        slow(watched, seen),
        queue_capacity=queue,
        max_bytes=max_bytes,
        overflow=overflow,
    )

    snapshot = run_virtual(watched.run(builder.edge("s", "n"), cancel_at))

    assert watched.faults == []
    assert watched.most <= max_bytes
    assert snapshot.in_flight == 0
    dropped = sum(snapshot.nodes["n"].dropped.values())
    node = snapshot.nodes["n"]
    assert node.processed + dropped + node.cancelled == node.received
    if overflow == "block" and cancel_at is None:
        assert len(seen) == len(sizes) * conversations


def test_an_event_larger_than_the_limit_gets_into_an_empty_queue() -> None:
    """Else it could never pass."""
    watched = Watched(10)
    seen: list[str] = []
    messages = [Message("a" * 8, ""), Message("b" * 50, ""), Message("c", "")]
    builder = PlanBuilder(1).source("s", messages)
    builder.sink("n", slow(watched, seen), max_bytes=10).edge("s", "n")

    snapshot = run_virtual(watched.run(builder))

    assert snapshot.phase == "completed"
    assert [len(text) for text in seen] == [8, 50, 1]
    assert watched.most <= 10


def test_the_oldest_give_way_until_the_newest_fits() -> None:
    """As many as it takes, and none where it would not fit even then."""
    watched = Watched(50)
    seen: list[str] = []

    def stream(scope: Scope) -> Iterator[Any]:
        yield from (Token("0" * 10), Token("1" * 10), Token("2" * 10), Token("3" * 20))

    builder = PlanBuilder(1).source("s", stream)
    builder.sink("n", slow(watched, seen), max_bytes=60, overflow="drop_oldest").edge("s", "n")

    snapshot = run_virtual(watched.run(builder))

    each = size_of(Token("")) + 10
    assert 2 * each <= 60 < 3 * each + 10
    assert seen[0][0] == "0"
    assert seen[-1][0] == "3"
    assert snapshot.nodes["n"].dropped == {"drop_oldest": 4 - len(seen)}


def test_a_snapshot_shows_bytes_where_they_are_counted() -> None:
    """And nothing where they are not."""

    async def go() -> list[tuple[int | None, int | None]]:
        builder = PlanBuilder(1).source("s", [Message("abc", "")] * 4)
        builder.node("n", hold, max_bytes=1000).sink("k", str).chain("s", "n", "k")
        session = Session(builder.build())
        asyncio.get_running_loop().call_at(0.5, lambda: shown.append(session.snapshot()))
        await session.run()
        nodes = shown[0].nodes
        return [(nodes[node].queue_bytes, nodes[node].max_bytes) for node in "snk"]

    async def hold(message: Message, scope: Scope) -> None:
        await scope.sleep(1.0)

    shown: list[Snapshot] = []

    assert run_virtual(go()) == [(None, None), (9, 1000), (None, None)]


@pytest.mark.parametrize(
    ("payload", "size"),
    [
        ("abc", 3),
        ("für", 4),
        (b"1234", 4),
        (None, 0),
        (7, 8),
        ([1, "a"], 9),
        ({"key": "value"}, 8),
        (Message("text", "user"), 8),
        (Audio(b"0" * 100, 16_000), 108),
        (ToolCall("1", "add", {"x": 2}, "{}"), 4 + 9 + 2 + 8),
        (Joined({"a": (Message("text", ""),)}), 5),
        (2.5, 8),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, int) else None,
)
def test_the_size_of_a_payload_is_that_of_its_texts_and_data(payload: object, size: int) -> None:
    """An estimate, the same each time."""
    assert size_of(payload) == size
