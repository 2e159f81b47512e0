"""Tests of `aiflow.credentials`: where a key is looked for, and what is said where it is not."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator

import keyring.backends.fail
import pytest
from keyring.backend import KeyringBackend

from aiflow import credentials
from tests.keyrings import LockedKeyring, MemoryKeyring, WaitingKeyring, memory_keyring, using

__all__ = ["memory_keyring"]

KEY = "pond-secret-0123456789"


@pytest.fixture(autouse=True)
def _not_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("POND_KEY", raising=False)


@pytest.fixture
def backend(request: pytest.FixtureRequest) -> Iterator[KeyringBackend]:
    """Use the keyring that a test names."""
    made: KeyringBackend = request.param()
    for _ in using(made):
        yield made


def found(name: str = "POND_KEY", limit_s: float = 30) -> credentials.Credential:
    """Look a key up on a loop, and without one; both find the same."""
    found = asyncio.run(credentials.look_up(name, limit_s))
    assert credentials.look_up_now(name, limit_s) == found
    return found


def test_the_environment_comes_first_and_the_keyring_is_not_asked(
    memory_keyring: MemoryKeyring, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who set the variable for one run meant it."""
    monkeypatch.setenv("POND_KEY", f" {KEY}\n")
    memory_keyring.set_password("aiflow", "POND_KEY", "another")

    assert found() == credentials.Credential(KEY)
    assert credentials.missing("POND_KEY") == ""
    assert memory_keyring.asked == []


def test_a_key_of_the_environment_imports_no_keyring() -> None:
    """A server that sets variables never pays for the library, nor needs it."""
    program = (
        "import asyncio, os, sys; os.environ['POND_KEY'] = 'k'\n"
        "from aiflow import credentials\n"
        "assert asyncio.run(credentials.look_up('POND_KEY')).secret == 'k'\n"
        "assert credentials.missing('POND_KEY') == ''\n"
        "print('keyring' in sys.modules)"
    )
    command = [sys.executable, "-c", program]
    ran = subprocess.run(command, check=False, capture_output=True, text=True)

    assert ran.stdout.strip() == "False", ran.stderr


def test_what_the_environment_lacks_is_in_the_keyring(memory_keyring: MemoryKeyring) -> None:
    """Stored by the studio or by `keyring set aiflow NAME`; forgotten again."""

    async def main() -> None:
        assert await credentials.store("POND_KEY", KEY) == ""
        assert (await credentials.look_up("POND_KEY")).secret == KEY
        assert credentials.missing("POND_KEY") == ""
        assert await credentials.forget("POND_KEY") == ""
        assert "the keyring has no such key" in credentials.missing("POND_KEY")
        assert "no such password" in await credentials.forget("POND_KEY")

    asyncio.run(main())


@pytest.mark.parametrize(
    ("backend", "said"),
    [
        (MemoryKeyring, ", and the keyring has no such key; set one of them"),
        (keyring.backends.fail.Keyring, "; put the key into it (this machine has no keyring)"),
        (LockedKeyring, "(the keyring did not open: Failed to unlock the collection!)"),
    ],
    indirect=["backend"],
)
def test_a_key_that_cannot_be_had_is_one_clause(backend: KeyringBackend, said: str) -> None:
    """What is missing, and what to do on this very machine."""
    missing = found().missing

    assert missing == credentials.missing("POND_KEY")
    assert missing.startswith("the environment variable POND_KEY is not set")
    assert missing.endswith(said)
    assert "\n" not in missing


def test_without_the_library_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The runtime comes without it."""
    monkeypatch.setitem(sys.modules, "keyring", None)
    credentials.forget_looks()

    assert "install aiflow-runtime[keyring]" in found().missing
    assert "install aiflow-runtime[keyring]" in asyncio.run(credentials.store("POND_KEY", KEY))


@pytest.mark.parametrize("backend", [WaitingKeyring], indirect=True)
def test_a_keyring_that_waits_for_a_person_holds_nothing_up(
    backend: WaitingKeyring, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run gives up with a clause; a check says nothing, and asks once however often it looks."""
    monkeypatch.setattr(credentials, "_PEEK_S", 0.01)

    late = found(limit_s=0.01).missing
    checked = [credentials.missing("POND_KEY") for _ in range(3)]
    pending = credentials._looks._pending["POND_KEY"]
    backend.set_password("aiflow", "POND_KEY", KEY)
    backend.may_answer.set()
    pending.result(30)

    assert late.endswith("or unlock the keyring, which has not answered within 0.01 s")
    assert checked == ["", "", ""]
    assert credentials.missing("POND_KEY") == ""


def test_a_check_looks_once_and_a_run_looks_again_where_nothing_was(
    memory_keyring: MemoryKeyring,
) -> None:
    """Not every edit asks the system, and a key set meanwhile is no obstacle to a run."""
    first = credentials.missing("POND_KEY")
    again = credentials.missing("POND_KEY")
    asked = len(memory_keyring.asked)
    memory_keyring.kept["aiflow", "POND_KEY"] = KEY

    assert first == again != ""
    assert asked == 1
    assert credentials.missing("POND_KEY", is_for_now=True) == ""
    assert credentials.missing("POND_KEY") == ""


def test_a_credential_shows_no_key() -> None:
    """One that ends up in a log line is a name at most."""
    assert KEY not in repr(credentials.Credential(KEY))
