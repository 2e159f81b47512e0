"""Tests of `aiflow.cli.manual`."""

from __future__ import annotations

from aiflow.cli.manual import manual_lines
from aiflow.operators.registry import Catalog

CATALOG = Catalog.load()


def test_a_param_is_told_with_its_default_unit_and_meaning() -> None:
    """Whoever writes a graph in an editor needs no other source."""
    lines = list(manual_lines(CATALOG.operators["delay"], CATALOG))

    at = lines.index("  seconds = 0.1 s")
    assert lines[at + 1] == "      How long one event is held, on average."
    assert "  in: any" in lines
    assert any(line.startswith("Backpressures when:") for line in lines)


def test_a_resource_is_told_with_its_params_and_where_it_stands() -> None:
    """How to point a chat at a server is found without reading a broken graph."""
    lines = list(manual_lines(CATALOG.operators["chat"], CATALOG))

    assert '  endpoint = ""' in lines
    assert '  credential = ""' in lines
    assert '  in the node:  "resources": {"provider": "my-provider"}' in lines


def test_a_resource_that_it_can_do_without_is_told_as_one() -> None:
    """It may be given."""
    lines = list(manual_lines(CATALOG.operators["speech"], CATALOG))

    assert any(line.startswith("May be given engine: a resource of the kind") for line in lines)
    assert '  in the node:  "resources": {"engine": "my-speech-engine"}' in lines


def test_a_kind_that_stands_in_for_another_is_told_with_its_params() -> None:
    """A chat that asks for a provider may be handed a local model."""
    lines = list(manual_lines(CATALOG.operators["chat"], CATALOG))

    at = lines.index("A local-model will do as well, with these params")
    assert '  force = "nothing"' in lines[at:]


def test_a_resource_that_is_not_installed_is_said_so() -> None:
    """A catalog without providers still tells the rest."""
    lines = list(manual_lines(CATALOG.operators["chat"], Catalog.of()))

    assert "Asks for provider: a resource of the kind provider, which is not installed" in lines


def test_every_operator_can_be_told() -> None:
    """No schema is of a form that the manual cannot read, and no field goes without a word."""
    for operator in CATALOG.operators.values():
        lines = list(manual_lines(operator, CATALOG))
        assert lines[0].startswith(f"{operator.name} (")
        for name in operator.Params.model_fields:
            at = next(at for at, line in enumerate(lines) if line.startswith(f"  {name} "))
            assert lines[at + 1].startswith("      ")
