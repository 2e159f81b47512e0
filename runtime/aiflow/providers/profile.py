"""What one model or server can and cannot do, as data; no name of a provider is asked anywhere."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal

_THINKERS = ("o1*", "o3*", "o4-*", "gpt-5*")
_MISTRALS = ("mistral-*", "ministral-*", "magistral-*", "codestral-*", "devstral-*")
_CLAUDE_4 = (
    "claude-opus-4-[0-5]*",
    "claude-opus-4-20*",
    "claude-sonnet-4-[0-5]*",
    "claude-sonnet-4-20*",
    "claude-haiku-4-5*",
)


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
        max_tokens: longest answer that is asked for where the API wants a number and the
            request has none.
        takes_sampling: temperature and top_p may be set; where not, they are left out.
        reasoning: how effort is told: by a level, by a number of tokens, by switching it on,
            or not at all, because the model cannot think or always does.
        returns_reasoning: what it thought before it called a tool must go back to it as text.
    """

    think_tags: bool = False
    start_in_reasoning: bool = False
    sends_usage_on_request: bool = True
    system_role: Literal["system", "developer"] = "system"
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    max_tokens: int = 8192
    takes_sampling: bool = True
    reasoning: Literal["level", "budget", "switch", "fixed"] = "level"
    returns_reasoning: bool = False


DEFAULT_PROFILE = ModelProfile()

_OPENAI_THINKER = ModelProfile(
    system_role="developer", max_tokens_field="max_completion_tokens", takes_sampling=False
)
_BUDGET = ModelProfile(reasoning="budget")
_SWITCH = ModelProfile(reasoning="switch")
_FIXED = ModelProfile(reasoning="fixed")
_UNASKED = ModelProfile(sends_usage_on_request=False, reasoning="fixed")
_SHORT = ModelProfile(reasoning="fixed", max_tokens=4096)
_RETURNING = ModelProfile(returns_reasoning=True)

# (dialect, pattern of the model's name, profile); the first that matches stands. A server
# that copies a dialect has names of its own, so only exact families are here.
_KNOWN = (
    ("openai-chat", "gpt-5-chat*", _FIXED),
    # They send the counts unasked.
    *(("openai-chat", pattern, _UNASKED) for pattern in _MISTRALS),
    *(("openai-chat", pattern, _RETURNING) for pattern in ("deepseek-*", "kimi-k2*")),
    ("openai-responses", "gpt-5-chat*", _FIXED),
    *((d, p, _OPENAI_THINKER) for d in ("openai-chat", "openai-responses") for p in _THINKERS),
    *(("openai-responses", pattern, _FIXED) for pattern in ("gpt-4*", "gpt-3*", "chatgpt-*")),
    ("anthropic-messages", "claude-3-7-*", _BUDGET),
    ("anthropic-messages", "claude-3-5-*", _FIXED),
    ("anthropic-messages", "claude-3-*", _SHORT),
    *(("anthropic-messages", pattern, _BUDGET) for pattern in _CLAUDE_4),
    ("gemini", "gemini-1*", _FIXED),
    ("gemini", "gemini-2.0*", _FIXED),
    ("gemini", "gemini-2*", _BUDGET),
    ("gemini", "gemma-*", _FIXED),
    ("ollama", "gpt-oss*", DEFAULT_PROFILE),
    ("ollama", "*", _SWITCH),
)


def profile_for(dialect: str, model: str) -> ModelProfile:
    """Return what is known of a model; the default where nothing is."""
    name = model.rpartition("models/")[2].lower()
    for spoken, pattern, profile in _KNOWN:
        if spoken == dialect and fnmatchcase(name, pattern):
            return profile
    return DEFAULT_PROFILE
