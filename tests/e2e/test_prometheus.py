"""`aiflow run --prometheus`, in a process of its own."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from urllib.request import ProxyHandler, build_opener

import pytest

from aiflow.cli import main
from aiflow.graph.shipped import graphs_dir

SPEECH = graphs_dir() / "examples" / "slow-speech.aiflow.json"


def test_a_run_tells_prometheus_its_numbers(
    aiflow_process: Callable[..., subprocess.Popen[bytes]],
) -> None:
    """The address is told on stderr, and every node is there."""
    process = aiflow_process("run", SPEECH, "--json", "--repeat", "--prometheus", "127.0.0.1:0")
    try:
        assert process.stderr is not None
        url = process.stderr.readline().decode().split()[-1]
        # Loopback is asked directly, whatever proxy is set.
        with build_opener(ProxyHandler({})).open(url, timeout=30) as response:
            text = response.read().decode()
    finally:
        process.kill()
        process.communicate()

    assert url.endswith("/metrics")
    for node in ("model", "router", "chunks", "speech", "log", "screen"):
        assert f'aiflow_node_received_total{{node="{node}"}}' in text


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--clock", "virtual", "--prometheus", "0"), "--prometheus takes the real clock"),
        (("--prometheus", "0.0.0.0:0"), "(--serve-anywhere)"),
        (("--prometheus", "here"), "'here' is no address"),
    ],
)
def test_where_no_metrics_can_be_read_is_a_wrong_command_line(
    options: tuple[str, ...], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing runs."""
    assert main(["run", str(SPEECH), *options]) == 2
    assert reason in capsys.readouterr().err
