"""`python -m aiflow_studio`."""

from __future__ import annotations

import sys

from aiflow_studio.app.main import main

if __name__ == "__main__":
    sys.exit(main())
