"""Each thing that `check_operator` looks for is seen to be found."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from aiflow.events import Chunk, Token
from aiflow.operators.base import Emit, NoParams, Operator, Port
from aiflow.operators.scope import Scope
from aiflow.policies import State
from aiflow.testing.behaviour import behaviour_faults, check_operator
from aiflow.types import TOKEN

WORDS = [Token(word) for word in ("one", "two", "three")]


class Sound(Operator[NoParams]):
    """Passes everything on."""

    name = "sound"
    inputs = (Port("in", TOKEN),)
    outputs = (Port("out", TOKEN),)

    def process(self, payload: Token, scope: Scope) -> Any:
        """Pass on."""
        return payload


class Remembering(Sound):
    """Counts on itself."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.count = 0

    def process(self, payload: Token, scope: Scope) -> Any:
        """Say how many there were."""
        self.count += 1
        return Token(f"{self.count}")


class OtherType(Sound):
    """Sends what its port does not declare."""

    def process(self, payload: Token, scope: Scope) -> Any:
        """Send a chunk."""
        return Chunk(payload.text)


class OtherPort(Sound):
    """Sends where it has no port."""

    def process(self, payload: Token, scope: Scope) -> Any:
        """Send to nowhere."""
        return Emit("aside", payload)


class TooMany(Sound):
    """Returns more than it declares."""

    def process(self, payload: Token, scope: Scope) -> Any:
        """Return two."""
        return [payload, payload]


class Hoarding(Sound):
    """Keeps all, and says that it keeps nothing."""

    state = State.SERIALIZED

    def new_state(self) -> list[Token]:
        """Return an empty store."""
        return []

    def process(self, payload: Token, scope: Scope) -> Any:
        """Keep it."""
        scope.state.append(payload)

    def finish(self, scope: Scope) -> Iterator[Token]:
        """Tell all."""
        yield from scope.state


class NotStateless(Sound):
    """Says that it is stateless, and numbers what comes in the order in which it is done."""

    def new_state(self) -> list[int]:
        """Return a count."""
        return [0]

    async def process(self, payload: Token, scope: Scope) -> Any:
        """Say which it is, after a while."""
        await scope.sleep(0.5 if payload.text == "one" else 0.1)
        scope.state[0] += 1
        return Token(f"{payload.text} {scope.state[0]}")


class Leaving(Sound):
    """Starts a task and leaves it alone."""

    async def process(self, payload: Token, scope: Scope) -> Any:
        """Pass on, with a task that goes on."""
        task = asyncio.ensure_future(scope.sleep(100))
        await scope.sleep(0.1)
        task.cancel()
        return payload


class Starving(Sound):
    """Cannot end a conversation in which nothing came."""

    def finish(self, scope: Scope) -> Any:
        """Ask for what is not there."""
        return [Token(scope.state.text)] if scope.sequence else scope.state.text


@pytest.mark.parametrize(
    ("kind", "found"),
    [
        (Remembering, "it keeps something on itself"),
        (Remembering, "beside another conversation something else comes out"),
        (OtherType, "a chunk leaves by its port out, which declares token"),
        (OtherPort, "node other sent to 'aside'"),
        (TooMany, "declares max_outputs = 1"),
        (Hoarding, "its finish tells 3 more, and its kept_events says that it keeps 0"),
        (NotStateless, "with 4 workers something else comes out than with one"),
        (Leaving, "it leaves"),
        (Starving, "a run of it fails"),
    ],
)
def test_what_an_operator_does_wrong_is_named(
    kind: Callable[..., Operator[Any]], found: str
) -> None:
    """In a clause that says what to look for."""
    operator = kind(NoParams())
    type(operator).name = "other"

    assert [fault for fault in behaviour_faults(operator, WORDS) if found in fault]


def test_a_sound_operator_passes() -> None:
    """Nothing is raised; of another one everything is, at once."""
    check_operator(Sound(NoParams()), WORDS)

    with pytest.raises(AssertionError, match=r"(?s)does not keep its contract:.*\n- it keeps"):
        check_operator(Remembering(NoParams()), WORDS)
