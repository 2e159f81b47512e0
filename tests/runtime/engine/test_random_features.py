"""The random graphs are seen to reach what their laws are about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, Phase, settings

from tests.runtime.engine import (
    random_graphs,
    test_random_effects,
    test_random_flows,
    test_random_graphs,
    test_random_ways,
)
from tests.runtime.engine.random_features import FEATURES, reached

_LAWS = (test_random_graphs, test_random_flows, test_random_effects, test_random_ways)
#: Words in the names of laws of what few graphs come to.
_RARE = ("deadline", "branch", "no_try")
#: Graphs of each law that are counted; more where they come to what is rare.
GRAPHS, RARE = 12, 40
#: How many runs must have reached each thing.
LEAST = 2


def count(law: Callable[[], object], graphs: int) -> None:
    """Have a law look at so many graphs, the same in each run."""
    held: Any = law
    before = held._hypothesis_internal_use_settings
    held._hypothesis_internal_use_settings = settings(
        max_examples=graphs,
        derandomize=True,
        database=None,
        deadline=None,
        phases=(Phase.generate,),
        suppress_health_check=tuple(HealthCheck),
    )
    try:
        law()
    finally:
        held._hypothesis_internal_use_settings = before


def test_the_graphs_of_the_laws_reach_every_feature() -> None:
    """Nothing that is listed has ceased to be drawn, or to come about where it is drawn."""
    counts: Counter[str] = Counter()
    watch = random_graphs.watchers.append
    watch(lambda noted: counts.update(reached(noted)))
    try:
        for module in _LAWS:
            for law in vars(module).values():
                if hasattr(law, "hypothesis"):
                    is_rare = any(word in law.__name__ for word in _RARE)
                    count(law, RARE if is_rare else GRAPHS)
    finally:
        random_graphs.watchers.pop()

    assert {name: counts[name] for name in FEATURES if counts[name] < LEAST} == {}
