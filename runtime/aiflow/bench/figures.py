"""Figures of the engine beside its speed: how cost grows, how long it holds a loop, how soon.

Each is a median over runs. Costs and gaps are the process's own time, as in `engine`, and a
ratio is of neighbours in one run; only the delay of first tokens is time on the wall, because
a loop that waits for a timer would not show otherwise.
"""

from __future__ import annotations

import asyncio
import itertools
import statistics
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from aiflow.bench.engine import INLINE, LoopFactory, clean_clock, loadable
from aiflow.bench.plans import Payloads, Sink, Stage, Step, chain_plan, plan_of
from aiflow.compiler.plan import Plan
from aiflow.engine.loops import loop_names
from aiflow.engine.session import Session
from aiflow.events import Token
from aiflow.operators.scope import Scope
from aiflow.policies import Policy

CAPACITY = 8
#: What a longer run is held against, and how often: so many short runs are one measure.
FEW, FEW_TIMES = 1_000, 10
MANY, MOST = 100_000, 1_000_000
CONVERSATIONS = 1_000
SOURCES = 16
#: Events of each of the sources that never wait.
GAP_EVENTS = 20_000
#: What the design asks for: gaps, and the speed of another loop by that of asyncio's.
GAP_MS, LONGEST_GAP_MS = 16, 50
STUDIO, SLOWEST_LOOP = "qasync", 0.9
#: First tokens of a run, each of a conversation of its own, and nodes that they pass.
FIRST_TOKENS = 300
IDLE_NODES = 5
#: Long enough that every node is idle again.
PAUSE_S = 0.001

_TOKEN = Token("word")


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure.

    Attributes:
        wanted: what the design asks for, in words; "" where it asks for nothing.
        is_met: whether the value is so; None where nothing is asked for.
    """

    name: str
    loop: str
    value: float
    unit: str
    wanted: str = ""
    is_met: bool | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the figure as plain values."""
        return asdict(self)


def figures(runs: int, *, full: bool = False) -> Iterator[Figure]:
    """Yield each figure as soon as it is measured.

    Args:
        runs: of each; medians are taken.
        full: also a run of a million events.
    """
    loops = dict(loadable(loop_names(), True))
    yield from _costs(runs, loops["asyncio"], full=full)
    for name, factory in loops.items():
        if name != "asyncio":
            yield _speed_of_loop(name, runs, factory, loops["asyncio"])
    for name, factory in loops.items():
        yield from _gaps(name, runs, factory)
        yield from _first_tokens(name, runs, factory)


def _costs(runs: int, factory: LoopFactory, *, full: bool) -> Iterator[Figure]:
    wanted, low, high = "0.8 to 1.2", 0.8, 1.2
    for count in (MANY, MOST) if full else (MANY,):
        ratio = statistics.median(
            _cost(count, 1, factory)
            / statistics.median(_cost(FEW, 1, factory) for _ in range(FEW_TIMES))
            for _ in range(runs)
        )
        name = f"cost of an event among {count:,}, by one among {FEW:,}"
        yield Figure(name, "asyncio", round(ratio, 3), "×", wanted, low <= ratio <= high)
    ratio = statistics.median(
        _cost(MANY, CONVERSATIONS, factory) / _cost(MANY, 1, factory) for _ in range(runs)
    )
    name = f"cost of an event in {CONVERSATIONS:,} conversations, by one in one"
    yield Figure(name, "asyncio", round(ratio, 3), "×", wanted, low <= ratio <= high)
    opening = statistics.median(
        (_spent(0, CONVERSATIONS, factory) - _spent(0, 1, factory)) / CONVERSATIONS * 1e6
        for _ in range(runs)
    )
    name = "opening and ending a conversation at five nodes"
    yield Figure(name, "asyncio", round(opening, 1), "µs")


def _cost(events: int, conversations: int, factory: LoopFactory) -> float:
    """Return seconds per event: of a run, less those of one whose conversations are empty."""
    busy = _spent(events // conversations, conversations, factory)
    return max(busy - _spent(0, conversations, factory), 1e-9) / events


def _spent(each: int, conversations: int, factory: LoopFactory) -> float:
    """Return the seconds of a run with so many events in each of so many conversations."""
    stages = [Stage(kind, CAPACITY) for kind in INLINE.stages]
    sink = Stage("sink", CAPACITY)
    plan = chain_plan([_TOKEN] * each, stages, sink, lambda _: None, conversations)
    with asyncio.Runner(loop_factory=factory) as runner:
        began = clean_clock()
        runner.run(Session(plan).run())
        return time.process_time() - began


def _speed_of_loop(name: str, runs: int, factory: LoopFactory, standard: LoopFactory) -> Figure:
    """Return how fast the engine is on a loop, against the standard one."""
    pairs = [
        (_cost(MANY // 10, 1, standard), _cost(MANY // 10, 1, factory)) for _ in range(5 * runs)
    ]
    ratio = statistics.median(theirs / its for theirs, its in pairs)
    what = "speed, by that on asyncio"
    if name != STUDIO:
        return Figure(what, name, round(ratio, 3), "×")
    return Figure(what, name, round(ratio, 3), "×", f"≥ {SLOWEST_LOOP}", ratio >= SLOWEST_LOOP)


def _gaps(name: str, runs: int, factory: LoopFactory) -> Iterator[Figure]:
    """Yield how long the loop is kept from others by sources that never wait."""
    found = [_gaps_of_run(factory) for _ in range(runs)]
    what = f"gap of the loop under {SOURCES} sources that never wait"
    p99 = statistics.median(_p99(gaps) for gaps in found)
    longest = statistics.median(max(gaps) for gaps in found)
    yield Figure(f"{what}, p99", name, round(p99, 3), "ms", "≤ 16", p99 <= GAP_MS)
    yield Figure(
        f"{what}, longest", name, round(longest, 3), "ms", "≤ 50", longest <= LONGEST_GAP_MS
    )


def _gaps_of_run(factory: LoopFactory) -> list[float]:
    """Return the time between turns of the loop, as a callback of it sees them, ms."""

    async def watched() -> list[float]:
        loop = asyncio.get_running_loop()
        seen = [time.thread_time()]
        is_over = False

        def look() -> None:
            seen.append(time.thread_time())
            if not is_over:
                loop.call_soon(look)

        loop.call_soon(look)
        try:
            await Session(_sources()).run()
        finally:
            is_over = True
        return [(after - before) * 1e3 for before, after in itertools.pairwise(seen)]

    with asyncio.Runner(loop_factory=factory) as runner:
        clean_clock()
        return runner.run(watched())


def _sources() -> Plan:
    payloads = [_TOKEN] * GAP_EVENTS
    rows: list[list[Step]] = []
    for number in range(SOURCES):
        stages = (Stage(kind, CAPACITY) for kind in INLINE.stages)
        row: list[Step] = [(f"source-{number}", Payloads(payloads, 1), Policy())]
        row += [
            (f"stage-{number}-{hop}", stage.operator(), stage.policy())
            for hop, stage in enumerate(stages)
        ]
        row.append((f"sink-{number}", Sink(lambda _: None), Policy(queue_capacity=CAPACITY)))
        rows.append(row)
    return plan_of(rows)


class _Firsts(Payloads):
    """Conversations of one token each, which carries the time at which it came."""

    def __init__(self, count: int) -> None:
        super().__init__((), count)

    async def stream(self, scope: Scope) -> AsyncIterator[Any]:  # type: ignore[override]
        """Wait until all is idle, then send the token."""
        await scope.sleep(PAUSE_S)
        yield time.perf_counter()


def _first_tokens(name: str, runs: int, factory: LoopFactory) -> Iterator[Figure]:
    """Yield the time from a model's first token to the same token processed at the sink."""
    found = [_delays(factory) for _ in range(runs)]
    wanted_ms = {"asyncio": 0.3, STUDIO: 0.5}.get(name)
    what = f"TTFPT − model TTFT through {IDLE_NODES} idle nodes"
    middle = statistics.median(statistics.median(delays) for delays in found)
    p99 = statistics.median(_p99(delays) for delays in found)
    yield Figure(f"{what}, median", name, round(middle, 4), "ms")
    wanted = "" if wanted_ms is None else f"< {wanted_ms}"
    is_met = None if wanted_ms is None else p99 < wanted_ms
    yield Figure(f"{what}, p99", name, round(p99, 4), "ms", wanted, is_met)


def _delays(factory: LoopFactory) -> list[float]:
    delays: list[float] = []

    def taken(came_at: float) -> None:
        delays.append((time.perf_counter() - came_at) * 1e3)

    row: list[Step] = [("source", _Firsts(FIRST_TOKENS), Policy())]
    # The sink is the last of the nodes.
    stage = Stage("plain", CAPACITY)
    row += [
        (f"stage-{number}", stage.operator(), stage.policy()) for number in range(IDLE_NODES - 1)
    ]
    row.append(("sink", Sink(taken), Policy(queue_capacity=CAPACITY)))
    with asyncio.Runner(loop_factory=factory) as runner:
        clean_clock()
        runner.run(Session(plan_of([row])).run())
    return delays


def _p99(values: list[float]) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * 0.99))]
