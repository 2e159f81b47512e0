"""Tests of `aiflow.engine.retrying`: tries, back-off, giving up, and what is never repeated."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aiflow.clock import VirtualLoop
from aiflow.engine.session import Session
from aiflow.errors import NotStarted, ProviderError
from aiflow.events import DeadLetter
from aiflow.metrics.snapshot import Snapshot
from aiflow.operators.builtin.join import Join, JoinParams
from aiflow.operators.scope import Scope
from aiflow.testing.plans import PlanBuilder
from aiflow.testing.virtual import run_virtual

AGAIN = {"attempts": 3, "backoff_s": 1.0, "jitter": 0.0, "retry_on": ("any",)}


def failing(times: int, wrapped: Callable[[Any], Any] = lambda payload: payload) -> Any:
    """Return an operator that fails so many times at each payload, then returns it."""
    left: dict[Any, int] = {}

    def process(payload: Any, scope: Scope) -> Any:
        left.setdefault(payload, times)
        if left[payload]:
            left[payload] -= 1
            raise ConnectionError(f"try {scope.attempt}")
        return wrapped(payload)

    return process


def waiting(process: Callable[[Any, Scope], Any], seconds: float = 0.1) -> Any:
    """Return the same operator as one that awaits first."""

    async def waits(payload: Any, scope: Scope) -> Any:
        await scope.sleep(seconds)
        return process(payload, scope)

    return waits


def ran(
    process: Any, payloads: Any = (1, 2, 3), log: list[Any] | None = None, **policy: Any
) -> tuple[Snapshot, list[Any], list[DeadLetter]]:
    """Run payloads through one node; return the numbers, what came out, and dead letters."""
    seen: list[Any] = []
    dead: list[DeadLetter] = []
    builder = PlanBuilder().source("s", payloads).node("n", process, **policy)
    builder.sink("k", seen.append).sink("d", dead.append)
    builder.chain("s", "n", "k").edge("n.dead", "d")
    write = None if log is None else lambda line: log.append(msgspec.json.decode(line))
    snapshot = run_virtual(Session(builder.build(), log=write).run())
    return snapshot, seen, dead


@pytest.mark.parametrize("kind", [lambda process: process, waiting])
def test_an_event_is_tried_again_until_it_succeeds(kind: Callable[[Any], Any]) -> None:
    """Three tries are enough for two failures, and nobody downstream sees them."""
    snapshot, seen, _ = ran(kind(failing(2)), retry=AGAIN)

    node = snapshot.nodes["n"]
    assert snapshot.phase == "completed"
    assert seen == [1, 2, 3]
    assert (node.received, node.processed, node.failed, node.retries) == (3, 3, 0, 6)


@pytest.mark.parametrize("kind", [lambda process: process, waiting])
def test_a_conversation_fails_when_the_tries_are_spent(kind: Callable[[Any], Any]) -> None:
    """The error says how often it was tried, and of what the last try failed."""
    snapshot, seen, _ = ran(kind(failing(3)), retry=AGAIN)

    assert snapshot.phase == "failed"
    assert snapshot.error == (
        "node n failed in conversation c1 after 3 tries: ConnectionError: try 3"
    )
    assert seen == []


def test_waits_grow_by_the_multiplier_up_to_the_longest() -> None:
    """No delay is ignored and no count is set back, as in llama_index 20403."""
    at: list[float] = []

    def process(payload: int, scope: Scope) -> None:
        at.append(scope.clock.now())
        raise ValueError(payload)

    retry = {**AGAIN, "attempts": 6, "multiplier": 2.0, "max_backoff_s": 5.0}
    ran(process, [1], retry=retry)

    assert [later - sooner for sooner, later in itertools.pairwise(at)] == [1, 2, 4, 5, 5]


def test_jitter_is_the_same_in_each_run_and_another_for_each_event() -> None:
    """It is keyed by seed, node, conversation, sequence and attempt."""

    def waits() -> list[float]:
        log: list[Any] = []
        ran(failing(1), [1, 2, 3], log=log, retry={**AGAIN, "jitter": 1.0})
        return [each["due"] - each["at"] for each in log if each["record"] == "retried"]

    first = waits()

    assert first == waits()
    assert len(set(first)) == len(first) == 3
    assert all(0 <= wait <= 1 for wait in first)


def test_a_wait_is_as_long_as_the_provider_asked() -> None:
    """Asking sooner would be refused again."""
    tried: list[float] = []

    def process(payload: int, scope: Scope) -> int:
        tried.append(scope.clock.now())
        if len(tried) == 1:
            raise ProviderError("busy", retryable=True, retry_after_s=7.0)
        return payload

    snapshot, _, _ = ran(process, [1], retry={"attempts": 2})

    assert snapshot.phase == "completed"
    assert tried == [0.0, 7.0]


@pytest.mark.parametrize(
    ("retry_on", "error", "is_retried"),
    [
        (("retryable",), ProviderError("busy", retryable=True), True),
        (("retryable",), ProviderError("no", retryable=False), False),
        (("retryable",), ValueError("no"), False),
        (("timeout",), TimeoutError("late"), True),
        (("timeout",), ProviderError("late", kind="idle_timeout"), True),
        (("timeout",), ValueError("no"), False),
        (("any",), ValueError("no"), True),
        (("ValueError",), ValueError("no"), True),
        (("builtins.ValueError",), ValueError("no"), True),
        (("OSError",), ConnectionResetError("no"), True),
        (("KeyError", "timeout"), ConnectionResetError("no"), False),
    ],
)
def test_only_wanted_failures_are_tried_again(
    retry_on: tuple[str, ...], error: Exception, is_retried: bool
) -> None:
    """`retryable`, `timeout`, `any`, or a class by its name or a base class's."""

    def process(payload: int, scope: Scope) -> int:
        if scope.attempt == 1:
            raise error
        return payload

    snapshot, _, _ = ran(process, [1], retry={**AGAIN, "retry_on": retry_on})

    assert (snapshot.phase == "completed") is is_retried


def test_a_wait_frees_the_worker_and_keeps_the_place() -> None:
    """With a reorder buffer others are worked on meanwhile, and yet leave behind it."""
    at: dict[int, float] = {}

    def process(payload: int, scope: Scope) -> int:
        if payload == 1 and scope.attempt == 1:
            raise ConnectionError
        at[payload] = scope.clock.now()
        return payload

    snapshot, seen, _ = ran(
        waiting(process), range(1, 7), reorder_capacity=2, retry=AGAIN | {"backoff_s": 10.0}
    )

    assert snapshot.phase == "completed"
    assert seen == [1, 2, 3, 4, 5, 6]
    assert at[2] < at[3] < 1 < at[1] < at[4]


def test_a_place_in_the_order_is_kept_by_one_worker_without_a_buffer() -> None:
    """With k = 1 and ρ = 0 the next event begins when this one is through."""
    _, seen, _ = ran(failing(1), retry=AGAIN)

    assert seen == [1, 2, 3]


def test_ordered_stages_go_on_when_failures_exceed_the_workers() -> None:
    """As many failures as you like, and the stage is not stuck; akka 17407."""
    for then in ("skip", "dead_letter"):
        for workers in (1, 2, 3):

            def process(payload: int, scope: Scope) -> int:
                if payload % 10:
                    raise ValueError(payload)
                return payload

            snapshot, seen, _ = ran(
                waiting(process),
                range(40),
                workers=workers,
                reorder_capacity=workers,
                retry=AGAIN | {"attempts": 2, "then": then},
            )

            assert snapshot.phase == "completed"
            assert seen == [0, 10, 20, 30]
            assert snapshot.nodes["n"].failed == 36


def test_trailing_failures_end_the_stage() -> None:
    """The last event fails, is skipped, and the end passes on; pekko 3009."""
    snapshot, seen, _ = ran(
        waiting(failing(9)), retry={"then": "skip"}, workers=2, reorder_capacity=2
    )

    assert (snapshot.phase, seen) == ("completed", [])
    assert snapshot.nodes["n"].failed == 3
    assert snapshot.conversations == {"c1": "completed"}


@pytest.mark.parametrize("kind", [lambda process: process, waiting])
def test_a_dead_letter_tells_all_of_an_event_that_was_given_up(
    kind: Callable[[Any], Any],
) -> None:
    """It leaves in its turn, counts as an output, and its event as failed."""

    def process(payload: int, scope: Scope) -> int:
        if payload == 2:
            raise ConnectionError("nobody there")
        return payload

    snapshot, seen, dead = ran(kind(process), retry=AGAIN | {"then": "dead_letter"})

    node = snapshot.nodes["n"]
    assert snapshot.phase == "completed"
    assert seen == [1, 3]
    assert dead == [DeadLetter(2, "n", "ConnectionError: nobody there", 3)]
    assert (node.processed, node.failed, node.emitted) == (2, 1, 3)


def test_a_dead_letter_waits_for_room_like_any_output() -> None:
    """A slow reader of dead letters holds the node back, and none is lost."""

    def process(payload: int) -> None:
        raise ValueError(payload)

    dead: list[int] = []

    async def slow(letter: DeadLetter, scope: Scope) -> None:
        await scope.sleep(1)
        dead.append(letter.payload)

    builder = PlanBuilder().source("s", range(20)).node("n", process, retry={"then": "dead_letter"})
    builder.sink("d", slow, queue_capacity=1).chain("s", "n").edge("n.dead", "d")
    snapshot = run_virtual(Session(builder.build()).run())

    assert dead == list(range(20))
    assert snapshot.max_in_flight <= (snapshot.bound or 0)


def test_without_a_reader_a_dead_letter_is_counted_as_failed() -> None:
    """The conversation goes on, as was asked; the compiler has warned of it."""
    builder = PlanBuilder().source("s", [1, 2])
    builder.node("n", failing(9), retry={"then": "dead_letter"}).chain("s", "n")
    snapshot = run_virtual(Session(builder.build()).run())

    assert snapshot.phase == "completed"
    assert snapshot.nodes["n"].failed == 2


@pytest.mark.parametrize("is_async", [False, True])
def test_nothing_is_said_twice_after_a_part_has_left(is_async: bool) -> None:
    """An error behind the first output is final, and says so; hive 6541."""

    def yields(payload: int, scope: Scope) -> Iterator[int]:
        yield payload
        raise ConnectionError("lost")

    async def streams(payload: int, scope: Scope) -> AsyncIterator[int]:
        yield payload
        raise ConnectionError("lost")

    snapshot, seen, _ = ran(streams if is_async else yields, [1, 2], retry=AGAIN)

    assert seen == [1]
    assert snapshot.error == (
        "node n failed in conversation c1: ConnectionError: lost"
        " (not tried again, because a part of its output had left)"
    )


@pytest.mark.parametrize("is_async", [False, True])
def test_a_generator_that_fails_before_its_first_output_is_tried_again(is_async: bool) -> None:
    """Nothing has left, so nothing is said twice."""

    def yields(payload: int, scope: Scope) -> Iterator[int]:
        if scope.attempt < 3:
            raise ConnectionError("lost")
        yield payload
        yield -payload

    async def streams(payload: int, scope: Scope) -> AsyncIterator[int]:
        for each in yields(payload, scope):
            yield each

    snapshot, seen, _ = ran(streams if is_async else yields, [1, 2], retry=AGAIN)

    assert (snapshot.phase, seen) == ("completed", [1, -1, 2, -2])


def test_what_a_failed_try_emitted_does_not_leave() -> None:
    """Only the try that succeeds is heard."""

    def process(payload: int, scope: Scope) -> int:
        scope.emit(-payload)
        if scope.attempt == 1:
            raise ConnectionError
        return payload

    _, seen, _ = ran(process, [1, 2], max_outputs=2, retry=AGAIN)

    assert seen == [1, -1, 2, -2]


@pytest.mark.parametrize("at_s", [0.05, 0.5])
def test_a_turn_that_is_cancelled_while_it_waits_for_a_try_is_over_at_once(at_s: float) -> None:
    """The timer is gone: the clock does not run on to it."""

    async def cancelled() -> Snapshot:
        async def cancels(payload: int, scope: Scope) -> None:
            await scope.sleep(at_s)
            session.cancel("c1")

        plan = PlanBuilder().source("s", [1]).source("t", [1])
        plan.node("n", waiting(failing(9)), retry=AGAIN).sink("c", cancels)
        session = Session(plan.chain("s", "n").chain("t", "c").build())
        return await session.run()

    snapshot = run_virtual(cancelled())

    assert snapshot.conversations == {"c1": "cancelled"}
    assert snapshot.at - snapshot.started_at == at_s
    assert snapshot.nodes["n"].cancelled == 1
    assert snapshot.in_flight == 0


def test_an_interrupt_from_the_keyboard_is_never_tried_again() -> None:
    """Whoever ends the program means it, even where any failure is to be tried again."""

    def process(payload: int) -> None:
        raise KeyboardInterrupt

    builder = PlanBuilder().source("s", [1]).node("n", process, retry=AGAIN | {"then": "skip"})
    session = Session(builder.chain("s", "n").build())
    loop = VirtualLoop()
    try:
        task = loop.create_task(session.run())
        with pytest.raises(KeyboardInterrupt):
            loop.run_until_complete(task)
        snapshot = loop.run_until_complete(task)
    finally:
        loop.close()

    assert (snapshot.phase, snapshot.nodes["n"].retries) == ("failed", 0)


@given(
    st.lists(st.integers(0, 4), max_size=20),
    st.integers(1, 3),
    st.integers(0, 3),
    st.sampled_from(["skip", "dead_letter"]),
    st.booleans(),
)
@settings(max_examples=60)
def test_a_join_waits_for_tries_and_hears_of_what_was_given_up(
    failing_tries: list[int], workers: int, reorder: int, then: str, is_async: bool
) -> None:
    """A gap moves the watermark, so that no branch waits for what will never come."""
    seen: list[dict[str, list[int]]] = []

    def process(payload: int, scope: Scope) -> int:
        if scope.attempt <= failing_tries[payload]:
            raise ConnectionError
        return payload

    builder = PlanBuilder().source("s", range(len(failing_tries)))
    builder.node(
        "n",
        waiting(process) if is_async else process,
        workers=workers,
        reorder_capacity=reorder,
        queue_capacity=1,
        retry=AGAIN | {"then": then},
    )
    builder.operator("j", Join(JoinParams()), queue_capacity=2)
    builder.sink("k", lambda joined: seen.append({**joined.parts})).sink("d", lambda _: None)
    builder.edge("s", "n").edge("s", "j.a").edge("n", "j.b").edge("j", "k")
    if then == "dead_letter":
        builder.edge("n.dead", "d")
    snapshot = run_virtual(Session(builder.build()).run())

    assert snapshot.phase == "completed", snapshot.error
    parts = {joined["a"][0]: list(joined.get("b", ())) for joined in seen}
    assert parts == {
        number: [number] if failing < 3 else [] for number, failing in enumerate(failing_tries)
    }


# Effects ------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_async", [False, True])
def test_an_effect_that_must_happen_once_begins_once(is_async: bool) -> None:
    """Whatever it failed of, it may have happened; crewAI 5802."""
    started: list[int] = []

    def process(payload: int, scope: Scope) -> None:
        started.append(payload)
        raise ValueError("no")

    snapshot, _, _ = ran(
        waiting(process) if is_async else process,
        [1],
        retry=AGAIN,
        side_effects="non_idempotent",
    )

    assert started == [1]
    assert snapshot.error == (
        "node n failed in conversation c1: ValueError: no"
        " (not tried again, because its effect must not happen twice)"
    )


@pytest.mark.parametrize("error", [TimeoutError("late"), ConnectionResetError("gone"), EOFError()])
def test_a_lost_answer_leaves_an_effect_indeterminate(error: Exception) -> None:
    """The error names the node and the key by which somebody can look it up."""
    keys: list[str] = []

    def process(payload: int, scope: Scope) -> None:
        keys.append(scope.idempotency_key)
        raise error

    snapshot, _, _ = ran(process, [1], retry=AGAIN, side_effects="non_idempotent")

    assert len(keys) == 1
    assert snapshot.error is not None
    assert "node n began an effect in conversation c1 and got no answer" in snapshot.error
    assert keys[0] in snapshot.error


def test_what_was_done_before_a_wait_is_not_done_again() -> None:
    """Whoever is asked knows the effect by its key: llama_index 22559 repeated it."""
    done: dict[str, int] = {}
    asked = 0

    def process(payload: int, scope: Scope) -> int:
        nonlocal asked
        asked += 1
        done.setdefault(scope.idempotency_key, payload)
        if scope.attempt < 3:
            raise ConnectionError("the answer was lost")
        return payload

    snapshot, seen, _ = ran(process, retry=AGAIN, side_effects="idempotent")

    assert (snapshot.phase, seen) == ("completed", [1, 2, 3])
    assert asked == 9
    assert sorted(done.values()) == [1, 2, 3]


@given(
    st.lists(st.sampled_from(["fine", "fails", "late", "lost", "not yet"]), max_size=12),
    st.integers(1, 3),
    st.integers(0, 3),
    st.sampled_from(["skip", "dead_letter"]),
)
@settings(max_examples=60)
def test_no_effect_begins_twice(fates: list[str], workers: int, reorder: int, then: str) -> None:
    """Whatever becomes of a try: only what has not begun is tried again."""
    begun: Counter[str] = Counter()

    async def process(payload: tuple[int, str], scope: Scope) -> int:
        number, fate = payload
        if fate == "not yet" and scope.attempt == 1:
            raise NotStarted("the printer is off")
        begun[scope.idempotency_key] += 1
        await scope.sleep(9 if fate == "late" else 0.1)
        if fate in ("fails", "lost"):
            raise ConnectionResetError if fate == "lost" else ValueError
        return number

    retry = AGAIN | {"timeout_s": 1.0, "then": then}
    snapshot, seen, dead = ran(
        process,
        list(enumerate(fates)),
        workers=workers,
        reorder_capacity=reorder,
        retry=retry,
        side_effects="non_idempotent",
    )

    fine = [number for number, fate in enumerate(fates) if fate in ("fine", "not yet")]
    assert sorted(seen) == fine
    assert all(count == 1 for count in begun.values())
    assert len(begun) == len(fates)
    assert snapshot.nodes["n"].failed == len(fates) - len(fine)
    if then == "dead_letter":
        assert sum("may have happened or not" in letter.error for letter in dead) == sum(
            fate in ("late", "lost") for fate in fates
        )


def test_a_full_queue_and_one_that_waits_do_not_block_a_head_that_is_tried_again() -> None:
    """Flink's operator blocked for good when it was restored so; flink 4924."""

    async def slow(payload: int, scope: Scope) -> int:
        await scope.sleep(0.1)
        if payload % 3 == 0 and scope.attempt < 3:
            raise ConnectionError
        return payload

    for workers, reorder in ((1, 0), (1, 1), (2, 0), (2, 1), (3, 3)):
        snapshot, seen, _ = ran(
            slow,
            range(12),
            queue_capacity=1,
            workers=workers,
            reorder_capacity=reorder,
            retry=AGAIN | {"backoff_s": 5.0},
        )

        assert snapshot.phase == "completed"
        assert sorted(seen) == list(range(12))


def test_an_effect_that_proves_not_to_have_begun_is_tried_again() -> None:
    """`NotStarted` is the operator's word for it."""

    def process(payload: int, scope: Scope) -> int:
        if scope.attempt < 3:
            raise NotStarted("the printer is off")
        return payload

    snapshot, seen, _ = ran(process, retry={"attempts": 3}, side_effects="non_idempotent")

    assert (snapshot.phase, seen) == ("completed", [1, 2, 3])


def test_a_key_is_the_same_at_every_try_and_another_for_each_event() -> None:
    """Tool ids change with each answer of a model, a key does not; openai-agents 4254."""
    keys: dict[int, list[str]] = {}

    def process(payload: int, scope: Scope) -> int:
        keys.setdefault(payload, []).append(scope.idempotency_key)
        if scope.attempt < 3:
            raise ConnectionError
        return payload

    ran(process, retry=AGAIN, side_effects="idempotent")

    assert [len(each) for each in keys.values()] == [3, 3, 3]
    assert len({key for each in keys.values() for key in each}) == 3
