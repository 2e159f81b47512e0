"""What the client and the server have in common: they start, and are closed in any case."""

from __future__ import annotations

import abc
from collections.abc import Generator
from types import TracebackType
from typing import Any, Self


class Lifetime(abc.ABC):
    """Started by an `async with` block, which closes it, or by `await`; then `close` does."""

    def __await__(self) -> Generator[Any, None, Self]:
        """Start, and return what was started."""
        return self._start().__await__()

    async def __aenter__(self) -> Self:
        """Start."""
        return await self._start()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close."""
        await self.close()

    @abc.abstractmethod
    async def _start(self) -> Self:
        """Start and return itself; what has failed to start leaves nothing to close."""

    @abc.abstractmethod
    async def close(self) -> None:
        """End it; safe to repeat."""
