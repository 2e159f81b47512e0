"""The event log: one JSON line for each thing that happens to an event, a turn or a run.

On the virtual clock the same plan, inputs and seed give the same bytes. Lines of snapshots
stand in a file of their own, or among these; `record` tells what a line is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from aiflow.engine.cells import Event, Terminal, Turn
from aiflow.engine.taps import plain
from aiflow.metrics.snapshot import Snapshot
from aiflow.operators.names import kind_of

VERSION = 1


class EventLog:
    """Renders what happens as lines.

    Args:
        write: takes each line, without its newline.
    """

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write

    def emitted(self, node: str, port: str, event: Event, at: float) -> None:
        """Write that an output left a node."""
        self._write(
            line(
                {
                    "record": "emitted",
                    "at": at,
                    "node": node,
                    "port": port,
                    **_place(event),
                    "type": kind_of(event.payload),
                    "payload": plain(event.payload),
                }
            )
        )

    def settled(self, node: str, event: Event | None, outcome: str, at: float) -> None:
        """Write that a node is done with an event."""
        place = {} if event is None else _place(event)
        self._write(
            line({"record": "settled", "at": at, "node": node, "outcome": outcome, **place})
        )

    def retried(
        self, node: str, event: Event, attempt: int, error: str, at: float, due: float
    ) -> None:
        """Write that a try failed and when the next, of that number, is due."""
        record = {"record": "retried", "at": at, "node": node, "attempt": attempt}
        self._write(line({**record, "due": due, "error": error, **_place(event)}))

    def ended(self, node: str, turn: Turn, terminal: Terminal, at: float) -> None:
        """Write that a turn ended at a node."""
        self._write(
            line(
                {
                    "record": "ended",
                    "at": at,
                    "node": node,
                    "conversation": turn.conversation,
                    "turn": turn.number,
                    "terminal": terminal.name,
                }
            )
        )

    def effect(self, node: str, event: Event, key: str, outcome: str, at: float) -> None:
        """Write what became of a speculative effect."""
        record = {"record": "effect", "at": at, "node": node, "outcome": outcome, "key": key}
        self._write(line({**record, **_place(event)}))

    def tuned(self, node: str, changes: Mapping[str, tuple[object, object]], at: float) -> None:
        """Write that a node's policy was changed, old and new value of each member."""
        self._write(
            line(
                {
                    "record": "tuned",
                    "at": at,
                    "node": node,
                    "changes": {
                        member: {"old": old, "new": new} for member, (old, new) in changes.items()
                    },
                }
            )
        )


def header_line(name: str, strategy: str, seed: int, *, is_virtual: bool) -> str:
    """Return the first line of a run's file: what was run and how."""
    clock = "virtual" if is_virtual else "real"
    return line(
        {
            "record": "run",
            "format": "aiflow-run",
            "version": VERSION,
            "graph": name,
            "strategy": strategy,
            "clock": clock,
            "seed": seed,
        }
    )


def metrics_line(snapshot: Snapshot) -> str:
    """Return a snapshot as one line."""
    return line({"record": "metrics", **snapshot.to_dict()})


def line(record: Mapping[str, Any]) -> str:
    """Return a record as one line of JSON without its newline."""
    return msgspec.json.encode(record).decode()


def _place(event: Event) -> dict[str, Any]:
    return {
        "conversation": event.conversation,
        "turn": event.turn,
        "source": event.source,
        "sequence": event.sequence,
        "part": event.part,
        "created_at": event.created_at,
        **({"hops": event.hops} if event.hops else {}),
    }
