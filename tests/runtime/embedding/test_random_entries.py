"""The laws of `aiflow.Entry` on random guests, each with a run of its own, beside a model of it."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field
from typing import get_args

from hypothesis import given, settings
from hypothesis import strategies as st

from aiflow.compiler.plan import Plan
from aiflow.embedding.entry import Entry, WhenFull
from aiflow.engine.session import Session
from aiflow.errors import RefusedError
from aiflow.testing.plans import PlanBuilder
from aiflow.testing.virtual import run_virtual

#: What became of a guest, and when: "in", "refused" or "gone", because it would wait no longer.
Fate = tuple[str, float]


@dataclass(frozen=True)
class Guest:
    """Who comes at a time, has a run of so many seconds, and waits no longer than it may."""

    at: int
    stays: int
    patience: int | None


@dataclass
class Model:
    """What an entry is to do, one thing after the other, without a loop or a future."""

    most: int
    when_full: WhenFull
    max_waiting: int | None
    fates: dict[int, Fate] = field(default_factory=dict)
    inside: int = 0
    line: deque[int] = field(default_factory=deque)

    def tell(self, guests: list[Guest]) -> dict[int, Fate]:
        """Return what becomes of each."""
        due = sorted(
            (arrives(number, guest), "comes", number) for number, guest in enumerate(guests)
        )
        while due:
            at, what, number = due.pop(0)
            if what == "comes":
                self._come(at, number)
                patience = guests[number].patience
                if number in self.line and patience is not None:
                    due.append((at + patience + HALF, "gives up", number))
            elif what == "leaves":
                self.inside -= 1
                if self.line:
                    self._let_in(at, self.line.popleft())
            elif number in self.line:
                self.line.remove(number)
                self.fates[number] = ("gone", at)
            entered = [each for each, fate in self.fates.items() if fate == ("in", at)]
            due += [(at + guests[each].stays, "leaves", each) for each in entered]
            due.sort()
        return {number: (what, round(at, 4)) for number, (what, at) in self.fates.items()}

    def _come(self, at: float, number: int) -> None:
        if self.inside < self.most and not self.line:
            self._let_in(at, number)
            return
        room = {"reject": 0, "queue": self.max_waiting, "shed": self.max_waiting}[self.when_full]
        if self.when_full == "shed" and room is None:
            room = self.most
        if room is not None and len(self.line) >= room:
            is_shed = self.when_full == "shed" and bool(self.line)
            self.fates[self.line.popleft() if is_shed else number] = ("refused", at)
            if not is_shed:
                return
        self.line.append(number)

    def _let_in(self, at: float, number: int) -> None:
        self.inside += 1
        self.fates[number] = ("in", at)


#: Guests come at different times, and none comes or leaves when another gives up.
STEP, HALF = 0.001, 0.0005


def arrives(number: int, guest: Guest) -> float:
    """Return when a guest comes."""
    return guest.at + number * STEP


def plan_of(stays: int, most: int) -> Plan:
    """Return a plan whose run takes so many seconds."""
    builder = PlanBuilder(most).source("s", range(stays))
    return builder.sink("k", str, service_time_s=1.0).edge("s", "k").build()


async def admitted(guests: list[Guest], entry: Entry, most: int) -> dict[int, Fate]:
    """Have guests come to an entry; return what became of each."""
    loop = asyncio.get_running_loop()
    fates: dict[int, Fate] = {}

    async def come(number: int, guest: Guest) -> None:
        await asyncio.sleep(arrives(number, guest))
        patience = None if guest.patience is None else guest.patience + HALF
        try:
            async with asyncio.timeout(patience):
                place = await entry.enter()
        except (RefusedError, TimeoutError) as error:
            what = "refused" if isinstance(error, RefusedError) else "gone"
            fates[number] = (what, round(loop.time(), 4))
            return
        async with place:
            fates[number] = ("in", round(loop.time(), 4))
            assert entry.active <= most
            snapshot = await Session(plan_of(guest.stays, most)).run()
            assert snapshot.nodes["k"].processed == guest.stays

    async with asyncio.TaskGroup() as group:
        for number, guest in enumerate(guests):
            group.create_task(come(number, guest))
    return fates


GUESTS = st.builds(Guest, st.integers(0, 6), st.integers(1, 4), st.none() | st.integers(0, 4))


@given(
    st.lists(GUESTS, max_size=9),
    st.integers(1, 3),
    st.sampled_from(get_args(WhenFull)),
    st.none() | st.integers(0, 3),
)
@settings(max_examples=150)
def test_each_guest_is_let_in_or_refused_as_the_model_says(
    guests: list[Guest], most: int, when_full: WhenFull, max_waiting: int | None
) -> None:
    """In the order in which they came, never more at once than may be, and nobody is forgotten."""
    entry = Entry(plan_of(1, most), when_full=when_full, max_waiting=max_waiting)

    fates = run_virtual(admitted(guests, entry, most))

    assert fates == Model(most, when_full, max_waiting).tell(guests)
    assert len(fates) == len(guests)
    assert (entry.active, entry.waiting) == (0, 0)
    assert entry.refused == sum(what == "refused" for what, _ in fates.values())
