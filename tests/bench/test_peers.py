"""Peers do the same work; one that is missing or fails is a row that says so."""

from __future__ import annotations

import time
from importlib.util import find_spec

import pytest

from aiflow.bench import peers
from aiflow.bench.peers import PEERS, Peer, peer_rows
from aiflow.bench.work import Work

OURS = PEERS[0]


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the work be of a few tokens, and no node be slower than the loop's next turn."""
    monkeypatch.setattr(peers, "EVENTS", 40)
    monkeypatch.setattr(peers, "SLOW_EVENTS", 40)
    monkeypatch.setattr(peers, "SLOW_S", 1e-6)
    monkeypatch.setattr(peers, "clean_clock", time.process_time)


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.name)
def test_every_peer_carries_every_token_in_order(
    peer: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A framework that is not installed here is left out."""
    if peer.package and find_spec(peer.package) is None:
        pytest.skip(f"{peer.package} is not installed")
    monkeypatch.setattr(peers, "PEERS", (OURS, peer))

    ours, row = peer_rows(1)

    assert row.reason == ""
    assert (row.lost, row.order_violations) == (0, 0)
    assert row.us_per_event is not None
    assert row.us_per_event > 0
    assert ours.by_aiflow == 1.0
    assert ours.max_q is not None
    # The queue, what the node before has in hand, and what the worker has not begun.
    assert ours.max_q <= peers.CAPACITY + 2


def test_a_framework_that_is_missing_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its row says what to install, and the others are measured."""
    missing = Peer("Another", "aiflow_no_such_framework", OURS.carry)
    monkeypatch.setattr(peers, "PEERS", (OURS, missing))

    ours, row = peer_rows(1)

    assert ours.reason == ""
    assert row.us_per_event is None
    assert "aiflow-runtime[peers]" in row.reason


def test_a_framework_that_cannot_do_the_work_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own error is the reason; what it had carried by then counts for nothing."""

    async def fails(work: Work) -> None:
        work.taken.append(work.tokens[0])
        raise RuntimeError("too many steps")

    monkeypatch.setattr(peers, "PEERS", (OURS, Peer("Another", "", fails)))

    _, row = peer_rows(2)

    assert row.reason == "RuntimeError: too many steps"
    assert row.lost is None


def test_what_is_lost_or_disordered_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fast framework that loses tokens is seen to."""

    async def careless(work: Work) -> None:
        for token in work.tokens:
            await work.handle(work.put(token))
        work.taken += [*work.tokens[2:], work.tokens[0]]

    monkeypatch.setattr(peers, "PEERS", (OURS, Peer("Another", "", careless)))

    _, row = peer_rows(1)

    assert (row.lost, row.order_violations, row.max_q) == (2, 2, 1)
