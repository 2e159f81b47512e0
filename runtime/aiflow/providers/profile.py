"""What one model or server can and cannot do, as data; no name of a provider is asked anywhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class ModelProfile:
    """Abilities that a dialect asks about while it encodes and decodes.

    Attributes:
        think_tags: reasoning stands in the answer's text between `<think>` and `</think>`.
            An answer may hold such a tag for its own sake, so this is never guessed.
        start_in_reasoning: with `think_tags`: the prompt's template has opened the block
            already, so the stream begins inside it and only the closing tag is seen.
        sends_usage_on_request: counts must be asked for; False where the extra field is refused.
        system_role: role of the instructions.
        max_tokens_field: the field's name for the longest answer.
    """

    think_tags: bool = False
    start_in_reasoning: bool = False
    sends_usage_on_request: bool = True
    system_role: Literal["system", "developer"] = "system"
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"


DEFAULT_PROFILE = ModelProfile()
