"""Tuning a node while it runs: raising at once, lowering without a loss, refusals in a sentence."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from aiflow.compiler.compile import compile as compile_graph
from aiflow.compiler.strategies import apply_strategy
from aiflow.engine.session import Session
from aiflow.errors import EngineError
from aiflow.events import Message, Token
from aiflow.graph import codec
from aiflow.graph.shipped import graphs_dir
from aiflow.metrics.snapshot import Snapshot
from aiflow.operators.registry import Catalog
from aiflow.operators.scope import Scope
from aiflow.testing.plans import PlanBuilder
from aiflow.testing.virtual import run_virtual


def tokens(count: int) -> list[Token]:
    """Return tokens that carry their number."""
    return [Token(str(number)) for number in range(count)]


async def slow(payload: object, scope: Scope) -> None:
    """Take a second for each payload."""
    await scope.sleep(1.0)


def line(count: int, process: Callable[..., Any] = slow, **policy: Any) -> PlanBuilder:
    """Return a source and a sink behind it."""
    builder = PlanBuilder(1).source("s", tokens(count))
    return builder.sink("k", process, **policy).edge("s", "k")


def run(
    builder: PlanBuilder, *steps: tuple[float, Callable[[Session], object]], **options: Any
) -> Snapshot:
    """Run a plan and call functions with its session, each at its time."""

    async def go() -> Snapshot:
        session = Session(builder.build(), **options)
        for at, function in steps:
            asyncio.get_running_loop().call_later(at, function, session)
        return await session.run()

    return run_virtual(go())


def test_a_raised_queue_takes_in_at_once_who_waits_for_it() -> None:
    """The source, which stood at a full queue, goes on in the moment of the change."""
    seen: list[tuple[int | None, int]] = []

    def tune(session: Session) -> None:
        session.tune("k", queue_capacity=6)

    def look(session: Session) -> None:
        node = session.snapshot().nodes["k"]
        seen.append((node.queue_capacity, node.depth))

    run(line(20, queue_capacity=2), (0.5, look), (0.6, tune), (0.7, look))

    assert seen == [(2, 2), (6, 6)]


def test_a_lowered_queue_purges_nothing_and_only_shrinks() -> None:
    """Its effective q is what it holds, down to what was asked for, and nothing comes in before."""
    seen: list[tuple[int | None, int, int | None]] = []

    def look(session: Session) -> None:
        snapshot = session.snapshot()
        node = snapshot.nodes["k"]
        seen.append((node.queue_capacity, node.depth, snapshot.bound))

    snapshot = run(
        line(12, queue_capacity=6),
        (0.5, lambda session: session.tune("k", queue_capacity=2)),
        *((0.6 + second, look) for second in range(6)),
    )

    # A source's one, q, and one at work: the bound follows the effective q down.
    assert seen == [(6, 6, 8), (5, 5, 7), (4, 4, 6), (3, 3, 5), (2, 2, 4), (2, 2, 4)]
    assert snapshot.nodes["k"].processed == 12


def test_more_workers_begin_at_once() -> None:
    """What waits in the queue is at work in the moment in which k is raised."""
    running: list[int] = []
    run(
        line(20, lambda _: None, queue_capacity=8, service_time_s=1.0),
        (0.5, lambda session: session.tune("k", workers=4)),
        (0.6, lambda session: running.append(session.snapshot().nodes["k"].running)),
    )

    assert running == [4]


def test_fewer_workers_end_what_they_have_begun() -> None:
    """Nobody is interrupted; the next event begins when fewer than k are at work."""
    seen: list[tuple[int, int]] = []

    def look(session: Session) -> None:
        node = session.snapshot().nodes["k"]
        seen.append((node.workers, node.running))

    snapshot = run(
        line(12, queue_capacity=8, workers=4),
        (0.5, lambda session: session.tune("k", workers=1)),
        *((0.6 + second, look) for second in range(3)),
    )

    assert seen == [(4, 4), (1, 1), (1, 1)]
    assert snapshot.nodes["k"].processed == 12
    assert snapshot.at == 9.0


def test_shares_of_time_add_up_to_the_workers_there_were() -> None:
    """Elapsed time × k is counted piece by piece: a second of 4 workers, then of one."""
    snapshot = run(
        line(12, queue_capacity=8, workers=4),
        (1.0, lambda session: session.tune("k", workers=1)),
    )

    node = snapshot.nodes["k"]
    shares = node.busy_s + node.backpressured_s + node.window_blocked_s + node.idle_s
    assert shares == pytest.approx(4 * 1.0 + (snapshot.at - 1.0))


def test_order_once_promised_is_kept_when_k_is_raised() -> None:
    """With k 1 and ρ 0 events leave as they came; a k of 4 makes it faster and nothing else."""
    left: list[str] = []

    async def uneven(payload: Token, scope: Scope) -> Token:
        await scope.sleep(1.0 if int(payload.text) % 4 == 1 else 0.1)
        return payload

    builder = PlanBuilder(1).source("s", tokens(16)).node("n", uneven, queue_capacity=8)
    builder.sink("k", lambda token: left.append(token.text)).chain("s", "n", "k")

    snapshot = run(builder, (0.05, lambda session: session.tune("n", workers=4)))

    assert left == [str(number) for number in range(16)]
    assert snapshot.at < 6.0


def test_who_waits_at_a_queue_that_drops_from_now_on_is_dropped() -> None:
    """Under block it waited for room; a queue that drops the newest makes nobody wait."""
    snapshot = run(
        line(5, queue_capacity=2),
        (0.5, lambda session: session.tune("k", overflow="drop_newest")),
    )

    node = snapshot.nodes["k"]
    assert (node.processed, node.dropped) == (3, {"drop_newest": 2})


def test_what_may_not_be_dropped_goes_on_waiting_at_a_queue_that_drops() -> None:
    """A message is never lost, whatever the overflow becomes."""
    builder = PlanBuilder(1).source("s", [Message(str(number)) for number in range(5)])
    builder.sink("k", slow, queue_capacity=2).edge("s", "k")

    snapshot = run(builder, (0.5, lambda session: session.tune("k", overflow="drop_oldest")))

    assert (snapshot.nodes["k"].processed, snapshot.nodes["k"].dropped) == (5, {})


def test_each_change_stands_in_the_event_log() -> None:
    """Old and new value of what has changed, and nothing of what has not."""
    lines: list[str] = []
    run(
        line(4),
        (0.5, lambda session: session.tune("k", queue_capacity=3, workers=1)),
        (0.6, lambda session: session.tune("k", queue_capacity=3)),
        log=lines.append,
    )

    tuned = [each for each in map(json.loads, lines) if each["record"] == "tuned"]
    assert tuned == [
        {
            "record": "tuned",
            "at": 0.5,
            "node": "k",
            "changes": {"queue_capacity": {"old": 8, "new": 3}},
        }
    ]


@pytest.mark.parametrize(
    ("node", "changes", "sentence"),
    [
        ("kk", {"workers": 2}, "there is no node kk in this run; Did you mean k?"),
        ("s", {"workers": 2}, "node s is a source and has no queue; tune the node behind it"),
        ("k", {}, "nothing is to be changed at node k; give a policy member"),
        ("k", {"cancel": "drain"}, "cancel of node k cannot be changed while it runs; only"),
        ("k", {"worker": 2}, "cannot be changed while it runs; Did you mean workers?"),
        ("k", {"workers": 0}, "node k: workers is 0, but must be greater than or equal to 1"),
        ("k", {"workers": True}, "node k: workers is true, but must be"),
        ("k", {"retry": {"attempts": 0}}, "node k: retry.attempts is 0, but must be"),
    ],
)
def test_what_cannot_be_tuned_is_refused_in_a_sentence(
    node: str, changes: dict[str, Any], sentence: str
) -> None:
    """The sentence says what and where; nothing has changed."""
    said: list[str] = []

    def tune(session: Session) -> None:
        with pytest.raises(EngineError) as caught:
            session.tune(node, **changes)
        said.append(str(caught.value))
        assert session.snapshot().nodes["k"].workers == 1

    run(line(3), (0.5, tune))

    assert sentence in said[0]


def test_only_a_running_session_is_tuned() -> None:
    """Before and after there is nothing to change."""
    session = Session(line(1).build())
    with pytest.raises(EngineError, match="the run is idle; only a running one can be tuned"):
        session.tune("k", workers=2)
    run_virtual(session.run())

    with pytest.raises(EngineError, match="the run is completed"):
        session.tune("k", workers=2)


def slow_speech(strategy: str = "aiflow") -> Session:
    """Return a session of the example that the checks have passed."""
    path = graphs_dir() / "examples" / "slow-speech.aiflow.json"
    compiled = compile_graph(codec.load(path), Catalog.load(), base=path.parent, clock="virtual")
    assert compiled.plan is not None
    return Session(apply_strategy(compiled.plan, strategy))


def refusal(session: Session, node: str, **changes: Any) -> str:
    """Return why a running session does not take a change; "" where it does."""
    said: list[str] = []

    def tune() -> None:
        try:
            session.tune(node, **changes)
        except EngineError as error:
            said.append(str(error))
        session.stop()

    async def go() -> None:
        asyncio.get_running_loop().call_later(0.5, tune)
        await session.run()

    run_virtual(go())
    return "".join(said)


def test_a_change_that_the_checks_forbid_is_refused_with_their_words() -> None:
    """Two workers would tear a serialized state apart: AF301, as `aiflow check` says it."""
    assert refusal(slow_speech(), "chunks", workers=2) == (
        "AF301: node chunks has 2 workers, but its state is serialized: one at a time"
    )


def test_a_change_that_the_checks_allow_is_made() -> None:
    """The whole plan is checked again, and is as sound as before."""
    session = slow_speech()

    assert refusal(session, "speech", queue_capacity=3) == ""
    assert session.plan.nodes["speech"].policy.queue_capacity == 3
    assert session.plan.bound is not None


def test_a_strategy_that_decides_itself_is_not_tuned() -> None:
    """Unlimited queues would suddenly have a bound, and the comparison would be none."""
    assert "the strategy unbounded decides about all queues and workers" in refusal(
        slow_speech("unbounded"), "speech", queue_capacity=3
    )


def test_more_workers_of_an_operator_that_awaits_begin_at_once() -> None:
    """Tasks are made for them, and end with the run."""
    running: list[int] = []
    snapshot = run(
        line(20, queue_capacity=8),
        (0.5, lambda session: session.tune("k", workers=4)),
        (0.6, lambda session: running.append(session.snapshot().nodes["k"].running)),
    )

    assert running == [4]
    assert snapshot.nodes["k"].processed == 20


def test_a_retry_that_is_tuned_holds_from_the_next_failure_on() -> None:
    """Three tries from half a second on, for the event that is at work by then too."""
    tries: list[tuple[float, int]] = []

    async def fails_twice(payload: Token, scope: Scope) -> None:
        await scope.sleep(1.0)
        tries.append((scope.clock.now(), scope.attempt))
        if scope.attempt < 3:
            raise ConnectionError("not yet")

    snapshot = run(
        line(1, fails_twice),
        (
            0.5,
            lambda session: session.tune(
                "k", retry={"attempts": 3, "backoff_s": 1.0, "jitter": 0.0, "retry_on": ["any"]}
            ),
        ),
    )

    assert snapshot.phase == "completed"
    # The first wait is a second, the next two.
    assert tries == [(1.0, 1), (3.0, 2), (6.0, 3)]


def test_a_time_limit_that_is_tuned_holds_for_the_tries_that_begin_then() -> None:
    """What is under way goes on; the next one is ended after half a second."""
    snapshot = run(
        line(2),
        (0.5, lambda session: session.tune("k", retry={"timeout_s": 0.5, "then": "skip"})),
    )

    node = snapshot.nodes["k"]
    assert snapshot.at == 1.5
    assert (node.processed, node.failed) == (1, 1)
