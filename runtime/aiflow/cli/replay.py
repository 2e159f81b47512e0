"""`aiflow replay`: play a recorded stream, or serve it as a provider."""

from __future__ import annotations

import argparse
import asyncio
import json
import math
from pathlib import Path
from typing import Any

from aiflow.cli.console import put_json
from aiflow.cli.exits import Exit, UsageError
from aiflow.clock import SystemClock
from aiflow.graph.shipped import graphs_dir
from aiflow.providers.decoder import StreamDecoder
from aiflow.providers.dialect import find_dialect
from aiflow.providers.profile import DEFAULT_PROFILE
from aiflow.providers.reading import lines
from aiflow.resources import find_file
from aiflow.transport.trace import Trace


def add_to(commands: Any, common: argparse.ArgumentParser) -> None:  # noqa: ANN401
    """Add the command to the program's parser."""
    parser = commands.add_parser(
        "replay",
        parents=[common],
        help="play a trace, or serve it as a provider",
        description="Play a recorded stream: each event as a JSON line when its time has come.",
    )
    parser.add_argument("trace", metavar="TRACE", help="trace file")
    parser.add_argument(
        "--speed",
        type=float,
        default=1.0,
        metavar="X",
        help="times faster than recorded; 0 is at once",
    )
    parser.set_defaults(command=replay)


def replay(options: argparse.Namespace) -> int:
    """Play the trace."""
    if not (math.isfinite(options.speed) and options.speed >= 0):
        raise UsageError(f"--speed is {options.speed}; it must be 0 or more")
    path = find_file(options.trace, (Path(), graphs_dir())) or Path(options.trace)
    trace = Trace.open(path)
    asyncio.run(_play(trace, options.speed))
    return Exit.DONE


async def _play(trace: Trace, speed: float) -> None:
    """Print what the trace holds, as a provider's bytes are read."""
    clock = SystemClock()
    began = clock.now()
    decoder = StreamDecoder(find_dialect(trace.dialect).reader(DEFAULT_PROFILE))
    at = 0.0
    for at, data in trace.pieces():
        if speed:
            await clock.sleep_until(began + at / speed)
        _print(at, decoder, data)
    for line in lines(decoder.close(clean=trace.check() == "closed")):
        put_json({"at": at, **json.loads(line)}, indent=None)


def _print(at: float, decoder: StreamDecoder, data: bytes) -> None:
    for line in lines(decoder.feed(data)):
        put_json({"at": at, **json.loads(line)}, indent=None)
