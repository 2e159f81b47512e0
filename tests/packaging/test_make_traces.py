"""Tests of `packaging/make_traces.py`."""

from __future__ import annotations

import runpy
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from aiflow.events import Token
from aiflow.graph.shipped import graphs_dir
from aiflow.providers.reading import normalize
from aiflow.transport.trace import Trace

ROOT = Path(__file__).resolve().parents[2]
SCRIPT: dict[str, Any] = runpy.run_path(str(ROOT / "packaging" / "make_traces.py"))
TRACES = graphs_dir() / "traces"


@pytest.mark.parametrize("recipe", SCRIPT["RECIPES"], ids=lambda recipe: recipe.name)
def test_the_script_makes_the_shipped_bytes(tmp_path: Path, recipe: Any) -> None:
    """A trace is changed in its text and its recipe, never by hand."""
    made = SCRIPT["write"](recipe, tmp_path)

    assert made.read_bytes() == (TRACES / made.name).read_bytes()


def test_the_demo_has_the_figures_that_the_example_is_about() -> None:
    """100 and 1,500 tokens at 100 a second, the first after 101 ms, in readable words."""
    pieces = list(Trace.open(TRACES / "slow-speech.trace").pieces())
    payloads = list(normalize((piece.data for piece in pieces), "openai-chat"))

    tokens = [each for each in payloads if isinstance(each, Token)]
    channels = [token.channel for token in tokens]
    assert channels == ["reasoning"] * 100 + ["answer"] * 1500
    assert pieces[0].at == 0.101
    assert abs(pieces[1599].at - pieces[0].at - 15.99) < 0.05
    gaps = [b.at - a.at for a, b in pairwise(pieces)]
    assert min(gaps) >= 0
    assert len(set(gaps)) > 1000
    answer = "".join(token.text for token in tokens if token.channel == "answer")
    assert answer.count(". ") > 60
    assert answer.startswith("Imagine a small kitchen")


def test_a_text_is_cut_into_exactly_as_many_pieces() -> None:
    """More or fewer than it has words, and nothing is lost."""
    text = "One, two; three words and more."

    for count in (3, 9, 20):
        pieces = SCRIPT["cut"](text, count)
        assert len(pieces) == count
        assert "".join(pieces) == text
