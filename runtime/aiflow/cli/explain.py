"""`aiflow explain`: what a diagnostic code means and what to do about it."""

from __future__ import annotations

import argparse
import re
import textwrap
from collections.abc import Iterable, Iterator

from aiflow.cli.commands import Commands
from aiflow.cli.console import put
from aiflow.cli.exits import Exit, UsageError
from aiflow.compiler.explain import FAMILIES, Explanation, explanations
from aiflow.compiler.findings import suggestion

_WIDTH = 88
_CODE = re.compile(r"AF\d{3}", re.ASCII)


def add_to(commands: Commands, common: argparse.ArgumentParser) -> None:
    """Add the command to the program's parser."""
    parser = commands.add_parser(
        "explain", parents=[common], help="say what a code such as AF304 means and what to do"
    )
    parser.add_argument(
        "code", metavar="CODE", nargs="?", help="a diagnostic code; without one, all are listed"
    )
    parser.set_defaults(command=explain)


def explain(options: argparse.Namespace) -> int:
    """Print what the code means, or the list of codes."""
    known = explanations()
    if options.code is None:
        for line in _list(known.values()):
            put(line)
        return Exit.DONE
    code = options.code.strip().upper()
    if code.isdigit():
        code = f"AF{code}"
    if code not in known:
        # The letter O is the likeliest slip. A whole code that there is not is near to no other:
        # all of a family are as near, and none of them is meant.
        is_code = _CODE.fullmatch(code) is not None
        near = None if is_code else suggestion(code.replace("O", "0"), known)
        advice = f"did you mean {near}?" if near else "`aiflow explain` lists all there are"
        raise UsageError(f"there is no code {options.code!r}; {advice}")
    for line in lines_of(known[code]):
        put(line)
    return Exit.DONE


def lines_of(found: Explanation) -> Iterator[str]:
    """Yield what a person reads of one code."""
    yield f"{found.code} ({found.family})"
    yield ""
    yield from _wrapped(found.summary)
    if found.details:
        yield from _wrapped(found.details)
    for title, text in (
        ("Why it is bad", found.why),
        ("Example", found.example),
        ("What to do", found.remedy),
    ):
        yield ""
        yield title
        yield from _wrapped(text, "  ")
    if found.files:
        yield ""
        yield "Graphs that show it: " + ", ".join(found.files)


def _list(known: Iterable[Explanation]) -> Iterator[str]:
    family = ""
    for found in known:
        if found.code[:3] != family:
            family = found.code[:3]
            yield f"{family}xx {FAMILIES[family]}"
        yield f"  {found.code}  {found.summary}"


def _wrapped(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(
        text,
        _WIDTH,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
