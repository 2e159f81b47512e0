"""A snapshot as Prometheus reads it: text exposition format 0.0.4.

Counters end in `_total`, times are in seconds. Conversations are no label: there is no end to
their names.
Source: https://prometheus.io/docs/instrumenting/exposition_formats/
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from aiflow.metrics.snapshot import EdgeStats, LatencyStats, NodeStats, Snapshot

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

Sample = tuple[Mapping[str, str], float]

_PHASES = ("idle", "running", "draining", "completed", "failed", "cancelled")
_NODE_COUNTERS = {
    "received": "Events offered to the node.",
    "processed": "Events that the node has finished.",
    "emitted": "Outputs that have left the node.",
    "failed": "Events that the node has given up on.",
    "cancelled": "Events of cancelled turns.",
    "retries": "Tries of events after their first.",
}
_NODE_TIMES = {
    "busy": "Worker time in the operator.",
    "backpressured": "Worker time spent waiting for room downstream.",
    "window_blocked": "Worker time spent waiting for earlier events to leave.",
    "idle": "Worker time without an event.",
}
_NODE_GAUGES = {
    "depth": ("queue_depth_events", "Events waiting in the node's queue."),
    "max_depth": ("queue_depth_max_events", "Most events that have waited there so far."),
    "queue_capacity": ("queue_capacity_events", "Places of the queue; absent without a limit."),
    "running": ("running_events", "Events being processed."),
    "held": ("held_events", "Finished events that wait for earlier ones."),
    "in_flight": ("in_flight_events", "Events that the node holds."),
    "oldest_age_s": ("oldest_age_seconds", "Age of the oldest event in the queue."),
}
_LATENCIES = {
    "wait": "Time of events in the queue.",
    "service": "Time of events in the operator.",
    "blocked": "Time until an output has left.",
}
_EDGE_COUNTERS = {
    "appended": "Events that came onto the edge.",
    "taken": "Events that the node behind has taken.",
    "purged": "Events of cancelled turns that were removed.",
    "dropped": "Events dropped on the edge.",
}


def exposition(snapshot: Snapshot) -> str:
    """Return all metrics of a session."""
    families = (
        *_of_session(snapshot),
        *_of_nodes(tuple(snapshot.nodes.values())),
        *_of_edges(tuple(snapshot.edges.values())),
    )
    return "".join(families)


def _of_session(snapshot: Snapshot) -> Iterable[str]:
    phases = [({"phase": phase}, int(phase == snapshot.phase)) for phase in _PHASES]
    yield _family("session_phase", "gauge", "1 for the phase of the run.", phases)
    turns = [({"outcome": outcome}, count) for outcome, count in snapshot.turns.items()]
    yield _family("turns", "gauge", "Turns, by what has become of them.", turns)
    seconds: list[Sample] = [({}, snapshot.at - snapshot.started_at)]
    yield _family("session_seconds", "gauge", "Time since the run began.", seconds)
    gauges = (
        ("in_flight_events", "Events held now.", snapshot.in_flight),
        ("in_flight_max_events", "Most events held so far.", snapshot.max_in_flight),
        ("bound_events", "Most events that can be held; absent without one.", snapshot.bound),
        ("waiting_conversations", "Conversations not let in yet.", snapshot.waiting_conversations),
        ("waiting_requests", "Requests not let to a provider yet.", snapshot.waiting_requests),
        ("undecoded_bytes", "Bytes of answers not decoded yet.", snapshot.undecoded_bytes),
        ("model_ttft_seconds", "Request to first delta.", _seconds(snapshot.model_ttft_ms)),
        ("ttfpt_seconds", "Request to first token processed.", _seconds(snapshot.ttfpt_ms)),
    )
    for name, help_, value in gauges:
        yield _family(name, "gauge", help_, [] if value is None else [({}, value)])


def _of_nodes(nodes: tuple[NodeStats, ...]) -> Iterable[str]:
    for field, help_ in _NODE_COUNTERS.items():
        counts = [({"node": node.id}, getattr(node, field)) for node in nodes]
        yield _family(f"node_{field}_total", "counter", help_, counts)
    drops: list[Sample] = [
        ({"node": node.id, "reason": reason}, count)
        for node in nodes
        for reason, count in node.dropped.items()
    ]
    yield _family("node_dropped_total", "counter", "Events dropped, by reason.", drops)
    for field, help_ in _NODE_TIMES.items():
        times = [({"node": node.id}, getattr(node, f"{field}_s")) for node in nodes]
        yield _family(f"node_{field}_seconds_total", "counter", help_, times)
    for field, (name, help_) in _NODE_GAUGES.items():
        values = [(node.id, getattr(node, field)) for node in nodes]
        known: list[Sample] = [({"node": id}, value) for id, value in values if value is not None]
        yield _family(f"node_{name}", "gauge", help_, known)
    for field, help_ in _LATENCIES.items():
        yield _summary(f"node_{field}_seconds", help_, nodes, field)


def _summary(name: str, help_: str, nodes: tuple[NodeStats, ...], field: str) -> str:
    lines = [_head(name, "summary", help_)]
    for node in nodes:
        stats: LatencyStats = getattr(node, field)
        of = {"node": node.id}
        for quantile, value_ms in (("0.5", stats.p50_ms), ("0.99", stats.p99_ms)):
            lines.append(_line(name, of | {"quantile": quantile}, value_ms / 1000))
        lines += (_line(f"{name}_sum", of, stats.sum_s), _line(f"{name}_count", of, stats.count))
    return "".join(lines) if nodes else ""


def _of_edges(edges: tuple[EdgeStats, ...]) -> Iterable[str]:
    for field, help_ in _EDGE_COUNTERS.items():
        counts = [({"edge": edge.id}, getattr(edge, field)) for edge in edges]
        yield _family(f"edge_{field}_total", "counter", help_, counts)
    depths = [({"edge": edge.id}, edge.depth) for edge in edges]
    yield _family("edge_depth_events", "gauge", "Events of the edge that wait.", depths)


def _family(name: str, kind: str, help_: str, samples: Iterable[Sample]) -> str:
    """Return a family with its head; nothing where it has no sample."""
    lines = [_line(name, labels, value) for labels, value in samples]
    return "".join((_head(name, kind, help_), *lines)) if lines else ""


def _head(name: str, kind: str, help_: str) -> str:
    return f"# HELP aiflow_{name} {help_}\n# TYPE aiflow_{name} {kind}\n"


def _line(name: str, labels: Mapping[str, str], value: float) -> str:
    given = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
    # A whole number as such: beyond 1e16 a counter would lose its last digits as a float.
    shown = str(int(value)) if value == int(value) else repr(float(value))
    return f"aiflow_{name}{{{given}}} {shown}\n" if given else f"aiflow_{name} {shown}\n"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _seconds(ms: float | None) -> float | None:
    return None if ms is None else ms / 1000
