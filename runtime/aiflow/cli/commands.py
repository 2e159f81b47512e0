"""What a command needs of the program's parser."""

from __future__ import annotations

import argparse
from typing import Any, Protocol


class Commands(Protocol):
    """Where a command adds itself: what `add_subparsers` returns, which has no public name."""

    def add_parser(self, name: str, **options: Any) -> argparse.ArgumentParser:
        """Add a command and return its parser."""
        ...
