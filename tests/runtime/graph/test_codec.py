"""Tests of `aiflow.graph.codec`, and with it of `reader` and `writer`."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from aiflow.errors import GraphFileError
from aiflow.graph import codec
from aiflow.graph.json_text import MAX_BYTES, parse, render
from aiflow.graph.migrations import Migration
from aiflow.graph.model import VERSION, Graph, Node
from aiflow.graph.shipped import graphs_dir
from tests.runtime.graph.drawn import DOCUMENTS, VALUES, graphs

SHIPPED = sorted(graphs_dir().rglob("*.aiflow.json"))
HEAD = '"format": "aiflow", "version": "1.0"'


def _read(fields: str) -> Graph:
    return codec.loads(f"{{{HEAD}, {fields}}}", "some.json")


@given(graphs())
def test_a_graph_comes_back_from_its_file(graph: Graph) -> None:
    """What edits make survives the file, and saving twice gives the same bytes."""
    text = codec.dumps(graph)

    assert codec.loads(text) == graph
    assert codec.dumps(codec.loads(text)) == text


@given(DOCUMENTS)
def test_any_document_is_refused_or_kept_whole(document: dict[str, Any]) -> None:
    """Wrong values open, are written again where they stood, and stay the same."""
    try:
        graph = codec.loads(render(document, "fuzz"), "fuzz")
    except GraphFileError:
        return

    text = codec.dumps(graph)
    assert codec.dumps(codec.loads(text)) == text
    assert _kept(document, parse(text, "fuzz"))


def _kept(before: Any, after: Any) -> bool:
    """Say whether nothing but defaults was left out, and nothing was changed."""
    if isinstance(before, dict) and isinstance(after, dict):
        left_out = [before[key] for key in before.keys() - after.keys()]
        defaults: tuple[Any, ...] = (None, "", {}, [], False, "strict", 8, 1)
        return all(value in defaults for value in left_out) and all(
            _kept(before[key], after[key]) for key in before.keys() & after.keys()
        )
    if isinstance(before, list) and isinstance(after, list):
        return len(before) == len(after) and all(map(_kept, before, after))
    return bool(before == after)


@given(VALUES)
def test_any_value_is_a_graph_or_one_sentence(value: Any) -> None:
    """Whatever the JSON, reading raises nothing but the one error."""
    with pytest.raises(GraphFileError, match=r"^fuzz: not a graph"):
        codec.loads(render(value, "fuzz"), "fuzz")


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name)
def test_shipped_graphs_are_canonical(path: Path) -> None:
    """Loading and saving any graph of the project gives the same bytes."""
    assert codec.dumps(codec.load(path)).encode() == path.read_bytes()


def test_the_canonical_form_is_as_designed() -> None:
    """Fixed order, defaults left out, an entry a line, layout apart, a final newline."""
    graph = codec.loads(
        """
        {"layout": {"b": [806.0, 134], "a": [1.5, -2]}, "notes": [], "max_conversations": 8,
         "edges": [{"to": "b.in", "from": "a.out", "fanout": "strict"}],
         "nodes": [{"policy": {"workers": 2, "queue_capacity": 8}, "operator": "delay", "id": "a",
                    "disabled": false, "params": {}},
                   {"id": "b", "operator": "screen", "params": {"z": 0.250, "a": "ρ"}}],
         "later": true, "name": "Größe", "version": "1.0", "format": "aiflow"}
        """
    )

    assert codec.dumps(graph) == (
        "{\n"
        '  "format": "aiflow",\n'
        '  "version": "1.0",\n'
        '  "name": "Größe",\n'
        '  "nodes": [\n'
        '    {"id": "a", "operator": "delay", "policy": {"queue_capacity": 8, "workers": 2}},\n'
        '    {"id": "b", "operator": "screen", "params": {"z": 0.250, "a": "ρ"}}\n'
        "  ],\n"
        '  "edges": [\n'
        '    {"from": "a.out", "to": "b.in"}\n'
        "  ],\n"
        '  "layout": {\n'
        '    "b": [806.0, 134],\n'
        '    "a": [1.5, -2]\n'
        "  },\n"
        '  "later": true\n'
        "}\n"
    )


def test_export_leaves_out_what_a_server_does_not_need() -> None:
    """Layout, notes and frames stay at home; all else is exported as it is saved."""
    fields = '"nodes": [{"id": "a", "operator": "x"}], "later": 1'
    canvas = '"layout": {"a": [1, 2], "b": "left"}, "notes": [{"text": "n"}], "frames": [{}]'

    exported = codec.dumps(_read(f"{fields}, {canvas}"), export=True)

    assert exported == codec.dumps(_read(fields))


def test_unknown_fields_are_kept_at_every_level() -> None:
    """A newer minor version's fields come back value for value, numbers as written."""
    fields = (
        '"nodes": [{"id": "a", "operator": "x", "policy": {"new": 1e3},'
        ' "suppress": [{"code": "AF601", "new": 0.10}], "new": [1.0]}],'
        ' "edges": [{"from": "a.o", "to": "a.i", "feedback": {"credit": 2, "new": -0},'
        ' "new": {"x": null}}],'
        ' "resources": [{"id": "r", "kind": "k", "new": 2.50}], "new": "top"'
    )

    text = codec.dumps(codec.loads(f'{{"format": "aiflow", "version": "1.7", {fields}}}'))

    assert '"version": "1.7"' in text
    for written in ("1e3", "0.10", "1.0]", "-0}", "null", "2.50", '"top"'):
        assert written in text


def test_broken_edges_are_kept() -> None:
    """Edges without an end, of another form, or a second time stay in the file as they are."""
    edges = (
        '[{"from": 7, "to": "b.in"}, {"from": "nothing", "to": "b.in"},'
        ' {"from": "a.out", "to": "b.in"}, {"from": "a.out", "to": "b.in"},'
        ' {"from": "a.out", "to": "b."}, {"from": ".out", "to": "a.b.c"}]'
    )

    graph = _read(f'"edges": {edges}')

    assert len(graph.edges) == 6
    assert graph.edges["a.out>b.in#2"].number == 2
    assert parse(codec.dumps(graph), "")["edges"] == parse(edges, "")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[]", "not a graph: it must be a JSON object; a graph file begins with"),
        ("{}", 'not a graph: it has no "format"'),
        ('{"format": "drawing"}', 'not a graph: its "format" is "drawing"'),
        ('{"format": "aiflow"}', 'not a graph: it has no "version"'),
        ('{"format": "aiflow", "version": 1.0}', 'its "version" is not of the form "1.0"'),
        ('{"format": "aiflow", "version": "one"}', 'its "version" is not of the form "1.0"'),
        (f'{{{HEAD}, "nodes": {{}}}}', '"nodes" must be a list; mend it in a text editor'),
        (f'{{{HEAD}, "layout": []}}', '"layout" must be an object'),
        (f'{{{HEAD}, "nodes": [{{"id": "a"}}, 3]}}', r"nodes\[1\] must be an object"),
        (f'{{{HEAD}, "nodes": [{{"operator": "x"}}]}}', r'nodes\[0\] needs an "id"'),
        (
            f'{{{HEAD}, "nodes": [{{"id": "a"}}, {{"id": "a"}}]}}',
            r'the id "a" of nodes\[1\] stands at nodes\[0\] too',
        ),
        (
            '{"format": "aiflow", "version": "7.0", "nodes": "elsewhere"}',
            "version 7.0 is newer than this program's 1.0; open it with a newer AiFlow",
        ),
    ],
)
def test_what_is_no_graph_is_refused_in_a_sentence(text: str, says: str) -> None:
    """What, where and what to do."""
    with pytest.raises(GraphFileError, match=says) as caught:
        codec.loads(text, "some.json")

    assert str(caught.value).startswith("some.json: ")
    assert caught.value.hint


def test_a_newer_major_version_opens_to_be_looked_at(tmp_path: Path) -> None:
    """It is marked read-only, and saving over it is refused and changes nothing."""
    path = tmp_path / "newer.aiflow.json"
    path.write_text('{"format": "aiflow", "version": "2.0", "nodes": [{"id": "a"}]}')
    before = path.read_bytes()

    graph = codec.load(path)

    assert codec.is_read_only(graph)
    assert codec.is_newer(graph)
    with pytest.raises(GraphFileError, match=r"version 2, newer than .*; open it with a newer"):
        codec.save(path, graph)
    assert path.read_bytes() == before


def test_a_newer_minor_version_opens_to_be_changed() -> None:
    """It is newer, but may be saved."""
    graph = codec.loads('{"format": "aiflow", "version": "1.5"}')

    assert codec.is_newer(graph)
    assert not codec.is_read_only(graph)


def test_an_older_version_is_migrated_step_by_step() -> None:
    """Each step gets what the one before it made, and the result is of this version."""
    steps = (
        Migration((0, 5), lambda old: {**old, "boxes": [*old["boxes"], "b"]}),
        Migration((1, 0), lambda old: {"nodes": [{"id": id} for id in old["boxes"]]}),
    )
    text = '{"format": "aiflow", "version": "0.1", "boxes": ["a"]}'

    graph = codec.loads(text, steps=steps)

    assert list(graph.nodes) == ["a", "b"]
    assert graph.version == VERSION


def test_a_version_without_a_way_here_is_refused() -> None:
    """No step leads from version 0, so it is not read half."""
    with pytest.raises(GraphFileError, match=r"version 0\.1 is older than any"):
        codec.loads('{"format": "aiflow", "version": "0.1"}')


def test_saving_is_whole_and_keeps_the_mode(tmp_path: Path) -> None:
    """The new text is there, with the old file's mode, and nothing else in the folder."""
    path = tmp_path / "graph.aiflow.json"
    path.write_text("old")
    path.chmod(0o640)

    codec.save(path, Graph("new"))

    assert codec.load(path) == Graph("new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert list(tmp_path.iterdir()) == [path]


def test_what_a_killed_save_left_goes_with_the_next_one(tmp_path: Path) -> None:
    """An old draft is removed; one that may still be written, and what only looks alike, stay."""
    path = tmp_path / "graph.aiflow.json"
    left, fresh = tmp_path / f".aiflow-{'0a' * 8}.tmp", tmp_path / f".aiflow-{'0b' * 8}.tmp"
    others = [tmp_path / ".aiflow-notes.tmp", tmp_path / f"aiflow-{'0a' * 8}.tmp"]
    for file in (left, fresh, *others):
        file.touch()
    long_ago = path.parent.stat().st_mtime - 3600
    for file in (left, *others):
        os.utime(file, (long_ago, long_ago))

    codec.save(path, Graph())

    assert sorted(tmp_path.iterdir()) == sorted([path, fresh, *others])


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="SIGKILL is POSIX")
def test_a_save_that_is_killed_leaves_a_whole_file_and_a_draft_at_most(tmp_path: Path) -> None:
    """A real process, killed between two saves or within one; the next save tidies up."""
    path = tmp_path / "graph.aiflow.json"
    program = (
        "import sys\n"
        "from aiflow.graph import codec\n"
        "from aiflow.graph.model import Graph\n"
        "for number in range(100000):\n"
        "    codec.save(sys.argv[1], Graph(str(number % 10) * 40000))\n"
        "    print(number, flush=True)\n"
    )
    for _ in range(5):
        with subprocess.Popen(
            [sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE
        ) as child:
            assert child.stdout is not None
            child.stdout.readline()
            child.kill()
        assert len(set(codec.load(path).name)) == 1
    for draft in tmp_path.glob(".*.tmp"):
        os.utime(draft, (0, 0))

    codec.save(path, Graph())

    assert list(tmp_path.iterdir()) == [path]


def test_a_new_file_gets_the_mode_that_the_umask_says(tmp_path: Path) -> None:
    """A saved graph is as readable as any other new file."""
    other = tmp_path / "other"
    other.touch()

    codec.save(tmp_path / "graph.aiflow.json", Graph())

    mode = (tmp_path / "graph.aiflow.json").stat().st_mode
    assert stat.S_IMODE(mode) == stat.S_IMODE(other.stat().st_mode)


def test_a_symlink_is_followed(tmp_path: Path) -> None:
    """The link stays a link; what it points to is written."""
    (tmp_path / "there").mkdir()
    target = tmp_path / "there" / "graph.aiflow.json"
    target.write_text("old")
    link = tmp_path / "link.aiflow.json"
    link.symlink_to(target)

    codec.save(link, Graph("new"))

    assert link.is_symlink()
    assert codec.load(target).name == "new"


@pytest.mark.parametrize(
    ("number", "says"),
    [
        (errno.ENOSPC, "the disk is full"),
        (errno.EROFS, "the disk is read-only"),
        (errno.EACCES, "you have no permission for it"),
        (errno.EIO, "Input/output error"),
    ],
)
def test_a_failed_save_harms_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, says: str
) -> None:
    """The sentence says why, the old file is as it was, and no draft is left behind."""
    path = tmp_path / "graph.aiflow.json"
    path.write_text("old")

    def fail(handle: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(GraphFileError, match=f"cannot be saved: {says}; save it in another place"):
        codec.save(path, Graph("new"))

    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_what_cannot_be_written_harms_no_file(tmp_path: Path) -> None:
    """A value without a form in JSON is found before the file is touched."""
    path = tmp_path / "graph.aiflow.json"
    path.write_text("old")
    graph = Graph(nodes={"a": Node("a", "x", {"p": float("nan")})})

    with pytest.raises(GraphFileError, match="cannot be written as JSON"):
        codec.save(path, graph)

    assert path.read_text() == "old"


def test_a_read_only_file_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rename needs the folder's permission only; the file's own is asked for as well."""
    path = tmp_path / "graph.aiflow.json"
    path.write_text("old")
    # A file mode would say nothing to a test that runs as root.
    monkeypatch.setattr(os, "access", lambda path, mode: False)

    with pytest.raises(GraphFileError, match="no permission"):
        codec.save(path, Graph())

    assert path.read_text() == "old"


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("nowhere/graph.json", "there is no such file or folder"),
        (".", "it is a folder"),
        ("file/graph.json", "a part of the path is no folder"),
        ("x" * 300, "the name is too long"),
        ("a\0b", "null"),
    ],
    ids=["no-folder", "folder", "through-a-file", "long-name", "nul"],
)
def test_a_place_that_is_none_is_one_sentence(tmp_path: Path, name: str, says: str) -> None:
    """Reading and writing say the same."""
    (tmp_path / "file").touch()
    path = f"{tmp_path}/{name}"

    with pytest.raises(GraphFileError, match=f"cannot be saved: .*{says}"):
        codec.save(path, Graph())
    with pytest.raises(GraphFileError, match=f"cannot be read: .*{says}"):
        codec.load(path)


def test_a_huge_file_is_refused_unread(tmp_path: Path) -> None:
    """100 MB are refused by their size alone."""
    path = tmp_path / "huge.json"
    with path.open("wb") as file:
        file.truncate(100 * 2**20)

    with pytest.raises(GraphFileError, match="100 MB, at most 16 MB"):
        codec.load(path)


def test_what_is_no_ordinary_file_is_refused() -> None:
    """A device without an end is not read."""
    with pytest.raises(GraphFileError, match="no ordinary file"):
        codec.load("/dev/zero")


def test_the_largest_file_is_still_read() -> None:
    """The limit counts bytes of the file, not of what is in it."""
    text = f'{{{HEAD}, "description": "'
    text += "x" * (MAX_BYTES - len(text) - 2) + '"}'

    assert len(codec.loads(text).description) > MAX_BYTES - 100
