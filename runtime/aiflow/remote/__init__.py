"""Remote: a running session looked at and steered from another process.

`serve` in the process that runs, `connect` in the one that looks; both speak lines of JSON
over a socket of this machine, and nobody gets a word without the token.
"""

from aiflow.remote.client import Client, connect
from aiflow.remote.server import Server, serve

__all__ = ["Client", "Server", "connect", "serve"]
