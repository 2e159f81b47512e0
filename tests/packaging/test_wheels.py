"""What a user installs: the two wheels, built from the checkout and tried outside it."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import venv
import zipfile
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

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
    assert {"aiflow/py.typed", "aiflow/providers/local/tool_call.jinja"} <= found
    assert {name.split("/")[0] for name in found} == {"aiflow", "aiflow_runtime-0.1.0.dist-info"}


def test_the_studio_wheel_holds_its_package_and_the_resources(wheels: tuple[Path, Path]) -> None:
    """All resources ship inside the package, but no picture of a document, and nothing else."""
    found = names(wheels[1])

    wanted = shipped(ROOT / "resources", "aiflow_studio/_resources")
    pictures = {name for name in wanted if name.startswith("aiflow_studio/_resources/pictures/")}
    assert wanted - pictures <= found
    assert not pictures & found
    assert {name.split("/")[0] for name in found} == {
        "aiflow_studio",
        "aiflow_studio-0.1.0.dist-info",
    }


@pytest.mark.parametrize("number", [0, 1])
def test_a_wheel_carries_its_licence(wheels: tuple[Path, Path], number: int) -> None:
    """The licence travels with the files it covers."""
    assert [name for name in names(wheels[number]) if name.endswith("licenses/LICENSE")]


@pytest.fixture
def server(wheels: tuple[Path, Path], tmp_path: Path) -> Installed:
    """Return an environment with the runtime alone and what it asks for."""
    return Installed(tmp_path, wheels[:1], "aiflow-runtime")


def test_the_runtime_alone_has_no_qt_and_finds_its_graphs(server: Installed) -> None:
    """What is imported lies in the environment, with its graphs, and Qt is not there."""
    code = (
        "import importlib.util, aiflow, aiflow.graph.shipped as shipped;"
        "print(aiflow.__file__, shipped.graphs_dir(), importlib.util.find_spec('PySide6'))"
    )

    package, graphs, qt = server.run("python", "-c", code).split()

    assert Path(package).is_relative_to(server.folder)
    assert Path(graphs) == Path(package).parent / "_graphs"
    assert qt == "None"


def test_the_runtime_alone_runs_an_example(server: Installed) -> None:
    """The shipped example runs to its end on the virtual clock, by the program's name."""
    example = server.site / "aiflow" / "_graphs" / "examples" / "slow-speech.aiflow.json"

    result = json.loads(server.run("aiflow", "run", str(example), "--clock", "virtual", "--json"))

    assert result["status"] == "completed"
    assert result["nodes"]["speech"]["max_queue"] == 8


def test_the_studio_shows_an_example(wheels: tuple[Path, Path], tmp_path: Path) -> None:
    """Installed outside the checkout, the studio finds its resources and takes a picture."""
    desktop = Installed(tmp_path, wheels, "aiflow-studio")
    example = desktop.site / "aiflow" / "_graphs" / "examples" / "slow-speech.aiflow.json"
    picture = tmp_path / "shot.png"

    said = desktop.run(
        "aiflow-studio", str(example), "--run", "--screenshot", str(picture), "--after", "2"
    )

    assert json.loads(said)["nodes"] == 6
    assert picture.read_bytes().startswith(b"\x89PNG")


class Installed:
    """An environment outside the checkout with wheels of ours and what they ask for.

    Dependencies are not fetched again but linked from the environment of this test, each one that
    is asked for and no other, so that a missing line in a pyproject file shows.
    """

    def __init__(self, folder: Path, wheels: Sequence[Path], distribution: str) -> None:
        self.folder = folder
        venv.create(folder / "venv", with_pip=True)
        self._programs = folder / "venv" / ("Scripts" if sys.platform == "win32" else "bin")
        code = "import sysconfig; print(sysconfig.get_path('purelib'))"
        self.site = Path(self.run("python", "-c", code).strip())
        options = ["--quiet", "--disable-pip-version-check", "--no-deps"]
        self.run("python", "-m", "pip", "install", *options, *map(str, wheels))
        for needed in dependencies(distribution) - {"aiflow-runtime", "aiflow-studio"}:
            self._link(metadata.distribution(needed))

    def run(self, program: str, *arguments: str) -> str:
        """Run a program of the environment, with nothing of ours in its variables."""
        environ = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
        command = [str(self._programs / program), *arguments]
        child = subprocess.run(
            command, cwd=self.folder, env=environ, capture_output=True, text=True, check=False
        )
        assert child.returncode == 0, child.stderr
        return child.stdout

    def _link(self, distribution: metadata.Distribution) -> None:
        for top in {file.parts[0] for file in distribution.files or () if file.parts[0] != ".."}:
            target = Path(str(distribution.locate_file(top)))
            if target.exists() and not (self.site / top).exists():
                (self.site / top).symlink_to(target)


def dependencies(name: str) -> set[str]:
    """Return what a distribution needs here, and what that needs, by normal name."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        current = canonicalize_name(waiting.pop())
        if current in found:
            continue
        found.add(current)
        for line in metadata.requires(current) or ():
            requirement = Requirement(line)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                waiting.append(requirement.name)
    return found
