"""The command line: parse, call, print; one file a command.

What a command does is in the rooms below; nothing imports this one. `main` is the program
`aiflow`, and `python -m aiflow`.
"""

from aiflow.cli.program import main

__all__ = ["main"]
