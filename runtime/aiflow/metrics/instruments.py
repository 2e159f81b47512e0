"""Instruments: what the engine's hot path counts with, plain numbers and no calls.

A histogram has fixed buckets, so it costs the same after a million events as after one,
and two of them can be added. What is shorter than a microsecond is not told apart: that
one comparison is what keeps an inline event cheap.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import accumulate
from math import inf

from aiflow.metrics.snapshot import LatencyStats

#: Durations below this many seconds share one bucket, counted by `Histogram.fine`.
FINE_S = 1e-6

#: Durations that are noted before they are put into their buckets.
_SORTED_AT = 256
_PER_DECADE = 20
_DECADES = 10  # from a microsecond to almost three hours
_RATIO = 10 ** (1 / _PER_DECADE)
_BOUNDS: tuple[float, ...] = tuple(FINE_S * _RATIO**step for step in range(_PER_DECADE * _DECADES))


class Histogram:
    """Durations in buckets whose bounds grow by 12 %; a quantile is its bucket's mean.

    So durations that lie close together come out right, wherever the bounds are.
    The hot path writes `sum_s` and `fine` itself and calls `record_coarse` for the rest.

    Attributes:
        sum_s: all durations added up, seconds.
        fine: how many were shorter than `FINE_S`.
        limit_s: what is longer than this is told to whoever counts it.
    """

    __slots__ = (
        "_coarse",
        "_coarse_sums_s",
        "_max_s",
        "_min_s",
        "_unsorted",
        "fine",
        "limit_s",
        "sum_s",
    )

    def __init__(self) -> None:
        self.sum_s = 0.0
        self.fine = 0
        self.limit_s = inf
        self._unsorted: list[float] = []
        self._coarse = [0] * (len(_BOUNDS) + 1)
        self._coarse_sums_s = [0.0] * (len(_BOUNDS) + 1)
        self._min_s = _BOUNDS[-1] * _RATIO
        self._max_s = 0.0

    def record(self, duration_s: float) -> None:
        """Count one duration, seconds >= 0."""
        self.sum_s += duration_s
        if duration_s < FINE_S:
            self.fine += 1
        else:
            self.record_coarse(duration_s)

    def record_coarse(self, duration_s: float) -> bool:
        """Count one duration of `FINE_S` or more; `sum_s` is the caller's to raise.

        Returns:
            Whether it is longer than `limit_s`.
        """
        unsorted = self._unsorted
        unsorted.append(duration_s)
        if len(unsorted) >= _SORTED_AT:
            self._sort()
        return duration_s > self.limit_s

    def _sort(self) -> None:
        """Put what was noted into its buckets: many at once cost a tenth of one by one."""
        durations = sorted(self._unsorted)
        if not durations:
            return
        self._unsorted.clear()
        self._min_s = min(self._min_s, durations[0])
        self._max_s = max(self._max_s, durations[-1])
        begin = 0
        while begin < len(durations):
            bucket = bisect_right(_BOUNDS, durations[begin])
            is_last = bucket == len(_BOUNDS)
            end = len(durations) if is_last else bisect_left(durations, _BOUNDS[bucket], begin)
            self._coarse[bucket] += end - begin
            self._coarse_sums_s[bucket] += sum(durations[begin:end])
            begin = end

    def take_back(self, duration_s: float) -> None:
        """Uncount a duration just counted, because more of the same event is to come."""
        self.sum_s -= duration_s
        if duration_s < FINE_S:
            self.fine -= 1
        elif self._unsorted and self._unsorted[-1] == duration_s:
            self._unsorted.pop()
        else:
            bucket = bisect_right(_BOUNDS, duration_s)
            self._coarse[bucket] -= 1
            self._coarse_sums_s[bucket] -= duration_s

    def stats(self, zeros: int = 0) -> LatencyStats:
        """Return the histogram in numbers.

        Args:
            zeros: further durations of exactly 0 that were counted elsewhere.
        """
        self._sort()
        below = zeros + self.fine
        # Many have nothing in their buckets, and a snapshot asks three times for each node.
        ranks = list(accumulate(self._coarse, initial=below)) if self._max_s else [below]
        count = ranks[-1]
        if not count:
            return LatencyStats()
        return LatencyStats(
            count,
            self.sum_s,
            self._quantile(0.5 * count, zeros, ranks) * 1e3,
            self._quantile(0.99 * count, zeros, ranks) * 1e3,
            (self._max_s or self._fine_s()) * 1e3,
        )

    def _fine_s(self) -> float:
        """Return what stands for a duration that was too short to be told from others."""
        return FINE_S / 2 if self.fine and self.sum_s > 0 else 0.0

    def _quantile(self, rank: float, zeros: int, ranks: list[int]) -> float:
        """Return the duration at `rank`; `ranks` are the durations up to each bucket's end."""
        if rank <= zeros:
            return 0.0
        bucket = bisect_left(ranks, rank) - 1
        if bucket < 0:
            return self._fine_s()
        mean = self._coarse_sums_s[bucket] / self._coarse[bucket]
        # Between the ends that were really seen: a constant comes out exactly.
        return min(self._max_s, max(self._min_s, mean))
