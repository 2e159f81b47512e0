"""Traces that answer in place of a model: which of several, and the servers they are served by.

One trace answers every request. With several, the first answers what has no answer of a model in
its messages yet, the second what has one, and so on: so a conversation gets them in its own order
whatever others do, a request that is made again gets the same one, and nothing is remembered.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from aiflow.clock import Clock
from aiflow.errors import TraceError
from aiflow.providers.messages import ChatRequest
from aiflow.transport.trace import Trace
from aiflow.transport.trace_server import TraceServer


class Traces:
    """Opened traces, from `start` to `stop`.

    Attributes:
        servers: one for each trace on a real clock; none on the virtual one.
    """

    def __init__(self) -> None:
        self.servers: list[TraceServer] = []
        self._traces: list[Trace] = []

    @property
    def dialect(self) -> str:
        """The wire format of all of them."""
        return self._traces[0].dialect

    async def start(self, paths: Sequence[Path], clock: Clock) -> None:
        """Open the traces and, on a real clock, serve them.

        Raises:
            TraceError: one cannot be read.
            OSError: no port can be listened at.
        """
        traces = opened(paths)
        for trace in traces:
            # Read to its end once, so that a torn line is told now and not in mid-run.
            trace.check()
        self._traces = traces
        for trace in traces if not clock.is_virtual else ():
            server = TraceServer(trace, clock)
            await server.start()
            self.servers.append(server)

    async def stop(self) -> None:
        """Close the servers; safe to repeat."""
        servers, self.servers = self.servers, []
        for server in servers:
            await server.stop()

    def trace_for(self, request: ChatRequest) -> Trace:
        """Return the trace that answers a request."""
        return self._traces[self._place(request)]

    def url_for(self, request: ChatRequest) -> str:
        """Return the address at which that trace is served."""
        return self.servers[self._place(request)].url

    def _place(self, request: ChatRequest) -> int:
        answers = sum(message.role == "assistant" for message in request.messages)
        return min(answers, len(self._traces) - 1)


def opened(paths: Sequence[Path]) -> list[Trace]:
    """Return traces whose first lines have been read.

    Raises:
        TraceError: one cannot be read, or they are not all in one dialect.
    """
    traces = [Trace.open(path) for path in paths]
    for trace in traces[1:]:
        if trace.dialect != traces[0].dialect:
            raise TraceError(
                str(trace.path),
                f"it is in {trace.dialect}, but {traces[0].path.name} in {traces[0].dialect};"
                " one provider speaks one dialect",
            )
    return traces
