"""What kind of field each sort of annotation makes."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from aiflow.graph.values import UNSET
from aiflow.operators.registry import Catalog
from aiflow.policies import TUPLE, Policy
from aiflow_studio.inspector.editors import EDITORS
from aiflow_studio.inspector.fields import FieldSpec, Kind, fields_of


class Tint(StrEnum):
    RED = "red"
    BLUE = "blue"


class Inner(BaseModel):
    depth: int = 1


class Sample(BaseModel):
    text: str = "a"
    number: float = Field(1.5, gt=0, lt=9)
    whole: int = Field(4, ge=2, le=8, multiple_of=2)
    switch: bool = False
    tint: Tint = Tint.BLUE
    word: Literal["one", "two"] = "one"
    maybe: Annotated[int, Field(ge=1)] | None = None
    lines: tuple[str, ...] = ("x", "y")
    listed: list[str] = ["z"]
    inner: Inner = Inner()
    path: Path = Path("a/b")
    free: dict[str, Any] = {}
    long: str = Field("", json_schema_extra={"x-editor": "multiline"})
    secret: str = Field("", json_schema_extra={"x-editor": "secret-name"})
    liked: str = Field("", json_schema_extra={"x-choices": ["p", "q"]})
    delay_s: float = Field(0, json_schema_extra={"x-unit": "s"}, description="How long.")
    needed: str


def _specs() -> dict[str, FieldSpec]:
    return {spec.name: spec for spec in fields_of(Sample)}


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("text", Kind.TEXT),
        ("number", Kind.NUMBER),
        ("whole", Kind.INTEGER),
        ("switch", Kind.SWITCH),
        ("tint", Kind.CHOICE),
        ("word", Kind.CHOICE),
        ("maybe", Kind.INTEGER),
        ("lines", Kind.LINES),
        ("listed", Kind.LINES),
        ("inner", Kind.GROUP),
        ("path", Kind.PATH),
        ("free", Kind.JSON),
        ("long", Kind.MULTILINE),
        ("secret", Kind.SECRET_NAME),
        ("liked", Kind.SUGGEST),
    ],
)
def test_an_annotation_makes_the_kind_of_field_that_fits(name, kind):
    """Each sort of annotation has its kind."""
    assert _specs()[name].kind is kind


def test_bounds_of_a_number_reach_the_field():
    """Both ends, open ends, steps, and bounds inside an optional."""
    found = _specs()

    assert (found["whole"].low, found["whole"].high, found["whole"].step) == (2, 8, 2)
    assert (found["number"].low, found["number"].low_is_open) == (0, True)
    assert (found["number"].high, found["number"].high_is_open) == (9, True)
    assert (found["maybe"].low, found["maybe"].is_optional) == (1, True)


def test_defaults_are_plain_values_as_a_file_holds_them():
    """Enums, paths, tuples and models become text, lists and mappings."""
    found = _specs()

    assert found["tint"].default == "blue"
    assert found["path"].default == "a/b"
    assert found["lines"].default == ["x", "y"]
    assert found["inner"].default == {"depth": 1}
    assert found["needed"].default is UNSET
    assert found["needed"].is_required


def test_the_name_of_a_secret_is_taken_only_when_it_is_finished():
    """Not a letter of a secret that was pasted by mistake gets anywhere."""
    assert _specs()["secret"].is_late
    assert not _specs()["text"].is_late


def test_a_unit_that_ends_the_key_is_left_out_of_the_label():
    """`delay_s` in seconds is called Delay."""
    spec = _specs()["delay_s"]

    assert (spec.label, spec.unit, spec.help) == ("Delay", "s", "How long.")


def test_the_policy_s_tuple_has_its_symbols_in_the_paper_s_order():
    """They are q k ρ σ o c r, and each member has a label of its own."""
    found = {spec.name: spec for spec in fields_of(Policy)}

    assert [(found[key].symbol, key) for _, key in TUPLE] == list(TUPLE)
    assert "".join(symbol for symbol, _ in TUPLE) == "qkρσocr"


def _all_models() -> list[type[BaseModel]]:
    catalog = Catalog.load()
    operators = [operator.Params for operator in catalog.operators.values()]
    return [Policy, *operators, *(each.Params for each in catalog.resources.values())]


@pytest.mark.parametrize("model", _all_models(), ids=lambda model: model.__name__)
def test_every_field_of_the_catalog_and_the_policy_has_an_editor(model):
    """Nothing falls back to raw JSON unless it says so, and every field says what it is for."""
    for spec in fields_of(model):
        if spec.kind is Kind.JSON:
            extra = model.model_fields[spec.name].json_schema_extra
            assert extra == {"x-editor": "json"}, f"{model.__name__}.{spec.name} is raw JSON"
            continue
        members = spec.members or (spec,)
        assert spec.help, f"{model.__name__}.{spec.name} has no description"
        for member in members:
            assert member.kind in EDITORS, f"{model.__name__}.{member.name} has no editor"
            assert member.kind is not Kind.JSON, f"{model.__name__}.{member.name} is raw JSON"
