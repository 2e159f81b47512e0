"""`anthropic-messages`: Anthropic's Messages API, and servers that copy it.

An answer is a list of blocks, each opened, continued by deltas and closed; a message of its own
tells why it ended and what it cost. The API has no seed. While a model thinks, it takes no
temperature, and its longest answer includes the reasoning.

Source: https://docs.claude.com/en/api/messages-streaming and what servers send.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from aiflow.events import Control, Payload, Retrieval
from aiflow.providers.dialect import HttpCall
from aiflow.providers.failure import Failure
from aiflow.providers.finish import finish_word
from aiflow.providers.messages import ChatMessage, ChatRequest, Thought
from aiflow.providers.profile import ModelProfile
from aiflow.providers.text import ChoiceText, scrub, scrub_all
from aiflow.providers.tool_calls import ToolCalls
from aiflow.providers.values import count, mapping, objects, raw_text, text

_PATH = "/v1/messages"
_VERSION = "2023-06-01"
# The API refuses to think in less.
_LEAST_BUDGET = 1024
_CHOICES = {"none": "none", "required": "any"}


class AnthropicMessages:
    """The dialect."""

    name = "anthropic-messages"

    def url(self, endpoint: str, path: str) -> str:
        """Return the address below the endpoint, which may name the call or `/v1` itself."""
        parts = urlsplit(endpoint)
        base = parts.path.rstrip("/").removesuffix(path).removesuffix("/v1")
        return urlunsplit(parts._replace(path=base + path))

    def encode(self, request: ChatRequest, profile: ModelProfile) -> HttpCall:
        """Return the HTTP call that asks for a stream."""
        sampling = request.sampling
        body: dict[str, Any] = {
            "model": request.model,
            "max_tokens": sampling.max_tokens or profile.max_tokens,
            "messages": _messages(request.messages),
            "stream": True,
        }
        if system := _system(request):
            body["system"] = system
        if request.tools:
            body["tools"] = [
                {
                    "name": tool.name,
                    "description": tool.description,
                    "input_schema": dict(tool.parameters),
                }
                for tool in request.tools
            ]
            if request.tool_choice != "auto":
                body["tool_choice"] = {"type": _CHOICES[request.tool_choice]}
        thinking = _thinking(request, profile)
        if profile.takes_sampling and not thinking:
            given = {"temperature": sampling.temperature, "top_p": sampling.top_p}
            body |= {name: value for name, value in given.items() if value is not None}
        if sampling.stop:
            body["stop_sequences"] = list(sampling.stop)
        body["max_tokens"] += thinking.get("thinking", {}).get("budget_tokens", 0)
        body |= thinking
        body |= request.extra
        headers = {"accept": "text/event-stream", "anthropic-version": _VERSION}
        return HttpCall(_PATH, json.dumps(body).encode(), headers)

    def credential_headers(self, secret: str) -> dict[str, str]:
        """Return the headers that carry the key."""
        return {"x-api-key": secret}

    def reader(self, profile: ModelProfile) -> MessagesReader:
        """Return a reader for one answer."""
        return MessagesReader(profile)


class MessagesReader:
    """Reads the events of one answer, or one whole message.

    Attributes:
        failure: set once the provider has reported an error.
        is_at_end: set by `message_stop`.
    """

    says_more_after_error = False

    def __init__(self, profile: ModelProfile) -> None:
        self.failure: Failure | None = None
        self.is_at_end = False
        self._text = ChoiceText(0, profile)
        self._calls = ToolCalls(0)
        self._blocks: dict[int, _Block] = {}
        self._usage: dict[str, Any] = {}
        self._raw: str | None = None
        self._sources: set[str] = set()

    def read(self, value: Mapping[str, Any], *, is_event: bool) -> list[Payload]:
        """Return the payloads of one event."""
        kind = value.get("type")
        payloads: list[Payload] = []
        if kind == "message_start":
            payloads += self._start(mapping(value.get("message")))
        elif kind == "content_block_start":
            payloads += self._open(_place(value), mapping(value.get("content_block")))
        elif kind == "content_block_delta":
            payloads += self._continue(_place(value), mapping(value.get("delta")))
        elif kind == "content_block_stop":
            payloads += self._close(_place(value))
        elif kind == "message_delta":
            self._note_end(mapping(value.get("delta")), value.get("usage"))
        elif kind == "message_stop":
            self.is_at_end = True
        elif kind == "ping":
            payloads.append(Control("keep-alive", {"text": "ping"}))
        elif kind == "message":
            payloads += self._read_whole(value)
        elif value.get("error") or not is_event:
            self.failure = Failure.of_body(value, "a message")
        else:
            payloads.append(_opaque("event", value))
        return payloads

    def release(self) -> list[Payload]:
        """Return what was held back, then the usage."""
        payloads: list[Payload] = []
        for place in list(self._blocks):
            payloads += self._close(place)
        payloads += self._text.end()
        payloads += self._calls.end()
        if self._usage:
            payloads.append(Control("usage", _counts(self._usage)))
        return payloads

    def finish(self, *, is_marked: bool) -> list[Control]:
        """Return the `finish` control."""
        has_calls = len(self._calls) > 0
        word = finish_word(self._raw, has_calls=has_calls, is_marked=is_marked)
        return [Control("finish", {"choice": 0, "reason": word, "raw": self._raw})]

    def last_word(self) -> str | None:
        """Return the provider's stop reason."""
        return self._raw

    def _start(self, message: Mapping[str, Any]) -> list[Payload]:
        self._note_usage(message.get("usage"))
        start = {"model": text(message.get("model")), "id": text(message.get("id"))}
        return [Control("start", start)]

    def _note_end(self, delta: Mapping[str, Any], usage: object) -> None:
        self._raw = text(delta.get("stop_reason")) or self._raw
        self._note_usage(usage)

    def _note_usage(self, usage: object) -> None:
        # Running totals: the last known number of each stands, nothing is added up.
        known = mapping(usage)
        self._usage |= {name: part for name, part in known.items() if part is not None}

    def _read_whole(self, message: Mapping[str, Any]) -> list[Payload]:
        payloads = self._start(message)
        for place, block in enumerate(objects(message.get("content"))):
            payloads += self._open(place, block)
            payloads += self._close(place)
        self._note_end(message, None)
        self.is_at_end = True
        return payloads

    def _open(self, place: int, content: Mapping[str, Any]) -> list[Payload]:
        block = self._blocks[place] = _Block(content)
        payloads: list[Payload] = []
        if block.kind == "tool_use":
            function = {"name": content.get("name")}
            entry = {"index": place, "id": content.get("id"), "function": function}
            payloads.append(self._calls.add(entry))
        elif block.kind == "redacted_thinking":
            payloads.append(_notice("opaque-reasoning", place, data=text(content.get("data"))))
        elif block.kind.endswith("_tool_result"):
            payloads += self._results(content)
        elif block.kind == "text":
            payloads += self._text.answer(raw_text(content.get("text")))
        elif block.kind == "thinking":
            payloads += self._text.add("reasoning", raw_text(content.get("thinking")))
        elif not block.is_server_call:
            payloads.append(_opaque("block", content))
        if signature := text(content.get("signature")):
            payloads.append(_notice("signature", place, data=signature))
        for citation in objects(content.get("citations")):
            payloads += self._cite(place, citation)
        return payloads

    def _continue(self, place: int, delta: Mapping[str, Any]) -> list[Payload]:
        kind = delta.get("type")
        if kind == "text_delta":
            return list(self._text.answer(raw_text(delta.get("text"))))
        if kind == "thinking_delta":
            return list(self._text.add("reasoning", raw_text(delta.get("thinking"))))
        if kind == "input_json_delta":
            return self._add_input(place, raw_text(delta.get("partial_json")))
        if kind == "citations_delta":
            return self._cite(place, mapping(delta.get("citation")))
        if kind == "signature_delta":
            return [_notice("signature", place, data=text(delta.get("signature")))]
        return [_opaque("delta", delta)]

    def _add_input(self, place: int, piece: str) -> list[Payload]:
        block = self._blocks.setdefault(place, _Block({"type": "tool_use"}))
        if not piece:
            return []
        block.input.append(piece)
        if block.kind != "tool_use":
            return []
        return [self._calls.add({"index": place, "function": {"arguments": piece}})]

    def _close(self, place: int) -> list[Payload]:
        block = self._blocks.pop(place, None)
        if block is None:
            return []
        if block.kind == "tool_use" and block.given and not block.input:
            # Some servers send the whole input at once, where the API has an empty object.
            return [self._calls.add({"index": place, "function": {"arguments": block.given}})]
        if block.is_server_call:
            raw = scrub("".join(block.input)) or json.dumps(block.given)
            return [_notice("server-tool", place, id=block.id, name=block.name, arguments=raw)]
        return []

    def _results(self, content: Mapping[str, Any]) -> list[Payload]:
        """Return what a tool of the provider's own has found."""
        found = objects(content.get("content")) or [mapping(content.get("content"))]
        documents = [entry for entry in found if entry.get("url")]
        self._sources |= {text(entry.get("url")) for entry in documents}
        return [_retrieval(entry) for entry in documents] or [_opaque("block", content)]

    def _cite(self, place: int, citation: Mapping[str, Any]) -> list[Payload]:
        """Return a citation: a document of its own unless a search has brought it already."""
        if text(citation.get("url")) in self._sources:
            return [_notice("citation", place, citation=scrub_all(citation))]
        return [_retrieval(citation)]


class _Block:
    """One block of the answer, while it is open."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.kind = text(content.get("type"))
        self.id = text(content.get("id"))
        self.name = text(content.get("name"))
        self.given: Mapping[str, Any] = scrub_all(mapping(content.get("input")))
        self.input: list[str] = []

    @property
    def is_server_call(self) -> bool:
        """Whether the provider calls the tool itself, so that nobody here must answer."""
        return self.kind in ("server_tool_use", "mcp_tool_use")


def _place(value: Mapping[str, Any]) -> int:
    return count(value.get("index")) or 0


def _notice(what: str, place: int, **data: Any) -> Control:
    return Control("notice", {"what": what, "block": place, **data})


def _opaque(what: str, value: Mapping[str, Any]) -> Control:
    """Return what this reader does not know, as it came."""
    return Control("notice", {"what": f"unknown-{what}", "raw": scrub_all(value)})


def _retrieval(source: Mapping[str, Any]) -> Retrieval:
    number = count(source.get("document_index"))
    return Retrieval(
        id=text(source.get("file_id")) or ("" if number is None else str(number)),
        title=text(source.get("title")) or text(source.get("document_title")),
        url=text(source.get("url")) or text(source.get("source")),
        text=text(source.get("cited_text")),
        raw=scrub_all(source),
    )


def _counts(usage: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "input": count(usage.get("input_tokens")),
        "output": count(usage.get("output_tokens")),
        "total": None,
        "reasoning": None,
        "cached_input": count(usage.get("cache_read_input_tokens")),
        "raw": scrub_all(usage),
    }


def _system(request: ChatRequest) -> str:
    told = [message.content for message in request.messages if message.role == "system"]
    return "\n\n".join(filter(None, [request.system, *told]))


def _messages(messages: Iterable[ChatMessage]) -> list[dict[str, Any]]:
    """Return the turns; what one side says in a row is one turn, as the API wants it."""
    turns: list[dict[str, Any]] = []
    for message in messages:
        blocks = _blocks(message)
        if message.role == "system" or not blocks:
            continue
        role = "assistant" if message.role == "assistant" else "user"
        if not turns or turns[-1]["role"] != role:
            turns.append({"role": role, "content": []})
        turns[-1]["content"] += blocks
    return turns


def _blocks(message: ChatMessage) -> list[dict[str, Any]]:
    if message.role == "tool":
        result = {"tool_use_id": message.tool_call_id, "content": message.content}
        failed = {"is_error": True} if message.is_error else {}
        return [{"type": "tool_result", **result, **failed}]
    thoughts = [_thought(each) for each in message.thoughts if each.seal]
    # An empty text block is refused.
    said = [{"type": "text", "text": message.content}] if message.content else []
    calls = [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": dict(call.arguments or {})}
        for call in message.tool_calls
    ]
    return [*thoughts, *said, *calls]


def _thought(thought: Thought) -> dict[str, Any]:
    if thought.is_opaque:
        return {"type": "redacted_thinking", "data": thought.seal}
    return {"type": "thinking", "thinking": thought.text, "signature": thought.seal}


def _thinking(request: ChatRequest, profile: ModelProfile) -> dict[str, Any]:
    """Return the fields that ask for reasoning; {} where there shall or can be none."""
    wanted = request.reasoning
    if wanted is None or wanted.tokens == 0 or profile.reasoning == "fixed":
        return {}
    if profile.reasoning == "budget":
        budget = max(_LEAST_BUDGET, wanted.tokens)
        return {"thinking": {"type": "enabled", "budget_tokens": budget}}
    effort = "low" if wanted.level == "minimal" else wanted.level
    return {
        "thinking": {"type": "adaptive", "display": "summarized"},
        "output_config": {"effort": effort},
    }


dialect = AnthropicMessages()
