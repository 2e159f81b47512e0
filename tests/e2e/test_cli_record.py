"""`aiflow record` against a model's server on this machine, over real sockets."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from aiflow.transport.trace import Trace
from tests.e2e.conftest import Called

SECRET = "very-secret-value"
TEXT = b'{"message": {"content": "x"}, "done": false}\n'
DONE = b'{"message": {"content": "y"}, "done": true, "done_reason": "stop"}\n'


class ModelServer:
    """A server that answers each request with the same pieces.

    Attributes:
        pieces: what it sends.
        holds: it then neither sends nor closes until it is stopped.
        cuts: it then ends the connection without ending the body.
        status: of the answer.
        requests: path, headers and body of each.
    """

    def __init__(self) -> None:
        self.pieces: Sequence[bytes] = (TEXT, DONE)
        self.holds = self.cuts = False
        self.status = 200
        self.requests: list[tuple[str, dict[str, str], dict[str, object]]] = []
        self._is_over = threading.Event()
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                owner.answer(self)

            def log_message(self, format: str, *args: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    @property
    def url(self) -> str:
        """The server's address."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        """Answer one request."""
        body = json.loads(handler.rfile.read(int(handler.headers["content-length"])))
        self.requests.append((handler.path, dict(handler.headers), body))
        handler.close_connection = True
        handler.send_response(self.status)
        handler.send_header("content-type", "application/x-ndjson")
        length = sum(map(len, self.pieces)) + (10 if self.cuts or self.holds else 0)
        handler.send_header("content-length", str(length))
        handler.end_headers()
        for piece in self.pieces:
            handler.wfile.write(piece)
        if self.holds:
            self._is_over.wait(60)

    def stop(self) -> None:
        """End all answers and the server."""
        self._is_over.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """Run a server for one test."""
    server = ModelServer()
    try:
        yield server
    finally:
        server.stop()


def arguments(server: ModelServer, path: Path, *more: str) -> list[str]:
    """Return the command line that records this server's answer."""
    asked = ["--provider", server.url, "--dialect", "ollama", "--model", "m1", "--prompt", "tides?"]
    return ["record", *asked, "-o", str(path), *more]


def data_of(path: Path) -> bytes:
    """Return all bytes of a trace."""
    return b"".join(piece.data for piece in Trace.open(path).pieces())


def test_an_answer_is_shown_and_kept_without_the_key(
    aiflow, server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Events on stdout, bytes in the trace; the key is in the request and nowhere else."""
    monkeypatch.setenv("POND_KEY", SECRET)
    path = tmp_path / "a.trace"

    called = aiflow(
        *arguments(server, path, "--credential", "POND_KEY"),
        *("--system", "Be brief.", "--max-tokens", "9", "--effort", "low"),
    )

    events = [json.loads(line) for line in called.out.splitlines()]
    assert called.code == 0
    assert [event["text"] for event in events if event["type"] == "token"] == ["x", "y"]
    assert all(event["at"] >= 0 for event in events)
    asked_at, headers, body = server.requests[0]
    assert asked_at == "/api/chat"
    assert headers["authorization"] == f"Bearer {SECRET}"
    assert (body["options"], body["think"]) == ({"num_predict": 9}, True)
    assert (data_of(path), Trace.open(path).check()) == (TEXT + DONE, "closed")
    written = path.read_text("utf-8") + called.out + called.err
    assert SECRET not in written
    assert "authorization" not in written.lower()
    assert "tides?" not in path.read_text("utf-8")


def test_what_was_recorded_can_be_replayed(aiflow, server: ModelServer, tmp_path: Path) -> None:
    """The same events come out of the trace."""
    path = tmp_path / "a.trace"
    recorded = aiflow(*arguments(server, path))

    replayed = aiflow("replay", path, "--speed", "0")

    kinds = [
        [(event["type"], event.get("text")) for event in map(json.loads, called.out.splitlines())]
        for called in (recorded, replayed)
    ]
    assert kinds[0] == kinds[1]


def test_a_server_that_dies_in_the_middle_leaves_what_it_sent(
    aiflow, server: ModelServer, tmp_path: Path
) -> None:
    """The command fails and says so; the trace is whole."""
    server.pieces, server.cuts = (TEXT,), True
    path = tmp_path / "a.trace"

    called = aiflow(*arguments(server, path))

    assert called.code == 1
    assert "broke off in mid-stream" in called.err
    assert f"what came before that is kept in {path}" in called.err
    assert (data_of(path), Trace.open(path).check()) == (TEXT, "broken")


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGKILL, -9), (signal.SIGTERM, -15), (signal.SIGINT, 130)]
)
def test_a_recording_that_is_ended_in_the_middle_is_readable(
    aiflow, aiflow_process, server: ModelServer, tmp_path: Path, number: signal.Signals, code: int
) -> None:
    """However it is ended: what came is there, and it replays."""
    server.pieces, server.holds = (TEXT,), True
    path = tmp_path / "a.trace"

    with aiflow_process(*arguments(server, path)) as process:
        # The trace has the bytes before anybody sees the event.
        while b'"token"' not in process.stdout.readline():
            pass
        process.send_signal(number)
        process.communicate(timeout=20)

    assert process.returncode == code
    assert (data_of(path), Trace.open(path).check()) == (TEXT, "broken")
    assert '"text": "x"' in aiflow("replay", path, "--speed", "0").out


def test_a_refusal_writes_nothing(aiflow, server: ModelServer, tmp_path: Path) -> None:
    """There was no answer."""
    server.status, server.pieces = 404, (b"no such model",)
    path = tmp_path / "a.trace"

    called = aiflow(*arguments(server, path))

    assert called.code == 1
    assert "404 (Not Found): no such model" in called.err
    assert not path.exists()


@pytest.mark.parametrize(
    ("more", "code", "reason"),
    [
        (["--provider", "opnai"], 2, "no provider 'opnai'; did you mean openai?"),
        (["--dialect", "x"], 2, "there is no dialect 'x'"),
        (["--credential", "sk-1 2"], 2, "--credential is no name of an environment variable"),
        (["--max-tokens", "0"], 2, "--max-tokens is 0; it must be 1 or more"),
        (["--provider", "http://u:pw@h"], 1, "the endpoint holds a password"),
        (["--provider", "groq"], 1, "the environment variable GROQ_API_KEY is not set"),
        (["-o", "gone/a.trace"], 2, "there is no such folder"),
        (["-o", "."], 2, ". is a folder; name a file in it"),
        (["-o", "graph.json"], 2, "graph.json is not replaced: it is no trace"),
    ],
)
def test_what_cannot_be_recorded_is_told_before_anything_is_asked(
    aiflow,
    server: ModelServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    more: list[str],
    code: int,
    reason: str,
) -> None:
    """In one line, without what may be a key."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GROQ_API_KEY", raising=False)
    (tmp_path / "graph.json").write_text('{"format": "aiflow"}', encoding="utf-8")

    called = aiflow(*arguments(server, tmp_path / "a.trace"), *more)

    assert (called.code, called.out) == (code, "")
    assert reason in called.err
    assert len(called.err.splitlines()) == 1
    assert "pw" not in called.err.replace("password", "")
    assert "sk-1" not in called.err
    assert server.requests == []


def test_a_whole_run_is_recorded_into_a_folder(
    aiflow: Callable[..., Called], server: ModelServer, tmp_path: Path
) -> None:
    """Each answer by node and conversation; what is no folder is refused before anything runs."""
    graph = {
        "format": "aiflow",
        "version": "1.0",
        "resources": [
            {
                "id": "pond",
                "kind": "provider",
                "params": {"endpoint": server.url, "dialect": "ollama"},
            }
        ],
        "nodes": [
            {
                "id": "model",
                "operator": "chat",
                "params": {"conversations": 2},
                "resources": {"provider": "pond"},
            },
            {"id": "screen", "operator": "screen"},
        ],
        "edges": [{"from": "model.out", "to": "screen.in"}],
    }
    path = tmp_path / "asks.aiflow.json"
    path.write_text(json.dumps(graph), encoding="utf-8")

    ran = aiflow("run", path, "--record", tmp_path / "kept")
    refused = [aiflow("run", path, "--record", wrong) for wrong in (path, "")]

    assert ran.code == 0
    assert f"recorded 2 answers in {tmp_path / 'kept'}" in ran.err
    assert "recorded" not in ran.out
    for name in ("model-c1.trace", "model-c2.trace"):
        pieces = Trace.open(tmp_path / "kept" / name).pieces()
        assert b"".join(piece.data for piece in pieces) == TEXT + DONE
    assert [each.code for each in refused] == [2, 2]
    assert all("there no folder can be made" in each.err for each in refused)
    assert len(server.requests) == 2
