"""A typed method for each operator that comes with AiFlow; `generate` writes this file.

Over 500 lines because there is one for each operator; nothing here is written by hand.
"""

# fmt: off
# ruff: noqa: D301, D417, E501, PLR0913

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from aiflow.dsl.core import FlowCore, In, NodeHandle, Out, PolicyLike, ResourceHandle
from aiflow.graph.values import UNSET, Unset


class AggregateNode(NodeHandle):
    """A node of `aggregate`."""

    @property
    def out(self) -> Out:
        """Message: the whole text."""
        return self.port("out")

    @property
    def in_(self) -> In:
        """Text-and-control: tokens, chunks or messages; a model's control messages."""
        return self.into("in")


class BranchNode(NodeHandle):
    """A node of `branch`."""

    first_out = "yes"

    @property
    def yes(self) -> Out:
        """Any: where the condition holds."""
        return self.port("yes")

    @property
    def no(self) -> Out:
        """Any: where it does not."""
        return self.port("no")

    @property
    def in_(self) -> In:
        """Any: anything with fields."""
        return self.into("in")


class ChatNode(NodeHandle):
    """A node of `chat`."""

    @property
    def out(self) -> Out:
        """Token: the text, with its channel: reasoning, answer or refusal."""
        return self.port("out")

    @property
    def tools(self) -> Out:
        """Tool-fragment: pieces of tool calls as they come."""
        return self.port("tools")

    @property
    def retrieval(self) -> Out:
        """Retrieval: documents and citations the provider sends along."""
        return self.port("retrieval")

    @property
    def safety(self) -> Out:
        """Safety: findings of the provider's content filter."""
        return self.port("safety")

    @property
    def control(self) -> Out:
        """Control: start, usage and finish of the stream."""
        return self.port("control")


class ChatLoopNode(NodeHandle):
    """A node of `chat-loop`."""

    @property
    def out(self) -> Out:
        """Token: the text, with its channel: reasoning, answer or refusal."""
        return self.port("out")

    @property
    def tools(self) -> Out:
        """Tool-fragment: pieces of tool calls as they come."""
        return self.port("tools")

    @property
    def retrieval(self) -> Out:
        """Retrieval: documents and citations the provider sends along."""
        return self.port("retrieval")

    @property
    def safety(self) -> Out:
        """Safety: findings of the provider's content filter."""
        return self.port("safety")

    @property
    def control(self) -> Out:
        """Control: start, usage and finish of each answer."""
        return self.port("control")

    @property
    def in_(self) -> In:
        """Prompt: prompts, and remarks about the answers to them."""
        return self.into("in")

    @property
    def in_results(self) -> In:
        """Tool-result: what the tools answered."""
        return self.into("results")


class ChatReplyNode(NodeHandle):
    """A node of `chat-reply`."""

    @property
    def out(self) -> Out:
        """Token: the text, with its channel: reasoning, answer or refusal."""
        return self.port("out")

    @property
    def tools(self) -> Out:
        """Tool-fragment: pieces of tool calls as they come."""
        return self.port("tools")

    @property
    def retrieval(self) -> Out:
        """Retrieval: documents and citations the provider sends along."""
        return self.port("retrieval")

    @property
    def safety(self) -> Out:
        """Safety: findings of the provider's content filter."""
        return self.port("safety")

    @property
    def control(self) -> Out:
        """Control: start, usage and finish of the stream."""
        return self.port("control")

    @property
    def in_(self) -> In:
        """Prompt: prompts, each a whole text."""
        return self.into("in")


class ChunkerNode(NodeHandle):
    """A node of `chunker`."""

    @property
    def out(self) -> Out:
        """Chunk: pieces to show or speak."""
        return self.port("out")

    @property
    def in_(self) -> In:
        """Text: tokens."""
        return self.into("in")


class ConversationsNode(NodeHandle):
    """A node of `conversations`."""

    @property
    def out(self) -> Out:
        """Message: what is said, one message each turn."""
        return self.port("out")


class CounterNode(NodeHandle):
    """A node of `counter`."""

    @property
    def in_(self) -> In:
        """Any: anything."""
        return self.into("in")


class DeadLetterNode(NodeHandle):
    """A node of `dead-letter`."""

    @property
    def out(self) -> Out:
        """Message: one sentence for each letter."""
        return self.port("out")

    @property
    def payload(self) -> Out:
        """Any: what was given up on, as it came."""
        return self.port("payload")

    @property
    def in_(self) -> In:
        """Dead-letter: from the port dead of a node."""
        return self.into("in")


class DelayNode(NodeHandle):
    """A node of `delay`."""

    @property
    def out(self) -> Out:
        """Any: the same."""
        return self.port("out")

    @property
    def in_(self) -> In:
        """Any: anything."""
        return self.into("in")


class IndexNode(NodeHandle):
    """A node of `index`."""

    @property
    def out(self) -> Out:
        """Text: the same, once it can be found."""
        return self.port("out")

    @property
    def in_(self) -> In:
        """Text: texts, each a document of its own."""
        return self.into("in")


class JoinNode(NodeHandle):
    """A node of `join`."""

    first_in = "a"

    @property
    def out(self) -> Out:
        """Joined: the parts, and their texts."""
        return self.port("out")

    @property
    def in_a(self) -> In:
        """Any: the first branch."""
        return self.into("a")

    @property
    def in_b(self) -> In:
        """Any: the second branch."""
        return self.into("b")

    @property
    def in_c(self) -> In:
        """Any: a third branch."""
        return self.into("c")

    @property
    def in_d(self) -> In:
        """Any: a fourth branch."""
        return self.into("d")


class JsonlNode(NodeHandle):
    """A node of `jsonl`."""

    @property
    def in_(self) -> In:
        """Any: anything."""
        return self.into("in")


class MapNode(NodeHandle):
    """A node of `map`."""

    @property
    def out(self) -> Out:
        """Any: the same kind, changed."""
        return self.port("out")

    @property
    def in_(self) -> In:
        """Any: anything with fields."""
        return self.into("in")


class MergeNode(NodeHandle):
    """A node of `merge`."""

    @property
    def out(self) -> Out:
        """Any: all of it."""
        return self.port("out")

    @property
    def in_(self) -> In:
        """Any: any number of edges."""
        return self.into("in")


class PartitionNode(NodeHandle):
    """A node of `partition`."""

    first_out = "a"

    @property
    def a(self) -> Out:
        """Any: a branch."""
        return self.port("a")

    @property
    def b(self) -> Out:
        """Any: a branch."""
        return self.port("b")

    @property
    def c(self) -> Out:
        """Any: a branch."""
        return self.port("c")

    @property
    def d(self) -> Out:
        """Any: a branch."""
        return self.port("d")

    @property
    def e(self) -> Out:
        """Any: a branch."""
        return self.port("e")

    @property
    def f(self) -> Out:
        """Any: a branch."""
        return self.port("f")

    @property
    def g(self) -> Out:
        """Any: a branch."""
        return self.port("g")

    @property
    def h(self) -> Out:
        """Any: a branch."""
        return self.port("h")

    @property
    def in_(self) -> In:
        """Any: anything with fields."""
        return self.into("in")


class RagPromptNode(NodeHandle):
    """A node of `rag-prompt`."""

    @property
    def out(self) -> Out:
        """Message: prompts."""
        return self.port("out")

    @property
    def citations(self) -> Out:
        """Retrieval: the passages of the prompts, with their numbers as ids."""
        return self.port("citations")

    @property
    def in_(self) -> In:
        """Retrieval-or-text: passages, and behind them their question."""
        return self.into("in")


class RateLimitNode(NodeHandle):
    """A node of `rate-limit`."""

    @property
    def out(self) -> Out:
        """Any: the same, slower."""
        return self.port("out")

    @property
    def in_(self) -> In:
        """Any: anything."""
        return self.into("in")


class RedactNode(NodeHandle):
    """A node of `redact`."""

    @property
    def out(self) -> Out:
        """Text: the same with matches replaced."""
        return self.port("out")

    @property
    def in_(self) -> In:
        """Text: tokens, chunks or messages."""
        return self.into("in")


class ReplayNode(NodeHandle):
    """A node of `replay`."""

    @property
    def out(self) -> Out:
        """Token: the text, with its channel: reasoning, answer or refusal."""
        return self.port("out")

    @property
    def tools(self) -> Out:
        """Tool-fragment: pieces of tool calls as they come."""
        return self.port("tools")

    @property
    def retrieval(self) -> Out:
        """Retrieval: documents and citations in the trace."""
        return self.port("retrieval")

    @property
    def safety(self) -> Out:
        """Safety: findings of the provider's content filter."""
        return self.port("safety")

    @property
    def control(self) -> Out:
        """Control: start, usage and finish of the stream."""
        return self.port("control")


class RetrieveNode(NodeHandle):
    """A node of `retrieve`."""

    @property
    def out(self) -> Out:
        """Retrieval: passages, best first, with rank and snippet in raw."""
        return self.port("out")

    @property
    def query(self) -> Out:
        """Text: the text, behind its passages."""
        return self.port("query")

    @property
    def in_(self) -> In:
        """Text: what to look up."""
        return self.into("in")


class RouterNode(NodeHandle):
    """A node of `router`."""

    first_out = "reasoning"

    @property
    def reasoning(self) -> Out:
        """Token: what the model thinks aloud."""
        return self.port("reasoning")

    @property
    def answer(self) -> Out:
        """Token: what is meant for the reader."""
        return self.port("answer")

    @property
    def refusal(self) -> Out:
        """Token: why the model declines; part of answer if unconnected."""
        return self.port("refusal")

    @property
    def in_(self) -> In:
        """Token: tokens of all channels."""
        return self.into("in")


class SafetyNode(NodeHandle):
    """A node of `safety`."""

    @property
    def out(self) -> Out:
        """Text: the same with matches withheld."""
        return self.port("out")

    @property
    def safety(self) -> Out:
        """Safety: a label for each text that was withheld."""
        return self.port("safety")

    @property
    def in_(self) -> In:
        """Text: tokens, chunks or messages."""
        return self.into("in")


class SampleNode(NodeHandle):
    """A node of `sample`."""

    @property
    def out(self) -> Out:
        """Any: the events that were picked."""
        return self.port("out")

    @property
    def in_(self) -> In:
        """Any: anything."""
        return self.into("in")


class ScreenNode(NodeHandle):
    """A node of `screen`."""

    @property
    def in_(self) -> In:
        """Text: what to show."""
        return self.into("in")


class SpeechNode(NodeHandle):
    """A node of `speech`."""

    @property
    def in_(self) -> In:
        """Text: what to say."""
        return self.into("in")


class SqliteLogNode(NodeHandle):
    """A node of `sqlite-log`."""

    @property
    def in_(self) -> In:
        """Any: anything."""
        return self.into("in")


class SyntheticNode(NodeHandle):
    """A node of `synthetic`."""

    @property
    def out(self) -> Out:
        """Token: the tokens."""
        return self.port("out")


class TemplateNode(NodeHandle):
    """A node of `template`."""

    @property
    def out(self) -> Out:
        """Message: the filled template."""
        return self.port("out")

    @property
    def in_(self) -> In:
        """Any: anything with fields."""
        return self.into("in")


class TextInputNode(NodeHandle):
    """A node of `text-input`."""

    @property
    def out(self) -> Out:
        """Message: the texts."""
        return self.port("out")


class ToolAssembleNode(NodeHandle):
    """A node of `tool-assemble`."""

    @property
    def out(self) -> Out:
        """Tool-call: whole calls."""
        return self.port("out")

    @property
    def in_(self) -> In:
        """Tool-pieces: pieces of calls, and the control messages behind them."""
        return self.into("in")


class ToolCallNode(NodeHandle):
    """A node of `tool-call`."""

    @property
    def out(self) -> Out:
        """Tool-result: what the tools answered, or why they were not called."""
        return self.port("out")

    @property
    def control(self) -> Out:
        """Control: one notice for each call: tool, outcome, attempts, time."""
        return self.port("control")

    @property
    def in_(self) -> In:
        """Tool-call: whole calls."""
        return self.into("in")


class Builtins(FlowCore):
    """The operators and resources that come with AiFlow, each as a method."""

    def aggregate(
        self,
        id: str | None = None,
        /,
        *,
        until: Literal["turn", "answer"] | Unset = UNSET,
        channel: Literal["all", "answer", "reasoning"] | Unset = UNSET,
        max_characters: int | Unset = UNSET,
        policy: PolicyLike | None = None,
    ) -> AggregateNode:
        """Joins the text of a turn, or of each answer, into one message.

        Args:
            id: Its id; made from the name without one.
            until: Turn gives one message a turn; answer one for each answer of a model, whose control messages are then connected too. Default 'turn'.
            channel: Which of a model's text is taken; the rest is left out. Default 'all'.
            max_characters: A text that grows beyond this leaves as a message, and a new one begins. Default 1000000 characters.
        """
        resources = None
        params: dict[str, Any] = {
            "until": until,
            "channel": channel,
            "max_characters": max_characters,
        }
        return AggregateNode(self, self._node("aggregate", id, policy, resources, params))

    def branch(
        self,
        id: str | None = None,
        /,
        *,
        condition: str | Unset = UNSET,
        policy: PolicyLike | None = None,
    ) -> BranchNode:
        """Sends each event one of two ways, by a condition.

        Args:
            id: Its id; made from the name without one.
            condition: An expression over the payload's fields, such as channel == 'answer'; what counts as true leaves by yes. Default 'len(text) > 20'.
        """
        resources = None
        params: dict[str, Any] = {
            "condition": condition,
        }
        return BranchNode(self, self._node("branch", id, policy, resources, params))

    def chat(
        self,
        id: str | None = None,
        /,
        *,
        provider: ResourceHandle | str | Unset = UNSET,
        tools: ResourceHandle | str | Unset = UNSET,
        prompt: str | Unset = UNSET,
        model: str | Unset = UNSET,
        system: str | Unset = UNSET,
        temperature: float | Unset | None = UNSET,
        max_tokens: int | Unset | None = UNSET,
        effort: Literal["none", "minimal", "low", "medium", "high"] | Unset | None = UNSET,
        conversations: int | Unset = UNSET,
        policy: PolicyLike | None = None,
    ) -> ChatNode:
        """Asks a model and streams its answer.

        Args:
            id: Its id; made from the name without one.
            provider: A provider.
            tools: A tools.
            prompt: What the model is asked; the text given to a run takes its place. Default 'Why should a program ever wait on purpose?'.
            model: The model's name at the provider; empty where there is only one, and for a trace. Default ''.
            system: Instructions that stand before the prompt; empty sends none. Default ''.
            temperature: How freely the model chooses words; empty leaves it to the provider. Default None.
            max_tokens: Where the provider cuts the answer; empty leaves it to the provider. Default None tokens.
            effort: How much the model thinks before it answers, if it can; empty leaves it to the provider. Default None.
            conversations: How many conversations one run opens; each asks once. Default 1 conversations.
        """
        resources = {"provider": provider, "tools": tools}
        params: dict[str, Any] = {
            "prompt": prompt,
            "model": model,
            "system": system,
            "temperature": temperature,
            "max_tokens": max_tokens,
            "effort": effort,
            "conversations": conversations,
        }
        return ChatNode(self, self._node("chat", id, policy, resources, params))

    def chat_loop(
        self,
        id: str | None = None,
        /,
        *,
        provider: ResourceHandle | str | Unset = UNSET,
        tools: ResourceHandle | str | Unset = UNSET,
        model: str | Unset = UNSET,
        system: str | Unset = UNSET,
        temperature: float | Unset | None = UNSET,
        max_tokens: int | Unset | None = UNSET,
        effort: Literal["none", "minimal", "low", "medium", "high"] | Unset | None = UNSET,
        memory: Literal["prompt", "conversation"] | Unset = UNSET,
        max_rounds: int | Unset = UNSET,
        max_calls: int | Unset = UNSET,
        max_characters: int | Unset = UNSET,
        max_exchanges: int | Unset = UNSET,
        policy: PolicyLike | None = None,
    ) -> ChatLoopNode:
        """Asks a model, and again with what comes back: tool results or remarks.

        Args:
            id: Its id; made from the name without one.
            provider: A provider.
            tools: A tools.
            model: The model's name at the provider; empty where there is only one, and for a trace. Default ''.
            system: Instructions that stand before the prompt; empty sends none. Default ''.
            temperature: How freely the model chooses words; empty leaves it to the provider. Default None.
            max_tokens: Where the provider cuts the answer; empty leaves it to the provider. Default None tokens.
            effort: How much the model thinks before it answers, if it can; empty leaves it to the provider. Default None.
            memory: What the model is told of before: what was said about the same prompt, or all that was said in the conversation, also in earlier turns. An answer that was interrupted is not remembered. Default 'prompt'.
            max_rounds: Most answers that call tools about one prompt; then the model is told to answer without. Default 8 rounds.
            max_calls: Most calls of one answer, whose results are kept until all have come. Default 16 calls.
            max_characters: Most text that is remembered about one prompt; more fails the conversation. Of a conversation the oldest prompts are forgotten first. Default 400000 characters.
            max_exchanges: How many prompts of a conversation are remembered; the oldest that waits for nothing is forgotten first. Default 32 prompts.
        """
        resources = {"provider": provider, "tools": tools}
        params: dict[str, Any] = {
            "model": model,
            "system": system,
            "temperature": temperature,
            "max_tokens": max_tokens,
            "effort": effort,
            "memory": memory,
            "max_rounds": max_rounds,
            "max_calls": max_calls,
            "max_characters": max_characters,
            "max_exchanges": max_exchanges,
        }
        return ChatLoopNode(self, self._node("chat-loop", id, policy, resources, params))

    def chat_reply(
        self,
        id: str | None = None,
        /,
        *,
        provider: ResourceHandle | str | Unset = UNSET,
        tools: ResourceHandle | str | Unset = UNSET,
        model: str | Unset = UNSET,
        system: str | Unset = UNSET,
        temperature: float | Unset | None = UNSET,
        max_tokens: int | Unset | None = UNSET,
        effort: Literal["none", "minimal", "low", "medium", "high"] | Unset | None = UNSET,
        policy: PolicyLike | None = None,
    ) -> ChatReplyNode:
        """Asks a model for each prompt and streams its answer.

        Args:
            id: Its id; made from the name without one.
            provider: A provider.
            tools: A tools.
            model: The model's name at the provider; empty where there is only one, and for a trace. Default ''.
            system: Instructions that stand before the prompt; empty sends none. Default ''.
            temperature: How freely the model chooses words; empty leaves it to the provider. Default None.
            max_tokens: Where the provider cuts the answer; empty leaves it to the provider. Default None tokens.
            effort: How much the model thinks before it answers, if it can; empty leaves it to the provider. Default None.
        """
        resources = {"provider": provider, "tools": tools}
        params: dict[str, Any] = {
            "model": model,
            "system": system,
            "temperature": temperature,
            "max_tokens": max_tokens,
            "effort": effort,
        }
        return ChatReplyNode(self, self._node("chat-reply", id, policy, resources, params))

    def chunker(
        self,
        id: str | None = None,
        /,
        *,
        max_tokens: int | Unset = UNSET,
        until: Literal["sentence", "count"] | Unset = UNSET,
        policy: PolicyLike | None = None,
    ) -> ChunkerNode:
        """Joins tokens into sentences or pieces of a largest size.

        Args:
            id: Its id; made from the name without one.
            max_tokens: A chunk is cut at so many tokens at the latest. Default 20 tokens.
            until: Where a chunk may end: at the end of a sentence or line, or only at the longest length. Default 'sentence'.
        """
        resources = None
        params: dict[str, Any] = {
            "max_tokens": max_tokens,
            "until": until,
        }
        return ChunkerNode(self, self._node("chunker", id, policy, resources, params))

    def conversations(
        self,
        id: str | None = None,
        /,
        *,
        conversations: int | Unset = UNSET,
        turns: Sequence[Mapping[str, Any]] | Unset = UNSET,
        apart_s: float | Unset = UNSET,
        policy: PolicyLike | None = None,
    ) -> ConversationsNode:
        """Lets many people talk at once, turn by turn.

        Args:
            id: Its id; made from the name without one.
            conversations: How many conversations one run opens; each says all the turns. Default 8 conversations.
            turns: What is said, turn by turn: text, after_s (pause before it in seconds) and barge_in (interrupt what goes on). {conversation} in a text is the conversation's id; the text given to a run takes the place of the first. Default (Say(text='Why should a program ever wait on purpose?', after_s=0.0, barge_in=False), Say(text='And if it did not?', after_s=1.0, barge_in=False)).
            apart_s: How much later than the one before each conversation says its first text. Default 0.2 s.
        """
        resources = None
        params: dict[str, Any] = {
            "conversations": conversations,
            "turns": turns,
            "apart_s": apart_s,
        }
        return ConversationsNode(self, self._node("conversations", id, policy, resources, params))

    def counter(
        self,
        id: str | None = None,
        /,
        *,
        policy: PolicyLike | None = None,
    ) -> CounterNode:
        """Counts what comes, by kind."""
        resources = None
        params: dict[str, Any] = {
        }
        return CounterNode(self, self._node("counter", id, policy, resources, params))

    def dead_letter(
        self,
        id: str | None = None,
        /,
        *,
        is_shown: bool | Unset = UNSET,
        policy: PolicyLike | None = None,
    ) -> DeadLetterNode:
        """Tells of events that a node gave up on, and passes them on.

        Args:
            id: Its id; made from the name without one.
            is_shown: Shows one line for each letter: who gave up on what, after how many tries, and why. Default True.
        """
        resources = None
        params: dict[str, Any] = {
            "is_shown": is_shown,
        }
        return DeadLetterNode(self, self._node("dead-letter", id, policy, resources, params))

    def delay(
        self,
        id: str | None = None,
        /,
        *,
        seconds: float | Unset = UNSET,
        jitter: float | Unset = UNSET,
        failures: float | Unset = UNSET,
        policy: PolicyLike | None = None,
    ) -> DelayNode:
        """Holds each event for a while: a slow consumer.

        Args:
            id: Its id; made from the name without one.
            seconds: How long one event is held, on average. Default 0.1 s.
            jitter: Share of the delay that is left to chance: 0 is even, 1 is anything from none to twice the delay. Default 0.0.
            failures: Share of tries that fail when the delay is over, by chance: 0 is none, 1 is all. Such a failure may be tried again; see the policy's retry. Default 0.0.
        """
        resources = None
        params: dict[str, Any] = {
            "seconds": seconds,
            "jitter": jitter,
            "failures": failures,
        }
        return DelayNode(self, self._node("delay", id, policy, resources, params))

    def index(
        self,
        id: str | None = None,
        /,
        *,
        index: ResourceHandle | str | Unset = UNSET,
        policy: PolicyLike | None = None,
    ) -> IndexNode:
        """Puts texts into a document index while a run goes on.

        Args:
            id: Its id; made from the name without one.
            index: A index.
        """
        resources = {"index": index}
        params: dict[str, Any] = {
        }
        return IndexNode(self, self._node("index", id, policy, resources, params))

    def join(
        self,
        id: str | None = None,
        /,
        *,
        mode: Literal["all", "zip"] | Unset = UNSET,
        leftover: Literal["drop", "error"] | Unset = UNSET,
        max_parts: int | Unset = UNSET,
        separator: str | Unset = UNSET,
        policy: PolicyLike | None = None,
    ) -> JoinNode:
        """Brings together what belongs together from several branches.

        Args:
            id: Its id; made from the name without one.
            mode: All: every part of one source event, from each branch, also where a branch sent none; zip: one event of each branch. Default 'all'.
            leftover: What zip does with an event that nothing can be paired with: drop and count it, or fail the conversation. Not looked at by all. Default 'drop'.
            max_parts: Parts of one conversation that may be kept beside the queue, where one branch makes more of a source event than its places hold, or is ahead of another for good. Default 8 events.
            separator: What stands between the texts of the parts. Default ' '.
        """
        resources = None
        params: dict[str, Any] = {
            "mode": mode,
            "leftover": leftover,
            "max_parts": max_parts,
            "separator": separator,
        }
        return JoinNode(self, self._node("join", id, policy, resources, params))

    def jsonl(
        self,
        id: str | None = None,
        /,
        *,
        path: str | Unset | None = UNSET,
        rotate_bytes: int | Unset | None = UNSET,
        keep_files: int | Unset = UNSET,
        policy: PolicyLike | None = None,
    ) -> JsonlNode:
        """Logs each event as one line of JSON.

        Args:
            id: Its id; made from the name without one.
            path: File that lines are appended to, relative to the graph's file; empty shows the lines instead. Default None.
            rotate_bytes: A file that would grow beyond it is renamed, with .1 at its name, and a new one begins; a longer line stands alone in its file. Empty lets the file grow. Default None bytes.
            keep_files: Renamed files that are kept, from .1, the youngest; the oldest is deleted. Default 5 files.
        """
        resources = None
        params: dict[str, Any] = {
            "path": path,
            "rotate_bytes": rotate_bytes,
            "keep_files": keep_files,
        }
        return JsonlNode(self, self._node("jsonl", id, policy, resources, params))

    def map(
        self,
        id: str | None = None,
        /,
        *,
        expression: str | Unset = UNSET,
        field: str | Unset = UNSET,
        policy: PolicyLike | None = None,
    ) -> MapNode:
        """Changes a field of each payload by an expression.

        Args:
            id: Its id; made from the name without one.
            expression: What the field becomes, such as replace(text, 'a', 'b'); the payload's fields are its names. None drops the event. Default 'upper(text)'.
            field: The field of the payload that takes the value. Default 'text'.
        """
        resources = None
        params: dict[str, Any] = {
            "expression": expression,
            "field": field,
        }
        return MapNode(self, self._node("map", id, policy, resources, params))

    def merge(
        self,
        id: str | None = None,
        /,
        *,
        policy: PolicyLike | None = None,
    ) -> MergeNode:
        """Brings several streams together, as they come."""
        resources = None
        params: dict[str, Any] = {
        }
        return MergeNode(self, self._node("merge", id, policy, resources, params))

    def partition(
        self,
        id: str | None = None,
        /,
        *,
        mode: Literal["key", "room"] | Unset = UNSET,
        key: str | Unset = UNSET,
        policy: PolicyLike | None = None,
    ) -> PartitionNode:
        """Spreads events over branches, by a key or by who has room.

        Args:
            id: Its id; made from the name without one.
            mode: Key: events of one key always take the same branch; room: the branch with the least to do that has room. Default 'key'.
            key: An expression over the payload's fields, such as lower(name); not looked at where events go by room. Default 'conversation'.
        """
        resources = None
        params: dict[str, Any] = {
            "mode": mode,
            "key": key,
        }
        return PartitionNode(self, self._node("partition", id, policy, resources, params))

    def rag_prompt(
        self,
        id: str | None = None,
        /,
        *,
        template: str | Unset = UNSET,
        max_passages: int | Unset = UNSET,
        max_characters: int | Unset = UNSET,
        nothing: str | Unset = UNSET,
        policy: PolicyLike | None = None,
    ) -> RagPromptNode:
        """Makes a prompt of a question and the passages found for it.

        Args:
            id: Its id; made from the name without one.
            template: The prompt; {passages} and {question} stand for what they say. Default 'Answer the question from the passages below, and from nothing else. Name the number of each passage you use in brackets, such as [1]. Say so if they do not hold the answer.\\n\\n{passages}\\n\\nQuestion: {question}'.
            max_passages: Passages of one prompt; those that come behind are left out. Default 6 passages.
            max_characters: Characters of all passages of one prompt together; one that does not fit is left out. Default 6000 characters.
            nothing: Stands in place of the passages where nothing was found. Default '(Nothing was found.)'.
        """
        resources = None
        params: dict[str, Any] = {
            "template": template,
            "max_passages": max_passages,
            "max_characters": max_characters,
            "nothing": nothing,
        }
        return RagPromptNode(self, self._node("rag-prompt", id, policy, resources, params))

    def rate_limit(
        self,
        id: str | None = None,
        /,
        *,
        rate: float | Unset = UNSET,
        burst: int | Unset = UNSET,
        policy: PolicyLike | None = None,
    ) -> RateLimitNode:
        """Lets through so many events a second, and bursts of a size.

        Args:
            id: Its id; made from the name without one.
            rate: Events per second that each conversation may have on average. Default 20.0 events/s.
            burst: Events that may leave at once after a pause; 1 spaces them evenly. Default 1 events.
        """
        resources = None
        params: dict[str, Any] = {
            "rate": rate,
            "burst": burst,
        }
        return RateLimitNode(self, self._node("rate-limit", id, policy, resources, params))

    def redact(
        self,
        id: str | None = None,
        /,
        *,
        patterns: Sequence[str] | Unset = UNSET,
        replacement: str | Unset = UNSET,
        ignore_case: bool | Unset = UNSET,
        policy: PolicyLike | None = None,
    ) -> RedactNode:
        """Replaces what matches a pattern within one event.

        Args:
            id: Its id; made from the name without one.
            patterns: Regular expressions of what must not pass; each is applied in turn. Default ('[\\\\w.+-]+@[\\\\w-]+\\\\.[\\\\w.-]+',).
            replacement: What stands in place of a match, letter by letter. Default '[redacted]'.
            ignore_case: Whether capital and small letters count as the same. Default False.
        """
        resources = None
        params: dict[str, Any] = {
            "patterns": patterns,
            "replacement": replacement,
            "ignore_case": ignore_case,
        }
        return RedactNode(self, self._node("redact", id, policy, resources, params))

    def replay(
        self,
        id: str | None = None,
        /,
        *,
        path: str | Unset = UNSET,
        speed: float | Unset = UNSET,
        conversations: int | Unset = UNSET,
        policy: PolicyLike | None = None,
    ) -> ReplayNode:
        """Plays a recorded stream with its own times.

        Args:
            id: Its id; made from the name without one.
            path: The trace file, relative to the graph's file, else to the shipped graphs. Default 'traces/slow-speech.trace'.
            speed: How many times faster than recorded; 0 is as fast as it is taken. Default 1.0 ×.
            conversations: How many conversations one run opens; each plays the whole trace. Default 1 conversations.
        """
        resources = None
        params: dict[str, Any] = {
            "path": path,
            "speed": speed,
            "conversations": conversations,
        }
        return ReplayNode(self, self._node("replay", id, policy, resources, params))

    def retrieve(
        self,
        id: str | None = None,
        /,
        *,
        index: ResourceHandle | str | Unset = UNSET,
        limit: int | Unset = UNSET,
        min_share: float | Unset = UNSET,
        policy: PolicyLike | None = None,
    ) -> RetrieveNode:
        """Finds passages for a text in a document index.

        Args:
            id: Its id; made from the name without one.
            index: A index.
            limit: Most passages for one text. Default 4 passages.
            min_share: Leaves out what scores less than this share of the best passage, 0 to 1. Default 0.0.
        """
        resources = {"index": index}
        params: dict[str, Any] = {
            "limit": limit,
            "min_share": min_share,
        }
        return RetrieveNode(self, self._node("retrieve", id, policy, resources, params))

    def router(
        self,
        id: str | None = None,
        /,
        *,
        policy: PolicyLike | None = None,
    ) -> RouterNode:
        """Sends reasoning, answer and refusal their own ways."""
        resources = None
        params: dict[str, Any] = {
        }
        return RouterNode(self, self._node("router", id, policy, resources, params))

    def safety(
        self,
        id: str | None = None,
        /,
        *,
        terms: Sequence[str] | Unset = UNSET,
        patterns: Sequence[str] | Unset = UNSET,
        category: str | Unset = UNSET,
        mode: Literal["redact", "block"] | Unset = UNSET,
        replacement: str | Unset = UNSET,
        window: int | Unset = UNSET,
        ignore_case: bool | Unset = UNSET,
        policy: PolicyLike | None = None,
    ) -> SafetyNode:
        """Withholds forbidden text, also across tokens, and labels it.

        Args:
            id: Its id; made from the name without one.
            terms: Words or texts that must not pass, letter by letter. Default ('swordfish',).
            patterns: Regular expressions of what must not pass. Default ().
            category: The word that labels of this filter carry, such as violence. Default 'forbidden'.
            mode: Redact puts the replacement in its place and goes on; block lets nothing of the turn through behind it. Default 'redact'.
            replacement: What stands in place of a match, letter by letter. Default '[withheld]'.
            window: Characters that are held back: so long a match is caught for certain, and so much later a text is read. Default 40 characters.
            ignore_case: Whether capital and small letters count as the same. Default True.
        """
        resources = None
        params: dict[str, Any] = {
            "terms": terms,
            "patterns": patterns,
            "category": category,
            "mode": mode,
            "replacement": replacement,
            "window": window,
            "ignore_case": ignore_case,
        }
        return SafetyNode(self, self._node("safety", id, policy, resources, params))

    def sample(
        self,
        id: str | None = None,
        /,
        *,
        every: int | Unset | None = UNSET,
        share: float | Unset = UNSET,
        policy: PolicyLike | None = None,
    ) -> SampleNode:
        """Lets one of n events through, or a share of them.

        Args:
            id: Its id; made from the name without one.
            every: Lets the first of each so many events through; empty leaves it to chance. Default None events.
            share: Part of the events that chance lets through, 0 to 1; the same ones for the same seed. Not looked at where one of so many is chosen. Default 0.1.
        """
        resources = None
        params: dict[str, Any] = {
            "every": every,
            "share": share,
        }
        return SampleNode(self, self._node("sample", id, policy, resources, params))

    def screen(
        self,
        id: str | None = None,
        /,
        *,
        policy: PolicyLike | None = None,
    ) -> ScreenNode:
        """Shows text as it comes."""
        resources = None
        params: dict[str, Any] = {
        }
        return ScreenNode(self, self._node("screen", id, policy, resources, params))

    def speech(
        self,
        id: str | None = None,
        /,
        *,
        engine: ResourceHandle | str | Unset = UNSET,
        seconds_per_chunk: float | Unset = UNSET,
        words_per_minute: float | Unset | None = UNSET,
        policy: PolicyLike | None = None,
    ) -> SpeechNode:
        """Says each piece of text, paced as speech is.

        Args:
            id: Its id; made from the name without one.
            engine: A speech-engine.
            seconds_per_chunk: How long one piece takes to say without an engine, whatever its length. Default 0.25 s.
            words_per_minute: Pace by words instead, without an engine; empty takes the time per chunk. Default None words/min.
        """
        resources = {"engine": engine}
        params: dict[str, Any] = {
            "seconds_per_chunk": seconds_per_chunk,
            "words_per_minute": words_per_minute,
        }
        return SpeechNode(self, self._node("speech", id, policy, resources, params))

    def sqlite_log(
        self,
        id: str | None = None,
        /,
        *,
        path: str | Unset | None = UNSET,
        batch: int | Unset = UNSET,
        max_records: int | Unset | None = UNSET,
        policy: PolicyLike | None = None,
    ) -> SqliteLogNode:
        """Logs each event as a row of a SQLite table.

        Args:
            id: Its id; made from the name without one.
            path: Database that rows are added to, relative to the graph's file; empty keeps them in memory until the turn ends, to try it out. Default None.
            batch: Events of one transaction. With 1 each is safe as soon as it is processed; with more, those that wait for the rest are lost when the turn is cancelled or the program is killed. Default 1 events.
            max_records: The oldest records make room for new ones beyond so many; empty keeps all. Default None records.
        """
        resources = None
        params: dict[str, Any] = {
            "path": path,
            "batch": batch,
            "max_records": max_records,
        }
        return SqliteLogNode(self, self._node("sqlite-log", id, policy, resources, params))

    def synthetic(
        self,
        id: str | None = None,
        /,
        *,
        count: int | Unset = UNSET,
        rate: float | Unset = UNSET,
        jitter: float | Unset = UNSET,
        burst: int | Unset = UNSET,
        reasoning_share: float | Unset = UNSET,
        text: str | Unset = UNSET,
        conversations: int | Unset = UNSET,
        policy: PolicyLike | None = None,
    ) -> SyntheticNode:
        """Makes tokens at a rate, with jitter and bursts.

        Args:
            id: Its id; made from the name without one.
            count: How many tokens each conversation gets. Default 100 tokens.
            rate: Tokens per second on average; 0 is as fast as they are taken. Default 20.0 tokens/s.
            jitter: Share of each pause that is left to chance: 0 is even, 1 is anything from none to twice the pause. Default 0.0.
            burst: Tokens that arrive together; the pause after them is as much longer. Default 1 tokens.
            reasoning_share: Part of the tokens, from the start, that goes to the reasoning channel. Default 0.0.
            text: The text of each token; {n} is its number from 1, {conversation} its conversation. Default '{n} '.
            conversations: How many conversations one run opens. Default 1 conversations.
        """
        resources = None
        params: dict[str, Any] = {
            "count": count,
            "rate": rate,
            "jitter": jitter,
            "burst": burst,
            "reasoning_share": reasoning_share,
            "text": text,
            "conversations": conversations,
        }
        return SyntheticNode(self, self._node("synthetic", id, policy, resources, params))

    def template(
        self,
        id: str | None = None,
        /,
        *,
        template: str | Unset = UNSET,
        role: Literal["user", "assistant", "system"] | Unset = UNSET,
        policy: PolicyLike | None = None,
    ) -> TemplateNode:
        """Makes a text of an event's fields.

        Args:
            id: Its id; made from the name without one.
            template: The text, with names in braces: a field of the payload, or conversation, turn, sequence, kind, input. {{ and }} are braces. Default '{text}'.
            role: Whose message it is; a prompt for a model is the user's. Default 'user'.
        """
        resources = None
        params: dict[str, Any] = {
            "template": template,
            "role": role,
        }
        return TemplateNode(self, self._node("template", id, policy, resources, params))

    def text_input(
        self,
        id: str | None = None,
        /,
        *,
        text: str | Unset = UNSET,
        path: str | Unset | None = UNSET,
        split: Literal["lines", "paragraphs", "whole"] | Unset = UNSET,
        conversations: Literal["one", "each"] | Unset = UNSET,
        role: Literal["user", "assistant", "system"] | Unset = UNSET,
        policy: PolicyLike | None = None,
    ) -> TextInputNode:
        """Sends lines or paragraphs of a text or file.

        Args:
            id: Its id; made from the name without one.
            text: What is read where no file is named; the text given to a run takes its place. Default 'Why should a program ever wait on purpose?'.
            path: Text file in UTF-8, relative to the graph's file, else to the shipped graphs. Default None.
            split: Lines, paragraphs between blank lines, or the whole as one; empty ones are left out. Default 'lines'.
            conversations: All texts one after another in one conversation, or each in one of its own. Default 'one'.
            role: Whose messages they are; a prompt for a model is the user's. Default 'user'.
        """
        resources = None
        params: dict[str, Any] = {
            "text": text,
            "path": path,
            "split": split,
            "conversations": conversations,
            "role": role,
        }
        return TextInputNode(self, self._node("text-input", id, policy, resources, params))

    def tool_assemble(
        self,
        id: str | None = None,
        /,
        *,
        max_calls: int | Unset = UNSET,
        max_characters: int | Unset = UNSET,
        policy: PolicyLike | None = None,
    ) -> ToolAssembleNode:
        """Joins the pieces of tool calls that a model streams.

        Args:
            id: Its id; made from the name without one.
            max_calls: Most calls that are open at once; an answer with more fails the conversation. Default 16 calls.
            max_characters: Most text of all calls of one answer; a call that is cut by it is not made. Default 200000 characters.
        """
        resources = None
        params: dict[str, Any] = {
            "max_calls": max_calls,
            "max_characters": max_characters,
        }
        return ToolAssembleNode(self, self._node("tool-assemble", id, policy, resources, params))

    def tool_call(
        self,
        id: str | None = None,
        /,
        *,
        tools: ResourceHandle | str | Unset = UNSET,
        timeout_s: float | Unset = UNSET,
        max_result_bytes: int | Unset = UNSET,
        on_error: Literal["tell", "fail"] | Unset = UNSET,
        retries: int | Unset = UNSET,
        retry_wait_s: float | Unset = UNSET,
        allow_private: bool | Unset = UNSET,
        policy: PolicyLike | None = None,
    ) -> ToolCallNode:
        """Calls the tools that a model asks for.

        Args:
            id: Its id; made from the name without one.
            tools: A tools.
            timeout_s: Longest time for one attempt. Default 30.0 s.
            max_result_bytes: A longer result is cut there, and says so. Default 65536 bytes.
            on_error: Tell gives the model the error as the result, so that it can mend its call; fail ends the conversation. Default 'tell'.
            retries: How often a call that failed for now is made again, where its tool says that calling it twice does no harm, or where nothing was sent. Default 2 calls.
            retry_wait_s: Before the first retry; doubled for each further one. A server's own word goes before. Default 0.5 s.
            allow_private: Lets HTTP tools call this machine and private networks. Without it they refuse, also after redirects and whatever a name leads to. Default False.
        """
        resources = {"tools": tools}
        params: dict[str, Any] = {
            "timeout_s": timeout_s,
            "max_result_bytes": max_result_bytes,
            "on_error": on_error,
            "retries": retries,
            "retry_wait_s": retry_wait_s,
            "allow_private": allow_private,
        }
        return ToolCallNode(self, self._node("tool-call", id, policy, resources, params))

    def index_resource(
        self,
        id: str | None = None,
        /,
        *,
        documents: str | Unset = UNSET,
        files: Sequence[str] | Unset = UNSET,
        file: str | Unset = UNSET,
        passage_characters: int | Unset = UNSET,
    ) -> ResourceHandle:
        """Local text, Markdown and PDF files that can be searched.

        Args:
            id: Its id; made from the name without one.
            documents: Folder of the documents, or one document, relative to the graph's folder, else to the shipped graphs; empty begins with none. Default 'documents'.
            files: Which files of the folder, as patterns; ** is any folder below. Default ('**/*.md', '**/*.txt', '**/*.pdf').
            file: File that keeps the index for the next run, relative to the graph's folder; empty makes it anew in memory each time, which is quick for some hundred pages. Default ''.
            passage_characters: Longest passage that is found as one. Default 600 characters.
        """
        return self.resource("index", id, {
            "documents": documents,
            "files": files,
            "file": file,
            "passage_characters": passage_characters,
        })

    def local_model(
        self,
        id: str | None = None,
        /,
        *,
        model: str | Unset = UNSET,
        force: Literal["nothing", "reasoning", "tool-call"] | Unset = UNSET,
        threads: int | Unset = UNSET,
        context_tokens: int | Unset = UNSET,
        parallel: int | Unset = UNSET,
        load_timeout_s: float | Unset = UNSET,
    ) -> ResourceHandle:
        """A small model that runs on this machine, without an account.

        Args:
            id: Its id; made from the name without one.
            model: A model's file (GGUF), relative to the graph's folder; empty takes the small one that `make live` installs (SmolLM2, 135 million weights). Default ''.
            force: What the small model is made to send although it was never taught it: reasoning before each answer, or a tool call where the node has tools. What comes over the wire has the real form; what it says means little. Default 'nothing'.
            threads: How many processor cores compute. More are faster on an idle machine and much slower on a busy one. Default 1 threads.
            context_tokens: Longest prompt and answer together. Default 2048 tokens.
            parallel: How many answers are written at once; further requests wait at the server. Default 1 answers.
            load_timeout_s: Longest wait until the model is loaded. Default 120.0 s.
        """
        return self.resource("local-model", id, {
            "model": model,
            "force": force,
            "threads": threads,
            "context_tokens": context_tokens,
            "parallel": parallel,
            "load_timeout_s": load_timeout_s,
        })

    def provider(
        self,
        id: str | None = None,
        /,
        *,
        endpoint: str | Unset = UNSET,
        trace: str | Unset = UNSET,
        more_traces: Sequence[str] | Unset = UNSET,
        dialect: str | Unset = UNSET,
        credential: str | Unset = UNSET,
        first_byte_timeout_s: float | Unset = UNSET,
        idle_timeout_s: float | Unset = UNSET,
        total_timeout_s: float | Unset | None = UNSET,
        max_concurrent: int | Unset | None = UNSET,
        requests_per_minute: int | Unset | None = UNSET,
        retries: int | Unset = UNSET,
        longest_retry_wait_s: float | Unset = UNSET,
    ) -> ResourceHandle:
        """A model endpoint, or a trace that answers as one.

        Args:
            id: Its id; made from the name without one.
            endpoint: Address of the API, such as http://127.0.0.1:11434 or one that ends in /v1. Default ''.
            trace: A recorded answer that is replayed instead; relative to the graph's folder. Default ''.
            more_traces: Recorded answers to the second and the further requests of one exchange, such as those of a tool loop; the last one answers all that come after it. Default ().
            dialect: The wire format; a trace knows its own. Default 'openai-chat'.
            credential: Name of the environment variable, or of the entry in the system's keyring, that holds the key; never the key itself. Default ''.
            first_byte_timeout_s: Longest wait for the answer to begin; a server may load its model first. Also for a request's turn, while the open ones stand still. Default 300.0 s.
            idle_timeout_s: Longest silence inside an answer; any byte counts as a sign of life. Default 60.0 s.
            total_timeout_s: Longest wait for a whole answer, counted while the graph waits for the server; empty sets no limit. Default None s.
            max_concurrent: How many requests are open at once, over all nodes that share this provider; further ones wait their turn. Nodes that feed one another need a place each. Empty sets no limit. Default None requests.
            requests_per_minute: How many requests begin in any 60 seconds, over all nodes that share this provider; further ones wait their turn. Empty sets no limit. Default None requests.
            retries: How often a refusal that will pass (429, 503) is answered by asking again; never after an answer has begun. Default 2 requests.
            longest_retry_wait_s: Longest wait before asking again; a server that asks for more fails at once. Default 30.0 s.
        """
        return self.resource("provider", id, {
            "endpoint": endpoint,
            "trace": trace,
            "more_traces": more_traces,
            "dialect": dialect,
            "credential": credential,
            "first_byte_timeout_s": first_byte_timeout_s,
            "idle_timeout_s": idle_timeout_s,
            "total_timeout_s": total_timeout_s,
            "max_concurrent": max_concurrent,
            "requests_per_minute": requests_per_minute,
            "retries": retries,
            "longest_retry_wait_s": longest_retry_wait_s,
        })

    def speech_engine(
        self,
        id: str | None = None,
        /,
        *,
        engine: Literal["auto", "hibari", "espeak-ng", "silent"] | Unset = UNSET,
        voice: str | Unset = UNSET,
        words_per_minute: float | Unset | None = UNSET,
        file: str | Unset = UNSET,
        timeout_s: float | Unset = UNSET,
    ) -> ResourceHandle:
        """A voice, heard from the sound device or kept in a WAV file.

        Args:
            id: Its id; made from the name without one.
            engine: Who speaks. auto takes hibari where it is installed, else espeak-ng, else none: then the time passes in silence, and the node says so. Default 'auto'.
            voice: Name of a voice or language that the engine knows, such as en-gb or de for espeak-ng; empty takes its usual one. hibari speaks English. Default ''.
            words_per_minute: How fast it speaks, about; empty takes the engine's own pace. Default None words/min.
            file: WAV file that is spoken into instead, relative to the graph's folder; what is there stays, and it is whole at any time. Empty plays to the sound device. Default ''.
            timeout_s: Longest wait until a sentence has been made. Default 20.0 s.
        """
        return self.resource("speech-engine", id, {
            "engine": engine,
            "voice": voice,
            "words_per_minute": words_per_minute,
            "file": file,
            "timeout_s": timeout_s,
        })

    def tools(
        self,
        id: str | None = None,
        /,
        *,
        functions: Sequence[str] | Unset = UNSET,
        http: Sequence[Mapping[str, Any]] | Unset = UNSET,
        servers: Sequence[Mapping[str, Any]] | Unset = UNSET,
        effects: Mapping[str, Any] | Unset = UNSET,
    ) -> ResourceHandle:
        """Python functions, HTTP calls and MCP servers that a model may ask for.

        Args:
            id: Its id; made from the name without one.
            functions: Names of Python tools: of an installed package, or of a file that the run is given with --operators. Default ('calculator', 'clock').
            http: HTTP calls, each a tool: name, description, url, method, parameters (a JSON Schema) and credential. Default ().
            servers: MCP servers, whose tools are taken: the name of a server of this machine, or a url. Default ().
            effects: What calling a tool twice would do, by its name, where its own word is to be changed: none, idempotent or non_idempotent. Default {}.
        """
        return self.resource("tools", id, {
            "functions": functions,
            "http": http,
            "servers": servers,
            "effects": effects,
        })
