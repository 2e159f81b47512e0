"""What a type checker, and so an editor, knows of the DSL; mypy reads this file, nothing runs it.

Each line with `type: ignore[…]` must be an error: mypy's `warn_unused_ignores` fails otherwise.
"""

from __future__ import annotations

from typing import assert_type

from aiflow import Flow, P
from aiflow.dsl.builtin import ChatNode, ChunkerNode, RouterNode
from aiflow.dsl.core import In, NodeHandle, Out, ResourceHandle

flow = Flow("types", max_conversations=2)
provider = flow.provider("provider", trace="traces/slow-speech.trace")
model = flow.chat("model", provider=provider, prompt="hello", temperature=0.5)
router = flow.router()
chunks = flow.chunker(max_tokens=5, until="sentence", policy=P(q=8, k=1, sigma="serialized"))

assert_type(provider, ResourceHandle)
assert_type(model, ChatNode)
assert_type(router, RouterNode)
assert_type(router.reasoning, Out)
assert_type(chunks.in_, In)
assert_type(chunks.at(1, 2).disable(), ChunkerNode)
assert_type(model.out >> router, NodeHandle)

# A misspelt operator, parameter, port or policy member, and a value of the wrong kind.
flow.chunkr()  # type: ignore[attr-defined]
flow.chunker(max_token=5)  # type: ignore[call-arg]
flow.chunker(max_tokens="five")  # type: ignore[arg-type]
flow.chunker(until="word")  # type: ignore[arg-type]
router.answers.to(chunks)  # type: ignore[attr-defined]
router.answer.to(chunks, fanout="loose")  # type: ignore[arg-type]
P(queue=8)  # type: ignore[call-arg]
P(o="drop")  # type: ignore[arg-type]
P(8, 2, 4, "serialised")  # type: ignore[arg-type]
