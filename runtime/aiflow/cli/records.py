"""The files of a run: `--events` (what happened, in order) and `--metrics` (snapshots).

JSON lines both; the first line says what it is and of what run. Nothing of the machine or of
the time of day is in them, so that on the virtual clock the same plan, inputs and seed give
the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, BinaryIO

import msgspec

from aiflow.engine.cells import Event, Terminal, Turn
from aiflow.metrics.snapshot import Snapshot

VERSION = 1

_INNER_CAPITAL = re.compile(r"(?<!^)(?=[A-Z])")


class EventFile:
    """Writes each step of a run; the engine's `Log`.

    Args:
        file: written and closed by whoever opened it.
        header: what run it is, plain values.
        started_at: the session's clock at its start; times count from it.
    """

    def __init__(self, file: BinaryIO, header: Mapping[str, Any], started_at: float) -> None:
        self._file = file
        self._started_at = started_at
        self._encode = msgspec.json.Encoder(enc_hook=repr).encode
        self._write({"aiflow-events": VERSION, **header})

    def emitted(self, node: str, port: str, event: Event, at: float) -> None:
        """Note an output that left a node."""
        self._write(
            {
                "at": self._since(at),
                "what": "emitted",
                "node": node,
                "port": port,
                **_place(event),
                "created_at": self._since(event.created_at),
                "type": _INNER_CAPITAL.sub("-", type(event.payload).__name__).lower(),
                "payload": event.payload,
            }
        )

    def settled(self, node: str, event: Event | None, outcome: str, at: float) -> None:
        """Note that a node is done with an event."""
        place = {} if event is None else _place(event)
        self._write({"at": self._since(at), "what": outcome, "node": node, **place})

    def ended(self, node: str, turn: Turn, terminal: Terminal, at: float) -> None:
        """Note that a turn ended at a node."""
        self._write(
            {
                "at": self._since(at),
                "what": terminal.name.lower(),
                "node": node,
                "conversation": turn.conversation,
                "turn": turn.number,
            }
        )

    def _since(self, at: float) -> float:
        return round(at - self._started_at, 6)

    def _write(self, record: Mapping[str, Any]) -> None:
        self._file.write(self._encode(record) + b"\n")


class MetricsFile:
    """Writes snapshots as they are taken.

    Args:
        file: written and closed by whoever opened it.
        header: what run it is, plain values.
    """

    def __init__(self, file: BinaryIO, header: Mapping[str, Any]) -> None:
        self._file = file
        self._encode = msgspec.json.Encoder().encode
        self._file.write(self._encode({"aiflow-metrics": VERSION, **header}) + b"\n")

    def write(self, snapshot: Snapshot) -> None:
        """Add one snapshot; its times count from the session's start."""
        record = snapshot.to_dict()
        record["at"] = round(snapshot.at - snapshot.started_at, 6)
        record["started_at"] = 0.0
        self._file.write(self._encode(record) + b"\n")


def _place(event: Event) -> dict[str, Any]:
    return {
        "conversation": event.conversation,
        "turn": event.turn,
        "source": event.source,
        "sequence": event.sequence,
        "part": event.part,
    }
