"""Providers that can be called by their names: where they are, what they speak, whose key.

Data only; a graph names its endpoint itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class KnownProvider:
    """One provider.

    Attributes:
        endpoint: address of its API.
        dialect: what it speaks there.
        credential: name of the environment variable that its own tools read the key from; ""
            where it asks for none.
    """

    endpoint: str
    dialect: str
    credential: str = ""


KNOWN: Mapping[str, KnownProvider] = MappingProxyType(
    {
        "anthropic": KnownProvider(
            "https://api.anthropic.com", "anthropic-messages", "ANTHROPIC_API_KEY"
        ),
        "deepseek": KnownProvider("https://api.deepseek.com/v1", "openai-chat", "DEEPSEEK_API_KEY"),
        "gemini": KnownProvider(
            "https://generativelanguage.googleapis.com/v1beta", "gemini", "GEMINI_API_KEY"
        ),
        "groq": KnownProvider("https://api.groq.com/openai/v1", "openai-chat", "GROQ_API_KEY"),
        "mistral": KnownProvider("https://api.mistral.ai/v1", "openai-chat", "MISTRAL_API_KEY"),
        "ollama": KnownProvider("http://127.0.0.1:11434", "ollama"),
        "openai": KnownProvider("https://api.openai.com/v1", "openai-responses", "OPENAI_API_KEY"),
        "openrouter": KnownProvider(
            "https://openrouter.ai/api/v1", "openai-chat", "OPENROUTER_API_KEY"
        ),
    }
)
