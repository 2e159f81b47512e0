"""What the inspector says in figures: the policy tuple, the bound, how a node is doing now.

Pure, without Qt.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from aiflow.compiler.bound import node_bound
from aiflow.compiler.plan import Plan
from aiflow.metrics.snapshot import EdgeStats, LatencyStats, NodeStats
from aiflow.policies import TUPLE, Policy
from aiflow_studio.inspector.fields import plain

_MS_PER_S = 1000
#: Letters of a payload's text in a line.
_SHOWN = 40

#: Members of a policy without effect at a source, where nothing waits and nothing is worked on.
NOT_AT_A_SOURCE = frozenset(
    (
        *("queue_capacity", "workers", "reorder_capacity", "state", "overflow"),
        *("partition_key", "max_bytes", "speculative_capacity", "speculative_timeout_s"),
    )
)


def tuple_text(given: Mapping[str, Any], without: Collection[str] = ()) -> str:
    """Return a node's policy as the paper writes it: `P = (8, 1, 0, serialized, …, –)`.

    Args:
        given: what the file says.
        without: members that have no effect at this node; a dash stands for them.
    """
    parts = []
    for _, key in TUPLE:
        if key in without:
            parts.append("–")
            continue
        value = given.get(key, plain(Policy.model_fields[key].default))
        parts.append(_retry(value) if key == "retry" else str(value).replace("_", " "))
    return f"P = ({', '.join(parts)})"


def bound_sentence(node: str | None, plan: Plan | None) -> str:
    """Say what a node and the graph may hold, with the figures in bold (HTML)."""
    if plan is None:
        return "The graph has errors; it has no bound before they are mended."
    whole = f"<b>at most {plan.bound:,}</b>" if plan.bound is not None else "<b>no bound</b>"
    if node is None or node not in plan.nodes:
        return f"The graph may hold {whole} events."
    planned = plan.nodes[node]
    own = node_bound(planned, plan.max_conversations)
    if own is None:
        return f"This node's queue has no bound, the graph {whole}."
    return f"This node may hold <b>{own:,}</b> {_events(own)}, the graph {whole}."


def flight_sentence(in_flight: int, max_in_flight: int) -> str:
    """Say how much of the bound is used."""
    return f"{in_flight:,} in flight now, {max_in_flight:,} at most so far"


def node_rows(stats: NodeStats) -> tuple[tuple[str, str], ...]:
    """Return the live figures of a node as (what, figure)."""
    waiting = () if stats.queue_bytes is None else (("bytes waiting", _bytes(stats)),)
    return (
        *waiting,
        ("wait p50 / p99", latency(stats.wait)),
        ("service p50 / p99", latency(stats.service)),
        ("received · processed", f"{stats.received:,} · {stats.processed:,}"),
        ("dropped · failed", f"{sum(stats.dropped.values()):,} · {stats.failed:,}"),
    )


def _bytes(stats: NodeStats) -> str:
    most = "" if stats.max_bytes is None else f" of {stats.max_bytes:,}"
    return f"{stats.queue_bytes:,}{most}"


def edge_rows(stats: EdgeStats) -> tuple[tuple[str, str], ...]:
    """Return the live figures of an edge as (what, figure)."""
    return (
        ("appended · taken", f"{stats.appended:,} · {stats.taken:,}"),
        ("dropped · purged", f"{stats.dropped:,} · {stats.purged:,}"),
        ("waiting now", f"{stats.depth:,}{' · full' if stats.is_full else ''}"),
    )


def queue_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return what waits as lines: whose it is, what it says, since when it waits."""
    if not rows:
        return "Nothing waits."
    return "\n".join(
        f"{duration(row['waited_s'] * _MS_PER_S):>8}  {row['conversation']} #{row['sequence']}"
        f"  {row['type']}{_said(row['payload'])}"
        for row in rows
    )


def trace_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return one event's way as lines: node, its times there, what became of it."""
    first = rows[0]
    lines = [f"{first['conversation']} #{first['sequence']} of {first['source']}"]
    for row in rows:
        times = " · ".join(
            f"{what} {duration(row[name] * _MS_PER_S)}"
            for what, name in (("wait", "wait_s"), ("service", "service_s"), ("out", "blocked_s"))
            if row[name] is not None
        )
        part = f" part {row['part']}" if row["part"] else ""
        lines.append(f"{row['node']}{part}: {times} · {row['outcome'] or 'here now'}")
    return "\n".join(lines)


def _said(payload: object) -> str:
    """Return the beginning of a payload's text in quotes, "" where it has none."""
    text = payload.get("text") if isinstance(payload, Mapping) else None
    if not isinstance(text, str):
        return ""
    line = " ".join(text.split())
    return f" “{line[:_SHOWN]}…”" if len(line) > _SHOWN else f" “{line}”"


def latency(stats: LatencyStats) -> str:
    """Return median and 99th percentile, such as `250 / 252 ms`; a dash before the first."""
    if not stats.count:
        return "–"
    if max(stats.p50_ms, stats.p99_ms) < _MS_PER_S:
        return f"{_figure(stats.p50_ms)} / {_figure(stats.p99_ms)} ms"
    return f"{duration(stats.p50_ms)} / {duration(stats.p99_ms)}"


def duration(ms: float) -> str:
    """Return a time as a person reads it: `0.3 ms`, `250 ms`, `1.98 s`."""
    return f"{_figure(ms)} ms" if ms < _MS_PER_S else f"{ms / _MS_PER_S:.2f} s"


def _figure(ms: float) -> str:
    return f"{ms:.0f}" if ms >= 10 or ms == 0 else f"{ms:.1f}"  # noqa: PLR2004 - two figures


def _retry(value: object) -> str:
    attempts = value.get("attempts", 1) if isinstance(value, Mapping) else value
    return "–" if attempts == 1 else f"{attempts} tries"


def _events(count: int) -> str:
    return "event" if count == 1 else "events"
