"""Tests of `aiflow.graph.schema`, held against real files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from aiflow.graph.model import Graph
from aiflow.graph.schema import graph_schema, schema_text
from aiflow.graph.shipped import graphs_dir
from aiflow.policies import Policy

SHIPPED_SCHEMA = Path(__file__).parents[3] / "resources" / "schema" / "graph.schema.json"
EXAMPLES = sorted((graphs_dir() / "examples").glob("*.aiflow.json"))
BROKEN = sorted((graphs_dir() / "broken").glob("*.aiflow.json"))

# What a schema can say of a file alone; the rest needs a catalog or a look at other entries.
STRUCTURAL = {
    *("AF104-broken-edge", "AF106-bad-id", "AF111-newer-major", "AF113-wrong-shape"),
    *("AF114-unknown-field", "AF204-unknown-member", "AF205-out-of-range"),
    *("AF206-no-conversations", "AF207-bad-fanout", "AF305-detached-block"),
}
# Beyond its pattern for `version`, a newer minor file has fields that this schema cannot know.
NEWER = {"AF111-newer-minor"}


def faults(document: Any) -> list[str]:
    """Return what the schema has to say."""
    validator = jsonschema.Draft202012Validator(graph_schema())
    return [error.message for error in validator.iter_errors(document)]


def _name(path: Path) -> str:
    return path.name.removesuffix(".aiflow.json")


def test_the_schema_is_a_schema() -> None:
    """It holds to its own dialect."""
    jsonschema.Draft202012Validator.check_schema(graph_schema())


def test_the_shipped_schema_is_the_generated_one() -> None:
    """The file in resources is written anew whenever the model changes."""
    assert SHIPPED_SCHEMA.read_text(encoding="utf-8") == schema_text()


@pytest.mark.parametrize("path", EXAMPLES, ids=_name)
def test_every_example_is_valid(path: Path) -> None:
    """A file that runs has no structural fault."""
    assert faults(json.loads(path.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize("path", BROKEN, ids=_name)
def test_structurally_broken_files_are_refused(path: Path) -> None:
    """And files that are broken otherwise are not."""
    found = faults(json.loads(path.read_text(encoding="utf-8")))

    assert bool(found) == (_name(path) in STRUCTURAL | NEWER)


@pytest.mark.parametrize(
    "change",
    [
        {"format": "other"},
        {"version": "2.0"},
        {"version": 1},
        {"nodes": {}},
        {"nodes": [{"id": "a"}]},
        {"nodes": [{"operator": "delay"}]},
        {"nodes": [{"id": "a", "operator": "delay", "policy": {"workers": "4"}}]},
        {"nodes": [{"id": "a", "operator": "delay", "policy": {"retry": {"attempts": 0}}}]},
        {"edges": [{"from": "a.out"}]},
        {"edges": [{"from": "a.out", "to": "b"}]},
        {"layout": {"a": [1]}},
        {"mesure": ["a"]},
    ],
)
def test_other_faults_are_found(change: dict[str, Any]) -> None:
    """Shapes, ranges, names and what must be there."""
    assert faults({"format": "aiflow", "version": "1.0", **change})


def test_other_programs_may_leave_their_mark() -> None:
    """`$schema` is how editors find this very file."""
    assert faults({"$schema": "graph.schema.json", "format": "aiflow", "version": "1.0"}) == []


def test_every_member_of_the_policy_is_described() -> None:
    """With its help, and its symbol from the paper where it has one."""
    members = graph_schema()["$defs"]["policy"]["properties"]

    assert list(members) == list(Policy.model_fields)
    assert members["queue_capacity"]["x-symbol"] == "q"
    assert all(member.get("description") for member in members.values())


def test_every_field_of_the_graph_is_there() -> None:
    """The schema knows all that the model holds."""
    fields = {name for name in Graph.__dataclass_fields__ if name != "extra"}

    assert fields | {"format"} == set(graph_schema()["properties"])
