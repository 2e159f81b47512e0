"""`openai-responses`: OpenAI's Responses API, and servers that copy it.

An answer is a list of output items, each made of parts. Everything is said up to four times: as
deltas, when a part is done, when an item is done, and in the whole response at the end. The
deltas are read; a repeat only where nothing of the same part came before. Items may overlap.
The API has neither stop texts nor a seed.

Source: https://platform.openai.com/docs/api-reference/responses-streaming and what servers send.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from aiflow.events import Channel, Control, Payload, Retrieval
from aiflow.providers.dialect import HttpCall
from aiflow.providers.failure import Failure
from aiflow.providers.finish import finish_word
from aiflow.providers.messages import ChatMessage, ChatRequest
from aiflow.providers.profile import ModelProfile
from aiflow.providers.text import ChoiceText, scrub_all
from aiflow.providers.tool_calls import ToolCalls
from aiflow.providers.values import count, mapping, objects, raw_text, text

_PATH = "/responses"

# Events of text: their name without `.delta` or `.done`, the channel, and the field of the repeat.
_TEXTS: dict[str, tuple[Channel, str]] = {
    "response.output_text": ("answer", "text"),
    "response.refusal": ("refusal", "refusal"),
    "response.reasoning_text": ("reasoning", "text"),
    "response.reasoning_summary_text": ("reasoning", "text"),
}
# The same by the type of a part in an item.
_PARTS = {
    "output_text": "response.output_text",
    "text": "response.output_text",
    "refusal": "response.refusal",
    "reasoning_text": "response.reasoning_text",
    "summary_text": "response.reasoning_summary_text",
}
_CALLS = {"function_call": "arguments", "custom_tool_call": "input"}
_CALL_EVENTS = {
    "response.function_call_arguments": "arguments",
    "response.custom_tool_call_input": "input",
}
_ENDS = ("response.completed", "response.incomplete", "response.failed", "response.cancelled")
# What only says that something goes on, or repeats what is read elsewhere.
_QUIET = (
    "response.content_part.",
    "response.reasoning_summary_part.",
    "response.output_text.annotation.",
    "response.file_search_call.",
    "response.web_search_call.",
)
_STARTS = ("response.created", "response.queued", "response.in_progress")


class OpenAiResponses:
    """The dialect."""

    name = "openai-responses"

    def url(self, endpoint: str, path: str) -> str:
        """Return the address: below the endpoint's path, `/v1` where it has none."""
        parts = urlsplit(endpoint)
        base = parts.path.rstrip("/") or "/v1"
        return urlunsplit(parts._replace(path=base if base.endswith(path) else base + path))

    def encode(self, request: ChatRequest, profile: ModelProfile) -> HttpCall:
        """Return the HTTP call that asks for a stream."""
        items = [item for message in request.messages for item in _input(message)]
        # Nothing is kept at the provider unless the request says so itself.
        body: dict[str, Any] = {
            "model": request.model,
            "input": items,
            "stream": True,
            "store": False,
        }
        if request.system:
            body["instructions"] = request.system
        if request.tools:
            # Strict schemas must name every field as required, which tools of others do not.
            body["tools"] = [
                {"type": "function", **tool.as_function()["function"], "strict": False}
                for tool in request.tools
            ]
            if request.tool_choice != "auto":
                body["tool_choice"] = request.tool_choice
            if profile.reasoning != "fixed":
                # Sealed, so that it can go back with the results although nothing is stored.
                body["include"] = ["reasoning.encrypted_content"]
        sampling = request.sampling
        if profile.takes_sampling:
            given = {"temperature": sampling.temperature, "top_p": sampling.top_p}
            body |= {name: value for name, value in given.items() if value is not None}
        if sampling.max_tokens is not None:
            body["max_output_tokens"] = sampling.max_tokens
        if request.reasoning is not None and profile.reasoning != "fixed":
            body["reasoning"] = {"effort": request.reasoning.level, "summary": "auto"}
        body |= request.extra
        return HttpCall(_PATH, json.dumps(body).encode(), {"accept": "text/event-stream"})

    def credential_headers(self, secret: str) -> dict[str, str]:
        """Return the headers that carry the key."""
        return {"authorization": f"Bearer {secret}"}

    def reader(self, profile: ModelProfile) -> ResponsesReader:
        """Return a reader for one answer."""
        return ResponsesReader(profile)


class ResponsesReader:
    """Reads the events of one response, or one whole response.

    Attributes:
        failure: set once the response has failed.
        is_at_end: set by the event that has the whole response.
    """

    # An `error` event is followed by `response.failed`, which tells the same once more.
    says_more_after_error = True

    def __init__(self, profile: ModelProfile) -> None:
        self.failure: Failure | None = None
        self.is_at_end = False
        self._items = _Items(profile)
        self._usage: Mapping[str, Any] = {}
        self._raw: str | None = None
        self._native: str | None = None
        self._is_started = False

    def read(self, value: Mapping[str, Any], *, is_event: bool) -> list[Payload]:
        """Return the payloads of one event."""
        kind = text(value.get("type"))
        if kind in _ENDS or (not kind and "output" in value):
            return self._read_end(mapping(value.get("response")) or value)
        if kind in _STARTS:
            return self._start(mapping(value.get("response")))
        if kind in ("keepalive", "ping", "response.keepalive"):
            return [Control("keep-alive", {"text": kind})]
        payloads = self._items.read(kind, value)
        if payloads is not None:
            return payloads
        if value.get("error") or not (is_event or kind):
            self.failure = Failure.of_body(value, "a response")
            return []
        return [_notice("unknown-event", raw=scrub_all(value))]

    def release(self) -> list[Payload]:
        """Return what was held back, then the usage."""
        payloads = self._items.end()
        if self._usage:
            payloads.append(Control("usage", _counts(self._usage)))
        return payloads

    def finish(self, *, is_marked: bool) -> list[Control]:
        """Return the `finish` control; `native` says why a response is incomplete."""
        raw = self._native or self._raw
        word = finish_word(raw, has_calls=self._items.has_calls, is_marked=is_marked)
        data = {"choice": 0, "reason": word, "raw": self._raw}
        return [Control("finish", data | ({"native": self._native} if self._native else {}))]

    def last_word(self) -> str | None:
        """Return the response's status."""
        return self._raw

    def _start(self, response: Mapping[str, Any]) -> list[Payload]:
        if self._is_started:
            return []
        self._is_started = True
        start = {"model": text(response.get("model")), "id": text(response.get("id"))}
        return [Control("start", start)]

    def _read_end(self, response: Mapping[str, Any]) -> list[Payload]:
        payloads = self._start(response)
        payloads += self._items.read_output(objects(response.get("output")))
        self._usage = mapping(response.get("usage"))
        status = text(response.get("status"))
        self._raw = status or "completed"
        self._native = text(mapping(response.get("incomplete_details")).get("reason")) or None
        if status == "failed" or response.get("error"):
            report = response.get("error") or {"message": "the response failed without a reason"}
            self.failure = Failure.of_report(report)
        self.is_at_end = True
        return payloads


class _Items:
    """The output items of one response, as far as they have come."""

    def __init__(self, profile: ModelProfile) -> None:
        self._text = ChoiceText(0, profile)
        self._calls = ToolCalls(0)
        # (item, part, event) of each text of which something came; the same with items for calls.
        self._begun: set[tuple[object, object, str]] = set()
        self._done: set[object] = set()
        self._channels: set[Channel] = set()
        self._call_ids: set[str] = set()
        self._reasoning: dict[object, str] = {}
        self._cited: set[tuple[object, ...]] = set()
        # Ids of searches, and of reasoning that cannot be read, that have been told.
        self._searches: set[str] = set()
        self._sealed: set[str] = set()
        self._readers: dict[str, Callable[[Mapping[str, Any]], list[Payload]]] = {
            "response.output_item.added": self._open,
            "response.output_item.done": self._close,
            "response.output_text.annotation.added": self._annotate,
        }

    @property
    def has_calls(self) -> bool:
        """Whether the response asks for a tool."""
        return len(self._calls) > 0

    def read(self, kind: str, value: Mapping[str, Any]) -> list[Payload] | None:
        """Return the payloads of an event; None where it is none of an output item."""
        if kind in self._readers:
            return self._readers[kind](value)
        base, _, phase = kind.rpartition(".")
        if base in _TEXTS and phase in ("delta", "done"):
            return self._read_text(base, phase, value)
        if base in _CALL_EVENTS and phase in ("delta", "done"):
            return self._read_input(base, phase, value)
        return [] if kind.startswith(_QUIET) else None

    def read_output(self, items: Iterable[Mapping[str, Any]]) -> list[Payload]:
        """Return what the whole response has and no event before it had.

        Servers number its items anew, so it is only asked for what is missing altogether.
        """
        known: set[str] = {*self._channels, *(["citation"] if self._cited else [])}
        payloads: list[Payload] = []
        for place, item in enumerate(items):
            if text(item.get("call_id")) in self._call_ids or place in self._done:
                continue
            payloads += self._read_item(place, item, known)
        return payloads

    def end(self) -> list[Payload]:
        """Return what was held back."""
        return [*self._text.end(), *self._calls.end()]

    def _read_text(self, base: str, phase: str, value: Mapping[str, Any]) -> list[Payload]:
        channel, field = _TEXTS[base]
        part = _part(value)
        piece = raw_text(value.get("delta" if phase == "delta" else field))
        return self._add_text(base, channel, (_place(value), part), piece, phase == "done")

    def _add_text(
        self, base: str, channel: Channel, part: tuple[object, object], piece: str, is_repeat: bool
    ) -> list[Payload]:
        if not piece:
            return []
        # The raw reasoning and its summary say one thing twice: the first that comes is read.
        if channel == "reasoning" and self._reasoning.setdefault(part[0], base) != base:
            return []
        key = (*part, base)
        if is_repeat and key in self._begun:
            return []
        self._begun.add(key)
        self._channels.add(channel)
        if channel == "answer":
            return list(self._text.answer(piece))
        return list(self._text.add(channel, piece))

    def _read_input(self, base: str, phase: str, value: Mapping[str, Any]) -> list[Payload]:
        piece = value.get("delta" if phase == "delta" else _CALL_EVENTS[base])
        return self._add_input(_place(value), piece, phase == "done")

    def _add_input(self, place: object, piece: object, is_repeat: bool) -> list[Payload]:
        key = (place, None, "call")
        if not piece or (is_repeat and key in self._begun):
            return []
        self._begun.add(key)
        return [self._calls.add(_entry(place, arguments=piece))]

    def _open(self, value: Mapping[str, Any]) -> list[Payload]:
        item = mapping(value.get("item"))
        return self._open_call(_place(value), item) if text(item.get("type")) in _CALLS else []

    def _open_call(self, place: object, item: Mapping[str, Any]) -> list[Payload]:
        # The id to answer with is the call's, not the item's.
        id = text(item.get("call_id")) or text(item.get("id"))
        self._call_ids.add(id)
        return [self._calls.add(_entry(place, id=id, name=item.get("name")))]

    def _close(self, value: Mapping[str, Any]) -> list[Payload]:
        place = _place(value)
        self._done.add(place)
        return self._read_item(place, mapping(value.get("item")), set())

    def _read_item(self, place: object, item: Mapping[str, Any], known: set[str]) -> list[Payload]:
        """Return what a finished item has beyond what came of it.

        Args:
            place: where it stands in the output.
            item: the whole item.
            known: channels of which something came, and `citation`, to be left out.
        """
        kind = text(item.get("type"))
        if kind in _CALLS:
            is_open = text(item.get("call_id")) in self._call_ids
            opened = [] if is_open else self._open_call(place, item)
            return opened + self._add_input(place, item.get(_CALLS[kind]), is_repeat=True)
        if kind in ("message", "reasoning"):
            return self._read_parts(place, item, known)
        if kind in ("file_search_call", "web_search_call"):
            return self._read_search(item)
        return [_notice("output-item", raw=scrub_all(item))]

    def _read_parts(self, place: object, item: Mapping[str, Any], known: set[str]) -> list[Payload]:
        payloads: list[Payload] = []
        for field in ("summary", "content"):
            for number, part in enumerate(objects(item.get(field))):
                base = _PARTS.get(text(part.get("type")))
                if base is None:
                    payloads.append(_notice("part", raw=scrub_all(part)))
                    continue
                channel, name = _TEXTS[base]
                if channel not in known:
                    piece = raw_text(part.get(name))
                    payloads += self._add_text(base, channel, (place, number), piece, True)
                marks = [] if "citation" in known else objects(part.get("annotations"))
                for order, entry in enumerate(marks):
                    payloads += self._cite((place, number, order), entry)
        id, sealed = text(item.get("id")), text(item.get("encrypted_content"))
        if sealed and id not in self._sealed:
            self._sealed.add(id)
            what = "signature" if place in self._reasoning else "opaque-reasoning"
            payloads.append(_notice(what, id=id, data=sealed))
        return payloads

    def _annotate(self, value: Mapping[str, Any]) -> list[Payload]:
        key = (_place(value), _part(value), count(value.get("annotation_index")))
        return self._cite(key, mapping(value.get("annotation")))

    def _cite(self, key: tuple[object, ...], annotation: Mapping[str, Any]) -> list[Payload]:
        """Return one citation, whichever of its repeats comes first."""
        if not annotation or key in self._cited:
            return []
        self._cited.add(key)
        return [_retrieval(annotation)]

    def _read_search(self, item: Mapping[str, Any]) -> list[Payload]:
        """Return what a search of the provider's own has found, and that it took place."""
        id = text(item.get("id"))
        if id in self._searches:
            return []
        self._searches.add(id)
        action = mapping(item.get("action"))
        queries = item.get("queries") or [action.get("query")]
        call = _notice(
            "server-tool", id=id, name=text(item.get("type")), queries=scrub_all(queries)
        )
        found = [entry for entry in objects(action.get("sources")) if entry.get("url")]
        return [call, *map(_retrieval, [*objects(item.get("results")), *found])]


def _place(value: Mapping[str, Any]) -> object:
    """Return what tells an item from the others: its number, else its id."""
    number = count(value.get("output_index"))
    return text(value.get("item_id")) if number is None else number


def _part(value: Mapping[str, Any]) -> int | None:
    """Return which part of its item an event is about."""
    return count(value.get("content_index", value.get("summary_index")))


def _entry(place: object, *, id: str = "", **function: object) -> dict[str, Any]:
    """Return a piece of a call; its place is its number, or its item's id."""
    key = {"index": place} if isinstance(place, int) else {}
    return {**key, "id": id or None, "function": function}


def _notice(what: str, **data: Any) -> Control:
    return Control("notice", {"what": what, **data})


def _retrieval(source: Mapping[str, Any]) -> Retrieval:
    score = source.get("score")
    return Retrieval(
        id=text(source.get("file_id")),
        title=text(source.get("title")) or text(source.get("filename")),
        url=text(source.get("url")),
        text=text(source.get("text")),
        score=score if isinstance(score, float) else None,
        raw=scrub_all(source),
    )


def _counts(usage: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "input": count(usage.get("input_tokens")),
        "output": count(usage.get("output_tokens")),
        "total": count(usage.get("total_tokens")),
        "reasoning": count(mapping(usage.get("output_tokens_details")).get("reasoning_tokens")),
        "cached_input": count(mapping(usage.get("input_tokens_details")).get("cached_tokens")),
        "raw": scrub_all(usage),
    }


def _input(message: ChatMessage) -> list[dict[str, Any]]:
    """Return a message as items: what was said, and each call, are items of their own."""
    if message.role == "tool":
        answer = {"call_id": message.tool_call_id, "output": message.content}
        return [{"type": "function_call_output", **answer}]
    thoughts = [
        {
            "type": "reasoning",
            **({"id": each.id} if each.id else {}),
            "summary": [{"type": "summary_text", "text": each.text}] if each.text else [],
            "encrypted_content": each.seal,
        }
        for each in message.thoughts
        if each.seal
    ]
    is_said = message.content or not message.tool_calls
    said = [{"role": message.role, "content": message.content}] if is_said else []
    calls = [
        {
            "type": "function_call",
            "call_id": call.id,
            "name": call.name,
            "arguments": call.arguments_raw or json.dumps(dict(call.arguments or {})),
        }
        for call in message.tool_calls
    ]
    return [*thoughts, *said, *calls]


dialect = OpenAiResponses()
