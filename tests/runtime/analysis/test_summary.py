"""Tests of `aiflow.analysis.summary`."""

from __future__ import annotations

from dataclasses import replace

from aiflow.analysis.facts import Facts
from aiflow.analysis.summary import run_sentence
from aiflow.metrics.snapshot import NodeStats, Snapshot

SPEECH = NodeStats("speech", queue_capacity=8, max_depth=8, busy_s=9.5, idle_s=0.5)
MODEL = NodeStats("model", busy_s=1.0, backpressured_s=9.0)
SNAPSHOT = Snapshot(
    at=15.0,
    started_at=5.0,
    phase="completed",
    strategy="aiflow",
    bound=10,
    in_flight=0,
    max_in_flight=9,
    nodes={"model": MODEL, "speech": SPEECH},
    edges={},
    conversations={"c1": "completed"},
)
FACTS = Facts({"model": ("speech",), "speech": ()}, frozenset({"model"}), {})


def test_the_sentence_names_the_slow_consumer_and_who_waited() -> None:
    """Who was slow, how full it was, and who waited."""
    assert run_sentence(SNAPSHOT, FACTS) == (
        "speech was the slow consumer: busy 95% of the time, at most 8 of 8 events in its"
        " queue; model waited for it."
    )


def test_a_bound_that_was_lowered_in_mid_run_is_not_told_as_broken() -> None:
    """Eight events were right while eight were allowed."""
    nodes = {**SNAPSHOT.nodes, "speech": replace(SPEECH, queue_capacity=4)}

    sentence = run_sentence(replace(SNAPSHOT, nodes=nodes), FACTS)

    assert "at most 8 events (q is 4 by now) in its queue" in sentence


def test_nobody_is_blamed_where_nobody_waited() -> None:
    """A busy node is no bottleneck while the others are not held back."""
    free = replace(SNAPSHOT, nodes={"speech": SPEECH, "model": replace(MODEL, backpressured_s=0)})

    assert run_sentence(free, FACTS) == "No node kept another waiting."


def test_a_busier_node_that_nobody_waited_for_is_not_blamed() -> None:
    """What hangs on a detached edge may work without a pause."""
    log = NodeStats("log", queue_capacity=64, max_depth=64, busy_s=10.0)
    facts = replace(FACTS, targets={**FACTS.targets, "log": ()})

    sentence = run_sentence(replace(SNAPSHOT, nodes={**SNAPSHOT.nodes, "log": log}), facts)

    assert sentence.startswith("speech was the slow consumer")


def test_a_queue_without_a_bound_is_named_for_what_piled_up_in_it() -> None:
    """Nobody waited, and that is the trouble."""
    grown = replace(SPEECH, queue_capacity=None, max_depth=1275)
    nodes = {"speech": grown, "model": replace(MODEL, backpressured_s=0)}

    unbounded = replace(SNAPSHOT, nodes=nodes, strategy="unbounded", bound=None)

    assert run_sentence(unbounded, FACTS) == (
        "speech was the slow consumer: busy 95% of the time, and because its queue had no bound,"
        " nobody waited and 1,275 events piled up in it."
    )


def test_a_callback_that_stands_still_is_not_called_free() -> None:
    """No queue fills where one event is carried to its end, yet all wait for the slow step."""
    nodes = {
        "speech": replace(SPEECH, queue_capacity=1, max_depth=0),
        "model": replace(MODEL, backpressured_s=0),
    }

    sentence = run_sentence(replace(SNAPSHOT, nodes=nodes, strategy="callback"), FACTS)

    assert sentence.startswith("speech was the slow step: busy 95% of the time, and nothing else")
