"""Tests of `aiflow_studio.plots.series`."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiflow.metrics.snapshot import LatencyStats, NodeStats, Snapshot
from aiflow_studio.plots.series import (
    WINDOWS_S,
    SteadyTop,
    bounds,
    choose,
    depth_line,
    depth_top,
    latency_line,
    round_up,
    slowest,
    spread,
    time_window,
)
from tests.studio.fake_host import snapshot_at


def snapshots(depths: list[int]) -> list[Snapshot]:
    """Return a run of one node, a sample a second."""
    base = snapshot_at(0.0)
    return [
        replace(base, at=float(at), nodes={"n": NodeStats("n", depth=depth)})
        for at, depth in enumerate(depths)
    ]


@given(st.lists(st.integers(0, 8), min_size=1, max_size=60))
def test_a_depth_line_steps_through_every_sample(depths: list[int]) -> None:
    """Read at a sample's time, the line has that sample's depth; between, the one before."""
    line = depth_line(snapshots(depths), "n")

    assert np.all(np.diff(line.x) >= 0)
    for at, depth in enumerate(depths):
        here = line.y[line.x == at]
        if here.size:
            assert here[-1] == depth
        else:
            assert np.interp(at, line.x, line.y) == depth


def test_a_queue_that_stands_at_its_bound_costs_two_points() -> None:
    """However long it stands."""
    line = depth_line(snapshots([8] * 500), "n")

    assert line.x.tolist() == [0.0, 499.0]


def test_a_node_that_is_not_there_has_no_line() -> None:
    """A graph that was edited may name nodes the run does not have."""
    assert depth_line(snapshots([1, 2]), "other").is_empty


def test_latency_is_the_mean_of_the_last_second() -> None:
    """A slow start does not weigh on what happens now."""
    base = snapshot_at(0.0)
    run = [
        replace(base, at=at, nodes={"n": NodeStats("n", wait=LatencyStats(count, total))})
        for at, count, total in [(0.0, 0, 0.0), (1.0, 10, 10.0), (2.0, 20, 11.0), (3.0, 20, 11.0)]
    ]

    line = latency_line(run, "n", lambda stats: stats.wait)

    assert line.x.tolist() == [1.0, 2.0, 3.0]
    assert line.y == pytest.approx([1000.0, 100.0, 100.0])


def test_the_fullest_nodes_are_chosen_and_selected_ones_always() -> None:
    """Sources have no queue and no curve."""
    snapshot = snapshot_at(6.0)

    assert set(choose(snapshot, (), (), most=3)) == {"speech", "chunks", "router"}
    assert "log" in choose(snapshot, ("log",), (), most=3)
    assert "model" not in choose(snapshot, ("model",), (), most=6)


def test_chosen_nodes_keep_their_order() -> None:
    """Curves do not change places while the run goes on."""
    early = choose(snapshot_at(0.1), (), ())

    assert choose(snapshot_at(6.0), (), early) == early


def test_a_large_queue_draws_its_bound_only_while_it_fills() -> None:
    """An empty queue of 64 does not squeeze the eight that matter."""
    snapshot = snapshot_at(6.0)
    nodes = ("speech", "chunks", "log")

    assert bounds(snapshot, nodes) == (8,)
    assert depth_top(snapshot, nodes) == 8.0

    log = replace(snapshot.nodes["log"], max_depth=16)
    filling = replace(snapshot, nodes={**snapshot.nodes, "log": log})
    assert bounds(filling, nodes) == (8, 64)


def test_a_small_bound_is_drawn_before_anything_fills() -> None:
    """How far away it is, is worth seeing too."""
    assert bounds(snapshot_at(0.1), ("speech", "chunks")) == (8,)


def test_the_slowest_wait_longest() -> None:
    """Ordered by waiting time; what has not measured anything is left out."""
    assert slowest(snapshot_at(6.0), ("router", "speech", "log"), 2)[0] == "speech"
    assert slowest(snapshot_at(0.0), ("router", "speech"), 2) == ()


def test_the_axis_grows_at_once_and_shrinks_late() -> None:
    """The scale does not jump."""
    top = SteadyTop(4)

    assert [top.hold(value) for value in (1, 8, 7, 3, 1)] == [4, 8, 8, 8, 8]
    assert top.hold(300) == 400
    assert top.hold(60) == 80


@given(st.floats(1e-6, 1e9))
def test_round_numbers_are_never_below(value: float) -> None:
    """The end of an axis holds what it must hold, with at most twofold room."""
    rounded = round_up(value)

    assert value <= rounded * (1 + 1e-9)
    assert rounded <= 2.0001 * value


@given(st.floats(0, 10_000))
def test_now_is_always_in_the_window(elapsed_s: float) -> None:
    """With room for labels at its right."""
    left, right = time_window(elapsed_s)

    assert left <= elapsed_s < right
    assert right - left == pytest.approx(min(WINDOWS_S, key=lambda w: abs(w - (right - left))))


@given(
    st.lists(st.floats(0, 100), max_size=12),
    st.floats(0.1, 20),
)
def test_labels_never_overlap(wanted: list[float], gap: float) -> None:
    """They keep their order, their distance, and the room there is."""
    places = spread(wanted, gap, 0.0, 100.0)
    fitting = min(gap, 100.0 / max(1, len(wanted) - 1))
    ordered = sorted(places)

    assert all(-1e-6 <= place <= 100 + 1e-6 for place in places)
    assert all(b - a >= fitting - 1e-6 for a, b in pairwise(ordered))
    assert [places[at] for at in sorted(range(len(wanted)), key=lambda at: wanted[at])] == ordered
