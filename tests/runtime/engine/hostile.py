"""Operators that do what they must not, each in its own way, at one event of one conversation.

Every one of them passes on what it is called with, but for `c1 1`. `HOSTILES` is the list of
them, with what shall become of the conversation that they are in.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import inspect
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

from aiflow.engine.session import Session
from aiflow.events import Chunk
from aiflow.operators.base import Emit
from aiflow.operators.scope import Scope

#: Payload at which an operator misbehaves.
TRIGGER = "c1 1"
MANY = 2_000


#: A worker that another conversation has where the hostile one keeps the first.
SIDE: dict[str, Any] = {"workers": 2, "reorder_capacity": 2}


class Stage:
    """What a hostile operator gets hold of, and what it leaves behind.

    Attributes:
        session, running: the one it runs in, and the task of its `run`. `playing`: the test's own.
        tasks, threads: that it has begun and forgotten.
        goes_on: set when the run is over, for such a thread. `is_over`: the same, for a loop.
    """

    def __init__(self) -> None:
        self.session: Session
        self.running: asyncio.Task[Any] | None = None
        self.playing: asyncio.Task[Any] | None = None
        self.tasks: list[asyncio.Task[Any]] = []
        self.threads: list[threading.Thread] = []
        self.goes_on = threading.Event()
        self.is_over = False


Process = Callable[..., Any]


@dataclass(frozen=True)
class Hostile:
    """One of them.

    Attributes:
        name: what it does.
        make: returns the operator's function.
        says: what the run's error must say, a pattern; "" where there is none.
        ends, others: how c1 ends, and c2.
        asks: how it is ended from outside: by `stop` or `cancel`; "" where it is not.
        is_blocking: it runs in a thread.
        is_whole: what c2 is made of comes out whole; else its sources have been stopped.
        tells: in `finish` it would be treated in the same way.
        policy: of its node.
    """

    name: str
    make: Callable[[Stage], Process]
    says: str
    ends: str
    others: str
    asks: str
    is_blocking: bool
    is_whole: bool
    tells: bool
    policy: dict[str, Any]


HOSTILES: list[Hostile] = []


def hostile(
    says: str = "",
    *,
    ends: str = "",
    others: str = "completed",
    asks: str = "",
    is_blocking: bool = False,
    is_whole: bool | None = None,
    tells: bool = True,
    **policy: Any,
) -> Callable[[Callable[[Stage], Process]], None]:
    """Add an operator to the list; its name is the function's."""

    def add(make: Callable[[Stage], Process]) -> None:
        name = make.__name__.strip("_").replace("_", " ")
        end = ends or ("failed" if says else "completed")
        whole = others == "completed" if is_whole is None else is_whole
        HOSTILES.append(
            Hostile(name, make, says, end, others, asks, is_blocking, whole, tells, policy)
        )

    return add


def at_trigger(act: Callable[[Chunk, Scope], Any]) -> Callable[[Chunk, Scope], Any]:
    """Return a plain function that does something at the trigger and else passes on."""
    return lambda chunk, scope: act(chunk, scope) if chunk.text == TRIGGER else chunk


def later(
    act: Callable[[Chunk, Scope], Any],
) -> Callable[[Chunk, Scope], Any]:
    """Return the same as a coroutine function, which waits before and awaits what it can."""

    async def process(chunk: Chunk, scope: Scope) -> Any:
        await scope.sleep(0.1)
        if chunk.text != TRIGGER:
            return chunk
        result = act(chunk, scope)
        return await result if asyncio.iscoroutine(result) else result

    return process


class Rude(BaseException):
    """No Exception, and nobody's wish to end the program."""


# What it raises -----------------------------------------------------------------------------


def _raising(error: Callable[[], BaseException]) -> Callable[[Chunk, Scope], NoReturn]:
    def act(chunk: Chunk, scope: Scope) -> NoReturn:
        raise error()

    return act


class Mute(Exception):
    def __str__(self) -> str:
        raise Rude("not even this")

    __repr__ = __str__


class Stubborn(Exception):
    @property
    def retryable(self) -> bool:
        raise Rude("you may not ask")

    @property
    def retry_after_s(self) -> float:
        raise Rude("you may not ask")


RETRY: dict[str, Any] = {"attempts": 2, "retry_on": ("retryable", "Stubborn"), "jitter": 0.0}


@hostile("ValueError: odd")
def _raises(stage: Stage) -> Process:
    return at_trigger(_raising(lambda: ValueError("odd")))


@hostile("Rude: odd")
def _raises_a_base_exception(stage: Stage) -> Process:
    return later(_raising(lambda: Rude("odd")))


@hostile("GeneratorExit")
def _raises_generator_exit(stage: Stage) -> Process:
    return later(_raising(GeneratorExit))


@hostile("StopIteration|RuntimeError")
def _raises_stop_iteration(stage: Stage) -> Process:
    return at_trigger(_raising(StopIteration))


@hostile("StopAsyncIteration")
def _raises_stop_async_iteration(stage: Stage) -> Process:
    return later(_raising(StopAsyncIteration))


@hostile("CancelledError")
def _raises_cancelled_error(stage: Stage) -> Process:
    return later(_raising(asyncio.CancelledError))


@hostile("Mute .which cannot be shown.")
def _raises_what_cannot_be_shown(stage: Stage) -> Process:
    return at_trigger(_raising(Mute))


@hostile("Stubborn: no", retry=RETRY)
def _raises_what_cannot_be_asked(stage: Stage) -> Process:
    return at_trigger(_raising(lambda: Stubborn("no")))


@hostile("ExceptionGroup: two .2 sub-exceptions.")
def _raises_a_group(stage: Stage) -> Process:
    return later(_raising(lambda: ExceptionGroup("two", [ValueError("a\nb"), KeyError("c")])))


@hostile("ValueError: aaa")
def _raises_a_book(stage: Stage) -> Process:
    return at_trigger(_raising(lambda: ValueError("aaa\n" * 100_000)))


@hostile("RecursionError")
def _recurses_for_ever(stage: Stage) -> Process:
    def act(chunk: Chunk, scope: Scope) -> Any:
        return act(chunk, scope)

    return at_trigger(act)


@hostile("MemoryError")
def _is_out_of_memory(stage: Stage) -> Process:
    return later(_raising(MemoryError))


@hostile("ZeroDivisionError")
def _raises_in_finally(stage: Stage) -> Process:
    async def act(chunk: Chunk, scope: Scope) -> None:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            raise ZeroDivisionError

    async def process(chunk: Chunk, scope: Scope) -> Chunk:
        if chunk.text == TRIGGER:
            asyncio.get_running_loop().call_soon(asyncio.current_task().cancel)  # type: ignore[union-attr]
            await act(chunk, scope)
        return chunk

    return process


@hostile("ValueError: odd", is_blocking=True)
def _raises_in_a_thread(stage: Stage) -> Process:
    return at_trigger(_raising(lambda: ValueError("odd")))


@hostile("StopIteration", is_blocking=True)
def _raises_stop_iteration_in_a_thread(stage: Stage) -> Process:
    return at_trigger(_raising(StopIteration))


# What it returns ----------------------------------------------------------------------------


async def _given_back(chunk: Chunk) -> Chunk:
    return chunk


async def _streamed(chunk: Chunk) -> AsyncIterator[Chunk]:
    yield chunk


@hostile("awaitable")
def _returns_a_coroutine(stage: Stage) -> Process:
    return at_trigger(lambda chunk, scope: _given_back(chunk))


@hostile("type coroutine")
def _returns_a_list_of_coroutines(stage: Stage) -> Process:
    return at_trigger(lambda chunk, scope: [_given_back(chunk)])


@hostile("awaitable")
def _returns_a_future(stage: Stage) -> Process:
    return at_trigger(lambda chunk, scope: asyncio.get_running_loop().create_future())


@hostile("type async generator")
def _emits_a_stream(stage: Stage) -> Process:
    return at_trigger(lambda chunk, scope: Emit("out", _streamed(chunk)))


@hostile()
def _returns_itself(stage: Stage) -> Process:
    def process(chunk: Chunk, scope: Scope) -> Any:
        return process if chunk.text == TRIGGER else chunk

    return process


@hostile("'nowhere', which is none of its out-ports")
def _emits_to_a_port_that_is_not_there(stage: Stage) -> Process:
    return later(lambda chunk, scope: Emit("nowhere", chunk))


@hostile("none of its out-ports")
def _emits_to_a_port_that_is_no_name(stage: Stage) -> Process:
    return at_trigger(lambda chunk, scope: Emit([], chunk))  # type: ignore[arg-type]


@hostile("declares max_outputs = 1", tells=False)
def _returns_a_million(stage: Stage) -> Process:
    return at_trigger(lambda chunk, scope: [chunk] * 1_000_000)


@hostile()
def _yields_very_many(stage: Stage) -> Process:
    def process(chunk: Chunk, scope: Scope) -> Iterator[Chunk]:
        for _ in range(MANY if chunk.text == TRIGGER else 1):
            yield chunk

    return process


@hostile(ends="cancelled", asks="cancel", **SIDE)
def _yields_for_ever(stage: Stage) -> Process:
    def process(chunk: Chunk, scope: Scope) -> Iterator[Chunk]:
        yield chunk
        while chunk.text == TRIGGER:
            yield chunk

    return process


@hostile(ends="cancelled", asks="cancel", **SIDE)
def _streams_for_ever(stage: Stage) -> Process:
    async def process(chunk: Chunk, scope: Scope) -> AsyncIterator[Chunk]:
        yield chunk
        while chunk.text == TRIGGER:
            yield chunk

    return process


@hostile(ends="cancelled", asks="cancel", **SIDE)
def _yields_nothing_for_ever(stage: Stage) -> Process:
    def process(chunk: Chunk, scope: Scope) -> Iterator[Chunk | None]:
        yield chunk
        while chunk.text == TRIGGER:
            yield None

    return process


class Iterates:
    """An iterator that misbehaves wherever it is asked beside its outputs."""

    def __init__(self, chunk: Chunk, error: BaseException) -> None:
        self.left, self.error = [chunk], error

    def __iter__(self) -> Iterator[Chunk]:
        return self

    def __next__(self) -> Chunk:
        if self.left:
            return self.left.pop()
        raise StopIteration

    def __length_hint__(self) -> int:
        raise self.error

    def close(self) -> None:
        raise self.error


@hostile()
def _returns_an_iterator_that_cannot_be_measured(stage: Stage) -> Process:
    return at_trigger(lambda chunk, scope: Iterates(chunk, Rude("no length")))


@hostile()
def _returns_an_iterator_over_very_many(stage: Stage) -> Process:
    return at_trigger(lambda chunk, scope: iter([chunk] * MANY))


class Anext:
    def __init__(self, chunk: Chunk) -> None:
        self.chunk = chunk

    def __aiter__(self) -> Any:
        return self

    def __anext__(self) -> int:
        return 5


@hostile("TypeError")
def _returns_a_stream_that_cannot_be_awaited(stage: Stage) -> Process:
    return later(lambda chunk, scope: Anext(chunk))


# What its outputs do ------------------------------------------------------------------------


class Sore:
    """Raises wherever it is touched."""

    def _raises(self, *_: object) -> Any:
        raise Rude("do not touch")

    __repr__ = __str__ = __eq__ = __hash__ = __len__ = __bool__ = __iter__ = _raises
    __deepcopy__ = __copy__ = __reduce_ex__ = __sizeof__ = __format__ = _raises
    __getattr__ = __contains__ = __lt__ = __index__ = __getitem__ = _raises


@hostile()
def _returns_what_raises_wherever_it_is_touched(stage: Stage) -> Process:
    return at_trigger(lambda chunk, scope: Sore())


@hostile()
def _returns_a_list_of_what_raises(stage: Stage) -> Process:
    return at_trigger(lambda chunk, scope: [Sore()])


@hostile()
def _awaits_and_returns_what_raises(stage: Stage) -> Process:
    return later(lambda chunk, scope: Sore())


@hostile()
def _returns_what_raises_and_awaits_nothing(stage: Stage) -> Process:
    async def process(chunk: Chunk, scope: Scope) -> Any:
        return Sore() if chunk.text == TRIGGER else chunk

    return process


@hostile()
def _yields_what_raises(stage: Stage) -> Process:
    def process(chunk: Chunk, scope: Scope) -> Iterator[Any]:
        yield Sore() if chunk.text == TRIGGER else chunk

    return process


@hostile()
def _emits_what_raises(stage: Stage) -> Process:
    return at_trigger(lambda chunk, scope: scope.emit(Sore()))


@hostile()
def _returns_a_thing_that_holds_itself(stage: Stage) -> Process:
    def act(chunk: Chunk, scope: Scope) -> Any:
        ring: dict[str, Any] = {}
        ring["ring"] = ring
        return ring

    return at_trigger(act)


@hostile()
def _returns_a_tower_of_lists(stage: Stage) -> Process:
    def act(chunk: Chunk, scope: Scope) -> Any:
        tower: list[Any] = []
        for _ in range(100_000):
            tower = [tower]
        return {"tower": tower}

    return at_trigger(act)


@hostile()
def _returns_a_huge_text(stage: Stage) -> Process:
    return at_trigger(lambda chunk, scope: Chunk("x" * 5_000_000))


@hostile("AttributeError: immutable")
def _changes_its_input(stage: Stage) -> Process:
    def act(chunk: Chunk, scope: Scope) -> Chunk:
        chunk.text = "changed"  # type: ignore[misc]
        return chunk

    return at_trigger(act)


# What it does to its scope -------------------------------------------------------------------


@hostile()
def _takes_its_scope_apart(stage: Stage) -> Process:
    def act(chunk: Chunk, scope: Scope) -> Chunk:
        for name in ("state", "port", "turn", "conversation", "clock", "deadline"):
            with contextlib.suppress(AttributeError):
                delattr(scope, name)
        return chunk

    return at_trigger(act)


@hostile()
def _emits_after_its_end(stage: Stage) -> Process:
    def act(chunk: Chunk, scope: Scope) -> Chunk:
        loop = asyncio.get_running_loop()
        loop.call_soon(scope.emit, Chunk("c1 late"))
        loop.call_later(5.0, scope.emit, Chunk("c1 late"))
        return chunk

    return at_trigger(act)


@hostile()
def _keeps_what_it_has_not_and_never_lets_go(stage: Stage) -> Process:
    def act(chunk: Chunk, scope: Scope) -> Chunk:
        scope.keep_from(-5)
        scope.mark("nonsense", float("nan"))
        scope.notice("x" * 10_000)
        scope.stand_at("nowhere")
        return chunk

    return at_trigger(act)


# What it does to tasks and loop ----------------------------------------------------------------


@hostile(ends="cancelled", asks="cancel", **SIDE)
def _hangs(stage: Stage) -> Process:
    async def act(chunk: Chunk, scope: Scope) -> None:
        await asyncio.get_running_loop().create_future()

    return later(act)


@hostile(ends="cancelled", asks="cancel", **SIDE)
def _swallows_its_cancellation_once(stage: Stage) -> Process:
    async def act(chunk: Chunk, scope: Scope) -> Chunk:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.get_running_loop().create_future()
        await scope.sleep(1.0)
        return Chunk("c1 late")

    return later(act)


@hostile("node odd did not end", ends="cancelled", others="completed", asks="stop", **SIDE)
def _swallows_its_cancellation_always(stage: Stage) -> Process:
    async def act(chunk: Chunk, scope: Scope) -> None:
        stage.tasks.append(asyncio.current_task())  # type: ignore[arg-type]
        while not stage.is_over:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.get_running_loop().create_future()

    return later(act)


@hostile(ends="cancelled", asks="cancel", **SIDE)
def _yields_when_it_shall_end(stage: Stage) -> Process:
    async def process(chunk: Chunk, scope: Scope) -> AsyncIterator[Chunk]:
        yield chunk
        if chunk.text == TRIGGER:
            try:
                await asyncio.get_running_loop().create_future()
            finally:
                yield Chunk("c1 late")

    return process


@hostile("node odd did not end", ends="cancelled", asks="cancel", **SIDE)
def _refuses_to_be_closed(stage: Stage) -> Process:
    async def process(chunk: Chunk, scope: Scope) -> AsyncIterator[Chunk]:
        yield chunk
        while chunk.text == TRIGGER and not stage.is_over:
            try:
                await scope.sleep(1.0)
                yield chunk
            except (GeneratorExit, asyncio.CancelledError):
                yield Chunk("c1 late")

    return process


@hostile(ends="cancelled", asks="cancel", **SIDE)
def _raises_while_it_is_closed(stage: Stage) -> Process:
    async def process(chunk: Chunk, scope: Scope) -> AsyncIterator[Chunk]:
        if chunk.text != TRIGGER:
            yield chunk
            return
        try:
            while True:
                yield chunk
                await scope.sleep(1.0)
        finally:
            raise RuntimeError("no")

    return process


@hostile("CancelledError")
def _cancels_its_own_task(stage: Stage) -> Process:
    async def act(chunk: Chunk, scope: Scope) -> Chunk:
        asyncio.current_task().cancel()  # type: ignore[union-attr]
        await asyncio.sleep(0)
        return chunk

    return later(act)


@hostile()
def _cancels_all_tasks_beside_the_run(stage: Stage) -> Process:
    def act(chunk: Chunk, scope: Scope) -> Chunk:
        for task in asyncio.all_tasks():
            if task not in (stage.running, stage.playing):
                task.cancel()
        return chunk

    return later(act)


@hostile(ends="cancelled", others="cancelled", tells=False)
def _cancels_the_task_of_the_run(stage: Stage) -> Process:
    def act(chunk: Chunk, scope: Scope) -> Chunk:
        assert stage.running is not None
        stage.running.cancel()
        return chunk

    return later(act)


@hostile("RuntimeError: Cannot close a running event loop")
def _closes_the_loop(stage: Stage) -> Process:
    return at_trigger(lambda chunk, scope: asyncio.get_running_loop().close())


@hostile()
def _stops_the_loop(stage: Stage) -> Process:
    def act(chunk: Chunk, scope: Scope) -> Chunk:
        asyncio.get_running_loop().stop()
        return chunk

    return at_trigger(act)


def _running_another(chunk: Chunk, scope: Scope) -> Any:
    coroutine = _given_back(chunk)
    try:
        return asyncio.run(coroutine)
    finally:
        coroutine.close()


@hostile("RuntimeError: asyncio.run.. cannot be called from a running event loop")
def _runs_a_loop_inside(stage: Stage) -> Process:
    return at_trigger(_running_another)


@hostile(is_blocking=True)
def _runs_a_loop_in_its_thread(stage: Stage) -> Process:
    return at_trigger(_running_another)


@hostile()
def _forgets_a_task(stage: Stage) -> Process:
    async def lives() -> None:
        await asyncio.get_running_loop().create_future()

    def act(chunk: Chunk, scope: Scope) -> Chunk:
        stage.tasks.append(asyncio.get_running_loop().create_task(lives()))
        return chunk

    return later(act)


@hostile()
def _forgets_a_thread(stage: Stage) -> Process:
    def act(chunk: Chunk, scope: Scope) -> Chunk:
        def emits() -> None:
            stage.goes_on.wait(60)
            scope.emit(Chunk("c1 late"))

        stage.threads.append(threading.Thread(target=emits))
        stage.threads[-1].start()
        return chunk

    return at_trigger(act)


@hostile("RuntimeError: Task got bad yield")
def _awaits_what_cannot_be_awaited(stage: Stage) -> Process:
    class Bad:
        def __await__(self) -> Iterator[int]:
            yield 5

    async def act(chunk: Chunk, scope: Scope) -> None:
        await Bad()  # type: ignore[misc]

    return later(act)


@hostile("RuntimeError: .*attached to a different loop")
def _awaits_a_future_of_another_loop(stage: Stage) -> Process:
    async def act(chunk: Chunk, scope: Scope) -> None:
        other = asyncio.new_event_loop()
        try:
            await other.create_future()
        finally:
            other.close()

    return later(act)


VARIABLE: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="nobody's")


@hostile("ValueError: .*was created in a different Context")
def _resets_a_variable_of_another_context(stage: Stage) -> Process:
    token = contextvars.Context().run(VARIABLE.set, "another's")

    def act(chunk: Chunk, scope: Scope) -> Chunk:
        VARIABLE.reset(token)
        return chunk

    return later(act)


@hostile()
def _leaves_a_variable_set(stage: Stage) -> Process:
    def act(chunk: Chunk, scope: Scope) -> Chunk:
        VARIABLE.set("mine")
        return chunk

    return later(act)


# What it does to its session -----------------------------------------------------------------


def _asking(stage: Stage, ask: str, *args: str) -> Callable[[Chunk, Scope], Chunk]:
    def act(chunk: Chunk, scope: Scope) -> Chunk:
        getattr(stage.session, ask)(*args)
        return chunk

    return act


@hostile(ends="cancelled", others="cancelled")
def _stops_its_session(stage: Stage) -> Process:
    return at_trigger(_asking(stage, "stop"))


@hostile(ends="cancelled", others="cancelled")
def _waits_and_stops_its_session(stage: Stage) -> Process:
    return later(_asking(stage, "stop"))


@hostile(is_whole=False)
def _drains_its_session(stage: Stage) -> Process:
    return at_trigger(_asking(stage, "drain"))


@hostile(ends="cancelled")
def _cancels_its_conversation(stage: Stage) -> Process:
    return at_trigger(_asking(stage, "cancel", "c1"))


@hostile()
def _tunes_and_holds_its_own_node(stage: Stage) -> Process:
    def act(chunk: Chunk, scope: Scope) -> Chunk:
        session = stage.session
        session.tune("odd", workers=3, queue_capacity=1, reorder_capacity=2)
        session.tune("odd", workers=1, queue_capacity=9, overflow="drop_oldest")
        session.set_breakpoint("s.out>odd.in")
        session.step("s.out>odd.in")
        session.resume("s.out>odd.in")
        session.tap("odd.out>k.in").close()
        session.snapshot()
        session.queue("odd")
        session.stuck()
        return chunk

    return at_trigger(act)


@hostile("the queue of odd is full", tells=False)
def _injects_into_itself(stage: Stage) -> Process:
    def act(chunk: Chunk, scope: Scope) -> Chunk:
        for number in range(100):
            stage.session.inject("s.out>odd.in", Chunk(f"c1 injected {number}"), "c1")
        return chunk

    return at_trigger(act)


@hostile("a session runs once")
def _runs_its_session_again(stage: Stage) -> Process:
    async def act(chunk: Chunk, scope: Scope) -> Any:
        return await stage.session.run()

    return later(act)


@hostile("node odd did not end", ends="cancelled", asks="cancel", **SIDE)
def _awaits_the_end_of_its_run(stage: Stage) -> Process:
    async def act(chunk: Chunk, scope: Scope) -> Any:
        assert stage.running is not None
        return await stage.running

    return later(act)


def telling(process: Process) -> Callable[[Scope], Any]:
    """Return a `finish` that does in c1 what an operator does at the trigger, of the same kind."""

    def tells(scope: Scope) -> Any:
        return process(Chunk(TRIGGER), scope) if scope.conversation == "c1" else None

    async def awaits(scope: Scope) -> Any:
        return await process(Chunk(TRIGGER), scope) if scope.conversation == "c1" else None

    async def streams(scope: Scope) -> AsyncIterator[Any]:
        if scope.conversation == "c1":
            async with contextlib.aclosing(process(Chunk(TRIGGER), scope)) as outputs:
                async for output in outputs:
                    yield output

    if inspect.iscoroutinefunction(process):
        return awaits
    return streams if inspect.isasyncgenfunction(process) else tells
