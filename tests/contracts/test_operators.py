"""Every operator of the catalog keeps the contract, and the contract is seen to fail."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import pytest
from pydantic import Field

from aiflow.operators.base import NoParams, Operator, Params, Port
from aiflow.operators.registry import Catalog
from aiflow.testing.contracts import operator_faults
from aiflow.types import TEXT

CATALOG = Catalog.load()
TESTS = Path(__file__).parents[1] / "runtime" / "operators" / "builtin"


class BareParams(Params):
    """Parameters that say nothing."""

    length: int
    label: str = ""


class Bare(Operator[BareParams]):
    """Say nothing."""

    name = "bare"
    category = "misc"
    inputs = (Port("in", TEXT),)
    Params: ClassVar = BareParams


class Empty(Operator[NoParams]):
    """Do nothing.

    Emits when: never.
    Backpressures when: never.
    Completes when: at once.
    Fails when: never.
    """

    name = "empty"
    title = "Empty"
    summary = "Does nothing."
    default_policy: ClassVar = {"workers": 0}


class NamedParams(Params):
    """Parameters with a number that has a bound and one that has a unit."""

    size: int = Field(1, ge=1, title="Size", description="How big.")
    length: float = Field(
        1, title="Length", description="How long.", json_schema_extra={"x-unit": "s"}
    )


class Whole(Empty):
    """Pass nothing on.

    Emits when: never.
    Backpressures when: never.
    Completes when: its input has ended.
    Fails when: never.
    """

    name = "whole"
    inputs = (Port("in", TEXT, "text"),)
    default_policy: ClassVar = {}
    Params: ClassVar = NamedParams

    def process(self, payload: object, scope: object) -> None:
        """Pass nothing on."""


@pytest.mark.parametrize("operator", CATALOG.operators.values(), ids=list(CATALOG.operators))
def test_an_operator_says_what_its_reader_needs(operator: type[Operator]) -> None:
    """Title, summary, box, ports, params with units or bounds, working defaults."""
    assert operator_faults(operator) == []


@pytest.mark.parametrize("name", CATALOG.operators)
def test_an_operator_has_a_test_of_its_own(name: str) -> None:
    """One operator, one file, one test file."""
    assert (TESTS / f"test_{name.replace('-', '_')}.py").is_file()


def test_what_an_operator_lacks_is_named() -> None:
    """Each rule is seen to fail."""
    assert operator_faults(Bare) == [
        "it has no title",
        "its summary is no sentence with a full stop",
        "its category 'misc' is none of sources, text, tools, retrieval, flow, sinks",
        "its docstring does not say 'Emits when:'",
        "its docstring does not say 'Backpressures when:'",
        "its docstring does not say 'Completes when:'",
        "its docstring does not say 'Fails when:'",
        "its port in has no help",
        "its parameter length has no description",
        "its parameter length has no title",
        "its parameter length is a number without bound or unit",
        "its parameter label has no description",
        "its parameter label has no title",
        "its parameters have no valid defaults",
        "it has inputs and no process()",
    ]
    assert operator_faults(Empty) == [
        "it has no ports",
        "it has no inputs and no stream()",
        "its default_policy is no policy",
    ]


def test_the_port_of_dead_letters_is_every_nodes_own() -> None:
    """An operator's would hide it."""

    class Hiding(Whole):
        """Give up.

        Emits when: never.
        Backpressures when: never.
        Completes when: its input has ended.
        Fails when: never.
        """

        outputs = (Port("dead", TEXT, "text"),)

    assert operator_faults(Hiding) == [
        "its out-port dead is one that every node has, for what it gives up on"
    ]


def test_a_whole_operator_lacks_nothing() -> None:
    """A bound or a unit is enough for a number."""
    assert operator_faults(Whole) == []
