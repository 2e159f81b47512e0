"""`tool-call`: make the calls that a model asks for, and give it what came of them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import ClassVar, Literal

from pydantic import Field

from aiflow.errors import ToolError
from aiflow.events import Control, ToolCall, ToolResult
from aiflow.operators.base import Emit, Operator, Params, Port
from aiflow.operators.scope import Scope
from aiflow.policies import SideEffects
from aiflow.providers.tool_calls import parse_arguments
from aiflow.tools.resource import Tools
from aiflow.tools.tool import Tool, ToolAnswer, ToolContext, ToolEffect
from aiflow.transport.excerpt import shorten
from aiflow.transport.watch import WaitWatch
from aiflow.types import CONTROL, TOOL_CALL, TOOL_RESULT

_KEY_LETTERS = 32
_LONGEST_WAIT_S = 30.0
# A little is left to hand the result on.
_OF_THE_DEADLINE = 0.95


class ToolCallParams(Params):
    """Parameters of `tool-call`."""

    timeout_s: float = Field(
        30.0,
        gt=0,
        le=86_400,
        title="Time-out",
        description="Longest time for one attempt.",
        json_schema_extra={"x-unit": "s"},
    )
    max_result_bytes: int = Field(
        65_536,
        ge=1,
        le=1_000_000_000,
        title="Longest result",
        description="A longer result is cut there, and says so.",
        json_schema_extra={"x-unit": "bytes"},
    )
    on_error: Literal["tell", "fail"] = Field(
        "tell",
        title="When a call fails",
        description="tell gives the model the error as the result, so that it can mend its call;"
        " fail ends the conversation.",
    )
    retries: int = Field(
        2,
        ge=0,
        le=100,
        title="Retries",
        description="How often a call that failed for now is made again, where its tool says that"
        " calling it twice does no harm, or where nothing was sent.",
        json_schema_extra={"x-unit": "calls"},
    )
    retry_wait_s: float = Field(
        0.5,
        ge=0,
        le=3_600,
        title="Wait before a retry",
        description="Before the first retry; doubled for each further one. A server's own word"
        " goes before.",
        json_schema_extra={"x-unit": "s"},
    )
    allow_private: bool = Field(
        False,
        title="Private addresses",
        description="Lets HTTP tools call this machine and private networks. Without it they"
        " refuse, also after redirects and whatever a name leads to.",
    )


@dataclass(slots=True)
class Outcome:
    """What came of a call.

    Attributes:
        word: `ok`, `tool-error`, or the kind of the error.
        error: why it was not made or failed; None where it was answered.
    """

    answer: ToolAnswer
    word: str
    attempts: int = 0
    error: ToolError | None = None


class CallTool(Operator[ToolCallParams]):
    """Make each call and pass its result on.

    What a model can mend never ends a conversation: an unknown tool, arguments that do not fit
    the schema or did not come whole, an address that may not be called and a tool that failed
    become a result that says what is wrong. Each call is told at `control` with its outcome,
    its attempts and the time that it took.

    A tool says what calling it twice would do: a call of a non-idempotent one is made once,
    and an unknown outcome is told as one. Otherwise each attempt of a call carries the same
    idempotency key.

    Emits when: a call has been answered, or could not be made; one result each.
    Backpressures when: downstream does, or all workers are calling.
    Completes when: its input has ended and the last result has left.
    Fails when: a call fails and `on_error` is fail.
    """

    name = "tool-call"
    title = "Tool caller"
    category = "tools"
    summary = "Calls the tools that a model asks for."
    inputs = (Port("in", TOOL_CALL, "whole calls"),)
    outputs = (
        Port("out", TOOL_RESULT, "what the tools answered, or why they were not called"),
        Port("control", CONTROL, "one notice for each call: tool, outcome, attempts, time"),
    )
    Params: ClassVar = ToolCallParams
    requires: ClassVar = {"tools": "tools"}
    # The weakest that is true: which tools there are is said by the tool set, which may hold any.
    side_effects = SideEffects.NON_IDEMPOTENT
    default_policy: ClassVar = {"workers": 4, "reorder_capacity": 4}

    async def process(self, payload: ToolCall, scope: Scope) -> AsyncIterator[Emit | ToolResult]:
        """Yield the result, then the notice of how it came about."""
        began = scope.clock.now()
        outcome = await self._outcome(payload, scope)
        if outcome.error is not None and self.params.on_error == "fail":
            raise outcome.error
        content = _cut(outcome.answer, self.params.max_result_bytes)
        is_error = outcome.error is not None or outcome.answer.is_error
        yield ToolResult(payload.id, payload.name, content, is_error)
        notice = {
            "what": "tool-call",
            "tool": payload.name,
            "id": payload.id,
            "outcome": outcome.word,
            "attempts": outcome.attempts,
            "took_s": round(scope.clock.now() - began, 6),
        }
        yield Emit("control", Control("notice", notice))

    async def _outcome(self, call: ToolCall, scope: Scope) -> Outcome:
        tools: Tools = scope.resources["tools"]
        tool = tools.get(call.name)
        effect = ToolEffect.NON_IDEMPOTENT if tool is None else tools.effect_of(tool)
        context = ToolContext(
            scope.clock,
            tools.folders,
            "" if effect is ToolEffect.NONE else _key(call, scope),
            self.params.allow_private,
            self.params.max_result_bytes,
        )
        attempts = 0
        while True:
            try:
                if tool is None:
                    raise _unknown(call, tools)
                if call.arguments is None:
                    raise _unfit(call)
                attempts += 1
                answer = await self._attempt(tool, call, context, scope.deadline)
            except ToolError as error:
                wait_s = self._wait_s(error, effect, attempts, scope)
                if wait_s is None:
                    said = _told(error, effect)
                    return Outcome(ToolAnswer(said, is_error=True), error.kind, attempts, error)
                await scope.sleep(wait_s)
            else:
                return Outcome(answer, "tool-error" if answer.is_error else "ok", attempts)

    async def _attempt(
        self, tool: Tool, call: ToolCall, context: ToolContext, deadline: float | None
    ) -> ToolAnswer:
        limit_s = self.params.timeout_s
        if deadline is not None:
            # Whoever gives this call up then would learn nothing of it.
            limit_s = min(limit_s, max(0.0, deadline - context.clock.now()) * _OF_THE_DEADLINE)
        watch = WaitWatch(context.clock)
        try:
            return await watch.wait(tool.call(call.arguments or {}, context), limit_s)
        except TimeoutError:
            raise ToolError(
                f"the tool {call.name} did not answer within {limit_s:.3g} s",
                kind="timeout",
                is_transient=True,
                has_begun=True,
            ) from None
        finally:
            watch.close()

    def _wait_s(
        self, error: ToolError, effect: ToolEffect, attempts: int, scope: Scope
    ) -> float | None:
        """Return how long to wait before the next attempt; None where there shall be none."""
        is_safe = effect is not ToolEffect.NON_IDEMPOTENT or not error.has_begun
        if not (error.is_transient and is_safe) or attempts > self.params.retries:
            return None
        if error.retry_after_s is not None:
            return error.retry_after_s if error.retry_after_s <= _LONGEST_WAIT_S else None
        wait_s: float = self.params.retry_wait_s * 2 ** (attempts - 1)
        # Apart from others that failed at the same time, and the same in each run of a seed.
        return min(_LONGEST_WAIT_S, wait_s * scope.random.uniform(0.5, 1.0))


def _key(call: ToolCall, scope: Scope) -> str:
    """Return what tells this effect from any other, the same at every attempt."""
    place = scope.idempotency_key or (
        f"{scope.conversation}/{scope.turn}/{scope.node}/{scope.sequence}"
    )
    arguments = json.dumps(call.arguments, sort_keys=True, separators=(",", ":"))
    text = f"{place}\n{call.name}\n{arguments}"
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:_KEY_LETTERS]


def _unknown(call: ToolCall, tools: Tools) -> ToolError:
    known = ", ".join(tools.names()) or "none"
    name = shorten(call.name) or "without a name"
    return ToolError(f"there is no tool {name}; there are {known}", kind="unknown")


def _unfit(call: ToolCall) -> ToolError:
    if parse_arguments(call.arguments_raw) is None:
        said = shorten(call.arguments_raw)
        return ToolError(
            f"the arguments of {call.name} are no JSON object: {said}", kind="arguments"
        )
    return ToolError(
        f"the call of {call.name} broke off before it was whole, so it was not made",
        kind="arguments",
    )


def _told(error: ToolError, effect: ToolEffect) -> str:
    """Return the error as a model reads it."""
    is_unknown = error.kind in ("timeout", "unreachable") and error.has_begun
    if is_unknown and effect is ToolEffect.NON_IDEMPOTENT:
        return f"Error: {error}. Whether it took effect is not known; do not simply repeat it."
    return f"Error: {error}"


def _cut(answer: ToolAnswer, most: int) -> str:
    """Return what a tool answered, as far as it may go on."""
    data = answer.content.encode("utf-8", "replace")
    if len(data) <= most and not answer.is_cut:
        return data.decode()
    return f"{data[:most].decode('utf-8', 'ignore')}\n[cut after {most} bytes]"
