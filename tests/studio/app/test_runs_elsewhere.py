"""Runs in a process of their own, and runs of others: what the window's menus do about them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from PySide6.QtWidgets import QDialog, QLineEdit, QPushButton
from pytestqt.qtbot import QtBot

import aiflow.remote
from aiflow.engine.session import Session
from aiflow.graph import edits
from aiflow.graph.shipped import graphs_dir
from aiflow.operators.registry import Catalog
from aiflow_studio.app.loop import StudioLoop
from aiflow_studio.app.studio import Studio
from aiflow_studio.runs.child import ChildHost
from tests.runtime.remote.served import TOKEN, Gate, plan_of
from tests.studio.fake_host import FakeHost

PATIENCE_MS = 120_000


async def until(is_so: Callable[[], bool]) -> None:
    """Wait until something is so."""
    async with asyncio.timeout(60):
        while not is_so():  # noqa: ASYNC110 - what is waited for tells nobody
            await asyncio.sleep(0.01)


def choose(studio: Studio, place: str) -> None:
    """Choose where runs live, in the menu."""
    for action in studio.book.submenus["place"].actions():
        if action.data() == place:
            action.trigger()


@pytest.fixture
def wait_long(attached: StudioLoop, qtbot: QtBot) -> Callable[[Coroutine[Any, Any, Any]], Any]:
    """Return what awaits a coroutine that needs another process."""

    def wait(work: Coroutine[Any, Any, Any]) -> Any:
        task = attached.create_task(work)
        qtbot.waitUntil(task.done, timeout=PATIENCE_MS)
        return task.result()

    return wait


def test_where_runs_live_is_chosen_in_the_menu_and_remembered(
    studio: Studio, host: FakeHost
) -> None:
    """The next start is another host's; the choice outlives the window."""
    apart = FakeHost()
    studio._hosts["apart"] = apart
    studio.document.replace(edits.add_node(studio.document.graph, "screen"), "Add")

    choose(studio, "apart")
    assert studio.commands.run()

    assert (host.calls, apart.calls) == ([], ["start"])
    assert studio._settings.runs_apart
    studio.runs.stop()
    choose(studio, "here")
    assert studio.commands.run()
    assert host.calls == ["start"]


def test_a_closed_studio_leaves_no_process(
    studio: Studio, qtbot: QtBot, wait_long: Callable[[Coroutine[Any, Any, Any]], Any]
) -> None:
    """The run in a process of its own ends with the window."""
    child = ChildHost(Catalog.load())
    studio._hosts["apart"] = child
    studio.open_at_start(graphs_dir() / "examples" / "slow-speech.aiflow.json")
    choose(studio, "apart")
    assert studio.commands.run()
    qtbot.waitUntil(lambda: child.snapshot() is not None, timeout=PATIENCE_MS)
    process = child.process_id
    assert process is not None

    wait_long(studio.leave())

    assert not child.is_active
    with pytest.raises(OSError):  # noqa: PT011 - whatever a system says of a number nobody has
        os.kill(process, 0)


async def attach(studio: Studio, address: str, token: str) -> None:
    """Fill in the dialog of the menu's entry."""
    studio.book.actions["attach"].trigger()
    await until(lambda: studio.window.findChild(QDialog, "ask-where-to-attach") is not None)
    dialog = studio.window.findChild(QDialog, "ask-where-to-attach")
    assert dialog is not None
    field = dialog.findChild(QLineEdit, "attach.token")
    assert field is not None
    assert field.echoMode() is QLineEdit.EchoMode.Password
    field.setText(token)
    where = dialog.findChild(QLineEdit, "attach.address")
    assert where is not None
    where.setText(address)
    button = next(each for each in dialog.findChildren(QPushButton) if each.text() == "Attach")
    button.click()


def test_a_run_of_somebody_else_is_shown_and_left_alone(
    studio: Studio, wait_long: Callable[[Coroutine[Any, Any, Any]], Any]
) -> None:
    """Address and token are asked for; the numbers come; closing the window ends nothing."""

    async def scene() -> None:
        session = Session(plan_of(Gate()))
        async with aiflow.remote.serve(session, "127.0.0.1:0", TOKEN) as server:
            task = asyncio.create_task(session.run())
            await attach(studio, server.address, TOKEN)
            await until(lambda: studio.runs.snapshot is not None)
            assert studio.bar.said == f"attached to by hand at {server.address}"
            assert studio.runs.is_active
            assert not studio.commands.differs()
            await studio.runs.end()
            assert session.status.phase == "running"
            assert studio.runs.phase == "cancelled"
            session.stop()
            await task

    wait_long(scene())


def test_a_wrong_token_is_told_at_the_run_bar(
    studio: Studio, wait_long: Callable[[Coroutine[Any, Any, Any]], Any]
) -> None:
    """In a sentence that does not show what was typed."""

    async def scene() -> None:
        session = Session(plan_of(Gate()))
        async with aiflow.remote.serve(session, "127.0.0.1:0", TOKEN) as server:
            await attach(studio, server.address, "this is not the token")
            await until(lambda: studio.bar.said.startswith("Not attached: the run at"))
            assert "this is not" not in studio.bar.said
            assert studio.runs.phase == "idle"

    wait_long(scene())
