"""The command line of `aiflow-studio`. No Qt here: `--help` works on any machine."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from aiflow_studio import __version__

#: Kept here in words, because their homes import Qt; a test holds them together.
THEME_NAMES = ("dark", "light", "high-contrast", "projector")
STRATEGY_NAMES = ("aiflow", "aggregate", "callback", "unbounded")


@dataclass(frozen=True, slots=True)
class Options:
    """What a start was asked for.

    Attributes:
        graph: file to open; None begins an empty document.
        run: start a run at once.
        theme: name of a theme; None takes the one last used.
        screenshot: file to write a picture of the window to; the studio then ends.
        after: seconds from the run's start (without a run: from the window's) to the picture.
        safe: forget settings and start no run, whatever else was asked.
        operators: Python files whose operators are there too; their code is run.
    """

    graph: Path | None = None
    run: bool = False
    strategy: str = "aiflow"
    theme: str | None = None
    screenshot: Path | None = None
    after: float = 0.0
    safe: bool = False
    operators: tuple[str, ...] = ()


class _Parser(argparse.ArgumentParser):
    """A parser that complains in one line, as `aiflow` does."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and where the help is, and leave."""
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")


def parse(arguments: Sequence[str]) -> Options:
    """Read a command line.

    Raises:
        SystemExit: 2 where it cannot be understood, 0 after `--help` or `--version`.
    """
    parser = _Parser(
        prog="aiflow-studio",
        description="Draw a graph of a streaming LLM application, run it, watch it.",
    )
    parser.add_argument("graph", nargs="?", type=Path, metavar="GRAPH", help="graph to open")
    parser.add_argument("--run", action="store_true", help="start running it")
    parser.add_argument(
        "--strategy", choices=STRATEGY_NAMES, default="aiflow", help="how it is run"
    )
    parser.add_argument("--theme", choices=THEME_NAMES, help="colours; the last used by default")
    parser.add_argument(
        "--screenshot", type=Path, metavar="FILE", help="write a picture of the window and end"
    )
    parser.add_argument(
        "--after",
        type=_seconds,
        default=0.0,
        metavar="SECONDS",
        help="with --screenshot: seconds from the start of the run",
    )
    parser.add_argument(
        "--safe", action="store_true", help="with settings as at a first start, and without a run"
    )
    parser.add_argument(
        "--operators",
        action="append",
        default=[],
        metavar="FILE",
        help="use the operators of a Python file too; its code is run",
    )
    parser.add_argument("--version", action="version", version=f"aiflow-studio {__version__}")
    given = parser.parse_args(arguments)
    return Options(
        graph=given.graph,
        run=given.run and not given.safe,
        strategy=given.strategy,
        theme=given.theme,
        screenshot=given.screenshot,
        after=given.after,
        safe=given.safe,
        operators=tuple(given.operators),
    )


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds, 0 or more")
    return value
