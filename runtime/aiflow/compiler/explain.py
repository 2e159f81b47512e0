"""What each diagnostic code means, read from the docstring of the check that yields it.

One source of text: a check says in its docstring what it looks for, why that is bad, an
example and what to do, so that the two cannot drift apart.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass

from aiflow.compiler.compile import CHECKS
from aiflow.compiler.findings import Check
from aiflow.graph.shipped import graphs_dir

_HEAD = re.compile(r"(AF\d{3}): ")
_LABELS = {"Why: ": "why", "For example: ": "example", "Remedy: ": "remedy"}

FAMILIES = {
    "AF1": "structure",
    "AF2": "types and params",
    "AF3": "policy, state and side effects",
    "AF4": "cycles and joins",
    "AF5": "what is injected",
    "AF6": "capacity",
}


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a person may want to know of a code.

    Attributes:
        code: `AFnnn`. `family`: what its family is about.
        summary: one sentence. `details`: further ones, "" for none.
        why: why it is bad. `example`: what it looks like. `remedy`: what to do.
        files: shipped graphs that show it, as paths in the folder of shipped graphs.
    """

    code: str
    summary: str
    details: str
    why: str
    example: str
    remedy: str

    @property
    def family(self) -> str:
        """What the code's family is about."""
        return FAMILIES[self.code[:3]]

    @property
    def files(self) -> tuple[str, ...]:
        """Shipped graphs that have this finding; none where the graphs are not installed."""
        try:
            found = (graphs_dir() / "broken").glob(f"{self.code}*.aiflow.json")
        except FileNotFoundError:
            return ()
        return tuple(sorted(f"broken/{path.name}" for path in found))


def explanations() -> Mapping[str, Explanation]:
    """Return code -> explanation, for every check, in order of code."""
    found = [explanation_of(check) for check in CHECKS]
    return {each.code: each for each in sorted(found, key=lambda each: each.code)}


def explanation_of(check: Check) -> Explanation:
    """Return what a check's docstring says.

    Raises:
        ValueError: the docstring has not the form; a test sees to it that each has.
    """
    text = inspect.getdoc(check) or ""
    head = _HEAD.match(text)
    if head is None:
        raise ValueError(f"the docstring of {check} does not begin with its code")
    summary, _, rest = text[head.end() :].partition("\n\n")
    parts = dict.fromkeys(("details", *_LABELS.values()), "")
    place = "details"
    for line in rest.splitlines():
        label = next((label for label in _LABELS if line.startswith(label)), "")
        place = _LABELS.get(label, place)
        parts[place] += f" {line.removeprefix(label).strip()}"
    return Explanation(
        head[1], _sentence(summary), **{key: _sentence(text) for key, text in parts.items()}
    )


def _sentence(text: str) -> str:
    words = " ".join(text.split())
    return words[:1].upper() + words[1:]
