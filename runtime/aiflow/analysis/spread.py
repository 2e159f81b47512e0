"""Spread: durations that are drawn again from what a histogram says of them."""

from __future__ import annotations

import random
from bisect import bisect_right
from dataclasses import dataclass

from aiflow.metrics.snapshot import LatencyStats

# Shares of all durations that are below the least, the median, the percentile and the largest.
_SHARES = (0.0, 0.5, 0.99, 1.0)


@dataclass(frozen=True, slots=True)
class Spread:
    """Durations in seconds with a known mean, median, 99th percentile and maximum.

    Between those four they are spread evenly; what is below the median begins where the mean
    comes out right. Where all were alike, each draw is exactly that.
    """

    mean_s: float
    low_s: float
    p50_s: float
    p99_s: float
    max_s: float

    @classmethod
    def of(cls, stats: LatencyStats) -> Spread:
        """Return the spread of a histogram."""
        mean = stats.sum_s / stats.count if stats.count else 0.0
        p50, p99, most = stats.p50_ms / 1e3, stats.p99_ms / 1e3, stats.max_ms / 1e3
        above = 0.49 * (p50 + p99) / 2 + 0.01 * (p99 + most) / 2
        low = min(p50, max(0.0, 4 * (mean - above) - p50))
        return cls(mean, low, p50, p99, most)

    @classmethod
    def always(cls, seconds: float) -> Spread:
        """Return a spread of one duration."""
        return cls(seconds, seconds, seconds, seconds, seconds)

    def draw(self, chance: random.Random) -> float:
        """Return one duration, seconds; on average `mean_s`."""
        if self.low_s == self.max_s:
            return self.mean_s
        share = chance.random()
        ends = (self.low_s, self.p50_s, self.p99_s, self.max_s)
        piece = bisect_right(_SHARES, share) - 1
        part = (share - _SHARES[piece]) / (_SHARES[piece + 1] - _SHARES[piece])
        drawn = ends[piece] + (ends[piece + 1] - ends[piece]) * part
        expected = self._expected_s()
        return drawn * self.mean_s / expected if expected > 0 else self.mean_s

    def scaled(self, mean_s: float) -> Spread:
        """Return the same spread around another mean."""
        if self.mean_s <= 0:
            return Spread.always(mean_s)
        by = mean_s / self.mean_s
        ends = (self.low_s * by, self.p50_s * by, self.p99_s * by, self.max_s * by)
        return Spread(mean_s, *ends)

    def _expected_s(self) -> float:
        """Return the mean of the four pieces, which no `low_s` may bring to `mean_s`."""
        low, p50, p99, most = self.low_s, self.p50_s, self.p99_s, self.max_s
        return 0.25 * (low + p50) + 0.245 * (p50 + p99) + 0.005 * (p99 + most)
