"""Tests of `aiflow_studio.runs.history`."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from aiflow_studio.runs.history import OLDER, RATE, RECENT_S, History
from tests.studio.fake_host import snapshot_at


@given(st.lists(st.floats(0.001, 30), max_size=80))
def test_the_newest_is_always_kept_and_the_order_holds(steps: list[float]) -> None:
    """Whatever the rhythm of the samples."""
    history = History()
    at = 0.0
    for step in steps:
        at += step
        history.add(snapshot_at(at))
        assert history.last is not None
        assert history.last.at == at

    times = [snapshot.at for snapshot in history]
    assert times == sorted(times)


def test_an_hour_of_samples_stays_bounded() -> None:
    """Recent ones at full rate, older ones thinned, the oldest let go."""
    history = History()
    for step in range(3600 * 4):
        history.add(snapshot_at(step / 4, nodes=(), edges=()))

    assert len(history) <= OLDER + RECENT_S * RATE + 1
    assert len(history.since(3600 - 30)) >= 30 * 4


def test_samples_that_come_too_often_replace_the_last() -> None:
    """A thousand samples in a second are no more than the rate."""
    history = History()
    for step in range(1000):
        history.add(snapshot_at(step / 1000, nodes=(), edges=()))

    assert len(history) <= RATE + 2
    assert history.last is not None
    assert history.last.at == 0.999


def test_another_run_forgets_the_one_before() -> None:
    """Two runs never share a plot."""
    history = History()
    history.add(snapshot_at(5.0, started_at=0.0))

    history.add(snapshot_at(0.1, started_at=100.0))

    assert len(history) == 1


def test_since_reaches_one_sample_back() -> None:
    """So that a line begins at the edge of the plot and not inside it."""
    history = History()
    for step in range(10):
        history.add(snapshot_at(float(step)))

    assert [snapshot.at for snapshot in history.since(6.5)] == [6.0, 7.0, 8.0, 9.0]
