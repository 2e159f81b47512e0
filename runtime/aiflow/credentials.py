"""Credentials: a key by its name, from the environment, else from the system's keyring.

A graph holds the name only. `keyring` is an extra of this distribution, is imported only for a
name that the environment does not have, and is asked on a thread of its own: its back ends may
wait for a person who unlocks them, or for ever.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, TypeVar

T = TypeVar("T")

#: What our entries are filed under in the keyring; `keyring set aiflow NAME` makes one.
SERVICE = "aiflow"
#: Seconds that a person gets to unlock a keyring before a run gives up.
LONGEST_LOOKUP_S = 60.0
#: Seconds that a check waits; what it does not know by then, it does not complain about.
_PEEK_S = 2.0
#: Seconds that a check trusts its last look, so that not every edit asks the system.
_FRESH_S = 30.0
_LONGEST_WORDS = 200


@dataclass(frozen=True, slots=True)
class Credential:
    """A key, or why there is none.

    Attributes:
        secret: the key, "" where it cannot be had.
        missing: why not and what to do, one clause; "" where it is there.
    """

    secret: str = field(default="", repr=False)
    missing: str = ""


async def look_up(name: str, limit_s: float = LONGEST_LOOKUP_S) -> Credential:
    """Return the key of a name without holding up the loop.

    Args:
        name: of the environment variable or the keyring's entry.
        limit_s: seconds that the keyring gets.
    """
    if secret := in_environment(name):
        return Credential(secret)
    try:
        asked = asyncio.wrap_future(_in_thread(lambda: _ask(name)))
        return await asyncio.wait_for(asked, limit_s)
    except TimeoutError:
        return _too_slow(name, limit_s)


def look_up_now(name: str, limit_s: float = LONGEST_LOOKUP_S) -> Credential:
    """Return the key of a name and wait for it, where no time may pass on the loop's clock."""
    if secret := in_environment(name):
        return Credential(secret)
    try:
        return _in_thread(lambda: _ask(name)).result(limit_s)
    except TimeoutError:
        return _too_slow(name, limit_s)


def missing(name: str, *, is_for_now: bool = False) -> str:
    """Return why a name has no key, one clause; "" where it has one, and where nobody can say yet.

    Args:
        name: of the environment variable or the keyring's entry.
        is_for_now: a run is to begin, so what was found a moment ago is not enough.
    """
    return "" if in_environment(name) else _looks.missing(name, is_for_now=is_for_now)


def in_environment(name: str) -> str:
    """Return what an environment variable holds, "" where it is not set or blank."""
    return os.environ.get(name, "").strip()


async def store(name: str, secret: str, limit_s: float = LONGEST_LOOKUP_S) -> str:
    """Keep a key in the keyring; return why that failed, one clause, "" where it did not."""
    return await _change(lambda keyring: keyring.set_password(SERVICE, name, secret), limit_s)


async def forget(name: str, limit_s: float = LONGEST_LOOKUP_S) -> str:
    """Take a key out of the keyring; return why that failed, one clause, "" where it did not."""
    return await _change(lambda keyring: keyring.delete_password(SERVICE, name), limit_s)


def forget_looks() -> None:
    """Let the next check ask the keyring anew: another one may be in use, or a key was set."""
    _looks.clear()


class _LastLooks:
    """What checks found in the keyring a moment ago: whether a key is there, never the key.

    One for the process, as the keyring is.
    """

    def __init__(self) -> None:
        self._found: dict[str, tuple[float, str]] = {}
        self._pending: dict[str, Future[Credential]] = {}

    def missing(self, name: str, *, is_for_now: bool) -> str:
        """Return why a key is not there; "" where it is, or where the keyring does not answer."""
        at, why = self._found.get(name, (-_FRESH_S, ""))
        if time.monotonic() - at < _FRESH_S and not (why and is_for_now):
            return why
        pending = self._pending.get(name)
        limit_s = 0.0
        if pending is None or pending.done():
            pending = self._pending[name] = _in_thread(lambda: _ask(name))
            limit_s = _PEEK_S
        try:
            why = pending.result(limit_s).missing
        except TimeoutError:
            # It waits for a person, say. The next check looks again, and does not wait.
            return ""
        self._pending.pop(name, None)
        self._found[name] = (time.monotonic(), why)
        return why

    def clear(self) -> None:
        """Know nothing any more."""
        self._found.clear()
        self._pending.clear()


_looks = _LastLooks()


async def _change(work: Callable[[Any], object], limit_s: float) -> str:
    def change() -> str:
        try:
            work(_keyring())
        except Exception as error:  # noqa: BLE001 - a back end raises what it likes
            return _why_not(error)
        return ""

    try:
        why = await asyncio.wait_for(asyncio.wrap_future(_in_thread(change)), limit_s)
    except TimeoutError:
        return f"the keyring has not answered within {limit_s:g} s; unlock it and try again"
    finally:
        forget_looks()
    return why


def _ask(name: str) -> Credential:
    """Ask the keyring, on a thread; it may take its time."""
    try:
        secret = _keyring().get_password(SERVICE, name)
    except Exception as error:  # noqa: BLE001 - a back end raises what it likes
        return Credential(missing=f"{_unset(name)} ({_why_not(error)})")
    if secret is None or not secret.strip():
        return Credential(
            missing=f"the environment variable {name} is not set, and the keyring has no such key;"
            " set one of them"
        )
    return Credential(secret.strip())


def _keyring() -> Any:  # noqa: ANN401 - a module that may not be there
    import keyring  # noqa: PLC0415 - only where the environment does not have the key

    return keyring


def _why_not(error: Exception) -> str:
    """Return why the keyring cannot be used, one clause without any key."""
    if isinstance(error, ModuleNotFoundError):
        return "to use the system's keyring, install aiflow-runtime[keyring]"
    if type(error).__name__ == "NoKeyringError":
        return "this machine has no keyring"
    words = " ".join(str(error).split())[:_LONGEST_WORDS] or type(error).__name__
    return f"the keyring did not open: {words}"


def _unset(name: str) -> str:
    return f"the environment variable {name} is not set; put the key into it"


def _too_slow(name: str, limit_s: float) -> Credential:
    return Credential(
        missing=f"{_unset(name)}, or unlock the keyring, which has not answered within"
        f" {limit_s:g} s"
    )


def _in_thread(work: Callable[[], T]) -> Future[T]:
    """Do work on a thread that keeps neither the loop nor the end of the process waiting."""
    future: Future[T] = Future()
    future.set_running_or_notify_cancel()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # noqa: BLE001 - whoever waits gets it
            future.set_exception(error)

    threading.Thread(target=run, name="aiflow-keyring", daemon=True).start()
    return future
