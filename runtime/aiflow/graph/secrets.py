"""Strings that look like a key: found before a file is handed on, and never shown whole.

A graph holds the name of a secret, never the secret. Nobody can tell a key from other text
for certain; this knows the forms that providers give theirs, addresses with a password in
them, and what is as random as only a key is.
Source: the prefixes that providers document for secret scanning.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from aiflow.graph.model import Graph, Json, Node, Resource

_FORMS = re.compile(
    r"""
      \b(?:sk|rk|pk)[-_][\w-]{16,}                  # OpenAI and all who copy it, Stripe
    | \b(?:gh[opsur]|hf|gsk|r8|npm)_[A-Za-z0-9]{16,}  # GitHub, Hugging Face, Groq, Replicate
    | \b(?:github_pat_|glpat-|xai-|nvapi-|pplx-|tgp_)[\w-]{16,}
    | \b(?:AKIA|ASIA)[0-9A-Z]{16}\b                 # AWS
    | \bAIza[\w-]{30,}                              # Google
    | \bxox[abeoprs]-[\w-]{10,}                     # Slack
    | \beyJ[\w-]{8,}\.eyJ[\w-]{4,}                  # a JSON web token
    | -----BEGIN[ ][A-Z ]*PRIVATE[ ]KEY-----
    | \b[Bb]earer[ ]+[\w.~+/-]{12,}
    | ://[^/\s:@]*:[^/\s@]+@                        # an address with a password
    """,
    re.VERBOSE,
)
_RANDOM = re.compile(r"[A-Za-z0-9_+-]{32,}={0,2}")
_HEX = re.compile(r"[0-9a-f]{32,}|[0-9A-F]{32,}")
# A digest has all sixteen digits as a rule; a row of few, such as 0000ffff, is a filler.
_MOST_DIGITS_OF_A_FILLER = 8
_LEAST_BITS = 3.5
_TELLING_NAME = re.compile(
    r"(?:api|access|secret|private)[-_]?key|secret|passw(?:or)?d|\bauth(?:orization)?\b", re.I
)
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]*")
_LEAST_LENGTH = 8
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class FoundSecret:
    """A string that looks like a key.

    Attributes:
        what: `node` or `resource`. `id`: of that.
        field: where in its params, such as `headers.authorization`.
        shown: its first letters; never the whole.
    """

    what: str
    id: str
    field: str
    shown: str


def secrets_in(graph: Graph) -> Iterator[FoundSecret]:
    """Yield each string in the params of a graph that looks like a key."""
    entries: list[Node | Resource] = [*graph.nodes.values(), *graph.resources.values()]
    for entry in entries:
        what = "node" if isinstance(entry, Node) else "resource"
        for values in (entry.params, entry.extra):
            for field, text in _strings(values, ""):
                if looks_like_secret(text, field):
                    yield FoundSecret(what, entry.id, field, masked(text))


def looks_like_secret(text: str, field: str = "") -> bool:
    """Say whether a string looks like a key.

    Args:
        text: any string.
        field: the name it stands under, which may tell what it is; the name of an
            environment variable is none.
    """
    if _FORMS.search(text):
        return True
    if any(map(_is_random, _RANDOM.findall(text))):
        return True
    name = field.rpartition(".")[2]
    is_word = len(text) >= _LEAST_LENGTH and not re.search(r"\s", text)
    return bool(is_word and _TELLING_NAME.search(name) and not _VARIABLE.fullmatch(text))


def masked(text: str) -> str:
    """Return the first letters of a secret, too few to be of use."""
    return f"{text[:_SHOWN]}…" if len(text) > 2 * _SHOWN else "…"


def shown_safely(text: str) -> str:
    """Return a text as it is, but for one that looks like a key."""
    return masked(text) if looks_like_secret(text) else text


def without_secrets(value: Json, field: str = "") -> Json:
    """Return JSON values with whatever looks like a key masked."""
    if isinstance(value, str):
        return masked(value) if looks_like_secret(value, field) else value
    if isinstance(value, Mapping):
        return {key: without_secrets(inner, key) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [without_secrets(inner, field) for inner in value]
    return value


def _is_random(word: str) -> bool:
    if _HEX.fullmatch(word):
        return len(set(word)) > _MOST_DIGITS_OF_A_FILLER
    kinds = (str.isdigit, str.islower, str.isupper)
    if not all(any(map(kind, word)) for kind in kinds):
        return False
    counts = Counter(word).values()
    bits = -sum(n / len(word) * math.log2(n / len(word)) for n in counts)
    return bits >= _LEAST_BITS


def _strings(value: Json, place: str) -> Iterator[tuple[str, str]]:
    """Yield each string within a value, with the place at which it stands."""
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _strings(inner, f"{place}.{key}" if place else key)
    elif isinstance(value, list | tuple):
        for number, inner in enumerate(value):
            yield from _strings(inner, f"{place}.{number}")
