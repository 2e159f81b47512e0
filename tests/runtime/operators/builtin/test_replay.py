"""Tests of `aiflow.operators.builtin.replay`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from aiflow.clock import SystemClock
from aiflow.errors import ProviderError, TraceError
from aiflow.operators.builtin.replay import Replay, ReplayParams
from aiflow.operators.scope import Scope
from aiflow.policies import Policy
from aiflow.testing.operators import OperatorRun, run_operator
from aiflow.transport.trace import TraceEnd, TraceWriter

DELTAS = [
    (0.1, {"role": "assistant", "content": ""}),
    (0.2, {"reasoning_content": "hm"}),
    (0.4, {"content": "yes"}),
    (0.8, {"content": "!"}),
]


def record(path: Path, *, end: TraceEnd = "closed", is_finished: bool = True) -> Path:
    """Write a small trace of an OpenAI-like stream."""
    with TraceWriter(path, "openai-chat", "text/event-stream") as trace:
        for at, delta in DELTAS:
            trace.write(at, _event({"choices": [{"index": 0, "delta": delta}]}))
        if is_finished:
            last = {"index": 0, "delta": {}, "finish_reason": "stop"}
            trace.write(1.0, _event({"choices": [last]}) + b"data: [DONE]\n\n")
        trace.close(end)
    return path


def replay(folder: Path, **params: object) -> OperatorRun:
    """Play the trace of a folder."""
    source = Replay(ReplayParams.model_validate({"path": "a.trace", **params}), [folder])
    return run_operator(source)


def test_payloads_come_at_their_recorded_times(tmp_path: Path) -> None:
    """The trace's times are the times of arrival, and its channels are kept."""
    record(tmp_path / "a.trace")

    run = replay(tmp_path)

    texts = [(token.channel, token.text) for token in run.at("out")]
    assert texts == [("reasoning", "hm"), ("answer", "yes"), ("answer", "!")]
    out = [at for (port, _), at in zip(run.outputs, run.times, strict=True) if port == "out"]
    assert out == pytest.approx([0.2, 0.4, 0.8])
    assert run.arrived == run.times
    assert run.marks == pytest.approx({"request_sent": 0.0, "first_delta": 0.2})
    assert run.at("control")[-1].data["reason"] == "stop"


def test_a_speed_shortens_every_pause(tmp_path: Path) -> None:
    """At twice the speed it takes half the time."""
    record(tmp_path / "a.trace")

    assert replay(tmp_path, speed=2).took_s == pytest.approx(0.5)


def test_speed_nought_is_a_plain_iterator(tmp_path: Path) -> None:
    """As fast as it is taken: no time passes, and the engine's fastest path takes it."""
    record(tmp_path / "a.trace")
    source = Replay(ReplayParams(path="a.trace", speed=0), [tmp_path])

    assert isinstance(source.stream(Scope("replay", SystemClock())), Iterator)
    assert len(run_operator(source).at("out")) == 3
    assert run_operator(source).took_s == 0


def test_a_recorded_break_fails_after_what_came(tmp_path: Path) -> None:
    """A stream that once broke off breaks off again, and says so."""
    record(tmp_path / "a.trace", end="broken", is_finished=False)

    with pytest.raises(ProviderError, match="broke off"):
        replay(tmp_path)


def test_a_torn_trace_fails_at_its_line(tmp_path: Path) -> None:
    """The line at fault is named."""
    path = record(tmp_path / "a.trace")
    path.write_bytes(path.read_bytes()[:-30])

    with pytest.raises(TraceError, match="line 6"):
        replay(tmp_path)


@pytest.mark.parametrize(
    ("content", "reason"),
    [(None, "there is no such file"), (b'{"a": 1}\n', "this is no trace")],
)
def test_what_cannot_be_played_is_found_before_the_run(
    tmp_path: Path, content: bytes | None, reason: str
) -> None:
    """The compiler asks, so that a person learns it before pressing run."""
    if content is not None:
        (tmp_path / "a.trace").write_bytes(content)
    source = Replay(ReplayParams(path="a.trace"), [tmp_path])

    (clause,) = source.check(Policy())

    assert reason in clause


def _event(value: object) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"
