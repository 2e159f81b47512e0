"""Cancellation at every await: whatever a run is about, a cancel there leaves nothing behind.

The virtual loop counts its turns, of which each is between two awaits of somebody; the same run
is made again and again, cancelled one turn later each time.
"""

from __future__ import annotations

import asyncio
import gc
import random
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

from aiflow.clock import VirtualLoop
from aiflow.engine.cells import Call, Lane, Turn
from aiflow.engine.session import Session
from tests.runtime.engine import random_graphs
from tests.runtime.engine.random_graphs import GraphSpec, Run, check_books, graphs

Ask = Callable[[Session], object]


class CountingLoop(VirtualLoop):
    """A virtual loop that does something at the beginning of its n-th turn."""

    def __init__(self, at: int, ask: Callable[[], object]) -> None:
        super().__init__()
        self.turns = 0
        self._at = at
        self._ask = ask

    def _run_once(self) -> None:
        self.turns += 1
        if self.turns == self._at:
            self._ask()
        super()._run_once()  # type: ignore[misc]


def injected(spec: GraphSpec, at: int, ask: Ask) -> tuple[Run, int]:
    """Run a graph and ask something of its session at a turn of the loop.

    Returns:
        The run, and how many turns it took.
    """
    noted = Run(spec)
    loops: list[CountingLoop] = []

    def make() -> CountingLoop:
        loops.append(CountingLoop(at, lambda: ask(noted.session)))
        return loops[0]

    with asyncio.Runner(loop_factory=make) as runner:
        runner.run(random_graphs._run(noted))
        turns = loops[0].turns
    return noted, turns


def cancel_first(session: Session) -> object:
    """Cancel the first conversation, whatever has become of it."""
    return session.cancel("c1")


def cancel_turn(session: Session) -> object:
    """Cancel the first conversation's first turn."""
    return session.cancel("c1", 0)


def nothing(session: Session) -> object:
    """Ask nothing."""
    return None


#: What was held when a test began: an error that is a test's parameter keeps its frames.
_HELD_BEFORE: set[int] = set()


@pytest.fixture(autouse=True)
def _look_before() -> None:
    """Take note of what others hold."""
    _HELD_BEFORE.clear()
    _HELD_BEFORE.update(map(id, held()))


def held() -> list[Any]:
    """Return the turns, lanes and calls that anybody holds since the test began."""
    gc.collect()
    kept = [each for each in gc.get_objects() if type(each) in (Turn, Lane, Call)]
    return [each for each in kept if id(each) not in _HELD_BEFORE]


def check(noted: Run, ask: Ask, expected: Mapping[str, str]) -> None:
    """Hold what is true of every cancelled run."""
    check_books(noted)
    outcomes = noted.snapshot.conversations
    assert "active" not in outcomes.values()
    hows = [how for node in noted.spec.nodes.values() for _, how in node.before]
    is_alone = noted.spec.is_droppable and "error" not in hows
    if ask is not Session.stop and (is_alone or not any(hows)):
        # Of a conversation that was not cancelled nothing has changed. Else what one leaves in a
        # queue decides whether another finds room there, or fails.
        others = {id_: how for id_, how in outcomes.items() if id_ != "c1"}
        assert others == {id_: how for id_, how in expected.items() if id_ != "c1"}


@pytest.mark.parametrize("ask", [cancel_first, cancel_turn, Session.stop])
@seed(8)
@given(graphs(blocks_only=False, with_turns=True, with_barge_ins=True))
@settings(
    max_examples=17,  # 51 with the three things that are asked
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    deadline=None,
)
def test_a_cancel_at_every_await_leaves_nothing(ask: Ask, spec: GraphSpec) -> None:
    """On 51 small graphs, at each turn of the loop from the second to the eightieth or last."""
    untouched, turns = injected(spec, 0, nothing)
    expected = dict(untouched.snapshot.conversations)

    for at in range(2, min(turns, 80) + 1):
        check(injected(spec, at, ask)[0], ask, expected)

    del untouched
    assert held() == []


@pytest.mark.slow
@pytest.mark.parametrize("ask", [cancel_first, cancel_turn, Session.stop])
@seed(9)
@given(graphs(blocks_only=False, with_failures=True, with_turns=True, with_barge_ins=True))
@settings(max_examples=200, phases=[Phase.generate], deadline=None)
def test_a_cancel_at_some_await_leaves_nothing(ask: Ask, spec: GraphSpec) -> None:
    """Sampled on more graphs, in which operators fail too."""
    _, turns = injected(spec, 0, nothing)

    for at in random.Random(turns).sample(range(2, turns + 2), k=min(3, turns)):
        noted, _ = injected(spec, at, ask)
        check_books(noted)
        assert "active" not in noted.snapshot.conversations.values()


@given(graphs(blocks_only=False, with_turns=True, with_barge_ins=True))
@settings(max_examples=20, deadline=None)
def test_an_ended_session_holds_no_turn(spec: GraphSpec) -> None:
    """Who keeps the session for its numbers keeps nothing of its conversations."""
    noted, _ = injected(spec, 0, nothing)

    assert held() == []
    assert noted.session.snapshot().in_flight == 0


@pytest.mark.parametrize("ask", [cancel_first, cancel_turn, Session.stop])
def test_what_has_ended_stays_as_it_ended(ask: Ask) -> None:
    """A cancel after the last turn of the loop finds nothing to change."""
    spec = GraphSpec({"s0": (3, 1, True)}, {}, 1, 1, is_droppable=True)
    spec.nodes["n0"] = random_graphs.NodeSpec("wait", (("s0", None),), 2, 1, 0, "block", 1)
    noted, _ = injected(spec, 0, nothing)
    before = noted.snapshot

    assert not ask(noted.session)
    assert noted.session.snapshot() == before
    assert before.conversations == {"c1": "completed"}
