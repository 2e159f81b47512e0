"""Stands in for the package of that name in the child process: no model, the same behaviour.

What the model's file is called says what goes wrong. The answer to every request is what the
server was started with, as JSON, one event a letter.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

common_grammar_type = SimpleNamespace(COMMON_GRAMMAR_TYPE_USER=1)


class CommonGrammar:
    def __init__(self, kind: int, grammar: str) -> None:
        self.grammar = grammar


class CommonParams(SimpleNamespace):
    def __init__(self) -> None:
        super().__init__(
            model=SimpleNamespace(path=""),
            cpuparams=SimpleNamespace(n_threads=0),
            cpuparams_batch=SimpleNamespace(n_threads=0),
            sampling=SimpleNamespace(grammar=CommonGrammar(0, "")),
            chat_template="",
        )


class Server:
    def __init__(self, params: CommonParams) -> None:
        print("a library that prints")
        _go_wrong(Path(params.model.path).stem)
        seen = {
            "name": list(params.model_alias),
            "hosts": params.hostnames,
            "context": params.n_ctx,
            "parallel": params.n_parallel,
            "threads": [params.cpuparams.n_threads, params.cpuparams_batch.n_threads],
            "template": params.chat_template,
            "grammar": params.sampling.grammar.grammar,
        }
        handler = type("Handler", (_Handler,), {"seen": seen, "key": params.api_keys[0]})
        self._server = ThreadingHTTPServer(("127.0.0.1", params.port), handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def listening_address(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"


class _Handler(BaseHTTPRequestHandler):
    seen: dict[str, Any]
    key: str

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.headers["authorization"] != f"Bearer {self.key}":
            self.send_error(401)
            return
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for letter in json.dumps({**self.seen, "asked": asked}):
            delta = {"choices": [{"index": 0, "delta": {"content": letter}}]}
            self.wfile.write(f"data: {json.dumps(delta)}\n\n".encode())
        end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
        self.wfile.write(f"data: {json.dumps(end)}\n\ndata: [DONE]\n\n".encode())

    def log_message(self, format: str, *args: object) -> None:
        pass


def _go_wrong(name: str) -> None:
    if name == "loads-for-ever":
        time.sleep(3600)
    elif name == "refused":
        raise ValueError("it has no tensors.")
    elif name == "old-processor":
        os.kill(os.getpid(), signal.SIGILL)
    elif name == "broken":
        print("a page of native code\nassertion failed: n > 0\n", file=sys.stderr, flush=True)
        os._exit(3)
