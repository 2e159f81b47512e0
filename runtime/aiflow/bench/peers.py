"""The same work in other frameworks: what an event costs there, and what piles up.

The work: tokens from a source that never waits, through two functions, a slow node and a sink.
For the cost the slow node does not wait. MaxQ is the largest count of tokens put in front of the
slow node and not yet taken by it, counted in the functions themselves, so no framework's own
word is needed. Frameworks are an extra (`aiflow-runtime[peers]`); one that is missing is a row
that says so.
"""

from __future__ import annotations

import asyncio
import itertools
import statistics
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import asdict, dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from aiflow.bench.chain import run_chain
from aiflow.bench.engine import clean_clock
from aiflow.bench.peer_graphs import outside, pipelined, two_nodes
from aiflow.bench.plans import Payloads, Sink, Stage, Step, plan_of
from aiflow.bench.work import Work
from aiflow.engine.session import Session
from aiflow.operators.base import NoParams, Operator, Port
from aiflow.operators.scope import Scope
from aiflow.policies import Policy
from aiflow.types import ANY

CAPACITY = 8
#: Tokens whose cost is measured, and tokens that meet a slow node.
EVENTS, SLOW_EVENTS = 2_000, 200
SLOW_S = 0.001


@dataclass(frozen=True, slots=True)
class Peer:
    """One framework in one form.

    Attributes:
        package: that it needs; "" where there is none.
        carry: does the work.
        q: how many tokens its queues hold; None where it has none or they have no bound.
    """

    name: str
    package: str
    carry: Callable[[Work], Awaitable[None]]
    q: int | None = None


@dataclass(frozen=True, slots=True)
class PeerRow:
    """What came of one form; figures are None where it could not do the work.

    Attributes:
        by_aiflow: its time by AiFlow's, the median over rounds.
        max_q: most tokens put and not yet taken at the slow node, of all rounds.
        reason: why there are no figures, "" where there are.
    """

    name: str
    version: str
    q: int | None
    us_per_event: float | None = None
    by_aiflow: float | None = None
    max_q: int | None = None
    order_violations: int | None = None
    lost: int | None = None
    reason: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the row as plain values."""
        return asdict(self)


def peer_rows(runs: int) -> Iterator[PeerRow]:
    """Measure all forms in turn, so many times, and yield what came of each."""
    found = [_Tries(peer, *_installed(peer)) for peer in PEERS]
    for _ in range(runs):
        for tries in found:
            tries.measure()
    for tries in found:
        yield tries.row(found[0].spent)


class _Tries:
    """What was measured of one form."""

    def __init__(self, peer: Peer, version_: str, reason: str) -> None:
        self._peer = peer
        self._version = version_
        self._reason = reason
        self._works: list[Work] = []
        self.spent: list[float] = []

    def measure(self) -> None:
        """Do the work once for its cost and once with a slow node; an error ends the tries."""
        if self._reason:
            return
        try:
            if not self._works:
                # Its modules are loaded outside of the time.
                asyncio.run(_carried(self._peer, Work(2)))
            quick = Work(EVENTS)
            began = clean_clock()
            asyncio.run(_carried(self._peer, quick))
            spent = time.process_time() - began
            slow = Work(SLOW_EVENTS, SLOW_S)
            asyncio.run(_carried(self._peer, slow))
        except Exception as error:  # noqa: BLE001 - whatever another framework raises
            self._reason = f"{type(error).__name__}: {error}"
            return
        self.spent.append(spent)
        self._works += [quick, slow]

    def row(self, by: list[float]) -> PeerRow:
        """Return the row.

        Args:
            by: AiFlow's times in the same rounds.
        """
        if self._reason:
            return PeerRow(self._peer.name, self._version, self._peer.q, reason=self._reason)
        ratio = statistics.median(its / ours for its, ours in zip(self.spent, by, strict=True))
        return PeerRow(
            self._peer.name,
            self._version,
            self._peer.q,
            round(statistics.median(self.spent) / EVENTS * 1e6, 2),
            round(ratio, 2),
            max(work.max_q for work in self._works if work.slow_s),
            sum(work.order_violations for work in self._works),
            sum(work.lost for work in self._works),
        )


async def _carried(peer: Peer, work: Work) -> None:
    await peer.carry(work)


def _installed(peer: Peer) -> tuple[str, str]:
    """Return version and, where it cannot be used, the reason."""
    if not peer.package:
        return "", ""
    try:
        import_module(peer.package)
        return version(peer.package), ""
    except (ImportError, PackageNotFoundError):
        return "", 'not installed; pip install "aiflow-runtime[peers]"'


# The forms ----------------------------------------------------------------------------


class _Puts(Operator[NoParams]):
    """Says that a payload is handed over to the slow node."""

    name = "puts"
    inputs, outputs = (Port("in", ANY),), (Port("out", ANY),)

    def __init__(self, work: Work) -> None:
        super().__init__(NoParams())
        self._work = work

    def process(self, payload: Any, scope: Scope) -> Any:  # noqa: ANN401 - a peer's own types
        return self._work.put(payload)


class _Slow(_Puts):
    name = "slow"

    async def process(self, payload: Any, scope: Scope) -> Any:  # noqa: ANN401 - a peer's own types
        return await self._work.handle(payload)


async def _aiflow(work: Work) -> None:
    first = Stage("plain", CAPACITY)
    policy = Policy(queue_capacity=CAPACITY)
    row: list[Step] = [
        ("source", Payloads(work.tokens, 1), Policy()),
        ("first", first.operator(), first.policy()),
        ("puts", _Puts(work), policy),
        ("slow", _Slow(work), policy),
        ("sink", Sink(work.taken.append), policy),
    ]
    await Session(plan_of([row])).run()


async def _by_hand(work: Work) -> None:
    stages: list[tuple[str, Callable[[Any], Any]]] = [
        ("plain", lambda token: token),
        ("plain", work.put),
        ("awaits", work.handle),
    ]
    await run_chain(work.tokens, stages, CAPACITY, work.taken.append)


async def _penguiflow(work: Work) -> None:
    penguiflow = import_module("penguiflow")

    async def first(token: Any, _: Any) -> Any:  # noqa: ANN401 - a peer's own types
        return token

    async def puts(token: Any, _: Any) -> Any:  # noqa: ANN401 - a peer's own types
        return work.put(token)

    async def slow(token: Any, _: Any) -> Any:  # noqa: ANN401 - a peer's own types
        return await work.handle(token)

    policy = penguiflow.NodePolicy(validate="none")
    nodes = [penguiflow.Node(function, policy=policy) for function in (first, puts, slow)]
    flow = penguiflow.create(
        *(before.to(after) for before, after in itertools.pairwise(nodes)),
        nodes[-1].to(),
        queue_maxsize=CAPACITY,
    )
    flow.run()

    async def feed() -> None:
        for token in work.tokens:
            await flow.emit(token)

    feeder = asyncio.ensure_future(feed())
    try:
        for _ in work.tokens:
            work.taken.append(await flow.fetch())
        await feeder
    finally:
        feeder.cancel()
        await flow.stop()


PEERS = (
    Peer("AiFlow", "", _aiflow, CAPACITY),
    Peer("asyncio.Queue by hand", "", _by_hand, CAPACITY),
    Peer("PenguiFlow", "penguiflow", _penguiflow, CAPACITY),
    Peer("LangGraph, a node after the other", "langgraph", two_nodes),
    Peer("LangGraph, pipelined by Send", "langgraph", pipelined),
    Peer("LangGraph, consumer outside", "langgraph", outside),
)
