"""Python's collector, kept out of the way while very much is made at once."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_at_rest() -> Iterator[None]:
    """Let the collector rest while a large picture is made.

    A thousand cards are a hundred thousand objects, none of which is waste: it would look
    through them again and again, for a third of the time that they take to make.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
