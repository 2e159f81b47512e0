"""The work that frameworks are compared by, and the counting in it."""

from __future__ import annotations

import asyncio
import itertools


class Work:
    """Tokens to carry, and what was seen of them.

    Args:
        events: how many tokens.
        slow_s: seconds that the slow node takes for each.

    Attributes:
        tokens: to carry, in this order.
        taken: to be filled by whatever stands last.
        max_q: most that were put in front of the slow node and not yet taken by it.
    """

    def __init__(self, events: int, slow_s: float = 0.0) -> None:
        self.tokens = [str(number) for number in range(events)]
        self.taken: list[str] = []
        self.slow_s = slow_s
        self.max_q = 0
        self._waiting = 0

    def put(self, token: str) -> str:
        """Note that a token is handed to the slow node; return it."""
        self._waiting += 1
        self.max_q = max(self.max_q, self._waiting)
        return token

    async def handle(self, token: str) -> str:
        """Take a token as the slow node does; return it."""
        self._waiting -= 1
        if self.slow_s:
            await asyncio.sleep(self.slow_s)
        return token

    @property
    def lost(self) -> int:
        """Return how many tokens have not come out."""
        return len(self.tokens) - len(self.taken)

    @property
    def order_violations(self) -> int:
        """Return how many tokens came out before an earlier one."""
        numbers = map(int, self.taken)
        return sum(before > after for before, after in itertools.pairwise(numbers))
