"""The engine's laws on random graphs that are run or connected in other ways than most.

Events that take one of several branches, operators that block their thread, and all of a node's
tries in a time of their own. On the virtual clock an operator that blocks is called like any
plain function, because which of several threads comes back first is nobody's to say; so in one
law the same graphs run on a real loop, where only what arrives is held to the oracle, and never
an order or a time.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given

from tests.runtime.engine.random_graphs import (
    ALL_STRATEGIES,
    KINDS,
    PLAIN_KINDS,
    SPREAD_KINDS,
    GraphSpec,
    NodeSpec,
    check_books,
    counted,
    expected,
    graphs,
    many,
    run,
)


@given(graphs(kinds=SPREAD_KINDS, with_turns=True, strategies=ALL_STRATEGIES))
@many(120)
def test_each_event_takes_one_branch_of_those_that_balance(spec: GraphSpec) -> None:
    """Whichever has room; what the others' nodes get is not touched, joins behind them go on."""
    noted = run(replace(spec, is_logged=True))

    check_books(noted)
    assert noted.snapshot.phase == "completed", noted.snapshot.error
    assert counted(spec, noted.called) == expected(spec, noted.ways)


@given(
    graphs(
        kinds=SPREAD_KINDS,
        blocks_only=False,
        with_failures=True,
        with_cancels=True,
        with_turns=True,
        with_barge_ins=True,
        strategies=ALL_STRATEGIES,
    )
)
@many(120)
def test_a_cancel_or_failure_leaves_nothing_in_a_branch(spec: GraphSpec) -> None:
    """Who waits at several branches at once is let go at all of them."""
    noted = run(spec)

    check_books(noted)
    assert "active" not in noted.snapshot.conversations.values()


@given(
    graphs(
        blocks_only=False,
        with_failures=True,
        with_cancels=True,
        with_turns=True,
        with_retries=True,
        with_keys=True,
        with_totals=True,
        with_blocking=True,
        thens=("fail", "skip", "dead_letter"),
        strategies=ALL_STRATEGIES,
    )
)
@many(150)
def test_no_try_begins_when_the_time_of_all_is_over(spec: GraphSpec) -> None:
    """Nor is one that is at work then left alone: each event is settled once."""
    noted = run(spec)

    check_books(noted)
    assert "active" not in noted.snapshot.conversations.values()


@given(graphs(with_cancels=True, with_retries=True, with_totals=True, with_blocking=True))
@many(40)
def test_times_of_all_tries_are_the_same_in_each_run(spec: GraphSpec) -> None:
    """And what blocks is called in line, so plan and seed decide everything."""
    spec = replace(spec, is_logged=True)

    assert run(spec).log == run(spec).log


@given(graphs(kinds=(*PLAIN_KINDS, *KINDS), with_keys=True, with_turns=True, with_blocking=True))
@many(30)
def test_operators_in_threads_get_exactly_what_the_graph_makes(spec: GraphSpec) -> None:
    """Whichever comes back first; and no thread, task or event is left."""
    at_once = {name: replace(node, pace=0) for name, node in spec.nodes.items()}
    sources = {name: (count, 0, is_async) for name, (count, _, is_async) in spec.sources.items()}
    noted = run(replace(spec, nodes=at_once, sources=sources), is_real=True)

    check_books(noted)
    assert noted.snapshot.phase == "completed", noted.snapshot.error
    assert counted(spec, noted.called) == expected(spec)


@given(graphs(kinds=SPREAD_KINDS, with_turns=True, with_ticks=True, strategies=ALL_STRATEGIES))
@many(100)
def test_slices_that_end_anywhere_lose_nothing(spec: GraphSpec) -> None:
    """Whatever is put off to the next turn of the loop is done there, once."""
    noted = run(replace(spec, is_logged=True))

    check_books(noted)
    assert noted.snapshot.phase == "completed", noted.snapshot.error
    assert counted(spec, noted.called) == expected(spec, noted.ways)


@given(
    graphs(
        blocks_only=False,
        with_failures=True,
        with_cancels=True,
        with_turns=True,
        with_barge_ins=True,
        with_retries=True,
        with_keys=True,
        with_ticks=True,
        thens=("fail", "skip", "dead_letter"),
    )
)
@many(150)
def test_books_are_even_wherever_slices_end(spec: GraphSpec) -> None:
    """Cancels, drops and tries find work that is put off, and leave nothing of it."""
    noted = run(spec)

    check_books(noted)
    assert "active" not in noted.snapshot.conversations.values()


@pytest.mark.parametrize("tick", [250, 500, 1_000, 2_000])
@pytest.mark.parametrize("queue_capacity", [1, 2, 3])
def test_a_source_reads_on_when_its_hand_is_counted_and_not_before(
    queue_capacity: int, tick: int
) -> None:
    """Between being let in and that, a slice may end; the next event would take its place."""
    node = NodeSpec("generator", (("s0", None),), queue_capacity, 1, 0, "block", 0)
    spec = GraphSpec(
        {"s0": (9, 0, True)}, {"n0": node}, 2, 2, is_droppable=False, is_logged=False, tick=tick
    )

    noted = run(spec)

    check_books(noted)
    assert noted.snapshot.phase == "completed", noted.snapshot.error
    assert counted(spec, noted.called) == expected(spec)


def test_a_queue_that_a_lifted_breakpoint_lists_is_served_again_later() -> None:
    """What was listed is done while a worker sees to others, which must not list it for ever."""
    nodes = {
        "n0": NodeSpec("filter", (("s1", None),), 1, 1, 0, "block", 0),
        "n1": NodeSpec("wait", (("s0", None), ("s1", None)), 3, 2, 0, "block", 1),
        "n2": NodeSpec("pass", (("n0", None), ("n1", None)), 1, 1, 0, "block", 0),
        "n3": NodeSpec("pass", (("s0", None),), 1, 1, 0, "block", 0),
    }
    spec = GraphSpec(
        {"s0": (2, 0, False), "s1": (7, 0, False)},
        nodes,
        2,
        1,
        is_droppable=False,
        is_logged=False,
        tunings=((17, "n1", {"queue_capacity": 1}),),
        holds=((1, 0, 1, 0),),
    )

    noted = run(spec)

    check_books(noted)
    assert noted.snapshot.phase == "completed", noted.snapshot.error
    assert counted(spec, noted.called) == expected(spec)
