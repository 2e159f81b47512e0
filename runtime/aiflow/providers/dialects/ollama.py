"""`ollama`: the chat endpoint of Ollama, and its older generate endpoint's answers.

One JSON object a line. Tool calls come whole, with their arguments as an object; an error in
mid-stream is a line of its own, after which no `done` comes.

Source: https://docs.ollama.com/api and what servers of several versions send.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from aiflow.events import Control, Payload
from aiflow.providers.dialect import HttpCall
from aiflow.providers.failure import Failure
from aiflow.providers.finish import finish_word, is_error_word
from aiflow.providers.messages import ChatMessage, ChatRequest, Reasoning
from aiflow.providers.profile import ModelProfile
from aiflow.providers.text import ChoiceText, scrub_all
from aiflow.providers.tool_calls import ToolCalls
from aiflow.providers.values import count, raw_text, text

_PATH = "/api/chat"


class Ollama:
    """The dialect."""

    name = "ollama"

    def url(self, endpoint: str, path: str) -> str:
        """Return the address below the endpoint; an endpoint may name the call or `/api` itself."""
        parts = urlsplit(endpoint)
        base = parts.path.rstrip("/").removesuffix(path).removesuffix("/api")
        return urlunsplit(parts._replace(path=base + path))

    def encode(self, request: ChatRequest, profile: ModelProfile) -> HttpCall:
        """Return the HTTP call that asks for a stream."""
        messages = [_message(message) for message in request.messages]
        if request.system:
            messages.insert(0, {"role": profile.system_role, "content": request.system})
        body: dict[str, Any] = {"model": request.model, "messages": messages, "stream": True}
        # There is no field that forbids calls.
        if request.tools and request.tool_choice != "none":
            body["tools"] = [tool.as_function() for tool in request.tools]
        sampling = request.sampling
        given = {
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "num_predict": sampling.max_tokens,
            "stop": list(sampling.stop) or None,
            "seed": sampling.seed,
        }
        options = {name: value for name, value in given.items() if value is not None}
        if options:
            body["options"] = options
        if request.reasoning is not None and profile.reasoning != "fixed":
            body["think"] = _think(request.reasoning, profile)
        body |= request.extra
        return HttpCall(_PATH, json.dumps(body).encode(), {"accept": "application/x-ndjson"})

    def credential_headers(self, secret: str) -> dict[str, str]:
        """Return the headers that carry the key (a local server asks for none)."""
        return {"authorization": f"Bearer {secret}"}

    def reader(self, profile: ModelProfile) -> OllamaReader:
        """Return a reader for one answer."""
        return OllamaReader(profile)


class OllamaReader:
    """Reads the lines of one answer.

    Attributes:
        failure: set once the server has reported an error.
        is_at_end: set by the line that says `done`.
    """

    says_more_after_error = False

    def __init__(self, profile: ModelProfile) -> None:
        self.failure: Failure | None = None
        self.is_at_end = False
        self._text = ChoiceText(0, profile)
        self._calls = ToolCalls(0)
        self._raw: str | None = None
        self._usage: Mapping[str, Any] | None = None
        self._is_started = False

    def read(self, value: Mapping[str, Any], *, is_event: bool) -> list[Payload]:
        """Return the payloads of one line."""
        if value.get("error"):
            self.failure = Failure.of_report(value["error"], value)
            return []
        payloads: list[Payload] = []
        if not self._is_started:
            self._is_started = True
            payloads.append(Control("start", {"model": text(value.get("model")), "id": ""}))
        message = value.get("message")
        # The generate endpoint has the same fields one level up, its text as `response`.
        delta = (
            message if isinstance(message, Mapping) else {**value, "content": value.get("response")}
        )
        payloads += self._read_delta(delta)
        if value.get("done") is True:
            self.is_at_end = True
            self._raw = text(value.get("done_reason")) or None
            self._usage = value
            if is_error_word(self._raw):
                self.failure = Failure(f"the server stopped with {self._raw}", code=self._raw)
        return payloads

    def release(self) -> list[Payload]:
        """Return what was held back, then the usage."""
        payloads: list[Payload] = [*self._text.end(), *self._calls.end()]
        if self._usage is not None and (usage := _usage(self._usage)):
            payloads.append(Control("usage", usage))
        return payloads

    def finish(self, *, is_marked: bool) -> list[Control]:
        """Return the `finish` control."""
        word = finish_word(self._raw, has_calls=len(self._calls) > 0, is_marked=is_marked)
        return [Control("finish", {"choice": 0, "reason": word, "raw": self._raw})]

    def last_word(self) -> str | None:
        """Return the server's finish word."""
        return self._raw

    def _read_delta(self, delta: Mapping[str, Any]) -> list[Payload]:
        payloads: list[Payload] = list(self._text.add("reasoning", raw_text(delta.get("thinking"))))
        payloads += self._text.answer(raw_text(delta.get("content")))
        calls = delta.get("tool_calls")
        for entry in calls if isinstance(calls, list) else []:
            if isinstance(entry, Mapping):
                payloads.append(self._calls.add(entry, is_whole=True))
        return payloads


def _think(wanted: Reasoning, profile: ModelProfile) -> bool | str:
    """Return whether the model shall think; models of the gpt-oss family take a level."""
    if profile.reasoning == "switch":
        return wanted.tokens > 0
    return "low" if wanted.level in ("none", "minimal") else wanted.level


def _message(message: ChatMessage) -> dict[str, Any]:
    body: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.name:
        body["tool_name"] = message.name
    if message.tool_calls:
        if thought := "".join(each.text for each in message.thoughts):
            body["thinking"] = thought
        body["tool_calls"] = [
            {"function": {"name": call.name, "arguments": dict(call.arguments or {})}}
            for call in message.tool_calls
        ]
    return body


def _usage(line: Mapping[str, Any]) -> dict[str, Any]:
    """Return the counts of the last line; {} where it has none, as for a prompt from a cache."""
    raw = {name: line[name] for name in line if name.endswith(("_count", "_duration"))}
    counts = {
        "input": count(line.get("prompt_eval_count")),
        "output": count(line.get("eval_count")),
    }
    if not any(number is not None for number in counts.values()):
        return {}
    return {**counts, "total": None, "reasoning": None, "cached_input": None, "raw": scrub_all(raw)}


dialect = Ollama()
