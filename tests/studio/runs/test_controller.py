"""Tests of `aiflow_studio.runs.controller`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace

import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from aiflow.errors import EngineError
from aiflow.graph import codec
from aiflow.graph.model import Graph
from aiflow_studio.runs.controller import RunController
from aiflow_studio.runs.host import RunRequest
from tests.studio.fake_host import FakeHost

REQUEST = RunRequest(graph=codec.dumps(Graph()))


@pytest.fixture
def host() -> FakeHost:
    """Return the host under the controller."""
    return FakeHost()


@pytest.fixture
def runs(qapp: QApplication, host: FakeHost) -> Iterator[RunController]:
    """Return a controller whose run has ended afterwards."""
    runs = RunController(host)
    yield runs
    asyncio.run(runs.end())


def test_a_start_takes_a_sample_at_once(runs: RunController) -> None:
    """Nobody looks at the numbers of the run before."""
    phases: list[str] = []
    runs.phase_changed.connect(phases.append)

    assert runs.start(REQUEST)

    assert phases == ["running"]
    assert runs.snapshot is not None
    assert len(runs.history) == 1


def test_samples_keep_coming_until_the_run_ends(
    runs: RunController, host: FakeHost, qtbot: QtBot
) -> None:
    """The last sample is the one that says how it ended; then there is quiet."""
    runs.start(REQUEST)
    qtbot.waitUntil(lambda: len(runs.history) > 3)

    host.phase = "completed"
    qtbot.waitUntil(lambda: runs.phase == "completed")

    assert not runs.is_active
    assert not runs._timer.isActive()
    assert runs.snapshot is not None
    assert runs.snapshot.phase == "completed"


def test_a_second_start_is_no_start(runs: RunController, host: FakeHost) -> None:
    """One run at a time."""
    runs.start(REQUEST)

    assert not runs.start(REQUEST)

    assert host.calls == ["start"]


def test_a_refusal_is_a_sentence_and_no_run(runs: RunController, host: FakeHost) -> None:
    """The phase stays what it was."""
    host.refuses = "AF301: no"
    sentences: list[str] = []
    runs.refused.connect(sentences.append)

    assert not runs.start(REQUEST)

    assert sentences == ["AF301: no"]
    assert runs.phase == "idle"


def test_text_is_handed_on_once(runs: RunController, host: FakeHost) -> None:
    """Every line of every sink, in order, none twice."""
    seen: list[str] = []
    runs.shown.connect(lambda lines: seen.extend(line.text for line in lines))
    runs.start(REQUEST)

    host.show("screen", "a")
    runs.sample()
    host.show("screen", "b")
    runs.sample()
    runs.sample()

    assert seen == ["a", "b"]


def test_restart_ends_the_run_before(runs: RunController, host: FakeHost) -> None:
    """Two runs are never alive at once."""
    runs.start(REQUEST)

    assert asyncio.run(runs.restart(REQUEST))

    assert host.calls == ["start", "kill", "start"]
    assert runs.is_active


def test_after_end_nothing_runs_whatever_the_host_says(
    runs: RunController, host: FakeHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A host that lost its run must not leave a window that looks alive."""

    async def kill() -> None:
        return

    runs.start(REQUEST)
    monkeypatch.setattr(host, "kill", kill)

    asyncio.run(runs.end())

    assert runs.phase == "cancelled"


def test_forget_is_as_before_the_first_run(runs: RunController) -> None:
    """For a document that has gone."""
    runs.start(REQUEST)
    asyncio.run(runs.end())

    runs.forget()

    assert (runs.phase, runs.snapshot, runs.request, len(runs.history)) == ("idle", None, None, 0)


class SlowHost(FakeHost):
    """A host whose runs need a turn of the loop to end."""

    async def kill(self) -> None:
        await asyncio.sleep(0)
        await super().kill()

    def start(self, request: RunRequest) -> None:
        if self.phase in ("running", "draining"):
            raise EngineError("a run is going on")
        super().start(request)


def test_of_many_restarts_the_last_is_the_one_that_runs(qapp: QApplication) -> None:
    """Impatience starts one run, of what was wanted last, and nothing is refused."""
    host = SlowHost()
    runs = RunController(host)
    refusals: list[str] = []
    runs.refused.connect(refusals.append)
    wanted = [replace(REQUEST, seed=seed) for seed in range(1, 5)]

    async def scene() -> list[bool]:
        runs.start(REQUEST)
        return await asyncio.gather(*(runs.restart(each) for each in wanted))

    began = asyncio.run(scene())

    assert began == [False, False, False, True]
    assert [request.seed for request in host.requests] == [REQUEST.seed, 4]
    assert refusals == []
    asyncio.run(runs.end())


def test_after_close_nothing_starts_that_was_asked_for_before(qapp: QApplication) -> None:
    """A window that closes while a restart is under way leaves no run behind."""
    host = SlowHost()
    runs = RunController(host)

    async def scene() -> None:
        runs.start(REQUEST)
        await asyncio.gather(runs.restart(REQUEST), runs.close())

    asyncio.run(scene())

    assert len(host.requests) == 1
    assert host.phase == "cancelled"
    assert not runs.is_active
    assert not runs.start(REQUEST)
