"""A run in numbers: the JSON object of `run --json`, and the summary for a person."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from aiflow.analysis.facts import Facts
from aiflow.analysis.summary import run_sentence
from aiflow.analysis.wording import counted
from aiflow.metrics.snapshot import LatencyStats, NodeStats, Snapshot
from aiflow.operators.answer import MALFORMED

_COLUMNS = (
    *("node", "received", "processed", "emitted", "dropped", "failed", "cancelled"),
    *("max queue", "wait p50/p99", "service p50/p99", "busy"),
)

_FATES = (
    ("committed", "committed"),
    ("rolled_back", "rolled back"),
    ("discarded", "discarded because the barrier was full"),
    ("waiting", "still waiting"),
    ("failed", "failed"),
)


def run_report(snapshot: Snapshot, sinks: Collection[str]) -> dict[str, Any]:
    """Return the object that `aiflow run --json` prints.

    Args:
        snapshot: of a session that has ended.
        sinks: ids of the plan's sinks.
    """
    return {
        "status": snapshot.phase,
        "bound": snapshot.bound,
        "max_in_flight": snapshot.max_in_flight,
        "model_ttft_ms": _ms(snapshot.model_ttft_ms),
        "ttfpt_ms": _ms(snapshot.ttfpt_ms),
        "sinks": {
            id: {"ttfpt_ms": _ms(node.ttfpt_ms), "received": node.received}
            for id, node in snapshot.nodes.items()
            if id in sinks
        },
        "duration_s": round(snapshot.at - snapshot.started_at, 6),
        "nodes": {id: _node_report(node) for id, node in snapshot.nodes.items()},
        "conversations": dict(snapshot.conversations),
        "error": snapshot.error,
    }


def summary_lines(snapshot: Snapshot, facts: Facts) -> Iterator[str]:
    """Yield what a person wants to know after a run, line by line.

    Args:
        snapshot: of a session that has ended.
        facts: of the plan that ran.
    """
    yield _headline(snapshot)
    outcomes = list(snapshot.conversations.values())
    if len(outcomes) > 1:
        counts = ", ".join(f"{outcomes.count(each)} {each}" for each in sorted(set(outcomes)))
        yield f"{len(outcomes)} conversations: {counts}"
    turns = {how: count for how, count in snapshot.turns.items() if count}
    if sum(turns.values()) > len(outcomes):
        counts = ", ".join(f"{count} {how}" for how, count in turns.items())
        yield f"{sum(turns.values())} turns: {counts}"
    if drops := _drops(snapshot):
        yield drops
    yield from _unread(snapshot)
    yield from _effects(snapshot)
    if snapshot.phase != "failed":
        yield run_sentence(snapshot, facts)
    yield ""
    yield from _table([_COLUMNS, *map(_row, snapshot.nodes.values())])


def _headline(snapshot: Snapshot) -> str:
    bound = "no bound" if snapshot.bound is None else f"a bound of {snapshot.bound}"
    parts = [
        f"{snapshot.phase} in {snapshot.at - snapshot.started_at:.1f} s",
        f"at most {counted(snapshot.max_in_flight, 'event')} in flight ({bound})",
    ]
    first, model = snapshot.ttfpt_ms, snapshot.model_ttft_ms
    if first is not None and model is not None:
        parts.append(f"first token after {first:,.0f} ms (model {model:,.0f} ms)")
    return " · ".join(parts)


def _drops(snapshot: Snapshot) -> str:
    parts = [
        f"{node.id} {count} ({reason})"
        for node in snapshot.nodes.values()
        for reason, count in sorted(node.dropped.items())
        if count
    ]
    return f"dropped: {', '.join(parts)}" if parts else ""


def _unread(snapshot: Snapshot) -> Iterator[str]:
    for node in snapshot.nodes.values():
        if count := node.notices.get(MALFORMED, 0):
            were = "was" if count == 1 else "were"
            yield (
                f"{node.id}: {counted(count, 'piece')} of the answer could not be read and {were}"
                " left out; its port control shows what it was"
            )


def _effects(snapshot: Snapshot) -> Iterator[str]:
    """Say of each speculative node what became of its effects."""
    for node in snapshot.nodes.values():
        if not (deferred := node.effects.get("deferred", 0)):
            continue
        parts = [
            f"{node.effects.get(fate, 0):,} {words}"
            for fate, words in _FATES
            if node.effects.get(fate, 0) or fate == "committed"
        ]
        yield f"{node.id}: {counted(deferred, 'effect')} deferred, {', '.join(parts)}"


def _node_report(node: NodeStats) -> dict[str, Any]:
    total = node.busy_s + node.backpressured_s + node.window_blocked_s + node.idle_s
    return {
        "received": node.received,
        "processed": node.processed,
        "emitted": node.emitted,
        "dropped": dict(node.dropped),
        "failed": node.failed,
        "cancelled": node.cancelled,
        "max_queue": node.max_depth,
        "wait_ms": _latency(node.wait),
        "service_ms": _latency(node.service),
        "blocked_ms": _latency(node.blocked),
        "busy": _share(node.busy_s, total),
        "backpressured": _share(node.backpressured_s, total),
        "window_blocked": _share(node.window_blocked_s, total),
        "idle": _share(node.idle_s, total),
        # Of speculative nodes only: what no other node could have is no zero of theirs.
        **({"effects": dict(node.effects)} if node.effects else {}),
    }


def _latency(stats: LatencyStats) -> dict[str, float]:
    return {"p50": round(stats.p50_ms, 3), "p99": round(stats.p99_ms, 3)}


def _share(part_s: float, total_s: float) -> float:
    return round(part_s / total_s, 4) if total_s > 0 else 0.0


def _busy(node: NodeStats) -> float:
    total = node.busy_s + node.backpressured_s + node.window_blocked_s + node.idle_s
    return node.busy_s / total if total > 0 else 0.0


def _ms(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def _row(node: NodeStats) -> tuple[str, ...]:
    counts = (node.received, node.processed, node.emitted, sum(node.dropped.values()))
    limit = "" if node.queue_capacity is None else f"/{node.queue_capacity}"
    return (
        node.id,
        *(f"{count:,}" for count in (*counts, node.failed, node.cancelled)),
        f"{node.max_depth:,}{limit}",
        _pair(node.wait),
        _pair(node.service),
        f"{_busy(node):.0%}",
    )


def _pair(stats: LatencyStats) -> str:
    return f"{stats.p50_ms:,.1f} / {stats.p99_ms:,.1f} ms" if stats.count else "–"


def _table(rows: list[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for first, *rest in rows:
        cells = (f"{cell:>{width}}" for cell, width in zip(rest, widths[1:], strict=True))
        yield "  ".join((f"{first:<{widths[0]}}", *cells))
