"""Tests of `aiflow.providers.local.forcing`."""

from __future__ import annotations

import pytest

from aiflow.events import ToolCall
from aiflow.providers.local.forcing import Force, forced, forcing
from aiflow.providers.messages import ChatMessage, ChatRequest, Sampling, ToolSpec

ASKED = ChatMessage("user", "What is the weather?")
TOOLS = (ToolSpec("weather"),)


@pytest.mark.parametrize(
    ("force", "in_template", "in_grammar"),
    [("nothing", "", ""), ("reasoning", "<think>", "</think>"), ("tool-call", "<tool_call>", "")],
)
def test_a_server_is_started_with_what_makes_it_do_it(
    force: Force, in_template: str, in_grammar: str
) -> None:
    """Nothing replaces the model's own template where nothing is forced."""
    started_with = forcing(force)

    assert bool(started_with.template) == bool(in_template)
    assert in_template in started_with.template
    assert bool(started_with.grammar) == bool(in_grammar)
    assert in_grammar in started_with.grammar


def test_a_request_with_tools_is_begun_as_one_call() -> None:
    """The model goes on from there, and ends where the call does; what was asked for stays."""
    request = ChatRequest(
        "m", (ASKED,), "Be brief.", TOOLS, sampling=Sampling(temperature=0, stop=("X",))
    )

    sent = forced(request, "tool-call")

    assert sent.messages == (ASKED, ChatMessage("assistant", "<tool_call>\n"))
    assert sent.sampling == Sampling(temperature=0, stop=("X", "</tool_call>"))
    assert sent.tool_choice == "required"
    assert (sent.model, sent.system, sent.tools) == ("m", "Be brief.", TOOLS)


def test_after_a_tool_has_answered_the_model_is_free() -> None:
    """Else a loop through tools would never end."""
    call = ChatMessage("assistant", "", (ToolCall("c1", "weather", {}, "{}"),))
    answered = ChatRequest("m", (ASKED, call, ChatMessage("tool", "7", (), "c1")), "", TOOLS)

    assert forced(answered, "tool-call") is answered


@pytest.mark.parametrize("force", ["nothing", "reasoning"])
def test_without_forced_calls_a_request_stays_as_it_is(force: Force) -> None:
    """Reasoning is the server's alone; and without tools there is nothing to call."""
    with_tools, without = ChatRequest("m", (ASKED,), "", TOOLS), ChatRequest("m", (ASKED,))

    assert forced(with_tools, force) is with_tools
    assert forced(without, "tool-call") is without


def test_a_request_that_forbids_calls_is_heeded() -> None:
    """Then the model answers in words, though there are tools."""
    forbidden = ChatRequest("m", (ASKED,), tools=TOOLS, tool_choice="none")

    assert forced(forbidden, "tool-call") is forbidden
