"""Live numbers are formed from snapshots: rates, shares, held-back edges."""

from __future__ import annotations

import dataclasses

import pytest

from aiflow.metrics.snapshot import EdgeStats, LatencyStats, NodeStats, Snapshot
from aiflow_studio.canvas.figures import FigureWindow, ms_text, rate_text


def _snapshot(at: float, *, started_at: float = 0.0, is_full: bool = False, depth: int = 8):
    node = NodeStats(
        "speech",
        activity="busy",
        queue_capacity=8,
        depth=depth,
        processed=int(at * 4),
        service=LatencyStats(count=5, p50_ms=250.0),
        busy_s=0.75 * at,
        idle_s=0.25 * at,
    )
    edge = EdgeStats("a.out>speech.in", appended=int(at * 20), is_full=is_full)
    return Snapshot(
        at, started_at, "running", "aiflow", 9, 1, 1, {"speech": node}, {edge.id: edge}, {}
    )


def _fed(*snapshots: Snapshot) -> FigureWindow:
    window = FigureWindow()
    for snapshot in snapshots:
        window.feed(snapshot)
    return window


def test_rates_and_shares_are_those_of_the_last_second():
    """Old snapshots do not count; the window reaches back one second."""
    window = _fed(*(_snapshot(at / 10) for at in range(60)))

    figures = window.nodes()["speech"]

    assert figures.rate == pytest.approx(4, rel=0.1)
    assert figures.shares.busy == pytest.approx(0.75)
    assert figures.shares.idle == pytest.approx(0.25)
    assert figures.activity == "busy"
    assert figures.service_ms == 250


def test_the_rate_of_what_happens_seldom_is_steady():
    """Four events a second read as four, wherever the seconds are cut."""
    rates = []
    window = FigureWindow()
    for at in range(200):
        window.feed(_snapshot(at / 15))
        if at > 90:
            rates.append(window.nodes()["speech"].rate)

    assert min(rates) > 3.7
    assert max(rates) < 4.3


def test_a_fast_rate_is_that_of_the_last_second():
    """Where many events are counted the long past does not count."""
    slow = [_snapshot(at / 10) for at in range(50)]
    burst = dataclasses.replace(
        slow[-1],
        at=5.9,
        nodes={"speech": dataclasses.replace(slow[-1].nodes["speech"], processed=1019)},
    )

    assert _fed(*slow, burst).nodes()["speech"].rate == pytest.approx(1000, rel=0.02)


def test_one_snapshot_shows_what_it_says_without_a_rate():
    """At the first snapshot there is a depth and an activity, and no rate yet."""
    figures = _fed(_snapshot(3.0)).nodes()["speech"]

    assert (figures.depth, figures.capacity, figures.rate) == (8, 8, 0.0)


def test_an_edge_is_held_back_when_it_is_full_most_of_the_time():
    """One free instant does not make the label flicker, one full instant does not make it."""
    targets = {"a.out>speech.in": "speech"}
    mostly = _fed(*(_snapshot(at / 10, is_full=at != 4) for at in range(10)))
    hardly = _fed(*(_snapshot(at / 10, is_full=at == 4) for at in range(10)))

    held = mostly.edges(targets)["a.out>speech.in"]
    assert (held.is_held_back, held.label) == (True, "8/8 full")
    free = hardly.edges(targets)["a.out>speech.in"]
    assert (free.is_held_back, free.label) == (False, "")


def test_a_queue_that_is_not_full_is_not_called_full():
    """The label of a held-back edge shows the depth as it is."""
    window = _fed(*(_snapshot(at / 10, is_full=True, depth=7) for at in range(10)))

    assert window.edges({"a.out>speech.in": "speech"})["a.out>speech.in"].label == "7/8"


def test_another_run_starts_the_window_anew():
    """Counters that begin again never make a negative rate."""
    window = _fed(_snapshot(50.0), _snapshot(50.1, started_at=50.0))

    assert window.nodes()["speech"].rate == 0.0


@pytest.mark.parametrize(
    ("rate", "text"),
    [(0, "0/s"), (4, "4.0/s"), (9.94, "9.9/s"), (21.7, "22/s"), (999.4, "999/s"), (2500, "2.5k/s")],
)
def test_a_rate_fits_into_a_few_characters(rate, text):
    """Rates are short at any size."""
    assert rate_text(rate) == text


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (0.004, "<0.01 ms"),
        (0.04, "0.04 ms"),
        (2.5, "2.5 ms"),
        (250, "250 ms"),
        (999.6, "1.00 s"),
        (1980, "1.98 s"),
    ],
)
def test_a_duration_fits_into_a_few_characters(milliseconds, text):
    """Durations are short at any size."""
    assert ms_text(milliseconds) == text


def test_figures_that_read_the_same_are_drawn_once():
    """A difference that no text shows is no reason to draw."""
    one = _fed(_snapshot(1.0), _snapshot(2.0)).nodes()["speech"]
    other = _fed(_snapshot(1.0), _snapshot(2.0001)).nodes()["speech"]

    assert one != other
    assert one.as_drawn() == other.as_drawn()


def test_a_breakpoint_shows_at_its_edge_and_at_the_node_it_holds():
    """At once, not most of the last second, and the card is drawn anew for it."""
    held = _snapshot(1.0)
    node = dataclasses.replace(held.nodes["speech"], is_paused=True)
    edge = dataclasses.replace(held.edges["a.out>speech.in"], has_breakpoint=True)
    window = _fed(_snapshot(0.9))
    before = window.nodes()["speech"]
    window.feed(dataclasses.replace(held, nodes={"speech": node}, edges={edge.id: edge}))

    after = window.nodes()["speech"]

    assert after.is_paused
    assert after.as_drawn() != before.as_drawn()
    assert window.edges({edge.id: "speech"})[edge.id].has_breakpoint
