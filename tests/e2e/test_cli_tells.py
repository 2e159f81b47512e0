"""The commands that tell a person something: explain and diff."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from aiflow.compiler.explain import explanations
from aiflow.graph import codec, edits
from aiflow.graph.model import Graph
from aiflow.graph.shipped import graphs_dir

EXAMPLE = graphs_dir() / "examples" / "slow-speech.aiflow.json"
ALL = sorted(graphs_dir().glob("*/*.aiflow.json"))


class TestExplain:
    """`aiflow explain`."""

    @pytest.mark.parametrize("word", ["AF304", "af304", "304"])
    def test_a_code_is_explained(self, aiflow, word: str) -> None:
        """What, why, an example, what to do, and where to see it."""
        called = aiflow("explain", word)

        assert called.code == 0
        assert called.out.startswith("AF304 (policy")
        for title in ("Why it is bad", "Example", "What to do", "broken/AF304-"):
            assert title in called.out

    def test_without_a_code_all_are_listed(self, aiflow) -> None:
        """By family."""
        called = aiflow("explain")

        assert called.code == 0
        assert "AF1xx structure" in called.out
        assert all(f"  {code}  " in called.out for code in explanations())

    def test_an_unknown_code_is_refused_with_a_suggestion(self, aiflow) -> None:
        """One line, exit 2."""
        called = aiflow("explain", "AF3O4")

        assert (called.code, called.out) == (2, "")
        assert called.err.startswith("aiflow: there is no code 'AF3O4'; did you mean AF304?")
        for word in ("nonsense", "AF999"):
            assert "lists all there are" in aiflow("explain", word).err


class TestDiff:
    """`aiflow diff`."""

    def test_two_graphs_are_compared_in_words(self, aiflow, tmp_path: Path) -> None:
        """A sentence a line, and as JSON with the values."""
        graph = edits.merge_policy(codec.load(EXAMPLE), "speech", {"queue_capacity": 4})
        other = tmp_path / "other.aiflow.json"
        codec.save(other, edits.rename_node(graph, "log", "record"))

        called, as_json = aiflow("diff", EXAMPLE, other), aiflow("diff", EXAMPLE, other, "--json")

        assert called.code == as_json.code == 0
        assert called.out.splitlines() == [
            "node log is now called record",
            "node speech: policy queue_capacity (q) is set to 4",
        ]
        *_, last = as_json.json["changes"]
        assert last["kind"] == "changed"
        assert (last["id"], last["field"]) == ("speech", "policy.queue_capacity")
        assert (last["before"], last["after"]) == (None, 4)

    def test_equal_graphs_have_no_difference(self, aiflow) -> None:
        """It says so, and JSON has an empty list."""
        assert aiflow("diff", EXAMPLE, EXAMPLE).out == "no difference\n"
        assert aiflow("diff", EXAMPLE, EXAMPLE, "--json").json["changes"] == []

    def test_a_file_that_cannot_be_read_exits_with_2(self, aiflow, tmp_path: Path) -> None:
        """Whichever of the two it is."""
        for pair in ((EXAMPLE, tmp_path / "gone"), (tmp_path / "gone", EXAMPLE)):
            called = aiflow("diff", *pair)
            assert called.code == 2
            assert "there is no such file" in called.err


class TestConvert:
    """`aiflow convert`."""

    @pytest.mark.parametrize("path", ALL, ids=lambda path: path.name.removesuffix(".aiflow.json"))
    def test_json_is_what_the_file_holds(self, aiflow, path: Path) -> None:
        """Every shipped graph is canonical already; a newer major version is refused."""
        called = aiflow("convert", path, "--to", "json")

        if "newer-major" in path.name:
            assert called.code == 2
            assert "cannot write" in called.err
        else:
            assert called.code == 0
            assert called.out == path.read_text(encoding="utf-8")

    def test_python_is_a_program_that_prints_the_same_graph(self, aiflow, tmp_path: Path) -> None:
        """Written to a file and run."""
        program = tmp_path / "graph.py"

        aiflow("convert", EXAMPLE, "--to", "python", "-o", program)
        done = subprocess.run([sys.executable, program], capture_output=True, check=True)

        assert done.stdout.decode() == EXAMPLE.read_text(encoding="utf-8")

    def test_export_leaves_out_what_a_server_has_no_use_for(self, aiflow, tmp_path: Path) -> None:
        """No layout, no notes; all else is the same."""
        file = tmp_path / "server.aiflow.json"

        called = aiflow("convert", EXAMPLE, "--to", "json", "--export", "-o", file)

        assert (called.code, called.out) == (0, "")
        exported = codec.load(file)
        assert not exported.layout
        assert exported.nodes == codec.load(EXAMPLE).nodes

    def test_a_file_in_another_folder_finds_the_same_files(self, aiflow, tmp_path: Path) -> None:
        """On stdout the paths stay: nobody knows where they will lie."""
        graph = edits.add_node(Graph(), "text-input", params={"path": "asked.txt"})
        (tmp_path / "asked.txt").write_text("Why?", encoding="utf-8")
        (tmp_path / "out").mkdir()
        file, other = tmp_path / "a.aiflow.json", tmp_path / "out" / "b.aiflow.json"
        codec.save(file, graph)

        shown = aiflow("convert", file, "--to", "json")
        aiflow("convert", file, "--to", "json", "-o", other)

        assert '"asked.txt"' in shown.out
        assert codec.load(other).nodes["text-input"].params == {"path": "../asked.txt"}

    @pytest.mark.parametrize(
        ("form", "begins"), [("mermaid", "---\n"), ("dot", "digraph"), ("svg", "<svg")]
    )
    def test_pictures_go_to_stdout_or_a_file(
        self, aiflow, tmp_path: Path, form: str, begins: str
    ) -> None:
        """The same text in both."""
        file = tmp_path / "picture"

        called = aiflow("convert", EXAMPLE, "--to", form)
        aiflow("convert", EXAMPLE, "--to", form, "-o", file)

        assert called.code == 0
        assert called.out.startswith(begins)
        assert file.read_text(encoding="utf-8") == called.out

    def test_a_key_is_warned_of_and_not_shown(self, aiflow, tmp_path: Path) -> None:
        """Nothing of it but its first letters, on stderr."""
        key = "sk-" + "a1B2" * 8
        file = tmp_path / "with-key.aiflow.json"
        codec.save(file, edits.merge_params(codec.load(EXAMPLE), "model", {"system": key}))

        exported = aiflow("convert", file, "--to", "json", "--export", "-o", tmp_path / "x")
        checked = aiflow("check", file)

        assert "warning: system of node model looks like a key (sk-…)" in exported.err
        assert "warning AF509 [model]" in checked.out
        assert key not in exported.err + checked.out + checked.err

    @pytest.mark.parametrize(
        "arguments", [("--to", "svg"), ("--to", "python"), ("--to", "json", "--export")]
    )
    def test_a_graph_is_not_replaced_by_less_than_it_holds(
        self, aiflow, tmp_path: Path, arguments: tuple[str, ...]
    ) -> None:
        """A picture cannot be run, an export has no layout; as JSON it may be tidied in place."""
        file = tmp_path / "mine.aiflow.json"
        file.write_bytes(EXAMPLE.read_bytes())

        refused = aiflow("convert", file, *arguments, "-o", file)
        tidied = aiflow("convert", file, "--to", "json", "-o", file)

        assert refused.code == 2
        assert "is the graph itself" in refused.err
        assert (tidied.code, file.read_bytes()) == (0, EXAMPLE.read_bytes())

    @pytest.mark.parametrize(
        ("arguments", "says"),
        [
            (("--to", "jsn"), "there is no form 'jsn'; did you mean json?"),
            (("--to", "svg", "--export"), "svg is a picture"),
            ((), "--to"),
            (("--to", "svg", "-o", "no/such/folder/x.svg"), "cannot be written"),
            (("--to", "json", "-o", "no/such/folder/x"), "cannot be saved"),
        ],
    )
    def test_what_cannot_be_is_refused_with_2(
        self, aiflow, arguments: tuple[str, ...], says: str
    ) -> None:
        """One line on stderr, nothing on stdout."""
        called = aiflow("convert", EXAMPLE, *arguments)

        assert (called.code, called.out) == (2, "")
        assert says in called.err


class TestAllShipped:
    """What holds for every graph that is shipped."""

    def test_every_broken_graph_shows_the_code_of_its_name(self, aiflow) -> None:
        """In one call, as somebody would try it."""
        files = [path for path in ALL if path.parent.name == "broken"]

        called = aiflow("check", *files, "--json")

        assert called.code == 1
        for entry in called.json:
            code = Path(entry["file"]).name[:5]
            assert code in {found["code"] for found in entry["diagnostics"]}, entry["file"]

    def test_every_example_is_clean(self, aiflow) -> None:
        """No error, no warning, no hint."""
        files = [path for path in ALL if path.parent.name == "examples"]

        called = aiflow("check", *files, "--json")

        assert called.code == 0
        assert [entry["file"] for entry in called.json if entry["diagnostics"]] == []
