"""Tests of the checks of partitioned state and its keys."""

from __future__ import annotations

import pytest

from aiflow.compiler.compile import compile
from aiflow.graph import edits
from aiflow.graph.codec import load
from aiflow.graph.model import Graph
from aiflow.graph.shipped import graphs_dir
from aiflow.operators.registry import Catalog
from tests.runtime.compiler.parts import chain, check, codes
from tests.runtime.compiler.test_promises import found, mended


def keyed(key: str) -> Graph:
    """Return spring → middle → drain, the middle partitioned by a key."""
    return chain(policy={"state": "partitioned", "partition_key": key})


def test_a_partitioned_state_wants_a_key() -> None:
    """The conversation is one that there always is."""
    made = chain(policy={"state": "partitioned"})

    assert codes(check(made)) == ["AF319"]
    assert codes(check(mended(made, "AF319"))) == []


def test_a_key_wants_a_partitioned_state() -> None:
    """A source has neither, and is told so once."""
    made = chain(policy={"partition_key": "text"})
    source = edits.merge_policy(chain(), "spring", {"partition_key": "text"})

    assert codes(check(made)) == ["AF320"]
    assert codes(check(mended(made, "AF320"))) == []
    assert codes(check(source)) == ["AF310"]


@pytest.mark.parametrize("key", ["conversation", "source", "kind", "text", "channel"])
def test_a_key_may_be_any_field_of_what_arrives(key: str) -> None:
    """Or of its envelope."""
    assert codes(check(keyed(key))) == []


@pytest.mark.parametrize("key", ["chanel", "role", "1st", "text.", "a b", "text..more"])
def test_a_key_that_names_nothing_is_told_before_the_run(key: str) -> None:
    """A token has no role; and a path is names with dots between."""
    (finding,) = found(keyed(key), "AF321")

    assert finding.field == "partition_key"


def test_a_misspelt_field_is_corrected() -> None:
    """As everywhere."""
    assert found(keyed("chanel"), "AF321")[0].hint == "Did you mean channel?"


def test_a_key_must_be_there_in_all_that_arrives() -> None:
    """A message has no channel, a token has no role; both have a text."""
    both = edits.connect(keyed("text"), "spring.whole", "middle.in")
    one = edits.connect(keyed("channel"), "spring.whole", "middle.in")

    assert not found(both, "AF321")
    assert found(one, "AF321")


def test_an_operator_that_is_partitioned_by_itself_means_its_conversations() -> None:
    """Nobody need say so; a node that says that it is partitioned says by what."""
    path = graphs_dir() / "examples" / "tool-loop.aiflow.json"
    graph = load(path)
    explicit = edits.merge_policy(graph, "model", {"state": "partitioned"})

    found_in = {
        name: {each.code for each in compile(each_graph, Catalog.load(), base=path.parent).errors}
        for name, each_graph in (("own", graph), ("explicit", explicit))
    }

    assert found_in == {"own": set(), "explicit": {"AF319"}}
