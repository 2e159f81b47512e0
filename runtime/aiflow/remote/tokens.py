"""Tokens: who has one may look at a run and steer it; made at its start, gone with it.

A token is in `AIFLOW_TOKEN`, or in a file that only its owner can read, named by the port.
It is never in a log, a message or an error's text.
"""

from __future__ import annotations

import contextlib
import hmac
import os
import secrets
import sys
from pathlib import Path

from aiflow.errors import RemoteError, reason_of

VARIABLE = "AIFLOW_TOKEN"
#: Shorter ones could be guessed.
_LEAST_LETTERS = 16
_MOST_LETTERS = 512


def new_token() -> str:
    """Return a token that nobody can guess."""
    return secrets.token_urlsafe(32)


def checked(token: str) -> str:
    """Return a token that somebody has chosen.

    Raises:
        RemoteError: it is too short, or cannot be sent; the text does not show it.
    """
    if not (_LEAST_LETTERS <= len(token) <= _MOST_LETTERS and token.isprintable()):
        raise RemoteError(
            f"the token must have {_LEAST_LETTERS} to {_MOST_LETTERS} letters and no line break;"
            " leave it out, and one is made"
        )
    return token


def token_of_environment() -> str | None:
    """Return the token in `AIFLOW_TOKEN`, None where there is none.

    Raises:
        RemoteError: it is too short to be one.
    """
    token = os.environ.get(VARIABLE, "")
    return checked(token) if token else None


def is_same(given: object, token: str) -> bool:
    """Compare in a time that tells nothing of where they differ."""
    text = given if isinstance(given, str) else ""
    return hmac.compare_digest(text.encode(errors="replace"), token.encode())


def token_file(port: int) -> Path:
    """Return where the token of a run that serves at a port is kept."""
    return _folder() / f"{port}.token"


def keep(token: str, port: int) -> Path:
    """Write a token where only the user it belongs to can read it.

    Raises:
        RemoteError: there is no place for it.
    """
    path = token_file(port)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # One of a run that has died may be there; who made it may still have it open.
        path.unlink(missing_ok=True)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(f"{token}\n")
    except OSError as error:
        raise RemoteError(
            f"the token cannot be kept in {path}: {reason_of(error)}; set {VARIABLE} instead"
        ) from error
    return path


def discard(path: Path) -> None:
    """Remove a token that opens nothing any more."""
    with contextlib.suppress(OSError):
        path.unlink(missing_ok=True)


def read(path: Path) -> str:
    """Return the token in a file.

    Raises:
        RemoteError: it cannot be read, or holds none.
    """
    try:
        with path.open(encoding="utf-8") as file:
            token = file.read(_MOST_LETTERS + 2).strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = reason_of(error) if isinstance(error, OSError) else "it is no text"
        raise RemoteError(
            f"the token file {path} cannot be read: {reason}; check the path"
        ) from error
    if not token:
        raise RemoteError(f"the token file {path} is empty; put the token that the run told in it")
    return token


def find_token(port: int, file: str | None = None) -> str:
    """Return the token for a run at a port: of the named file, the variable, or the usual file.

    Raises:
        RemoteError: there is none.
    """
    if file is not None:
        return read(Path(file))
    token = os.environ.get(VARIABLE, "")
    if token:
        return token
    path = token_file(port)
    if not path.exists():
        raise RemoteError(
            f"there is no token for port {port} on this machine, so no run of yours is served"
            f" there; correct the port, or set {VARIABLE} to the token, or name the file it is in"
        )
    return read(path)


def _folder() -> Path:
    """Return the user's folder for what lives as long as a process."""
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif os.environ.get("XDG_RUNTIME_DIR"):
        base = Path(os.environ["XDG_RUNTIME_DIR"])
    else:
        base = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    return base / "aiflow"
