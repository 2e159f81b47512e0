"""`branch`: send each event one of two ways."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field, field_validator

from aiflow.operators.base import Emit, Operator, Params, Port
from aiflow.operators.expressions import Expression
from aiflow.operators.names import names_of
from aiflow.operators.scope import Scope
from aiflow.types import ANY


class BranchParams(Params):
    """Parameters of `branch`."""

    condition: str = Field(
        "len(text) > 20",
        min_length=1,
        title="Condition",
        description="An expression over the payload's fields, such as channel == 'answer';"
        " what counts as true leaves by yes.",
        json_schema_extra={"x-editor": "code"},
    )

    @field_validator("condition")
    @classmethod
    def _condition_can_be_read(cls, condition: str) -> str:
        Expression(condition)
        return condition


class Branch(Operator[BranchParams]):
    """Send each event by `yes` or by `no`, unchanged.

    Emits when: an event arrives; exactly one, at one of the two ports. What leaves by a port
        that is not connected goes no further.
    Backpressures when: the branch that the event must take does.
    Completes when: its input has ended.
    Fails when: the payload lacks a name of the condition, or it cannot be computed.
    """

    name = "branch"
    title = "Branch"
    category = "flow"
    summary = "Sends each event one of two ways, by a condition."
    inputs = (Port("in", ANY, "anything with fields"),)
    outputs = (
        Port("yes", ANY, "where the condition holds", like="in"),
        Port("no", ANY, "where it does not", like="in"),
    )
    Params: ClassVar = BranchParams

    def __init__(self, params: BranchParams, folders: Sequence[Path] = ()) -> None:
        super().__init__(params, folders)
        self._condition = Expression(params.condition)

    def process(self, payload: Any, scope: Scope) -> Emit:  # noqa: ANN401 - payloads are any type
        """Return the payload for the port it must take."""
        holds = self._condition.evaluate(names_of(payload, scope))
        return Emit("yes" if holds else "no", payload)
