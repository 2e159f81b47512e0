"""What a user installs: the two wheels, built from the checkout and tried outside it."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Build both wheels once; nothing is fetched."""
    spec = importlib.util.spec_from_file_location("aiflow_wheels", ROOT / "packaging" / "wheels.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    runtime, studio = module.build(tmp_path_factory.mktemp("dist"))
    return runtime, studio


def names(wheel: Path) -> set[str]:
    """Return the files inside a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def shipped(folder: Path, prefix: str) -> set[str]:
    """Return what a folder of the checkout should be called inside a wheel."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "."], cwd=folder, capture_output=True, text=True, check=True
    )
    return {f"{prefix}/{name}" for name in listed.stdout.split("\0") if name}


def test_the_runtime_wheel_holds_its_package_and_the_graphs(wheels: tuple[Path, Path]) -> None:
    """All graphs ship inside the package; nothing but the package is installed."""
    found = names(wheels[0])

    assert shipped(ROOT / "graphs", "aiflow/_graphs") <= found
    assert "aiflow/py.typed" in found
    assert {name.split("/")[0] for name in found} == {"aiflow", "aiflow_runtime-0.1.0.dist-info"}


def test_the_studio_wheel_holds_its_package_and_the_resources(wheels: tuple[Path, Path]) -> None:
    """All resources ship inside the package; nothing but the package is installed."""
    found = names(wheels[1])

    assert shipped(ROOT / "resources", "aiflow_studio/_resources") <= found
    assert {name.split("/")[0] for name in found} == {
        "aiflow_studio",
        "aiflow_studio-0.1.0.dist-info",
    }


@pytest.mark.parametrize("number", [0, 1])
def test_a_wheel_carries_its_licence(wheels: tuple[Path, Path], number: int) -> None:
    """The licence travels with the files it covers."""
    assert [name for name in names(wheels[number]) if name.endswith("licenses/LICENSE")]


def test_the_installed_runtime_runs_without_qt(wheels: tuple[Path, Path], tmp_path: Path) -> None:
    """In an environment that has only what the runtime asks for, an example runs.

    The dependencies are not fetched again: the environment sees this one's, but for every
    distribution that the runtime does not depend on, Qt among them.
    """
    python = install(wheels[:1], tmp_path)
    code = (
        "import sys, aiflow, aiflow.graph.shipped as s;"
        "from pathlib import Path;"
        "print(Path(aiflow.__file__).parent, s.graphs_dir())"
    )

    said = output([python, "-c", code], tmp_path)
    package, graphs = map(Path, said.split())

    assert package.is_relative_to(tmp_path)
    assert graphs == package / "_graphs"


def install(wheels: tuple[Path, ...], folder: Path) -> str:
    """Make an environment in `folder`, with only the wheels in it; return its interpreter."""
    venv.create(folder / "venv", with_pip=True)
    programs = folder / "venv" / ("Scripts" if sys.platform == "win32" else "bin")
    python = str(programs / "python")
    options = ["--quiet", "--disable-pip-version-check", "--no-deps"]
    output([python, "-m", "pip", "install", *options, *map(str, wheels)], folder)
    return python


def output(command: list[str], folder: Path) -> str:
    """Run a command outside the checkout, with nothing of ours in its environment."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    child = subprocess.run(
        command, cwd=folder, env=environ, capture_output=True, text=True, check=False
    )
    assert child.returncode == 0, child.stderr
    return child.stdout
