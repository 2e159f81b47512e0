"""Tests of AF604: the slow consumer, told before the run."""

from __future__ import annotations

from typing import Any

import pytest

from aiflow import Flow, P
from aiflow.compiler.compile import compile
from aiflow.compiler.diagnostics import Diagnostic, Severity
from aiflow.graph.model import Graph
from aiflow.operators.registry import Catalog

CATALOG = Catalog.load()


def hints(graph: Graph) -> list[Diagnostic]:
    """Return what AF604 says."""
    return [each for each in compile(graph, CATALOG).diagnostics if each.code == "AF604"]


def paced(rate: float = 20, conversations: int = 1, most: int = 8, **work: Any) -> Graph:
    """Return source → delay → screen."""
    flow = Flow(max_conversations=most)
    source = flow.synthetic("source", rate=rate, conversations=conversations)
    source >> flow.delay("work", **work) >> flow.screen("screen", policy=P(q=99, k=99))
    return flow.graph


@pytest.mark.parametrize(
    ("graph", "needed"),
    [
        (paced(seconds=0.2), 4),
        (paced(seconds=0.21), 5),
        (paced(seconds=0.05), None),
        (paced(rate=40, seconds=0.1, policy=P(k=4)), None),
        (paced(rate=40, seconds=0.1, policy=P(k=3)), 4),
        (paced(rate=0, seconds=9), None),
        (paced(seconds=0.2, conversations=3), 12),
        (paced(seconds=0.2, conversations=30, most=2), 8),
        (paced(seconds=0, policy=P(service_time_s=0.2)), 4),
        (paced(seconds=0.2, policy=P(service_time_s=0)), None),
        (paced(seconds=0.2, policy=P(o="drop_oldest")), None),
        (paced(seconds=0.2, policy=P(o="error")), 4),
    ],
)
def test_the_workers_that_would_carry_it_are_named(graph: Graph, needed: int | None) -> None:
    """Rate × conversations at once × service time, against k."""
    found = hints(graph)

    assert [each.arguments["needed"] for each in found] == ([] if needed is None else [needed])
    assert all(each.severity is Severity.HINT and each.node == "work" for each in found)


def test_the_fix_gives_the_workers_and_keeps_the_order() -> None:
    """Afterwards nothing is said any more."""
    (found,) = hints(paced(seconds=0.2))
    assert found.fix is not None

    after = found.fix.apply(paced(seconds=0.2))

    assert after.nodes["work"].policy == {"workers": 4, "reorder_capacity": 4}
    assert compile(after, CATALOG).diagnostics == ()
    assert found.message == (
        "node work gets 20 events a second and takes 0.2 s for each:"
        " with 1 at once it carries 5 a second"
    )


def test_what_may_have_one_worker_is_told_so() -> None:
    """Speech says one chunk at a time; more workers are no remedy."""
    flow = Flow(max_conversations=1)
    flow.synthetic("s", rate=20) >> flow.speech("speech", seconds_per_chunk=0.25)

    (found,) = hints(flow.graph)

    assert found.fix is None
    assert "it would need 5 workers, which it cannot have" in found.hint


def test_a_slow_node_shields_those_behind_it() -> None:
    """It passes on no more than it carries, so only the first is named."""
    flow = Flow(max_conversations=1)
    a, b = (flow.delay(id, seconds=0.2) for id in "ab")
    flow.synthetic("s", rate=20) >> a >> b >> flow.screen("x")

    assert [each.node for each in hints(flow.graph)] == ["a"]


def test_a_detached_edge_makes_nobody_wait() -> None:
    """And behind what declares no ratio nobody guesses."""
    flow = Flow(max_conversations=1)
    source = flow.synthetic("s", rate=20)
    source.to(flow.delay("a", seconds=0.2), fanout="detached") >> flow.screen("x")
    source >> flow.chunker("c") >> flow.speech("speech")

    assert hints(flow.graph) == []


def test_rates_of_several_sources_add_up() -> None:
    """At a node that both reach."""
    flow = Flow(max_conversations=1)
    work = flow.delay("work", seconds=0.1)
    for id in ("one", "two"):
        flow.synthetic(id, rate=8) >> work
    work >> flow.screen("x")

    (found,) = hints(flow.graph)

    assert (found.arguments["rate"], found.arguments["needed"]) == (16, 2)


@pytest.mark.parametrize("has_voice", [False, True])
def test_a_resource_that_paces_the_node_takes_the_place_of_the_declared_time(
    has_voice: bool,
) -> None:
    """How long a voice takes is in nobody's params."""
    flow = Flow()
    voice = flow.speech_engine("voice", engine="silent")
    more: dict[str, Any] = {"engine": voice} if has_voice else {}
    flow.synthetic("source", rate=20) >> flow.speech("work", seconds_per_chunk=1, **more)

    assert len(hints(flow.graph)) == (not has_voice)
