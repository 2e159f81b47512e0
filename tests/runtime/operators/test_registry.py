"""Tests of `aiflow.operators.registry`."""

from __future__ import annotations

import sys
from importlib.metadata import EntryPoint
from types import ModuleType
from typing import Any

import pytest

from aiflow.operators import registry
from aiflow.operators.base import NoParams, Operator, Port
from aiflow.operators.registry import Catalog
from aiflow.resources import Resource
from aiflow.types import TEXT


class Upper(Operator[NoParams]):
    name = "upper"
    inputs = (Port("in", TEXT),)
    outputs = (Port("out", TEXT),)


class Lower(Operator[NoParams]):
    name = "lower"


class Twin(Operator[NoParams]):
    name = "upper"


class Nameless(Operator[NoParams]):
    name = "Not A Name"


class TwoOuts(Operator[NoParams]):
    name = "two-outs"
    outputs = (Port("out", TEXT), Port("out", TEXT))


class Shelf(Resource[Any]):
    kind = "shelf"


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch):
    """Return a function that pretends that exactly these entry points are installed."""

    def install(**groups: dict[str, object]) -> None:
        entries: list[EntryPoint] = []
        for group, values in groups.items():
            for name, value in values.items():
                module = ModuleType(f"plugin_{group}_{name.replace('-', '_')}")
                if isinstance(value, str):
                    entries.append(EntryPoint(name, value, f"aiflow.{group}"))
                    continue
                module.Thing = value  # type: ignore[attr-defined]
                monkeypatch.setitem(sys.modules, module.__name__, module)
                entries.append(EntryPoint(name, f"{module.__name__}:Thing", f"aiflow.{group}"))
        monkeypatch.setattr(
            registry, "entry_points", lambda group: [e for e in entries if e.group == group]
        )

    return install


def test_every_built_in_is_found_by_its_entry_point() -> None:
    """The installed catalog has the twelve built-ins and nothing of ours is broken."""
    catalog = Catalog.load()

    assert set(catalog.operators) >= {
        *("aggregate", "chat", "chunker", "counter", "delay", "jsonl"),
        *("redact", "replay", "router", "screen", "speech", "synthetic"),
    }
    assert catalog.get("no-such-operator") is None
    assert [str(error) for error in catalog.broken] == []


def test_a_plug_in_that_cannot_be_imported_is_a_finding(installed) -> None:
    """The catalog loads the others and says which package is broken and why."""
    installed(operators={"good": Upper, "gone": "no_such_package_of_ours"})

    catalog = Catalog.load()

    assert list(catalog.operators) == ["upper"]
    (error,) = catalog.broken
    assert error.name == "gone"
    assert "no_such_package_of_ours" in str(error)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (Nameless, "its name is 'Not A Name'"),
        (TwoOuts, "two of its out-ports have one name"),
        (int, "no public operator, neither class nor function"),
        (42, "neither a module nor a class"),
    ],
)
def test_a_plug_in_that_is_no_operator_is_a_finding(installed, value: object, reason: str) -> None:
    """What loads but cannot serve is refused with the reason."""
    installed(operators={"odd": value})

    catalog = Catalog.load()

    assert not catalog.operators
    assert reason in str(catalog.broken[0])


def test_the_second_operator_of_one_name_is_refused(installed) -> None:
    """A name means one operator; which one does not depend on chance."""
    installed(operators={"a": Upper, "b": Twin})

    catalog = Catalog.load()

    assert catalog.get("upper") is Upper
    assert "the name upper is taken" in str(catalog.broken[0])


def test_resources_are_found_by_kind(installed) -> None:
    """A resource class is listed under its kind; another class is a finding."""
    installed(resources={"shelf": Shelf, "odd": Upper})

    catalog = Catalog.load()

    assert dict(catalog.resources) == {"shelf": Shelf}
    assert "no public subclass of aiflow.resources.Resource" in str(catalog.broken[0])


def test_a_module_brings_its_own_classes_only() -> None:
    """A class that a plug-in's module merely imports is not the plug-in's."""
    module = sys.modules[__name__]

    names = {each.__name__ for each in registry._classes_of(module)}

    assert "Upper" in names
    assert "Catalog" not in names


def test_a_catalog_of_chosen_classes_refuses_two_of_one_name() -> None:
    """Tests and embedders learn of a clash at once."""
    assert list(Catalog.of(Upper, Lower).operators) == ["upper", "lower"]
    with pytest.raises(ValueError, match="two operators are called upper"):
        Catalog.of(Upper, Twin)
    with pytest.raises(ValueError, match="Nameless: its name"):
        Catalog.of(Nameless)
