"""A run that keeps the answers of its models: what the files hold, and what never stops it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from aiflow.engine.session import Session
from aiflow.metrics.snapshot import Snapshot
from aiflow.operators.builtin.chat import Chat, ChatParams
from aiflow.providers.recordings import AnswerRecordings
from aiflow.providers.resource import Provider, ProviderParams
from aiflow.testing.plans import PlanBuilder
from aiflow.transport.trace import Trace
from tests.runtime.transport.faulty_server import EVENT, STOP, Answer, Exchange, serving

KEY = "sk-pond-0123456789"


async def _serve(exchange: Exchange) -> None:
    await exchange.head()
    await exchange.chunks(EVENT, b": " + KEY.encode() + b"\n\n", STOP)
    await exchange.end()


async def _break(exchange: Exchange) -> None:
    await exchange.head()
    await exchange.chunks(EVENT)
    exchange.writer.close()


async def _refuse(exchange: Exchange) -> None:
    await exchange.whole("400 Bad Request", b"no", "text/plain")


def recorded(
    folder: Path, *, conversations: int = 1, answer: Answer = _serve
) -> tuple[Snapshot, AnswerRecordings, list[str]]:
    """Run two models on one provider, record, and return what was told too."""
    told: list[str] = []
    recordings = AnswerRecordings(folder, lambda *what: told.append(" ".join(what)))

    async def main() -> Snapshot:
        async with serving(answer) as server:
            params = ProviderParams(endpoint=server.url, credential="POND_KEY", retries=0)
            builder = PlanBuilder(conversations).resource(
                "provider", lambda: Provider("provider", params)
            )
            for name in ("one", "two"):
                chat = Chat(ChatParams(conversations=conversations))
                builder.operator(name, chat).sink(f"k-{name}", str).edge(name, f"k-{name}")
            return await Session(builder.build(), recordings=recordings).run()

    return asyncio.run(main()), recordings, told


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POND_KEY", KEY)


def test_each_request_has_a_file_named_by_node_and_conversation(tmp_path: Path) -> None:
    """Whole, without the key, and told with its place."""
    folder = tmp_path / "made" / "for it"

    snapshot, recordings, told = recorded(folder, conversations=2)

    assert snapshot.phase == "completed"
    names = ["one-c1.trace", "one-c2.trace", "two-c1.trace", "two-c2.trace"]
    assert sorted(path.name for path in recordings.paths) == names
    assert sorted(path.name for path in folder.iterdir()) == names
    for path in recordings.paths:
        trace = Trace.open(path)
        assert trace.check() == "closed"
        body = b"".join(piece.data for piece in trace.pieces())
        assert body == EVENT + b": " + b"*" * len(KEY) + b"\n\n" + STOP
        assert KEY.encode() not in path.read_bytes()
    assert f"one c1 recorded in {folder / 'one-c1.trace'}" in told


def test_a_file_that_is_there_is_never_replaced(tmp_path: Path) -> None:
    """The next run into the same folder counts on."""
    recorded(tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}

    recorded(tmp_path)

    assert {path: path.read_bytes() for path in before} == before
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        *("one-c1-2.trace", "one-c1.trace", "two-c1-2.trace", "two-c1.trace")
    ]


def test_what_broke_is_kept_and_what_was_refused_leaves_no_file(tmp_path: Path) -> None:
    """A broken answer is just what a person wants to look at."""
    _, broken, _ = recorded(tmp_path, answer=_break)
    _, refused, told = recorded(tmp_path, answer=_refuse)

    assert [Trace.open(path).check() for path in broken.paths] == ["broken", "broken"]
    assert (refused.paths, told) == ([], [])
    assert len(list(tmp_path.iterdir())) == 2


def test_a_folder_that_takes_nothing_stops_no_run(tmp_path: Path) -> None:
    """It is told once for each answer, and the answers flow."""
    file = tmp_path / "no folder"
    file.write_text("")

    snapshot, recordings, told = recorded(file)

    assert snapshot.phase == "completed"
    assert [snapshot.nodes[name].emitted > 0 for name in ("one", "two")] == [True, True]
    assert recordings.paths == []
    assert len(recordings.errors) == len(told) == 2
    assert told[0].startswith("one c1 not recorded: ") or told[0].startswith("two c1 not recorded")
    assert "cannot be written" in told[0]


def test_a_conversation_of_any_name_is_a_file_of_the_folder(tmp_path: Path) -> None:
    """Ids come from outside; none leads out of the folder or is too long for a disk."""
    recordings = AnswerRecordings(tmp_path, lambda *_: None)

    for conversation in ("../../etc/passwd", "a\0b", "x" * 500, "", "."):
        recorder = recordings.recorder(("model", conversation), "openai-chat", "")
        recorder.write(0.0, b"x", "")
        recorder.close(0.0, "closed")

    assert len(recordings.paths) == 5
    assert {path.parent for path in recordings.paths} == {tmp_path}
