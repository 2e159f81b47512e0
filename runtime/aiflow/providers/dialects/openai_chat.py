"""`openai-chat`: OpenAI's chat completions, and all who copy them.

DeepSeek, vLLM, llama.cpp, OpenRouter, Groq, Mistral, Azure and others differ in where they put
reasoning, usage, filters and errors; all places are read, and none twice.

Source: https://platform.openai.com/docs/api-reference/chat/streaming and what servers send.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from aiflow.events import Control, Payload, Retrieval, SafetyLabel
from aiflow.providers.dialect import HttpCall
from aiflow.providers.failure import Failure
from aiflow.providers.finish import finish_word, is_error_word
from aiflow.providers.messages import ChatMessage, ChatRequest
from aiflow.providers.profile import ModelProfile
from aiflow.providers.text import ChoiceText, scrub, scrub_all
from aiflow.providers.tool_calls import ToolCalls
from aiflow.providers.values import count, items, raw_text, text

_PATH = "/chat/completions"


class OpenAiChat:
    """The dialect."""

    name = "openai-chat"

    def url(self, endpoint: str, path: str) -> str:
        """Return the address: below the endpoint's path, `/v1` where it has none."""
        parts = urlsplit(endpoint)
        base = parts.path.rstrip("/") or "/v1"
        return urlunsplit(parts._replace(path=base if base.endswith(path) else base + path))

    def encode(self, request: ChatRequest, profile: ModelProfile) -> HttpCall:
        """Return the HTTP call that asks for a stream."""
        messages = [_message(message, profile) for message in request.messages]
        if request.system:
            messages.insert(0, {"role": profile.system_role, "content": request.system})
        body: dict[str, Any] = {"model": request.model, "messages": messages, "stream": True}
        if profile.sends_usage_on_request:
            body["stream_options"] = {"include_usage": True}
        if request.tools:
            body["tools"] = [tool.as_function() for tool in request.tools]
            if request.tool_choice != "auto":
                body["tool_choice"] = request.tool_choice
        sampling = request.sampling
        given = {
            "temperature": sampling.temperature if profile.takes_sampling else None,
            "top_p": sampling.top_p if profile.takes_sampling else None,
            profile.max_tokens_field: sampling.max_tokens,
            "stop": list(sampling.stop) or None,
            "seed": sampling.seed,
        }
        body |= {name: value for name, value in given.items() if value is not None}
        body |= _effort(request, profile)
        body |= request.extra
        return HttpCall(_PATH, json.dumps(body).encode(), {"accept": "text/event-stream"})

    def credential_headers(self, secret: str) -> dict[str, str]:
        """Return the headers that carry the key."""
        return {"authorization": f"Bearer {secret}"}

    def reader(self, profile: ModelProfile) -> ChatReader:
        """Return a reader for one answer."""
        return ChatReader(profile)


class ChatReader:
    """Reads chat completion chunks, or one whole completion.

    Attributes:
        failure: set once the provider has reported an error.
        is_at_end: never set: this dialect's end marker is no JSON.
    """

    says_more_after_error = False

    def __init__(self, profile: ModelProfile) -> None:
        self.failure: Failure | None = None
        self.is_at_end = False
        self._profile = profile
        self._choices: dict[int, _Choice] = {}
        self._usage: Mapping[str, Any] | None = None
        self._is_started = False
        self._cited: set[str] = set()

    def read(self, value: Mapping[str, Any], *, is_event: bool) -> list[Payload]:
        """Return the payloads of one chunk."""
        payloads = [*self._start(value), *_prompt_labels(value), *self._citations(value)]
        choices = items(value.get("choices"))
        for entry in choices:
            if isinstance(entry, Mapping):
                payloads += self._read_choice(entry, is_event=is_event)
        payloads += _moderation_labels(value.get("moderation"))
        vendor = value.get("x_groq")
        self._note_usage(vendor.get("usage") if isinstance(vendor, Mapping) else None)
        self._note_usage(value.get("usage"))
        self._note_error(value, vendor)
        if not is_event and not choices and self.failure is None and "choices" not in value:
            self.failure = Failure.of_body(value, "a completion")
        return payloads

    def release(self) -> list[Payload]:
        """Return what was held back of each choice, then the usage."""
        payloads: list[Payload] = []
        for _, choice in sorted(self._choices.items()):
            payloads += choice.text.end()
            payloads += choice.calls.end()
            payloads += choice.sealed()
        if self._usage is not None:
            payloads.append(Control("usage", _usage(self._usage)))
        return payloads

    def finish(self, *, is_marked: bool) -> list[Control]:
        """Return one `finish` control per choice."""
        choices = self._choices or {0: _Choice(0, self._profile)}
        return [choice.finish(is_marked=is_marked) for _, choice in sorted(choices.items())]

    def last_word(self) -> str | None:
        """Return the finish word of choice 0."""
        return self._choices[0].raw if 0 in self._choices else None

    def _start(self, value: Mapping[str, Any]) -> Iterator[Payload]:
        model, id = value.get("model"), value.get("id")
        # A prompt filter's frame comes before the answer and names neither.
        if self._is_started or not (model or id or value.get("choices")):
            return
        self._is_started = True
        yield Control("start", {"model": text(model), "id": text(id)})

    def _read_choice(self, entry: Mapping[str, Any], *, is_event: bool) -> list[Payload]:
        index = entry.get("index")
        number = index if isinstance(index, int) else 0
        choice = self._choices.get(number)
        if choice is None:
            choice = self._choices[number] = _Choice(number, self._profile)
        delta = entry.get("delta")
        # A chunk may repeat the whole message beside its delta; only a plain answer needs it.
        if delta is None and not is_event:
            delta = entry.get("message")
        payloads = choice.read(delta) if isinstance(delta, Mapping) else []
        payloads += _filter_label("completion", entry.get("content_filter_results"))
        word, native = entry.get("finish_reason"), entry.get("native_finish_reason")
        choice.note_word(word, native)
        if entry.get("error") and self.failure is None:
            self.failure = Failure.of_report(entry["error"], entry)
        elif self.failure is None and choice.has_failed:
            bad = native if is_error_word(text(native)) else word
            self.failure = Failure(
                f"the provider stopped with {bad}", code=text(bad), retryable=True
            )
        return payloads

    def _note_usage(self, usage: object) -> None:
        # Totals that repeat are running ones: the last stands, nothing is added up.
        if isinstance(usage, Mapping):
            self._usage = usage

    def _note_error(self, value: Mapping[str, Any], vendor: object) -> None:
        if value.get("error"):
            # The report says more than a finish word of the same frame.
            self.failure = Failure.of_report(value["error"], value)
        elif isinstance(vendor, Mapping) and vendor.get("error"):
            self.failure = Failure.of_report(vendor["error"], vendor)
        elif not value.get("choices") and "error" in (value.get("object"), value.get("type")):
            self.failure = Failure.of_report(value)

    def _citations(self, value: Mapping[str, Any]) -> Iterator[Payload]:
        """Yield search results that stand beside the choices, each once though all repeat."""
        for entry in items(value.get("search_results")) or items(value.get("citations")):
            source = entry if isinstance(entry, Mapping) else {"url": entry}
            url = text(source.get("url"))
            if url and url not in self._cited:
                self._cited.add(url)
                yield _retrieval(source)


class _Choice:
    """One choice of the answer, as far as it has come."""

    def __init__(self, number: int, profile: ModelProfile) -> None:
        self.number = number
        self.text = ChoiceText(number, profile)
        self.calls = ToolCalls(number)
        self.raw: str | None = None
        self._native: str | None = None
        self._details: list[Mapping[str, Any]] = []

    @property
    def has_failed(self) -> bool:
        """Whether the finish word, or the one behind it, means that the provider failed."""
        return is_error_word(self.raw) or is_error_word(self._native)

    def read(self, delta: Mapping[str, Any]) -> list[Payload]:
        """Return the payloads of a delta: reasoning first, as it was thought first."""
        payloads: list[Payload] = list(self.text.add("reasoning", _reasoning(delta)))
        self._details += [
            entry for entry in items(delta.get("reasoning_details")) if isinstance(entry, Mapping)
        ]
        payloads += self._read_content(delta.get("content"))
        payloads += self.text.add("refusal", raw_text(delta.get("refusal")))
        for entry in items(delta.get("tool_calls")):
            if isinstance(entry, Mapping):
                payloads.append(self.calls.add(entry))
        if isinstance(delta.get("function_call"), Mapping):
            payloads.append(self.calls.add({"index": 0, "function": delta["function_call"]}))
        for entry in items(delta.get("annotations")):
            if isinstance(entry, Mapping):
                kind = entry.get("type")
                detail = entry.get(kind) if isinstance(kind, str) else None
                payloads.append(_retrieval(detail if isinstance(detail, Mapping) else entry))
        return payloads

    def sealed(self) -> list[Payload]:
        """Return the entries of reasoning that a gateway wants back, where it sealed any."""
        if not any(entry.get("signature") or entry.get("data") for entry in self._details):
            return []
        details = [scrub_all(entry) for entry in self._details]
        return [Control("notice", {"what": "signature", "choice": self.number, "details": details})]

    def note_word(self, word: object, native: object) -> None:
        """Keep the finish word; "" is none, and the last of several stands."""
        self.raw = text(word) or self.raw
        self._native = text(native) or self._native

    def finish(self, *, is_marked: bool) -> Control:
        """Return the choice's `finish`."""
        word = finish_word(self.raw, has_calls=len(self.calls) > 0, is_marked=is_marked)
        data: dict[str, Any] = {"choice": self.number, "reason": word, "raw": self.raw}
        if self._native is not None:
            data["native"] = self._native
        return Control("finish", data)

    def _read_content(self, content: object) -> list[Payload]:
        if isinstance(content, str):
            return list(self.text.answer(content))
        payloads: list[Payload] = []
        for part in items(content):
            if not isinstance(part, Mapping):
                continue
            if part.get("type") == "thinking":
                payloads += self.text.add("reasoning", _joined(part.get("thinking")))
            elif part.get("type") == "refusal":
                payloads += self.text.add("refusal", raw_text(part.get("refusal")))
            elif part.get("type") == "reference":
                payloads += [
                    Retrieval(id=scrub(str(id))) for id in items(part.get("reference_ids"))
                ]
            else:
                payloads += self.text.answer(raw_text(part.get("text")))
        return payloads


def _effort(request: ChatRequest, profile: ModelProfile) -> dict[str, Any]:
    """Return the field that asks for reasoning; {} where none is asked for or taken."""
    if request.reasoning is None or profile.reasoning == "fixed":
        return {}
    return {"reasoning_effort": request.reasoning.level}


def _message(message: ChatMessage, profile: ModelProfile) -> dict[str, Any]:
    body: dict[str, Any] = {"role": message.role, "content": message.content}
    thought = "".join(each.text for each in message.thoughts)
    if thought and message.tool_calls and profile.returns_reasoning:
        body["reasoning_content"] = thought
    if details := [entry for each in message.thoughts for entry in each.details]:
        body["reasoning_details"] = details
    if message.tool_call_id:
        body["tool_call_id"] = message.tool_call_id
    if message.tool_calls:
        body["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {
                    "name": call.name,
                    "arguments": call.arguments_raw or json.dumps(dict(call.arguments or {})),
                },
            }
            for call in message.tool_calls
        ]
    return body


def _reasoning(delta: Mapping[str, Any]) -> str:
    """Return the reasoning of a delta from the first place that has any, so never twice."""
    for name in ("reasoning_content", "reasoning"):
        if found := raw_text(delta.get(name)):
            return found
    return "".join(
        raw_text(entry.get("text")) or raw_text(entry.get("summary"))
        for entry in items(delta.get("reasoning_details"))
        if isinstance(entry, Mapping)
    )


def _joined(parts: object) -> str:
    if isinstance(parts, str):
        return parts
    return "".join(raw_text(part.get("text")) for part in items(parts) if isinstance(part, Mapping))


def _usage(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return the provider's own counts; none is made out of the others."""
    details = {
        name: part if isinstance(part := raw.get(name), Mapping) else {}
        for name in ("completion_tokens_details", "prompt_tokens_details")
    }
    return {
        "input": count(raw.get("prompt_tokens")),
        "output": count(raw.get("completion_tokens")),
        "total": count(raw.get("total_tokens")),
        "reasoning": count(details["completion_tokens_details"].get("reasoning_tokens")),
        "cached_input": count(details["prompt_tokens_details"].get("cached_tokens")),
        "raw": scrub_all(raw),
    }


def _prompt_labels(value: Mapping[str, Any]) -> Iterator[Payload]:
    for entry in items(value.get("prompt_filter_results")):
        if isinstance(entry, Mapping):
            yield from _filter_label("prompt", entry.get("content_filter_results"))


def _filter_label(scope: str, results: object) -> list[Payload]:
    """Return one label for one filter's findings; the finding that withheld text names it."""
    if not isinstance(results, Mapping) or not results:
        return []
    found = {name: part for name, part in results.items() if isinstance(part, Mapping)}
    caught = {name: part for name, part in found.items() if part.get("filtered")}
    shown = caught or found
    grades = dict.fromkeys(text(part.get("severity")) for part in shown.values())
    label = SafetyLabel(
        scope=scope,
        category=", ".join(shown),
        filtered=bool(caught),
        severity=", ".join(filter(None, grades)),
        raw=scrub_all(results),
    )
    return [label]


def _moderation_labels(moderation: object) -> list[Payload]:
    if not isinstance(moderation, Mapping):
        return []
    labels: list[Payload] = []
    for side, scope in (("input", "prompt"), ("output", "completion")):
        part = moderation.get(side)
        results = items(part.get("results")) or [part] if isinstance(part, Mapping) else []
        for result in results:
            if isinstance(result, Mapping):
                categories = result.get("categories")
                named = categories if isinstance(categories, Mapping) else {}
                category = ", ".join(name for name, hit in named.items() if hit)
                severity = "flagged" if result.get("flagged") else ""
                labels.append(
                    SafetyLabel(scope, category, severity=severity, raw=scrub_all(result))
                )
    return labels


def _retrieval(source: Mapping[str, Any]) -> Retrieval:
    return Retrieval(
        id=text(source.get("id") or source.get("file_id")),
        title=text(source.get("title") or source.get("filename")),
        url=text(source.get("url")),
        text=text(source.get("content") or source.get("snippet") or source.get("quote")),
        raw=scrub_all(source),
    )


dialect = OpenAiChat()
