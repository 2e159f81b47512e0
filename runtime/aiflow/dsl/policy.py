"""`P`: a policy by name, or by the paper's tuple P = (q, k, ρ, σ, o, c, r)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from aiflow.graph.model import Json
from aiflow.graph.values import UNSET, Unset
from aiflow.policies import TUPLE, Retry

StateName = Literal["stateless", "partitioned", "serialized", "transactional"]
OverflowName = Literal["block", "drop_newest", "drop_oldest", "error"]
CancelName = Literal["propagate", "drain", "shield"]
EffectsName = Literal["none", "idempotent", "non_idempotent", "speculative"]
RetryLike = Retry | Mapping[str, Json]

#: Symbol that can be typed on every keyboard -> name of the member.
SYMBOLS = {{"ρ": "rho", "σ": "sigma"}.get(symbol, symbol): name for symbol, name in TUPLE}


class P:
    """Members of a policy that differ from the defaults.

    Each member of the tuple goes by its symbol or by its name: `P(q=8)` and
    `P(queue_capacity=8)` are the same, and `P(8, 2)` is P = (8, 2, …). What is left out has
    its default. Ranges and meanings are in `aiflow.policies.Policy`.

    Args:
        q: queue_capacity, events that may wait. `k`: workers, events processed at once.
        rho: reorder_capacity, events held until earlier ones have left.
        sigma: state. `o`: overflow. `c`: cancel. `r`: retry.

    Raises:
        TypeError: a member is given by its symbol and by its name.
    """

    def __init__(  # noqa: PLR0913, PLR0917 - the tuple has seven members, each with two names
        self,
        q: int | Unset = UNSET,
        k: int | Unset = UNSET,
        rho: int | Unset = UNSET,
        sigma: StateName | Unset = UNSET,
        o: OverflowName | Unset = UNSET,
        c: CancelName | Unset = UNSET,
        r: RetryLike | Unset = UNSET,
        *,
        queue_capacity: int | Unset = UNSET,
        workers: int | Unset = UNSET,
        reorder_capacity: int | Unset = UNSET,
        state: StateName | Unset = UNSET,
        overflow: OverflowName | Unset = UNSET,
        cancel: CancelName | Unset = UNSET,
        retry: RetryLike | Unset = UNSET,
        partition_key: str | Unset | None = UNSET,
        max_bytes: int | Unset | None = UNSET,
        side_effects: EffectsName | Unset | None = UNSET,
        speculative_capacity: int | Unset = UNSET,
        speculative_timeout_s: float | Unset | None = UNSET,
        service_time_s: float | Unset | None = UNSET,
    ) -> None:
        tuple_ = {"q": q, "k": k, "rho": rho, "sigma": sigma, "o": o, "c": c, "r": r}
        names = {
            "queue_capacity": queue_capacity,
            "workers": workers,
            "reorder_capacity": reorder_capacity,
            "state": state,
            "overflow": overflow,
            "cancel": cancel,
            "retry": retry,
            "partition_key": partition_key,
            "max_bytes": max_bytes,
            "side_effects": side_effects,
            "speculative_capacity": speculative_capacity,
            "speculative_timeout_s": speculative_timeout_s,
            "service_time_s": service_time_s,
        }
        given: dict[str, Any] = {k: v for k, v in names.items() if v is not UNSET}
        for symbol, value in tuple_.items():
            if value is UNSET:
                continue
            if SYMBOLS[symbol] in given:
                raise TypeError(f"{symbol} is {SYMBOLS[symbol]}; give one of the two")
            given[SYMBOLS[symbol]] = value
        if isinstance(given.get("retry"), Retry):
            given["retry"] = given["retry"].model_dump(mode="json", exclude_unset=True)
        self._members = given

    @property
    def members(self) -> dict[str, Json]:
        """The given members by name, as in a graph file."""
        return dict(self._members)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, P) and self._members == other._members

    def __hash__(self) -> int:
        return hash(repr(sorted(self._members.items())))

    def __repr__(self) -> str:
        return f"P({', '.join(f'{name}={value!r}' for name, value in self._members.items())})"
