"""Keyrings for tests: one in memory, and some that misbehave. None touches the system's."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import keyring
import keyring.errors
import pytest
from keyring.backend import KeyringBackend

from aiflow import credentials


class MemoryKeyring(KeyringBackend):
    """Keeps keys as long as a test lasts.

    Attributes:
        kept: (service, name) -> key. `asked`: names that were looked up, in order.
    """

    priority = 1

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[tuple[str, str], str] = {}
        self.asked: list[str] = []

    def get_password(self, service: str, username: str) -> str | None:
        """Return a key."""
        self.asked.append(username)
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        """Keep a key."""
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        """Forget a key."""
        if self.kept.pop((service, username), None) is None:
            raise keyring.errors.PasswordDeleteError("no such password")


class LockedKeyring(MemoryKeyring):
    """Gives nothing out."""

    def get_password(self, service: str, username: str) -> str | None:
        """Refuse."""
        raise keyring.errors.KeyringLocked("Failed to unlock the collection!")

    def set_password(self, service: str, username: str, password: str) -> None:
        """Refuse."""
        raise keyring.errors.PasswordSetError("Failed to unlock the collection!")


class WaitingKeyring(MemoryKeyring):
    """Waits for a person, until a test says otherwise."""

    def __init__(self) -> None:
        super().__init__()
        self.may_answer = threading.Event()

    def get_password(self, service: str, username: str) -> str | None:
        """Wait."""
        self.may_answer.wait(30)
        return super().get_password(service, username)


def using(backend: KeyringBackend) -> Iterator[None]:
    """Make a keyring the one of this process while a test lasts."""
    before = keyring.get_keyring()
    keyring.set_keyring(backend)
    credentials.forget_looks()
    try:
        yield
    finally:
        if isinstance(backend, WaitingKeyring):
            backend.may_answer.set()
        keyring.set_keyring(before)
        credentials.forget_looks()


@pytest.fixture
def memory_keyring() -> Iterator[MemoryKeyring]:
    """Return an empty keyring that is the one of this process."""
    backend = MemoryKeyring()
    for _ in using(backend):
        yield backend
