"""`partition`: spread events over several branches, by a key or by who has room."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field, field_validator

from aiflow.operators.base import Emit, Operator, Params, Port
from aiflow.operators.expressions import Expression
from aiflow.operators.names import names_of
from aiflow.operators.scope import Scope
from aiflow.types import ANY


class PartitionParams(Params):
    """Parameters of `partition`."""

    mode: Literal["key", "room"] = Field(
        "key",
        title="Spread by",
        description="key: events of one key always take the same branch; room: the branch with"
        " the least to do that has room.",
    )
    key: str = Field(
        "conversation",
        min_length=1,
        title="Key",
        description="An expression over the payload's fields, such as lower(name); not looked at"
        " where events go by room.",
        json_schema_extra={"x-editor": "code"},
    )

    @field_validator("key")
    @classmethod
    def _key_can_be_read(cls, key: str) -> str:
        Expression(key)
        return key


class Partition(Operator[PartitionParams]):
    """Send each event by exactly one of the ports that are connected, unchanged.

    By key: the key alone decides, in every run and on every machine, and a key stays with its
    branch. Where a branch is added or taken away, only the keys move that have to. So each
    branch has all events of its keys, in the order in which they came.

    By room: the branch with the least to do, of those whose queue has a place; branches that
    have equally little take turns. It waits only while all are full. What belongs together may
    be parted, and a fast branch overtakes a slow one.

    Emits when: an event arrives; exactly one, at one port.
    Backpressures when: the branch of the event's key does (key), or all do (room).
    Completes when: its input has ended.
    Fails when: the payload lacks a name of the key, or it cannot be computed.
    """

    name = "partition"
    title = "Partition"
    category = "flow"
    summary = "Spreads events over branches, by a key or by who has room."
    inputs = (Port("in", ANY, "anything with fields"),)
    outputs = tuple(Port(name, ANY, "a branch", like="in") for name in "abcdefgh")
    Params: ClassVar = PartitionParams

    def __init__(self, params: PartitionParams, folders: Sequence[Path] = ()) -> None:
        super().__init__(params, folders)
        self._key = Expression(params.key)

    def balances(self) -> bool:
        """Return whether events go by room."""
        return self.params.mode == "room"

    def process(self, payload: Any, scope: Scope) -> Any:  # noqa: ANN401 - payloads are any type
        """Return the payload, for the port of its key."""
        if self.params.mode == "room":
            return payload
        key = str(self._key.evaluate(names_of(payload, scope)))
        port = branch_of(key, scope.outputs)
        return None if port is None else Emit(port, payload)


def branch_of(key: str, branches: frozenset[str]) -> str | None:
    """Return the branch that a key belongs to, None without any.

    Source: D. Thaler, C. Ravishankar, "Using name-based mappings to increase hit rates", 1998
    (rendezvous hashing): each branch draws a number for the key, and the largest has it.
    """
    return max(
        sorted(branches),
        key=lambda branch: blake2b(f"{branch} {key}".encode(), digest_size=8).digest(),
        default=None,
    )
