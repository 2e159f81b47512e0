"""Back-off: how long to wait before the next try; a pure function of policy, try and chance."""

from __future__ import annotations

from math import isfinite

from aiflow.errors import asked_of
from aiflow.policies import Retry


def backoff_s(retry: Retry, failed: int, chance: float) -> float:
    """Return the seconds between a failed try and the next.

    Args:
        retry: the node's policy.
        failed: tries that have failed so far, 1 or more.
        chance: 0 up to 1; takes up to `jitter` of the wait away, so that many who failed
            together do not come back together. A wait is never longer than `max_backoff_s`.
    """
    full_s = min(retry.max_backoff_s, retry.backoff_s * retry.multiplier ** (failed - 1))
    return full_s * (1 - retry.jitter * chance)


def asked_s(error: BaseException) -> float:
    """Return the seconds that whoever refused has asked to wait, 0 where it did not say."""
    asked = asked_of(error, "retry_after_s")
    if not isinstance(asked, int | float) or isinstance(asked, bool) or not isfinite(asked):
        return 0.0
    return max(0.0, float(asked))
