"""The other side of the measure: the chain of queues that an expert writes by hand.

One task per stage, one bounded `asyncio.Queue` per hop; wait, service and blocked time of
every event go into sums and buckets, in line, without a call. It keeps order and passes
backpressure on. It has no cancel, no accounting, no ends that survive an error, and nothing
to look at while it runs.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

Put = Callable[[Any], Awaitable[None]]
Get = Callable[[], Awaitable[Any]]

_END: Any = object()
_BUCKETS = 64


class Times:
    """Durations as an expert records them: a sum, and buckets by powers of two."""

    __slots__ = ("buckets", "sum_s")

    def __init__(self) -> None:
        self.sum_s = 0.0
        self.buckets = [0] * _BUCKETS


async def run_chain(
    payloads: Iterable[Any],
    stages: list[tuple[str, Callable[[Any], Any]]],
    capacity: int,
    taken: Callable[[Any], None],
) -> list[Times]:
    """Carry payloads through stages, one queue before each, into `taken`.

    Args:
        payloads: read as fast as the first queue takes them.
        stages: (kind, operator); kinds are `plain`, `lists`, `awaits` and `ordered`.
        capacity: of each queue, events.
        taken: called with what comes out.

    Returns:
        Wait, service and blocked times of every stage, in a row.
    """
    # What an expert takes: that a later put may overtake a waiting one does not show where
    # each queue has one producer.
    queues: list[Any] = [asyncio.Queue(capacity) for _ in range(len(stages) + 1)]  # noqa: TID251
    times = [Times() for _ in range(3 * (len(stages) + 1))]
    tasks = [asyncio.ensure_future(_source(payloads, queues[0].put))]
    for index, (kind, operator) in enumerate(stages):
        stage = _STAGES[kind]
        own = times[3 * index : 3 * index + 3]
        work = stage(queues[index].get, queues[index + 1].put, operator, own)
        tasks.append(asyncio.ensure_future(work))
    tasks.append(asyncio.ensure_future(_sink(queues[-1].get, taken, times[-3:])))
    await asyncio.gather(*tasks)
    return times


async def _source(payloads: Iterable[Any], put: Put) -> None:
    now = time.monotonic
    for payload in payloads:
        await put((now(), payload))
    await put((now(), _END))


async def _plain(get: Get, put: Put, operator: Callable[[Any], Any], times: list[Times]) -> None:
    now = time.monotonic
    wait, service, blocked = times
    waits, services, blocks = wait.buckets, service.buckets, blocked.buckets
    while True:
        since, payload = await get()
        began = now()
        if payload is _END:
            await put((began, _END))
            return
        spent = began - since
        wait.sum_s += spent
        waits[int(spent * 1e6).bit_length()] += 1
        result = operator(payload)
        ready = now()
        spent = ready - began
        service.sum_s += spent
        services[int(spent * 1e6).bit_length()] += 1
        await put((ready, result))
        spent = now() - ready
        blocked.sum_s += spent
        blocks[int(spent * 1e6).bit_length()] += 1


async def _awaits(get: Get, put: Put, operator: Callable[[Any], Any], times: list[Times]) -> None:
    now = time.monotonic
    wait, service, blocked = times
    waits, services, blocks = wait.buckets, service.buckets, blocked.buckets
    while True:
        since, payload = await get()
        began = now()
        if payload is _END:
            await put((began, _END))
            return
        spent = began - since
        wait.sum_s += spent
        waits[int(spent * 1e6).bit_length()] += 1
        result = await operator(payload)
        ready = now()
        spent = ready - began
        service.sum_s += spent
        services[int(spent * 1e6).bit_length()] += 1
        await put((ready, result))
        spent = now() - ready
        blocked.sum_s += spent
        blocks[int(spent * 1e6).bit_length()] += 1


async def _lists(get: Get, put: Put, operator: Callable[[Any], Any], times: list[Times]) -> None:
    now = time.monotonic
    wait, service, blocked = times
    waits, services, blocks = wait.buckets, service.buckets, blocked.buckets
    while True:
        since, payload = await get()
        began = now()
        if payload is _END:
            await put((began, _END))
            return
        spent = began - since
        wait.sum_s += spent
        waits[int(spent * 1e6).bit_length()] += 1
        results = operator(payload)
        ready = now()
        spent = ready - began
        service.sum_s += spent
        services[int(spent * 1e6).bit_length()] += 1
        for result in results:
            await put((ready, result))
            left = now()
            spent = left - ready
            blocked.sum_s += spent
            blocks[int(spent * 1e6).bit_length()] += 1
            ready = left


#: Workers of the `ordered` stage.
WORKERS = 4


async def _ordered(get: Get, put: Put, operator: Callable[[Any], Any], times: list[Times]) -> None:
    """Run four at once and let them leave in order: a bounded queue of tasks, read in a row."""
    now = time.monotonic
    wait, service, blocked = times
    tickets: Any = asyncio.Queue(WORKERS)  # noqa: TID251

    async def work(payload: Any, began: float) -> Any:  # noqa: ANN401 - payloads are any type
        result = await operator(payload)
        spent = now() - began
        service.sum_s += spent
        service.buckets[int(spent * 1e6).bit_length()] += 1
        return result

    async def emit() -> None:
        while (task := await tickets.get()) is not None:
            result = await task
            ready = now()
            await put((ready, result))
            spent = now() - ready
            blocked.sum_s += spent
            blocked.buckets[int(spent * 1e6).bit_length()] += 1

    emitter = asyncio.ensure_future(emit())
    while True:
        since, payload = await get()
        began = now()
        if payload is _END:
            break
        spent = began - since
        wait.sum_s += spent
        wait.buckets[int(spent * 1e6).bit_length()] += 1
        await tickets.put(asyncio.ensure_future(work(payload, began)))
    await tickets.put(None)
    await emitter
    await put((now(), _END))


async def _sink(get: Get, taken: Callable[[Any], None], times: list[Times]) -> None:
    now = time.monotonic
    wait, service, _ = times
    waits, services = wait.buckets, service.buckets
    while True:
        since, payload = await get()
        began = now()
        if payload is _END:
            return
        spent = began - since
        wait.sum_s += spent
        waits[int(spent * 1e6).bit_length()] += 1
        taken(payload)
        spent = now() - began
        service.sum_s += spent
        services[int(spent * 1e6).bit_length()] += 1


_STAGES = {"plain": _plain, "awaits": _awaits, "lists": _lists, "ordered": _ordered}
