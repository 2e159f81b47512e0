"""AiFlow's headless library: graphs of streaming operators, compiled and run with bounded queues.

Each room below answers one question; none of them imports Qt. What a program needs that
writes graphs is here: `from aiflow import Flow, P`.
"""

from aiflow.dsl.flow import Flow
from aiflow.dsl.policy import P

__all__ = ["Flow", "P"]
