"""What a chat source asks of a provider: one stream, one payload at a time.

`resource.Provider` is the real one; a test may hand a node anything of this shape.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from aiflow.events import Payload
from aiflow.providers.messages import ChatRequest
from aiflow.providers.profile import ModelProfile


class Arrival(NamedTuple):
    """A payload and when its bytes arrived.

    Attributes:
        at: seconds on the session's clock at which the bytes came in at the adapter; where
            a trace is replayed in process, their time in the trace.
    """

    payload: Payload
    at: float


class ChatStream(Protocol):
    """The answer to one request, read lazily: bytes that nobody asks for stay in the socket.

    Iterating sends the request at the first step, and ends after the one `Control` of kind
    `finish` (with several choices one for each). Where that finish's reason is `error` or
    `incomplete`, the next step raises the `ProviderError`, so all that came before has been
    handed over. What goes wrong before the answer's first byte is raised at once.
    `aclose` may come at any time, is safe to repeat, and closes the connection before it
    returns; so does cancelling the task that iterates.

    Attributes:
        request_sent_at: when the request left, seconds on the session's clock; None before.
        undecoded_bytes: bytes taken from the network and not decoded yet.
    """

    @property
    def request_sent_at(self) -> float | None:
        """When the request left; None before that."""
        ...

    @property
    def undecoded_bytes(self) -> int:
        """Bytes taken from the network and not decoded yet."""
        ...

    def __aiter__(self) -> ChatStream:
        """Return itself."""
        ...

    async def __anext__(self) -> Arrival:
        """Return the next payload.

        Raises:
            ProviderError: the endpoint refused, timed out or broke off.
        """
        ...

    async def aclose(self) -> None:
        """Close the connection; nothing comes after it."""
        ...


class ChatProvider(Protocol):
    """Something that can be asked for a chat stream."""

    def stream_chat(self, request: ChatRequest, profile: ModelProfile | None = None) -> ChatStream:
        """Return the answer's stream; nothing is sent before it is iterated.

        Args:
            request: what the model is asked.
            profile: what the model can; None leaves that to the provider.
        """
        ...
