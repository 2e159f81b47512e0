"""The live table of a run on a terminal: depth against the bound, rates, who waits."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Collection
from types import TracebackType
from typing import Literal

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from aiflow.analysis.facts import Facts
from aiflow.analysis.watch import Watch
from aiflow.metrics.snapshot import NodeStats, Snapshot

REFRESH_S = 0.2
_CELLS = 16
_MOST_LINES = 1000
_PIPE_WIDTH = 120
_GAP = 2
_DOING_WIDTH = len("window-blocked")
_COLUMNS = (
    *("node", "queue", "q", "k", "ρ", "doing"),
    *("in/s", "done/s", "wait p50", "service p50", "dropped"),
)
_TEXTS = ("node", "queue", "doing")
#: What a narrow terminal does without, first to go first; a queue shows its q beside its bar.
_LEAST_NEEDED = ("ρ", "k", "q", "in/s", "service p50", "wait p50", "dropped", "done/s", "doing")

_COLOURS = {
    "busy": "yellow",
    "backpressured": "magenta",
    "window_blocked": "blue",
    "idle": "bright_black",
}


class LiveTable:
    """Redraws a table of the newest snapshot until it is left; lines go above it.

    An async context manager, used where stdout or stderr is a terminal.

    Args:
        take: returns the newest snapshot.
        facts: of the plan that runs.
        console: where to draw; None is the terminal there is.
    """

    def __init__(
        self,
        take: Callable[[], Snapshot],
        facts: Facts,
        console: Console | None = None,
    ) -> None:
        self._take = take
        self._sources = facts.sources
        self._watch = Watch(facts)
        # Drawn on stdout where that is the terminal too, so that sinks' lines and the table
        # do not overwrite one another; else on stderr, and stdout stays clean.
        on_stdout = sys.stdout is not None and sys.stdout.isatty()
        self._console = console or Console(file=sys.stdout if on_stdout else sys.stderr)
        self._shares_stdout = console is not None or on_stdout
        self._live = Live(
            console=self._console,
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._last: Snapshot | None = None
        self._rates: dict[str, tuple[float, float]] = {}
        self._lines: list[str] = []
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> LiveTable:
        """Start to draw."""
        self._live.start()
        self._task = asyncio.get_running_loop().create_task(self._redraw(), name="live table")
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Take the table away."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})
        self._print_lines()
        self._live.stop()

    def line(self, text: str) -> None:
        """Print a result's line to stdout, above the table."""
        if self._shares_stdout:
            # Each print draws the table anew, some 8 ms in which the run stands still: so
            # lines wait for the next redraw.
            self._lines.append(text)
            if len(self._lines) >= _MOST_LINES:
                self._print_lines()
        elif sys.stdout is not None:
            print(text, flush=True)

    def _print_lines(self) -> None:
        if self._lines:
            text = "\n".join(self._lines)
            self._lines.clear()
            self._console.print(text, markup=False, highlight=False, soft_wrap=True)

    async def _redraw(self) -> None:
        while True:
            snapshot = self._take()
            self._measure(snapshot)
            self._print_lines()
            sentence = self._watch.see(snapshot)
            width = self._console.width
            table = render(snapshot, self._rates, self._sources, sentence, width=width)
            self._live.update(table, refresh=True)
            await asyncio.sleep(REFRESH_S)

    def _measure(self, now: Snapshot) -> None:
        """Form rates over about a second, so that they can be read."""
        last = self._last
        if last is None or now.at - last.at >= 1.0:
            if last is not None:
                span = now.at - last.at
                self._rates = {
                    id: (
                        (node.received - last.nodes[id].received) / span,
                        (node.processed - last.nodes[id].processed) / span,
                    )
                    for id, node in now.nodes.items()
                    if id in last.nodes
                }
            self._last = now


def render(
    snapshot: Snapshot,
    rates: dict[str, tuple[float, float]],
    sources: Collection[str] = (),
    sentence: str = "",
    *,
    width: int = _PIPE_WIDTH,
) -> Table:
    """Return the table of one snapshot.

    Args:
        snapshot: the newest.
        rates: node id -> events per second that came and that were done.
        sources: ids of the nodes that have no queue.
        sentence: how the run stands, below the table.
        width: of the terminal, in letters; what is least needed is left out where it is narrow.
    """
    rows = []
    for node in snapshot.nodes.values():
        queue = ("", "") if node.id in sources else _queue(node)
        rows.append((node.id, *queue, *_cells(node, *rates.get(node.id, (0.0, 0.0)))))
    columns = _fitting(rows, width)
    table = Table(title=title(snapshot), title_justify="left", box=None, padding=(0, _GAP, 0, 0))
    for at in columns:
        justify: Literal["left", "right"] = "left" if _COLUMNS[at] in _TEXTS else "right"
        # No jumping while the words change.
        least = _DOING_WIDTH if _COLUMNS[at] == "doing" else None
        table.add_column(_COLUMNS[at], justify=justify, no_wrap=True, min_width=least)
    for row in rows:
        table.add_row(*(row[at] for at in columns))
    if sentence:
        table.caption, table.caption_justify = Text(sentence), "left"
    return table


def print_table(snapshot: Snapshot, sources: Collection[str], sentence: str) -> None:
    """Print the table of one snapshot to stdout, with rates since the run's start; see `render`."""
    if sys.stdout is None:
        return
    span = max(snapshot.at - snapshot.started_at, 1e-9)
    rates = {
        node.id: (node.received / span, node.processed / span) for node in snapshot.nodes.values()
    }
    # A pipe has no width of its own, and nobody wants names cut off there.
    console = Console(file=sys.stdout, width=None if sys.stdout.isatty() else _PIPE_WIDTH)
    console.print(render(snapshot, rates, sources, sentence, width=console.width))


def title(snapshot: Snapshot) -> str:
    """Return how a run stands as a whole, in one line."""
    bound = "no limit" if snapshot.bound is None else str(snapshot.bound)
    parts = [
        f"{snapshot.phase} {snapshot.at - snapshot.started_at:.1f} s",
        f"in flight {snapshot.in_flight} of at most {bound}",
    ]
    if snapshot.ttfpt_ms is not None and snapshot.model_ttft_ms is not None:
        parts.append(f"first token {snapshot.ttfpt_ms:.0f} ms")
    if snapshot.strategy != "aiflow":
        parts.append(f"strategy {snapshot.strategy}")
    return " · ".join(parts)


def _fitting(rows: list[tuple[str | Text, ...]], width: int) -> list[int]:
    """Return which columns a terminal has room for: all, or without the least needed."""
    widths = [
        max(len(name), *(len(row[at]) for row in rows)) if rows else len(name)
        for at, name in enumerate(_COLUMNS)
    ]
    widths[_COLUMNS.index("doing")] = max(widths[_COLUMNS.index("doing")], _DOING_WIDTH)
    shown = list(range(len(_COLUMNS)))
    for name in _LEAST_NEEDED:
        if sum(widths[at] + _GAP for at in shown) <= width:
            break
        shown.remove(_COLUMNS.index(name))
    return shown


def _cells(node: NodeStats, came: float, done: float) -> tuple[str | Text, ...]:
    return (
        str(node.workers),
        str(node.reorder_capacity),
        Text(node.activity.replace("_", "-"), style=_COLOURS[node.activity]),
        f"{came:,.1f}",
        f"{done:,.1f}",
        f"{node.wait.p50_ms:,.1f} ms" if node.wait.count else "–",
        f"{node.service.p50_ms:,.1f} ms" if node.service.count else "–",
        str(sum(node.dropped.values())),
    )


def _queue(node: NodeStats) -> tuple[Text, str]:
    """Return the queue as cells, one an event while q allows it, else in proportion; and q."""
    capacity = node.queue_capacity
    if capacity is None:
        return Text(f"{node.depth:,} waiting", style=_COLOURS[node.activity]), "∞"
    cells = min(capacity, _CELLS)
    filled = -(-node.depth * cells // capacity)  # rounded up: one event is never invisible
    bar = Text("■" * filled, style=_COLOURS[node.activity])
    bar.append("□" * (cells - filled), style="bright_black")
    bar.append(f" {node.depth}/{capacity}")
    return bar, str(capacity)
