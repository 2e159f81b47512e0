"""The commands that tell a person something: explain and diff."""

from __future__ import annotations

from pathlib import Path

import pytest

from aiflow.compiler.explain import explanations
from aiflow.graph import codec, edits
from aiflow.graph.shipped import graphs_dir

EXAMPLE = graphs_dir() / "examples" / "slow-speech.aiflow.json"


class TestExplain:
    """`aiflow explain`."""

    @pytest.mark.parametrize("word", ["AF304", "af304", "304"])
    def test_a_code_is_explained(self, aiflow, word: str) -> None:
        """What, why, an example, what to do, and where to see it."""
        called = aiflow("explain", word)

        assert called.code == 0
        assert called.out.startswith("AF304 (policy")
        for title in ("Why it is bad", "Example", "What to do", "broken/AF304-"):
            assert title in called.out

    def test_without_a_code_all_are_listed(self, aiflow) -> None:
        """By family."""
        called = aiflow("explain")

        assert called.code == 0
        assert "AF1xx structure" in called.out
        assert all(f"  {code}  " in called.out for code in explanations())

    def test_an_unknown_code_is_refused_with_a_suggestion(self, aiflow) -> None:
        """One line, exit 2."""
        called = aiflow("explain", "AF3O4")

        assert (called.code, called.out) == (2, "")
        assert called.err.startswith("aiflow: there is no code 'AF3O4'; did you mean AF30")
        assert "lists all there are" in aiflow("explain", "nonsense").err


class TestDiff:
    """`aiflow diff`."""

    def test_two_graphs_are_compared_in_words(self, aiflow, tmp_path: Path) -> None:
        """A sentence a line, and as JSON with the values."""
        graph = edits.merge_policy(codec.load(EXAMPLE), "speech", {"queue_capacity": 4})
        other = tmp_path / "other.aiflow.json"
        codec.save(other, edits.rename_node(graph, "log", "record"))

        called, as_json = aiflow("diff", EXAMPLE, other), aiflow("diff", EXAMPLE, other, "--json")

        assert called.code == as_json.code == 0
        assert called.out.splitlines() == [
            "node log is now called record",
            "node speech: policy queue_capacity (q) is set to 4",
        ]
        *_, last = as_json.json["changes"]
        assert last["kind"] == "changed"
        assert (last["id"], last["field"]) == ("speech", "policy.queue_capacity")
        assert (last["before"], last["after"]) == (None, 4)

    def test_equal_graphs_have_no_difference(self, aiflow) -> None:
        """It says so, and JSON has an empty list."""
        assert aiflow("diff", EXAMPLE, EXAMPLE).out == "no difference\n"
        assert aiflow("diff", EXAMPLE, EXAMPLE, "--json").json["changes"] == []

    def test_a_file_that_cannot_be_read_exits_with_2(self, aiflow, tmp_path: Path) -> None:
        """Whichever of the two it is."""
        for pair in ((EXAMPLE, tmp_path / "gone"), (tmp_path / "gone", EXAMPLE)):
            called = aiflow("diff", *pair)
            assert called.code == 2
            assert "there is no such file" in called.err
