"""Tests of `tool-call`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from aiflow import tool
from aiflow.clock import SystemClock
from aiflow.errors import ToolError
from aiflow.events import ToolCall, ToolResult
from aiflow.operators.builtin.tool_call import CallTool, ToolCallParams
from aiflow.policies import SideEffects
from aiflow.testing.operators import OperatorRun, run_operator
from aiflow.tools.functions import PythonTool
from aiflow.tools.resource import Tools, ToolsParams
from aiflow.tools.tool import ToolAnswer, ToolContext


@tool(effect="none")
def double(number: int) -> int:
    """Double a number."""
    return 2 * number


def tools_of(*offers: PythonTool[..., Any], **params: Any) -> Tools:
    """Return a started set of these tools."""
    kind = Tools.offering({each.name: each for each in offers})
    names = tuple(each.name for each in offers)
    tools = kind("tools", ToolsParams(functions=names, **params), [Path("here")])
    asyncio.run(tools.start(SystemClock()))
    return tools


def called(tools: Tools, *calls: ToolCall, **params: Any) -> OperatorRun:
    """Return what comes of calls."""
    operator = CallTool(ToolCallParams(**params))
    return run_operator(operator, calls, resources={"tools": tools})


def result_of(tools: Tools, name: str, arguments: Any = None, **params: Any) -> ToolResult:
    """Return the result of one call."""
    call = ToolCall("c1", name, {} if arguments is None else arguments)
    (result,) = called(tools, call, **params).at("out")
    assert isinstance(result, ToolResult)
    return result


class Flaky:
    """A tool that fails as it is told, then answers.

    Attributes:
        keys: the idempotency key of each attempt.
    """

    def __init__(self, *errors: ToolError | None) -> None:
        self.errors = list(errors)
        self.keys: list[str] = []
        self.spec = double.spec
        self.effect = double.effect

    async def call(self, arguments: object, context: ToolContext) -> ToolAnswer:
        """Fail with the next error; answer where none is left."""
        self.keys.append(context.key)
        error = self.errors.pop(0) if self.errors else None
        if error is not None:
            raise error
        return ToolAnswer("well")


def flaky_set(effect: str, *errors: ToolError | None) -> tuple[Tools, Flaky]:
    """Return a set whose one tool fails as told."""
    tools = tools_of(double, effects={"double": effect})
    flaky = Flaky(*errors)
    tools._tools["double"] = flaky
    return tools, flaky


def transient(*, has_begun: bool, retry_after_s: float | None = None) -> ToolError:
    """Return an error that will pass."""
    return ToolError(
        "busy", kind="status", is_transient=True, has_begun=has_begun, retry_after_s=retry_after_s
    )


def test_a_call_is_made_and_its_result_has_its_id() -> None:
    """And it is told at `control` how it came about."""
    run = called(tools_of(double), ToolCall("c1", "double", {"number": 4}))

    assert run.at("out") == [ToolResult("c1", "double", "8")]
    (notice,) = run.at("control")
    assert notice.kind == "notice"
    assert notice.data == {
        "what": "tool-call",
        "tool": "double",
        "id": "c1",
        "outcome": "ok",
        "attempts": 1,
        "took_s": 0.0,
    }


def test_a_tool_that_is_not_there_is_told_to_the_model() -> None:
    """With those that are; nothing is called."""
    run = called(tools_of(double), ToolCall("c1", "triple", {}))

    assert run.at("out") == [
        ToolResult("c1", "triple", "Error: there is no tool triple; there are double", True)
    ]
    assert run.at("control")[0].data["outcome"] == "unknown"
    assert run.at("control")[0].data["attempts"] == 0


def test_arguments_that_do_not_fit_are_told_to_the_model() -> None:
    """With what is wrong with them."""
    result = result_of(tools_of(double), "double", {"number": "many"})

    assert result.is_error
    assert "number: Input should be a valid integer" in result.content


@pytest.mark.parametrize(
    ("raw", "says"),
    [('{"number": 1', 'are no JSON object: {"number": 1'), ("", "broke off before it was whole")],
)
def test_arguments_that_did_not_come_whole_are_not_called(raw: str, says: str) -> None:
    """Also where no text of them came at all."""
    tools, flaky = flaky_set("none")

    (result,) = called(tools, ToolCall("c1", "double", None, raw)).at("out")

    assert says in result.content
    assert result.is_error
    assert flaky.keys == []


def test_a_tool_that_raises_is_told_to_the_model() -> None:
    """And the conversation goes on."""

    @tool
    def fail() -> None:
        """Fail."""
        raise LookupError("no such row")

    result = result_of(tools_of(fail), "fail")

    assert result == ToolResult(
        "c1", "fail", "Error: the tool fail failed: LookupError: no such row", True
    )


def test_on_fail_the_error_ends_the_conversation() -> None:
    """For whoever would rather stop than go on with a wrong answer."""
    with pytest.raises(ToolError, match="there is no tool triple"):
        result_of(tools_of(double), "triple", on_error="fail")


def test_a_call_that_takes_too_long_is_given_up() -> None:
    """What it did is not known, and the model is told so."""

    @tool
    async def wait() -> None:
        """Wait."""
        await asyncio.sleep(1_000)

    run = called(tools_of(wait), ToolCall("c1", "wait", {}), timeout_s=5)

    assert run.took_s == 5
    assert run.at("out")[0].content == (
        "Error: the tool wait did not answer within 5 s. Whether it took effect is not known;"
        " do not simply repeat it."
    )
    assert run.at("control")[0].data["outcome"] == "timeout"


def test_a_call_is_given_up_before_the_node_gives_it_up() -> None:
    """So that its result is told, and not only that time was up."""

    @tool
    async def wait() -> None:
        """Wait."""
        await asyncio.sleep(1_000)

    operator = CallTool(ToolCallParams(timeout_s=100))

    class Hurried(CallTool):
        def process(self, payload: ToolCall, scope: Any) -> Any:
            scope.deadline = scope.clock.now() + 10
            return operator.process(payload, scope)

    run = run_operator(
        Hurried(ToolCallParams()), [ToolCall("c1", "wait", {})], resources={"tools": tools_of(wait)}
    )

    assert run.took_s == 9.5
    assert "did not answer within 9.5 s" in run.at("out")[0].content


def test_a_harmless_call_that_takes_too_long_is_made_again() -> None:
    """As often as `retries` says, each time with the full time-out."""

    @tool(effect="none")
    async def wait() -> None:
        """Wait."""
        await asyncio.sleep(1_000)

    run = called(tools_of(wait), ToolCall("c1", "wait", {}), timeout_s=5, retries=2, retry_wait_s=0)

    assert run.took_s == 15
    assert run.at("control")[0].data["attempts"] == 3
    assert "not known" not in run.at("out")[0].content


@pytest.mark.parametrize(
    ("effect", "has_begun", "attempts"),
    [
        *(("none", True, 3), ("idempotent", True, 3), ("none", False, 3)),
        *(("non_idempotent", True, 1), ("non_idempotent", False, 3)),
    ],
)
def test_only_what_may_be_done_twice_or_has_not_begun_is_tried_again(
    effect: str, has_begun: bool, attempts: int
) -> None:
    """Non-idempotent effects start at most once."""
    errors = [transient(has_begun=has_begun) for _ in range(9)]
    tools, flaky = flaky_set(effect, *errors)

    result = result_of(tools, "double", retries=2)

    assert len(flaky.keys) == attempts
    assert result.is_error


def test_an_error_that_will_not_pass_is_not_tried_again() -> None:
    """However harmless the tool."""
    tools, flaky = flaky_set("none", ToolError("no", kind="refused"))

    assert result_of(tools, "double").content == "Error: no"
    assert len(flaky.keys) == 1


def test_waits_double_and_a_servers_word_goes_before() -> None:
    """A server that asks for very long is not waited for."""
    soon = transient(has_begun=True)
    later = transient(has_begun=True, retry_after_s=7)
    never = transient(has_begun=True, retry_after_s=3_600)
    doubling, _ = flaky_set("none", soon, soon)
    asked, _ = flaky_set("none", later)
    hopeless, flaky = flaky_set("none", never)
    call = ToolCall("c1", "double", {})

    assert 1.5 <= called(doubling, call, retry_wait_s=1).took_s <= 3
    assert called(asked, call).took_s == 7
    assert called(hopeless, call).took_s == 0
    assert len(flaky.keys) == 1


def test_each_attempt_has_the_same_key_and_each_call_another() -> None:
    """Also two calls with the same arguments, which are two effects."""
    tools, flaky = flaky_set("idempotent", transient(has_begun=True))
    call = ToolCall("c1", "double", {"number": 1})

    called(tools, call, call)

    assert len(flaky.keys) == 3
    assert flaky.keys[0] == flaky.keys[1] != flaky.keys[2]
    assert all(len(key) == 32 for key in flaky.keys)


def test_a_harmless_call_needs_no_key() -> None:
    """Nothing would be done twice."""
    tools, flaky = flaky_set("none")

    result_of(tools, "double")

    assert flaky.keys == [""]


@pytest.mark.parametrize(
    ("text", "most", "shown"),
    [
        ("abc", 3, "abc"),
        ("abcd", 3, "abc\n[cut after 3 bytes]"),
        ("ääää", 3, "ä\n[cut after 3 bytes]"),
        ("half \ud83d", 100, "half ?"),
    ],
)
def test_a_long_result_is_cut_between_characters(text: str, most: int, shown: str) -> None:
    """And says so."""

    @tool
    def give() -> str:
        """Give."""
        return text

    assert result_of(tools_of(give), "give", max_result_bytes=most).content == shown


def test_a_tool_is_handed_where_it_stands() -> None:
    """The graph's folders, and whether private addresses are allowed."""

    @tool
    def stand(context: ToolContext) -> str:
        """Tell."""
        return f"{context.folders[0]} {context.allow_private} {context.max_bytes}"

    tools = tools_of(stand)

    assert result_of(tools, "stand").content == "here False 65536"
    given = result_of(tools, "stand", allow_private=True, max_result_bytes=9)
    assert given.content.startswith("here True")


def test_the_node_declares_the_worst_that_its_tools_may_do() -> None:
    """So that no policy of a node repeats what must not be repeated."""
    assert CallTool.side_effects is SideEffects.NON_IDEMPOTENT


def test_a_tool_that_says_itself_that_it_failed_has_answered() -> None:
    """Its own words are the result."""
    tools, flaky = flaky_set("none")

    async def answer(_arguments: object, _context: ToolContext) -> ToolAnswer:
        return ToolAnswer("no such city", is_error=True)

    replaced: Callable[..., Any] = answer
    flaky.call = replaced  # type: ignore[method-assign]

    run = called(tools, ToolCall("c1", "double", {}))

    assert run.at("out") == [ToolResult("c1", "double", "no such city", True)]
    assert run.at("control")[0].data["outcome"] == "tool-error"
