"""Make the traces of the demos (`python packaging/make_traces.py`), the same bytes each time.

The texts in `packaging/traces/` are cut into as many pieces as a model would have sent tokens, and
each piece gets a frame of its dialect and a time: steady, with seeded jitter.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from aiflow.transport.trace import TracePiece, TraceWriter

ROOT = Path(__file__).resolve().parents[1]
TEXTS = ROOT / "packaging" / "traces"
TRACES = ROOT / "graphs" / "traces"
CREATED = 1_700_000_000

_WORD = re.compile(r"\s*(?:[\w'’]+|[^\w\s])")


@dataclass(frozen=True, slots=True)
class Recipe:
    """One trace to make.

    Attributes:
        name: of the trace and of its two texts.
        reasoning: pieces of reasoning. `answer`: pieces of the answer.
        first_s: when the first delta arrives, seconds after the request.
        per_second: pieces a second.
        jitter_s: most that a piece comes early or late, seconds.
        calls: tools that the answer ends with: name and arguments of each.
    """

    name: str
    dialect: str
    reasoning: int
    answer: int
    first_s: float = 0.101
    per_second: float = 100.0
    jitter_s: float = 0.004
    calls: tuple[tuple[str, str], ...] = ()


RECIPES = (
    Recipe("slow-speech", "openai-chat", reasoning=100, answer=1500),
    Recipe("semantic-routing", "openai-chat", reasoning=40, answer=120),
    Recipe("ollama-weather", "ollama", reasoning=20, answer=60, per_second=40, jitter_s=0.01),
    Recipe("safety-filter", "openai-chat", reasoning=40, answer=240, per_second=60),
    Recipe("streaming-rag", "openai-chat", reasoning=24, answer=110, per_second=50),
    Recipe(
        *("tool-loop-1", "openai-chat", 22, 0),
        per_second=50,
        calls=(
            ("lookup", '{"question": "fares of the crossing to the island"}'),
            ("lookup", '{"question": "when does the ferry not sail"}'),
        ),
    ),
    Recipe(
        *("tool-loop-2", "openai-chat", 20, 0),
        per_second=50,
        calls=(("calculator", '{"a": 14, "operation": "multiply", "b": 3}'),),
    ),
    Recipe("tool-loop-3", "openai-chat", reasoning=10, answer=52, per_second=50),
    Recipe(
        *("tool-http-1", "openai-chat", 12, 0),
        per_second=50,
        calls=(("weather", '{"latitude": 54.32, "longitude": 10.14}'),),
    ),
    Recipe("tool-http-2", "openai-chat", reasoning=8, answer=24, per_second=50),
    Recipe(
        *("tool-mcp-1", "openai-chat", 12, 0),
        per_second=50,
        calls=(("opening_hours", '{"place": "ferry"}'),),
    ),
    Recipe("tool-mcp-2", "openai-chat", reasoning=6, answer=20, per_second=50),
    Recipe("writer-1", "openai-chat", reasoning=16, answer=48, per_second=50),
    Recipe("writer-2", "openai-chat", reasoning=14, answer=40, per_second=50),
    Recipe("critic-1", "openai-chat", reasoning=12, answer=24, per_second=50),
    Recipe("critic-2", "openai-chat", reasoning=8, answer=6, per_second=50),
)


def cut(text: str, count: int) -> list[str]:
    """Cut text into exactly `count` pieces that look like a model's tokens.

    Words keep the space before them; the longest are halved until there are enough pieces, and
    punctuation joins the word before it where there are too many.
    """
    pieces = _WORD.findall(text)
    while len(pieces) > count:
        marks = [at for at, piece in enumerate(pieces) if at and not piece[-1].isalnum()]
        at = marks[len(marks) // 2] if marks else len(pieces) - 1
        pieces[at - 1 : at + 1] = [pieces[at - 1] + pieces[at]]
    while len(pieces) < count:
        at = max(range(len(pieces)), key=lambda index: len(pieces[index]))
        middle = (len(pieces[at]) + 1) // 2
        pieces[at : at + 1] = [pieces[at][:middle], pieces[at][middle:]]
    return pieces


def trace_of(recipe: Recipe) -> list[TracePiece]:
    """Return the pieces of one trace."""
    reasoning = _pieces(recipe.name, recipe.reasoning)
    answer = _pieces(f"{recipe.name}-answer", recipe.answer)
    frames = _FRAMES[recipe.dialect](recipe, reasoning, answer)
    return [TracePiece(at, frame) for at, frame in zip(_times(recipe), frames, strict=False)]


def _pieces(name: str, count: int) -> list[str]:
    return cut((TEXTS / f"{name}.txt").read_text("utf-8").strip(), count) if count else []


def _times(recipe: Recipe) -> Iterator[float]:
    """Yield arrival times: the first exactly, then steady with jitter, never going back."""
    jitter = random.Random(recipe.name)
    at = recipe.first_s
    number = 0
    while True:
        yield round(at, 6)
        number += 1
        due = recipe.first_s + number / recipe.per_second
        at = max(at, due + jitter.uniform(-recipe.jitter_s, recipe.jitter_s))


def _chat_frames(recipe: Recipe, reasoning: list[str], answer: list[str]) -> Iterator[bytes]:
    def frame(*choices: dict[str, object], **more: object) -> bytes:
        chunk = {
            "id": f"chatcmpl-{recipe.name}",
            "object": "chat.completion.chunk",
            "created": CREATED,
            "model": "demo-reasoner",
            "choices": list(choices),
            **more,
        }
        return f"data: {_json(chunk)}\n\n".encode()

    def delta(**fields: object) -> bytes:
        return frame({"index": 0, "delta": fields, "finish_reason": None})

    # As real servers do, the role comes first, in the same packet as the first token.
    head = delta(role="assistant", content="")
    for name, pieces in (("reasoning_content", reasoning), ("content", answer)):
        for piece in pieces:
            yield head + delta(**{name: piece})
            head = b""
    for call in _call_deltas(recipe):
        yield delta(tool_calls=[call])
    usage = {
        "prompt_tokens": 42,
        "completion_tokens": len(reasoning) + len(answer),
        "total_tokens": 42 + len(reasoning) + len(answer),
        "completion_tokens_details": {"reasoning_tokens": len(reasoning)},
    }
    word = "tool_calls" if recipe.calls else "stop"
    last = frame({"index": 0, "delta": {}, "finish_reason": word})
    yield last + frame(usage=usage) + b"data: [DONE]\n\n"


def _call_deltas(recipe: Recipe) -> Iterator[dict[str, object]]:
    """Yield the pieces of calls: id and name, then the arguments word by word."""
    for index, (name, arguments) in enumerate(recipe.calls):
        function: dict[str, object] = {"name": name, "arguments": ""}
        id = f"call_{recipe.name}-{index}".replace("-", "_")
        yield {"index": index, "id": id, "type": "function", "function": function}
        for piece in cut(arguments, len(_WORD.findall(arguments))):
            yield {"index": index, "function": {"arguments": piece}}


def _ollama_frames(recipe: Recipe, reasoning: list[str], answer: list[str]) -> Iterator[bytes]:
    def line(message: dict[str, object], **more: object) -> bytes:
        head = {"model": "demo-reasoner", "created_at": "2023-11-14T22:13:20Z"}
        done = more.pop("done", False)
        body = {**head, "message": {"role": "assistant", **message}, "done": done, **more}
        return f"{_json(body)}\n".encode()

    for piece in reasoning:
        yield line({"content": "", "thinking": piece})
    for piece in answer:
        yield line({"content": piece})
    yield line(
        {"content": ""},
        done=True,
        done_reason="stop",
        prompt_eval_count=42,
        eval_count=len(reasoning) + len(answer),
        eval_duration=int(1e9 * (len(reasoning) + len(answer)) / recipe.per_second),
    )


_FRAMES = {"openai-chat": _chat_frames, "ollama": _ollama_frames}
_CONTENT_TYPES = {"openai-chat": "text/event-stream", "ollama": "application/x-ndjson"}


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def write(recipe: Recipe, folder: Path) -> Path:
    """Write one trace into a folder and return its path."""
    path = folder / f"{recipe.name}.trace"
    with TraceWriter(path, recipe.dialect, _CONTENT_TYPES[recipe.dialect]) as writer:
        for piece in trace_of(recipe):
            writer.write(*piece)
    return path


def main(folder: Path) -> None:
    """Write all traces."""
    folder.mkdir(parents=True, exist_ok=True)
    for recipe in RECIPES:
        print(write(recipe, folder))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Make the traces of the examples anew.")
    parser.add_argument("folder", nargs="?", type=Path, default=TRACES, help="where they go")
    main(parser.parse_args().folder)
