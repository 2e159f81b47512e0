"""`gemini`: the `streamGenerateContent` call of Google's Gemini and Vertex.

An event stream with `alt=sse`, else one JSON array; both come. There is no end marker, and a
finish reason may come before the text: only the end of the body ends an answer. Calls come
whole, mostly without an id; Vertex sends their arguments value by value where it is asked to.

Source: https://ai.google.dev/api/generate-content and what servers send.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote, urlsplit, urlunsplit

from aiflow.events import Control, Payload, Retrieval, SafetyLabel
from aiflow.providers.dialect import HttpCall
from aiflow.providers.failure import Failure
from aiflow.providers.finish import finish_word, is_error_word
from aiflow.providers.messages import ChatMessage, ChatRequest
from aiflow.providers.partial_args import PartialArguments
from aiflow.providers.profile import ModelProfile
from aiflow.providers.text import ChoiceText, scrub_all
from aiflow.providers.tool_calls import ToolCalls
from aiflow.providers.values import count, mapping, objects, raw_text, text

_METHOD = ":streamGenerateContent"
_VERSION = "/v1beta"
_CHOICES = {"none": "NONE", "required": "ANY"}


class Gemini:
    """The dialect."""

    name = "gemini"

    def url(self, endpoint: str, path: str) -> str:
        """Return the address: below the endpoint's path, `/v1beta` where it has none."""
        parts = urlsplit(endpoint)
        path, _, query = path.partition("?")
        base = parts.path.rstrip("/")
        if not base.endswith(_METHOD):
            base = (base.removesuffix("/models") or _VERSION) + path
        query = "&".join(filter(None, [parts.query, query]))
        return urlunsplit(parts._replace(path=base, query=query))

    def encode(self, request: ChatRequest, profile: ModelProfile) -> HttpCall:
        """Return the HTTP call that asks for a stream."""
        body: dict[str, Any] = {"contents": _contents(request.messages)}
        if system := _system(request):
            body["systemInstruction"] = {"parts": [{"text": system}]}
        if request.tools:
            declarations = [
                {
                    "name": tool.name,
                    "description": tool.description,
                    "parametersJsonSchema": dict(tool.parameters),
                }
                for tool in request.tools
            ]
            body["tools"] = [{"functionDeclarations": declarations}]
            if request.tool_choice != "auto":
                mode = {"mode": _CHOICES[request.tool_choice]}
                body["toolConfig"] = {"functionCallingConfig": mode}
        sampling = request.sampling
        given = {
            "temperature": sampling.temperature if profile.takes_sampling else None,
            "topP": sampling.top_p if profile.takes_sampling else None,
            "maxOutputTokens": sampling.max_tokens,
            "stopSequences": list(sampling.stop) or None,
            "seed": sampling.seed,
            "thinkingConfig": _thinking(request, profile),
        }
        if config := {name: value for name, value in given.items() if value is not None}:
            body["generationConfig"] = config
        body |= request.extra
        model = request.model if "/" in request.model else f"models/{request.model}"
        path = f"/{quote(model, safe='/@')}{_METHOD}?alt=sse"
        return HttpCall(path, json.dumps(body).encode(), {"accept": "text/event-stream"})

    def credential_headers(self, secret: str) -> dict[str, str]:
        """Return the headers that carry the key."""
        return {"x-goog-api-key": secret}

    def reader(self, profile: ModelProfile) -> GeminiReader:
        """Return a reader for one answer."""
        return GeminiReader(profile)


class GeminiReader:
    """Reads the responses that an answer consists of.

    Attributes:
        failure: set once the provider has reported an error.
        is_at_end: never set: only the end of the body ends an answer.
    """

    says_more_after_error = False

    def __init__(self, profile: ModelProfile) -> None:
        self.failure: Failure | None = None
        self.is_at_end = False
        self._profile = profile
        self._candidates: dict[int, _Candidate] = {}
        self._usage: Mapping[str, Any] | None = None
        self._is_started = False

    def read(self, value: Mapping[str, Any], *, is_event: bool) -> list[Payload]:
        """Return the payloads of one response."""
        if value.get("error"):
            self.failure = Failure.of_report(value["error"], value)
            return []
        known = ("candidates", "promptFeedback", "usageMetadata", "modelVersion", "responseId")
        if not any(name in value for name in known):
            if is_event:
                return [_notice("unknown-event", raw=scrub_all(value))]
            self.failure = Failure.of_body(value, "a response with candidates")
            return []
        payloads: list[Payload] = []
        if not self._is_started:
            self._is_started = True
            start = {"model": text(value.get("modelVersion")), "id": text(value.get("responseId"))}
            payloads.append(Control("start", start))
        payloads += self._read_feedback(mapping(value.get("promptFeedback")))
        for entry in objects(value.get("candidates")):
            payloads += self._read_candidate(entry)
        # Running totals: the last stands, nothing is added up.
        self._usage = mapping(value.get("usageMetadata")) or self._usage
        return payloads

    def release(self) -> list[Payload]:
        """Return what was held back of each candidate, then the usage."""
        payloads: list[Payload] = []
        for _, candidate in sorted(self._candidates.items()):
            payloads += candidate.text.end()
            payloads += candidate.end_calls()
            payloads += candidate.calls.end()
        if self._usage:
            payloads.append(Control("usage", _counts(self._usage)))
        return payloads

    def finish(self, *, is_marked: bool) -> list[Control]:
        """Return one `finish` control per candidate."""
        candidates = self._candidates or {0: _Candidate(0, self._profile)}
        return [each.finish(is_marked=is_marked) for _, each in sorted(candidates.items())]

    def last_word(self) -> str | None:
        """Return the finish reason of candidate 0."""
        return self._candidates[0].raw if 0 in self._candidates else None

    def _read_feedback(self, feedback: Mapping[str, Any]) -> list[Payload]:
        """Read what became of the prompt: where it is blocked there is no candidate."""
        reason = text(feedback.get("blockReason"))
        if reason:
            candidate = self._candidate(0)
            candidate.raw = reason
            candidate.is_blocked = True
        return _labels("prompt", feedback, reason)

    def _read_candidate(self, entry: Mapping[str, Any]) -> list[Payload]:
        candidate = self._candidate(count(entry.get("index")) or 0)
        payloads: list[Payload] = []
        for part in objects(mapping(entry.get("content")).get("parts")):
            payloads += candidate.read(part)
        payloads += _labels("completion", entry, "")
        payloads += candidate.read_sources(entry)
        candidate.raw = text(entry.get("finishReason")) or candidate.raw
        if is_error_word(candidate.raw) and self.failure is None:
            said = text(entry.get("finishMessage"))
            self.failure = Failure(
                f"the provider stopped with {candidate.raw}{f': {said}' if said else ''}",
                code=candidate.raw,
                retryable=True,
            )
        return payloads

    def _candidate(self, number: int) -> _Candidate:
        if number not in self._candidates:
            self._candidates[number] = _Candidate(number, self._profile)
        return self._candidates[number]


class _OpenCall:
    """A call whose arguments are still coming."""

    def __init__(self, index: int) -> None:
        self.index = index
        self.arguments = PartialArguments()


class _Candidate:
    """One candidate of the answer, as far as it has come."""

    def __init__(self, number: int, profile: ModelProfile) -> None:
        self.number = number
        self.text = ChoiceText(number, profile)
        self.calls = ToolCalls(number)
        self._open_call: _OpenCall | None = None
        self.raw: str | None = None
        self.is_blocked = False
        self._sources: set[tuple[str, str]] = set()

    def read(self, part: Mapping[str, Any]) -> list[Payload]:
        """Return the payloads of one part; its signature may stand beside anything."""
        payloads: list[Payload] = []
        if "text" in part:
            piece = raw_text(part.get("text"))
            is_thought = part.get("thought") is True
            payloads += self.text.add("reasoning", piece) if is_thought else self.text.answer(piece)
        elif "functionCall" in part:
            payloads += self._read_call(mapping(part.get("functionCall")))
        elif named := [name for name in part if name not in ("thought", "thoughtSignature")]:
            # Tools that the provider calls itself, pictures, and what else there may be.
            payloads.append(_notice("part", kind=named[0], raw=scrub_all(part)))
        if signature := text(part.get("thoughtSignature")):
            # It must go back on the very part that carried it.
            carrier = "call" if "functionCall" in part else "text"
            carrier = "reasoning" if part.get("thought") is True else carrier
            place = max(0, len(self.calls) - 1)
            payloads.append(_notice("signature", data=signature, carrier=carrier, call=place))
        return payloads

    def read_sources(self, entry: Mapping[str, Any]) -> Iterator[Payload]:
        """Yield documents that the answer rests on, each once though all repeat."""
        grounds = objects(mapping(entry.get("groundingMetadata")).get("groundingChunks"))
        cited = objects(mapping(entry.get("citationMetadata")).get("citationSources"))
        for source in [*map(_grounding, grounds), *cited]:
            key = (text(source.get("uri")), text(source.get("title")))
            if key not in self._sources:
                self._sources.add(key)
                yield Retrieval(
                    title=key[1], url=key[0], text=text(source.get("text")), raw=scrub_all(source)
                )

    def finish(self, *, is_marked: bool) -> Control:
        """Return the candidate's `finish`."""
        word = finish_word(self.raw, has_calls=len(self.calls) > 0, is_marked=is_marked)
        # Whatever the reason is called, a blocked prompt is the filter's doing.
        reason = "content_filter" if self.is_blocked else word
        return Control("finish", {"choice": self.number, "reason": reason, "raw": self.raw})

    def _read_call(self, call: Mapping[str, Any]) -> list[Payload]:
        has_name = bool(call.get("name"))
        is_partial = has_name and bool(call.get("partialArgs") or call.get("willContinue"))
        if is_partial or (self._open_call is not None and not has_name):
            return self._read_partial_call(call)
        if not has_name:
            return [_notice("part", kind="functionCall", raw=scrub_all(call))]
        function = {"name": call.get("name"), "arguments": mapping(call.get("args"))}
        return [self.calls.add({"id": call.get("id"), "function": function}, is_whole=True)]

    def _read_partial_call(self, call: Mapping[str, Any]) -> list[Payload]:
        """Read a part of a call whose arguments come value by value; the last ends it."""
        payloads: list[Payload] = []
        opened = self._open_call
        if call.get("name") or opened is None:
            payloads += self.end_calls()
            opened = self._open_call = _OpenCall(len(self.calls))
            entry = {"index": opened.index, "id": call.get("id")}
            payloads.append(self.calls.add({**entry, "function": {"name": call.get("name")}}))
        for part in objects(call.get("partialArgs")):
            if not opened.arguments.add(part):
                payloads.append(_notice("part", kind="partialArgs", raw=scrub_all(part)))
        if not call.get("willContinue"):
            self._open_call = None
            function = {"arguments": opened.arguments.value}
            payloads.append(self.calls.add({"index": opened.index, "function": function}))
        return payloads

    def end_calls(self) -> list[Payload]:
        """Return what is left of a call that nothing has ended: text that is no whole object."""
        opened, self._open_call = self._open_call, None
        if opened is None:
            return []
        text = json.dumps(opened.arguments.value, ensure_ascii=False, separators=(",", ":"))[:-1]
        return [self.calls.add({"index": opened.index, "function": {"arguments": text}})]


def _notice(what: str, **data: Any) -> Control:
    return Control("notice", {"what": what, **data})


def _grounding(chunk: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the one object in a grounding chunk: `web`, `retrievedContext` or a newer kind."""
    return next((mapping(part) for part in chunk.values() if isinstance(part, Mapping)), chunk)


def _labels(scope: str, entry: Mapping[str, Any], reason: str) -> list[Payload]:
    """Return one label for one filter's ratings; those that withheld text name it."""
    ratings = objects(entry.get("safetyRatings"))
    if not ratings and not reason:
        return []
    caught = [rating for rating in ratings if rating.get("blocked")]
    shown = caught or ratings
    names = [text(rating.get("category")) for rating in shown] or [reason]
    grades = dict.fromkeys(text(rating.get("probability")) for rating in shown)
    return [
        SafetyLabel(
            scope,
            ", ".join(filter(None, names)),
            filtered=bool(caught or reason),
            severity=", ".join(filter(None, grades)),
            raw=scrub_all({name: entry[name] for name in entry if name != "content"}),
        )
    ]


def _counts(usage: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "input": count(usage.get("promptTokenCount")),
        "output": count(usage.get("candidatesTokenCount")),
        "total": count(usage.get("totalTokenCount")),
        "reasoning": count(usage.get("thoughtsTokenCount")),
        "cached_input": count(usage.get("cachedContentTokenCount")),
        "raw": scrub_all(usage),
    }


def _system(request: ChatRequest) -> str:
    told = [message.content for message in request.messages if message.role == "system"]
    return "\n\n".join(filter(None, [request.system, *told]))


def _contents(messages: Iterable[ChatMessage]) -> list[dict[str, Any]]:
    """Return the turns; the answers to calls of one turn must stand in one turn too."""
    turns: list[dict[str, Any]] = []
    for message in messages:
        parts = _parts(message)
        if message.role == "system" or not parts:
            continue
        role = "model" if message.role == "assistant" else "user"
        if not turns or turns[-1]["role"] != role:
            turns.append({"role": role, "parts": []})
        turns[-1]["parts"] += parts
    return turns


def _parts(message: ChatMessage) -> list[dict[str, Any]]:
    if message.role == "tool":
        word = "error" if message.is_error else "result"
        answer = {"name": message.name, "response": {word: message.content}}
        named = {"id": message.tool_call_id} if message.tool_call_id else {}
        return [{"functionResponse": named | answer}]
    seals: dict[tuple[str, int], str] = {
        (each.place, each.call): each.seal for each in message.thoughts if each.seal
    }
    thoughts = [
        {"text": each.text, "thought": True, "thoughtSignature": each.seal}
        for each in message.thoughts
        if each.seal and each.place == "reasoning"
    ]
    text_seal = _sealed(seals, "text", 0)
    said = [{"text": message.content} | text_seal] if message.content or text_seal else []
    calls = [
        {
            "functionCall": ({"id": call.id} if call.id else {})
            | {"name": call.name, "args": dict(call.arguments or {})}
        }
        | _sealed(seals, "call", place)
        for place, call in enumerate(message.tool_calls)
    ]
    return [*thoughts, *said, *calls]


def _sealed(seals: Mapping[tuple[str, int], str], carrier: str, place: int) -> dict[str, str]:
    seal = seals.get((carrier, place), "")
    return {"thoughtSignature": seal} if seal else {}


def _thinking(request: ChatRequest, profile: ModelProfile) -> dict[str, Any] | None:
    wanted = request.reasoning
    if wanted is None or profile.reasoning == "fixed":
        return None
    shown = {"includeThoughts": wanted.tokens > 0}
    if profile.reasoning == "budget":
        return shown | {"thinkingBudget": wanted.tokens}
    # This API has no level for not thinking at all.
    level = "minimal" if wanted.level == "none" else wanted.level
    return shown | {"thinkingLevel": level}


dialect = Gemini()
