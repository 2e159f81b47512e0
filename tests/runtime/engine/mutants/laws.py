"""The tests that must notice a fault: laws on random graphs first, then what they are seen by.

Here each random law looks at a few graphs, the same in each run, and does not look for the
smallest that fails.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator
from functools import partial
from importlib import import_module
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings

from aiflow.clock import VirtualLoop

#: Graphs that each law looks at.
GRAPHS = 40
#: Turns of the loop, and seconds on its clock, after which a run is taken to go on for ever.
MOST_TURNS, MOST_SECONDS = 50_000, 100_000.0

_MODULES = (
    "random_graphs", "random_flows", "random_effects", "random_ways", "cancel_modes",
    "conformance", "feedback", "lists", "order", "pulling", "queues", "retries", "sessions",
    "speculation", "stepping", "time_limits", "turns", "watermarks",
)  # fmt: skip

Law = Callable[[], object]


def laws(names: Collection[str]) -> dict[str, Law]:
    """Return what every fault is tried on, by the test's name.

    Raises:
        LookupError: there is no such test, or it needs a fixture.
    """
    found = dict(_laws(names))
    if missing := set(names) - set(found):
        raise LookupError(f"there is no law {', '.join(sorted(missing))}")
    return found


def _laws(names: Collection[str]) -> Iterator[tuple[str, Law]]:
    for name in _MODULES:
        module = import_module(f"tests.runtime.engine.test_{name}")
        for test, function in vars(module).items():
            if test not in names:
                continue
            if hasattr(function, "hypothesis"):
                function = _few(function)  # noqa: PLW2901 - the same test, made short
            marks = [each for each in getattr(function, "pytestmark", ()) if each.args]
            cases = [case for case in _cases(marks) if set(case) == _arguments(function)]
            if cases:
                yield test, partial(_try_each, function, cases)


def _arguments(function: Callable[..., object]) -> set[str]:
    return set(inspect.signature(function).parameters)


def _cases(marks: list[pytest.Mark]) -> list[dict[str, Any]]:
    """Return the arguments of each case of a test; one case without any where it has none."""
    cases: list[dict[str, Any]] = [{}]
    for mark in marks:
        names, values = mark.args[:2]
        if isinstance(names, str):
            names = names.split(",")
        rows = [(value,) if len(names) == 1 else value for value in values]
        cases = [
            case | dict(zip((name.strip() for name in names), row, strict=True))
            for case in cases
            for row in rows
        ]
    return cases


def _try_each(function: Callable[..., object], cases: list[dict[str, Any]]) -> None:
    for case in cases:
        function(**case)


def _few(law: Any) -> Law:
    """Return a law that looks at few graphs, and stops at the first that breaks it."""
    law._hypothesis_internal_use_settings = settings(
        max_examples=GRAPHS,
        derandomize=True,
        database=None,
        deadline=None,
        phases=(Phase.generate,),
        report_multiple_bugs=False,
        suppress_health_check=tuple(HealthCheck),
    )
    made: Law = law
    return made


class EndlessError(AssertionError):
    """A run that did not come to its end."""


def bound_time() -> None:
    """Have every virtual loop fail that turns for ever, in this process only."""
    advance, turn = VirtualLoop._advance, VirtualLoop._run_once  # type: ignore[attr-defined]

    def advances(loop: Any, timeout_s: float) -> None:
        if loop.time() > MOST_SECONDS:
            raise EndlessError("time passes for ever")
        advance(loop, timeout_s)

    def turns(loop: Any) -> None:
        loop.turned = getattr(loop, "turned", 0) + 1
        if loop.turned > MOST_TURNS:
            raise EndlessError("the loop turns for ever")
        turn(loop)

    VirtualLoop._advance = advances  # type: ignore[method-assign, assignment]
    VirtualLoop._run_once = turns  # type: ignore[attr-defined]
