"""A long run: memory stays flat, nothing is lost, the counts add up.

`AIFLOW_SOAK=10_000_000 .venv/bin/pytest -m soak -rP tests/bench/test_soak.py` runs both with ten
million events and prints what was seen.
"""

from __future__ import annotations

import asyncio
import gc
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from aiflow.engine.session import Session
from aiflow.events import Token
from aiflow.operators.scope import Scope
from aiflow.testing.plans import PlanBuilder

#: As many as are asked for: ten million take some minutes.
EVENTS = int(os.environ.get("AIFLOW_SOAK", "1_000_000"))
CONVERSATIONS = 1_000
LOOKS = 20
#: What a look sees more or less, depending on what is in flight at its moment: seen were 700.
NOISE_BLOCKS = 1_000
#: What a conversation may leave behind for good: its outcome, which the snapshot tells.
KEPT_BLOCKS = 3
#: What the process may grow by beside its blocks: arenas that are not given back at once.
NOISE_MIB = 16.0

_STATM = Path("/proc/self/statm")


class Memory:
    """What a run holds, looked at twenty times on its way.

    The first looks are left out: until then there comes to be what every run needs.
    """

    def __init__(self) -> None:
        self._blocks: list[int] = []
        self._mib: list[float] = []
        self._began_at = time.monotonic()

    def look(self) -> None:
        """Count the blocks in use, and what the process has of the machine's memory."""
        gc.collect()
        self._blocks.append(sys.getallocatedblocks())
        if _STATM.exists():
            pages = int(_STATM.read_text(encoding="ascii").split()[1])
            self._mib.append(pages * os.sysconf("SC_PAGE_SIZE") / 2**20)

    @property
    def grown_blocks(self) -> float:
        """Blocks more at the end than at the beginning, by the line that fits best."""
        return _grown(self._blocks[2:])

    @property
    def grown_mib(self) -> float:
        """The same of the process's memory; 0 where the system does not tell it."""
        return _grown(self._mib[2:]) if self._mib else 0.0

    def tell(self, events: int) -> None:
        """Print what was seen, for who runs it by hand."""
        print(
            f"{events:,} events in {time.monotonic() - self._began_at:.0f} s: blocks"
            f" {self.grown_blocks:+.0f} of {self._blocks[-1]:,}, process"
            f" {self.grown_mib:+.1f} MiB of {self._mib[-1] if self._mib else 0:.0f} MiB"
        )


def _grown(sizes: list[int] | list[float]) -> float:
    middle, mean = (len(sizes) - 1) / 2, sum(sizes) / len(sizes)
    up = sum((place - middle) * (size - mean) for place, size in enumerate(sizes))
    slope = up / sum((place - middle) ** 2 for place in range(len(sizes)))
    return slope * (len(sizes) - 1)


@pytest.mark.soak
def test_a_million_events_through_five_nodes_leave_memory_flat() -> None:
    """Inline, filtered, several outputs, through a worker task, and out; both branches merge."""
    seen = 0
    memory = Memory()

    def stream(scope: Scope) -> Iterator[Token]:
        for number in range(EVENTS):
            if number % (EVENTS // LOOKS) == 0:
                memory.look()
            yield Token(str(number))

    async def through(token: Token) -> Token:
        return token

    def take(token: Token) -> None:
        nonlocal seen
        seen += 1

    builder = PlanBuilder(1).source("s", stream)
    builder.node("plain", lambda token: token)
    builder.node("even", lambda token: token if int(token.text) % 2 == 0 else None)
    builder.node("worker", through)
    builder.node("twice", lambda token: [token, token], max_outputs=2)
    builder.sink("k", take).chain("s", "plain", "even", "twice", "k")
    builder.chain("plain", "worker", "k")

    snapshot = asyncio.run(Session(builder.build()).run())

    memory.tell(EVENTS)
    assert snapshot.phase == "completed"
    assert seen == 2 * EVENTS
    assert snapshot.nodes["k"].processed == snapshot.nodes["k"].received == 2 * EVENTS
    for node in snapshot.nodes.values():
        settled = node.processed + sum(node.dropped.values()) + node.failed + node.cancelled
        assert node.received == settled
    assert snapshot.in_flight == 0
    assert snapshot.max_in_flight <= (snapshot.bound or 0)
    assert memory.grown_blocks < NOISE_BLOCKS
    assert memory.grown_mib < NOISE_MIB


@pytest.mark.soak
def test_a_thousand_conversations_leave_memory_flat() -> None:
    """Each has its lanes, state and end; eight are open at once."""
    seen = 0
    memory = Memory()
    each = EVENTS // CONVERSATIONS

    def stream(scope: Scope) -> Iterator[Token]:
        if scope.number % (CONVERSATIONS // LOOKS) == 0:
            memory.look()
        for number in range(each):
            yield Token(str(number))

    async def through(token: Token) -> Token:
        return token

    def take(token: Token) -> None:
        nonlocal seen
        seen += 1

    builder = PlanBuilder(8).source("s", stream, conversations=CONVERSATIONS)
    builder.node("worker", through, workers=4, reorder_capacity=4, state=list)
    builder.sink("k", take).chain("s", "worker", "k")

    snapshot = asyncio.run(Session(builder.build()).run())

    memory.tell(each * CONVERSATIONS)
    assert snapshot.phase == "completed"
    assert seen == each * CONVERSATIONS
    assert snapshot.in_flight == 0
    assert snapshot.max_in_flight <= (snapshot.bound or 0)
    assert memory.grown_blocks < KEPT_BLOCKS * CONVERSATIONS
    assert memory.grown_mib < NOISE_MIB
