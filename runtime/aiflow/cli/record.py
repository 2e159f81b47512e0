"""`aiflow record`: ask a model once and keep its answer as a trace."""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path
from typing import get_args

from pydantic import ValidationError

from aiflow.cli.commands import Commands
from aiflow.cli.console import put_json, say
from aiflow.cli.exits import Exit, UsageError, unknown, unwritable
from aiflow.cli.files import is_replaceable
from aiflow.clock import SystemClock
from aiflow.errors import ResourceError
from aiflow.providers.dialect import dialect_names
from aiflow.providers.known import KNOWN, KnownProvider
from aiflow.providers.messages import ChatMessage, ChatRequest, Effort, Reasoning, Sampling
from aiflow.providers.reading import plain
from aiflow.providers.resource import Provider, ProviderParams
from aiflow.transport.excerpt import place_of
from aiflow.transport.trace import FIRST_BYTES, Trace

_DIALECT = "openai-chat"


def add_to(commands: Commands, common: argparse.ArgumentParser) -> None:
    """Add the command to the program's parser."""
    parser = commands.add_parser(
        "record",
        parents=[common],
        help="record a model's answer as a trace",
        description="Ask a model once and write the raw bytes of its answer, with the times at"
        " which they arrived, into a trace. Each event is a JSON line on stdout. The trace holds"
        " neither the question nor the key; an answer that breaks off is kept as far as it came.",
    )
    parser.add_argument(
        "--provider",
        required=True,
        metavar="NAME",
        help=f"an address, such as http://127.0.0.1:8080, or one of {', '.join(KNOWN)}",
    )
    parser.add_argument("--model", default="", metavar="M", help="the model's name there")
    parser.add_argument("--prompt", required=True, metavar="TEXT", help="what is asked")
    parser.add_argument("--system", default="", metavar="TEXT", help="instructions before it")
    parser.add_argument("--max-tokens", type=int, metavar="N", help="longest answer, 1 or more")
    parser.add_argument(
        "--effort", choices=get_args(Effort), help="how much the model thinks before it answers"
    )
    parser.add_argument(
        "-o", "--output", required=True, metavar="TRACE", help="the file; an old one is replaced"
    )
    parser.add_argument(
        "--dialect", metavar="D", help=f"wire format at an address ({_DIALECT} if not said)"
    )
    parser.add_argument(
        "--credential",
        metavar="VARIABLE",
        help="environment variable that holds the key; never the key itself",
    )
    parser.set_defaults(command=record)


def record(options: argparse.Namespace) -> int:
    """Record one answer."""
    if options.max_tokens is not None and options.max_tokens < 1:
        raise UsageError(f"--max-tokens is {options.max_tokens}; it must be 1 or more")
    provider = _provider(options)
    request = ChatRequest(
        options.model,
        (ChatMessage("user", options.prompt),),
        options.system,
        sampling=Sampling(max_tokens=options.max_tokens),
        reasoning=None if options.effort is None else Reasoning(options.effort),
    )
    path = Path(options.output)
    # Asked before the model is, which may cost money.
    if path.is_dir():
        raise UsageError(f"{path} is a folder; name a file in it")
    if not path.absolute().parent.is_dir():
        raise UsageError(f"{path} cannot be written: there is no such folder; make it first")
    try:
        if not is_replaceable(path, FIRST_BYTES):
            raise UsageError(f"{path} is not replaced: it is no trace; choose another name")
    except OSError as error:
        raise unwritable(str(path), error) from error
    before = _stamp(path)
    try:
        asyncio.run(_record(provider, request, path))
    except BaseException:
        if _stamp(path) != before:
            say(f"aiflow: what came before that is kept in {path}")
        raise
    size = sum(len(piece.data) for piece in Trace.open(path).pieces())
    say(f"aiflow: recorded {size:,} bytes in {path}")
    return Exit.DONE


async def _record(provider: Provider, request: ChatRequest, path: Path) -> None:
    clock = SystemClock()
    await provider.start(clock)
    try:
        stream = provider.stream_chat(request, record_to=path)
        async for payload, at in stream:
            sent_at = stream.request_sent_at
            since_s = at - (at if sent_at is None else sent_at)
            put_json({"at": since_s, **plain(payload)}, indent=None)
    finally:
        await provider.stop()


def _provider(options: argparse.Namespace) -> Provider:
    """Return the provider that the command line names.

    Raises:
        UsageError: there is none of that name, or it cannot be used as it is asked for.
    """
    name = options.provider
    is_address = "://" in name
    if not is_address and name not in KNOWN:
        raise unknown("provider", name, [*KNOWN, "or an address such as http://127.0.0.1:8080"])
    known = KnownProvider(name, _DIALECT) if is_address else KNOWN[name]
    dialect = options.dialect or known.dialect
    if dialect not in (names := dialect_names()):
        raise unknown("dialect", dialect, names)
    credential = known.credential if options.credential is None else options.credential
    try:
        params = ProviderParams(endpoint=known.endpoint, dialect=dialect, credential=credential)
    except ValidationError:
        # What stands there may be the key: it is not repeated.
        raise UsageError(
            "--credential is no name of an environment variable; put the key into one and name it"
        ) from None
    provider = Provider(place_of(name) if is_address else name, params)
    for fault in provider.check():
        raise ResourceError(provider.id, fault)
    return provider


def _stamp(path: Path) -> tuple[int, int] | None:
    """Return what changes when a file is written; None where there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ino
