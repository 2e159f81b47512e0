"""Tests of `aiflow.cli.settings`."""

from __future__ import annotations

import pytest

from aiflow.cli.exits import UsageError
from aiflow.cli.settings import with_settings
from aiflow.graph import edits
from aiflow.graph.model import Graph
from aiflow.operators.registry import Catalog

CATALOG = Catalog.load()


@pytest.fixture
def graph() -> Graph:
    """Return a graph of a source, a speech sink, a redaction and a node that nobody knows."""
    graph = edits.add_node(Graph(), "synthetic", id="numbers", params={"count": 3})
    graph = edits.add_node(graph, "speech", policy={"state": "serialized"})
    graph = edits.add_node(graph, "redact", id="hide")
    return edits.add_node(graph, "gone", id="odd")


def _settings(graph: Graph, *params: str, policies: tuple[str, ...] = ()) -> Graph:
    return with_settings(graph, CATALOG, params, policies)


def test_a_value_is_read_as_its_field_takes_it(graph: Graph) -> None:
    """A number stays a number where one is wanted, and is text where text is wanted."""
    after = _settings(graph, "numbers.count=9", "numbers.text=42", "numbers.rate=0.5")

    assert after.nodes["numbers"].params == {"count": 9, "text": "42", "rate": 0.5}
    assert graph.nodes["numbers"].params == {"count": 3}


def test_text_may_hold_dots_equals_signs_and_nothing(graph: Graph) -> None:
    """Only the first equals sign parts name and value."""
    assert _settings(graph, "numbers.text=a=b.c").nodes["numbers"].params["text"] == "a=b.c"
    assert _settings(graph, "numbers.text=").nodes["numbers"].params["text"] == ""


def test_null_empties_what_may_be_empty(graph: Graph) -> None:
    """JSON's null is the way to say none."""
    after = _settings(graph, "speech.words_per_minute=null")

    assert after.nodes["speech"].params == {"words_per_minute": None}


def test_a_policy_member_is_named_by_key_symbol_or_path(graph: Graph) -> None:
    """`q` is `queue_capacity`, and a retry's member lies one dot deeper."""
    after = _settings(
        graph, policies=("speech.q=4", "speech.overflow=drop_oldest", "speech.retry.attempts=3")
    )

    assert after.nodes["speech"].policy == {
        "state": "serialized",
        "queue_capacity": 4,
        "overflow": "drop_oldest",
        "retry": {"attempts": 3},
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("speech", "--set takes node.name=value, not 'speech'"),
        ("speech=1", "--set takes node.name=value"),
        ("speech.=1", "--set takes node.name=value"),
        ("speach.seconds_per_chunk=1", "no node 'speach'; did you mean speech?"),
        ("speech.second_per_chunk=1", "speech has no param 'second_per_chunk'; did you mean"),
        ("speech.seconds_per_chunk.x=1", "seconds_per_chunk is a plain value"),
        ("speech.seconds_per_chunk=-1", "'-1': seconds_per_chunk is -1, but must be greater"),
        ("speech.seconds_per_chunk=soon", "'soon': seconds_per_chunk must be a valid number"),
        ("speech.seconds_per_chunk=true", "seconds_per_chunk is true, but must be a valid number"),
        ("hide.ignore_case=yes", "cannot be 'yes': ignore_case must be a valid boolean"),
        ("numbers.text={x}", r"cannot be '\{x\}': text does not fit: '\{x\}' has a place"),
        ("odd.x=1", "operator 'gone' of odd is unknown"),
    ],
)
def test_what_cannot_be_set_is_told_in_one_sentence(graph: Graph, text: str, message: str) -> None:
    """The sentence names the text at fault and what is near it."""
    with pytest.raises(UsageError, match=message):
        _settings(graph, text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("speech.queue=1", "speech has no policy member 'queue'; did you mean queue_capacity?"),
        ("speech.q=0", "speech.queue_capacity cannot be '0': queue_capacity is 0, but must be"),
        ("speech.q=4.0", "queue_capacity is 4.0, but must be a valid integer"),
        ("speech.overflow=drop", "cannot be 'drop': overflow must be 'block'"),
        ("speech.retry.tries=2", "speech has no policy member 'retry.tries'"),
    ],
)
def test_what_no_policy_has_is_told_in_one_sentence(graph: Graph, text: str, message: str) -> None:
    """A policy is refused where the compiler would refuse it, before anything runs."""
    with pytest.raises(UsageError, match=message):
        _settings(graph, policies=(text,))


@pytest.mark.parametrize("value", ["9" * 5000, "[" * 50_000, "x" * 5000])
def test_a_monstrous_value_is_refused_in_one_short_sentence(graph: Graph, value: str) -> None:
    """However long it is or deep, it is the value that is wrong and not the program."""
    with pytest.raises(UsageError) as told:
        _settings(graph, f"speech.seconds_per_chunk={value}")

    assert "seconds_per_chunk cannot be" in str(told.value)
    assert len(str(told.value)) < 300
