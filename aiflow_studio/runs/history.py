"""History: the snapshots of a run that are still worth drawing, bounded.

The last `RECENT_S` are kept as they came, what is older in one snapshot a second; a snapshot
is cumulative, so thinning loses no count. No Qt.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from aiflow.metrics.snapshot import Snapshot

#: Seconds that are kept at full rate.
RECENT_S = 60.0
#: Snapshots of older times, one a second: ten minutes.
OLDER = 600
#: Snapshots a second that are kept at most; more often ones replace the last.
RATE = 20.0


class History:
    """A ring of snapshots of one run, oldest first.

    Invariant: at most `OLDER + RECENT_S × RATE + 1` snapshots, in the order of their times.
    """

    def __init__(self) -> None:
        self._older: deque[Snapshot] = deque(maxlen=OLDER)
        self._recent: deque[Snapshot] = deque()

    def __len__(self) -> int:
        return len(self._older) + len(self._recent)

    def __iter__(self) -> Iterator[Snapshot]:
        yield from self._older
        yield from self._recent

    @property
    def last(self) -> Snapshot | None:
        """The newest snapshot, None before the first."""
        return self._recent[-1] if self._recent else None

    def since(self, at: float) -> list[Snapshot]:
        """Return the snapshots from `at` on, and the one before it, so that lines reach back."""
        kept: list[Snapshot] = []
        for snapshot in reversed(self._recent):
            kept.append(snapshot)
            if snapshot.at < at:
                return kept[::-1]
        for snapshot in reversed(self._older):
            kept.append(snapshot)
            if snapshot.at < at:
                break
        return kept[::-1]

    def add(self, snapshot: Snapshot) -> None:
        """Take the newest snapshot; one of another run forgets the run before."""
        last = self.last
        if last is not None and (last.started_at != snapshot.started_at or snapshot.at < last.at):
            self.clear()
        recent = self._recent
        # The last but one stays, so that the newest is always in and the rate is still bounded.
        if len(recent) > 1 and snapshot.at - recent[-2].at < 1 / RATE:
            recent.pop()
        recent.append(snapshot)
        while recent[0].at < snapshot.at - RECENT_S:
            self._age(recent.popleft())

    def clear(self) -> None:
        """Forget everything."""
        self._older.clear()
        self._recent.clear()

    def _age(self, snapshot: Snapshot) -> None:
        if not self._older or snapshot.at - self._older[-1].at >= 1.0:
            self._older.append(snapshot)
