"""The policy of a node: P = (q, k, ρ, σ, o, c, r), and what stands beside the tuple.

The one definition of names, ranges, defaults, symbols and help texts: file format, JSON
Schema, inspector and compiler all read it here. Defaults are safe: bounded and blocking.
Whether a policy fits an operator or a graph is the compiler's question.
Source: the AiFlow paper, "Model", policy tuple.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class State(StrEnum):
    """What an operator's state allows (σ)."""

    STATELESS = "stateless"
    PARTITIONED = "partitioned"
    SERIALIZED = "serialized"
    TRANSACTIONAL = "transactional"


class Overflow(StrEnum):
    """What a full queue does with an arrival (o)."""

    BLOCK = "block"
    DROP_NEWEST = "drop_newest"
    DROP_OLDEST = "drop_oldest"
    ERROR = "error"


class Cancel(StrEnum):
    """What a cancelled turn does at this node (c)."""

    PROPAGATE = "propagate"
    DRAIN = "drain"
    SHIELD = "shield"


class SideEffects(StrEnum):
    """What an operator does to the world outside, weakest promise last."""

    NONE = "none"
    IDEMPOTENT = "idempotent"
    NON_IDEMPOTENT = "non_idempotent"
    SPECULATIVE = "speculative"


def _ui(symbol: str = "", unit: str = "") -> dict[str, Any]:
    return {key: value for key, value in (("x-symbol", symbol), ("x-unit", unit)) if value}


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Retry(_Model):
    """How one event is tried again (r)."""

    attempts: int = Field(
        1, ge=1, le=100, description="Tries of one event, the first included; 1 means no retry."
    )
    backoff_s: float = Field(
        0.1,
        ge=0,
        le=3600,
        allow_inf_nan=False,
        description="Wait before the second try.",
        json_schema_extra=_ui(unit="s"),
    )
    multiplier: float = Field(
        2.0,
        ge=1,
        le=100,
        allow_inf_nan=False,
        description="Each further wait is so many times longer.",
    )
    max_backoff_s: float = Field(
        30.0,
        ge=0,
        le=86400,
        allow_inf_nan=False,
        description="Longest wait between two tries.",
        json_schema_extra=_ui(unit="s"),
    )
    jitter: float = Field(
        0.1,
        ge=0,
        le=1,
        allow_inf_nan=False,
        description="Share of a wait that is left to chance, 0 to 1.",
    )
    timeout_s: float | None = Field(
        None,
        gt=0,
        le=86400,
        allow_inf_nan=False,
        description="Longest duration of one try; empty means no limit.",
        json_schema_extra=_ui(unit="s"),
    )
    total_timeout_s: float | None = Field(
        None,
        gt=0,
        le=86400,
        allow_inf_nan=False,
        description="Longest duration of all tries and waits together; empty means no limit.",
        json_schema_extra=_ui(unit="s"),
    )
    retry_on: tuple[str, ...] = Field(
        ("retryable",),
        description="Which failures are tried again: retryable, timeout, any, or class names.",
    )
    then: Literal["fail", "skip", "dead_letter"] = Field(
        "fail", description="What happens when the tries are spent."
    )


class Policy(_Model):
    """How one node may use memory and workers, and what happens at its limits."""

    queue_capacity: int = Field(
        8,
        ge=1,
        le=1_000_000,
        title="Queue capacity",
        description="Events that may wait in the node's queue.",
        json_schema_extra=_ui("q", "events"),
    )
    workers: int = Field(
        1,
        ge=1,
        le=1024,
        title="Workers",
        description="Events that may be processed at once.",
        json_schema_extra=_ui("k", "workers"),
    )
    reorder_capacity: int = Field(
        0,
        ge=0,
        le=1_000_000,
        title="Reorder buffer",
        description="Finished or retrying events held until earlier ones have left;"
        " 0 with more than one worker means they leave as they finish.",
        json_schema_extra=_ui("ρ", "events"),
    )
    state: State = Field(
        State.STATELESS,
        title="State",
        description="What the operator's state allows: any order and number of workers,"
        " one per key, one at a time, or state and outputs together.",
        json_schema_extra=_ui("σ"),
    )
    overflow: Overflow = Field(
        Overflow.BLOCK,
        title="When full",
        description="What a full queue does: make the sender wait, drop the newest or the"
        " oldest droppable event, or fail the conversation.",
        json_schema_extra=_ui("o"),
    )
    cancel: Cancel = Field(
        Cancel.PROPAGATE,
        title="On cancel",
        description="What a cancelled turn does here: stop at once, finish what was admitted,"
        " or also finish what still arrives.",
        json_schema_extra=_ui("c"),
    )
    retry: Retry = Field(
        Retry(),
        title="Retry",
        description="How often and when a failed event is tried again.",
        json_schema_extra=_ui("r"),
    )
    partition_key: str | None = Field(
        None,
        title="Partition key",
        description="What keeps events apart when the state is partitioned:"
        " conversation, or a field of the payload.",
    )
    max_bytes: int | None = Field(
        None,
        ge=1,
        title="Queue bytes",
        description="Estimated bytes that may wait in the queue, beside the count of events.",
        json_schema_extra=_ui(unit="bytes"),
    )
    side_effects: SideEffects | None = Field(
        None,
        title="Side effects",
        description="Effects outside the graph; empty means what the operator declares,"
        " and a node may only be stricter.",
    )
    speculative_capacity: int = Field(
        0,
        ge=0,
        le=1_000_000,
        title="Speculative events",
        description="Uncommitted effects that may wait at the barrier.",
        json_schema_extra=_ui(unit="events"),
    )
    speculative_timeout_s: float | None = Field(
        None,
        gt=0,
        le=86400,
        allow_inf_nan=False,
        title="Speculative time",
        description="Longest time that an uncommitted effect waits before it is rolled back;"
        " empty means until its turn ends.",
        json_schema_extra=_ui(unit="s"),
    )
    service_time_s: float | None = Field(
        None,
        ge=0,
        le=86400,
        allow_inf_nan=False,
        title="Service time",
        description="Declared time per event, for hints and for the virtual clock.",
        json_schema_extra=_ui(unit="s"),
    )


#: The members of the tuple in the paper's order: symbol and key.
TUPLE: tuple[tuple[str, str], ...] = (
    ("q", "queue_capacity"),
    ("k", "workers"),
    ("ρ", "reorder_capacity"),
    ("σ", "state"),
    ("o", "overflow"),
    ("c", "cancel"),
    ("r", "retry"),
)
