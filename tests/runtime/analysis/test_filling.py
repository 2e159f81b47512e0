"""Tests of `aiflow.analysis.filling` and `aiflow.analysis.watch`."""

from __future__ import annotations

from dataclasses import replace

from aiflow.analysis.facts import Facts
from aiflow.analysis.filling import filling
from aiflow.analysis.watch import Watch
from aiflow.metrics.snapshot import NodeStats, Snapshot


def at(time: float, depth: int, capacity: int | None = 100, held_s: float = 0.0) -> Snapshot:
    """Return a snapshot of a source and a sink with so many events waiting."""
    nodes = {
        "s": NodeStats("s", backpressured_s=held_s),
        "k": NodeStats("k", queue_capacity=capacity, depth=depth, busy_s=time),
    }
    return Snapshot(time, 0.0, "running", "aiflow", 101, 9, 9, nodes, {}, {})


FACTS = Facts({"s": ("k",), "k": ()}, frozenset("s"), {})


def test_a_queue_that_grows_evenly_is_full_when_it_is_told() -> None:
    """20 events in 10 seconds, 40 places left: 20 seconds."""
    (found,) = filling(at(10.0, 40), at(20.0, 60))

    assert found.full_in_s == 20.0
    assert found.sentence == (
        "k fills: 60 of 100 events wait, and 2.0 more each second; full in 20.0 s."
    )


def test_what_does_not_fill_is_not_told() -> None:
    """Noise, shrinking, a full queue, one without a limit, and what lies far ahead."""
    assert filling(at(10.0, 40), at(20.0, 41)) == ()
    assert filling(at(10.0, 40), at(20.0, 20)) == ()
    assert filling(at(10.0, 40), at(20.0, 100)) == ()
    assert filling(at(10.0, 40, None), at(20.0, 4000, None)) == ()
    assert filling(at(10.0, 10), at(20.0, 20), horizon_s=60.0) == ()
    assert filling(None, at(20.0, 60)) == ()


def test_a_watch_tells_first_that_a_queue_fills_and_then_who_waits_for_it() -> None:
    """Before it is full nobody waits."""
    watch = Watch(FACTS)

    told = [watch.see(at(0.5 * step, min(100, 10 * step))) for step in range(10)]
    held = [watch.see(at(5.0 + 0.5 * step, 100, held_s=0.5 * step)) for step in range(5)]

    assert told[0] == ""
    assert told[-1].startswith("k fills: 90 of 100")
    assert held[-1].endswith("s waits for it.")


def test_a_watch_forgets_what_a_restarted_run_did_before() -> None:
    """The new run's clock and counters begin again."""
    watch = Watch(FACTS)
    for step in range(5):
        watch.see(at(float(step), 100, held_s=float(step)))
    assert watch.bottleneck is not None

    assert watch.see(replace(at(0.0, 0), started_at=0.0)) == ""
    assert watch.bottleneck is None


def test_a_watch_keeps_the_rate_of_a_source_from_before_it_was_held_back() -> None:
    """Held back it is slow, and that says nothing of how fast it would be."""
    watch = Watch(FACTS)

    def seen(time: float, sent: int, held_s: float) -> Snapshot:
        snapshot = at(time, 8, 8, held_s)
        source = replace(snapshot.nodes["s"], processed=sent)
        nodes = {**snapshot.nodes, "s": source}
        return replace(snapshot, nodes=nodes, conversations={"c1": "active", "c2": "active"})

    for step in range(5):
        watch.see(seen(0.5 * step, 10 * step, 0.0))
    for step in range(9):
        watch.see(seen(2.5 + 0.5 * step, 50 + step, 0.5 * step))

    assert watch.rates == {"s": 10.0}
