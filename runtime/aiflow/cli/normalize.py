"""`aiflow normalize`: raw provider bytes as events, or as one summary."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import BinaryIO

from aiflow.cli.commands import Commands
from aiflow.cli.console import put_data, put_json
from aiflow.cli.exits import Exit, UsageError, unknown, unreadable
from aiflow.providers.dialect import dialect_names
from aiflow.providers.reading import lines, normalize, summarize

_READ_BYTES = 1 << 16


def add_to(commands: Commands, common: argparse.ArgumentParser) -> None:
    """Add the command to the program's parser."""
    parser = commands.add_parser(
        "normalize",
        parents=[common],
        help="read a provider's raw bytes",
        description="Read a provider's raw bytes and print them as events, one JSON line each."
        " How they are framed is found from the bytes; a stream that broke is a reading with"
        " an error in it.",
    )
    parser.add_argument("file", metavar="FILE", help="the bytes of one answer, - for stdin")
    parser.add_argument("--dialect", required=True, metavar="D", help="wire format of the bytes")
    parser.add_argument(
        "--think-tags", action="store_true", help="take <think> ... </think> for reasoning"
    )
    parser.add_argument(
        "--start-in-reasoning",
        action="store_true",
        help="the text begins inside such a block (implies --think-tags)",
    )
    parser.add_argument(
        "--chunk-size", type=int, metavar="N", help="decode pieces of N bytes, 1 or more"
    )
    parser.add_argument(
        "--summary", action="store_true", help="print one JSON object of the whole answer"
    )
    parser.set_defaults(command=run_normalize)


def run_normalize(options: argparse.Namespace) -> int:
    """Read the file and print what is in it."""
    if options.dialect not in (known := dialect_names()):
        raise unknown("dialect", options.dialect, known)
    if options.chunk_size is not None and options.chunk_size < 1:
        raise UsageError(f"--chunk-size is {options.chunk_size}; it must be 1 or more")
    payloads = normalize(
        _pieces(options.file),
        options.dialect,
        think_tags=options.think_tags or options.start_in_reasoning,
        start_in_reasoning=options.start_in_reasoning,
        chunk_size=options.chunk_size,
    )
    if options.summary:
        put_json(summarize(payloads))
    else:
        for line in lines(payloads):
            put_data(line)
    return Exit.DONE


def _pieces(name: str) -> Iterator[bytes]:
    if name == "-":
        if sys.stdin is None:
            raise UsageError("stdin is closed; name a file")
        yield from _read(sys.stdin.buffer)
        return
    try:
        with open(name, "rb") as file:
            yield from _read(file)
    except OSError as error:
        raise unreadable(name, error) from error


def _read(file: BinaryIO) -> Iterator[bytes]:
    while piece := file.read(_READ_BYTES):
        yield piece
