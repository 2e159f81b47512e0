"""The proof in the runtime's README leans on tests that are there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_test_that_the_proof_names_is_there() -> None:
    """A step whose test was renamed or deleted is watched by nothing."""
    readme = (ROOT / "runtime" / "README.md").read_text(encoding="utf-8")
    proof = readme.partition("**Proof.**")[2].partition("∎")[0]
    named = set(re.findall(r"`(test_\w+)`", proof))
    folder = ROOT / "tests" / "runtime" / "engine"
    there = "\n".join(path.read_text(encoding="utf-8") for path in folder.glob("test_*.py"))

    steps = re.split(r"\n\d\. ", proof)[1:]

    assert len(steps) == 8
    assert all("`test_" in step for step in steps)
    assert {name for name in named if f"def {name}(" not in there} == set()
