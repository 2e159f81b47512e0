"""Tests of `@operator`: what is read off a function's types."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Iterator
from typing import Annotated, Any

import pytest
from pydantic import Field

import aiflow
from aiflow import Flow, operator
from aiflow.events import Audio, Chunk, Message, Token
from aiflow.operators.base import Emit, NoParams, Port
from aiflow.operators.registry import operator_fault
from aiflow.operators.scope import Scope
from aiflow.policies import State
from aiflow.testing.contracts import operator_faults
from aiflow.testing.operators import run_operator
from aiflow.types import ANY, CHUNK, TEXT, TOKEN


@operator
def shout_it(payload: Token | Chunk | Message, *, mark: str = "!") -> Chunk:
    """Says it louder."""
    return Chunk(payload.text.upper() + mark)


@operator(name="twice", max_outputs=2, category="flow", state=State.SERIALIZED)
def repeated(
    payload: Token,
    scope: Scope,
    *,
    times: Annotated[int, Field(ge=1, le=2, title="Times", description="How often.")] = 2,
) -> list[Token]:
    """Repeat each token.

    Emits when: a token arrives.
    Backpressures when: downstream does.
    Completes when: its input has ended.
    Fails when: never.
    """
    return [Token(f"{payload.text}{scope.conversation}")] * times


@operator
def lazily(payload: Any) -> Iterator[Token]:
    """Yield two."""
    yield Token("a")
    yield Token("b")


@operator
async def waiting(payload: Token, scope: Scope) -> Token | None:
    """Wait, then pass on what is not empty."""
    await scope.sleep(1)
    return payload if payload.text else None


@operator
async def streaming(payload: Token) -> AsyncIterator[Token]:
    """Yield it and another."""
    yield payload
    yield Token("more")


@operator
def swallow(payload: Token) -> None:
    """Take it."""


def test_ports_params_and_words_come_from_the_function() -> None:
    """Name, types, docstring."""
    assert (shout_it.name, shout_it.title, shout_it.summary) == (
        *("shout-it", "Shout it", "Says it louder."),
    )
    assert [(port.name, port.type) for port in shout_it.inputs] == [("in", TEXT)]
    assert [(port.name, port.type) for port in shout_it.outputs] == [("out", CHUNK)]
    assert shout_it.Params.model_fields["mark"].title == "Mark"
    assert operator_fault(shout_it) == ""
    assert (swallow.outputs, swallow.category, swallow.Params) == ((), "sinks", NoParams)
    assert lazily.inputs[0].type is ANY
    assert lazily.outputs[0].type is TOKEN


def test_what_a_class_can_say_the_decorator_can_too() -> None:
    """And a whole one passes the suite that holds for every operator."""
    assert (repeated.name, repeated.max_outputs, repeated.category) == ("twice", 2, "flow")
    assert repeated.state is State.SERIALIZED
    assert operator_faults(repeated) == []


@pytest.mark.parametrize(
    ("made", "payload", "expected"),
    [
        (shout_it, Token("hi"), [Chunk("HI!")]),
        (repeated, Token("x"), [Token("xc1"), Token("xc1")]),
        (lazily, Token("x"), [Token("a"), Token("b")]),
        (waiting, Token("x"), [Token("x")]),
        (waiting, Token(""), []),
        (streaming, Token("x"), [Token("x"), Token("more")]),
        (swallow, Token("x"), []),
    ],
)
def test_each_kind_of_function_does_what_it_says(made: Any, payload: Any, expected: Any) -> None:
    """Plain, list, generator, coroutine, async generator, sink."""
    outputs = run_operator(made(made.Params()), [payload]).outputs

    assert [output for _, output in outputs] == expected


def test_the_engine_sees_what_kind_it_is() -> None:
    """A coroutine stays one: it is not run inline by mistake."""
    assert inspect.iscoroutinefunction(waiting.process)
    assert inspect.isasyncgenfunction(streaming.process)
    assert not inspect.iscoroutinefunction(shout_it.process)


def test_it_runs_in_a_flow_that_brings_it_along() -> None:
    """No installation, no entry point."""
    flow = Flow(max_conversations=1)
    source = flow.synthetic("s", count=2, text="a{n}")
    source >> flow.add(shout_it, "loud", {"mark": "? "}) >> flow.screen("screen")

    assert aiflow.run(flow, clock="virtual").shown["screen"].split() == ["A1?", "A2?"]


def test_ports_may_be_named() -> None:
    """Where there is more than one way out."""

    @operator(outputs=[Port("left", TOKEN, "l"), Port("right", TOKEN, "r")])
    def split(payload: Token) -> Emit:
        """Send it right."""
        return Emit("right", payload)

    assert run_operator(split(split.Params()), [Token("x")]).outputs == [("right", Token("x"))]


def faulty() -> dict[str, Any]:
    """Return functions that do not say enough, by what is said of them."""

    def nothing() -> None: ...

    def untyped(payload, *, x: int = 1) -> Token: ...  # type: ignore[empty-body]

    def of_text(payload: str) -> Token: ...  # type: ignore[empty-body]

    def gives_text(payload: Token) -> str: ...  # type: ignore[empty-body]

    def positional(payload: Token, x: int = 1) -> Audio: ...  # type: ignore[empty-body]

    return {
        "first argument must be the payload": nothing,
        "argument payload needs a payload's type": untyped,
        "the argument payload needs": of_text,
        "the result needs a payload's type": gives_text,
        r"put \* before x": positional,
    }


@pytest.mark.parametrize("says", faulty())
def test_a_function_that_does_not_say_enough_is_refused(says: str) -> None:
    """At once, with what is missing."""
    with pytest.raises(TypeError, match=says):
        operator(faulty()[says])


def test_an_unknown_declaration_is_refused() -> None:
    """A misspelt one would do nothing."""
    with pytest.raises(TypeError, match="an operator has no max_output"):
        operator(max_output=3)(lambda payload: None)


@operator
def forgets(payload: Token) -> Token:
    """Return the bare text."""
    return payload.text  # type: ignore[return-value]


@operator
async def forgets_one(payload: Token, scope: Scope) -> list[Token]:
    """Return a list with a wrong output in it."""
    return [payload, Message("b")]  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (forgets, "forgets returned a str, and its result is said to be a Token"),
        (forgets_one, "forgets_one returned a Message, and its result is said to be a Token"),
    ],
)
def test_a_result_of_another_type_fails_where_it_is_made(made: Any, says: str) -> None:
    """The author is told, and not that the next node could not read it."""
    flow = Flow("Wrong", max_conversations=1)
    flow.synthetic("s", count=1) >> flow.add(made, "wrong") >> flow.screen("screen")

    result = aiflow.run(flow, clock="virtual")

    assert result.status == "failed"
    assert "node wrong failed" in str(result.error)
    assert says in str(result.error)
