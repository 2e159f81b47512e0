"""The program `aiflow`: which commands there are, and how each of them may end.

One of the three borders at which every exception is caught: a person gets one line, and a
traceback only with `--debug`.
"""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NoReturn

from aiflow.cli import (
    attach,
    bench,
    check,
    convert,
    diff,
    explain,
    normalize,
    operators,
    record,
    replay,
    run,
    schema,
)
from aiflow.cli.console import OutputError, complain, never_fail_to_encode, say
from aiflow.cli.exits import Exit, UsageError
from aiflow.errors import AiFlowError, GraphFileError, TraceError

_LONGEST_COMMAND = 13  # `normalize` with its indent
_COMMANDS = (
    run,
    attach,
    check,
    operators,
    schema,
    explain,
    diff,
    convert,
    normalize,
    record,
    replay,
    bench,
)


class Parser(argparse.ArgumentParser):
    """A parser that complains in one line, as all of the program does."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("formatter_class", _Formatter)
        super().__init__(**options)

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and where the help is, and leave."""
        complain(f"{message}; see {self.prog} --help")
        self.exit(Exit.USAGE)


class _Formatter(argparse.HelpFormatter):
    """Help with room for the longest command beside its explanation."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=30)
        # argparse measures commands without their indent, and would break after the longest.
        self._action_max_length = _LONGEST_COMMAND


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        arguments: without the program's name; None takes those of this process.

    Returns:
        The exit code: 0 done, 1 the run or check failed, 2 usage or unreadable file,
        130 interrupted.
    """
    try:
        options = _parser().parse_args(arguments)
    except SystemExit as exit_:
        return exit_.code if isinstance(exit_.code, int) else Exit.USAGE
    never_fail_to_encode()
    try:
        code = int(options.command(options))
    except BrokenPipeError:
        code = Exit.FAILED
    except KeyboardInterrupt:
        code = Exit.INTERRUPTED
    except SystemExit as exit_:
        # No command leaves so: it is an operator's or a plug-in's, which the engine passes on.
        complain(f"code of the graph ended the program (SystemExit: {exit_.code}); nothing went on")
        code = Exit.FAILED
    except Exception as error:  # noqa: BLE001 - the border: a person gets one line
        if options.debug:
            say(traceback.format_exc())
        complain(_sentence(error, options.debug))
        is_usage = isinstance(error, UsageError | GraphFileError | TraceError)
        code = Exit.USAGE if is_usage else Exit.FAILED
    return code if _flush_stdout() else max(code, Exit.FAILED)


def _parser() -> Parser:
    parser = Parser(
        prog="aiflow",
        description="Run graphs of streaming LLM operators with bounded queues.",
        epilog="Exit codes: 0 done, 1 the run or check failed, 2 usage or unreadable file,"
        " 130 interrupted.",
    )
    parser.add_argument("--version", action="version", version=f"aiflow {_version()}")
    debug = argparse.ArgumentParser(add_help=False)
    debug.add_argument("--debug", action="store_true", help="show the traceback of what goes wrong")
    commands = parser.add_subparsers(
        title="commands", metavar="COMMAND", required=True, parser_class=Parser
    )
    for command in _COMMANDS:
        command.add_to(commands, debug)
    return parser


def _version() -> str:
    try:
        return version("aiflow-runtime")
    except PackageNotFoundError:
        return "of an uninstalled checkout"


def _sentence(error: Exception, debug: bool) -> str:
    if isinstance(error, AiFlowError | OutputError):
        return str(error)
    advice = "" if debug else "; --debug shows where"
    if isinstance(error, OSError):
        return f"{error}{advice}"
    return f"this is a bug in aiflow: {type(error).__name__}: {error}{advice}"


def _flush_stdout() -> bool:
    """Write what is left; say whether all of it could be written."""
    if sys.stdout is None:
        return True
    try:
        sys.stdout.flush()
    except OSError:
        # The interpreter flushes once more at its end and would complain there.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return False
    return True
