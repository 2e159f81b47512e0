"""Every diagnostic code has a check that documents it and a graph that shows it."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from aiflow.compiler.compile import CHECKS, compile
from aiflow.compiler.diagnostics import Severity
from aiflow.compiler.findings import Check
from aiflow.graph import codec
from aiflow.graph.shipped import graphs_dir
from aiflow.operators.registry import Catalog
from tests.runtime.compiler.parts import ONLY_WITH_A_PLUGIN

BROKEN = sorted((graphs_dir() / "broken").glob("*.aiflow.json"))
EXAMPLES = sorted((graphs_dir() / "examples").glob("*.aiflow.json"))
CATALOG = Catalog.load()


def code_of(check: Check) -> str:
    """Return the code that a check's docstring begins with."""
    match = re.match(r"(AF\d{3}): ", inspect.getdoc(check) or "")
    assert match, f"the docstring of {check} must begin with its code"
    return match[1]


CODES = [code_of(check) for check in CHECKS]


def _name(path: Path) -> str:
    return path.name.removesuffix(".aiflow.json")


@pytest.mark.parametrize("path", BROKEN, ids=_name)
def test_a_broken_graph_shows_its_code(path: Path) -> None:
    """The file's name begins with a code that is found in it, with a message and advice."""
    compiled = compile(codec.load(path), CATALOG, base=path.parent)

    found = [each for each in compiled.diagnostics if each.code == path.name[:5]]
    assert found
    assert all(each.message and each.hint for each in compiled.diagnostics)
    is_error = any(each.severity is Severity.ERROR for each in compiled.diagnostics)
    assert (compiled.plan is None) == is_error


def test_every_code_has_a_graph_and_every_graph_a_code() -> None:
    """Nobody forgets one of the two; what only a plug-in can bring about is tested with one."""
    assert {path.name[:5] for path in BROKEN} == set(CODES) - ONLY_WITH_A_PLUGIN


@pytest.mark.parametrize("check", CHECKS, ids=code_of)
def test_a_check_yields_the_code_it_documents(check: Check) -> None:
    """One check, one code; the docstring tells a person what it means."""
    used = set(re.findall(r'Finding\("(AF\d{3})"\)', inspect.getsource(check)))

    assert used == {code_of(check)}


def test_no_two_checks_share_a_code() -> None:
    """A code that is used again would say two things."""
    assert len(set(CODES)) == len(CODES)


def test_codes_belong_to_the_family_of_their_file() -> None:
    """AF1xx is structure, AF2xx types, and so on."""
    families = {check.__module__.rpartition(".")[2]: code_of(check)[:3] for check in CHECKS}

    assert families == {
        **{"structure": "AF1", "types": "AF2", "policies": "AF3", "promises": "AF3"},
        **{"retries": "AF3", "partitions": "AF3"},
        **{"cycles": "AF4", "joins": "AF4", "turns": "AF4"},
        **{"injection": "AF5", "capacity": "AF6"},
    }


@pytest.mark.parametrize("path", BROKEN, ids=_name)
def test_a_fix_removes_its_finding(path: Path) -> None:
    """Applied to the very graph, it makes another one without that finding."""
    graph = codec.load(path)
    before = compile(graph, CATALOG, base=path.parent).diagnostics

    for finding in before:
        if finding.fix is not None:
            after = compile(finding.fix.apply(graph), CATALOG, base=path.parent).diagnostics
            assert finding.fix.label
            assert finding.message not in [each.message for each in after]


@pytest.mark.parametrize("path", EXAMPLES, ids=_name)
@pytest.mark.parametrize("clock", [None, "real", "virtual"])
def test_examples_raise_no_alarm(path: Path, clock: str | None) -> None:
    """What is shipped as right is found right, on both clocks."""
    compiled = compile(codec.load(path), CATALOG, base=path.parent, clock=clock)  # type: ignore[arg-type]

    assert compiled.diagnostics == ()
    assert compiled.plan is not None


def test_slow_speech_holds_at_most_107_events() -> None:
    """The number that the studio shows: 9 + 9 + 5 + 9 + 65 + 9 + 1."""
    path = graphs_dir() / "examples" / "slow-speech.aiflow.json"

    compiled = compile(codec.load(path), CATALOG, base=path.parent)

    assert compiled.bound == 107
    assert compiled.plan is not None
    assert compiled.plan.bound == 107
