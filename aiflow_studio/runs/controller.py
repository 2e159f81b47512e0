"""`RunController`: starts and ends runs, and pulls a snapshot 15 times a second.

Nothing is pushed by the engine: a timer asks the host and hands what it says to whoever shows
it. Dialogs and the document stay outside; a run is asked for with a finished `RunRequest`.
"""

from __future__ import annotations

import asyncio

from PySide6.QtCore import QObject, QTimer, Signal

from aiflow.errors import AiFlowError
from aiflow.metrics.snapshot import Phase, Snapshot
from aiflow_studio.runs.history import History
from aiflow_studio.runs.host import RunHost, RunRequest

SAMPLE_MS = 66
#: Phases in which something may still happen.
ACTIVE: frozenset[Phase] = frozenset({"running", "draining"})


class RunController(QObject):
    """One run at a time, as the window sees it.

    ```mermaid
    stateDiagram-v2
        idle --> running: start
        running --> draining: drain
        running --> cancelled: stop
        draining --> completed
        draining --> cancelled: stop
        running --> completed
        running --> failed
        completed --> running: start
        failed --> running: start
        cancelled --> running: start
    ```

    Signals:
        started(RunRequest): a run has begun, or one of somebody else is followed (with an
            empty graph); what was shown of the last one is old.
        phase_changed(str): the phase is another, see the diagram.
        sampled(Snapshot): new numbers.
        shown(list): new `OutputLine`s of sinks, oldest first.
        refused(str): why a run did not start, one sentence.
    """

    started = Signal(RunRequest)
    phase_changed = Signal(str)
    sampled = Signal(Snapshot)
    shown = Signal(list)
    refused = Signal(str)

    def __init__(self, host: RunHost, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._home = self._host = host
        self._request: RunRequest | None = None
        self._phase: Phase = "idle"
        self._snapshot: Snapshot | None = None
        self._seen = 0
        # Ends and restarts come one after the other: each finds what the one before has left.
        self._turn = asyncio.Lock()
        self._restarts_asked = 0
        self._is_closed = False
        self.history = History()
        self._timer = QTimer(self)
        self._timer.setInterval(SAMPLE_MS)
        self._timer.timeout.connect(self.sample)

    @property
    def phase(self) -> Phase:
        """How the run stands; `idle` before the first."""
        return self._phase

    @property
    def is_active(self) -> bool:
        """Whether a run is going on."""
        return self._phase in ACTIVE

    @property
    def host(self) -> RunHost:
        """Who has the run at hand, or had the last one: to be asked about it."""
        return self._host

    @property
    def request(self) -> RunRequest | None:
        """What the run at hand, or the last one, was started with."""
        return self._request

    @property
    def snapshot(self) -> Snapshot | None:
        """The numbers as last seen, also after the end."""
        return self._snapshot

    def start(self, request: RunRequest) -> bool:
        """Start a run, unless one is going on or `close` was called; say whether it began."""
        if self.is_active or self._is_closed:
            return False
        self._host = self._home
        try:
            self._host.start(request)
        except AiFlowError as error:
            self.refused.emit(str(error))
            return False
        self._begin(request)
        return True

    def use(self, host: RunHost) -> None:
        """Let another host have the next run; the one at hand stays where it is."""
        self._home = host

    def follow(self, host: RunHost) -> bool:
        """Show a run that was started elsewhere, unless one is going on; say whether it is."""
        if self.is_active or self._is_closed:
            return False
        self._host = host
        self._begin(None)
        return True

    def amend(self, request: RunRequest) -> None:
        """Take note that what runs is not what it was started with: it has been tuned."""
        if self._request is not None:
            self._request = request

    def drain(self) -> None:
        """Let what is inside come out, then end."""
        if self.is_active:
            self._host.drain()
            self.sample()

    def stop(self) -> None:
        """Cancel the run."""
        if self.is_active:
            self._host.stop()
            self.sample()

    async def end(self) -> None:
        """End the run whatever it does; nothing of it is left afterwards."""
        async with self._turn:
            await self._end()

    async def close(self) -> None:
        """End the run, and let none start any more, not even one that was asked for before."""
        self._is_closed = True
        await self.end()

    async def restart(self, request: RunRequest) -> bool:
        """End what runs and start `request`; say whether it began.

        Of several that are asked for while one run ends, the last is the one that is wanted.
        """
        self._restarts_asked += 1
        mine = self._restarts_asked
        async with self._turn:
            await self._end()
            return mine == self._restarts_asked and self.start(request)

    def _begin(self, request: RunRequest | None) -> None:
        self._request = request
        self._seen = 0
        self._snapshot = None
        self.history.clear()
        self.started.emit(request or RunRequest(graph=""))
        self._set_phase("running")
        self._timer.start()
        self.sample()

    async def _end(self) -> None:
        await self._host.kill()
        if self.is_active:
            self.sample()
        if self.is_active:
            # Invariant: after `kill` nothing runs, whatever the last numbers said.
            self._finish("cancelled")

    def forget(self) -> None:
        """Be as before the first run; nothing may be running."""
        if not self.is_active:
            self._request = self._snapshot = None
            self.history.clear()
            self._set_phase("idle")

    def sample(self) -> None:
        """Pull numbers and text from the host now."""
        snapshot = self._host.snapshot()
        if snapshot is None:
            return
        self._snapshot = snapshot
        if snapshot.phase != "idle":
            # Before its first moment a run has no time of its own yet.
            self.history.add(snapshot)
        lines = self._host.outputs(self._seen)
        if lines:
            self._seen = lines[-1].number
            self.shown.emit(lines)
        self.sampled.emit(snapshot)
        if snapshot.phase in ACTIVE or snapshot.phase == "idle":
            self._set_phase("running" if snapshot.phase == "idle" else snapshot.phase)
        else:
            self._finish(snapshot.phase)

    def _finish(self, phase: Phase) -> None:
        self._timer.stop()
        self._set_phase(phase)

    def _set_phase(self, phase: Phase) -> None:
        if phase != self._phase:
            self._phase = phase
            self.phase_changed.emit(phase)
