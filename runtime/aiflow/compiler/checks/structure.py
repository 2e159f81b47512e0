"""AF1xx: do nodes and edges hang together, and is everything there that they name?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from aiflow.compiler.diagnostics import Diagnostic, Fix
from aiflow.compiler.findings import Check, Finding, did_you_mean, fix, listed, suggestion
from aiflow.compiler.order import reachable
from aiflow.compiler.resolved import Resolved, ResolvedNode, in_port, is_broken, out_port
from aiflow.graph import edits
from aiflow.graph.model import FEEDBACK_FIELDS, VERSION, Edge, Graph, Json
from aiflow.graph.writer import EDGE_FIELDS, GRAPH_FIELDS, NODE_FIELDS, RESOURCE_FIELDS

_SHAPES = {
    **{"name": "text", "description": "text", "measure": "a list of node ids"},
    **{"max_conversations": "a whole number", "operator": "text", "kind": "text"},
    **{"params": "an object", "policy": "an object", "disabled": "true or false"},
    "resources": "an object of resource ids",
    "suppress": "a list of objects with a code and a reason",
    "layout": "an object of [x, y] pairs",
    **{"fanout": "text", "overflow": "text"},
    "feedback": "an object with whole numbers for credit, max_returns and hops",
}
_HARMLESS = ("name", "description", "layout", "suppress")


def operators_are_known(resolved: Resolved) -> Iterator[Diagnostic]:
    """AF101: an operator is not there, because of its name or because its plug-in is broken.

    The node stays in the graph and in the file as it is, but nobody knows what it would do.
    A plug-in that cannot be loaded is named by its package, also where no node needs it.

    Why: Without its operator nobody knows what the node would do, so nothing can run.
    For example: a node {"id": "voice", "operator": "speach"}, where the operator is called
        speech.
    Remedy: take the suggested name, install the package that brings the operator, name the
        Python file that holds it with --operators, or choose another.
    """
    found = Finding("AF101")
    known = resolved.catalog.operators
    for node in resolved.nodes.values():
        if node.type is None:
            name = node.node.operator
            near = suggestion(name, known)
            yield found.error(
                "node {node} uses the operator {operator}, which is not installed"
                if name
                else "node {node} names no operator",
                "{advice}",
                node=node.id,
                field="operator",
                operator=name,
                advice=f"Did you mean {near}?"
                if near
                else "install the package that brings it, name its Python file with --operators,"
                " or choose another operator",
                fix=fix(f"Use {near}", edits.set_operator, node.id, near) if near else None,
            )
    for plugin in resolved.catalog.broken:
        yield found.warning(
            "plug-in {reason}",
            "mend or remove the package {distribution}; what it brings is missing",
            plugin=plugin.name,
            distribution=plugin.distribution,
            reason=str(plugin),
        )


def edges_join_nodes(resolved: Resolved) -> Iterator[Diagnostic]:
    """AF102: an edge begins or ends at a node that is not in the graph.

    Why: Events that should go over the edge would have nowhere to come from or go to.
    For example: an edge "to": "log.in" in a graph whose node is called logs.
    Remedy: correct the name, or remove the edge.
    """
    found = Finding("AF102")
    nodes = resolved.graph.nodes
    for edge in resolved.graph.edges.values():
        for end, word in ((edge.source, "begins"), (edge.target, "ends")):
            if not is_broken(edge) and end.node not in nodes:
                yield found.error(
                    "edge {edge} {word} at {missing}, which is no node of this graph",
                    "{advice}",
                    edge=edge.id,
                    word=word,
                    missing=end.node,
                    advice=did_you_mean(end.node, nodes, "add the node, or remove the edge"),
                    fix=_removal(edge),
                )


def edges_join_ports(resolved: Resolved) -> Iterator[Diagnostic]:
    """AF103: an edge begins or ends at a port that its node does not have.

    An edge leads from an out-port to an in-port; the out-port `dead` is there at every node.

    Why: Ports are how an operator tells its streams apart; a guess could send text the
        wrong way.
    For example: an edge "from": "router.answers": the router has reasoning, answer and
        refusal.
    Remedy: use a port that `aiflow operators` lists for the operator, or remove the edge.
    """
    found = Finding("AF103")
    for edge in resolved.graph.edges.values():
        source = resolved.nodes.get(edge.source.node)
        target = resolved.nodes.get(edge.target.node)
        if is_broken(edge):
            continue
        if source and source.type and not out_port(source, edge.source.port):
            yield _no_port(found, edge, source, edge.source.port, is_output=True)
        if target and target.type and not in_port(target, edge.target.port):
            yield _no_port(found, edge, target, edge.target.port, is_output=False)


def edges_have_two_ends(resolved: Resolved) -> Iterator[Diagnostic]:
    """AF104: an end of an edge is missing or is not of the form `node.port`.

    Why: An end that names no port cannot be connected to anything.
    For example: an edge {"from": "model", "to": "log.in"}, where model.out is meant.
    Remedy: remove it and connect the two ports anew.
    """
    found = Finding("AF104")
    for edge in resolved.graph.edges.values():
        if is_broken(edge):
            yield found.error(
                "edge {edge} is broken: {begin} and {end} must both be node.port",
                "remove it and connect the ports anew",
                edge=edge.id,
                begin=_shown_end(edge, "from", str(edge.source)),
                end=_shown_end(edge, "to", str(edge.target)),
                fix=_removal(edge),
            )


def edges_differ(resolved: Resolved) -> Iterator[Diagnostic]:
    """AF105: two edges join the same two ports, so every event would arrive twice.

    Why: Every event would arrive twice, and be counted, shown and spoken twice.
    For example: two entries {"from": "model.out", "to": "log.in"}.
    Remedy: remove one of the two.
    """
    found = Finding("AF105")
    for edge in resolved.graph.edges.values():
        if edge.number > 1:
            yield found.error(
                "edge {edge} joins {source} and {target} a second time",
                "remove one of the two",
                edge=edge.id,
                source=str(edge.source),
                target=str(edge.target),
                fix=_removal(edge),
            )


def ids_are_well_formed(resolved: Resolved) -> Iterator[Diagnostic]:
    """AF106: an id is not made of small letters, digits, - and _ behind a first letter.

    Ids stand in edges (`node.port`) and on the command line (`node.param=value`), where
    other letters would be ambiguous.

    Why: An id such as a.b could be read as port b of node a.
    For example: a node {"id": "My Model"}.
    Remedy: rename it; small letters, digits, - and _ will do.
    """
    found = Finding("AF106")
    advice = "use small letters, digits, - and _, and begin with a letter"
    for id in resolved.graph.nodes:
        if not edits.NODE_ID.fullmatch(id):
            fresh = edits.fresh_id(resolved.graph, id)
            yield found.error(
                "node {shown} has an id that cannot be used",
                advice,
                node=id,
                field="id",
                shown=f'"{id}"',
                fix=fix(f"Rename to {fresh}", edits.rename_node, id, fresh),
            )
    for id in resolved.graph.resources:
        if not edits.NODE_ID.fullmatch(id):
            yield found.error(
                'resource "{resource}" has an id that cannot be used', advice, resource=id
            )


def there_is_a_source(resolved: Resolved) -> Iterator[Diagnostic]:
    """AF107: no node opens a conversation, so nothing would ever happen.

    Why: A source is what opens a conversation and brings the first event.
    For example: a router and a screen with no chat, replay or synthetic before them.
    Remedy: add a source and connect it, or enable the one that is disabled.
    """
    nodes = resolved.nodes.values()
    # An operator nobody knows may be one; that is said already.
    if not any(node.is_source or node.type is None for node in nodes):
        yield Finding("AF107").error(
            "the graph has no source" if resolved.graph.nodes else "the graph is empty",
            "add a source, such as {example}",
            example=listed(
                name for name, type in resolved.catalog.operators.items() if not type.inputs
            ),
        )


def there_is_a_sink(resolved: Resolved) -> Iterator[Diagnostic]:
    """AF108: no node is a sink, so nothing would ever be seen and nothing measured.

    Why: Work would be done whose result nobody sees, and no time to the first token can be
        taken.
    For example: a chat model that is connected to a chunker, and the chunker to nothing.
    Remedy: connect a sink, such as screen, jsonl or counter.
    """
    nodes = resolved.nodes.values()
    if nodes and not any(node.is_sink or node.type is None for node in nodes):
        yield Finding("AF108").error(
            "the graph has no sink",
            "add a sink, such as {example}",
            example=listed(
                name for name, type in resolved.catalog.operators.items() if not type.outputs
            ),
        )


def nodes_are_reachable(resolved: Resolved) -> Iterator[Diagnostic]:
    """AF109: no source leads to a node, so it would never receive an event.

    Why: It takes memory and attention, and looks as if it did something.
    For example: a chunker and a screen that are connected to each other and to nothing
        else.
    Remedy: connect a source to what stands before it, or remove it.
    """
    found = Finding("AF109")
    behind = {
        id: [edge.target.node for edge in node.outgoing] for id, node in resolved.nodes.items()
    }
    starts = [id for id, node in resolved.nodes.items() if node.is_source or node.type is None]
    reached = reachable(behind, starts)
    for node in resolved.nodes.values():
        # One without any edge before it is told that its input is not connected.
        if node.id not in reached and node.incoming:
            yield found.warning(
                "no source leads to node {node}",
                "connect a source to what stands before it, or remove it",
                node=node.id,
            )


def inputs_are_connected(resolved: Resolved) -> Iterator[Diagnostic]:
    """AF110: nothing is connected to an input that the operator needs.

    Why: The operator would wait for events that cannot come.
    For example: a screen without an edge into its port in.
    Remedy: connect an output of the right type to it, or remove the node.
    """
    found = Finding("AF110")
    for node in resolved.nodes.values():
        connected = {edge.target.port for edge in node.incoming}
        for port in node.type.inputs if node.type else ():
            if port.name not in connected and not port.is_optional:
                yield found.error(
                    "nothing is connected to input {port} of node {node}",
                    "connect an output of type {type} to it, or remove the node",
                    node=node.id,
                    port=port.name,
                    type=port.type.name,
                )


def version_is_known(resolved: Resolved) -> Iterator[Diagnostic]:
    """AF111: the file is of a newer version than this program.

    Of a newer minor version the unknown fields are kept but have no effect; of a newer major
    version nothing can be relied on, so it can be looked at but neither run nor saved.

    Why: What this program does not know, it cannot do; running without it would be another
        run.
    For example: a file that says "version": "2.0" in a program that knows 1.0.
    Remedy: open it with a newer AiFlow.
    """
    version = resolved.graph.version
    text = "the file is of version {version}, newer than {ours}, which this program knows"
    names = {"version": "{}.{}".format(*version), "ours": "{}.{}".format(*VERSION)}
    if version[0] > VERSION[0]:
        yield Finding("AF111").error(text, "open it with a newer AiFlow", field="version", **names)
    elif version > VERSION:
        yield Finding("AF111").warning(
            f"{text}; fields it does not know have no effect",
            "use a newer AiFlow, if the graph behaves otherwise than it should",
            field="version",
            **names,
        )


def measured_nodes_are_sinks(resolved: Resolved) -> Iterator[Diagnostic]:
    """AF112: `measure` names something that is no sink, so no time can be taken there.

    Why: Time to the first processed token is taken where the graph's text ends up.
    For example: "measure": ["router"], where a sink behind the router is meant.
    Remedy: name sinks of this graph, or leave measure out to take every sink.
    """
    found = Finding("AF112")
    sinks = [id for id, node in resolved.nodes.items() if node.is_sink]
    for id in dict.fromkeys(resolved.graph.measure):
        node = resolved.nodes.get(id)
        left = tuple(other for other in resolved.graph.measure if other != id)
        repair = fix(f"Do not measure at {id}", _set_measure, left)
        if node is None and id in resolved.graph.nodes:
            yield found.warning(
                "measure names {node}, which is disabled",
                "enable it, or take it out of measure",
                node=id,
                field="measure",
                fix=repair,
            )
        elif node is None or not (node.is_sink or node.type is None):
            yield found.error(
                "measure names {name}, which is no sink of this graph",
                "{advice}",
                node=node.id if node else None,
                field="measure",
                name=id,
                advice=did_you_mean(id, sinks, f"name some of the sinks: {listed(sinks)}"),
                fix=repair,
            )


def fields_have_their_shape(resolved: Resolved) -> Iterator[Diagnostic]:
    """AF113: a field holds another kind of value than it must, so it has no effect.

    Why: A value of the wrong kind is ignored, and the run would not be the one that was
        written.
    For example: a node with "policy": 8, where an object such as {"queue_capacity": 8} is
        meant.
    Remedy: write the kind of value that the message names, or leave the field out.
    """
    found = Finding("AF113")
    for place, extra, known, where in _entries(resolved.graph):
        for field in extra:
            if field in known and field in _SHAPES:
                # What does not change a run does not keep it from running.
                find = found.warning if field in _HARMLESS else found.error
                yield find(
                    "{field} of {place} must be {shape}",
                    "mend it, or leave it out",
                    field=field,
                    place=place,
                    shape=_SHAPES[field],
                    **where,
                )


def fields_are_known(resolved: Resolved) -> Iterator[Diagnostic]:
    """AF114: a field is unknown, so it has no effect; it may be misspelt.

    It is kept in the file. Names that begin with `$`, such as `$schema`, are for other
    programs and are never reported.

    Why: A misspelt field does nothing, silently.
    For example: a node with "polcy": {"workers": 4}, which runs with one worker.
    Remedy: take the suggested name, or remove the field.
    """
    found = Finding("AF114")
    if resolved.graph.version > VERSION:
        return  # said once for the whole file
    for place, extra, known, where in _entries(resolved.graph):
        for field in extra:
            if field not in known and not field.startswith("$"):
                yield found.warning(
                    "{field} of {place} is an unknown field and has no effect",
                    "{advice}",
                    field=field,
                    place=place,
                    advice=did_you_mean(field, known, "remove it"),
                    **where,
                )


CHECKS: tuple[Check, ...] = (
    *(version_is_known, fields_have_their_shape, fields_are_known, ids_are_well_formed),
    *(operators_are_known, edges_have_two_ends, edges_join_nodes, edges_join_ports, edges_differ),
    *(there_is_a_source, there_is_a_sink, inputs_are_connected, nodes_are_reachable),
    measured_nodes_are_sinks,
)


def _no_port(
    found: Finding, edge: Edge, node: ResolvedNode, port: str, *, is_output: bool
) -> Diagnostic:
    type = node.type
    here = [p.name for p in (type.outputs if is_output else type.inputs)] if type else []
    there = [p.name for p in (type.inputs if is_output else type.outputs)] if type else []
    kind, other = ("output", "input") if is_output else ("input", "output")
    text = "node {node} has no {kind} {port}, which edge {edge} needs"
    if port in there:
        text += "; {port} is an {other}"
    return found.error(
        text,
        "{advice}",
        node=node.id,
        edge=edge.id,
        port=port,
        kind=kind,
        other=other,
        advice=did_you_mean(port, here, f"its {kind}s: {listed(here)}"),
        fix=_removal(edge),
    )


def _shown_end(edge: Edge, field: str, text: str) -> str:
    if field in edge.extra:
        return f"{field} (no text)"
    return f'{field} "{text}"' if text else f"{field} (missing)"


def _removal(edge: Edge) -> Fix:
    return fix("Remove the edge", edits.disconnect, edge.id)


def _set_measure(graph: Graph, sinks: tuple[str, ...]) -> Graph:
    """Set `measure` to what is left of it, which may name nodes that are not there either."""
    return edits.set_measure(graph, [id for id in sinks if id in graph.nodes])


def _entries(
    graph: Graph,
) -> Iterator[tuple[str, Mapping[str, Json], tuple[str, ...], dict[str, str]]]:
    """Yield each object: what it is called, its `extra`, its known fields, where it is."""
    yield "the graph", graph.extra, GRAPH_FIELDS, {}
    for node in graph.nodes.values():
        where = {"node": node.id}
        yield f"node {node.id}", node.extra, NODE_FIELDS, where
        for item in node.suppress:
            yield f"suppress of node {node.id}", item.extra, ("code", "reason"), where
    for edge in graph.edges.values():
        where = {"edge": edge.id}
        yield f"edge {edge.id}", edge.extra, EDGE_FIELDS, where
        if edge.feedback:
            yield f"feedback of edge {edge.id}", edge.feedback.extra, FEEDBACK_FIELDS, where
    for resource in graph.resources.values():
        yield f"resource {resource.id}", resource.extra, RESOURCE_FIELDS, {}
