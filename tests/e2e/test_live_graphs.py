"""Graphs that need something of the machine: sound as files, and run as far as a test can."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import wave
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from aiflow import Flow
from aiflow.compiler.compile import compile as compile_graph
from aiflow.graph.codec import dumps, load
from aiflow.graph.shipped import graphs_dir
from aiflow.operators.registry import Catalog
from tests.runtime.speech.fake_programs import (
    FakeEspeak,
    espeak,
    is_running,
    needs_processes,
    wait_until_gone,
)

__all__ = ["espeak"]

LIVE = sorted((graphs_dir() / "live").glob("*.aiflow.json"))
ids = [path.name.removesuffix(".aiflow.json") for path in LIVE]


@pytest.mark.parametrize("path", LIVE, ids=ids)
def test_a_live_graph_is_whole_and_says_what_it_teaches(path: Path) -> None:
    """Canonical, without error or warning where no clock is asked for; what lacks is a hint."""
    graph = load(path)
    compiled = compile_graph(graph, Catalog.load(), base=path.parent)

    assert dumps(graph) == path.read_text(encoding="utf-8")
    assert [each.message for each in compiled.diagnostics if each.severity != "hint"] == []
    assert set(graph.layout) == set(graph.nodes)
    assert len(graph.description) > 200


@pytest.mark.parametrize("path", LIVE, ids=ids)
def test_the_virtual_clock_is_refused_in_a_sentence(path: Path, aiflow: Callable[..., Any]) -> None:
    """Each needs a socket, a device or a child process."""
    called = aiflow("run", path, "--clock", "virtual", "--json")

    assert called.code == 1
    assert called.json["error"].startswith("AF506: ")


def spoken(folder: Path, name: str = "speech", **voice: Any) -> Path:
    """Return a graph that speaks, with params of its voice."""
    document = json.loads((graphs_dir() / "live" / f"{name}.aiflow.json").read_text("utf-8"))
    document["resources"][1]["params"] = voice
    path = folder / f"{name}.aiflow.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def seconds(path: Path) -> float:
    """Return how much sound a file has, which must be whole."""
    with wave.open(str(path)) as reader:
        return reader.getnframes() / reader.getframerate()


def test_in_silence_it_runs_on_the_virtual_clock_and_keeps_a_wav(
    tmp_path: Path, aiflow: Callable[..., Any]
) -> None:
    """As its description says: playing paces the run, and the queue of speech is full."""
    path = spoken(tmp_path, engine="silent", file="said.wav")

    report = aiflow("run", path, "--clock", "virtual", "--json").json

    assert report["status"] == "completed"
    assert report["nodes"]["speech"]["max_queue"] == 2
    assert report["nodes"]["speech"]["busy"] > 0.9
    assert report["duration_s"] - 2 < seconds(tmp_path / "said.wav") < report["duration_s"]
    assert report["max_in_flight"] <= report["bound"]
    shown = aiflow("run", spoken(tmp_path, engine="silent"), "--clock", "virtual").out
    assert "speech │ (no sound: the engine of voice is silent)\n" in shown


@needs_processes
@pytest.mark.slow
def test_a_real_program_says_the_answer_into_a_file(
    espeak: FakeEspeak, tmp_path: Path, aiflow: Callable[..., Any]
) -> None:
    """Six sentences, each once, in their order."""
    path = spoken(tmp_path, engine="espeak-ng", file="said.wav")

    report = aiflow("run", path, "--json").json

    said = [text for _, text in espeak.asked()]
    assert report["status"] == "completed"
    assert report["nodes"]["speech"]["processed"] == 6
    assert said[1].startswith("Mix five hundred grams")
    assert seconds(tmp_path / "said.wav") == pytest.approx(len("".join(said[1:])) / 1000, abs=0.01)


def test_who_barges_in_cuts_the_voice_and_hears_the_next_answer(
    tmp_path: Path, aiflow: Callable[..., Any]
) -> None:
    """In silence on the virtual clock: five seconds of the first answer, then all of the second."""
    path = spoken(tmp_path, "barge-in", engine="silent", file="said.wav")
    alone = spoken(tmp_path, engine="silent", file="alone.wav")

    called = aiflow("run", path, "--clock", "virtual")
    assert aiflow("run", alone, "--clock", "virtual", "--json").code == 0

    assert "2 turns: 1 cancelled, 1 completed" in called.err
    # The first sentence begins when it has been written, half a second after the question.
    cut_s = seconds(tmp_path / "said.wav") - seconds(tmp_path / "alone.wav")
    assert 3.5 < cut_s < 5
    assert called.out.count("Mix five hundred") == 2
    assert called.out.count("bread has left it") == 1
    drained = aiflow("run", path, "--clock", "virtual", "--policy", "speech.cancel=drain").out
    # What was being said, and the two in the queue.
    assert drained.index("Fold the dough") < drained.rindex("Mix five hundred")
    assert drained.count("bread has left it") == 1


@needs_processes
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("It crashes.", "ended with exit code 3: a wire is loose"),
        ("It is garbage.", "gave something else than a WAV file"),
    ],
)
def test_an_engine_that_breaks_down_fails_the_conversation_in_a_sentence(
    espeak: FakeEspeak, tmp_path: Path, aiflow: Callable[..., Any], text: str, reason: str
) -> None:
    """What was said before is in the file."""
    path = tmp_path / "said.aiflow.json"
    flow = Flow("said", max_conversations=1)
    voice = flow.speech_engine("voice", engine="espeak-ng", file="said.wav")
    flow.text_input("texts", text=f"--help\n😀 …\n{text}\nNever.") >> flow.speech(engine=voice)
    path.write_text(flow.to_json(), encoding="utf-8")

    called = aiflow("run", path, "--json")

    assert called.code == 1
    assert called.json["error"] == (
        "node speech failed in conversation c1: ResourceError: resource voice:"
        f" espeak-ng cannot speak: it {reason}"
    )
    assert [said for _, said in espeak.asked()] == ["Ready.", "--help", text]
    assert seconds(tmp_path / "said.wav") == pytest.approx(0.006)


@needs_processes
@pytest.mark.slow
def test_who_barges_in_ends_the_process_that_makes_the_sentence(
    espeak: FakeEspeak, tmp_path: Path, aiflow_process: Callable[..., Any]
) -> None:
    """It hangs at the first sentence of the first turn; the second turn has another beginning."""
    path = spoken(tmp_path, "barge-in", engine="espeak-ng", file="said.wav", timeout_s=600)
    document = json.loads(path.read_text("utf-8"))
    people, model = document["nodes"][0], document["nodes"][1]
    people["params"]["turns"][0]["text"] = "It hangs here."
    people["params"]["turns"][1]["after_s"] = 1.0
    # No model: the words themselves are said.
    document["nodes"] = [people, *document["nodes"][3:]]
    document["edges"] = [{"from": "people.out", "to": "sentences.in"}, document["edges"][-1]]
    document["layout"].pop(model["id"])
    document["layout"].pop("router")
    path.write_text(json.dumps(document), encoding="utf-8")

    process = aiflow_process("run", path, "--json")
    voice = asyncio.run(espeak.pid())
    out, _ = process.communicate()

    assert not is_running(voice)
    report = json.loads(out)
    assert report["status"] == "completed"
    assert report["nodes"]["speech"]["cancelled"] == 1
    assert [text for _, text in espeak.asked()][2:] == ["Once more, please, and slowly."]


@needs_processes
@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_whoever_ends_the_program_leaves_no_voice_and_a_whole_file(
    espeak: FakeEspeak, tmp_path: Path, aiflow_process: Callable[..., Any], number: signal.Signals
) -> None:
    """While the second sentence is being made, which never ends."""
    program = espeak.folder / "espeak-ng"
    program.write_text(program.read_text().replace('"hangs" in text', '"Stir until" in text'))
    path = spoken(tmp_path, engine="espeak-ng", file="said.wav", timeout_s=600)

    process = aiflow_process("run", path)
    voice = asyncio.run(espeak.pid())
    process.send_signal(number)
    if number is not signal.SIGKILL:
        # The first asks to drain, which this voice never would.
        while b"draining" not in process.stderr.readline():
            pass
        process.send_signal(number)
    process.communicate()

    if number is signal.SIGKILL:
        # Nobody is left to end it. A real one ends by itself when it finds its pipe closed.
        os.kill(voice, signal.SIGKILL)
    wait_until_gone(voice)
    assert seconds(tmp_path / "said.wav") == pytest.approx(0.104, abs=0.002)
