"""Tests of `aiflow_studio.app.loop`."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from aiflow.clock import SystemClock
from aiflow.providers.local.resource import LocalModel, LocalModelParams
from aiflow.providers.messages import ChatMessage, ChatRequest
from aiflow_studio.app.loop import BATCH_S, StudioLoop, new_loop
from tests.runtime.providers.local.stubbed import is_there, model_file, stub

__all__ = ["stub"]


@pytest.fixture
def loop(qapp: QApplication) -> Iterator[StudioLoop]:
    """Return a loop on the test's application, closed afterwards."""
    loop = new_loop()
    asyncio.set_event_loop(loop)
    yield loop
    loop.run_until_complete(loop.shutdown_asyncgens())
    asyncio.set_event_loop(None)
    loop.close()


def test_callbacks_run_in_the_order_in_which_they_were_asked_for(loop: StudioLoop) -> None:
    """First in, first out, also for those asked for while others run."""
    seen: list[int] = []

    def note(number: int) -> None:
        seen.append(number)
        if number < 10:
            loop.call_soon(note, number + 10)

    for number in range(10):
        loop.call_soon(note, number)
    loop.call_soon(loop.call_soon, loop.call_soon, loop.stop)
    loop.run_forever()

    assert seen == list(range(20))


def test_a_cancelled_callback_does_not_run(loop: StudioLoop) -> None:
    """A handle cancelled before its turn is skipped, the one after it is not."""
    seen: list[str] = []
    loop.call_soon(seen.append, "cancelled").cancel()
    loop.call_soon(seen.append, "kept")
    loop.call_later(0.001, seen.append, "cancelled timer").cancel()

    loop.run_until_complete(asyncio.sleep(0.005))

    assert seen == ["kept"]


def test_timers_never_fire_early(loop: StudioLoop) -> None:
    """Whatever Qt's timers do, a deadline has come when its callback runs."""
    early: list[float] = []
    delays = [0.0, 0.0004, 0.0019, 0.003, 0.0101, 0.02, 0.0333]

    async def wait(delay_s: float) -> None:
        due = loop.time() + delay_s
        await asyncio.sleep(delay_s)
        early.append(max(0.0, due - loop.time()))

    async def all_of_them() -> None:
        await asyncio.gather(*(wait(delay_s) for delay_s in delays))

    loop.run_until_complete(all_of_them())

    assert early == [0.0] * len(delays)


def test_the_system_clock_keeps_its_deadlines_on_this_loop(loop: StudioLoop) -> None:
    """`Clock.sleep_until` returns at the deadline or later."""
    clock = SystemClock()

    async def wait() -> tuple[float, float]:
        deadline = clock.now() + 0.0123
        await clock.sleep_until(deadline)
        return deadline, clock.now()

    deadline, woken = loop.run_until_complete(wait())

    assert woken >= deadline


def test_a_timer_knows_when_it_is_due(loop: StudioLoop) -> None:
    """`call_at` answers with a handle that has `when()`, also for a day in the far future."""
    when = loop.time() + 40 * 24 * 3600
    handle = loop.call_at(when, print)

    assert handle.when() == when

    handle.cancel()


def test_cancelled_timers_do_not_linger(loop: StudioLoop) -> None:
    """5,000 time-outs that never struck leave next to nothing behind."""

    async def many() -> None:
        for _ in range(5000):
            async with asyncio.timeout(60):
                await asyncio.sleep(0)

    loop.run_until_complete(many())

    assert len(loop._scheduled) <= 201


def test_two_thousand_sleepers_all_wake(loop: StudioLoop) -> None:
    """Many timers at once share one Qt timer and lose nobody."""
    woken: list[int] = []

    async def sleeper(number: int) -> None:
        await asyncio.sleep(0.0005 * (number % 20))
        woken.append(number)

    async def all_of_them() -> None:
        await asyncio.gather(*(sleeper(number) for number in range(2000)))

    loop.run_until_complete(all_of_them())

    assert sorted(woken) == list(range(2000))


def test_qt_gets_its_turn_while_callbacks_never_end(loop: StudioLoop) -> None:
    """A task that never waits does not keep Qt's own timers from firing."""
    ticks: list[int] = []
    timer = QTimer()
    timer.setInterval(0)
    timer.timeout.connect(lambda: ticks.append(1))

    async def busy() -> None:
        timer.start()
        while len(ticks) < 3:  # noqa: ASYNC110 - to be busy is the point
            await asyncio.sleep(0)
        timer.stop()

    loop.run_until_complete(busy())

    assert len(ticks) >= 3


def test_a_batch_ends_after_its_time(loop: StudioLoop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once `BATCH_S` is over the next callback waits for the next turn."""
    now = 100.0
    seen: list[str] = []

    def spend(seconds: float) -> None:
        nonlocal now
        now += seconds
        seen.append(f"{seconds:g}")

    loop.call_soon(spend, BATCH_S)
    loop.call_soon(spend, 1)
    monkeypatch.setattr("aiflow_studio.app.loop.monotonic", lambda: now)

    loop._run_batch(now + BATCH_S)

    assert seen == [f"{BATCH_S:g}"]
    loop._ready.clear()


def test_other_threads_can_call_in(loop: StudioLoop) -> None:
    """Every call from another thread arrives, in the order of that thread."""
    seen: list[int] = []

    async def listen() -> None:
        done = asyncio.Event()

        def call() -> None:
            for number in range(500):
                loop.call_soon_threadsafe(seen.append, number)
            loop.call_soon_threadsafe(done.set)

        thread = threading.Thread(target=call)
        thread.start()
        await done.wait()
        thread.join()

    loop.run_until_complete(listen())

    assert seen == list(range(500))


def test_an_executor_answers(loop: StudioLoop) -> None:
    """The default executor is a pool of plain threads, shut down with the loop."""

    async def ask() -> tuple[int, str]:
        name = await loop.run_in_executor(None, lambda: threading.current_thread().name)
        await loop.shutdown_default_executor()
        return threading.get_ident(), name

    assert loop.run_until_complete(ask())[1].startswith("asyncio_")


def test_an_error_in_a_callback_reaches_the_handler(loop: StudioLoop) -> None:
    """The loop goes on after an error, and the handler that was set gets it."""
    contexts: list[dict[str, object]] = []
    loop.set_exception_handler(lambda _loop, context: contexts.append(context))
    seen: list[str] = []

    loop.call_soon(lambda: 1 / 0)
    loop.call_soon(seen.append, "after")
    loop.run_until_complete(asyncio.sleep(0))

    assert [type(context["exception"]) for context in contexts] == [ZeroDivisionError]
    assert loop.get_exception_handler() is not None
    assert seen == ["after"]


def test_an_exit_from_inside_a_task_leaves_the_loop(loop: StudioLoop) -> None:
    """SystemExit is raised out of `run_forever`, not printed by Qt and forgotten."""

    def leave() -> None:
        raise SystemExit(3)

    loop.call_soon(leave)

    with pytest.raises(SystemExit) as left:
        loop.run_forever()

    assert left.value.code == 3


def test_sockets_work(loop: StudioLoop) -> None:
    """A server and a client on one loop hand each other many bytes."""

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.readexactly(200_000))
        await writer.drain()
        writer.close()
        await writer.wait_closed()

    async def talk() -> bytes:
        server = await asyncio.start_server(echo, "127.0.0.1", 0)
        async with server:
            port = server.sockets[0].getsockname()[1]
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"x" * 200_000)
            await writer.drain()
            answer = await reader.read(-1)
            writer.close()
            await writer.wait_closed()
        return answer

    assert loop.run_until_complete(talk()) == b"x" * 200_000


@pytest.mark.skipif(sys.platform == "win32", reason="child processes there need the other loop")
def test_child_processes_work(loop: StudioLoop) -> None:
    """A child's output and exit code arrive."""

    async def ask() -> tuple[bytes, int | None]:
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-c", "print('hello'); raise SystemExit(5)", stdout=subprocess.PIPE
        )
        out, _ = await child.communicate()
        return out.strip(), child.returncode

    assert loop.run_until_complete(ask()) == (b"hello", 5)


def test_task_groups_and_timeouts_work(loop: StudioLoop) -> None:
    """Structured concurrency behaves as on asyncio's own loop."""

    async def work() -> str:
        try:
            async with asyncio.timeout(0.005), asyncio.TaskGroup() as group:
                group.create_task(asyncio.sleep(60))
        except TimeoutError:
            return "timed out"
        return "slept"

    assert loop.run_until_complete(work()) == "timed out"


def test_an_abandoned_generator_is_closed_at_the_end(loop: StudioLoop) -> None:
    """`shutdown_asyncgens` knows the generators, as asyncio's hooks make it."""
    closed: list[str] = []

    async def numbers() -> AsyncIterator[int]:
        try:
            yield 1
            yield 2
        finally:
            closed.append("closed")

    generator = numbers()

    async def begin() -> None:
        await anext(generator)

    loop.run_until_complete(begin())
    loop.run_until_complete(loop.shutdown_asyncgens())

    assert closed == ["closed"]


def test_a_loop_that_is_stopped_early_says_so(loop: StudioLoop) -> None:
    """`stop()` before the future is done is an error, as in asyncio."""
    loop.call_soon(loop.stop)
    forever = loop.create_task(asyncio.sleep(60))

    with pytest.raises(RuntimeError, match="stopped before Future completed"):
        loop.run_until_complete(forever)

    forever.cancel()
    with pytest.raises(asyncio.CancelledError):
        loop.run_until_complete(forever)


def test_a_runner_shuts_the_loop_down(qapp: QApplication) -> None:
    """`asyncio.Runner` closes it; afterwards no timer of it runs and no call is taken."""
    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(asyncio.sleep(0))
        loop = runner.get_loop()

    assert isinstance(loop, StudioLoop)
    assert loop.is_closed()
    assert not loop._soon.isActive()
    assert not loop._later.isActive()
    with pytest.raises(RuntimeError, match="closed"):
        loop.call_soon(print)


def test_an_attached_loop_runs_where_somebody_else_spins_qt(loop: StudioLoop, qtbot: QtBot) -> None:
    """A test may wait with `qtbot` and still have its tasks run."""
    done: list[int] = []

    async def work() -> None:
        await asyncio.sleep(0.001)
        done.append(1)

    with loop.attached():
        task = asyncio.get_running_loop().create_task(work())
        qtbot.waitUntil(task.done)

    assert done == [1]


def test_an_application_without_windows_is_made_where_there_is_none() -> None:
    """`aiflow bench engine --loop qasync` needs no Qt of its own."""
    program = (
        "import asyncio\n"
        "from aiflow_studio.app.loop import new_loop\n"
        "with asyncio.Runner(loop_factory=new_loop) as runner:\n"
        "    print(runner.run(asyncio.sleep(0.001, 'slept')))\n"
    )

    child = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60
    )

    assert (child.stdout.strip(), child.stderr, child.returncode) == ("slept", "", 0)


@pytest.mark.usefixtures("stub")
def test_a_child_process_starts_streams_and_ends_on_it(loop: StudioLoop, tmp_path: Path) -> None:
    """A local model needs no more of a loop than threads and sockets."""
    model = LocalModel(
        "local", LocalModelParams(model=str(model_file(tmp_path))), folders=[tmp_path]
    )

    async def main() -> int:
        await model.start(SystemClock())
        assert model.server is not None
        pid = model.server.pid
        assert pid is not None
        request = ChatRequest("", (ChatMessage("user", "hello"),))
        assert len([each async for each in model.stream_chat(request)]) > 10
        await model.stop()
        return pid

    assert not is_there(loop.run_until_complete(main()))
