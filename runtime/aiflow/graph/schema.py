"""The JSON Schema of a graph file, generated from the model so that it cannot drift.

For editors and for programs in other languages. It holds what can be said of a file alone:
names, shapes and ranges. Whether operators exist and ports fit is the compiler's question.
"""

from __future__ import annotations

import json
from typing import Any

from aiflow.graph.edits import NODE_ID
from aiflow.graph.model import DEFAULT_MAX_CONVERSATIONS, FORMAT, VERSION
from aiflow.policies import Overflow, Policy

DIALECT = "https://json-schema.org/draft/2020-12/schema"

_ID = f"^{NODE_ID.pattern}$"
_PORT = rf"^{NODE_ID.pattern}\.{NODE_ID.pattern}$"
_FREE = {"type": "array", "items": {"type": "object"}}


def graph_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of the graph file that this program writes."""
    policy = Policy.model_json_schema(ref_template="#/$defs/{model}")
    definitions = policy.pop("$defs", {})
    return {
        "$schema": DIALECT,
        "title": "AiFlow graph",
        "description": "A graph of streaming operators, as in a *.aiflow.json file.",
        **_object(
            {
                "format": {"const": FORMAT},
                "version": {
                    "type": "string",
                    "pattern": rf"^{VERSION[0]}\.\d+$",
                    "description": "Major and minor version of the file.",
                },
                "name": _text("What the graph is called."),
                "description": _text("What the graph is for."),
                "max_conversations": {
                    **_whole("C: conversations active at once; further ones wait."),
                    "default": DEFAULT_MAX_CONVERSATIONS,
                },
                "measure": {
                    "type": "array",
                    "items": {"$ref": "#/$defs/id"},
                    "description": "Sinks that TTFPT is taken at; empty means any sink.",
                },
                "resources": _list("resource", "Things that nodes are handed."),
                "nodes": _list("node", "Uses of operators."),
                "edges": _list("edge", "Connections from an output to an input."),
                "groups": {**_FREE, "description": "Reserved."},
                "layout": {
                    "type": "object",
                    "additionalProperties": {"$ref": "#/$defs/place"},
                    "description": "Where each node stands on the canvas.",
                },
                "notes": {**_FREE, "description": "Notes on the canvas."},
                "frames": {**_FREE, "description": "Frames on the canvas."},
            },
            required=("format", "version"),
        ),
        "$defs": {
            "id": {"type": "string", "pattern": _ID},
            "port": {"type": "string", "pattern": _PORT, "description": "node.port"},
            "place": {
                "type": "array",
                "items": {"type": "number"},
                "minItems": 2,
                "maxItems": 2,
            },
            "resource": _resource(),
            "node": _node(),
            "edge": _edge(),
            "policy": policy,
            **definitions,
        },
    }


def schema_text() -> str:
    """Return the schema as the text of the file that is shipped."""
    return json.dumps(graph_schema(), indent=2, ensure_ascii=False) + "\n"


def _resource() -> dict[str, Any]:
    return _object(
        {
            "id": {"$ref": "#/$defs/id"},
            "kind": _text("What it is, such as provider."),
            "params": _params("Parameters of its kind; never a secret, only its name."),
        },
        required=("id", "kind"),
    )


def _node() -> dict[str, Any]:
    return _object(
        {
            "id": {"$ref": "#/$defs/id"},
            "operator": _text("Name of the operator that it uses."),
            "params": _params("Parameters of the operator; those left out have their default."),
            "policy": {"$ref": "#/$defs/policy"},
            "resources": {
                "type": "object",
                "additionalProperties": {"$ref": "#/$defs/id"},
                "description": "What the operator asks for, and the resource it is handed.",
            },
            "disabled": {"type": "boolean", "description": "Left out of runs."},
            "suppress": {
                "type": "array",
                "items": _object(
                    {
                        "code": {"type": "string", "pattern": r"^AF\d{3}$"},
                        "reason": _text("Why it is accepted."),
                    },
                    required=("code",),
                ),
                "description": "Diagnostics that are accepted here.",
            },
        },
        required=("id", "operator"),
    )


def _edge() -> dict[str, Any]:
    feedback = {
        "credit": _whole("Items that may be in the loop at once."),
        "max_returns": _whole("Events of one item that may have come back and wait, at most."),
        "hops": _whole("Feedback edges that an event may cross."),
    }
    edge = _object(
        {
            "from": {"$ref": "#/$defs/port"},
            "to": {"$ref": "#/$defs/port"},
            "fanout": {
                "enum": ["strict", "detached"],
                "default": "strict",
                "description": "Whether a full queue at its end holds the sender back.",
            },
            "overflow": {
                "enum": [each.value for each in Overflow if each is not Overflow.BLOCK],
                "description": "What a detached edge does when the queue at its end is full.",
            },
            "feedback": _object(feedback),
        },
        required=("from", "to"),
    )
    return {**edge, "description": "An edge; its id is from>to."}


def _object(properties: dict[str, Any], required: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the schema of an object that has no other fields, but for those with a `$`."""
    schema = {
        "type": "object",
        "properties": properties,
        # `$schema` and `$comment` are for editors and people; the compiler lets them pass too.
        "patternProperties": {r"^\$": True},
        "additionalProperties": False,
    }
    return {**schema, "required": list(required)} if required else schema


def _list(entry: str, description: str) -> dict[str, Any]:
    items = {"$ref": f"#/$defs/{entry}"}
    return {"type": "array", "items": items, "description": description}


def _text(description: str) -> dict[str, Any]:
    return {"type": "string", "description": description}


def _whole(description: str) -> dict[str, Any]:
    return {"type": "integer", "minimum": 1, "description": description}


def _params(description: str) -> dict[str, Any]:
    return {"type": "object", "description": description}
