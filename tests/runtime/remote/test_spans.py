"""Spans: one event of a source in so many, from its arrival to its end, and nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

import pytest

from aiflow.clock import VirtualClock, VirtualLoop
from aiflow.engine.session import Session
from aiflow.errors import RemoteError
from aiflow.events import Token
from aiflow.operators.scope import Scope
from aiflow.remote import spans
from aiflow.remote.spans import spanned
from aiflow.testing.plans import PlanBuilder
from aiflow.testing.virtual import run_virtual


@dataclass
class Span:
    """A span as it was told."""

    name: str
    start_time: int
    attributes: dict[str, Any]
    parent: Span | None
    end_time: int = 0

    def end(self, end_time: int) -> None:
        """Note its end."""
        self.end_time = end_time


@dataclass
class Spans:
    """A tracer that keeps what it is told."""

    told: list[Span] = field(default_factory=list)

    def start_span(
        self,
        name: str,
        context: Span | None = None,
        start_time: int = 0,
        attributes: dict[str, Any] | None = None,
    ) -> Span:
        """Keep a span."""
        self.told.append(Span(name, start_time, attributes or {}, context))
        return self.told[-1]


@pytest.fixture
def tracer(monkeypatch: pytest.MonkeyPatch) -> Spans:
    """Return a tracer, in the place of OpenTelemetry's."""

    class Api:
        @staticmethod
        def set_span_in_context(span: Span) -> Span:
            return span

    monkeypatch.setattr(spans, "import_module", lambda _name: Api)
    return Spans()


async def sampled(tracer: Any, every_s: float, slow_s: float = 0.0) -> Session:
    """Run twenty events, one a second, through a node and a sink, and sample them."""

    async def stream(scope: Scope) -> AsyncIterator[Token]:
        for number in range(20):
            await scope.sleep(1.0)
            yield Token(str(number))

    async def work(payload: Token, scope: Scope) -> Token:
        await scope.sleep(slow_s)
        return payload

    plan = (
        PlanBuilder(1).source("s", stream).node("n", work).sink("k", lambda *_: None)
        .edge("s", "n").edge("n", "k").build()
    )  # fmt: skip
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    clock = VirtualClock(loop)
    session = Session(plan, clock=clock)
    async with spanned(session, tracer, every_s, clock):
        await session.run()
    return session


def test_a_sampled_event_is_a_root_with_a_span_for_each_node(tracer: Spans) -> None:
    """Source, node and sink; inside the root's time, without the payload."""
    run_virtual(sampled(tracer, 4.0, 0.5))

    roots = [span for span in tracer.told if span.parent is None]
    assert 3 <= len(roots) <= 6
    for root in roots:
        inner = [span for span in tracer.told if span.parent is root]
        assert [span.name for span in inner] == ["s", "n", "k"]
        assert root.name == "event of s"
        assert root.attributes["aiflow.conversation"] == "c1"
        assert all(root.start_time <= each.start_time for each in inner)
        assert all(each.start_time <= each.end_time <= root.end_time for each in inner)
        assert inner[1].attributes["aiflow.service_s"] == pytest.approx(0.5)
        assert {each.attributes["aiflow.outcome"] for each in inner} == {"processed"}
    assert len({root.attributes["aiflow.sequence"] for root in roots}) == len(roots)


def test_when_the_block_is_left_nobody_is_traced_any_more(tracer: Spans) -> None:
    """What is on its way then is told as far as it has come, and every span has its end."""
    run_virtual(sampled(tracer, 100.0, 0.5))

    assert [span.name for span in tracer.told] == ["event of s", "s", "n", "k"]
    assert all(span.end_time >= span.start_time > 0 for span in tracer.told)


def test_without_opentelemetry_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is traced."""

    def missing(name: str) -> None:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(spans, "import_module", missing)

    with pytest.raises(RemoteError, match=r"aiflow-runtime\[otel\]"):
        run_virtual(sampled(Spans(), 1.0))


@pytest.mark.skipif(find_spec("opentelemetry") is None, reason="OpenTelemetry is not installed")
def test_spans_arrive_in_an_exporter_of_opentelemetry() -> None:
    """Parents, times and attributes are what its SDK takes."""
    sdk = pytest.importorskip("opentelemetry.sdk.trace")
    export = pytest.importorskip("opentelemetry.sdk.trace.export")
    memory = pytest.importorskip("opentelemetry.sdk.trace.export.in_memory_span_exporter")
    exporter = memory.InMemorySpanExporter()
    provider = sdk.TracerProvider()
    provider.add_span_processor(export.SimpleSpanProcessor(exporter))

    run_virtual(sampled(provider.get_tracer("test"), 100.0, 0.5))

    *inner, root = exporter.get_finished_spans()
    assert [span.name for span in inner] == ["s", "n", "k"]
    assert {span.parent.span_id for span in inner} == {root.context.span_id}
    assert inner[1].attributes["aiflow.service_s"] == pytest.approx(0.5)
