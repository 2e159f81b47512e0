"""The child process: serve one model on a free port of the loopback address.

Run as a file, by `child.ModelServer` alone. It imports nothing of AiFlow, so that it starts at
once. One line of JSON comes in on stdin (`child.Order`), one goes out on stdout: `address`, or
`error`. When stdin ends, the parent is gone or has had enough, and the process ends.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from typing import Any


def main() -> None:
    """Serve until stdin ends."""
    # Ctrl+C goes to the whole process group; when the model stops is for the parent to say.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    order = json.loads(sys.stdin.buffer.readline())
    end_with_the_parent()
    # The window and the graph come first. Windows has no `nice`.
    with contextlib.suppress(AttributeError, OSError):
        os.nice(5)
    # The library may print; the answer's pipe is for the answer.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    try:
        server = serving(order)
    except ImportError as error:
        answer = {
            "error": f"xllamacpp cannot be loaded ({error}); Debian has what it needs in"
            " libgomp1 and libstdc++6"
        }
    except Exception as error:  # noqa: BLE001 - the library has one class for whatever it is
        words = str(error).rstrip(".") or type(error).__name__
        answer = {
            "error": f"the model cannot be loaded ({words}); is its file whole, and is there"
            " memory enough?"
        }
    else:
        answer = {"address": server.listening_address}
    answers.write(json.dumps(answer) + "\n")
    answers.close()
    if "address" in answer:
        sys.stdin.buffer.read()
    # There is nothing to save: without waiting for requests that nobody reads any more.
    os._exit(0 if "address" in answer else 1)


def end_with_the_parent() -> None:
    """Ask the system to end this process when the pipe's other end closes, whatever it does then.

    The read after the start sees the end too. But while the model is being loaded no Python
    runs, and that may take a minute. Elsewhere than on Linux the read has to do.
    """
    if sys.platform == "linux":
        import fcntl  # noqa: PLC0415 - Windows has none
        import select  # noqa: PLC0415 - there it is for sockets only

        stdin = sys.stdin.fileno()
        fcntl.fcntl(stdin, fcntl.F_SETOWN, os.getpid())
        # From now on the pipe raises SIGIO, which ends a process that does not handle it.
        flags = fcntl.fcntl(stdin, fcntl.F_GETFL)
        fcntl.fcntl(stdin, fcntl.F_SETFL, flags | os.O_ASYNC)
        # The other end may have closed before there was anybody to be told.
        if select.select([stdin], [], [], 0)[0]:
            os._exit(0)


def serving(order: dict[str, Any]) -> Any:  # noqa: ANN401 - the package brings no types
    """Return the running server; it serves for as long as it is held."""
    import xllamacpp  # noqa: PLC0415 - only here: a missing library becomes an answer

    params = xllamacpp.CommonParams()
    params.model.path = order["model"]
    # Else it would call itself by its path, which would then stand in every recording.
    params.model_alias = {order["name"]}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.offline = True
    params.ui = False
    params.verbosity = -1
    params.n_parallel = order["parallel"]
    params.n_ctx = order["context_tokens"] * order["parallel"]
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = order["threads"]
    params.api_keys = [order["key"]]
    if order["template"]:
        params.chat_template = order["template"]
    if order["grammar"]:
        by_user = xllamacpp.common_grammar_type.COMMON_GRAMMAR_TYPE_USER
        params.sampling.grammar = xllamacpp.CommonGrammar(by_user, order["grammar"])
    return xllamacpp.Server(params)


if __name__ == "__main__":
    main()
