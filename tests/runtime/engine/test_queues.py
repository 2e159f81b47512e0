"""Full queues: the four overflow behaviours, detached edges, lanes, and who is served next."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Callable, Iterable, Iterator

import pytest

from aiflow.engine.session import Session
from aiflow.events import Control, Message, Payload, Token
from aiflow.metrics.snapshot import Snapshot
from aiflow.operators.scope import Scope
from aiflow.testing.plans import PlanBuilder
from aiflow.testing.virtual import run_virtual


def tokens(count: int) -> list[Token]:
    """Return tokens that carry their number."""
    return [Token(str(number)) for number in range(count)]


def paced(payloads: Iterable[Payload]) -> Callable[[Scope], AsyncIterator[Payload]]:
    """Return a stream that lets others have their turn between two payloads."""

    async def stream(scope: Scope) -> AsyncIterator[Payload]:
        for payload in payloads:
            yield payload
            await scope.sleep(0.001)

    return stream


async def slow(payload: object, scope: Scope) -> None:
    """Take a second for each payload."""
    await scope.sleep(1.0)


def run(builder: PlanBuilder) -> Snapshot:
    """Run a plan on the virtual clock and return its last snapshot."""
    return run_virtual(Session(builder.build()).run())


def test_a_blocking_queue_stands_at_its_bound_and_loses_nothing() -> None:
    """The source is asked only as fast as the slow node takes."""
    pulled = itertools.count()

    def stream(scope: Scope) -> Iterator[Token]:
        for token in tokens(30):
            next(pulled)
            yield token

    builder = PlanBuilder(1).source("s", stream).sink("k", slow, queue_capacity=4).edge("s", "k")

    snapshot = run(builder)

    assert snapshot.nodes["k"].max_depth == 4
    assert snapshot.nodes["k"].processed == 30
    assert snapshot.max_in_flight == snapshot.bound == 6


def test_a_full_queue_reaches_through_plain_functions_to_the_source() -> None:
    """What has been pulled and not processed never exceeds the bound."""
    pulled = processed = most = 0

    def stream(scope: Scope) -> Iterator[Token]:
        nonlocal pulled, most
        for token in tokens(50):
            pulled += 1
            most = max(most, pulled - processed)
            yield token

    async def take(payload: object, scope: Scope) -> None:
        nonlocal processed
        await scope.sleep(0.1)
        processed += 1

    builder = PlanBuilder(1).source("s", stream)
    for node in "ab":
        builder.node(node, lambda payload: payload, queue_capacity=3)
    plan = builder.sink("k", take, queue_capacity=2).chain("s", "a", "b", "k").build()

    snapshot = run_virtual(Session(plan).run())

    assert snapshot.phase == "completed"
    assert plan.bound is not None
    # One more is pulled at the moment at which another has just been processed.
    assert most <= plan.bound + 1


@pytest.mark.parametrize(
    ("overflow", "kept"), [("drop_newest", [0, 1, 2, 3, 4]), ("drop_oldest", [0, 16, 17, 18, 19])]
)
def test_what_is_dropped_is_counted_and_the_rest_keeps_its_order(
    overflow: str, kept: list[int]
) -> None:
    """drop_newest keeps the oldest, drop_oldest the newest; one is at the worker already."""
    seen: list[str] = []

    async def take(token: Token, scope: Scope) -> None:
        seen.append(token.text)
        await scope.sleep(1.0)

    builder = PlanBuilder(1).source("s", paced(tokens(20)))
    builder.sink("k", take, queue_capacity=4, overflow=overflow).edge("s", "k")

    snapshot = run(builder)

    node = snapshot.nodes["k"]
    assert list(map(int, seen)) == kept
    assert node.dropped == {overflow: 20 - len(seen)}
    assert snapshot.edges["s.out>k.in"].dropped == 20 - len(seen)
    assert snapshot.phase == "completed"


@pytest.mark.parametrize("overflow", ["drop_newest", "drop_oldest"])
def test_what_must_not_be_dropped_waits_where_others_are_dropped(overflow: str) -> None:
    """Messages and finish signals come through a dropping queue, every one of them."""
    seen: list[Payload] = []

    async def take(payload: Payload, scope: Scope) -> None:
        seen.append(payload)
        await scope.sleep(1.0)

    kept: list[Payload] = [Message(str(number)) for number in range(6)]
    kept.append(Control("finish", {"reason": "stop"}))
    mixed = [payload for message in kept for payload in (*tokens(3), message)]
    builder = PlanBuilder(1).source("s", mixed)
    builder.sink("k", take, queue_capacity=2, overflow=overflow).edge("s", "k")

    snapshot = run(builder)

    assert [payload for payload in seen if not isinstance(payload, Token)] == kept
    assert sum(snapshot.nodes["k"].dropped.values()) + len(seen) == len(mixed)


def test_a_keep_alive_is_droppable_and_a_finish_is_not() -> None:
    """Control is told apart by its kind."""
    signals = [Control("keep-alive")] * 9 + [Control("finish", {"reason": "stop"})]
    builder = PlanBuilder(1).source("s", paced(signals))
    builder.sink("k", slow, queue_capacity=1, overflow="drop_newest").edge("s", "k")

    snapshot = run(builder)

    assert snapshot.nodes["k"].dropped == {"drop_newest": 7}
    assert snapshot.nodes["k"].processed == 3


def test_an_overflow_of_error_fails_the_conversation_and_says_which_queue() -> None:
    """The refused event counts as failed, the others as cancelled."""
    builder = PlanBuilder(1).source("s", paced(tokens(9)))
    builder.sink("k", slow, queue_capacity=2, overflow="error").edge("s", "k")

    snapshot = run(builder)

    assert snapshot.phase == "failed"
    assert snapshot.error is not None
    assert "the queue of k is full (2 events)" in snapshot.error
    node = snapshot.nodes["k"]
    assert (node.received, node.failed, node.cancelled) == (4, 1, 3)


def test_a_detached_edge_never_holds_its_sender() -> None:
    """The fast branch gets everything at once, while the detached one drops its oldest."""
    fast: list[str] = []
    done_at: list[float] = []

    def take(token: Token, scope: Scope) -> None:
        fast.append(token.text)
        done_at.append(scope.clock.now())

    builder = PlanBuilder(1).source("s", paced(tokens(20))).sink("fast", take)
    builder.sink("slow", slow, queue_capacity=2).edge("s", "fast").edge("s", "slow", "drop_oldest")

    snapshot = run(builder)

    assert len(fast) == 20
    assert done_at[-1] < 0.1
    assert snapshot.nodes["slow"].dropped == {"drop_oldest": 17}


def test_a_detached_edge_does_not_push_out_what_a_strict_edge_brought() -> None:
    """Under block nothing is dropped, also where another edge into the node drops."""
    builder = PlanBuilder(1).source("a", [Token("strict")] * 10).source("b", [Token("loose")] * 10)
    seen: list[str] = []

    async def take(token: Token, scope: Scope) -> None:
        seen.append(token.text)
        await scope.sleep(1.0)

    builder.sink("k", take, queue_capacity=2).edge("a", "k").edge("b", "k", "drop_oldest")

    snapshot = run(builder)

    assert seen.count("strict") == 10
    assert snapshot.edges["a.out>k.in"].dropped == 0
    assert snapshot.edges["b.out>k.in"].dropped == 10 - seen.count("loose")


def test_a_detached_edge_fails_rather_than_drop_what_must_not_be() -> None:
    """It may neither wait nor drop a message, and says so."""
    builder = PlanBuilder(1).source("s", [Message(str(number)) for number in range(9)])
    builder.sink("k", slow, queue_capacity=2).edge("s", "k", "drop_oldest")

    snapshot = run(builder)

    assert snapshot.phase == "failed"
    assert snapshot.nodes["k"].dropped == {}


def test_ports_of_a_node_do_not_take_each_others_places() -> None:
    """Each in-port has its share of q, so one cannot lock the other out."""
    seen: list[str] = []

    async def take(token: Token, scope: Scope) -> None:
        seen.append(f"{scope.port}{token.text}")
        await scope.sleep(1.0)

    builder = PlanBuilder(1).source("a", tokens(6)).source("b", tokens(6))
    builder.sink("k", take, inputs=("x", "y"), queue_capacity=4)
    builder.edge("a", "k.x").edge("b", "k.y")

    snapshot = run(builder)

    assert snapshot.nodes["k"].max_depth <= 4
    assert sorted(seen) == sorted(f"{port}{number}" for port in "xy" for number in range(6))
    # Neither port gets ahead of the other by more than its places.
    for end in range(len(seen)):
        ahead = sum(1 if name[0] == "x" else -1 for name in seen[:end])
        assert abs(ahead) <= 3


def test_conversations_take_turns_and_one_cannot_fill_a_queue() -> None:
    """Each open conversation has a place in every queue, whoever fills the rest."""
    seen: list[str] = []

    async def stream(scope: Scope) -> AsyncIterator[Token]:
        if scope.conversation == "c2":
            await scope.sleep(5.5)
        for token in tokens(8):
            yield token

    async def take(token: Token, scope: Scope) -> None:
        seen.append(scope.conversation)
        await scope.sleep(1.0)

    builder = PlanBuilder(2).source("s", stream, conversations=2)
    builder.sink("k", take, queue_capacity=2).edge("s", "k")

    run(builder)

    # Begun at 5.5 s, it is second in line then, and every second one after is its own.
    assert seen == ["c1"] * 7 + ["c2", "c1"] + ["c2"] * 7
    assert seen.count("c2") == 8


def test_waiting_senders_are_served_in_the_order_in_which_they_came() -> None:
    """A later put never overtakes one that waits (cpython issue 83055)."""
    seen: list[str] = []

    async def take(token: Token, scope: Scope) -> None:
        seen.append(token.text)
        await scope.sleep(1.0)

    async def one(scope: Scope) -> AsyncIterator[Token]:
        await scope.sleep(float(scope.node[1:]) * 0.01)
        yield Token(scope.node)

    builder = PlanBuilder(1)
    for number in range(6):
        builder.source(f"s{number}", one)
    builder.sink("k", take, queue_capacity=1)
    for number in range(6):
        builder.edge(f"s{number}", "k")

    run(builder)

    assert seen == [f"s{number}" for number in range(6)]


def test_a_waiting_broadcast_holds_no_place_on_the_branch_that_has_room() -> None:
    """While one branch is full, the other's queue can be used by somebody else."""
    other: list[str] = []

    async def hold(token: Token, scope: Scope) -> None:
        await scope.sleep(10.0)

    async def take(token: Token, scope: Scope) -> None:
        other.append(token.text)
        await scope.sleep(0.01)

    builder = PlanBuilder(1).source("s", tokens(4)).source("t", [Token("t")] * 20)
    builder.sink("full", hold, queue_capacity=1).sink("open", take, queue_capacity=1)
    builder.edge("s", "full").edge("s", "open").edge("t", "open")

    snapshot = run(builder)

    assert snapshot.phase == "completed"
    assert other[:10].count("t") >= 7
    assert snapshot.nodes["open"].processed == 24


def test_branches_of_a_broadcast_share_one_event() -> None:
    """An event is made once and never changed, so all may have it."""
    taps = {}

    async def go() -> None:
        builder = PlanBuilder(1).source("s", tokens(3), conversations=1)
        builder.sink("a", slow).sink("b", slow).edge("s", "a").edge("s", "b")
        session = Session(builder.build())

        class Look:
            id = "look"

            async def start(self, clock: object) -> None:
                for edge in ("s.out>a.in", "s.out>b.in"):
                    taps[edge] = session.tap(edge)

            async def stop(self) -> None:
                pass

        plan = builder.resource("look", Look).build()
        session.plan = plan
        await session.run()

    run_virtual(go())

    first, second = (tap._seen for tap in taps.values())
    assert len(first) == 3
    assert all(one[0] is other[0] for one, other in zip(first, second, strict=True))
