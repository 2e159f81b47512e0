"""No key in any file: whole runs are made with one, and all that they wrote is searched for it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from aiflow.transport.masking import forms_of
from tests.e2e.conftest import Called
from tests.echo_server import ANSWERS, echoing
from tests.keyrings import MemoryKeyring, memory_keyring

__all__ = ["memory_keyring"]

NAME = "AIFLOW_TEST_KEY"
KEY = "sk-pond/0123+456789=abcdef"

Call = Callable[..., Called]


def graph_for(folder: Path, url: str, kind: str) -> Path:
    """Write a graph that asks for such an answer and keeps it in every way there is."""
    sinks: dict[str, dict[str, object]] = {
        "screen": {"operator": "screen"},
        "jsonl": {"operator": "jsonl", "params": {"path": f"{kind}.jsonl"}},
        "sqlite-log": {"operator": "sqlite-log", "params": {"path": f"{kind}.sqlite"}},
    }
    nodes = [
        {"id": "model", "operator": "chat", "resources": {"provider": "pond"}},
        *({"id": id, **entry} for id, entry in sinks.items()),
        {"id": "control", "operator": "jsonl", "params": {"path": f"{kind}-control.jsonl"}},
    ]
    graph = {
        "format": "aiflow",
        "version": "1.0",
        "resources": [
            {
                "id": "pond",
                "kind": "provider",
                "params": {"endpoint": f"{url}/{kind}", "credential": NAME, "retries": 1},
            }
        ],
        "nodes": nodes,
        "edges": [
            *({"from": "model.out", "to": f"{sink}.in"} for sink in sinks),
            {"from": "model.control", "to": "control.in"},
        ],
    }
    path = folder / f"{kind}.aiflow.json"
    path.write_text(json.dumps(graph), encoding="utf-8")
    return path


def leaks(folder: Path, *texts: str) -> list[str]:
    """Return where any form of the key stands: files by name, texts by number."""
    forms = [form.encode() for form in forms_of(KEY)]
    files = {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    spoken = {f"text {number}": text.encode() for number, text in enumerate(texts)}
    return [where for where, data in {**files, **spoken}.items() if any(f in data for f in forms)]


@pytest.fixture(params=["the environment", "the keyring"])
def _key(
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    memory_keyring: MemoryKeyring,
) -> None:
    """Put the key where a person would."""
    monkeypatch.delenv(NAME, raising=False)
    if request.param == "the environment":
        monkeypatch.setenv(NAME, KEY)
    else:
        memory_keyring.set_password("aiflow", NAME, KEY)


@pytest.mark.usefixtures("_key")
@pytest.mark.parametrize("kind", ANSWERS)
def test_no_file_of_a_run_and_nothing_it_says_holds_the_key(
    kind: str, aiflow: Call, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Events, metrics, recordings, logs of the graph, JSON, sentences, log lines and tracebacks."""
    caplog.set_level("DEBUG", logger="aiflow")
    with echoing() as (url, asked):
        path = graph_for(tmp_path, url, kind)
        ran = aiflow(
            *("run", path, "--json", "--record", tmp_path / "kept"),
            *("--events", tmp_path / "events.jsonl", "--metrics", tmp_path / "metrics.jsonl"),
        )
        shown = aiflow("run", path, "--debug")
        checked = aiflow("check", path, "--json")
    texts = [each for called in (ran, shown, checked) for each in (called.out, called.err)]
    forms = ("json", "python", "mermaid", "dot", "svg")
    texts += [aiflow("convert", path, "--to", form).out for form in forms]
    for trace in (tmp_path / "kept").glob("*.trace"):
        texts += [
            aiflow("replay", trace).out,
            aiflow("normalize", "--dialect", "openai-chat", trace).out,
        ]

    assert asked[:2] == [KEY, KEY]  # it was sent, refused for now, and sent again
    assert (ran.code == 0) == (kind == "answered")
    assert leaks(tmp_path, caplog.text, *texts) == []
    assert "*****" in "".join(texts) or "[redacted]" in "".join(texts)


@pytest.mark.usefixtures("_key")
def test_no_recording_of_the_command_line_holds_the_key(aiflow: Call, tmp_path: Path) -> None:
    """`aiflow record`, whose answer and whose refusal quote it."""
    with echoing() as (url, asked):
        called = [
            aiflow(
                *("record", "--provider", f"{url}/{kind}", "--credential", NAME, "--model", "m"),
                *("--prompt", "hello", "-o", tmp_path / f"{kind}.trace", "--debug"),
            )
            for kind in ANSWERS
        ]

    assert len(asked) > len(ANSWERS)
    assert (tmp_path / "answered.trace").is_file()
    assert leaks(tmp_path, *(text for each in called for text in (each.out, each.err))) == []


def test_the_search_finds_what_it_looks_for(tmp_path: Path) -> None:
    """Else it would prove nothing."""
    for number, form in enumerate(forms_of(KEY)):
        (tmp_path / f"{number}").write_text(f"x{form}x")

    assert len(leaks(tmp_path, f"said {KEY}")) == len(forms_of(KEY)) + 1
