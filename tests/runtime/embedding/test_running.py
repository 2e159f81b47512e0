"""Tests of `aiflow.run` and `aiflow.open`, on the virtual clock."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

import aiflow
from aiflow import Flow, P
from aiflow.errors import CompileError, EngineError
from aiflow.events import Token
from aiflow.graph import edits
from aiflow.graph.model import Graph
from aiflow.graph.shipped import graphs_dir
from aiflow.operators.base import Operator, Port
from aiflow.operators.scope import Scope
from aiflow.testing.virtual import run_virtual
from aiflow.types import TOKEN

EXAMPLE = graphs_dir() / "examples" / "slow-speech.aiflow.json"


def counting(count: int = 20, conversations: int = 1) -> Flow:
    """Return source → delay → screen."""
    flow = Flow("Count", max_conversations=4)
    numbers = flow.synthetic("numbers", count=count, rate=50, conversations=conversations)
    (
        numbers
        >> flow.delay("work", seconds=0.01, policy=P(q=2))
        >> flow.screen("screen", policy=P(q=2))
    )
    return flow


class Failing(Operator[Any]):
    """Raises at the third token."""

    name = "failing"
    inputs = (Port("in", TOKEN),)
    outputs = (Port("out", TOKEN),)

    def process(self, payload: Token, scope: Scope) -> Token:
        """Raise at sequence 2."""
        if scope.sequence == 2:
            raise ValueError("no more")
        return payload


def test_a_flow_runs_to_its_end() -> None:
    """With all that was shown."""
    result = aiflow.run(counting(3), clock="virtual")

    assert (result.status, result.error) == ("completed", None)
    assert result.shown["screen"].split() == ["1", "2", "3"]
    assert result.snapshot.in_flight == 0


def test_a_file_and_a_graph_run_too() -> None:
    """The shipped example, by its path."""
    by_path = aiflow.run(EXAMPLE, clock="virtual")
    by_plan = aiflow.run(aiflow.plan(EXAMPLE), clock="virtual", strategy="callback")

    assert by_path.status == by_plan.status == "completed"
    assert by_path.snapshot.bound == 107


def test_a_graph_with_errors_is_refused_with_all_of_them() -> None:
    """Nothing runs."""
    flow = Flow()
    flow.screen("lonely")

    with pytest.raises(CompileError, match="AF107"):
        aiflow.run(flow)


def test_a_key_that_is_not_set_is_told_before_anything_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By a plan, and by `open` as by `run`; on the virtual clock nobody needs a key."""
    monkeypatch.delenv("SHOP_KEY", raising=False)
    graph = edits.add_resource(
        Graph(),
        "provider",
        id="shop",
        params={"endpoint": "https://a.example/v1", "credential": "SHOP_KEY"},
    )
    graph = edits.add_node(graph, "chat", id="model")
    graph = edits.set_resource(graph, "model", "provider", "shop")
    graph = edits.add_node(graph, "screen", id="view")
    graph = edits.connect(graph, "model.out", "view.in")

    async def opened() -> None:
        async with aiflow.open(graph):
            pass

    with pytest.raises(CompileError, match="AF505"):
        aiflow.plan(graph)
    with pytest.raises(CompileError, match="AF505"):
        asyncio.run(opened())
    with pytest.raises(CompileError, match="AF506"):
        run_virtual(opened())


def test_run_has_no_place_inside_a_loop() -> None:
    """It says what to use there."""

    async def inside() -> None:
        aiflow.run(counting())

    with pytest.raises(EngineError, match=r"aiflow\.open"):
        run_virtual(inside())


def within(body: Any, flow: Flow | None = None, **options: Any) -> Any:
    """Run `body(run)` within an open run on a virtual loop."""

    async def main() -> Any:
        async with aiflow.open(flow or counting(), **options) as run:
            return await body(run)

    made: Coroutine[Any, Any, Any] = main()
    return run_virtual(made)


def test_events_of_a_sink_come_in_order_with_their_envelope() -> None:
    """And the iteration ends with the conversation."""

    async def read(run: Any) -> Any:
        return [event async for event in run.sink("screen")], run.status.phase

    events, phase = within(read)

    assert [event.text.strip() for event in events] == [str(n) for n in range(1, 21)]
    assert [event.sequence for event in events] == list(range(20))
    assert {event.conversation for event in events} == {"c1"}
    assert phase == "completed"


def test_a_slow_reader_holds_the_graph_back() -> None:
    """No queue grows for it, and nothing is lost."""

    async def read(run: Any) -> Any:
        depths = []
        async for _ in run.sink("screen"):
            await asyncio.sleep(1)
            depths.append(run.snapshot().in_flight)
        return depths, run.snapshot()

    depths, snapshot = within(read)

    assert len(depths) == 20
    assert max(depths) <= snapshot.bound
    assert snapshot.nodes["screen"].received == 20
    assert snapshot.nodes["numbers"].backpressured_s > 10


def test_closing_the_iterator_cancels_the_conversation() -> None:
    """And it is over when `aclose` returns."""

    async def read(run: Any) -> Any:
        events = run.sink("screen")
        await anext(events)
        await events.aclose()
        await events.aclose()
        return run.snapshot(), [event async for event in events]

    snapshot, rest = within(read)

    assert snapshot.conversations == {"c1": "cancelled"}
    assert (snapshot.phase, snapshot.in_flight, rest) == ("cancelled", 0, [])


def test_abandoning_the_iterator_cancels_the_conversation() -> None:
    """Whoever breaks out of the loop and keeps nothing."""

    async def read(run: Any) -> Any:
        async for _ in run.sink("screen"):
            break
        gc.collect()
        return await run.result()

    assert within(read).status == "cancelled"


def test_leaving_the_block_cancels_what_still_runs() -> None:
    """Also by an error of the block's own."""
    seen: list[Any] = []

    async def fail(run: Any) -> None:
        events = run.sink("screen")
        seen.append((run, events))
        await anext(events)
        raise KeyError("mine")

    with pytest.raises(KeyError):
        within(fail)

    assert seen[0][0].status.phase == "cancelled"


def test_a_task_that_is_cancelled_ends_its_run() -> None:
    """The web server drops a request this way."""

    async def main() -> Any:
        seen: list[Any] = []

        async def request() -> None:
            async with aiflow.open(counting(1000)) as run:
                seen.append(run)
                async for _ in run.sink("screen"):
                    pass

        task = asyncio.create_task(request())
        await asyncio.sleep(1)
        task.cancel()
        await asyncio.wait([task])
        return task.cancelled(), seen[0].snapshot()

    was_cancelled, snapshot = run_virtual(main())

    assert was_cancelled
    assert (snapshot.phase, snapshot.in_flight) == ("cancelled", 0)


def test_a_failure_is_raised_after_what_came_before_it() -> None:
    """With the sentence of the run."""
    flow = Flow()
    flow.synthetic("numbers", count=5, rate=50) >> flow.add(Failing, "bad") >> flow.screen("screen")
    seen: list[str] = []

    async def read(run: Any) -> None:
        async for event in run.sink("screen"):
            seen.append(event.text)  # noqa: PERF401 - what came before the error counts

    with pytest.raises(EngineError, match=r"node bad failed in conversation c1.*no more"):
        within(read, flow)

    assert seen == ["1 ", "2 "]


def test_a_cancelled_conversation_is_not_taken_for_a_whole_one() -> None:
    """Somebody else cancelled it: the iterator says so instead of just ending."""

    async def read(run: Any) -> None:
        async for event in run.sink("screen"):
            if event.sequence == 3:
                assert run.cancel("c1")

    with pytest.raises(EngineError, match="cancelled before its end"):
        within(read)


def test_two_sinks_are_read_side_by_side() -> None:
    """Each by its own task."""
    flow = counting(6)
    flow["work"] >> flow.counter("count")

    async def read(run: Any) -> Any:
        sinks = [run.sink("screen"), run.sink("count")]

        async def all_of(sink: Any) -> int:
            return len([event async for event in sink])

        return await asyncio.gather(*map(all_of, sinks))

    assert within(read, flow) == [6, 6]


def test_a_run_can_be_drained() -> None:
    """What is inside still comes out."""

    async def read(run: Any) -> Any:
        numbers = []
        async for event in run.sink("screen"):
            numbers.append(event.sequence)
            if event.sequence == 2:
                run.drain()
        return numbers, run.status.phase

    numbers, phase = within(read, counting(1000))

    assert numbers == list(range(len(numbers)))
    assert 3 <= len(numbers) < 20
    assert phase == "completed"


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda run: run.sink("work"), "its sinks are screen"),
        (lambda run: (run.sink("screen"), run.sink("screen")), "has an iterator already"),
        (lambda run: (run.start(), run.sink("screen")), "is running already"),
        (lambda run: run.snapshot(), "has not started"),
    ],
)
def test_what_cannot_be_asked_is_refused(ask: Any, says: str) -> None:
    """One sentence."""

    async def body(run: Any) -> None:
        ask(run)

    with pytest.raises(EngineError, match=says):
        within(body)


def test_inputs_reach_their_conversations(tmp_path: Path) -> None:
    """A text for all, as `aiflow run --input`."""
    flow = counting(2, conversations=3)

    async def read(run: Any) -> Any:
        return {event.conversation async for event in run.sink("screen")}

    assert within(read, flow, inputs="hello", base=tmp_path) == {"c1", "c2", "c3"}


DEAF = """
import asyncio

import aiflow
from aiflow import Flow, P
from aiflow.operators.base import Operator, Port
from aiflow.types import TOKEN


class Deaf(Operator):
    name = "deaf"
    inputs = (Port("in", TOKEN),)

    async def process(self, payload, scope):
        while True:
            try:
                await scope.sleep(3600.0)
            except asyncio.CancelledError:
                continue


class Breaking(Operator):
    name = "breaking"
    inputs = (Port("in", TOKEN),)

    def process(self, payload, scope):
        if scope.sequence == 2:
            raise KeyboardInterrupt


flow = Flow("Deaf")
numbers = flow.synthetic("numbers", count=9, rate=50)
numbers >> flow.add(Deaf, "wall", policy=P(q=9))
numbers >> flow.add(Breaking, "end")
try:
    aiflow.run(flow, clock="virtual")
except KeyboardInterrupt:
    print("interrupted")
"""


def test_an_operator_that_never_ends_does_not_keep_the_program() -> None:
    """It is left behind with its loop, and Python complains of neither afterwards."""
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-c", DEAF], capture_output=True, timeout=60, check=True
    )

    assert (done.stdout, done.stderr) == (b"interrupted\n", b"")
