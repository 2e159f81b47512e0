"""`python -m aiflow`: the same program as `aiflow`."""

import sys

from aiflow.cli import main

if __name__ == "__main__":
    sys.exit(main())
