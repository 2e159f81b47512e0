"""The resource `provider`: an endpoint or a trace, a credential's name, and a dialect.

On a real clock a trace is served by a small HTTP server of our own, so that it goes through the
same sockets as a model; on the virtual clock the same bytes go to the same decoder in process.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import ClassVar
from urllib.parse import urlsplit

from pydantic import Field, JsonValue

from aiflow.clock import Clock
from aiflow.credentials import look_up, look_up_now
from aiflow.errors import PluginError, ProviderError, ResourceError, TraceError, reason_of
from aiflow.providers.chat import ChatStream
from aiflow.providers.decoder import StreamDecoder
from aiflow.providers.dialect import Dialect, dialect_names, find_dialect
from aiflow.providers.limited import LimitedStream
from aiflow.providers.limits import RequestLimits
from aiflow.providers.messages import ChatRequest
from aiflow.providers.profile import ModelProfile, profile_for
from aiflow.providers.recording import Recorder, RecordingStream, TraceRecorder
from aiflow.providers.recordings import AnswerRecordings
from aiflow.providers.retrying import Retries, RetryingStream
from aiflow.providers.streams import ByteStream, HttpChatStream, TraceChatStream
from aiflow.providers.traces import Traces, opened
from aiflow.resources import Resource, ResourceParams
from aiflow.transport.client import HttpClient, HttpRequest
from aiflow.transport.excerpt import place_of
from aiflow.transport.patience import Timeouts
from aiflow.transport.trace_server import TraceServer


class ProviderParams(ResourceParams):
    """Parameters of a provider: either `endpoint` or `trace`."""

    endpoint: str = Field(
        "",
        description="Address of the API, such as http://127.0.0.1:11434 or one that ends in /v1.",
    )
    trace: str = Field(
        "",
        description="A recorded answer that is replayed instead; relative to the graph's folder.",
        json_schema_extra={"x-editor": "path"},
    )
    more_traces: tuple[str, ...] = Field(
        (),
        description="Recorded answers to the second and the further requests of one exchange, such"
        " as those of a tool loop; the last one answers all that come after it.",
        json_schema_extra={"x-editor": "path"},
    )
    dialect: str = Field(
        "openai-chat",
        description="The wire format; a trace knows its own.",
        json_schema_extra={"x-choices": list[JsonValue](dialect_names())},
    )
    credential: str = Field(
        "",
        description="Name of the environment variable, or of the entry in the system's keyring,"
        " that holds the key; never the key itself.",
        pattern=r"^([A-Za-z_][A-Za-z0-9_]*)?$",
        json_schema_extra={"x-editor": "secret-name"},
    )
    first_byte_timeout_s: float = Field(
        300.0,
        gt=0,
        le=86_400,
        description="Longest wait for the answer to begin; a server may load its model first."
        " Also for a request's turn, while the open ones stand still.",
        json_schema_extra={"x-unit": "s"},
    )
    idle_timeout_s: float = Field(
        60.0,
        gt=0,
        le=86_400,
        description="Longest silence inside an answer; any byte counts as a sign of life.",
        json_schema_extra={"x-unit": "s"},
    )
    total_timeout_s: float | None = Field(
        None,
        gt=0,
        le=86_400,
        description="Longest wait for a whole answer, counted while the graph waits for the"
        " server; empty sets no limit.",
        json_schema_extra={"x-unit": "s"},
    )
    max_concurrent: int | None = Field(
        None,
        ge=1,
        le=100_000,
        description="How many requests are open at once, over all nodes that share this"
        " provider; further ones wait their turn. Nodes that feed one another need a place each."
        " Empty sets no limit.",
        json_schema_extra={"x-unit": "requests"},
    )
    requests_per_minute: int | None = Field(
        None,
        ge=1,
        le=1_000_000,
        description="How many requests begin in any 60 seconds, over all nodes that share this"
        " provider; further ones wait their turn. Empty sets no limit.",
        json_schema_extra={"x-unit": "requests"},
    )
    retries: int = Field(
        2,
        ge=0,
        le=100,
        description="How often a refusal that will pass (429, 503) is answered by asking again;"
        " never after an answer has begun.",
        json_schema_extra={"x-unit": "requests"},
    )
    longest_retry_wait_s: float = Field(
        30.0,
        gt=0,
        le=3600,
        description="Longest wait before asking again; a server that asks for more fails at once.",
        json_schema_extra={"x-unit": "s"},
    )


class Provider(Resource[ProviderParams]):
    """Asks one endpoint for chat streams.

    Args:
        id, params, folders: as for every resource.
        key: of a server that was started for this run; else `credential` says where it is.

    Attributes:
        server: the first trace's server; None where there is no trace, or no real clock.
    """

    kind: ClassVar[str] = "provider"
    title: ClassVar[str] = "Model provider"
    summary: ClassVar[str] = "A model endpoint, or a trace that answers as one."
    Params: ClassVar[type[ResourceParams]] = ProviderParams

    _clock: Clock | None = None
    _client: HttpClient | None = None
    _limits: RequestLimits | None = None
    _recordings: AnswerRecordings | None = None
    _traces: Traces | None = None
    _endpoint: str = ""
    _secret: str = ""

    def __init__(
        self, id: str, params: ProviderParams, folders: Sequence[Path] = (), *, key: str = ""
    ) -> None:
        super().__init__(id, params, folders)
        self._key = key
        # A stream that its node has let go of counts no longer.
        self._streams: weakref.WeakSet[ChatStream] = weakref.WeakSet()

    @property
    def server(self) -> TraceServer | None:
        """The first trace's server; None where there is none."""
        servers = self._traces.servers if self._traces else []
        return servers[0] if servers else None

    @property
    def waiting_requests(self) -> int:
        """Requests that wait for its limits."""
        return 0 if self._limits is None else self._limits.waiting

    @property
    def undecoded_bytes(self) -> int:
        """Bytes that its open streams have read and not decoded yet."""
        return sum(stream.undecoded_bytes for stream in self._streams)

    def credentials(self) -> tuple[str, ...]:
        """Return the name of the key."""
        return (self.params.credential,) if self.params.credential else ()

    def needs_real_clock(self) -> str:
        """Say that a server's time is real; a trace's is not."""
        return "" if self.params.trace else "it talks to a server, whose time is real"

    def check(self) -> Iterator[str]:
        """Yield what keeps it from starting."""
        params = self.params
        if bool(params.endpoint) == bool(params.trace):
            yield "it needs either an endpoint or a trace; set one of them"
            return
        if params.more_traces and not params.trace:
            yield "its more_traces come after a trace; set that as well"
        elif params.trace:
            yield from self._check_traces()
        else:
            yield from _check_endpoint(params.endpoint)
        try:
            find_dialect(params.dialect)
        except PluginError as error:
            yield f"the dialect cannot be used: {error}"

    def record_into(self, recordings: AnswerRecordings) -> None:
        """Keep each answer to come as a trace."""
        self._recordings = recordings

    async def start(self, clock: Clock) -> None:
        """Open the trace or the client.

        Raises:
            ResourceError: params are wrong, the key is not set, or the trace cannot be read.
        """
        for fault in self.check():
            raise ResourceError(self.id, fault)
        self._secret = self._key or await self._read_secret(clock)
        self._clock = clock
        if self.params.max_concurrent or self.params.requests_per_minute:
            self._limits = RequestLimits(
                clock,
                self.params.max_concurrent,
                self.params.requests_per_minute,
                self.params.first_byte_timeout_s,
            )
        self._endpoint = self.params.endpoint
        if self.params.trace:
            await self._start_traces(clock)
        if self._endpoint:
            try:
                self._client = HttpClient(self._endpoint, clock)
            except ProviderError as error:
                raise ResourceError(self.id, str(error)) from error

    async def stop(self) -> None:
        """Close connections and the trace's server."""
        if self._limits is not None:
            self._limits.close()
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()
        if self._traces is not None:
            await self._traces.stop()

    def stream_chat(
        self,
        request: ChatRequest,
        profile: ModelProfile | None = None,
        record_to: Path | None = None,
    ) -> ChatStream:
        """Return the answer's stream; nothing is sent before it is iterated.

        Args:
            request: what the model is asked.
            profile: what the model can; None takes what is known of it by its name.
            record_to: file that a trace of the answer is written to as it comes; what
                stood there is replaced. Nothing is written where a trace is replayed in process.

        Raises:
            ResourceError: the provider has not been started.
        """
        if self._clock is None:
            raise ResourceError(self.id, "it has not been started")
        stream = self._open(request, profile, record_to, self._clock)
        self._streams.add(stream)
        return stream

    def _open(
        self,
        request: ChatRequest,
        profile: ModelProfile | None,
        record_to: Path | None,
        clock: Clock,
    ) -> ChatStream:
        dialect = self._dialect()
        profile = profile or profile_for(dialect.name, request.model)
        decoder = StreamDecoder(dialect.reader(profile), secret=self._secret)
        if self._client is None:
            if self._traces is None or not clock.is_virtual:
                raise ResourceError(self.id, "it has been stopped")
            trace = self._traces.trace_for(request)
            where = f"provider {self.id} ({trace.path.name})"
            place = None if self._limits is None else self._limits.place()
            return TraceChatStream(trace, decoder, clock, where, self._timeouts(), place)
        call = dialect.encode(request, profile)
        headers = dict(call.headers)
        if self._secret:
            headers |= dialect.credential_headers(self._secret)
        endpoint = self._traces.url_for(request) if self._traces else self._endpoint
        where = f"provider {self.id} ({place_of(endpoint)})"
        http_request = HttpRequest(
            url=dialect.url(endpoint, call.path),
            body=call.body,
            headers=headers,
            where=where,
            credential=self.params.credential,
            secret=self._secret,
        )
        stream: ByteStream = RetryingStream(
            partial(self._ask, self._client, http_request),
            clock,
            Retries(self.params.retries, self.params.longest_retry_wait_s),
        )
        recorder: Recorder | None = None
        if record_to is not None:
            recorder = TraceRecorder(record_to, dialect.name, self._secret)
        elif self._recordings is not None:
            recorder = self._recordings.recorder(request.asked_by, dialect.name, self._secret)
        if recorder is not None:
            stream = RecordingStream(stream, decoder, clock, recorder)
        return HttpChatStream(stream, decoder, clock, where, dialect.name)

    def _ask(self, client: HttpClient, request: HttpRequest) -> ByteStream:
        """Return the stream of one request, which waits its turn where there are limits."""
        stream = client.stream(request, self._timeouts())
        if self._limits is None:
            return stream
        return LimitedStream(stream, self._limits.place(), request.where)

    def _timeouts(self) -> Timeouts:
        params = self.params
        return Timeouts(params.first_byte_timeout_s, params.idle_timeout_s, params.total_timeout_s)

    def _dialect(self) -> Dialect:
        return find_dialect(self._traces.dialect if self._traces else self.params.dialect)

    def _check_traces(self) -> Iterator[str]:
        paths: list[Path] = []
        for name in (self.params.trace, *self.params.more_traces):
            path = self.find(name)
            if path is None:
                yield f"there is no trace {name}; correct the path"
                return
            paths.append(path)
        try:
            trace = opened(paths)[0]
        except TraceError as error:
            yield f"the trace cannot be read: {error}"
            return
        if "dialect" in self.params.model_fields_set and trace.dialect != self.params.dialect:
            yield (
                f"the trace {self.params.trace} is in {trace.dialect} and not in"
                f" {self.params.dialect}; leave `dialect` out"
            )

    async def _start_traces(self, clock: Clock) -> None:
        names = (self.params.trace, *self.params.more_traces)
        paths = [path for name in names if (path := self.find(name)) is not None]
        self._traces = Traces()
        try:
            await self._traces.start(paths, clock)
        except TraceError as error:
            raise ResourceError(self.id, f"the trace cannot be read: {error}") from error
        except OSError as error:
            raise ResourceError(
                self.id, f"its trace server cannot listen on 127.0.0.1 ({reason_of(error)})"
            ) from error
        self._endpoint = "" if self.server is None else self.server.url

    async def _read_secret(self, clock: Clock) -> str:
        name = self.params.credential
        if not name:
            return ""
        found = look_up_now(name) if clock.is_virtual else await look_up(name)
        if found.missing:
            raise ResourceError(self.id, found.missing)
        return found.secret


def _check_endpoint(endpoint: str) -> Iterator[str]:
    try:
        parts = urlsplit(endpoint)
        is_right = parts.scheme in ("http", "https") and bool(parts.hostname)
        is_right = is_right and parts.port != 0
    except ValueError:
        yield f"the endpoint {endpoint} is no address"
        return
    if parts.username or parts.password:
        yield "the endpoint holds a password; name the key's variable in `credential` instead"
    elif not is_right:
        yield f"the endpoint {endpoint} is no http or https address"
