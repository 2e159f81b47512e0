"""What an operator that awaits finds of asyncio: a task, its context, and what ends its waits."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable, Callable, Generator, Iterator
from typing import Any

import anyio
import pytest

from aiflow.engine.session import Session
from aiflow.engine.stepping import Round
from aiflow.errors import words_of
from aiflow.events import Token
from aiflow.operators.scope import Scope
from aiflow.testing.plans import PlanBuilder
from aiflow.testing.virtual import run_virtual

Process = Callable[[Token, Scope], Awaitable[Any]]

mark: contextvars.ContextVar[str] = contextvars.ContextVar("mark", default="none")


def tokens(count: int) -> Callable[[Scope], Iterator[Token]]:
    """Return a source of so many tokens."""
    return lambda scope: (Token(str(number)) for number in range(count))


def outcome(process: Process, count: int = 2) -> tuple[str, list[str]]:
    """Return how a run of one operator ended, and what came out of it."""
    taken: list[str] = []
    builder = PlanBuilder(1).source("s", tokens(count))
    builder.node("n", process)
    builder.sink("k", lambda token: taken.append(token.text))
    session = Session(builder.chain("s", "n", "k").build())
    snapshot = run_virtual(session.run())
    return snapshot.phase, taken


def test_every_step_of_a_call_is_one_of_the_same_task() -> None:
    """It is named after the node, and is there before and after a wait."""
    seen = []

    async def process(token: Token, scope: Scope) -> Token:
        seen.append(asyncio.current_task())
        await scope.sleep(1)
        seen.append(asyncio.current_task())
        return token

    assert outcome(process) == ("completed", ["0", "1"])
    assert len(set(seen)) == 1
    assert seen[0] is not None
    assert seen[0].get_name() == "aiflow worker n 1"


def test_context_variables_stay_with_the_worker_and_go_nowhere_else() -> None:
    """Set before a wait they are there after it; whoever is downstream sees none of them."""
    seen = []

    async def process(token: Token, scope: Scope) -> Token:
        mark.set(token.text)
        await scope.sleep(1)
        seen.append(mark.get())
        return token

    builder = PlanBuilder(1).source("s", tokens(2)).node("n", process)
    builder.node("m", lambda token, scope: seen.append(mark.get())).edge("s", "n").edge("n", "m")
    snapshot = run_virtual(Session(builder.build()).run())

    assert snapshot.phase == "completed"
    assert seen == ["0", "none", "1", "none"]


async def _timed_out(token: Token, scope: Scope) -> Token:
    try:
        async with asyncio.timeout(1):
            await asyncio.sleep(60)
    except TimeoutError:
        return Token(f"late {token.text}")
    return token


async def _waited_for(token: Token, scope: Scope) -> Token:
    try:
        await asyncio.wait_for(asyncio.sleep(60), 1)
    except TimeoutError:
        return Token(f"late {token.text}")
    return token


async def _moved_on(token: Token, scope: Scope) -> Token:
    with anyio.move_on_after(1):
        await asyncio.sleep(60)
        return token
    return Token(f"late {token.text}")


async def _grouped(token: Token, scope: Scope) -> Token:
    async def fail() -> None:
        await asyncio.sleep(1)
        raise ValueError("no")

    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(fail())
            await asyncio.sleep(60)
    except* ValueError:
        token = Token(f"late {token.text}")
    return token


@pytest.mark.parametrize("process", [_timed_out, _waited_for, _moved_on, _grouped])
def test_what_ends_a_wait_from_outside_ends_it_in_an_operator(process: Process) -> None:
    """And nothing is left of it for the next event."""
    assert outcome(process) == ("completed", ["late 0", "late 1"])


@pytest.mark.parametrize("waits", [True, False])
def test_a_call_that_cancels_its_own_task_and_returns_is_processed(*, waits: bool) -> None:
    """The cancel was the call's, so that the next one hears nothing of it."""

    async def process(token: Token, scope: Scope) -> Token:
        if waits or token.text != "0":
            await scope.sleep(1)
        if token.text == "0":
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
        return token

    assert outcome(process, 3) == ("completed", ["0", "1", "2"])


def test_a_cancelled_turn_cancels_what_an_operator_waits_for() -> None:
    """Also what that waits for in its turn."""
    ended = []

    async def inner() -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            ended.append("inner")
            raise

    async def process(token: Token, scope: Scope) -> None:
        try:
            await asyncio.gather(inner(), inner())
        finally:
            ended.append("outer")

    async def live() -> str:
        builder = PlanBuilder(1).source("s", tokens(1)).node("n", process).edge("s", "n")
        session = Session(builder.build())
        run = asyncio.ensure_future(session.run())
        await asyncio.sleep(1)
        session.stop()
        return (await run).phase

    assert run_virtual(live()) == "cancelled"
    assert ended == ["inner", "inner", "outer"]


@pytest.mark.parametrize("when", ["at once", "after a step"])
def test_a_cancel_reaches_a_worker_that_has_just_begun(when: str) -> None:
    """Also before its task has had a first step of its own."""
    ended = []

    async def process(token: Token, scope: Scope) -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(asyncio.get_running_loop().time())

    async def live() -> str:
        def stream(scope: Scope) -> Iterator[Token]:
            yield Token("0")
            loop = asyncio.get_running_loop()
            loop.call_soon(session.stop) if when == "after a step" else session.stop()
            yield Token("1")

        builder = PlanBuilder(1).source("s", stream).node("n", process).edge("s", "n")
        session = Session(builder.build())
        return (await session.run()).phase

    assert run_virtual(live()) == "cancelled"
    assert ended == [0.0]


class _Wrong:
    """Something that can be awaited and yields what no loop knows."""

    def __await__(self) -> Generator[Any, Any, Any]:
        yield 3


async def _foreign() -> None:
    other = asyncio.new_event_loop()
    try:
        await other.create_future()
    finally:
        other.close()


async def _itself() -> None:
    task = asyncio.current_task()
    assert task is not None
    await task


async def _wrong() -> None:
    await _Wrong()


@pytest.mark.parametrize(
    ("wait", "why"),
    [
        (_foreign, "attached to a different loop"),
        (_itself, "cannot await on itself"),
        (_wrong, "got bad yield: 3"),
    ],
)
def test_what_cannot_be_waited_for_is_an_error_and_no_hang(
    wait: Callable[[], Awaitable[None]], why: str
) -> None:
    """The operator hears of it where it waits."""
    said = []

    async def process(token: Token, scope: Scope) -> Token:
        await scope.sleep(1)
        try:
            await wait()
        except RuntimeError as error:
            said.append(words_of(error))
            raise
        return token

    assert outcome(process) == ("failed", [])
    assert why in said[0]


class Follower:
    """Takes part in a round: begins others in its first step, and goes on for some more.

    Args:
        begins: who is put in line by its first step. `steps`: how many there are.
        raises: in its first step.
    """

    def __init__(
        self,
        name: str,
        steps: int,
        *begins: Follower,
        raises: BaseException | None = None,
    ) -> None:
        self.name = name
        self.steps = steps
        self.begins = list(begins)
        self.raises = raises

    def take_part(self, line: Round, seen: list[str]) -> None:
        """Be in line from now on."""

        def step() -> bool:
            seen.append(self.name)
            self.steps -= 1
            error, self.raises = self.raises, None
            if error is not None:
                raise error
            begins, self.begins = self.begins, []
            for other in begins:
                other.take_part(line, seen)
            return self.steps > 0

        self.step = step
        line.add(self)  # type: ignore[arg-type] # a round asks for nothing but steps


def turns_of(*followers: Follower) -> list[str]:
    """Run a loop until nobody is in line, and return who was stepped, by its turns."""
    loop = asyncio.new_event_loop()
    line = Round.of(loop)
    seen: list[str] = []
    turns: list[str] = []
    for follower in followers:
        follower.take_part(line, seen)
    while line.line:
        loop.call_soon(loop.stop)
        try:
            loop.run_forever()
        except KeyboardInterrupt:
            seen.append("!")
        turns.append("".join(seen))
        seen.clear()
    loop.close()
    return turns


def test_each_in_line_is_stepped_once_in_a_turn() -> None:
    """However many steps it has left, the others and the loop come first."""
    assert turns_of(Follower("a", 3), Follower("b", 1), Follower("c", 2)) == ["abc", "ac", "a"]


def test_who_goes_on_keeps_its_place_before_whom_it_has_begun() -> None:
    """So what is upstream is stepped first, in each turn from then on."""
    first = Follower("a", 3, Follower("x", 2, Follower("y", 1)))

    assert turns_of(first, Follower("b", 3)) == ["ab", "axb", "axyb"]


def test_who_asks_for_the_end_of_all_leaves_the_others_in_line() -> None:
    """They are stepped if the loop runs again."""
    interrupted = Follower("b", 2, raises=KeyboardInterrupt())

    assert turns_of(Follower("a", 2), interrupted, Follower("c", 2)) == ["ab!", "ac", "c"]


def test_an_operator_that_gives_way_lets_a_task_run_each_time() -> None:
    """A turn of the loop lies between two of its steps."""
    seen: list[str] = []

    async def gives_way(token: Token, scope: Scope) -> Token:
        other = asyncio.ensure_future(counts())
        for _ in range(3):
            await asyncio.sleep(0)
            seen.append("operator")
        await other
        return token

    async def counts() -> None:
        for _ in range(3):
            seen.append("task")
            await asyncio.sleep(0)

    assert outcome(gives_way, 1)[0] == "completed"
    assert seen == ["task", "operator"] * 3
