"""`aiflow bench engine`: the engine against an expert's chain of queues, in one run.

Every cell runs both sides in turn, several times; times are the process's own, so that what
else the machine does counts little, and the ratio is the median of those of neighbours. A
cell is one factor away from: plain functions, q 8, k 1, one conversation. What the engine
does beside is all on: laws, accounting, metrics, settlement.
"""

from __future__ import annotations

import asyncio
import gc
import itertools
import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from aiflow.bench.chain import WORKERS, run_chain
from aiflow.bench.plans import Stage, chain_plan
from aiflow.engine.loops import loop_factory, loop_names
from aiflow.engine.session import Session
from aiflow.errors import PluginError
from aiflow.events import Token

#: Events of one stint of one side; the full matrix takes ten times as many.
EVENTS = 5_000
#: Stints of a run. They are short, so that what bends one side's bends its neighbour's too.
STINTS = 4

LoopFactory = Callable[[], asyncio.AbstractEventLoop]


@dataclass(frozen=True, slots=True)
class Case:
    """What the operators of a cell do.

    Attributes:
        name: as section and report call it.
        stages: kind of each operator between source and sink.
        fan: events that come out for each that goes in.
        conversations: that the source opens.
    """

    name: str
    stages: tuple[str, ...]
    fan: int = 1
    conversations: int = 1


INLINE = Case("sync, inline, one output per input", ("plain",) * 3)
CASES = (
    INLINE,
    Case("sync, inline, several outputs", ("lists",) * 3, fan=8),
    Case("sync, through the queue", ("queued",) * 3),
    Case("async that does not suspend", ("awaits",) * 3),
    Case("suspending", ("suspends",) * 3),
    Case("ordered, k = 4", ("plain", "ordered", "plain")),
)
CROWD = Case(f"{INLINE.name}, 1,000 conversations", INLINE.stages, conversations=1000)
#: Two hops and sixteen, of the first case; only the full matrix has them.
LENGTHS = tuple(Case(INLINE.name, ("plain",) * (hops - 1)) for hops in (2, 16))
CAPACITIES = (1, 8, 64)


#: The least ratios that the design asks for, at each of `CAPACITIES`, on the standard loop.
WANTED = {
    "sync, inline, one output per input": (7.0, 3.0, 2.5),
    "sync, inline, several outputs": (4.5, 1.8, 1.4),
    "sync, through the queue": (3.0, 1.2, 1.0),
    "async that does not suspend": (1.5, 1.1, 1.0),
    "suspending": (1.0, 0.95, 0.9),
    "ordered, k = 4": (1.0, 0.95, 0.9),
}


@dataclass(frozen=True, slots=True)
class Row:
    """One cell: times are microseconds per event that came out; `ratio` is baseline by engine.

    Attributes:
        wanted: the least ratio that the design asks for; None where it asks for none.
    """

    case: str
    loop: str
    q: int
    hops: int
    k: int
    conversations: int
    us_per_event: float
    baseline_us: float
    ratio: float
    order_violations: int
    lost: int
    wanted: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the row as plain values."""
        return asdict(self)


def run(
    runs: int = 5, loops: Iterable[str] | None = None, *, full: bool = False
) -> list[dict[str, Any]]:
    """Measure and return the rows.

    Args:
        runs: of each side of each cell, 1 or more; medians are taken.
        loops: names of event loops; None is every registered one that can be loaded.
        full: every case on every loop, rows of two and of sixteen hops too, and runs ten times
            as long; else only the first case is measured on loops other than asyncio.
    """
    return [row.to_dict() for row in rows(runs, loops, full=full)]


def rows(runs: int, loops: Iterable[str] | None = None, *, full: bool = False) -> Iterator[Row]:
    """Yield each row as soon as it is measured; see `run`."""
    events = EVENTS * (10 if full else 1)
    for name, factory in loadable(loop_names() if loops is None else loops, loops is None):
        for case in (*CASES, *LENGTHS) if full else CASES if name == "asyncio" else (INLINE,):
            for capacity in CAPACITIES:
                yield _cell(case, name, factory, capacity, runs, events)
        if full or name == "asyncio":
            # A hundred events each: opening a conversation is measured with them.
            yield _cell(CROWD, name, factory, 8, runs, 20 * EVENTS)


def loadable(names: Iterable[str], may_skip: bool) -> Iterator[tuple[str, LoopFactory]]:
    """Yield names and factories of event loops, asyncio first.

    Args:
        names: of the loops.
        may_skip: leave out those that cannot be loaded, such as one of a package that is not
            installed; else they are an error.
    """
    for name in sorted(names, key=lambda name: (name != "asyncio", name)):
        try:
            factory = loop_factory(name)
            factory().close()
        except PluginError:
            if not may_skip:
                raise
            continue
        yield name, factory


def _cell(
    case: Case, loop: str, factory: LoopFactory, capacity: int, runs: int, events: int
) -> Row:
    mine: list[float] = []
    theirs: list[float] = []
    violations = lost = 0
    count = max(1, events // case.fan)
    for _ in range(runs * (1 if case.conversations > 1 else STINTS)):
        spent, bad, missing = _engine(case, factory, capacity, count)
        mine.append(spent)
        violations += bad
        lost += missing
        theirs.append(_chain(case, factory, capacity, count))
    out = count * case.fan
    us, baseline = (statistics.median(times) / out * 1e6 for times in (mine, theirs))
    ratio = statistics.median(their / my for their, my in zip(theirs, mine, strict=True))
    return Row(
        case.name,
        loop,
        capacity,
        len(case.stages) + 1,
        WORKERS if "ordered" in case.stages else 1,
        case.conversations,
        round(us, 3),
        round(baseline, 3),
        round(ratio, 2),
        violations,
        lost,
        _wanted(case, loop, capacity),
    )


def _wanted(case: Case, loop: str, capacity: int) -> float | None:
    is_asked_for = loop == "asyncio" and case in CASES
    return WANTED[case.name][CAPACITIES.index(capacity)] if is_asked_for else None


def _engine(case: Case, factory: LoopFactory, capacity: int, count: int) -> tuple[float, int, int]:
    """Return the seconds of one run, order violations, and events lost."""
    each = max(1, count // case.conversations)
    payloads = [Token(str(number)) for number in range(each)]
    taken: list[Any] = []
    stages = [Stage(kind, capacity) for kind in case.stages]
    plan = chain_plan(payloads, stages, Stage("sink", capacity), taken.append, case.conversations)
    with asyncio.Runner(loop_factory=factory) as runner:
        began = clean_clock()
        runner.run(Session(plan).run())
        spent = time.process_time() - began
    return spent, *_faults(taken, payloads, case)


def _faults(taken: list[Any], payloads: list[Token], case: Case) -> tuple[int, int]:
    expected = len(payloads) * case.fan * case.conversations
    if case.conversations > 1:
        return 0, expected - len(taken)
    numbers = [int(token.text) for token in taken]
    violations = sum(before > after for before, after in itertools.pairwise(numbers))
    return violations, expected - len(taken)


def _chain(case: Case, factory: LoopFactory, capacity: int, count: int) -> float:
    payloads = [Token(str(number)) for number in range(count)]
    taken: list[Any] = []
    stages = [Stage(kind, capacity).by_hand() for kind in case.stages]
    with asyncio.Runner(loop_factory=factory) as runner:
        began = clean_clock()
        runner.run(run_chain(payloads, stages, capacity, taken.append))
        return time.process_time() - began


def clean_clock() -> float:
    """Return the process's time, with no rubbish of the side before left to collect."""
    gc.collect()
    return time.process_time()
