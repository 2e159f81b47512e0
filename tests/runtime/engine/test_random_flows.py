"""The engine's laws on random graphs with joins and loops: nothing waits for good or is lost."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given

from tests.runtime.engine.random_graphs import (
    ALL_STRATEGIES,
    FLOW_KINDS,
    PAIR_KINDS,
    GraphSpec,
    check_books,
    counted,
    expected,
    graphs,
    many,
    run,
)


@given(graphs(kinds=FLOW_KINDS, strategies=ALL_STRATEGIES))
@many(120)
def test_joins_and_loops_get_exactly_what_the_graph_makes(spec: GraphSpec) -> None:
    """As a sequential reading of the graph says, whatever the queues, workers and branches."""
    noted = run(spec)

    check_books(noted)
    assert noted.snapshot.phase == "completed", noted.snapshot.error
    assert counted(spec, noted.called) == expected(spec)


@given(
    graphs(
        kinds=FLOW_KINDS,
        blocks_only=False,
        with_failures=True,
        with_cancels=True,
        strategies=ALL_STRATEGIES,
    )
)
@many(120)
def test_a_cancel_or_failure_leaves_nothing_in_a_join_or_loop(spec: GraphSpec) -> None:
    """No event, task, credit or second end; the books are even."""
    noted = run(spec)

    check_books(noted)
    assert "active" not in noted.snapshot.conversations.values()


@given(graphs(kinds=PAIR_KINDS))
@many(150)
def test_pairs_are_those_of_the_graph_whatever_is_ahead_of_what(spec: GraphSpec) -> None:
    """A zip of one source's branches never stands in a ring; one by arrival says so if it does."""
    noted = run(spec)

    check_books(noted)
    if noted.snapshot.phase == "failed":
        assert any(map(spec.pairs_by_arrival, spec.nodes)), noted.snapshot.error
        assert "deadlock: " in str(noted.snapshot.error)
        return
    called = counted(spec, noted.called)
    told = [
        name
        for name in spec.nodes
        if not spec.pairs_by_arrival(name) and not spec.is_behind_chance(name)
    ]
    wanted = expected(spec)
    assert {name: called[name] for name in told} == {name: wanted[name] for name in told}


@given(graphs(kinds=PAIR_KINDS, blocks_only=False, with_failures=True, with_cancels=True))
@many(100)
def test_whatever_is_kept_or_paired_every_turn_ends(spec: GraphSpec) -> None:
    """Drops, failures and cancels beside pairs and stores: nothing hangs, the books are even."""
    noted = run(spec)

    check_books(noted)
    assert "active" not in noted.snapshot.conversations.values()


@given(graphs(kinds=FLOW_KINDS, with_turns=True, with_barge_ins=True))
@many(100)
def test_turn_follows_turn_through_joins_and_loops(spec: GraphSpec) -> None:
    """Each turn's parts are its own, and the next is not kept waiting for good."""
    noted = run(spec)

    check_books(noted)
    assert noted.snapshot.phase == "completed", noted.snapshot.error


@given(graphs(kinds=FLOW_KINDS, blocks_only=False, with_failures=True))
@many(40)
def test_the_same_flow_twice_writes_the_same_log(spec: GraphSpec) -> None:
    """On the virtual clock plan and seed decide everything."""
    spec = replace(spec, is_logged=True)

    assert run(spec).log == run(spec).log
