"""Where the graphs that come with the library are: beside the checkout, or inside the wheel."""

from __future__ import annotations

from functools import cache
from pathlib import Path

# The wheel's build copies `graphs/` to this name inside the package (runtime/pyproject.toml).
INSTALLED_AS = "_graphs"


@cache
def graphs_dir() -> Path:
    """Return the folder that holds `examples/`, `traces/` and the other shipped graphs.

    Returns:
        An absolute path. In a checkout it is the checkout's own `graphs/`, so that an edited
        example is the one that runs.

    Raises:
        FileNotFoundError: the package was installed without its graphs.
    """
    return find_graphs(Path(__file__).resolve().parent.parent)


def find_graphs(package: Path) -> Path:
    """Return the graphs of the package that lies at `package`; see `graphs_dir`."""
    package = package.resolve()
    for candidate in (package / INSTALLED_AS, package.parent.parent / "graphs"):
        if candidate.is_dir():
            return candidate
    raise FileNotFoundError(
        f"the shipped graphs are neither in {package / INSTALLED_AS} nor beside the checkout;"
        " install aiflow-runtime anew from a wheel"
    )
