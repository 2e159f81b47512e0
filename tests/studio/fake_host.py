"""`FakeHost`: a run that is a formula, so that panels can be tried without an engine or time.

Each snapshot is a fifteenth of a second after the one before. The shape is that of the
slow-speech example: speech fills first, then chunks, then router; afterwards they stand.
"""

from __future__ import annotations

from typing import Any

from aiflow.engine.outputs import OutputLine
from aiflow.errors import CompileError, EngineError
from aiflow.graph import codec
from aiflow.metrics.snapshot import EdgeStats, LatencyStats, NodeStats, Phase, Snapshot
from aiflow_studio.runs.asking import Asking
from aiflow_studio.runs.host import RunRequest

STEP_S = 1 / 15
#: Node -> seconds at which its queue begins to fill; one event every quarter of a second.
FILLS_FROM = {"speech": 0.3, "chunks": 1.2, "router": 2.0}
CAPACITY = {"router": 8, "chunks": 8, "speech": 8, "log": 64, "screen": 8}


class FakeHost(Asking):
    """A `RunHost` without a run.

    Args:
        refuses: sentence to refuse every start with, "" to start.
    """

    def __init__(self, refuses: str = "") -> None:
        self.refuses = refuses
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.answers: dict[str, Any] = {}
        self.refusal = ""
        self.calls: list[str] = []
        self.requests: list[RunRequest] = []
        self.lines: list[OutputLine] = []
        self.phase: Phase = "idle"
        self.error: str | None = None
        self.started_at = 100.0
        self.elapsed_s = 0.0
        self._nodes: tuple[str, ...] = ()
        self._edges: tuple[str, ...] = ()

    def start(self, request: RunRequest) -> None:
        self.calls.append("start")
        if self.refuses:
            raise CompileError([self.refuses])
        graph = codec.loads(request.graph)
        self.requests.append(request)
        self._nodes, self._edges = tuple(graph.nodes), tuple(graph.edges)
        self.started_at += 1000.0
        self.elapsed_s = 0.0
        self.lines = []
        self.phase = "running"

    def drain(self) -> None:
        self.calls.append("drain")
        self.phase = "draining"

    def stop(self) -> None:
        self.calls.append("stop")
        self.phase = "cancelled"

    async def kill(self) -> None:
        self.calls.append("kill")
        if self.phase in ("running", "draining"):
            self.phase = "cancelled"

    def show(self, node: str, text: str, conversation: str = "c1") -> None:
        """Pretend that a sink showed something."""
        self.lines.append(OutputLine(len(self.lines) + 1, node, conversation, text))

    def outputs(self, after: int) -> list[OutputLine]:
        return [line for line in self.lines if line.number > after]

    def tap(self, edge: str, keep: int) -> list[dict[str, Any]]:
        return []

    async def _ask(self, call: str, **arguments: Any) -> Any:
        """Note what is asked; answer as told, or refuse with a sentence."""
        self.asked.append((call, arguments))
        if self.refusal:
            raise EngineError(self.refusal)
        if call == "tune":
            return {"changes": {name: [None, new] for name, new in arguments["changes"].items()}}
        return self.answers.get(call, [])

    def snapshot(self) -> Snapshot | None:
        if self.phase == "idle":
            return None
        if self.phase in ("running", "draining"):
            self.elapsed_s += STEP_S
        return snapshot_at(
            self.elapsed_s, self.started_at, self._nodes, self._edges, self.phase, self.error
        )


def snapshot_at(
    elapsed_s: float,
    started_at: float = 0.0,
    nodes: tuple[str, ...] = ("model", *CAPACITY),
    edges: tuple[str, ...] = (
        *("model.out>router.in", "router.reasoning>log.in", "router.answer>chunks.in"),
        *("chunks.out>speech.in", "chunks.out>screen.in"),
    ),
    phase: Phase = "running",
    error: str | None = None,
) -> Snapshot:
    """Return the numbers of the imagined run at a moment."""
    stats = {node: _stats(node, elapsed_s) for node in nodes}
    return Snapshot(
        at=started_at + elapsed_s,
        started_at=started_at,
        phase=phase,
        strategy="aiflow",
        bound=107,
        in_flight=sum(each.in_flight for each in stats.values()),
        max_in_flight=29,
        nodes=stats,
        edges={edge: _edge(edge, elapsed_s, stats) for edge in edges},
        conversations={"c1": "active"},
        model_ttft_ms=101.0,
        ttfpt_ms=112.0,
        error=error,
    )


def _stats(node: str, elapsed_s: float) -> NodeStats:
    depth = _depth(node, elapsed_s)
    done = int(elapsed_s * (4 if node == "speech" else 20))
    wait_s = 0.25 * depth if node == "speech" else 0.05 * depth
    service_s = 0.25 if node == "speech" else 0.0002
    busy = min(1.0, service_s * done / elapsed_s) if elapsed_s else 0.0
    held = 0.0 if node in ("speech", "log", "screen") or elapsed_s < 3 else 1 - busy
    return NodeStats(
        id=node,
        activity="busy" if node == "speech" else "backpressured" if held else "idle",
        queue_capacity=CAPACITY.get(node),
        bound=CAPACITY.get(node, 0) + 1,
        depth=depth,
        max_depth=depth,
        running=1 if node == "speech" else 0,
        received=done + depth,
        processed=done,
        in_flight=depth + 1,
        wait=_latency(done, wait_s),
        service=_latency(done, service_s),
        busy_s=busy * elapsed_s,
        backpressured_s=held * elapsed_s,
        idle_s=(1 - busy - held) * elapsed_s,
    )


def _depth(node: str, elapsed_s: float) -> int:
    if node not in FILLS_FROM:
        return 0
    return min(CAPACITY[node], max(0, int((elapsed_s - FILLS_FROM[node]) * 4)))


def _latency(count: int, mean_s: float) -> LatencyStats:
    mean_ms = mean_s * 1000
    return LatencyStats(count, count * mean_s, mean_ms, mean_ms * 1.02, mean_ms * 1.1)


def _edge(edge: str, elapsed_s: float, stats: dict[str, NodeStats]) -> EdgeStats:
    target = edge.partition(">")[2].partition(".")[0]
    depth = stats[target].depth if target in stats else 0
    is_full = depth > 0 and depth == CAPACITY.get(target)
    return EdgeStats(
        edge, int(elapsed_s * 20), int(elapsed_s * 20) - depth, depth=depth, is_full=is_full
    )
