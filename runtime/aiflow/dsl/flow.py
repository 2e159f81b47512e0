"""`Flow`: a graph written in Python, with a method for each operator that is built in."""

from __future__ import annotations

from aiflow.dsl.builtin import Builtins


class Flow(Builtins):
    """A graph that is written in Python and run, saved or opened like any other.

    ```python
    flow = Flow("Count", max_conversations=1)
    numbers = flow.synthetic("numbers", count=20, rate=50)
    work = flow.delay("work", seconds=0.1, policy=P(q=8, k=4, rho=8))
    numbers >> work >> flow.screen("screen")
    ```

    Each method adds a node and returns its handle, whose outputs and inputs are attributes;
    `>>` connects first output to first input, `.to` connects with more to say. Whether the
    graph may run is the compiler's question, as for every graph.

    Args:
        name: what the graph is called.
        description: what it is for.
        max_conversations: C, conversations active at once, 1 or more.
    """
