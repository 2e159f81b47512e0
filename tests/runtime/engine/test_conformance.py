"""The rules of Reactive Streams, each in the form that it takes for a node with queue and workers.

Numbers are those of the specification (reactive-streams-jvm 1.0.4); a rule's test is named after
what must hold and runs over (q, k, ρ, o). `ELSEWHERE` says of the rules that have none why.
"""

from __future__ import annotations

import asyncio
import gc
import re
import weakref
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from pydantic import ValidationError

from aiflow.engine.session import Session
from aiflow.errors import EngineError
from aiflow.events import Chunk
from aiflow.metrics.snapshot import Snapshot
from aiflow.operators.base import Emit
from aiflow.operators.scope import Scope
from aiflow.policies import Policy
from aiflow.testing.plans import PlanBuilder
from aiflow.testing.virtual import run_virtual

#: (q, k, ρ, o) of the node in the middle.
SHAPES = [
    (1, 1, 0, "block"), (1, 1, 0, "drop_oldest"), (2, 1, 1, "error"), (2, 2, 0, "block"),
    (1, 3, 2, "drop_newest"), (3, 2, 1, "drop_oldest"), (4, 3, 3, "block"), (8, 4, 0, "error"),
]  # fmt: skip
#: Rules without a test here, and why.
ELSEWHERE = {
    "1.10": "a session runs once: see test_a_session_does_not_run_twice",
    "2.1": "free places are a node's demand, and there is no other way to ask: see rule 1.1",
    "2.2": "an operator cannot hold up who calls it longer than it takes: its queue is between",
    "2.4": "a terminal is state on the edge, of which an operator sees its `finish` and no more",
    "2.5": "an in-port may have several edges: each has ends and books of its own, and what comes"
    " is merged in the order of arrival; a `merge` node says so to a reader and is not needed",
    "2.6": "who closes or drops a sink's iterator cancels its conversation: see"
    " test_abandoning_the_iterator_cancels_the_conversation",
    "2.7": "places are given back by the guardian alone, on the loop's thread",
    "2.11": "one thread does everything, so that what was signalled before is seen before",
    "2.12": "a lane is made with its turn, once, and nobody can subscribe to it",
    "3.1": "other threads have `call_threadsafe`: see"
    " test_a_session_can_be_stopped_from_another_thread",
    "3.10": "a place is given back within the step that takes the event, by no call of anybody",
    "3.11": "what it allows is what happens: an operator may run, and its turn end, inline",
    "3.14": "what it allows is what happens: see"
    " test_a_failing_branch_ends_the_source_and_lets_the_other_branch_finish",
    "3.16": "a place is given back by a plain count, which cannot raise",
    "3.17": "capacities are bounded by the policy, so that no count can run over",
    "4.1": "the node in the middle of each run here has both sides",
}
#: How many rules each part of the specification has.
RULES = {1: 11, 2: 13, 3: 17, 4: 2}

Shape = tuple[int, int, int, str]
shapes = pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: "-".join(map(str, shape)))


async def jitter(payload: Chunk, scope: Scope) -> Chunk:
    """Pass on after a random while."""
    await scope.sleep(scope.random.random())
    return payload


async def pairs(payload: Chunk, scope: Scope) -> AsyncIterator[Chunk]:
    """Say everything twice, with a while between."""
    for part in "ab":
        await scope.sleep(scope.random.random())
        yield Chunk(payload.text + part)


def policy_of(shape: Shape) -> dict[str, Any]:
    """Return a shape as members of a policy."""
    return dict(
        zip(("queue_capacity", "workers", "reorder_capacity", "overflow"), shape, strict=True)
    )


def chunks(count: int) -> Callable[[Scope], Iterator[Chunk]]:
    """Return a source that never waits."""

    def stream(scope: Scope) -> Iterator[Chunk]:
        for number in range(count):
            yield Chunk(f"{scope.conversation} {number}")

    return stream


class Run:
    """A session that has run: source, the node of a shape, sink; and what its log said.

    Attributes:
        heard: texts at the sink, in order.
    """

    def __init__(
        self,
        shape: Shape,
        process: Callable[..., Any] = jitter,
        stream: Any = None,
        *,
        conversations: int = 2,
        **more: Any,
    ) -> None:
        self.heard: list[str] = []
        self.records: list[dict[str, Any]] = []
        builder = PlanBuilder(2)
        builder.source("s", chunks(12) if stream is None else stream, conversations=conversations)
        builder.node("n", process, **{**policy_of(shape), **more})
        builder.sink("k", lambda chunk: self.heard.append(chunk.text))
        self.session = Session(
            builder.chain("s", "n", "k").build(),
            log=lambda line: self.records.append(msgspec.json.decode(line)),
        )
        self.snapshot: Snapshot = self.session.snapshot()

    def go(self, *, cancel_at: float | None = None) -> Run:
        """Run to the end, and cancel the first conversation on the way if asked to."""

        async def main() -> Snapshot:
            if cancel_at is not None:
                loop = asyncio.get_running_loop()
                loop.call_later(cancel_at, self.session.cancel, "c1")
            return await self.session.run()

        self.snapshot = run_virtual(main())
        return self

    def ends(self) -> Counter[tuple[str, str]]:
        """Count the terminals of each conversation at each node."""
        return Counter(
            (each["node"], each["conversation"])
            for each in self.records
            if each["record"] == "ended"
        )


@shapes
@pytest.mark.parametrize("process", [jitter, pairs, lambda chunk: chunk])
def test_rule_1_1_no_more_is_delivered_than_there_are_places(
    shape: Shape, process: Callable[..., Any]
) -> None:
    """The queue is never deeper than q, at no moment of the run."""
    snapshot = Run(shape, process).go().snapshot

    assert snapshot.nodes["n"].max_depth <= shape[0]
    assert snapshot.bound is not None
    assert snapshot.max_in_flight <= snapshot.bound


@shapes
def test_rule_1_2_who_ends_early_gives_its_places_back(shape: Shape) -> None:
    """Cancelled while its events wait, a conversation leaves every place to the other."""
    run = Run(shape).go(cancel_at=0.4)

    assert run.snapshot.conversations["c1"] in ("cancelled", "failed")
    assert run.snapshot.in_flight == 0
    assert run.snapshot.conversations["c2"] in (
        ("completed",) if shape[3] != "error" else ("completed", "failed")
    )


@shapes
def test_rule_1_3_outputs_of_one_conversation_are_never_signalled_at_once(shape: Shape) -> None:
    """What comes next at a node of one worker begins when the one before has ended."""
    inside = Counter[str]()

    async def alone(chunk: Chunk, scope: Scope) -> None:
        inside[scope.conversation] += 1
        assert inside[scope.conversation] == 1
        await scope.sleep(0.1)
        inside[scope.conversation] -= 1

    builder = PlanBuilder(2).source("s", chunks(12), conversations=2)
    builder.node("n", pairs, **policy_of(shape)).sink("k", alone)

    snapshot = run_virtual(Session(builder.chain("s", "n", "k").build()).run())

    assert snapshot.error is None or "the queue of n is full" in snapshot.error, snapshot.error


@shapes
@pytest.mark.parametrize("count", [0, 1, 12])
def test_rules_1_4_and_1_5_each_edge_has_exactly_one_terminal(shape: Shape, count: int) -> None:
    """Also where nothing was sent, and whether it went well or not."""
    run = Run(shape, stream=chunks(count)).go()

    places = {(node, each) for node in ("s", "n", "k") for each in ("c1", "c2")}
    assert run.ends() == dict.fromkeys(places, 1)


@shapes
@pytest.mark.parametrize("cancel_at", [None, 0.05, 0.5])
def test_rules_1_6_and_1_7_nothing_comes_after_a_terminal(
    shape: Shape, cancel_at: float | None
) -> None:
    """A result that is late is discarded and counted as cancelled."""
    run = Run(shape).go(cancel_at=cancel_at)

    ended: set[tuple[str, str]] = set()
    for each in run.records:
        place = (each["node"], each["conversation"])
        assert place not in ended or each.get("outcome") == "cancelled", each
        if each["record"] == "ended":
            ended.add(place)
    node = run.snapshot.nodes["n"]
    settled = node.processed + sum(node.dropped.values()) + node.failed + node.cancelled
    assert node.received == settled


@shapes
def test_rules_1_8_and_3_12_after_a_cancel_deliveries_stop(shape: Shape) -> None:
    """From the moment of the cancel on the sink hears nothing more of the conversation."""
    run = Run(shape, conversations=1)
    heard_then: list[int] = []
    waiting_then: list[int] = []
    cancel = run.session.cancel

    def cancels(conversation: str, turn: int | None = None) -> bool:
        found = cancel(conversation, turn)
        heard_then.append(len(run.heard))
        waiting_then.append(run.session.snapshot().nodes["n"].depth)
        return found

    run.session.cancel = cancels  # type: ignore[method-assign]
    run.go(cancel_at=0.4)

    assert run.snapshot.phase in ("cancelled", "failed")
    assert set(heard_then) <= {len(run.heard)}
    assert set(waiting_then) <= {0}, "what waits is purged at once"


@shapes
def test_rule_2_8_what_still_arrives_after_a_cancel_is_counted_and_goes_nowhere(
    shape: Shape,
) -> None:
    """A node before it drains what it had taken in; here it is settled as cancelled."""
    heard: list[Chunk] = []
    heard_then: list[int] = []
    builder = PlanBuilder(1).source("s", chunks(12))
    builder.node("before", jitter, queue_capacity=8, cancel="drain")
    builder.node("n", lambda chunk: chunk, **policy_of(shape)).sink("k", heard.append)
    session = Session(builder.chain("s", "before", "n", "k").build())

    async def go() -> Snapshot:
        loop = asyncio.get_running_loop()
        loop.call_later(1.0, session.cancel, "c1")
        loop.call_later(1.0, lambda: heard_then.append(len(heard)))
        return await session.run()

    snapshot = run_virtual(go())

    node, edge = snapshot.nodes["n"], snapshot.edges["before.out>n.in"]
    assert heard_then == [len(heard)]
    assert node.cancelled == edge.purged > 0
    assert node.received == node.processed + node.cancelled
    assert edge.appended == edge.taken + edge.purged
    assert snapshot.in_flight == 0


@shapes
def test_what_a_call_returns_after_its_turn_was_cancelled_does_not_leave(shape: Shape) -> None:
    """Not even where the operator itself asked for the cancel."""

    def gives_up(chunk: Chunk) -> Chunk:
        run.session.cancel("c1")
        return chunk

    run = Run(shape, gives_up, conversations=1)
    run.go()

    sent = [each for each in run.records if (each["record"], each["node"]) == ("emitted", "n")]
    assert (sent, run.heard) == ([], [])


@shapes
def test_rule_1_9_a_node_that_cannot_begin_is_an_error_and_no_raise(shape: Shape) -> None:
    """What fails before the first event is heard of as the conversation's ERROR."""

    def broken() -> None:
        raise LookupError("no state")

    run = Run(shape, state=broken).go()

    assert run.snapshot.phase == "failed"
    assert "no state" in (run.snapshot.error or "")
    assert run.heard == []
    assert set(run.ends().values()) == {1}


@shapes
def test_rule_1_11_all_branches_hear_the_same_in_the_same_order(shape: Shape) -> None:
    """Whatever each of them asks for: a strict branch is never left out."""
    heard: dict[str, list[str]] = defaultdict(list)

    def branch(name: str, pause_s: float) -> Callable[..., Any]:
        async def hears(chunk: Chunk, scope: Scope) -> None:
            heard[name].append(chunk.text)
            await scope.sleep(pause_s)

        return hears

    builder = PlanBuilder(1).source("s", chunks(12)).node("n", jitter, **policy_of(shape))
    builder.sink("fast", branch("fast", 0.0), queue_capacity=1)
    builder.sink("slow", branch("slow", 1.0), queue_capacity=shape[0])
    builder.chain("s", "n", "fast").edge("n", "slow")

    snapshot = run_virtual(Session(builder.build()).run())

    if snapshot.phase == "completed":
        assert heard["fast"] == heard["slow"]
    assert heard["slow"] == heard["fast"][: len(heard["slow"])]


@shapes
def test_rule_2_3_what_is_told_at_the_end_cannot_go_upstream(shape: Shape) -> None:
    """`finish` has the out-ports and nothing else: an in-port is none of them."""
    run = Run(shape, finish=lambda scope: Emit("in", Chunk("back")), conversations=1)
    run.go()

    assert run.snapshot.phase == "failed"
    if shape[3] != "error":
        assert "node n sent to 'in', which is none of its out-ports" in (run.snapshot.error or "")


@shapes
def test_rules_2_9_and_2_10_a_terminal_needs_no_place(shape: Shape) -> None:
    """The source's END stands behind a full queue at once, and takes none of its places."""
    run = Run(shape, lambda chunk: chunk, chunks(shape[0]), service_time_s=1.0, conversations=1)
    run.go()

    ended = {each["node"]: each["at"] for each in run.records if each["record"] == "ended"}
    assert ended["s"] < 1.0 <= ended["k"]
    assert len(run.heard) == shape[0]


@shapes
@pytest.mark.parametrize("kind", ["coroutine", "generator"])
def test_rule_2_13_what_is_no_payload_is_refused_with_the_nodes_name(
    shape: Shape, kind: str
) -> None:
    """It never passes as something that nobody will run; None is no output at all."""

    def wrong(chunk: Chunk, scope: Scope) -> Emit:
        return Emit("out", jitter(chunk, scope) if kind == "coroutine" else iter_of(1))

    refused = Run(shape, wrong, conversations=1).go()
    silent = Run(shape, lambda chunk: None, chunks(shape[0]), conversations=1).go()

    assert refused.snapshot.phase == "failed"
    assert f"node n has an output of type {kind}" in (refused.snapshot.error or "")
    assert (silent.snapshot.phase, silent.heard) == ("completed", [])


def iter_of(number: int) -> Iterator[int]:
    """Return a generator."""
    yield number


@shapes
def test_rules_3_2_and_3_3_pythons_stack_does_not_grow_with_the_graph(shape: Shape) -> None:
    """A thousand nodes in a row, each running inline or through its queue."""
    heard: list[Chunk] = []
    names = [f"n{number}" for number in range(1_000)]
    builder = PlanBuilder(1).source("s", chunks(3))
    for name in names:
        builder.node(name, lambda chunk: chunk, **policy_of(shape))
    builder.sink("k", heard.append).chain("s", *names, "k")

    snapshot = run_virtual(Session(builder.build()).run())

    assert snapshot.phase == "completed"
    assert len(heard) == 3


@shapes
def test_rules_3_4_to_3_7_and_3_15_a_cancel_returns_at_once_and_a_second_changes_nothing(
    shape: Shape,
) -> None:
    """Both while it goes on and when it is over."""
    said: list[bool] = []

    def twice(chunk: Chunk) -> Chunk:
        if not said:
            said.extend(run.session.cancel("c1") for _ in range(2))
        return chunk

    run = Run(shape, twice, conversations=1)
    run.go()

    assert said == [True, False]
    assert run.session.cancel("c1") is False
    assert run.session.snapshot() == run.snapshot
    assert run.snapshot.phase == "cancelled"


@shapes
def test_rules_3_8_and_3_9_places_add_up_and_there_is_no_queue_of_none(shape: Shape) -> None:
    """What was appended is taken, purged or dropped; a capacity of 0 is refused everywhere."""
    run = Run(shape).go()

    for edge in run.snapshot.edges.values():
        assert edge.appended == edge.taken + edge.purged + edge.dropped
        assert edge.depth == 0
    with pytest.raises(ValidationError):
        Policy(**{**policy_of(shape), "queue_capacity": 0})
    with pytest.raises(EngineError):
        run.session.tune("n", queue_capacity=0)


@shapes
def test_rule_3_13_after_a_cancel_nothing_of_the_conversation_is_kept(shape: Shape) -> None:
    """Its state, and so its scope and lanes, are gone while the session is still there."""

    class State:
        """What a conversation keeps."""

    made: list[weakref.ref[State]] = []

    def state() -> State:
        new = State()
        made.append(weakref.ref(new))
        return new

    run = Run(shape, state=state).go(cancel_at=0.4)
    gc.collect()

    assert run.snapshot.conversations["c1"] in ("cancelled", "failed")
    assert made
    assert [each() for each in made] == [None] * len(made)


@shapes
@pytest.mark.parametrize("then", ["fail", "skip"])
def test_rule_4_2_an_error_is_passed_on_or_dealt_with_and_never_both(
    shape: Shape, then: str
) -> None:
    """`skip` leaves a gap and the stream goes on; `fail` ends it on both sides of the node."""
    closed: list[bool] = []

    def stream(scope: Scope) -> Iterator[Chunk]:
        try:
            for number in range(4):
                yield Chunk(str(number))
            closed.append(False)
        except GeneratorExit:
            closed.append(True)
            raise

    def fails_at_1(chunk: Chunk) -> Chunk:
        if chunk.text == "1":
            raise ValueError("one")
        return chunk

    run = Run(shape, fails_at_1, stream, conversations=1, retry={"then": then}).go()

    if then == "skip":
        assert (run.snapshot.phase, run.heard) == ("completed", ["0", "2", "3"])
        assert closed == [False]
    else:
        assert (run.snapshot.phase, run.heard) == ("failed", ["0"])
        assert closed == [True]
    assert set(run.ends().values()) == {1}


def test_every_rule_has_a_test_or_a_reason() -> None:
    """The table of rules is the names of the tests above and what stands in ELSEWHERE."""
    source = Path(__file__).read_text(encoding="utf-8")
    tested: list[str] = []
    for name in re.findall(r"def test_rules?_(\w+)", source):
        for first, to in re.findall(r"(\d_\d+)(?:_to_\d_(\d+))?", name):
            part, number = map(int, first.split("_"))
            tested += [f"{part}.{each}" for each in range(number, int(to or number) + 1)]

    every = {f"{part}.{number + 1}" for part, count in RULES.items() for number in range(count)}
    assert sorted([*set(tested), *ELSEWHERE]) == sorted(every)
