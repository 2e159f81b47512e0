"""Every shipped graph that is meant to run opens in the studio, from its menu."""

from __future__ import annotations

from pathlib import Path

import pytest

from aiflow.graph.codec import load
from aiflow_studio.app.files import shipped_graphs
from aiflow_studio.app.studio import Studio
from tests.studio.app.conftest import Await

LIVE = shipped_graphs("live")


def test_the_menu_lists_examples_and_live_graphs(studio: Studio) -> None:
    """The live ones come last and say that they are."""
    entries = [each.text() for each in studio.book.submenus["examples"].actions() if each.text()]

    assert "slow-speech" in entries
    assert entries[-len(LIVE) :] == [f"{path.name.split('.')[0]} (live)" for path in LIVE]


@pytest.mark.parametrize("path", LIVE, ids=lambda path: path.name.split(".")[0])
def test_a_live_graph_opens(studio: Studio, wait_for: Await, path: Path) -> None:
    """All nodes are drawn, and there is no error, whatever this machine lacks."""
    wait_for(studio.commands.open_path(path, as_copy=True))

    assert studio.document.graph == load(path)
    assert set(studio.canvas.shown_nodes()) == set(studio.document.graph.nodes)
    assert studio.linter.check_now().plan is not None
