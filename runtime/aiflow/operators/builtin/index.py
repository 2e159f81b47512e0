"""`index`: put texts into a document index while a run goes on."""

from __future__ import annotations

from typing import ClassVar

from aiflow.events import Chunk, Message, Token
from aiflow.operators.base import NoParams, Operator, Port
from aiflow.operators.scope import Scope
from aiflow.policies import SideEffects
from aiflow.retrieval.resource import Index
from aiflow.types import TEXT


class IndexText(Operator[NoParams]):
    """Add each text to an index as a document of its own, then pass it on.

    Its name is made of node, conversation, turn and sequence: a run that is repeated puts the
    same texts in place of the old ones. Where the index has a file they stay for later runs.

    Emits when: a text can be found; exactly one each, unchanged.
    Backpressures when: downstream does; the disk is waited for.
    Completes when: its input has ended.
    Fails when: the index cannot be written.
    """

    name = "index"
    title = "Add to index"
    category = "retrieval"
    summary = "Puts texts into a document index while a run goes on."
    inputs = (Port("in", TEXT, "texts, each a document of its own"),)
    outputs = (Port("out", TEXT, "the same, once it can be found", like="in"),)
    Params: ClassVar = NoParams
    requires: ClassVar = {"index": "index"}
    # The same text under the same name changes nothing.
    side_effects = SideEffects.IDEMPOTENT

    def process(self, payload: Token | Chunk | Message, scope: Scope) -> Token | Chunk | Message:
        """Add the text and return it."""
        index: Index = scope.resources["index"]
        name = f"{scope.node}/{scope.conversation}/{scope.turn}/{scope.sequence}"
        index.add(name, payload.text)
        return payload
