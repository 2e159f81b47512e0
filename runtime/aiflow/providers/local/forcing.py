"""Make a small model send what it was never taught: reasoning, or a tool call.

The server parses what the model writes and streams it in the real form of the wire:
`reasoning_content`, or fragments of `tool_calls`. Which of it the model writes is forced, by
a chat template and a grammar for reasoning, by a begun answer for tool calls; so the form is
real, and what it says there means little.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Literal

from aiflow.providers.messages import ChatMessage, ChatRequest

Force = Literal["nothing", "reasoning", "tool-call"]

# What the tool template lets a call begin and end with.
_OPENED, _CLOSED = "<tool_call>\n", "</tool_call>"


@dataclass(frozen=True, slots=True)
class Forcing:
    """What a server is started with, for everything it will be asked.

    Attributes:
        template: chat template in place of the model's own; "" for none.
        grammar: what every answer must obey; "" for none.
    """

    template: str = ""
    grammar: str = ""


def forcing(force: Force) -> Forcing:
    """Return what makes a server do it."""
    if force == "reasoning":
        return Forcing(_text("reasoning.jinja"), _text("reasoning.gbnf"))
    if force == "tool-call":
        return Forcing(_text("tool_call.jinja"))
    return Forcing()


def forced(request: ChatRequest, force: Force) -> ChatRequest:
    """Return the request that a server started so must get.

    Where there are tools, the answer is begun for the model as a call; it ends with that one
    call. After a tool has answered the model is free, so a loop through tools comes to an end.
    """
    may_call = bool(request.tools) and request.tool_choice != "none"
    is_free = not may_call or request.messages[-1].role == "tool"
    if force != "tool-call" or is_free:
        return request
    return replace(
        request,
        messages=(*request.messages, ChatMessage("assistant", _OPENED)),
        sampling=replace(request.sampling, stop=(*request.sampling.stop, _CLOSED)),
        tool_choice="required",
    )


def _text(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
