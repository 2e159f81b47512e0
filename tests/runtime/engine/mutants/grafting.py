"""Grafting: one line of the engine is written otherwise, in this process only.

A function is compiled anew from its own source with one piece of text replaced, and put in the
place of the sound one in every module that has its name.
"""

from __future__ import annotations
import __future__

import inspect
import sys
import textwrap
from dataclasses import dataclass
from importlib import import_module
from typing import Any


@dataclass(frozen=True)
class Mutant:
    """A named fault of the engine.

    Attributes:
        name: what is wrong with it.
        reason: what a user would see, or whose bug it was.
        law: test that is expected to kill it, asked first.
        changes: (place as `module:name` or `module:Class.name`, text there, what it becomes).
    """

    name: str
    reason: str
    law: str
    changes: tuple[tuple[str, str, str], ...]


def graft(mutant: Mutant) -> None:
    """Make a fault part of the engine, for as long as this process lives.

    Raises:
        LookupError: the text is not exactly once where the mutant looks for it, so that it
            has to follow a change of the engine.
    """
    for place, old, new in mutant.changes:
        module_name, _, path = place.partition(":")
        module = import_module(f"aiflow.engine.{module_name}")
        *owners, name = path.split(".")
        owner: Any = module
        for each in owners:
            owner = getattr(owner, each)
        sound = getattr(owner, name)
        faulty = _rewritten(mutant, sound, old, new)
        if owner is not module:
            setattr(owner, name, faulty)
            continue
        for other in tuple(sys.modules.values()):
            if getattr(other, "__name__", "").startswith("aiflow.engine"):
                for key, value in tuple(vars(other).items()):
                    if value is sound:
                        setattr(other, key, faulty)


def _rewritten(mutant: Mutant, function: Any, old: str, new: str) -> Any:
    source = textwrap.dedent(inspect.getsource(function))
    if source.count(old) != 1:
        raise LookupError(
            f"the mutant {mutant.name!r} looks for {old!r} in {function.__qualname__}, where it"
            f" stands {source.count(old)} times"
        )
    flags = __future__.annotations.compiler_flag
    code = compile(source.replace(old, new), inspect.getfile(function), "exec", flags)
    made: dict[str, Any] = {}
    exec(code, function.__globals__, made)
    return made[function.__name__]
