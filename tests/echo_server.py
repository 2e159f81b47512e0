"""A model's server that sends the key it was given back, in every way that servers do."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import quote

Head = tuple[int, str, dict[str, str]]
_EVENTS: Head = (200, "text/event-stream", {})
_STOP = 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'


def _token(text: str) -> str:
    return f"data: {json.dumps({'choices': [{'index': 0, 'delta': {'content': text}}]})}\n\n"


def _forms(key: str) -> str:
    return f"{key} {quote(key, safe='')} {base64.b64encode(key.encode()).decode()}"


def _answered(key: str) -> tuple[Head, str]:
    return _EVENTS, f": {_forms(key)}\n\n{_token('Your key is ')}{_token(_forms(key))}{_STOP}"


def _refused(key: str) -> tuple[Head, str]:
    body = json.dumps({"error": {"message": f"bad key {_forms(key)}", "code": key}})
    return (401, "application/json", {"x-key": key}), body


def _in_stream(key: str) -> tuple[Head, str]:
    error = json.dumps({"error": {"message": f"bad {_forms(key)}", "code": key, "type": key}})
    return _EVENTS, f"{_token('a')}data: {error}\n\n"


def _torn(key: str) -> tuple[Head, str]:
    return _EVENTS, f"{_token('a')}data: {{torn {_forms(key)}\n\n{_token('b')}"


def _page(key: str) -> tuple[Head, str]:
    return (200, f"text/html; k={key}", {}), f"<title>{_forms(key)}</title>"


def _moved(key: str) -> tuple[Head, str]:
    return (307, "text/plain", {"location": f"http://elsewhere.example/{key}?k={key}"}), key


#: Kind of answer -> what it is, by the first part of the path.
ANSWERS: dict[str, Callable[[str], tuple[Head, str]]] = {
    "answered": _answered,
    "refused": _refused,
    "in-stream": _in_stream,
    "torn": _torn,
    "page": _page,
    "moved": _moved,
}


class _Handler(BaseHTTPRequestHandler):
    asked: list[str]

    def do_POST(self) -> None:
        """Answer as the path says; the first time busy, to be asked again."""
        self.rfile.read(int(self.headers["content-length"]))
        key = self.headers["authorization"].removeprefix("Bearer ")
        kind = self.path.split("/")[1]
        self.asked.append(key)
        (status, content_type, more), body = ANSWERS[kind](key)
        if len(self.asked) == 1:
            status, content_type, body = 429, "text/plain", f"busy, {_forms(key)}"
            more = {"retry-after": "0"}
        data = body.encode()
        self.send_response(status)
        for name, value in (more | {"content-type": content_type}).items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextmanager
def echoing() -> Iterator[tuple[str, list[str]]]:
    """Serve on this machine; give the address, and the keys that came, in order."""
    asked: list[str] = []
    handler = type("Handler", (_Handler,), {"asked": asked})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    # Closing waits for every answer under way, so that no socket outlives a test.
    server.daemon_threads = False
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
