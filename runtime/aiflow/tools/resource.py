"""The resource `tools`: a set of tools that models are shown and nodes call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from aiflow.clock import Clock
from aiflow.credentials import Credential, look_up
from aiflow.errors import PluginError, ResourceError, ToolError
from aiflow.providers.messages import ToolSpec
from aiflow.resources import Resource, ResourceParams
from aiflow.tools.functions import PythonTool
from aiflow.tools.http import HttpTool, HttpToolParams
from aiflow.tools.offered import Offer, installed_names, load_installed
from aiflow.tools.schema import NAME, fitting_name
from aiflow.tools.servers import McpServer
from aiflow.tools.tool import Tool, ToolEffect
from aiflow.transport.guard import AddressGuard

_MCP = "install aiflow-runtime[mcp]"


class McpParams(BaseModel):
    """One MCP server of a tool set: either `server` or `url`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    server: str = Field(
        "",
        description="Name of a program that this machine offers; a graph never says which program"
        " that is.",
    )
    url: str = Field("", description="Address of a server that speaks streamable HTTP.")
    credential: str = Field(
        "",
        pattern=r"^([A-Za-z_][A-Za-z0-9_]*)?$",
        description="Name of the environment variable, or of the entry in the system's keyring,"
        " that holds the key for the address.",
        json_schema_extra={"x-editor": "secret-name"},
    )
    allow_private: bool = Field(
        False,
        description="Whether the address may be on this machine or in a private network.",
    )
    tools: tuple[str, ...] = Field(
        (), description="Which of the server's tools are taken; empty takes all."
    )
    prefix: str = Field("", description="Put before the name of each of its tools.")


class ToolsParams(ResourceParams):
    """Parameters of a tool set."""

    functions: tuple[str, ...] = Field(
        ("calculator", "clock"),
        description="Names of Python tools: of an installed package, or of a file that the run is"
        " given with --operators.",
    )
    http: tuple[HttpToolParams, ...] = Field(
        (),
        description="HTTP calls, each a tool: name, description, url, method, parameters (a JSON"
        " Schema) and credential.",
        json_schema_extra={"x-editor": "json"},
    )
    servers: tuple[McpParams, ...] = Field(
        (),
        description="MCP servers, whose tools are taken: the name of a server of this machine, or a"
        " url.",
        json_schema_extra={"x-editor": "json"},
    )
    effects: dict[str, ToolEffect] = Field(
        default_factory=dict,
        description="What calling a tool twice would do, by its name, where its own word is to be"
        " changed: none, idempotent or non_idempotent.",
        json_schema_extra={"x-editor": "json"},
    )


class Tools(Resource[ToolsParams]):
    """A set of tools.

    Attributes:
        offered: what was loaded from files of this run, by name; goes before what is installed.
    """

    kind: ClassVar[str] = "tools"
    title: ClassVar[str] = "Tool set"
    summary: ClassVar[str] = (
        "Python functions, HTTP calls and MCP servers that a model may ask for."
    )
    Params: ClassVar[type[ResourceParams]] = ToolsParams
    offered: ClassVar[Mapping[str, Offer]] = {}

    def __init__(self, id: str, params: ToolsParams, folders: Sequence[Path] = ()) -> None:
        super().__init__(id, params, folders)
        self._tools: dict[str, Tool] = {}
        self._sessions: list[Any] = []

    @classmethod
    def offering(cls, offers: Mapping[str, Offer]) -> type[Tools]:
        """Return this class with more to offer."""
        body = {"__doc__": cls.__doc__, "__module__": cls.__module__}
        return type(cls.__name__, (cls,), body | {"offered": {**cls.offered, **offers}})

    def credentials(self) -> tuple[str, ...]:
        """Return the variables that hold keys."""
        of_calls = [each.credential for each in self.params.http]
        of_servers = [each.credential for each in self.params.servers]
        return tuple(dict.fromkeys(filter(None, [*of_calls, *of_servers])))

    def needs_real_clock(self) -> str:
        """Say that servers have their own time; Python tools do not."""
        if self.params.http or self.params.servers:
            return "it calls servers, whose time is real"
        return ""

    def check(self) -> Iterator[str]:
        """Name what this machine does not offer; nothing is imported for it."""
        known = {*self.offered, *installed_names()}
        asked = [*self.params.functions, *(each.server for each in self.params.servers)]
        for name in filter(None, asked):
            if name not in known:
                yield (
                    f"this machine offers no tool {name}; it has {', '.join(sorted(known))}, and"
                    " what a file given with --operators brings"
                )
        for each in self.params.servers:
            if bool(each.server) == bool(each.url):
                yield "an MCP server needs either a server or a url; set one of them"
        names = [*self.params.functions, *(each.name for each in self.params.http)]
        for name in sorted({name for name in names if names.count(name) > 1}):
            yield f"two of its tools are called {name}"

    def lacks(self) -> Iterator[str]:
        """Name the package that MCP servers need."""
        if self.params.servers and find_spec("mcp") is None:
            yield f"MCP servers need a package that is not installed; {_MCP}"

    async def start(self, clock: Clock) -> None:
        """Import the Python tools and connect to the servers.

        Raises:
            ResourceError: a tool cannot be loaded, a key is not set, or a server does not answer.
        """
        for fault in self.check():
            raise ResourceError(self.id, fault)
        try:
            for name in self.params.functions:
                self._add(name, self._offer(name, PythonTool))
            for params in self.params.http:
                self._add(params.name, HttpTool(params, await self._secret(params.credential)))
            for server in self.params.servers:
                await self._connect(server)
        except (PluginError, ToolError) as error:
            raise ResourceError(self.id, str(error)) from error
        if strangers := self.params.effects.keys() - self._tools.keys():
            name = min(strangers)
            raise ResourceError(self.id, f"effects names {name}, which is none of its tools")

    async def stop(self) -> None:
        """Close the connections to servers and end those that it started."""
        sessions, self._sessions = self._sessions, []
        self._tools = {}
        for session in reversed(sessions):
            await session.close()

    def specs(self) -> tuple[ToolSpec, ...]:
        """Return what a model is shown, in the order of the params."""
        return tuple(tool.spec for tool in self._tools.values())

    def names(self) -> tuple[str, ...]:
        """Return the names of all its tools, in the order of the params."""
        return tuple(self._tools)

    def get(self, name: str) -> Tool | None:
        """Return a tool by the name that models are shown; None where there is none."""
        return self._tools.get(name)

    def effect_of(self, tool: Tool) -> ToolEffect:
        """Return what calling a tool twice would do: the params' word, else its own."""
        return self.params.effects.get(tool.spec.name, tool.effect)

    def _add(self, name: str, tool: Tool) -> None:
        if not fitting_name(name):
            raise ResourceError(self.id, f"{name!r} is no name of a tool, which is {NAME}")
        if name in self._tools:
            raise ResourceError(self.id, f"two of its tools are called {name}")
        self._tools[name] = tool

    def _offer(self, name: str, kind: type[Any]) -> Any:  # noqa: ANN401 - of the kind asked for
        offer = self.offered.get(name) or load_installed(name)
        if not isinstance(offer, kind):
            field = "servers" if isinstance(offer, McpServer) else "functions"
            raise ResourceError(self.id, f"{name} belongs into {field}")
        return offer

    async def _connect(self, params: McpParams) -> None:
        try:
            # Only here, because the client is an extra that few need and that takes long to load.
            from aiflow.tools import mcp_session, mcp_ways  # noqa: PLC0415
        except ImportError as error:
            raise ResourceError(self.id, f"MCP needs a package that is missing; {_MCP}") from error
        if params.url:
            where, secrets = f"MCP server {params.url}", [await self._secret(params.credential)]
            headers = {"Authorization": f"Bearer {secrets[0]}"} if secrets[0] else {}
            guard = AddressGuard(params.allow_private)
            way = mcp_ways.address_way(params.url, headers, guard)
        else:
            server: McpServer = self._offer(params.server, McpServer)
            where = f"MCP server {server.name}"
            environment = {name: await self._secret(name) for name in server.credentials}
            secrets = list(environment.values())
            way = mcp_ways.program_way(server.command, environment)
        session = mcp_session.McpSession(where, way, secrets)
        self._sessions.append(session)
        listed = {tool.name: tool for tool in await session.open()}
        for name in params.tools or listed:
            if name not in listed:
                raise ResourceError(self.id, f"{where} has no tool {name}")
            shown = f"{params.prefix}{name}"
            self._add(shown, mcp_session.McpTool(session, listed[name], shown))

    async def _secret(self, name: str) -> str:
        found = await look_up(name) if name else Credential()
        if found.missing:
            raise ResourceError(self.id, found.missing)
        return found.secret
