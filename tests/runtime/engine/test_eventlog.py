"""The event log and the lines of snapshots."""

from __future__ import annotations

import json

from aiflow.engine.eventlog import header_line, metrics_line
from aiflow.engine.session import Session
from aiflow.events import Token
from aiflow.operators.scope import Scope
from aiflow.testing.plans import PlanBuilder
from aiflow.testing.virtual import run_virtual


def jittery_log(seed: int) -> list[str]:
    """Return the log of a run with jitter and drops."""

    async def jitter(token: Token, scope: Scope) -> Token:
        await scope.sleep(scope.random.random())
        return token

    lines: list[str] = []
    builder = PlanBuilder(2).source("s", [Token(str(n)) for n in range(20)], conversations=3)
    builder.node("n", jitter, workers=3, reorder_capacity=2)
    builder.sink("k", lambda token: None, queue_capacity=1, overflow="drop_oldest")
    plan = builder.chain("s", "n", "k").build()
    run_virtual(Session(plan, seed=seed, log=lines.append).run())
    return lines


def test_the_same_seed_gives_the_same_bytes_and_another_gives_others() -> None:
    """Randomness is keyed by seed, node, conversation and sequence, and by nothing else."""
    assert jittery_log(1) == jittery_log(1)
    assert jittery_log(1) != jittery_log(2)


def test_every_emission_and_settlement_is_one_line_with_its_time() -> None:
    """Who, what, when, and which event."""

    async def take(token: Token, scope: Scope) -> None:
        await scope.sleep(0.5)

    lines: list[str] = []
    plan = PlanBuilder(1).source("s", [Token("a")]).sink("k", take).edge("s", "k").build()

    run_virtual(Session(plan, log=lines.append).run())

    place = {"conversation": "c1", "turn": 0}
    event = {**place, "source": "s", "sequence": 0, "part": 0, "created_at": 0.0}
    payload = {"text": "a", "channel": "answer", "choice": 0}
    assert [json.loads(line) for line in lines] == [
        {"record": "emitted", "at": 0.0, "node": "s", "port": "out", **event,
         "type": "token", "payload": payload},
        {"record": "ended", "at": 0.0, "node": "s", **place, "terminal": "END"},
        {"record": "settled", "at": 0.5, "node": "k", "outcome": "processed", **event},
        {"record": "ended", "at": 0.5, "node": "k", **place, "terminal": "END"},
    ]  # fmt: skip


def test_header_and_snapshots_are_lines_too() -> None:
    """Each line says by `record` what it is."""
    session = Session(PlanBuilder(1).source("s", []).node("k", str).edge("s", "k").build(), seed=7)

    header = json.loads(header_line("g", "aiflow", 7, is_virtual=True))
    metrics = json.loads(metrics_line(session.snapshot()))

    assert (header["record"], header["seed"], header["clock"]) == ("run", 7, "virtual")
    assert metrics["record"] == "metrics"
    assert metrics["nodes"]["k"]["queue_capacity"] == 8
