"""`RemoteHost`: a run in another process, followed over `aiflow.remote`.

Numbers and text are read several times a second and kept, because panels ask for them without
waiting. `AttachedHost` follows a run that somebody else has started; `child.ChildHost` one
that the studio starts.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any

from aiflow.engine.outputs import KEPT_LINES, OutputLine
from aiflow.engine.status import ENDED
from aiflow.errors import AiFlowError, EngineError, RemoteError
from aiflow.metrics.snapshot import Phase, Snapshot
from aiflow.remote import Client, connect
from aiflow_studio.runs.asking import Asking
from aiflow_studio.runs.host import RunRequest

#: Seconds between two looks.
LOOK_S = 0.066


class RemoteHost(Asking):
    """What both kinds of runs elsewhere have in common; it starts none itself."""

    def __init__(self) -> None:
        self._client: Client | None = None
        self._task: asyncio.Task[None] | None = None
        self._errands: set[asyncio.Task[Any]] = set()
        self._snapshot: Snapshot | None = None
        self._lines: deque[OutputLine] = deque(maxlen=KEPT_LINES)
        self._taps: dict[str, tuple[int, list[dict[str, Any]]]] = {}
        self._error: str | None = None
        self._phase: Phase = "running"

    @property
    def is_active(self) -> bool:
        """Whether anything of a run is left."""
        return self._task is not None and not self._task.done()

    def drain(self) -> None:
        """Let what is inside come out, then end."""
        self._send("drain")

    def stop(self) -> None:
        """Cancel everything now."""
        self._send("stop")

    async def kill(self) -> None:
        """Look at the run no longer; it goes on without us."""
        tasks = {task for task in (self._task, *self._errands) if task and not task.done()}
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def snapshot(self) -> Snapshot | None:
        """Return the numbers as last read; None before the first."""
        snapshot = self._snapshot
        if self._error is not None and not self.is_active:
            known = snapshot or Snapshot(0.0, 0.0, "failed", "", None, 0, 0, {}, {}, {})
            return replace(known, phase="failed", error=self._error)
        if snapshot is None:
            return None
        if self.is_active and snapshot.phase in ENDED:
            # It is over once nothing of it is left; until then no other can start.
            return replace(snapshot, phase=self._phase)
        self._phase = snapshot.phase
        return snapshot

    def outputs(self, after: int) -> list[OutputLine]:
        """Return what sinks showed since line `after`, as far as it has been read."""
        return [line for line in self._lines if line.number > after]

    def tap(self, edge: str, keep: int) -> list[dict[str, Any]]:
        """Return the last `keep` events of an edge as last read; they come with the next look."""
        _, rows = self._taps.setdefault(edge, (keep, []))
        self._taps[edge] = (keep, rows)
        return rows

    def _follow(self, client: Client) -> None:
        """Begin to follow a run; the client is connected in the task, if it is not yet."""
        self._snapshot, self._error, self._phase = None, None, "running"
        self._lines.clear()
        self._taps.clear()
        self._client = client
        self._task = asyncio.get_running_loop().create_task(self._live(client), name="remote run")

    async def _live(self, client: Client) -> None:
        try:
            if not client.is_open:
                await client
            while await self._look(client):  # noqa: ASYNC110 - the other side tells nothing
                await asyncio.sleep(LOOK_S)
        except RemoteError as error:
            self._error = await self._why(error)
        finally:
            self._client = None
            await client.close()

    async def _look(self, client: Client) -> bool:
        """Read once what there is; return whether there may be more."""
        snapshot = await client.snapshot()
        after = self._lines[-1].number if self._lines else 0
        while lines := await client.outputs(after):
            self._lines.extend(lines)
            after = lines[-1].number
        for edge, (keep, _) in list(self._taps.items()):
            if client.is_open:
                self._taps[edge] = (keep, await client.tap(edge, keep))
        self._snapshot = snapshot
        if snapshot.phase in ENDED:
            return False
        if not client.is_open:
            raise RemoteError("The run is served no longer; how it goes on is not known")
        return True

    async def _why(self, error: RemoteError) -> str:
        """Return why the run can be followed no longer, as a sentence."""
        return str(error)

    async def _ask(self, call: str, **arguments: Any) -> Any:  # noqa: ANN401 - plain values
        if self._client is None or not self._client.is_open:
            raise EngineError("nothing runs, so nothing can be asked of it")
        return await self._client.ask(call, **arguments)

    def _send(self, call: str) -> None:
        """Ask without waiting; a run that has gone needs it no more."""
        if self._client is not None and self._client.is_open:
            self._begin(self._try(call), call)

    async def _try(self, call: str) -> None:
        try:
            await self._ask(call)
        except AiFlowError:
            return

    def _begin(self, work: Coroutine[Any, Any, Any], name: str) -> None:
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._errands.add(task)
        task.add_done_callback(self._errands.discard)


class AttachedHost(RemoteHost):
    """A run that somebody else has started; killing this host leaves it alone.

    Args:
        address: `host:port` or `port`.
        token: what the run asks for; None finds that of a run of this user.
    """

    def __init__(self, address: str, token: str | None) -> None:
        super().__init__()
        self._where = (address, token)
        self.graph = ""

    async def open(self) -> None:
        """Connect, and follow the run from now on.

        Raises:
            RemoteError: the run cannot be reached, or refuses.
        """
        client = await connect(*self._where)
        self.graph = client.graph
        self._follow(client)

    def start(self, request: RunRequest) -> None:
        """Refuse: the run is there already.

        Raises:
            EngineError: always.
        """
        raise EngineError("this run was started elsewhere; leave it before another is started")
