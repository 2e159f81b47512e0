"""The laws of speculative effects, of bytes and of deadlines on random graphs."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given

from tests.runtime.engine.random_effects import EffectSpec
from tests.runtime.engine.random_graphs import (
    FLOW_KINDS,
    KINDS,
    GraphSpec,
    check_books,
    counted,
    expected,
    graphs,
    many,
    run,
)


@given(graphs(with_turns=True, with_effects=True, kinds=FLOW_KINDS))
@many(150)
def test_what_is_used_is_committed_and_nothing_else(spec: GraphSpec) -> None:
    """An effect whose output was used has come, unless it found no place; here time is no limit."""
    effects = {name: EffectSpec(each.capacity, None) for name, each in spec.effects.items()}
    noted = run(replace(spec, effects=effects, is_logged=True))

    check_books(noted)
    assert counted(spec, noted.called) == expected(spec), (
        "a full barrier costs effects, never events"
    )
    done = {each.number for each in noted.effects.done}
    missing = [each for each in noted.effects.wanted(noted.called) if each.number not in done]
    for node in spec.effects:
        told = noted.effects.told[node]
        assert sum(each.node == node for each in missing) <= told["discarded"], missing


@given(
    graphs(
        blocks_only=False,
        with_failures=True,
        with_cancels=True,
        with_turns=True,
        with_barge_ins=True,
        with_retries=True,
        with_keys=True,
        with_commits=True,
        with_effects=True,
        thens=("fail", "skip", "dead_letter"),
    )
)
@many(250)
def test_each_effect_comes_once_or_is_undone_once(spec: GraphSpec) -> None:
    """Whatever fails, is cancelled, dropped, tried again or too late."""
    noted = run(spec)

    check_books(noted)
    assert "active" not in noted.snapshot.conversations.values()


@given(graphs(kinds=FLOW_KINDS, with_turns=True, with_barge_ins=True, with_effects=True))
@many(100)
def test_effects_go_through_joins_and_loops(spec: GraphSpec) -> None:
    """Each round of a loop has its own, and a join's belong to its item."""
    noted = run(spec)

    check_books(noted)
    assert noted.snapshot.phase == "completed", noted.snapshot.error


@given(graphs(with_turns=True, with_bytes=True, with_keys=True, kinds=(*KINDS, "loop")))
@many(100)
def test_a_limit_of_bytes_neither_loses_nor_stops_an_event(spec: GraphSpec) -> None:
    """One event always fits, however large it is; the others wait for their places."""
    noted = run(spec)

    check_books(noted)
    assert noted.snapshot.phase == "completed", noted.snapshot.error
    assert counted(spec, noted.called) == expected(spec)


@given(
    graphs(
        blocks_only=False,
        with_failures=True,
        with_cancels=True,
        with_turns=True,
        with_retries=True,
        with_bytes=True,
        with_effects=True,
        with_deadlines=True,
        thens=("fail", "skip", "dead_letter"),
    )
)
@many(150)
def test_a_deadline_ends_its_conversation_and_leaves_nothing(spec: GraphSpec) -> None:
    """Not a moment too early, and the books are even."""
    noted = run(spec)

    check_books(noted)
    assert "active" not in noted.snapshot.conversations.values()


@given(graphs(blocks_only=False, with_cancels=True, with_retries=True, with_effects=True))
@many(40)
def test_effects_are_the_same_in_each_run(spec: GraphSpec) -> None:
    """Plan and seed decide what is committed, and when."""
    spec = replace(spec, is_logged=True)

    assert run(spec).log == run(spec).log
