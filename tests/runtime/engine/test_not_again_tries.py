"""Public reports of other runtimes about tries and time-outs; see `test_not_again` for the rest."""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

import aiflow
from aiflow.engine.session import Session
from aiflow.errors import EngineError
from aiflow.events import Chunk
from aiflow.metrics.snapshot import Snapshot
from aiflow.operators.scope import Scope
from aiflow.testing.plans import PlanBuilder
from aiflow.testing.virtual import run_virtual

AGAIN = {"attempts": 3, "backoff_s": 1.0, "jitter": 0.0, "retry_on": ("any",)}
LIMITS: dict[str, tuple[dict[str, Any], float | None]] = {
    "one try": ({"retry": {"timeout_s": 2.0}}, None),
    "all tries": ({"retry": {**AGAIN, "total_timeout_s": 2.0}}, None),
    "the conversation": ({}, 2.0),
}
#: (k, ρ) of the node that tries again.
SHAPES = [(1, 0), (1, 2), (2, 0), (3, 3)]

shapes = pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: f"{shape[0]}-{shape[1]}")


def chunks(count: int) -> list[Chunk]:
    """Return chunks that carry their number."""
    return [Chunk(str(number)) for number in range(count)]


def policy_of(shape: tuple[int, int], **retry: Any) -> dict[str, Any]:
    """Return a shape and how it tries again as members of a policy."""
    return {"workers": shape[0], "reorder_capacity": shape[1], "retry": {**AGAIN, **retry}}


def ran(
    process: Callable[..., Any], payloads: list[Chunk], **policy: Any
) -> tuple[Snapshot, list[str]]:
    """Run payloads through one node on the virtual clock; return the numbers and what came out."""
    heard: list[str] = []
    builder = PlanBuilder(1).source("s", payloads).node("n", process, **policy)
    builder.sink("k", lambda chunk: heard.append(chunk.text)).chain("s", "n", "k")
    return run_virtual(Session(builder.build()).run()), heard


@pytest.mark.parametrize("limit", LIMITS)
def test_a_time_out_does_not_leave_who_reads_the_stream_hanging(limit: str) -> None:
    """No end came for who iterated: github.com/run-llama/llama_index/pull/16852."""
    policy, deadline_s = LIMITS[limit]
    heard: list[str] = []

    async def hangs_at_2(chunk: Chunk) -> Chunk:
        if chunk.text == "2":
            await asyncio.get_running_loop().create_future()
        return chunk

    builder = PlanBuilder(1).source("s", chunks(9)).node("n", hangs_at_2, **policy)
    plan = builder.sink("k", lambda chunk: None).chain("s", "n", "k").build()

    async def reads() -> None:
        async with aiflow.open(plan, conversation_deadline_s=deadline_s) as run:
            async for event in run.sink("k"):
                heard.append(event.text)  # noqa: PERF401 - what came before the error counts

    with pytest.raises(EngineError, match=r"longer than 2 s|not done after 2 s"):
        run_virtual(reads())

    assert heard == ["0", "1"]


@pytest.mark.parametrize(
    ("state", "shape"),
    [
        *itertools.product(["stateless", "partitioned", "transactional"], SHAPES),
        ("serialized", (1, 0)),
        ("serialized", (1, 2)),
    ],
)
def test_the_delay_of_a_try_is_not_ignored_nor_its_count_set_back(
    state: str, shape: tuple[int, int]
) -> None:
    """Tried at once and for ever: github.com/run-llama/llama_index/issues/20403.

    Neither by other events of the node, nor by a tune in the midst of it.
    """
    tried: list[tuple[float, int]] = []

    async def fails_at_1(chunk: Chunk, scope: Scope) -> None:
        if chunk.text == "1" and len(tried) < 20:
            tried.append((scope.clock.now(), scope.attempt))
            raise ConnectionError("no")
        await scope.sleep(0.3)

    retry = {"attempts": 4, "multiplier": 2.0, "max_backoff_s": 60.0}
    policy = policy_of(shape, **retry) | {"state_mode": state}
    if state == "partitioned":
        policy["partition_key"] = "text"
    builder = PlanBuilder(1).source("s", chunks(9)).node("n", fails_at_1, **policy)
    session = Session(builder.edge("s", "n").build())

    async def go() -> Snapshot:
        loop = asyncio.get_running_loop()
        loop.call_later(1.6, lambda: session.tune("n", retry={"attempts": 5}))
        return await session.run()

    snapshot = run_virtual(go())

    assert snapshot.phase == "failed"
    assert [attempt for _, attempt in tried] == [1, 2, 3, 4, 5]
    waits = [later - sooner for (sooner, _), (later, _) in itertools.pairwise(tried)]
    # A try that is due waits for a worker, so it may begin later, but never sooner.
    assert all(wait >= due - 1e-9 for wait, due in zip(waits, [1, 2, 4, 8], strict=True)), waits


def test_a_tool_that_has_succeeded_is_not_called_again_by_anothers_retry() -> None:
    """All tools of a step were: github.com/crewAIInc/crewAI/issues/5802, agno-agi/agno 10366.

    Neither because another tool of the same answer failed, nor because what reads it did.
    """
    called: Counter[str] = Counter()

    async def tool(chunk: Chunk, scope: Scope) -> Chunk:
        called[chunk.text] += 1
        await scope.sleep(0.1)
        if chunk.text == "1" and called["1"] < 3:
            raise ConnectionError("no")
        return chunk

    def reads(chunk: Chunk, scope: Scope) -> Chunk:
        if chunk.text == "2" and scope.attempt < 3:
            raise ConnectionError("no")
        return chunk

    def calls(chunk: Chunk) -> Iterator[Chunk]:
        yield from chunks(4)

    heard: list[str] = []
    builder = PlanBuilder(1).source("s", chunks(1)).node("model", calls)
    builder.node("tool", tool, side_effects="idempotent", **policy_of((2, 4)))
    builder.node("reader", reads, **policy_of((1, 0)))
    builder.sink("k", lambda chunk: heard.append(chunk.text))

    snapshot = run_virtual(
        Session(builder.chain("s", "model", "tool", "reader", "k").build()).run()
    )

    assert snapshot.phase == "completed"
    assert heard == ["0", "1", "2", "3"]
    assert called == {"0": 1, "1": 3, "2": 1, "3": 1}


def test_a_step_that_waits_does_not_do_again_what_it_did_before_the_wait() -> None:
    """The step was replayed from its beginning: github.com/run-llama/llama_index/issues/22559.

    Whatever is done to the node meanwhile: held, stepped, tuned, drained.
    """
    done: list[str] = []

    async def asks(chunk: Chunk, scope: Scope) -> Chunk:
        done.append(chunk.text)
        await scope.sleep(10.0)  # somebody has to say yes
        return chunk

    heard: list[str] = []
    builder = PlanBuilder(1).source("s", chunks(3)).node("n", asks, **policy_of((2, 2)))
    builder.sink("k", lambda chunk: heard.append(chunk.text))
    session = Session(builder.chain("s", "n", "k").build())

    async def go() -> Snapshot:
        loop = asyncio.get_running_loop()
        loop.call_later(1.0, session.set_breakpoint, "s.out>n.in")
        loop.call_later(2.0, session.step, "s.out>n.in")
        loop.call_later(3.0, lambda: session.tune("n", workers=4, reorder_capacity=0))
        loop.call_later(4.0, lambda: session.tune("n", workers=1, queue_capacity=1))
        loop.call_later(5.0, session.resume, "s.out>n.in")
        loop.call_later(6.0, session.drain)
        return await session.run()

    snapshot = run_virtual(go())

    assert snapshot.phase == "completed"
    assert done == heard == ["0", "1", "2"]


def partly(kind: str) -> Callable[..., Any]:
    """Return an operator of a kind that says a part of it, and fails at its first two tries."""

    def says(chunk: Chunk, scope: Scope) -> Iterator[Chunk]:
        yield Chunk(chunk.text + "a")
        if scope.attempt < 3:
            raise ConnectionError("lost")
        yield Chunk(chunk.text + "b")

    async def streams(chunk: Chunk, scope: Scope) -> AsyncIterator[Chunk]:
        for output in says(chunk, scope):
            yield output
            await scope.sleep(0.1)

    async def emits(chunk: Chunk, scope: Scope) -> None:
        for output in says(chunk, scope):
            scope.emit(output)
            await scope.sleep(0.1)

    return {"generator": says, "stream": streams, "emits": emits}[kind]


@shapes
@pytest.mark.parametrize("kind", ["generator", "stream", "emits"])
def test_a_retry_does_not_publish_twice_what_has_left(shape: tuple[int, int], kind: str) -> None:
    """Users read the tokens twice: github.com/aden-hive/hive/pull/6541."""
    _, heard = ran(partly(kind), chunks(4), max_outputs=2, **policy_of(shape))

    assert heard
    assert max(Counter(heard).values()) == 1
    if kind == "emits":
        # Nothing leaves before the call has ended, so that it may be tried again.
        assert sorted(heard) == [f"{number}{part}" for number in range(4) for part in "ab"]


@shapes
def test_failures_beyond_the_workers_do_not_stop_an_ordered_stage(shape: tuple[int, int]) -> None:
    """It stood still once there were more than k: github.com/akka/akka-core/issues/17407."""

    async def fails(chunk: Chunk, scope: Scope) -> Chunk:
        await scope.sleep(scope.random.random())
        if int(chunk.text) % 10:
            raise ValueError("no")
        return chunk

    snapshot, heard = ran(fails, chunks(41), **policy_of(shape, attempts=1, then="skip"))

    assert snapshot.phase == "completed"
    assert snapshot.nodes["n"].failed == 36
    assert sorted(heard, key=int) == ["0", "10", "20", "30", "40"]


@pytest.mark.parametrize("fates", list(itertools.product("sf", repeat=3)), ids="".join)
@pytest.mark.parametrize("delays", sorted(set(itertools.permutations((0.0, 0.0, 1.0)))), ids=str)
def test_a_success_and_a_failure_that_meet_do_not_lose_one_another(
    fates: tuple[str, ...], delays: tuple[float, ...]
) -> None:
    """Which came first decided whether the stage ended: github.com/akka/akka-core/issues/22880.

    All come back in the same turn of the loop or the next but one, and the stream's end with them.
    """

    async def stream(scope: Scope) -> AsyncIterator[Chunk]:
        for chunk in chunks(3):
            yield chunk
        await scope.sleep(1.0)

    async def meets(chunk: Chunk, scope: Scope) -> Chunk:
        await scope.sleep(delays[int(chunk.text)])
        await scope.sleep(1.0 - delays[int(chunk.text)])
        if fates[int(chunk.text)] == "f":
            raise ValueError("no")
        return chunk

    heard: list[str] = []
    policy = policy_of((3, 3), attempts=1, then="skip")
    builder = PlanBuilder(1).source("s", stream).node("n", meets, **policy)
    builder.sink("k", lambda chunk: heard.append(chunk.text)).chain("s", "n", "k")

    snapshot = run_virtual(Session(builder.build()).run())

    assert snapshot.phase == "completed"
    assert heard == [str(number) for number, fate in enumerate(fates) if fate == "s"]
    assert snapshot.nodes["n"].failed == fates.count("f")


@shapes
@pytest.mark.parametrize("refuses", [False, True])
@pytest.mark.parametrize("returns_at_s", [0.999, 1.0, 1.001, 1.5, 2.0, 2.001])
def test_a_result_is_not_lost_where_its_time_out_meets_a_retry(
    shape: tuple[int, int], refuses: bool, returns_at_s: float
) -> None:
    """The retry's result was taken for the late one: github.com/apache/flink/pull/29005.

    The first try of each second event takes so long, or goes on though it was told to end.
    """

    async def slow_at_first(chunk: Chunk, scope: Scope) -> Chunk:
        ends_at = scope.clock.now() + (returns_at_s if scope.attempt == 1 else 0.5)
        if int(chunk.text) % 2:
            return chunk
        try:
            await scope.clock.sleep_until(ends_at)
        except asyncio.CancelledError:
            if not refuses:
                raise
            await scope.clock.sleep_until(ends_at)
        return Chunk(chunk.text + ("" if scope.attempt == 1 else "!"))

    policy = policy_of(shape, timeout_s=1.0, backoff_s=0.5)
    snapshot, heard = ran(slow_at_first, chunks(6), **policy)

    assert snapshot.phase == "completed"
    texts = [text.rstrip("!") for text in heard]
    assert (sorted(texts) if shape == (2, 0) else texts) == [str(number) for number in range(6)]
    if returns_at_s < 1.0:
        assert "!" not in "".join(heard)
    elif returns_at_s > 1.0 and not refuses:
        assert heard.count("0!") == 1
