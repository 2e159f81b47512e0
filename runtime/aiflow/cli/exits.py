"""How a command ends: its exit codes, and the error of a wrong command line."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum

from aiflow.compiler.findings import suggestion
from aiflow.errors import AiFlowError, reason_of


class Exit(IntEnum):
    """Exit codes of `aiflow`.

    A run that SIGTERM has drained is done; one that it had to cut off is interrupted.
    """

    DONE = 0
    FAILED = 1
    USAGE = 2
    INTERRUPTED = 130


class UsageError(AiFlowError):
    """The command line asks for what there is not; only the command line raises it."""


def unknown(what: str, name: str, known: Iterable[str]) -> UsageError:
    """Return the error for a name that is not among the known ones.

    Args:
        what: the kind of thing, such as `strategy`.
        name: what was asked for.
        known: what there is; the closest is suggested.
    """
    return UsageError(f"there is no {what} {name!r}; {advice(name, known)}")


def advice(name: str, known: Iterable[str]) -> str:
    """Return what to write instead of a wrong name: the closest there is, or all there is."""
    names = list(known)
    if near := suggestion(name, names):
        return f"did you mean {near}?"
    return f"there is {', '.join(names)}" if names else "there is none"


def unreadable(path: str, error: OSError) -> UsageError:
    """Return the error for a file that the system will not read."""
    return UsageError(f"{path} cannot be read: {reason_of(error)}; check the path")


def unwritable(path: str, error: OSError) -> UsageError:
    """Return the error for a file that the system will not write."""
    return UsageError(f"{path} cannot be written: {reason_of(error)}; choose another place")
