"""Tests of `aiflow.tools.functions`."""

from __future__ import annotations

import asyncio
import threading
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from aiflow import tool
from aiflow.clock import VirtualClock, VirtualLoop
from aiflow.testing.virtual import run_virtual
from aiflow.tools.tool import ToolContext, ToolEffect
from tests.runtime.tools.calling import call, context, fault


class Place(BaseModel):
    """Somewhere."""

    name: str


@tool(effect="none")
def weather(
    place: Annotated[str, Field(description="A town.")],
    days: Annotated[int, Field(ge=1, le=7)] = 1,
    unit: Literal["C", "F"] = "C",
) -> str:
    """Tell the weather.

    Of one place.
    """
    return f"{place} {days} {unit}"


def test_the_schema_is_read_off_the_types() -> None:
    """With bounds, choices and defaults; the docstring is the description."""
    assert weather.spec.name == "weather"
    assert weather.spec.description == "Tell the weather.\n\nOf one place."
    assert weather.effect is ToolEffect.NONE
    assert weather.spec.parameters == {
        "type": "object",
        "properties": {
            "place": {"type": "string", "description": "A town."},
            "days": {"type": "integer", "minimum": 1, "maximum": 7, "default": 1},
            "unit": {"type": "string", "enum": ["C", "F"], "default": "C"},
        },
        "required": ["place"],
        "additionalProperties": False,
    }


def test_a_tool_is_still_the_function_that_it_was() -> None:
    """Its author can call and test it."""
    assert weather("Oslo", days=2) == "Oslo 2 C"


def test_arguments_are_fitted_to_the_types() -> None:
    """What is left out keeps the function's own default."""
    assert call(weather, {"place": "Oslo", "days": "3"}).content == "Oslo 3 C"


def test_arguments_that_do_not_fit_are_all_named() -> None:
    """So that the model mends them at once; the function is not called."""
    error = fault(weather, {"days": 9, "speed": 1})

    assert error.kind == "arguments"
    assert not error.has_begun
    said = str(error)
    assert "place: Field required" in said
    assert "days: Input should be less than or equal to 7" in said
    assert "speed: Extra inputs are not permitted" in said


def test_an_argument_may_have_any_name() -> None:
    """Also one that a model's class has a method of."""

    @tool
    def odd(copy: int, model_config: str, schema: list[int]) -> Any:
        """Take odd names."""
        return [copy, model_config, schema]

    given = {"copy": 1, "model_config": "x", "schema": [2]}
    assert call(odd, given).content == '[1,"x",[2]]'
    assert set(odd.spec.parameters["properties"]) == set(given)


@pytest.mark.parametrize(
    ("result", "text"),
    [("plain", "plain"), (3, "3"), (None, "null"), (Place(name="x"), '{"name":"x"}')],
)
def test_a_result_is_text_or_json(result: object, text: str) -> None:
    """A text is handed on as it is."""

    @tool
    def give() -> Any:
        """Give."""
        return result

    assert call(give, {}).content == text


def test_a_result_that_json_has_no_word_for_is_shown_as_text() -> None:
    """The model gets something, and the call has not failed."""

    @tool
    def give() -> Any:
        """Give."""
        return {"thing": object()}

    assert "object object at" in call(give, {}).content


def test_what_a_function_raises_is_an_error_that_can_be_read() -> None:
    """Without what looks like a key, and it may have taken effect."""

    @tool
    def fail() -> None:
        """Fail."""
        raise LookupError("no row for sk-proj-0123456789abcdef")

    error = fault(fail, {})

    assert str(error) == "the tool fail failed: LookupError: no row for [redacted]"
    assert (error.kind, error.has_begun, error.is_transient) == ("failed", True, False)


def test_a_stop_iteration_of_a_thread_is_an_error_and_no_wait_for_ever() -> None:
    """No future takes it: `next` of nothing is easily written, and its caller heard nothing."""

    @tool
    def first() -> str:
        """Tell the first of none."""
        return next(iter(()))

    assert str(fault(first, {})) == "the tool first failed: RuntimeError: it raised StopIteration"


def test_a_plain_function_runs_in_a_thread_of_its_own() -> None:
    """It may block, and the loop goes on."""

    @tool
    def where() -> str:
        """Tell the thread."""
        return threading.current_thread().name

    assert call(where, {}).content == "aiflow-tool-where"


def test_a_coroutine_function_is_awaited_on_the_loop() -> None:
    """In the thread of the loop."""

    @tool
    async def where() -> str:
        """Tell the thread."""
        return threading.current_thread().name

    assert call(where, {}).content == threading.current_thread().name


def test_on_the_virtual_clock_nothing_leaves_the_loop() -> None:
    """A run is the same each time."""

    @tool
    def where() -> str:
        """Tell the thread."""
        return threading.current_thread().name

    async def scenario() -> str:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        return (await where.call({}, ToolContext(VirtualClock(loop)))).content

    assert run_virtual(scenario()) == threading.current_thread().name


def test_a_cancelled_call_lets_its_caller_go() -> None:
    """The thread cannot be stopped; nobody waits for it, and nothing complains afterwards."""
    begun, may_end, ended = threading.Event(), threading.Event(), threading.Event()

    @tool
    def slow() -> None:
        """Wait."""
        begun.set()
        may_end.wait(10)
        ended.set()

    async def scenario() -> None:
        task = asyncio.get_running_loop().create_task(slow.call({}, context()))
        await asyncio.to_thread(begun.wait, 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(scenario())
    may_end.set()

    assert ended.wait(10)


def test_the_context_is_handed_in_and_not_shown_to_the_model() -> None:
    """It tells the key of the call, and the folders."""

    @tool
    def key(context: ToolContext) -> str:
        """Tell the key."""
        return context.key

    assert key.spec.parameters.get("properties", {}) == {}
    assert call(key, {}, key="k1").content == "k1"
    assert fault(key, {"context": 1}).kind == "arguments"


def _untyped(a): ...


def _star(*a: int) -> None: ...


def _position(a: int, /) -> None: ...


@pytest.mark.parametrize(
    ("function", "says"),
    [(_untyped, "give the argument a a type"), (_star, "cannot give"), (_position, "cannot give")],
)
def test_a_function_that_a_model_cannot_call_is_refused(function: Any, says: str) -> None:
    """When it is decorated, not when a model asks."""
    with pytest.raises(TypeError, match=says):
        tool(name="t")(function)


def test_a_name_that_providers_refuse_is_refused() -> None:
    """A space, or none at all."""
    with pytest.raises(TypeError, match="letters, digits"):
        tool(name="two words")(lambda: None)


def test_the_calendar_of_the_virtual_clock_is_always_the_same() -> None:
    """And that of the real clock is today's."""

    async def scenario() -> str:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        clock = VirtualClock(loop)
        await clock.sleep(90)
        return ToolContext(clock).utc_now().isoformat()

    assert run_virtual(scenario()) == "2026-01-01T00:01:30+00:00"
    assert context().utc_now().utcoffset() is not None
