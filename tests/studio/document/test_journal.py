"""What a journal holds, who may read it, and whose work is offered to whom."""

from __future__ import annotations

import logging
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aiflow.graph import codec, edits
from aiflow.graph.model import Graph
from aiflow_studio.document.journal import Journal, Orphan, Work, file_state

KEY = "sk-proj-abcdefghijklmnop0123456789"


def a_graph(*operators: str) -> Graph:
    """Return a graph with one node of each operator."""
    graph = Graph(name="work")
    for operator in operators:
        graph = edits.add_node(graph, operator)
    return graph


def left_behind(folder: Path, graph: Graph, path: Path | None = None) -> None:
    """Keep work as a studio does that then ends without being closed."""
    journal = Journal(folder)
    journal.keep(graph, path, file_state(path) if path is not None else None)
    journal.release()


def offered(folder: Path) -> list[Work]:
    """Return what a new studio would offer, and leave it there."""
    found = []
    for orphan in Journal(folder).orphans():
        found.append(orphan.work)
        orphan.release()
    return found


def test_work_comes_back_as_it_was(tmp_path: Path) -> None:
    """Graph, file, and how the file was when it was seen."""
    path = tmp_path / "gráf 文.aiflow.json"
    codec.save(path, a_graph("counter"))
    graph = a_graph("counter", "delay")

    left_behind(tmp_path / "journals", graph, path)

    (work,) = offered(tmp_path / "journals")
    assert (work.graph, work.path, work.seen) == (graph, path, file_state(path))
    assert codec.load(path) == a_graph("counter")


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX")
def test_nobody_else_may_read_a_journal(tmp_path: Path) -> None:
    """File 0600, folder 0700, and no draft beside it."""
    folder = tmp_path / "state" / "journals"

    left_behind(folder, a_graph("counter"))

    (file,) = folder.glob("*.json")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert [each.name for each in folder.iterdir()] == [file.name]


def test_a_running_studio_is_not_asked_about(tmp_path: Path) -> None:
    """Its journal is nobody else's, and not its own to restore."""
    journal = Journal(tmp_path)
    journal.keep(a_graph("counter"), None, None)

    assert offered(tmp_path) == []
    assert list(journal.orphans()) == []
    journal.release()


def test_two_starts_at_once_do_not_offer_the_same_work(tmp_path: Path) -> None:
    """Who asks first holds it until it is settled."""
    left_behind(tmp_path, a_graph("counter"))
    asking = Journal(tmp_path).orphans()
    orphan = next(asking)

    assert offered(tmp_path) == []
    orphan.discard()
    assert list(tmp_path.iterdir()) == []


def test_each_untitled_document_has_its_own(tmp_path: Path) -> None:
    """The newest is offered first, and none has replaced another."""
    for number, operator in enumerate(("counter", "delay", "map")):
        left_behind(tmp_path, a_graph(operator))
        for file in tmp_path.glob("*.json"):
            if operator in file.read_text():
                os.utime(file, (1_000_000 + number, 1_000_000 + number))

    assert [list(work.graph.nodes) for work in offered(tmp_path)] == [
        ["map"],
        ["delay"],
        ["counter"],
    ]


def test_what_is_forgotten_is_not_offered(tmp_path: Path) -> None:
    """A save or an answered question takes the file away, lock and all."""
    journal = Journal(tmp_path)
    journal.keep(a_graph("counter"), None, None)
    journal.forget()
    journal.release()

    assert list(tmp_path.iterdir()) == []


def test_no_key_reaches_a_journal(tmp_path: Path) -> None:
    """What looks like one is masked, and the offer can say what that was."""
    graph = edits.set_params(a_graph("text-input"), "text-input", {"text": KEY})

    left_behind(tmp_path, graph)

    assert KEY not in "".join(file.read_text() for file in tmp_path.iterdir())
    (work,) = offered(tmp_path)
    assert work.masked == ("text of text-input",)
    assert work.graph.nodes["text-input"].params["text"] == "sk-…"


def test_work_that_was_saved_just_before_the_end_is_told(tmp_path: Path) -> None:
    """The file holds all of it, so there is nothing to ask."""
    path = tmp_path / "graph.aiflow.json"
    graph = a_graph("counter")
    codec.save(path, graph)
    left_behind(tmp_path / "journals", graph, path)

    (orphan,) = _orphans(tmp_path / "journals")
    was_saved = orphan.is_saved
    codec.save(path, a_graph("delay"))

    assert (was_saved, orphan.is_saved) == (True, False)
    orphan.discard()


@settings(max_examples=30)
@given(data=st.one_of(st.binary(max_size=60), st.text(max_size=60).map(str.encode)))
def test_a_journal_that_cannot_be_read_is_set_aside(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    """It neither stops a start nor is thrown away, and the good ones are offered."""
    folder = tmp_path_factory.mktemp("journals")
    left_behind(folder, a_graph("counter"))
    (folder / "0123456789abcdef.journal.json").write_bytes(data)

    logging.disable(logging.WARNING)
    try:
        found = offered(folder)
    finally:
        logging.disable(logging.NOTSET)

    assert len(found) == 1
    assert (folder / "0123456789abcdef.journal.json.unreadable").read_bytes() == data


def test_a_folder_that_cannot_be_written_is_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Work goes on; every second a line would help nobody."""
    (tmp_path / "file").write_text("in the way")
    journal = Journal(tmp_path / "file")

    for _ in range(3):
        journal.keep(a_graph("counter"), None, None)

    assert [record.message for record in caplog.records] == [caplog.records[0].message]
    assert caplog.records[0].message.startswith("unsaved work is not kept for a crash")
    caplog.clear()


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="SIGKILL is POSIX")
def test_a_process_that_is_killed_while_it_writes_leaves_whole_work(tmp_path: Path) -> None:
    """Killed at any moment of a row of writes, what is offered is one of them, and no draft."""
    program = (
        "import sys; from pathlib import Path\n"
        "from aiflow.graph.model import Graph\n"
        "from aiflow_studio.document.journal import Journal\n"
        "journal, number = Journal(Path(sys.argv[1])), 0\n"
        "while True:\n"
        "    journal.keep(Graph(name='work', description=str(number) * 20000), None, None)\n"
        "    number = (number + 1) % 10\n"
        "    if not number:\n"
        "        print('round', flush=True)\n"
    )
    for rounds in range(1, 6):
        folder = tmp_path / str(rounds)
        with subprocess.Popen(
            [sys.executable, "-c", program, str(folder)], stdout=subprocess.PIPE
        ) as child:
            assert child.stdout is not None
            for _ in range(rounds):
                child.stdout.readline()
            child.kill()

        (work,) = offered(folder)
        assert len(set(work.graph.description)) == 1
        assert [each.name for each in folder.glob(".*")] == []


def _orphans(folder: Path) -> list[Orphan]:
    return list(Journal(folder).orphans())
