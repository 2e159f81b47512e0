"""Tests of `aiflow.tools.resource`."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from aiflow import tool
from aiflow.clock import SystemClock
from aiflow.errors import ResourceError
from aiflow.tools import resource as resource_module
from aiflow.tools.resource import Tools, ToolsParams
from aiflow.tools.servers import McpServer
from aiflow.tools.tool import ToolEffect

PROGRAM = (sys.executable, str(Path(__file__).with_name("mcp_program.py")))
HTTP = {"name": "weather", "url": "http://a.test/"}


@tool
def mine() -> str:
    """Do."""
    return "done"


SERVER = McpServer("test", PROGRAM)
Offering = Tools.offering({"mine": mine, "test": SERVER})


def tools_of(**params: Any) -> Tools:
    """Return a tool set that this file offers to."""
    return Offering("t", ToolsParams.model_validate({"functions": (), **params}))


@contextmanager
def running(tools: Tools) -> Iterator[Tools]:
    """Start and stop a set on one loop."""
    with asyncio.Runner() as runner:
        try:
            runner.run(tools.start(SystemClock()))
            yield tools
        finally:
            runner.run(tools.stop())


def fault(**params: Any) -> str:
    """Return why a set cannot start."""
    with pytest.raises(ResourceError) as caught, running(tools_of(**params)):
        pass
    return str(caught.value)


def test_a_model_is_shown_all_tools_in_the_order_of_the_params() -> None:
    """Functions, then HTTP calls."""
    with running(tools_of(functions=("mine", "calculator"), http=(HTTP,))) as tools:
        assert [spec.name for spec in tools.specs()] == ["mine", "calculator", "weather"]
        assert tools.names() == ("mine", "calculator", "weather")
        assert tools.get("mine") is mine
        assert tools.get("os.system") is None

    assert tools.specs() == ()


def test_what_a_file_offers_goes_before_what_is_installed() -> None:
    """And a class that offers more leaves the other as it was."""
    more = Offering.offering({"mine": mine})

    assert set(more.offered) == {"mine", "test"}
    assert Tools.offered == {}
    assert more.kind == "tools"


def test_what_a_tool_does_twice_may_be_said_by_the_graph() -> None:
    """By its name; else its own word stands."""
    params = {"functions": ("mine", "calculator"), "effects": {"mine": "idempotent"}}
    with running(tools_of(**params)) as tools:
        effects = [tools.effect_of(each) for name in tools.names() if (each := tools.get(name))]

    assert effects == [ToolEffect.IDEMPOTENT, ToolEffect.NONE]


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({"functions": ["os:system"]}, "this machine offers no tool os:system"),
        ({"servers": [{"server": "/bin/sh"}]}, "this machine offers no tool /bin/sh"),
        ({"servers": [{}]}, "needs either a server or a url"),
        ({"servers": [{"server": "test", "url": "http://a"}]}, "needs either a server or a url"),
        ({"functions": ["mine"], "http": [{**HTTP, "name": "mine"}]}, "two of its tools"),
    ],
)
def test_what_keeps_a_set_from_starting_is_found_without_starting(
    params: dict[str, Any], says: str
) -> None:
    """The same from `check` and from `start`."""
    (found,) = tools_of(**params).check()

    assert says in found
    assert says in fault(**params)


def test_a_check_imports_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A graph that is only looked at runs no code."""

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} was imported")

    monkeypatch.setattr(resource_module, "load_installed", refuse)

    assert list(tools_of(functions=("calculator",)).check()) == []


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({"functions": ["test"]}, "test belongs into servers"),
        ({"servers": [{"server": "mine"}]}, "mine belongs into functions"),
        ({"functions": ["mine"], "effects": {"other": "none"}}, "which is none of its tools"),
        ({"http": [{**HTTP, "credential": "AIFLOW_NO_SUCH_KEY"}]}, "AIFLOW_NO_SUCH_KEY"),
        ({"servers": [{"url": "http://127.0.0.1:9/mcp"}]}, "not on the open internet"),
    ],
)
def test_what_only_shows_at_the_start_is_told_then(params: dict[str, Any], says: str) -> None:
    """With the resource's name."""
    said = fault(**params)

    assert said.startswith("resource t: ")
    assert says in said


def test_names_of_keys_are_told_and_the_clock_that_servers_need() -> None:
    """Functions need neither."""
    params = {
        "http": [{**HTTP, "credential": "A"}, {**HTTP, "name": "b", "credential": "A"}],
        "servers": [{"url": "https://a.test/mcp", "credential": "B"}],
    }

    assert tools_of(**params).credentials() == ("A", "B")
    assert "servers" in tools_of(**params).needs_real_clock()
    assert tools_of(functions=("mine",)).needs_real_clock() == ""


def test_a_key_reaches_the_tool_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """And stands in no representation."""
    monkeypatch.setenv("WEATHER_KEY", "sesame-0123456789")
    with running(tools_of(http=[{**HTTP, "credential": "WEATHER_KEY"}])) as tools:
        weather = tools.get("weather")

        assert weather is not None
        assert vars(weather)["_secret"] == "sesame-0123456789"
        assert "sesame" not in repr(weather)


def test_a_missing_package_for_mcp_is_what_this_machine_lacks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A hint where the graph is only looked at, because it may run elsewhere."""
    monkeypatch.setattr(resource_module, "find_spec", lambda _: None)

    (lack,) = tools_of(servers=[{"server": "test"}]).lacks()

    assert "aiflow-runtime[mcp]" in lack
    assert list(tools_of(functions=("mine",)).lacks()) == []


@pytest.mark.slow
def test_a_servers_tools_are_taken_by_name_and_with_a_prefix() -> None:
    """Those that are asked for, or all; one that is not there is told."""
    some = {"servers": [{"server": "test", "tools": ["add"], "prefix": "t_"}]}
    with running(tools_of(functions=("mine",), **some)) as tools:
        assert tools.names() == ("mine", "t_add")

    with running(tools_of(servers=[{"server": "test"}])) as tools:
        assert {"add", "fail", "wait"} <= set(tools.names())

    assert "has no tool gone" in fault(servers=[{"server": "test", "tools": ["gone"]}])


@pytest.mark.slow
def test_a_tool_whose_name_is_taken_keeps_the_set_from_starting() -> None:
    """The prefix of a server is there for that; its program is ended."""
    with_twice = {"servers": [{"server": "test"}], "http": [{**HTTP, "name": "add"}]}

    assert "two of its tools are called add" in fault(**with_twice)
