"""`aiflow attach`: look at a run in another process, or steer it, by its address and token."""

from __future__ import annotations

import argparse
import asyncio
import sys
from typing import Any

from aiflow.analysis.watch import Watch
from aiflow.cli.commands import Commands
from aiflow.cli.console import complain, put, put_json, say
from aiflow.cli.exits import Exit, UsageError
from aiflow.cli.settings import tuning_of
from aiflow.cli.table import LiveTable, print_table, title
from aiflow.engine.status import ENDED
from aiflow.engine.tuning import Tuning
from aiflow.errors import RemoteError
from aiflow.metrics.snapshot import Snapshot
from aiflow.remote import Client, connect
from aiflow.remote.addresses import address_of
from aiflow.remote.tokens import find_token

#: Seconds between two looks: for a table, and for lines.
_TABLE_EVERY_S = 0.2
_LINE_EVERY_S = 1.0


def add_to(commands: Commands, common: argparse.ArgumentParser) -> None:
    """Add the command to the program's parser."""
    parser = commands.add_parser(
        "attach",
        parents=[common],
        help="look at a run elsewhere, or steer it",
        description="Show the live table of a run that was started with --serve, until it ends;"
        " Ctrl+C leaves it alone. Or change it and leave. The token is read from"
        " AIFLOW_TOKEN, or from where a run of the same user keeps it.",
    )
    parser.add_argument("address", metavar="ADDRESS", help="host:port, or a port of this machine")
    parser.add_argument("--token-file", metavar="FILE", help="read the token from there")
    # Known only to be refused: else it would be read as --token-file, and the token be shown.
    parser.add_argument("--token", help=argparse.SUPPRESS)
    parser.add_argument(
        "--tune",
        action="append",
        default=[],
        metavar="node.member=value",
        help="change q, k, rho, o or retry of a running node: speech.q=4",
    )
    parser.add_argument(
        "--drain", action="store_true", help="let what is inside come out, then end"
    )
    parser.add_argument("--stop", action="store_true", help="cancel everything now")
    parser.add_argument("--once", action="store_true", help="show one snapshot and leave")
    parser.add_argument(
        "--json", action="store_true", help="with --once: print the snapshot as one JSON object"
    )
    parser.set_defaults(command=attach)


def attach(options: argparse.Namespace) -> int:
    """Look at the run, or steer it."""
    if options.json and not options.once:
        raise UsageError("--json prints one snapshot; say --once too")
    if options.token is not None:
        raise UsageError(
            "a token on the command line can be read by everybody on this machine;"
            " set AIFLOW_TOKEN to it, or name a file that holds it with --token-file"
        )
    changes = [tuning_of(text) for text in options.tune]
    try:
        _, port = address_of(options.address)
    except RemoteError as error:
        raise UsageError(str(error)) from error
    try:
        token = find_token(port, options.token_file)
    except RemoteError as error:
        # A file that was named is usage; that no run is there is not.
        raise error if options.token_file is None else UsageError(str(error)) from error
    return asyncio.run(_attach(options, changes, token))


async def _attach(
    options: argparse.Namespace, changes: list[tuple[str, dict[str, Any]]], token: str
) -> int:
    async with connect(options.address, token) as run:
        for node, members in changes:
            _tell(await run.tune(node, **members))
        if options.drain:
            await run.drain()
        if options.stop:
            await run.stop()
        if options.once:
            return await _show_once(run, is_json=options.json)
        if changes or options.drain or options.stop:
            return Exit.DONE
        return await _watch(run)


def _tell(tuning: Tuning) -> None:
    for member, (old, new) in tuning.changes.items():
        say(f"aiflow: {tuning.node}.{member} was {old}, is {new}")
    if not tuning.changes:
        say(f"aiflow: nothing of {tuning.node} has changed")


async def _show_once(run: Client, *, is_json: bool) -> int:
    snapshot = await run.snapshot()
    if is_json:
        put_json(snapshot.to_dict())
    else:
        facts = await run.facts()
        print_table(snapshot, facts.sources, Watch(facts).see(snapshot))
    return Exit.DONE


async def _watch(run: Client) -> int:
    facts = await run.facts()
    first = await run.snapshot()
    if sys.stdout is not None and sys.stdout.isatty():
        # What the table draws is what was read last: drawing does not wait for the other side.
        async with LiveTable(lambda: run.last or first, facts):
            last = await _until_end(run, None, _TABLE_EVERY_S)
    else:
        last = await _until_end(run, Watch(facts), _LINE_EVERY_S)
    put(title(last))
    if last.error is not None:
        complain(last.error)
    return Exit.FAILED if last.phase == "failed" else Exit.DONE


async def _until_end(run: Client, watch: Watch | None, every_s: float) -> Snapshot:
    """Read snapshots until the last; with a watch, say how the run stands at each."""
    while True:
        snapshot = await run.snapshot()
        if snapshot.phase in ENDED:
            return snapshot
        if not run.is_open:
            raise RemoteError(
                f"the run at {run.address} is served no longer; at the last it was {snapshot.phase}"
            )
        if watch is not None:
            sentence = watch.see(snapshot)
            put(f"{title(snapshot)}{' · ' if sentence else ''}{sentence}")
        await asyncio.sleep(every_s)
