"""Tests of `aiflow.cli.table`."""

from __future__ import annotations

import asyncio
import io
from dataclasses import replace

import pytest
from rich.console import Console

from aiflow.analysis.facts import Facts
from aiflow.cli.table import LiveTable, render
from aiflow.metrics.snapshot import LatencyStats, NodeStats, Snapshot

SPEECH = NodeStats(
    "speech",
    activity="busy",
    queue_capacity=8,
    bound=9,
    depth=5,
    received=20,
    dropped={"drop_oldest": 3},
    service=LatencyStats(10, 2.5, 250.0, 252.0, 255.0),
)
SNAPSHOT = Snapshot(
    at=16.25,
    started_at=10.0,
    phase="running",
    strategy="aiflow",
    bound=107,
    in_flight=28,
    max_in_flight=29,
    nodes={"speech": SPEECH},
    edges={},
    conversations={"c1": "active"},
    model_ttft_ms=101.0,
    ttfpt_ms=112.4,
)


def drawn(snapshot: Snapshot, *sources: str) -> str:
    """Return the table as text."""
    console = Console(file=io.StringIO(), width=140)
    console.print(render(snapshot, {"speech": (20.0, 4.0)}, sources))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_the_table_shows_depth_against_the_bound() -> None:
    """Cells a class can count, the policy, what it is doing, rates and latencies."""
    text = drawn(SNAPSHOT)

    assert "running 6.2 s · in flight 28 of at most 107 · first token 112 ms" in text
    assert "■■■■■□□□ 5/8" in text
    for part in ("speech", "busy", "20.0", "4.0", "250.0 ms", "3"):
        assert part in text


def test_one_event_in_a_large_queue_is_seen() -> None:
    """Beyond what can be counted the bar is in proportion, and never rounds to nothing."""
    large = replace(SPEECH, queue_capacity=1000, depth=1)

    assert "■□" in drawn(replace(SNAPSHOT, nodes={"speech": large}))


def test_a_queue_without_a_limit_is_a_number() -> None:
    """There is nothing to draw it against."""
    unlimited = replace(SPEECH, queue_capacity=None, bound=None, depth=431)

    text = drawn(replace(SNAPSHOT, nodes={"speech": unlimited}, strategy="unbounded", bound=None))

    assert "431 waiting" in text
    assert "strategy unbounded" in text
    assert "no limit" in text


def test_a_source_has_no_queue_to_draw() -> None:
    """Nothing waits where nothing arrives."""
    text = drawn(SNAPSHOT, "speech")

    assert "busy" in text
    assert not {"■", "□"} & set(text)


def test_how_the_run_stands_is_told_below_the_table() -> None:
    """Names in square brackets are no markup."""
    console = Console(file=io.StringIO(), width=140)

    console.print(render(SNAPSHOT, {}, (), "speech is the bottleneck [bold]here."))

    assert isinstance(console.file, io.StringIO)
    assert console.file.getvalue().rstrip().endswith("speech is the bottleneck [bold]here.")


def test_lines_of_sinks_go_above_the_table() -> None:
    """A line printed while the table lives is not overwritten."""
    console = Console(file=io.StringIO(), width=140, force_terminal=True)

    async def live() -> None:
        async with LiveTable(
            lambda: SNAPSHOT, Facts.of_snapshot(SNAPSHOT), console=console
        ) as table:
            table.line("speech │ Hello [bold]there[/bold]")

    asyncio.run(live())

    assert isinstance(console.file, io.StringIO)
    assert "speech │ Hello [bold]there[/bold]" in console.file.getvalue()


@pytest.mark.parametrize(
    ("width", "columns"),
    [
        (140, "node, queue, q, k, ρ, doing, in/s, done/s, wait p50, service p50, dropped"),
        (91, "node, queue, q, k, doing, in/s, done/s, wait p50, service p50, dropped"),
        (60, "node, queue, doing, done/s, dropped"),
        (40, "node, queue, doing"),
        (24, "node, queue"),
    ],
)
def test_a_narrow_terminal_does_without_what_is_least_needed(width: int, columns: str) -> None:
    """Nothing that is shown is cut off: the node, its queue and what it does stay longest."""
    table = render(SNAPSHOT, {"speech": (20.0, 4.0)}, width=width)

    console = Console(file=io.StringIO(), width=width)
    console.print(table)
    assert isinstance(console.file, io.StringIO)
    assert ", ".join(str(column.header) for column in table.columns) == columns
    assert "…" not in console.file.getvalue()
