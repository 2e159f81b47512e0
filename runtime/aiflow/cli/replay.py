"""`aiflow replay`: play a recorded stream, or serve it as a provider."""

from __future__ import annotations

import argparse
import asyncio
import math
from collections.abc import Iterable
from pathlib import Path

from aiflow.cli.commands import Commands
from aiflow.cli.console import put, put_json, say
from aiflow.cli.exits import Exit, UsageError
from aiflow.clock import SystemClock
from aiflow.errors import RemoteError
from aiflow.events import Payload
from aiflow.graph.shipped import graphs_dir
from aiflow.providers.decoder import StreamDecoder
from aiflow.providers.dialect import find_dialect
from aiflow.providers.profile import DEFAULT_PROFILE
from aiflow.providers.reading import plain
from aiflow.remote.addresses import address_of, cannot_listen
from aiflow.resources import find_file
from aiflow.transport.trace import Trace
from aiflow.transport.trace_server import TraceServer


def add_to(commands: Commands, common: argparse.ArgumentParser) -> None:
    """Add the command to the program's parser."""
    parser = commands.add_parser(
        "replay",
        parents=[common],
        help="play a trace, or serve it as a provider",
        description="Play a recorded stream: each event as a JSON line when its time has come;"
        " or serve it over HTTP, so that every chat request is answered with it.",
    )
    parser.add_argument("trace", metavar="TRACE", help="trace file")
    parser.add_argument(
        "--speed",
        type=float,
        default=1.0,
        metavar="X",
        help="times faster than recorded; 0 is at once",
    )
    parser.add_argument(
        "--serve",
        metavar="ADDRESS",
        help="serve it at host:port or port (0 is any free one) until Ctrl+C; the first line"
        " of stdout is the address",
    )
    parser.set_defaults(command=replay)


def replay(options: argparse.Namespace) -> int:
    """Play the trace."""
    if not (math.isfinite(options.speed) and options.speed >= 0):
        raise UsageError(f"--speed is {options.speed}; it must be 0 or more")
    path = find_file(options.trace, (Path(), graphs_dir())) or Path(options.trace)
    if path.suffix == ".json":
        raise UsageError(
            f"{options.trace} looks like a graph, and only a trace can be played;"
            " use `aiflow run` for a graph"
        )
    trace = Trace.open(path)
    if options.serve is None:
        asyncio.run(_play(trace, options.speed))
    else:
        try:
            asyncio.run(_serve(trace, options.speed, *address_of(options.serve)))
        except RemoteError as error:
            raise UsageError(f"--serve: {error}") from error
    return Exit.DONE


async def _serve(trace: Trace, speed: float, host: str, port: int) -> None:
    """Serve the trace until the task is cancelled, as Ctrl+C does."""
    server = TraceServer(trace, SystemClock(), host=host, port=port, speed=speed or None)
    try:
        await server.start()
    except OSError as error:
        raise cannot_listen(host, port, error) from error
    try:
        put(server.url)
        say(f"aiflow: serving {trace.path.name} ({trace.dialect}); Ctrl+C ends it")
        await asyncio.Event().wait()
    finally:
        await server.stop()


async def _play(trace: Trace, speed: float) -> None:
    """Print what the trace holds, as a provider's bytes are read."""
    clock = SystemClock()
    began = clock.now()
    decoder = StreamDecoder(find_dialect(trace.dialect).reader(DEFAULT_PROFILE))
    at = 0.0
    for at, data in trace.pieces():
        if speed:
            await clock.sleep_until(began + at / speed)
        _print(at, decoder.feed(data))
    _print(at, decoder.close(clean=trace.check() == "closed"))


def _print(at: float, payloads: Iterable[Payload]) -> None:
    for payload in payloads:
        put_json({"at": at, **plain(payload)}, indent=None)
