"""Where icons, themes and the JSON Schema are: beside the checkout, or inside the wheel.

No Qt here, so that a program without a window can ask as well.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import aiflow_studio

# The wheel's build copies `resources/` to this name inside the package (pyproject.toml).
INSTALLED_AS = "_resources"


@cache
def resources_dir() -> Path:
    """Return the folder that holds `icons/`, `themes/` and `schema/`, as an absolute path.

    Raises:
        FileNotFoundError: the package was installed without its resources.
    """
    return find_resources(Path(aiflow_studio.__file__).parent)


def resource(*parts: str) -> Path:
    """Return the path of one resource, for instance `resource("icons", "run.svg")`.

    Raises:
        FileNotFoundError: there is no such file or folder.
    """
    path = resources_dir().joinpath(*parts)
    if not path.exists():
        raise FileNotFoundError(f"resource {'/'.join(parts)} is not in {resources_dir()}")
    return path


def find_resources(package: Path) -> Path:
    """Return the resources of the package that lies at `package`; see `resources_dir`."""
    package = package.resolve()
    for candidate in (package / INSTALLED_AS, package.parent / "resources"):
        if candidate.is_dir():
            return candidate
    raise FileNotFoundError(
        f"the studio's resources are neither in {package / INSTALLED_AS} nor beside the checkout;"
        " install aiflow-studio anew from a wheel"
    )
