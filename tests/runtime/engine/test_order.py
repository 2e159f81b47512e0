"""Order: windows, reorder buffers, several outputs, parts."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aiflow.engine.session import Session
from aiflow.events import Token
from aiflow.metrics.snapshot import Snapshot
from aiflow.operators.scope import Scope
from aiflow.testing.plans import PlanBuilder
from aiflow.testing.virtual import run_virtual


def tokens(count: int) -> list[Token]:
    """Return tokens that carry their number."""
    return [Token(str(number)) for number in range(count)]


def run(builder: PlanBuilder) -> Snapshot:
    """Run a plan on the virtual clock and return its last snapshot."""
    return run_virtual(Session(builder.build()).run())


async def jitter(token: Token, scope: Scope) -> Token:
    """Pass a token on after a random while."""
    await scope.sleep(scope.random.random())
    return token


@given(st.integers(1, 6), st.integers(1, 10), st.integers(1, 8), st.integers(1, 3))
@settings(max_examples=40)
def test_a_reorder_buffer_restores_the_order(
    workers: int, reorder: int, capacity: int, conversations: int
) -> None:
    """Whatever finishes first, each conversation's events leave as they came."""
    seen: dict[str, list[int]] = {}

    def take(token: Token, scope: Scope) -> None:
        seen.setdefault(scope.conversation, []).append(int(token.text))

    builder = PlanBuilder(3).source("s", tokens(20), conversations=conversations)
    builder.node(
        "n", jitter, workers=workers, reorder_capacity=reorder, queue_capacity=capacity
    ).sink("k", take)

    run(builder.chain("s", "n", "k"))

    assert all(numbers == list(range(20)) for numbers in seen.values())
    assert len(seen) == conversations


def test_without_a_reorder_buffer_events_leave_as_they_finish() -> None:
    """0 with several workers means the quick one is not held back."""
    seen: list[str] = []

    async def first_is_slow(token: Token, scope: Scope) -> Token:
        await scope.sleep(5.0 if token.text == "0" else 0.1)
        return token

    builder = PlanBuilder(1).source("s", tokens(4)).node("n", first_is_slow, workers=2)

    run(builder.sink("k", lambda token: seen.append(token.text)).chain("s", "n", "k"))

    assert seen == ["1", "2", "3", "0"]


@pytest.mark.parametrize(("workers", "reorder"), [(1, 0), (2, 1), (4, 4), (4, 0)])
def test_no_more_is_begun_than_workers_and_reorder_buffer_hold(workers: int, reorder: int) -> None:
    """Dispatched and not emitted is at most k + ρ, also while the head is stuck."""
    begun = left = most = 0

    async def first_is_slow(token: Token, scope: Scope) -> Token:
        nonlocal begun, most
        begun += 1
        most = max(most, begun - left)
        await scope.sleep(100.0 if token.text == "0" else 0.01)
        return token

    def take(token: Token) -> None:
        nonlocal left
        left += 1

    builder = PlanBuilder(1).source("s", tokens(40))
    builder.node("n", first_is_slow, workers=workers, reorder_capacity=reorder).sink("k", take)

    snapshot = run(builder.chain("s", "n", "k"))

    assert snapshot.phase == "completed"
    assert most == workers + reorder


def test_a_stage_is_not_stuck_once_failures_or_gaps_exceed_its_workers() -> None:
    """Events without outputs give their places back (akka-core issue 17407)."""
    seen: list[str] = []

    async def mostly_nothing(token: Token, scope: Scope) -> Token | None:
        await scope.sleep(0.01)
        return token if int(token.text) % 10 == 9 else None

    builder = PlanBuilder(1).source("s", tokens(60))
    builder.node("n", mostly_nothing, workers=3, reorder_capacity=2)

    run(builder.sink("k", lambda token: seen.append(token.text)).chain("s", "n", "k"))

    assert seen == ["9", "19", "29", "39", "49", "59"]


def test_a_generator_is_asked_for_more_only_when_the_last_output_has_left() -> None:
    """However many outputs it has, one is in hand."""
    made: list[str] = []

    def many(token: Token) -> Iterator[Token]:
        for part in range(50):
            made.append(f"made {part}")
            yield Token(f"{part}")

    async def take(token: Token, scope: Scope) -> None:
        made.append(f"taken {token.text}")
        await scope.sleep(1.0)

    builder = PlanBuilder(1).source("s", tokens(1)).node("n", many)
    snapshot = run(builder.sink("k", take, queue_capacity=2).chain("s", "n", "k"))

    assert snapshot.nodes["k"].processed == 50
    ahead = 0
    for line in made:
        ahead += 1 if line.startswith("made") else -1
        assert ahead <= 4  # one at the worker, two in the queue, one in hand
    assert snapshot.max_in_flight <= 4


@pytest.mark.parametrize("kind", ["list", "generator", "stream"])
def test_outputs_of_events_that_run_at_once_do_not_mingle(kind: str) -> None:
    """A worker that is not at the head of the order waits with its outputs."""
    seen: list[str] = []

    async def listed(token: Token, scope: Scope) -> list[Token]:
        await scope.sleep(scope.random.random())
        return [Token(f"{token.text}.{part}") for part in range(3)]

    def generated(token: Token, scope: Scope) -> Iterator[Token]:
        for part in range(3):
            yield Token(f"{token.text}.{part}")

    async def streamed(token: Token, scope: Scope) -> AsyncIterator[Token]:
        for part in range(3):
            await scope.sleep(scope.random.random())
            yield Token(f"{token.text}.{part}")

    process = {"list": listed, "generator": generated, "stream": streamed}[kind]
    builder = PlanBuilder(1).source("s", tokens(8))
    builder.node("n", process, workers=3, reorder_capacity=2, max_outputs=3, queue_capacity=2)
    builder.sink("k", lambda token: seen.append(token.text)).chain("s", "n", "k")

    snapshot = run(builder)

    assert seen == [f"{number}.{part}" for number in range(8) for part in range(3)]
    assert snapshot.bound is not None
    assert snapshot.max_in_flight <= snapshot.bound


def test_a_list_longer_than_declared_fails_and_says_what_to_do() -> None:
    """The bound counts on max_outputs, so more cannot be let pass."""
    builder = (
        PlanBuilder(1).source("s", tokens(1)).node("n", lambda token: [token] * 3, max_outputs=2)
    )

    snapshot = run(builder.sink("k", print).chain("s", "n", "k"))

    assert snapshot.error == (
        "node n returned a list of 3 outputs and declares max_outputs = 2; raise it, or write"
        " a generator"
    )


def test_outputs_inherit_their_place_and_number_themselves() -> None:
    """Source and sequence come from the input, parts count from 0 for each sequence."""
    seen: list[tuple[str, int, int, str]] = []

    def two(token: Token) -> list[Token]:
        return [Token(token.text + "a"), Token(token.text + "b")]

    async def go() -> None:
        builder = PlanBuilder(1).source("s", tokens(2)).node("n", two, max_outputs=2)
        builder.node("m", two, max_outputs=2).sink("k", lambda token: None)
        log: list[str] = []
        await Session(builder.chain("s", "n", "m", "k").build(), log=log.append).run()
        lines = map(json.loads, log)
        seen.extend(
            (line["source"], line["sequence"], line["part"], line["payload"]["text"])
            for line in lines
            if line["record"] == "emitted" and line["node"] == "m"
        )

    run_virtual(go())

    assert seen == [
        ("s", number, part, f"{number}{text}")
        for number in range(2)
        for part, text in enumerate(("aa", "ab", "ba", "bb"))
    ]


def test_pythons_stack_does_not_grow_with_hops() -> None:
    """Two thousand operators in a row run inline, ends and all."""
    builder = PlanBuilder(1).source("s", tokens(3))
    names = [f"n{number}" for number in range(2_000)]
    for name in names:
        builder.node(name, lambda payload: payload)
    seen: list[Token] = []

    snapshot = run(builder.sink("k", seen.append).chain("s", *names, "k"))

    assert (snapshot.phase, len(seen)) == ("completed", 3)
    assert snapshot.max_in_flight == 1


def test_pythons_stack_does_not_grow_with_outputs() -> None:
    """A million-fold operator before another that fans out once more."""
    builder = PlanBuilder(1).source("s", tokens(1))
    builder.node("n", lambda _: (Token(str(part)) for part in range(3_000)))
    builder.node("m", lambda token: [token, token], max_outputs=2)
    seen: list[Token] = []

    snapshot = run(builder.sink("k", seen.append).chain("s", "n", "m", "k"))

    assert len(seen) == 6_000
    assert snapshot.max_in_flight <= 5
