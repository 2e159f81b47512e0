"""The client: asks a served session, one thing at a time, and reads the goodbye.

Nothing comes unasked but the goodbye, which holds the last numbers; they answer what is asked
after it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from typing import Any, Self

import msgspec

from aiflow.analysis.facts import Facts
from aiflow.engine.outputs import OutputLine
from aiflow.engine.tuning import Tuning
from aiflow.errors import RemoteError, reason_of
from aiflow.metrics.snapshot import Snapshot
from aiflow.remote import tokens
from aiflow.remote.addresses import address_of, written
from aiflow.remote.lifetime import Lifetime
from aiflow.remote.wire import (
    MOST_ANSWER,
    MOST_REQUEST,
    VERSION,
    T,
    decode,
    encode,
    fitting,
    read_line,
)

#: Seconds in which an answer must come; a run answers at once unless something blocks its loop.
PATIENCE_S = 10.0


class Goodbye(msgspec.Struct):
    """The last line of a server."""

    snapshot: Snapshot
    outputs: list[OutputLine]


class Client(Lifetime):
    """A connection to a served session; `connect` makes it.

    An async context manager, or to be awaited for its start and closed with `close`. One call
    at a time is under way; the others wait for it.

    Attributes:
        graph: name of the graph that runs there.
        last: the last numbers seen; after the run's end, those of its end.
    """

    def __init__(self, address: str, token: str | None) -> None:
        self._host, self._port = address_of(address)
        self.address = written(self._host, self._port)
        self._token = token
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._turn = asyncio.Lock()
        self._asked = 0
        self._left: list[OutputLine] = []
        self._has_parted = False
        self.graph = ""
        self.last: Snapshot | None = None

    @property
    def is_open(self) -> bool:
        """Whether there is somebody to ask."""
        return self._writer is not None and not self._has_parted

    async def close(self) -> None:
        """Go; what was opened for this client is closed there. Safe to repeat."""
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def snapshot(self) -> Snapshot:
        """Return all numbers now; after the run's end, the last."""
        if self._has_parted and self.last is not None:
            return self.last
        answer = await self._call("snapshot")
        self.last = self.last if answer is None else self._as(answer, Snapshot)
        if self.last is None:
            raise self._gone()
        return self.last

    async def ask(self, call: str, **arguments: Any) -> Any:  # noqa: ANN401 - plain values
        """Ask by a call's name and return its plain answer.

        Raises:
            RemoteError: the run refuses, or has ended.
        """
        if self._has_parted:
            raise self._gone()
        answer = await self._call(call, **arguments)
        if self._has_parted:
            raise self._gone()
        return answer

    async def facts(self) -> Facts:
        """Return what an analysis needs of the plan that runs there."""
        answer = await self._call("facts")
        if answer is None:
            raise self._gone()
        return self._as(answer, Facts)

    async def outputs(self, after: int = 0) -> list[OutputLine]:
        """Return what sinks showed since line `after`, oldest first; at most 1,000 at a time."""
        answer = [] if self._has_parted else await self._call("outputs", after=after)
        lines = self._as(answer or [], list[OutputLine])
        # What was shown in the end came with the goodbye.
        return lines or [line for line in self._left if line.number > after]

    async def tap(self, edge: str, keep: int = 100) -> list[dict[str, Any]]:
        """Return the last events of an edge since it was first asked for, oldest first."""
        return list(await self._call("tap", edge=edge, keep=keep) or [])

    async def tune(self, node: str, **changes: Any) -> Tuning:
        """Give a node other policy members from now on; see `Session.tune`."""
        answer = await self._call("tune", node=node, changes=changes)
        if answer is None:
            raise self._gone()
        return self._as(answer, Tuning)

    async def drain(self) -> None:
        """Let what is inside come out, then end."""
        await self._call("drain")

    async def stop(self) -> None:
        """Cancel everything now."""
        await self._call("stop")

    async def queue(self, place: str, most: int = 100) -> list[dict[str, Any]]:
        """Return copies of what waits at a node, or of it what came over one edge."""
        return list(await self._call("queue", place=place, most=most) or [])

    async def trace(
        self, source: str, sequence: int | None = None, conversation: str | None = None
    ) -> int:
        """Follow one event of a source from now on; `traced` tells how far it has come."""
        answer = await self._call(
            "trace", source=source, sequence=sequence, conversation=conversation
        )
        if answer is None:
            raise self._gone()
        return int(answer)

    async def traced(self, trace: int) -> list[dict[str, Any]]:
        """Return each stay of a traced event at a node."""
        return list(await self._call("traced", trace=trace) or [])

    async def end_trace(self, trace: int) -> None:
        """Follow an event no longer."""
        await self._call("end_trace", trace=trace)

    async def set_breakpoint(self, edge: str, is_set: bool = True) -> None:
        """Hold the node behind an edge when an event comes; gone when this client goes."""
        await self._call("set_breakpoint", edge=edge, is_set=is_set)

    async def step(self, edge: str) -> bool:
        """Let the node behind a breakpoint begin one event; False where none waits."""
        return bool(await self._call("step", edge=edge))

    async def resume(self, edge: str) -> bool:
        """Take a breakpoint away and let its node go on; False where there is none."""
        return bool(await self._call("resume", edge=edge))

    async def inject(
        self, edge: str, payload: str | Mapping[str, Any], conversation: str | None = None
    ) -> None:
        """Put an event into an edge: a text, or a mapping with its `type`."""
        await self._call("inject", edge=edge, payload=payload, conversation=conversation)

    async def cancel(self, conversation: str, turn: int | None = None) -> bool:
        """Cancel one turn of a conversation, or all of it; False where it had ended already."""
        return bool(await self._call("cancel", conversation=conversation, turn=turn))

    async def _start(self) -> Self:
        token = tokens.find_token(self._port) if self._token is None else self._token
        try:
            async with asyncio.timeout(PATIENCE_S):
                self._reader, self._writer = await asyncio.open_connection(
                    self._host, self._port, limit=MOST_ANSWER
                )
                self._writer.write(encode({"aiflow": VERSION, "token": token}))
                line = await read_line(self._reader)
        except (OSError, TimeoutError) as error:
            await self.close()
            raise RemoteError(
                f"no run can be reached at {self.address}: {reason_of(error)};"
                " is it still running, and is the address right?"
            ) from error
        except BaseException:
            await self.close()
            raise
        if line is None:
            await self.close()
            raise RemoteError(
                f"the run at {self.address} refuses: the token is another, or it is no run;"
                f" set {tokens.VARIABLE} to the token that the run has told"
            )
        try:
            self.graph = self._welcome(self._read(line))
        except RemoteError:
            await self.close()
            raise
        return self

    def _welcome(self, hello: Mapping[str, Any]) -> str:
        """Return the name of the graph from a server's first line.

        Raises:
            RemoteError: it does not let this client in, or is not understood here.
        """
        if hello.get("error"):
            raise RemoteError(f"the run at {self.address} refuses: {hello['error']}")
        if hello.get("aiflow") != VERSION:
            raise self._strange()
        return str(hello.get("graph", ""))

    async def _call(self, call: str, **arguments: Any) -> Any:  # noqa: ANN401 - plain values
        """Return the answer, None where the run said goodbye instead.

        Raises:
            RemoteError: the run refuses, or has gone without a word.
        """
        async with self._turn:
            if self._has_parted:
                raise self._gone()
            if self._writer is None or self._reader is None:
                raise RemoteError("there is no connection to a run any more")
            request = {"id": self._asked + 1, "call": call, "arguments": arguments}
            line = fitting(request, MOST_REQUEST, "the request")
            self._asked += 1
            try:
                async with asyncio.timeout(PATIENCE_S):
                    self._writer.write(line)
                    await self._writer.drain()
                    message = self._read(await read_line(self._reader))
            except TimeoutError as error:
                await self.close()
                raise RemoteError(
                    f"the run at {self.address} has not answered for {PATIENCE_S:g} s;"
                    " something may block its loop"
                ) from error
            except OSError as error:
                await self.close()
                raise self._lost() from error
            except BaseException:
                # Asked and not read: the next answer would be this one's.
                await self.close()
                raise
        if "bye" in message:
            self._part(message["bye"])
            return None
        if message.get("error"):
            raise RemoteError(str(message["error"]))
        return message.get("result")

    def _read(self, line: bytes | None) -> Mapping[str, Any]:
        if line is None:
            raise self._lost()
        try:
            return decode(line, dict[str, Any])
        except msgspec.MsgspecError as error:
            raise self._strange() from error

    def _as(self, answer: Any, kind: type[T]) -> T:  # noqa: ANN401 - plain values
        try:
            return msgspec.convert(answer, kind)
        except msgspec.ValidationError as error:
            raise self._strange() from error

    def _part(self, goodbye: Any) -> None:  # noqa: ANN401 - plain values
        said = self._as(goodbye, Goodbye)
        self._has_parted = True
        self.last, self._left = said.snapshot, said.outputs

    def _strange(self) -> RemoteError:
        return RemoteError(f"{self.address} does not speak as a run does")

    def _lost(self) -> RemoteError:
        return RemoteError(
            f"the run at {self.address} has gone without a word; has it been killed?"
        )

    def _gone(self) -> RemoteError:
        return RemoteError(f"the run at {self.address} has ended")


def connect(address: str, token: str | None = None) -> Client:
    """Connect to a session that `serve` serves.

    ```python
    async with aiflow.remote.connect("127.0.0.1:4711") as run:
        print((await run.snapshot()).in_flight)
        await run.tune("speech", queue_capacity=4)
    ```

    Args:
        address: `host:port` or `port`.
        token: what the run asks for; None takes `AIFLOW_TOKEN`, or the file that a run on this
            machine keeps it in.

    Raises:
        RemoteError: the address is none, or no token can be found.
    """
    return Client(address, token)
