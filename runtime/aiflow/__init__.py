"""AiFlow's headless library: graphs of streaming operators, compiled and run with bounded queues.

Each room below answers one question; none of them imports Qt. What a program needs that
writes and runs graphs is here: `from aiflow import Flow, P`, `aiflow.run`, `aiflow.open`.
"""

from aiflow.dsl.flow import Flow
from aiflow.dsl.policy import P
from aiflow.embedding.entry import Entry
from aiflow.embedding.running import open, plan, run
from aiflow.operators.functions import operator
from aiflow.tools.functions import tool

__all__ = ["Entry", "Flow", "P", "open", "operator", "plan", "run", "tool"]
