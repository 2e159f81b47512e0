"""`ChildHost`: a run in a process of its own, which is `aiflow run --serve`.

The process is handed the graph on its standard input and a token in its environment. It stops
when the studio goes, however that goes; where it dies itself, the studio says so and stays.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Sequence

from PySide6.QtCore import QProcess, QProcessEnvironment

from aiflow.errors import EngineError, RemoteError
from aiflow.operators.registry import Catalog
from aiflow.remote import connect
from aiflow.remote.addresses import announced
from aiflow.remote.tokens import VARIABLE, new_token
from aiflow_studio.runs.embedded import asks_a_server, plan_of
from aiflow_studio.runs.host import RunRequest
from aiflow_studio.runs.program import aiflow_command
from aiflow_studio.runs.remote import RemoteHost

#: Seconds that the process gets to end by itself, before it is killed.
PATIENCE_S = 2.0
_KEPT_LINES = 20
_MOST_LETTERS = 500


class ChildHost(RemoteHost):
    """Runs one process at a time.

    Args:
        catalog: operators and resources there are.
        operators: files that hold those of them that are not installed; the child reads them too.
    """

    def __init__(self, catalog: Catalog, operators: Sequence[str] = ()) -> None:
        super().__init__()
        self._catalog = catalog
        # The process starts in the folder of its graph.
        self._operators = tuple(os.path.abspath(file) for file in operators)
        self._process: QProcess | None = None
        self._token = ""
        self._said: deque[str] = deque(maxlen=_KEPT_LINES)
        self._ended: asyncio.Future[None] | None = None

    @property
    def is_active(self) -> bool:
        """Whether the process is there."""
        return super().is_active or (self._ended is not None and not self._ended.done())

    @property
    def process_id(self) -> int | None:
        """Number of the process, None where there is none."""
        process = self._process
        return None if process is None or not self.is_active else int(process.processId()) or None

    def start(self, request: RunRequest) -> None:
        """Start a process that runs the request's graph.

        Raises:
            GraphFileError: the text is no graph.
            CompileError: the graph has errors.
            EngineError: a run is going on, or the request needs this process.
        """
        if self.is_active:
            raise EngineError("a run is going on; stop it before another is started")
        if request.inputs:
            raise EngineError("texts for single conversations need a run in this window")
        plan = plan_of(request, self._catalog)
        arguments = [
            *("run", "-", "--json", "--serve", "127.0.0.1:0", "--stop-when-left"),
            *("--strategy", request.strategy, "--seed", str(request.seed)),
            *(word for file in self._operators for word in ("--operators", file)),
        ]
        # What asks a server asks once: going on until somebody stops it may cost money.
        if request.repeats and not asks_a_server(plan):
            arguments.append("--repeat")
        if request.record_to:
            arguments += ["--record", request.record_to]
        self._snapshot, self._error, self._task = None, None, None
        self._said.clear()
        self._token = new_token()
        self._ended = asyncio.get_running_loop().create_future()
        self._process = self._begin_process(arguments, request)

    def drain(self) -> None:
        """Let what is inside come out, then end; before it has begun there is nothing inside."""
        if self._client is None:
            self.stop()
        super().drain()

    def stop(self) -> None:
        """Cancel everything now."""
        if self._client is None and self._process is not None and self._task is None:
            self._process.kill()
        super().stop()

    async def kill(self) -> None:
        """End the process, and return when it is gone."""
        # It stops by itself when nobody is attached.
        await super().kill()
        process, ended = self._process, self._ended
        if process is None or ended is None or ended.done():
            return
        if self._task is None:
            process.kill()
        await asyncio.wait({ended}, timeout=PATIENCE_S)
        if not ended.done():
            process.kill()
            await asyncio.wait({ended}, timeout=PATIENCE_S)

    def _begin_process(self, arguments: list[str], request: RunRequest) -> QProcess:
        process = QProcess()
        environment = QProcessEnvironment.systemEnvironment()
        environment.insert(VARIABLE, self._token)
        process.setProcessEnvironment(environment)
        process.setWorkingDirectory(request.base or os.getcwd())
        # Its report would be what the studio has read already.
        process.setStandardOutputFile(QProcess.nullDevice())
        process.setReadChannel(QProcess.ProcessChannel.StandardError)
        process.readyReadStandardError.connect(self._hear)
        process.finished.connect(self._on_finished)
        process.errorOccurred.connect(self._on_error)
        program, *first = aiflow_command()
        process.start(program, [*first, *arguments])
        process.write(request.graph.encode())
        process.closeWriteChannel()
        return process

    def _hear(self) -> None:
        """Read what the process says: first of all where it serves."""
        process = self._process
        while process is not None and process.canReadLine():
            self._take_line(bytes(process.readLine().data()).decode(errors="replace"))

    def _take_line(self, line: str) -> None:
        self._said.append(line.strip())
        address = announced(line)
        if address is not None and self._task is None:
            self._follow(connect(address, self._token))

    def _on_error(self, error: QProcess.ProcessError) -> None:
        if error is QProcess.ProcessError.FailedToStart:
            self._error = "The process of the run cannot be started"
            self._settle()

    def _on_finished(self) -> None:
        self._hear()
        if self._task is None and self._error is None:
            self._error = self._last_words()
        self._settle()

    def _settle(self) -> None:
        if self._ended is not None and not self._ended.done():
            self._ended.set_result(None)

    async def _why(self, error: RemoteError) -> str:
        # The line breaks before the process is known to be gone.
        if self._ended is not None:
            await asyncio.wait({self._ended}, timeout=PATIENCE_S)
            if self._ended.done():
                return self._last_words()
        return await super()._why(error)

    def _last_words(self) -> str:
        """Return how the process has ended that should not have."""
        process = self._process
        if process is None:
            return "The process of the run is gone"
        complaints = [line for line in self._said if line.startswith("aiflow: ")]
        if process.exitStatus() is QProcess.ExitStatus.CrashExit:
            how = f"was killed (signal {process.exitCode()})"
        else:
            how = f"ended by itself (exit code {process.exitCode()})"
        last = complaints[-1].removeprefix("aiflow: ")[:_MOST_LETTERS] if complaints else ""
        said = f": {last}" if last and announced(last) is None else ""
        return f"The process of the run {how}{said}"
