"""A watch over a run: keeps a few snapshots and says in a sentence how the run stands."""

from __future__ import annotations

from collections import deque

from aiflow.analysis.bottleneck import Bottleneck, bottleneck
from aiflow.analysis.facts import Facts
from aiflow.analysis.filling import Filling, filling
from aiflow.analysis.load import loads
from aiflow.metrics.snapshot import Snapshot

#: Seconds that a bottleneck is judged over: shorter flickers, longer tells old news.
SPAN_S = 2.0
#: Seconds that the growth of a queue is judged over.
GROWTH_S = 10.0
# A shorter time than this tells no rate.
_LEAST_S = 0.5
# A source that stands still for less than this share of the time is as fast as it is.
_FREE = 0.05
#: Most snapshots kept, whoever calls however often.
_MOST = 256


class Watch:
    """Looks at the snapshots of a run, one after another.

    Args:
        facts: of the plan that runs.

    Attributes:
        bottleneck: the node that others wait for now, None where nobody waits.
        filling: queues that will be full soon.
        rates: source -> most events per second of one conversation, seen while it was free.
    """

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._seen: deque[Snapshot] = deque(maxlen=_MOST)
        self.bottleneck: Bottleneck | None = None
        self.filling: tuple[Filling, ...] = ()
        self.rates: dict[str, float] = {}

    def see(self, snapshot: Snapshot) -> str:
        """Take the newest snapshot and return how the run stands, "" where all flows."""
        seen = self._seen
        if seen and (seen[-1].started_at != snapshot.started_at or seen[-1].at > snapshot.at):
            seen.clear()
            self.bottleneck = None
            self.rates.clear()
        while len(seen) > 1 and seen[1].at <= snapshot.at - GROWTH_S:
            seen.popleft()
        before = self._before(snapshot)
        self.bottleneck = bottleneck(before, snapshot, self._facts, self.bottleneck)
        self._note_rates(before, snapshot)
        self.filling = filling(seen[0] if seen else None, snapshot)
        seen.append(snapshot)
        if self.bottleneck is not None:
            return self.bottleneck.sentence
        return self.filling[0].sentence if self.filling else _turn_sentence(snapshot)

    def _note_rates(self, before: Snapshot | None, now: Snapshot) -> None:
        active = sum(outcome == "active" for outcome in now.conversations.values())
        if before is None or now.at - before.at < _LEAST_S or not active:
            return
        load = loads(before, now, self._facts)
        for id in self._facts.sources & load.keys():
            if load[id].held < _FREE and load[id].done_per_s > 0:
                rate = load[id].done_per_s / active
                self.rates[id] = max(rate, self.rates.get(id, 0.0))

    def _before(self, now: Snapshot) -> Snapshot | None:
        """Return the newest snapshot that is `SPAN_S` old, else the oldest there is."""
        for each in reversed(self._seen):
            if each.at <= now.at - SPAN_S:
                return each
        return self._seen[0] if self._seen else None


def _turn_sentence(snapshot: Snapshot) -> str:
    """Say that requests wait for their provider's limits, "" where none does."""
    count = snapshot.waiting_requests
    if not count:
        return ""
    who = "1 request waits for its turn" if count == 1 else f"{count:,} requests wait their turn"
    return f"{who} at the provider; raise max_concurrent or requests_per_minute if it allows more."
