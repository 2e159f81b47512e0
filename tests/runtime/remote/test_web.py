"""The documented web handler that is served to other processes, run as the README prints it."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

import aiflow.remote
from tests.runtime.embedding.test_web import ROOT, Provider, served, write_graph
from tests.runtime.remote.served import TOKEN


def documented_app(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Any:
    """Run the two examples of the README one after the other, and return the app they make."""
    readme = (ROOT / "runtime" / "README.md").read_text(encoding="utf-8")
    examples = re.findall(r"```python\n([^`]*(?:fastapi|remote\.serve)[^`]*)```", readme)
    assert len(examples) == 2
    monkeypatch.chdir(folder)
    names: dict[str, Any] = {"__name__": "example"}
    for example in examples:
        exec(compile(example, "README.md", "exec"), names)
    return names["app"]


async def scene(
    monkeypatch: pytest.MonkeyPatch, folder: Path, printed: pytest.CaptureFixture[str]
) -> str:
    """Ask the handler, attach to its run, tune it, walk away, and return what it printed."""
    provider = Provider()
    async with await asyncio.start_server(provider.serve, "127.0.0.1", 0) as model:
        write_graph(folder, model.sockets[0].getsockname()[1])
        async with served(documented_app(monkeypatch, folder)) as port, asyncio.timeout(30):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"GET /watched?prompt=Why HTTP/1.1\r\nhost: localhost\r\n\r\n")
            await reader.readuntil(b"word")
            told = printed.readouterr().out
            (address,) = re.findall(r"aiflow attach (\S+)", told)
            async with aiflow.remote.connect(address, TOKEN) as run:
                assert (await run.snapshot()).phase == "running"
                tuning = await run.tune("screen", queue_capacity=2)
                assert tuning.changes == {"queue_capacity": (8, 2)}
                writer.close()
                await provider.was_closed.wait()
                # The block that serves is left before the one that runs.
                while run.is_open:
                    await run.snapshot()
    return told + printed.readouterr().out


def test_the_run_of_one_request_is_tuned_from_outside(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The documented handler serves its run for as long as its client reads."""
    monkeypatch.setenv("AIFLOW_TOKEN", TOKEN)

    printed = asyncio.run(scene(monkeypatch, tmp_path, capsys))

    assert TOKEN not in printed
