"""Looking inside a run: queues, traces, breakpoints, steps and injected events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from aiflow.engine.session import Session
from aiflow.errors import EngineError
from aiflow.events import Chunk, Message, Token
from aiflow.metrics.snapshot import Snapshot
from aiflow.operators.scope import Scope
from aiflow.testing.plans import PlanBuilder
from aiflow.testing.virtual import run_virtual

Step = tuple[float, Callable[[Session], object]]


def tokens(count: int) -> list[Token]:
    """Return tokens that carry their number."""
    return [Token(str(number)) for number in range(count)]


async def slow(payload: object, scope: Scope) -> None:
    """Take a second for each payload."""
    await scope.sleep(1.0)


def run(builder: PlanBuilder, *steps: Step, **options: Any) -> Snapshot:
    """Run a plan and call functions with its session, each at its time."""

    async def go() -> Snapshot:
        session = Session(builder.build(), **options)
        for at, function in steps:
            asyncio.get_running_loop().call_later(at, function, session)
        return await session.run()

    return run_virtual(go())


def line(count: int, process: Callable[..., Any] = slow, **policy: Any) -> PlanBuilder:
    """Return a source and a sink behind it."""
    builder = PlanBuilder(1).source("s", tokens(count))
    return builder.sink("k", process, **policy).edge("s", "k")


def ticking(*branches: str) -> tuple[PlanBuilder, dict[str, list[float]]]:
    """Return a source of ten tokens, one each second, and sinks that note when they come."""
    seen: dict[str, list[float]] = {name: [] for name in branches}

    async def ticks(scope: Scope) -> AsyncIterator[Token]:
        for number in range(10):
            await scope.sleep(1.0)
            yield Token(str(number))

    builder = PlanBuilder(1).source("s", ticks)
    for name in branches:

        def note(_: object, scope: Scope, name: str = name) -> None:
            seen[name].append(scope.clock.now())

        builder.node(name, note, outputs=(), queue_capacity=16).edge("s", name)
    return builder, seen


# Queues -----------------------------------------------------------------------------------


def test_what_waits_in_a_queue_is_shown_oldest_first() -> None:
    """Each entry with where it came from and since when it waits; at most as many as asked."""
    seen: list[list[dict[str, Any]]] = []

    def look(session: Session) -> None:
        seen.append(session.queue("k"))
        seen.append(session.queue("s.out>k.in", 2))

    run(line(9, queue_capacity=4), (1.5, look))

    rows, first = seen
    assert [row["payload"]["text"] for row in rows] == ["2", "3", "4", "5"]
    assert [row["waited_s"] for row in rows] == [1.5, 1.5, 1.5, 0.5]
    assert {row["edge"] for row in rows} == {"s.out>k.in"}
    assert first == rows[:2]


def test_keys_and_long_texts_are_not_shown_whole() -> None:
    """What looks like a key is masked in queues and taps alike, as everywhere."""
    key = "sk-" + "aB3dE5gH7jK9mN1pQ4sT6vW8"
    builder = PlanBuilder(1).source("s", [Token("a"), Token("b"), Token(key), Token("x" * 9_999)])
    builder.sink("k", slow).edge("s", "k")
    rows: list[dict[str, Any]] = []

    run(builder, (0.5, lambda session: rows.extend(session.queue("k"))))

    texts = [row["payload"]["text"] for row in rows]
    assert key not in texts[1]
    assert len(texts[2]) < 3_000


def test_a_queue_that_is_not_there_is_refused_with_advice() -> None:
    """It is neither a node nor an edge."""

    def look(session: Session) -> None:
        with pytest.raises(EngineError, match=r"there is no node or edge kk in this run; Did you"):
            session.queue("kk")

    run(line(1), (0.5, look))


# Breakpoints ------------------------------------------------------------------------------


def test_a_breakpoint_holds_its_node_and_no_other() -> None:
    """The other branch goes on at its own pace; what was held comes when it is let go."""
    builder, seen = ticking("a", "b")

    snapshot = run(
        builder,
        (2.5, lambda session: session.set_breakpoint("s.out>a.in")),
        (6.5, lambda session: session.resume("s.out>a.in")),
    )

    assert seen["a"] == [1.0, 2.0, 6.5, 6.5, 6.5, 6.5, 7.0, 8.0, 9.0, 10.0]
    assert seen["b"] == [float(second) for second in range(1, 11)]
    assert snapshot.phase == "completed"


def test_a_held_node_says_so_and_its_queue_fills_up_to_the_source() -> None:
    """Backpressure does the rest: nothing is dropped and nothing grows."""
    seen: list[Snapshot] = []
    builder = line(50, lambda _: None, queue_capacity=4)

    async def ticks(scope: Scope) -> AsyncIterator[Token]:
        for number in range(50):
            await scope.sleep(0.1)
            yield Token(str(number))

    builder = PlanBuilder(1).source("s", ticks).sink("k", lambda _: None, queue_capacity=4)
    snapshot = run(
        builder.edge("s", "k"),
        (0.05, lambda session: session.set_breakpoint("s.out>k.in")),
        (3.0, lambda session: seen.append(session.snapshot())),
        (3.1, lambda session: session.resume("s.out>k.in")),
    )

    (held,) = seen
    assert (held.nodes["k"].is_paused, held.nodes["k"].activity) == (True, "idle")
    assert held.nodes["k"].depth == 4
    assert held.nodes["s"].activity == "backpressured"
    assert held.edges["s.out>k.in"].has_breakpoint
    assert held.in_flight <= (held.bound or 0)
    assert snapshot.nodes["k"].processed == 50
    assert not snapshot.edges["s.out>k.in"].has_breakpoint


def test_a_step_begins_one_event() -> None:
    """The next one waits for the next step; without one waiting a step does nothing."""
    builder, seen = ticking("a")
    steps: list[bool] = []

    run(
        builder,
        (0.5, lambda session: session.set_breakpoint("s.out>a.in")),
        (0.6, lambda session: steps.append(session.step("s.out>a.in"))),
        (3.5, lambda session: steps.append(session.step("s.out>a.in"))),
        (4.5, lambda session: steps.append(session.step("s.out>a.in"))),
        (9.5, lambda session: session.resume("s.out>a.in")),
    )

    assert steps == [False, True, True]
    assert seen["a"][:2] == [3.5, 4.5]
    assert seen["a"][2:] == [9.5] * 7 + [10.0]


def test_steps_of_a_node_at_work_wait_for_its_worker() -> None:
    """A node with one worker never works on two events, however often somebody steps."""
    most: list[int] = []

    def step(session: Session) -> None:
        session.step("s.out>k.in")
        session.step("s.out>k.in")

    snapshot = run(
        line(8, queue_capacity=4),
        (0.5, lambda session: session.set_breakpoint("s.out>k.in")),
        (0.6, step),
        *(
            (1.0 + tenth / 10, lambda session: most.append(session.snapshot().nodes["k"].running))
            for tenth in range(1, 25)
        ),
        (5.5, lambda session: session.resume("s.out>k.in")),
    )

    assert max(most) == 1
    # One was at work, two steps; then nothing until it was let go.
    assert snapshot.at == 5.5 + 5.0
    assert snapshot.nodes["k"].processed == 8


@pytest.mark.parametrize("end", ["drain", "stop"])
def test_a_run_that_is_to_end_is_held_nowhere(end: str) -> None:
    """Drained, what was held comes out; stopped, it is cancelled."""
    builder, seen = ticking("a")

    snapshot = run(
        builder,
        (0.5, lambda session: session.set_breakpoint("s.out>a.in")),
        (4.5, lambda session: getattr(session, end)()),
    )

    assert len(seen["a"]) == (4 if end == "drain" else 0)
    assert snapshot.phase == ("completed" if end == "drain" else "cancelled")
    assert snapshot.nodes["a"].received == 4


def test_a_held_node_is_in_no_deadlock() -> None:
    """All wait for it and nothing is left to do, but somebody can let it go on."""

    async def go() -> Snapshot:
        session = Session(line(20, lambda _: None, queue_capacity=2).build())
        task = asyncio.ensure_future(session.run())
        asyncio.get_running_loop().call_soon(session.set_breakpoint, "s.out>k.in")
        await asyncio.sleep(1000)
        assert session.snapshot().error is None
        session.resume("s.out>k.in")
        return await task

    assert run_virtual(go()).nodes["k"].processed == 20


def test_a_cancelled_conversation_leaves_a_held_node() -> None:
    """What waits there is cancelled at once; the run ends though nobody resumes."""
    builder, _ = ticking("a")

    snapshot = run(
        builder,
        (0.5, lambda session: session.set_breakpoint("s.out>a.in")),
        (3.5, lambda session: session.cancel("c1")),
    )

    assert snapshot.phase == "cancelled"
    assert snapshot.nodes["a"].cancelled == 3


def test_a_held_node_can_be_tuned() -> None:
    """A raised queue takes more in; what it holds still waits."""
    depths: list[int] = []
    run(
        line(20, lambda _: None, queue_capacity=2, service_time_s=0.1),
        (0.25, lambda session: session.set_breakpoint("s.out>k.in")),
        (1.0, lambda session: depths.append(session.snapshot().nodes["k"].depth)),
        (1.1, lambda session: session.tune("k", queue_capacity=5)),
        (1.2, lambda session: depths.append(session.snapshot().nodes["k"].depth)),
        (1.3, lambda session: session.resume("s.out>k.in")),
    )

    assert depths == [2, 5]


def test_two_breakpoints_of_one_node_hold_it_until_both_are_gone() -> None:
    """Letting one go is not enough while the other has something waiting."""
    builder, seen = ticking("a")
    builder.source("t", tokens(1)).edge("t", "a")

    run(
        builder,
        (0.5, lambda session: session.set_breakpoint("s.out>a.in")),
        (0.5, lambda session: session.set_breakpoint("t.out>a.in")),
        (3.5, lambda session: session.resume("t.out>a.in")),
        (5.5, lambda session: session.resume("s.out>a.in")),
    )

    assert seen["a"][:6] == [0.0, 5.5, 5.5, 5.5, 5.5, 5.5]


def test_breakpoints_are_refused_where_they_make_no_sense() -> None:
    """Unknown edges, steps without one, and a run that ends."""

    def look(session: Session) -> None:
        with pytest.raises(EngineError, match="there is no edge s>k in this run"):
            session.set_breakpoint("s>k")
        with pytest.raises(EngineError, match=r"edge s.out>k.in has no breakpoint; set one"):
            session.step("s.out>k.in")
        assert session.resume("s.out>k.in") is False
        session.drain()
        with pytest.raises(EngineError, match="the run is draining; only a running one"):
            session.set_breakpoint("s.out>k.in")

    run(line(3), (0.5, look))


# Traces -----------------------------------------------------------------------------------


def doubling(builder: PlanBuilder) -> PlanBuilder:
    """Return a source, a node that waits, one that makes two of one, and a slow sink."""

    async def ticks(scope: Scope) -> AsyncIterator[Token]:
        for number in range(6):
            await scope.sleep(1.0)
            yield Token(str(number))

    async def waits(payload: Token, scope: Scope) -> Token:
        await scope.sleep(0.25)
        return payload

    def doubles(payload: Token) -> Iterator[Token]:
        yield payload
        yield Token(payload.text + "'")

    builder.source("s", ticks).node("n", waits).node("d", doubles)
    builder.sink("k", slow, queue_capacity=1)
    return builder.chain("s", "n", "d", "k")


def test_a_trace_shows_wait_service_and_blocked_of_every_hop() -> None:
    """One event, from its source through all its descendants, and where its time went."""
    rows: list[dict[str, Any]] = []

    def trace(session: Session) -> None:
        traces.append(session.trace("s", 2))

    traces: list[Any] = []
    run(doubling(PlanBuilder(1)), (0.5, trace))
    rows = traces[0].rows()

    def times(row: dict[str, Any]) -> tuple[float, float, float]:
        return tuple(round(row[name], 6) for name in ("wait_s", "service_s", "blocked_s"))

    assert [(row["node"], row["part"], row["outcome"]) for row in rows] == [
        ("s", 0, "processed"),
        ("n", 0, "processed"),
        ("d", 0, "processed"),
        ("k", 0, "processed"),
        ("k", 1, "processed"),
    ]
    # At 3.25 the sink begins its third, the fourth is in its queue: a place comes free each second.
    assert [times(row) for row in rows[1:]] == [
        (0.0, 0.25, 0.0),
        (0.0, 0.0, 2.0),
        (1.0, 1.0, 0.0),
        (1.0, 1.0, 0.0),
    ]
    assert [left["at"] for left in rows[2]["left"]] == [4.25, 5.25]
    assert {row["sequence"] for row in rows} == {2}


def test_the_next_event_of_a_source_can_be_traced() -> None:
    """Nobody knows its number beforehand."""
    traces: list[Any] = []

    run(doubling(PlanBuilder(1)), (3.5, lambda session: traces.append(session.trace("s"))))

    assert traces[0].place == ("c1", 0, "s", 3)
    assert [row["node"] for row in traces[0].rows()] == ["s", "n", "d", "k", "k"]


def test_a_closed_trace_leaves_everything_as_it_was() -> None:
    """Edges are watched by nobody, operators are called as before, and events go inline again."""
    places: list[tuple[Any, ...]] = []

    def state(session: Session) -> tuple[Any, ...]:
        lanes = next(iter(session._conversations.turns())).lanes
        return (
            [edge.tap for edge in session._edges.values()],
            [route.lane for lane in lanes.values() for route in lane.routes.values()],
            [lane.quick for lane in lanes.values()],
            session._kernel.log if session._kernel else None,
        )

    def look(session: Session) -> None:
        places.append(state(session))
        trace = session.trace("s", 5)
        other = session.trace("s", 6)
        places.append(state(session))
        trace.close()
        other.close()
        other.close()
        places.append(state(session))

    run(doubling(PlanBuilder(1)), (0.5, look))

    before, during, after = places
    assert before == after
    assert before != during


def test_a_trace_beside_a_log_takes_nothing_from_it() -> None:
    """The log has the same lines with a trace and without."""
    told: list[str] = []
    untold: list[str] = []

    run(doubling(PlanBuilder(1)), (0.5, lambda session: session.trace("s", 2)), log=told.append)
    run(doubling(PlanBuilder(1)), log=untold.append)

    assert told == untold


@pytest.mark.parametrize("kind", ["plain", "generator", "async", "stream", "raises"])
def test_an_operator_of_any_kind_does_the_same_while_it_is_traced(kind: str) -> None:
    """A trace looks on; outputs, errors and the end are those of a run without it."""

    def plain(payload: Token) -> Token:
        return payload

    def generator(payload: Token) -> Iterator[Token]:
        yield payload
        yield payload

    async def waits(payload: Token, scope: Scope) -> Token:
        await scope.sleep(0.01)
        return payload

    async def stream(payload: Token, scope: Scope) -> AsyncIterator[Token]:
        yield payload
        await scope.sleep(0.01)
        yield payload

    def raises(payload: Token) -> Token:
        raise ValueError(payload.text)

    operators: dict[str, Callable[..., Any]] = {
        "plain": plain, "generator": generator, "async": waits, "stream": stream, "raises": raises,
    }  # fmt: skip

    def once(*steps: Step) -> Snapshot:
        async def ticks(scope: Scope) -> AsyncIterator[Token]:
            for number in range(6):
                await scope.sleep(1.0)
                yield Token(str(number))

        builder = PlanBuilder(1).source("s", ticks).node("n", operators[kind])
        return run(builder.sink("k", lambda _: None).chain("s", "n", "k"), *steps)

    traces: list[Any] = []
    traced = once((0.5, lambda session: traces.append(session.trace("s", 0))))
    plainly = once()

    assert traced.phase == plainly.phase
    assert traced.error == plainly.error
    assert traced.nodes["n"].emitted == plainly.nodes["n"].emitted
    assert traced.nodes["k"].processed == plainly.nodes["k"].processed
    outcome = "failed" if kind == "raises" else "processed"
    assert [row["outcome"] for row in traces[0].rows() if row["node"] == "n"] == [outcome]


# Injected events --------------------------------------------------------------------------


def test_an_injected_event_goes_its_way_and_is_counted() -> None:
    """It is appended to the edge, received by the node, and no source has sent it."""
    shown: list[str] = []
    builder, _ = ticking("a")
    builder.node("n", lambda token: token).sink("k", lambda token: shown.append(token.text))
    builder.edge("s", "n").edge("n", "k")

    def put(session: Session) -> None:
        session.inject("s.out>n.in", "from outside")
        session.inject("s.out>n.in", {"type": "chunk", "text": "a chunk"})
        session.inject("s.out>n.in", Message("whole"), "c1")

    snapshot = run(builder, (2.5, put))

    assert shown[2:5] == ["from outside", "a chunk", "whole"]
    edge, node = snapshot.edges["s.out>n.in"], snapshot.nodes["n"]
    assert (edge.appended, edge.taken, node.received, node.processed) == (13, 13, 13, 13)
    assert snapshot.nodes["s"].emitted == 10
    assert snapshot.in_flight == 0


def test_an_injected_event_waits_behind_a_breakpoint() -> None:
    """So that it can be seen there, and stepped through."""
    builder, seen = ticking("a")
    rows: list[dict[str, Any]] = []

    def put(session: Session) -> None:
        session.set_breakpoint("s.out>a.in")
        session.inject("s.out>a.in", "held")
        rows.extend(session.queue("a"))
        session.step("s.out>a.in")

    run(builder, (2.5, put), (2.9, lambda session: session.resume("s.out>a.in")))

    assert [row["payload"]["text"] for row in rows] == ["held"]
    assert seen["a"][2] == 2.5


def test_what_cannot_be_injected_is_refused_in_a_sentence() -> None:
    """A full queue, an unknown type, a conversation that is over; nothing is counted."""
    said: list[str] = []

    def put(session: Session) -> None:
        for payload, conversation in (
            ("no room", None),
            ({"type": "tokens", "text": "x"}, None),
            ({"type": "token"}, None),
            ("x", "c7"),
        ):
            with pytest.raises(EngineError) as caught:
                session.inject("s.out>k.in", payload, conversation)
            said.append(str(caught.value))

    snapshot = run(line(9, queue_capacity=2), (0.5, put))

    assert said[0] == "the queue of k is full (2 of 2); step or resume, then inject"
    assert said[1].startswith("a payload names its type, one of token, chunk")
    assert said[2].startswith("this is no token: Object missing required field `text`")
    assert said[3].startswith("conversation c7 is not open on edge s.out>k.in any more")
    assert snapshot.nodes["k"].received == 9


def test_nothing_is_injected_behind_the_end_of_a_turn() -> None:
    """The source has ended on this edge: what would come now would come after its end."""
    said: list[str] = []

    def put(session: Session) -> None:
        with pytest.raises(EngineError) as caught:
            session.inject("s.out>k.in", Chunk("late"))
        said.append(str(caught.value))

    run(line(2), (1.5, put))

    assert said == [
        "no conversation is open on edge s.out>k.in any more, so nothing can be injected"
    ]
