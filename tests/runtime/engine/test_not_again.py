"""Public reports of other runtimes; each test is named after what must not happen here.

Addresses of the reports are in the docstrings. Those about tries and time-outs are in
`test_not_again_tries`, those about who reads a run in `test_not_again_readers`, and
`test_where_it_is_held` maps each report to its test. This file is long because it is a list.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from aiflow.clock import VirtualLoop
from aiflow.engine.session import Session
from aiflow.events import Control, Token
from aiflow.graph.model import Feedback
from aiflow.metrics.snapshot import Snapshot
from aiflow.operators.base import Emit, Joining, NextTurn
from aiflow.operators.scope import Scope
from aiflow.testing.plans import PlanBuilder
from aiflow.testing.virtual import run_virtual


def tokens(count: int) -> list[Token]:
    """Return tokens that carry their number."""
    return [Token(str(number)) for number in range(count)]


async def slow(payload: Any, scope: Scope) -> None:
    """Take a second for each payload."""
    await scope.sleep(1.0)


def run(builder: PlanBuilder) -> Snapshot:
    """Run a plan on the virtual clock and return its last snapshot."""
    return run_virtual(Session(builder.build()).run())


def test_an_interruption_does_not_swallow_the_end_of_another_turn() -> None:
    """The pipeline waited forever: github.com/pipecat-ai/pipecat/issues/3524."""

    async def go() -> Session:
        builder = PlanBuilder(2).source("s", tokens(6), conversations=2).sink("k", slow)
        session = Session(builder.edge("s", "k").build())
        asyncio.get_running_loop().call_later(2.5, session.cancel, "c1")
        await session.run()
        return session

    snapshot = run_virtual(go()).snapshot()

    assert snapshot.conversations == {"c1": "cancelled", "c2": "completed"}


def test_an_end_marker_is_not_dropped_from_a_full_queue() -> None:
    """Streams leaked: github.com/bytedance/deer-flow/issues/1689."""
    finish = Control("finish", {"reason": "stop"})
    seen: list[Any] = []

    async def take(payload: Any, scope: Scope) -> None:
        seen.append(payload)
        await scope.sleep(0.1)

    builder = PlanBuilder(1).source("s", [*tokens(300), finish])
    builder.sink("k", take, queue_capacity=2, overflow="drop_newest").edge("s", "k")

    snapshot = run(builder)

    assert snapshot.phase == "completed"
    assert seen[-1] == finish


@pytest.mark.parametrize("where", ["s", "n", "k"])
def test_an_error_does_not_leave_who_reads_the_stream_hanging(where: str) -> None:
    """The iterator hung: github.com/run-llama/llama-agents/issues/637."""

    def fail_at(node: str) -> None:
        if node == where:
            raise ValueError("broken")

    async def stream(scope: Scope) -> AsyncIterator[Token]:
        for token in tokens(5):
            yield token
            await scope.sleep(0.1)
        fail_at("s")

    async def process(token: Token, scope: Scope) -> Token:
        fail_at("n")
        return token

    async def take(token: Token, scope: Scope) -> None:
        fail_at("k")

    builder = PlanBuilder(1).source("s", stream).node("n", process).sink("k", take)

    snapshot = run(builder.chain("s", "n", "k"))

    assert snapshot.error == f"node {where} failed in conversation c1: ValueError: broken"


class Rude(BaseException):
    """Raised by code that means nobody to catch it."""


@pytest.mark.parametrize("error", [asyncio.CancelledError(), Rude("rude"), GeneratorExit()])
@pytest.mark.parametrize("is_async", [False, True])
def test_a_base_exception_of_an_operator_does_not_kill_the_worker(
    error: BaseException, is_async: bool
) -> None:
    """The dispatcher died: github.com/openai/openai-agents-python/issues/4198."""

    def fails(token: Token, scope: Scope) -> None:
        if scope.conversation == "c1":
            raise error

    async def fails_later(token: Token, scope: Scope) -> None:
        await scope.sleep(0.1)
        fails(token, scope)

    builder = PlanBuilder(1).source("s", tokens(3), conversations=2)
    builder.sink("k", fails_later if is_async else fails).edge("s", "k")

    snapshot = run(builder)

    assert snapshot.conversations == {"c1": "failed", "c2": "completed"}
    assert snapshot.nodes["k"].processed == 3


@pytest.mark.parametrize("is_async", [False, True])
def test_an_interrupt_from_the_keyboard_is_not_swallowed(is_async: bool) -> None:
    """It is settled, then goes on to whoever runs the loop."""

    def fails(token: Token, scope: Scope) -> None:
        raise KeyboardInterrupt

    async def fails_later(token: Token, scope: Scope) -> None:
        raise KeyboardInterrupt

    session = Session(
        PlanBuilder(1)
        .source("s", tokens(3))
        .sink("k", fails_later if is_async else fails)
        .edge("s", "k")
        .build()
    )

    loop = VirtualLoop()
    try:
        task = loop.create_task(session.run())
        with pytest.raises(KeyboardInterrupt):
            loop.run_until_complete(task)
        # Whoever catches it may let the run come to its end.
        snapshot = loop.run_until_complete(task)
    finally:
        loop.close()

    assert snapshot.nodes["k"].failed == 1
    assert snapshot.phase == "failed"


def test_leaving_early_does_not_go_on_draining_the_provider() -> None:
    """The stream went on at the user's cost: github.com/pydantic/pydantic-ai/issues/1524."""
    read = 0
    closed_by: list[Any] = []

    async def stream(scope: Scope) -> AsyncIterator[Token]:
        nonlocal read
        opened_by = asyncio.current_task()
        try:
            while True:
                read += 1
                yield Token("x")
                await scope.sleep(0.1)
        finally:
            closed_by.append(asyncio.current_task() is opened_by)

    async def go() -> None:
        session = Session(PlanBuilder(1).source("s", stream).sink("k", slow).edge("s", "k").build())
        asyncio.get_running_loop().call_later(1.05, session.cancel, "c1")
        await session.run()

    run_virtual(go())

    assert read <= 11
    # And by the task that reads it: "asynchronous generator is already running" elsewhere
    # (github.com/googleapis/python-genai/issues/2425).
    assert closed_by == [True]


def test_a_stage_does_not_stall_when_demand_comes_back() -> None:
    """Ordered stages stalled or skipped: github.com/apache/pekko/pull/3365, /2905, /2899."""
    seen: list[str] = []

    async def jitter(token: Token, scope: Scope) -> Token | None:
        await scope.sleep(scope.random.random() * 0.01)
        return token if int(token.text) % 3 else None

    async def bursts(token: Token, scope: Scope) -> None:
        seen.append(token.text)
        await scope.sleep(1.0 if len(seen) % 7 == 0 else 0.0)

    builder = PlanBuilder(1).source("s", tokens(90))
    builder.node("n", jitter, workers=4, reorder_capacity=2, queue_capacity=3)

    run(builder.sink("k", bursts, queue_capacity=1).chain("s", "n", "k"))

    assert seen == [str(number) for number in range(90) if number % 3]


def test_the_last_failures_do_not_keep_a_stage_from_completing() -> None:
    """Trailing failures never completed it: github.com/apache/pekko/pull/3009."""

    async def nothing(token: Token, scope: Scope) -> None:
        await scope.sleep(scope.random.random())

    builder = (
        PlanBuilder(1).source("s", tokens(20)).node("n", nothing, workers=4, reorder_capacity=4)
    )

    assert run(builder.sink("k", slow).chain("s", "n", "k")).phase == "completed"


def test_more_conversations_than_workers_do_not_lock_one_another() -> None:
    """group_by hung: github.com/reactor/reactor-core/issues/3442."""

    async def jitter(token: Token, scope: Scope) -> Token:
        await scope.sleep(scope.random.random())
        return token

    builder = PlanBuilder(20).source("s", tokens(5), conversations=20)
    builder.node("n", jitter, workers=2, reorder_capacity=1, queue_capacity=1)

    snapshot = run(builder.sink("k", slow, queue_capacity=1, workers=2).chain("s", "n", "k"))

    assert list(snapshot.conversations.values()) == ["completed"] * 20
    assert snapshot.nodes["k"].processed == 100


@pytest.mark.parametrize(("workers", "reorder"), [(1, 0), (2, 0), (2, 1), (4, 4)])
def test_more_keys_than_workers_and_places_do_not_lock_one_another(
    workers: int, reorder: int
) -> None:
    """A groupBy stood still beyond its buffer: github.com/ReactiveX/RxJava/issues/6284."""
    seen: list[str] = []

    async def jitter(token: Token, scope: Scope) -> Token:
        await scope.sleep(scope.random.random())
        return token

    policy: dict[str, Any] = {"workers": workers, "reorder_capacity": reorder}
    builder = PlanBuilder(1).source("s", [Token(str(n % 50)) for n in range(200)])
    builder.node(
        "n", jitter, state_mode="partitioned", partition_key="text", queue_capacity=1, **policy
    )
    builder.sink("k", lambda token: seen.append(token.text), queue_capacity=1)

    snapshot = run(builder.chain("s", "n", "k"))

    assert snapshot.phase == "completed"
    assert Counter(seen) == {str(n): 4 for n in range(50)}


def test_a_merge_of_streams_does_not_grow_while_its_reader_is_slow() -> None:
    """It filled the memory: github.com/TencentBlueKing/bk-lite/issues/5378."""
    builder = PlanBuilder(1).source("s", tokens(200)).source("t", tokens(200))
    builder.node("m", lambda token: token, queue_capacity=4).sink("k", slow, queue_capacity=4)

    snapshot = run(builder.edge("s", "m").edge("t", "m").edge("m", "k"))

    assert snapshot.nodes["k"].processed == 400
    assert snapshot.max_in_flight <= 4 + 1 + 4 + 1 + 2


def test_one_stalled_conversation_does_not_starve_the_others() -> None:
    """All keys stood still: github.com/apache/pulsar/pull/25706."""
    ended: list[tuple[str, float]] = []

    async def stalls(token: Token, scope: Scope) -> Token:
        await scope.sleep(1_000.0 if scope.conversation == "c1" else 0.1)
        if token.text == "4":
            ended.append((scope.conversation, scope.clock.now()))
        return token

    builder = PlanBuilder(4).source("s", tokens(5), conversations=4)
    builder.node("n", stalls, queue_capacity=4, workers=4, reorder_capacity=4)
    builder.sink("k", lambda token: None, queue_capacity=4)

    snapshot = run(builder.chain("s", "n", "k"))

    assert [conversation for conversation, _ in ended[:3]] == ["c2", "c3", "c4"]
    assert all(at < 3 for _, at in ended[:3])
    assert snapshot.phase == "completed"


def test_a_filter_in_one_branch_does_not_lock_a_fork_and_join() -> None:
    """Dummy messages were needed: doi.org/10.1145/2145816.2145846; here a watermark does it."""
    joined: list[Any] = []
    builder = PlanBuilder(1).source("s", tokens(400))
    builder.node("few", lambda token: token if int(token.text) % 20 == 0 else None)
    builder.node("all", lambda token: token)
    joining = Joining("zip")
    builder.node("j", joined.append, inputs=("a", "b"), joining=joining, queue_capacity=2)

    snapshot = run(builder.edge("s", "few").edge("s", "all").edge("few", "j.a").edge("all", "j.b"))

    assert snapshot.phase == "completed"
    assert len(joined) == 20
    assert snapshot.nodes["j"].dropped == {"unmatched": 380}


def test_a_loop_with_full_feedback_does_not_freeze() -> None:
    """Akka's docs show it: doc.akka.io/docs/akka/current/stream/stream-graphs.html, cycles."""
    builder = PlanBuilder(1).source("s", itertools.repeat(6, 100))
    builder.node("a", lambda number: number, queue_capacity=4)
    builder.node("b", _less, outputs=("again", "done"), queue_capacity=4)
    builder.sink("k", slow, queue_capacity=1).chain("s", "a", "b").edge("b.done", "k")

    snapshot = run(builder.edge("b.again", "a", feedback=Feedback(3, 1, 6)))

    assert snapshot.phase == "completed"
    assert snapshot.edges["b.again>a.in"].taken == 600


def _less(number: int) -> Emit:
    return Emit("again", number - 1) if number else Emit("done", number)


def test_a_put_that_comes_later_does_not_overtake_one_that_waits() -> None:
    """asyncio.Queue lets it: github.com/python/cpython/issues/83055."""
    seen: list[str] = []

    async def take(token: Token, scope: Scope) -> None:
        seen.append(token.text)
        await scope.sleep(1.0)

    async def at(scope: Scope) -> AsyncIterator[Token]:
        await scope.sleep({"a": 0.1, "b": 0.2, "c": 1.0}[scope.node])
        for number in range(3):
            yield Token(f"{scope.node}{number}")

    builder = PlanBuilder(1)
    for name in "abc":
        builder.source(name, at)
    builder.sink("k", take, queue_capacity=1)
    for name in "abc":
        builder.edge(name, "k")

    run(builder)

    # Who began to wait earlier is served earlier, round after round.
    assert [text for text in seen if text.endswith("0")] == ["a0", "b0", "c0"]
    assert [text for text in seen if text.endswith("2")] == ["a2", "b2", "c2"]


def test_an_item_is_not_lost_when_its_receiver_is_cancelled_at_hand_over() -> None:
    """github.com/agronholm/anyio/issues/146: here the other turn's items all arrive."""
    seen: list[str] = []

    async def take(token: Token, scope: Scope) -> None:
        seen.append(scope.conversation + token.text)

    async def stream(scope: Scope) -> AsyncIterator[Token]:
        for token in tokens(10):
            yield token
            await scope.sleep(0.1)

    async def go() -> Session:
        builder = PlanBuilder(2).source("s", stream, conversations=2).sink("k", take)
        session = Session(builder.edge("s", "k").build())
        # At a time at which both turns hand over.
        asyncio.get_running_loop().call_at(0.5, session.cancel, "c1")
        await session.run()
        return session

    snapshot = run_virtual(go()).snapshot()

    assert [text for text in seen if text.startswith("c2")] == [f"c2{n}" for n in range(10)]
    node = snapshot.nodes["k"]
    assert node.received == node.processed + node.cancelled


def test_an_eager_task_factory_does_not_hang_a_run() -> None:
    """TaskGroup hangs with it: github.com/python/cpython/issues/128550 (Python 3.12 and later)."""
    factory = getattr(asyncio, "eager_task_factory", None)
    if factory is None:
        pytest.skip("this Python has no eager tasks")

    async def go() -> Snapshot:
        asyncio.get_running_loop().set_task_factory(factory)
        builder = PlanBuilder(1).source("s", tokens(9)).sink("k", slow, workers=2)
        return await Session(builder.edge("s", "k").build()).run()

    assert run_virtual(go()).phase == "completed"


def test_a_source_that_never_waits_does_not_keep_the_loop_from_others() -> None:
    """Somebody else's timer and task get their turn in the middle of a burst."""
    turns: list[int] = []
    seen: list[Token] = []

    async def other() -> None:
        while True:
            turns.append(len(seen))
            await asyncio.sleep(0)

    async def stream(scope: Scope) -> AsyncIterator[Token]:
        for token in tokens(1_000):
            yield token

    async def go() -> None:
        builder = PlanBuilder(1).source("a", stream).source("b", tokens(1_000))
        builder.sink("k", seen.append).edge("a", "k").edge("b", "k")
        session = Session(builder.build())
        task = asyncio.ensure_future(other())
        await session.run()
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

    run_virtual(go())

    assert len(seen) == 2_000
    assert max(after - before for before, after in itertools.pairwise(turns)) <= 200


def test_a_generator_with_a_million_outputs_does_not_keep_the_loop() -> None:
    """Also where none of them has anywhere to go."""
    turns = 0

    def many(token: Token) -> Iterator[Token]:
        yield from tokens(5_000)

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async def go() -> None:
        builder = PlanBuilder(1).source("s", tokens(1)).node("n", many).edge("s", "n")
        task = asyncio.ensure_future(other())
        await Session(builder.build()).run()
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

    run_virtual(go())

    assert turns > 50


def test_an_interruption_does_not_lose_what_must_be_kept() -> None:
    """A tool's result was lost and the tool run again: github.com/pipecat-ai/pipecat/issues/4420.

    A node that is shielded, or drains, keeps what it has taken in through the barge-in.
    """
    kept: list[tuple[int, str]] = []

    async def stream(scope: Scope) -> AsyncIterator[Any]:
        yield Token("result")
        await scope.sleep(1.5)
        yield NextTurn(barge_in=True)
        yield Token("next")

    async def tool(payload: Token, scope: Scope) -> Token:
        await scope.sleep(1.0)
        return payload

    async def keep(payload: Token, scope: Scope) -> None:
        await scope.sleep(1.0)
        kept.append((scope.turn, payload.text))

    builder = PlanBuilder(1).source("s", stream).node("tool", tool, cancel="shield")
    builder.sink("k", keep, cancel="shield").sink("voice", slow).chain("s", "tool", "k")

    snapshot = run(builder.edge("tool", "voice"))

    assert kept == [(0, "result"), (1, "next")]
    assert snapshot.nodes["tool"].processed == 2
    assert snapshot.nodes["voice"].cancelled == 1


def test_a_late_cancel_does_not_flip_what_is_complete() -> None:
    """What was complete interrupted: github.com/pydantic/pydantic-ai/pull/5795."""
    answers: list[bool] = []

    async def go() -> Session:
        builder = PlanBuilder(2).source("s", tokens(2), conversations=1)
        session = Session(builder.sink("k", slow).edge("s", "k").build())
        # The very moment at which the last event has been worked on, and just after it.
        for at in (2.0, 2.0 + 1e-9):
            asyncio.get_running_loop().call_later(
                at, lambda: answers.append(session.cancel("c1", 0))
            )
        await session.run()
        await asyncio.sleep(1.0)
        return session

    session = run_virtual(go())

    outcome = session.snapshot().conversations["c1"]
    assert outcome == ("cancelled" if answers[0] else "completed")
    assert not answers[1]
    assert session.cancel("c1") is False
    assert session.snapshot().conversations["c1"] == outcome


def test_a_cancel_from_within_a_cancelled_operator_stops_the_rest_too() -> None:
    """Subgraphs went on: github.com/langchain-ai/langgraph/issues/8302."""
    seen: list[str] = []

    async def go() -> Session:
        async def asks(payload: Token, scope: Scope) -> Token:
            try:
                await scope.sleep(9.0)
            finally:
                session.stop()
            return payload

        async def also(payload: Token, scope: Scope) -> None:
            await scope.sleep(5.0)
            seen.append(scope.conversation)

        builder = PlanBuilder(2).source("s", tokens(3), conversations=2)
        builder.node("n", asks).sink("k", slow).sink("other", also, cancel="drain")
        session = Session(
            builder.chain("s", "n", "k").edge("s", "other").build(), stop_deadline_s=1.0
        )
        asyncio.get_running_loop().call_later(1.0, session.cancel, "c1")
        await session.run()
        return session

    session = run_virtual(go())

    assert set(session.snapshot().conversations.values()) == {"cancelled"}
    assert seen == []
    assert session.snapshot().in_flight == 0


def test_siblings_of_one_that_failed_are_not_left_behind() -> None:
    """Their tasks leaked: github.com/deepset-ai/haystack/pull/11499."""

    async def fails(payload: Token, scope: Scope) -> None:
        await scope.sleep(0.5)
        raise ValueError("no")

    async def go() -> tuple[Snapshot, set[Any]]:
        before = asyncio.all_tasks()
        builder = PlanBuilder(1).source("s", tokens(3)).sink("a", fails).sink("b", slow)
        snapshot = await Session(builder.edge("s", "a").edge("s", "b").build()).run()
        return snapshot, asyncio.all_tasks() - before

    snapshot, left = run_virtual(go())

    assert snapshot.phase == "failed"
    assert left == set()
    assert snapshot.in_flight == 0
