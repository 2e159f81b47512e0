"""Keys: what a person types goes into the system's keyring, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtWidgets import QWidget

from aiflow import credentials
from aiflow_studio.ui.dialogs import tell
from aiflow_studio.ui.key_dialog import KeyWish, ask_for_key


async def change_key(window: QWidget, name: str, say: Callable[[str], None]) -> bool:
    """Ask for a key and store it, or remove it; return whether the keyring has changed.

    Args:
        window: parent of the dialogs.
        name: what the graph calls it.
        say: called with a sentence when it is done.
    """
    is_set = bool(credentials.in_environment(name))
    wish, secret = await ask_for_key(window, name, is_in_environment=is_set)
    if wish is KeyWish.CANCEL:
        return False
    if wish is KeyWish.STORE:
        why, done = await credentials.store(name, secret), "is in the keyring"
    else:
        why, done = await credentials.forget(name), "is in the keyring no more"
    if why:
        verb = "stored" if wish is KeyWish.STORE else "removed"
        tell(
            window,
            f"Key {name}",
            f"The key {name} was not {verb}: {why}. The environment variable {name} serves too,"
            " set before the studio starts.",
        )
        return False
    say(f"the key {name} {done}")
    return True
