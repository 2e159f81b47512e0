"""LangGraph's three ways to do the work of `peers`, as its users write them.

An edge of it fires when all nodes of a step have returned, so a stream along edges is a list
that is whole before the next node sees it. `Send` makes a step of each token; a consumer outside
of the graph is no node, and what waits for it has no bound.
"""

from __future__ import annotations

import asyncio
from importlib import import_module
from typing import Any, TypedDict

from aiflow.bench.work import Work


class _State(TypedDict, total=False):
    tokens: list[str]
    next: int


async def two_nodes(work: Work) -> None:
    """Carry all tokens as one list from node to node."""

    async def source(_: Any) -> Any:  # noqa: ANN401 - a peer's own types
        return {"tokens": list(work.tokens)}

    async def first(state: Any) -> Any:  # noqa: ANN401 - a peer's own types
        return {"tokens": list(state["tokens"])}

    async def puts(state: Any) -> Any:  # noqa: ANN401 - a peer's own types
        return {"tokens": [work.put(token) for token in state["tokens"]]}

    async def slow(state: Any) -> Any:  # noqa: ANN401 - a peer's own types
        return {"tokens": [await work.handle(token) for token in state["tokens"]]}

    async def sink(state: Any) -> Any:  # noqa: ANN401 - a peer's own types
        work.taken += state["tokens"]
        return {}

    graph = import_module("langgraph.graph")
    builder = graph.StateGraph(_State)
    nodes = {"source": source, "first": first, "puts": puts, "slow": slow, "sink": sink}
    before = graph.START
    for name, node in nodes.items():
        builder.add_node(name, node)
        builder.add_edge(before, name)
        before = name
    await builder.compile().ainvoke({"tokens": []})


async def pipelined(work: Work) -> None:
    """Send each token on its own, one node further in each step of the graph."""
    graph, types = import_module("langgraph.graph"), import_module("langgraph.types")

    def on(node: str, token: str) -> Any:  # noqa: ANN401 - a peer's own types
        return types.Command(goto=types.Send(node, token))

    async def source(state: Any) -> Any:  # noqa: ANN401 - a peer's own types
        number = state["next"]
        if number == len(work.tokens):
            return types.Command(goto=[])
        token = types.Send("first", work.tokens[number])
        return types.Command(update={"next": number + 1}, goto=[token, "source"])

    async def first(token: Any) -> Any:  # noqa: ANN401 - a peer's own types
        return on("puts", token)

    async def puts(token: Any) -> Any:  # noqa: ANN401 - a peer's own types
        return on("slow", work.put(token))

    async def slow(token: Any) -> Any:  # noqa: ANN401 - a peer's own types
        return on("sink", await work.handle(token))

    async def sink(token: Any) -> Any:  # noqa: ANN401 - a peer's own types
        work.taken.append(token)
        return {}

    builder = graph.StateGraph(_State)
    for node in (source, first, puts, slow, sink):
        builder.add_node(node.__name__, node)
    builder.add_edge(graph.START, "source")
    limit = {"recursion_limit": len(work.tokens) + 16}
    await builder.compile().ainvoke({"next": 0}, limit)


async def outside(work: Work) -> None:
    """Let one node write tokens, and handle them where the stream is read."""
    graph, config = import_module("langgraph.graph"), import_module("langgraph.config")

    async def source(_: Any) -> Any:  # noqa: ANN401 - a peer's own types
        write = config.get_stream_writer()
        for token in work.tokens:
            write(work.put(token))
            # As a model's stream does: each token is awaited.
            await asyncio.sleep(0)
        return {}

    builder = graph.StateGraph(_State)
    builder.add_node("source", source)
    builder.add_edge(graph.START, "source")
    async for token in builder.compile().astream({"next": 0}, stream_mode="custom"):
        work.taken.append(await work.handle(token))
