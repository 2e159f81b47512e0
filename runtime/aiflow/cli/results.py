"""Results of a measure as files: the folder is made before anything is measured."""

from __future__ import annotations

import json
from pathlib import Path

from aiflow.cli.exits import unwritable


def folder(name: str | None) -> Path | None:
    """Return the folder for the results, made if need be; None where none is asked for.

    Raises:
        UsageError: it cannot be made.
    """
    if name is None:
        return None
    try:
        Path(name).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(name, error) from error
    return Path(name)


def write(path: Path, result: object) -> None:
    """Write a result as JSON.

    Raises:
        UsageError: it cannot be written.
    """
    try:
        path.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise unwritable(str(path), error) from error
