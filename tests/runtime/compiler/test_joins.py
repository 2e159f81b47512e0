"""AF409 to AF414: whether what a join waits for can come, and has a place until then."""

from __future__ import annotations

from typing import Any

import pytest

from aiflow.compiler.compile import compile
from aiflow.compiler.diagnostics import Diagnostic
from aiflow.graph import edits
from aiflow.graph.model import Feedback, Graph
from aiflow.operators.registry import Catalog

CATALOG = Catalog.load()


def diamond(*, texts: int = 1, conversations: int = 8, mode: str = "all", **policy: Any) -> Graph:
    """Return lines → (left, right) → both → count."""
    made = edits.set_max_conversations(Graph(), conversations)
    source = {"text": "\n".join(map(str, range(texts))), "conversations": "each"}
    made = edits.add_node(made, "text-input", id="lines", params=source)
    for branch in ("left", "right"):
        made = edits.add_node(made, "map", id=branch)
        made = edits.connect(made, "lines.out", f"{branch}.in")
    made = edits.add_node(made, "join", id="both", params={"mode": mode})
    made = edits.set_policy(made, "both", policy)
    made = edits.connect(made, "left.out", "both.a")
    made = edits.connect(made, "right.out", "both.b")
    made = edits.add_node(made, "counter", id="count")
    return edits.connect(made, "both.out", "count.in")


def found(graph: Graph, code: str) -> list[Diagnostic]:
    """Return the findings of a code."""
    return [each for each in compile(graph, CATALOG).diagnostics if each.code == code]


def mended(graph: Graph, code: str) -> Graph:
    """Return the graph with the fix of its one finding, which is gone then."""
    (finding,) = found(graph, code)
    assert finding.fix is not None
    after = finding.fix.apply(graph)
    assert not found(after, code)
    return after


def test_a_diamond_with_the_defaults_raises_no_alarm() -> None:
    """Eight places are enough for one conversation."""
    assert compile(diamond(), CATALOG).diagnostics == ()


def test_a_join_behind_a_loop_is_sound_and_one_within_is_not() -> None:
    """Only what may come back keeps it waiting."""
    inside = edits.connect(diamond(), "both.out", "left.in")
    inside = edits.set_feedback(inside, "both.out>left.in", Feedback())
    behind = edits.connect(diamond(), "left.out", "left.in")
    behind = edits.set_feedback(behind, "left.out>left.in", Feedback())

    assert found(inside, "AF409")
    assert not found(behind, "AF409")


def test_all_needs_a_source_in_common_and_zip_does_not() -> None:
    """The fix makes a zip of it."""
    made = edits.disconnect(diamond(), "lines.out>right.in")
    made = edits.add_node(made, "text-input", id="others")
    made = edits.connect(made, "others.out", "right.in")

    after = mended(made, "AF410")

    assert after.nodes["both"].params["mode"] == "zip"
    assert not found(after, "AF413")


@pytest.mark.parametrize(
    ("texts", "conversations", "places", "wanted"),
    [(4, 8, 8, None), (5, 8, 8, 10), (5, 3, 8, None), (5, 8, 9, 10), (20, 20, 16, 40)],
)
def test_each_conversation_has_a_place_at_each_input(
    texts: int, conversations: int, places: int, wanted: int | None
) -> None:
    """As many as are really open at once: by the graph and by the source."""
    made = diamond(texts=texts, conversations=conversations, queue_capacity=places)

    assert bool(found(made, "AF411")) == (wanted is not None)
    if wanted is not None:
        assert mended(made, "AF411").nodes["both"].policy["queue_capacity"] == wanted


def test_workers_that_must_wait_for_a_join_are_told() -> None:
    """The fix gives each a place."""
    made = edits.set_policy(diamond(), "left", {"workers": 6, "reorder_capacity": 6})

    assert mended(made, "AF412").nodes["both"].policy["queue_capacity"] == 12


def test_a_zip_of_half_related_branches_is_warned_of() -> None:
    """Where one branch carries another source too, it can only pair by arrival."""
    made = edits.add_node(diamond(mode="zip"), "text-input", id="others")
    made = edits.connect(made, "others.out", "right.in")

    assert found(made, "AF413")
    assert not found(diamond(mode="zip"), "AF413")
    assert not found(edits.merge_params(made, "both", {"mode": "all"}), "AF413")


def test_bytes_are_limited_before_a_join_or_loop_and_not_there() -> None:
    """The fix leaves them out."""
    made = edits.merge_policy(diamond(), "both", {"max_bytes": 100})
    loop = edits.connect(diamond(), "left.out", "left.in")
    loop = edits.set_feedback(loop, "left.out>left.in", Feedback())
    loop = edits.merge_policy(loop, "left", {"max_bytes": 100})

    assert "max_bytes" not in mended(made, "AF414").nodes["both"].policy
    assert "max_bytes" not in mended(loop, "AF414").nodes["left"].policy
    assert not found(edits.merge_policy(diamond(), "left", {"max_bytes": 100}), "AF414")
