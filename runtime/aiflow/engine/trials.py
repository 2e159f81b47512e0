"""Trials: how far the tries of one event have come. Data only; `retrying` decides."""

from __future__ import annotations

from typing import Any


class Trial:
    """The tries of one event at one node, from the first that failed, or is timed or keyed.

    Attributes:
        attempt: number of the try at hand, from 1.
        port: name of the in-port by which the event came.
        base_s: the operator's time at this event before the try at hand, seconds.
        error: what the last try failed with, while it waits for the next.
        deadline: when all tries are over, on the session's clock; None is never.
        is_waiting: no try is at hand: it waits for its time, a worker or its key.
        is_due: it stands in the line of those that go before the queue.
        is_given_up: its tries are spent; what leaves now is its dead letter.
        over: why the try at hand has been ended from outside, None where it has not.
        key: what keeps its state apart, where the node's state is partitioned.
        outputs: the way and payload of each output of a transaction that is open, else None.
        keeps: the lowest sequence that its operator says to keep, in a tuple; None where it has
            said nothing.
    """

    __slots__ = (
        "attempt",
        "base_s",
        "deadline",
        "error",
        "is_due",
        "is_given_up",
        "is_waiting",
        "keeps",
        "key",
        "outputs",
        "over",
        "port",
    )

    def __init__(self, port: str, deadline: float | None = None) -> None:
        self.attempt = 1
        self.port = port
        self.base_s = 0.0
        self.deadline = deadline
        self.error: BaseException | None = None
        self.is_waiting = False
        self.is_due = False
        self.is_given_up = False
        self.over: BaseException | None = None
        self.key: Any = None
        self.outputs: list[tuple[Any, Any]] | None = None
        self.keeps: tuple[int | None] | None = None

    def keep(self, sequence: int | None) -> None:
        """Note the lowest sequence that the operator keeps if this try comes to its end."""
        self.keeps = (sequence,)
