"""Random graphs for property tests: their shape, their run on the virtual clock, their books.

A payload's text is the way it took: `c1:s:3` begins at source s, each node appends its own
part, so what must come out is known from the graph alone (`expected`).

It is long because a kind of node is drawn, built, read by the oracle and watched by the same few
words: whoever adds one finds all its places in one file. Effects and what is reached stand apart.
"""

from __future__ import annotations

import asyncio
import os
import random
import re
import sys
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from operator import length_hint
from typing import Any
from zlib import crc32

import msgspec
from hypothesis import settings
from hypothesis import strategies as st

from aiflow.clock import VirtualLoop
from aiflow.compiler.strategies import STRATEGIES, apply_strategy
from aiflow.engine.cells import Guardian
from aiflow.engine.session import Session
from aiflow.engine.stepping import Round
from aiflow.events import Chunk, DeadLetter, Joined, Message, Payload
from aiflow.graph.model import Feedback
from aiflow.metrics.snapshot import Snapshot
from aiflow.operators.base import Emit, Joining, NextTurn
from aiflow.operators.scope import Scope
from aiflow.testing.plans import PlanBuilder
from tests.runtime.engine.random_effects import Effects, EffectSpec, points_of

KINDS = (
    "pass", "filter", "list", "generator", "emit", "wait", "wait_list", "stream", "timed", "keep",
)  # fmt: skip
#: Kinds that bring branches together, or send back what they get. Joins wait for whatever an
#: operator may still emit, so none that keeps things without saying so is among them.
FLOW_KINDS = (*(kind for kind in KINDS if kind != "keep"), "join", "join", "loop", "loop")
#: The same, with pairs, and with an operator that says what it keeps until the end.
PAIR_KINDS = (*FLOW_KINDS, "zip", "zip", "zip", "hold")
#: Flows with nodes that send each output by one of two ports, whichever has room.
SPREAD_KINDS = (
    *("pass", "filter", "list", "generator", "wait", "join", "loop"),
    *(7 * ("spread",)),
)
#: Kinds whose operator may block its thread.
PLAIN_KINDS = ("pass", "filter", "list", "generator", "emit")
#: Kinds with a port for each node before them.
JOINS = ("join", "zip")
#: Kinds that have one worker.
KEEPERS = ("keep", "hold")
#: Parts that a join may keep: more than any of these graphs makes of one event.
MOST_PARTS = 1_000
#: Events of one item that may have come back to a loop and wait: as many as are begun at once.
RETURNS = 7


#: Most outputs of one event that any kind has.
MOST_OUTPUTS = 3
#: The sink that all dead letters go to.
GRAVE = "grave"
#: How many times as many graphs each law looks at as in the ordinary run.
TIMES = int(os.environ.get("AIFLOW_GRAPHS", "1"))
CANCELS = ("propagate", "propagate", "drain", "shield")
#: Ways to run a graph, the bounded one most often.
ALL_STRATEGIES = ("aiflow", "aiflow", *STRATEGIES)


def many(count: int) -> settings:
    """Have a law look at this many graphs, or at `AIFLOW_GRAPHS` times as many."""
    return settings(max_examples=count * TIMES)


class ShuffledLoop(VirtualLoop):
    """A virtual loop whose ready callbacks run in another order in each turn.

    Args:
        key: of its chance; None shuffles nothing.
        tick_s: seconds that pass with each look at its clock, so that slices end by time.
    """

    def __init__(self, key: int | None, tick_s: float = 0.0) -> None:
        self._tick_s = tick_s
        self._ticked_s = 0.0
        super().__init__()
        self._chance = None if key is None else random.Random(key)
        if self._chance is not None:
            ShuffledRound.of(self).chance = self._chance

    def time(self) -> float:
        """Return the virtual time in seconds."""
        self._ticked_s += self._tick_s
        return super().time() + self._ticked_s

    def _run_once(self) -> None:
        if self._chance is not None:
            self._chance.shuffle(self._ready)  # type: ignore[attr-defined]
        super()._run_once()  # type: ignore[misc]


class ShuffledRound(Round):
    """A round whose steppers come in another order in each turn.

    Attributes:
        chance: of the loop.
    """

    chance: random.Random

    def run(self) -> None:
        """Step each of those who are in line now."""
        self.chance.shuffle(self.line)
        super().run()


@dataclass(frozen=True)
class NodeSpec:
    """One node: what it does, its policy, the nodes before it with the edge's overflow."""

    kind: str
    before: tuple[tuple[str, str | None], ...]
    queue_capacity: int
    workers: int
    reorder_capacity: int
    overflow: str
    pace: int
    cancel: str = "propagate"


@dataclass(frozen=True)
class RetrySpec:
    """How a node's tries fail and what is done about it.

    Attributes:
        how: a failing try raises, hangs (where it awaits) or breaks off after its first output.
    """

    attempts: int
    backoff: int
    how: str
    then: str
    #: Hundredths of a second that all tries have together, None for any time.
    total: int | None = None

    def failing(self, name: str, text: str) -> int:
        """Return how many tries of one text fail before one succeeds."""
        return (0, 0, 0, 1, 2, 9)[crc32(f"{name} {text}".encode()) % 6]

    def gives_up(self, name: str, text: str) -> bool:
        """Say whether all tries of one text fail."""
        return self.failing(name, text) >= self.attempts

    def policy(self) -> dict[str, Any]:
        """Return the policy's member."""
        return {
            "attempts": self.attempts,
            "backoff_s": self.backoff * 0.01,
            "jitter": 0.5,
            "timeout_s": 0.5 if self.how == "hangs" else None,
            "total_timeout_s": None if self.total is None else self.total * 0.01,
            "retry_on": ("any",),
            "then": self.then,
        }


@dataclass(frozen=True)
class GraphSpec:
    """A whole graph: sources by name with (events, pace, is_async), then nodes in order.

    Attributes:
        marks: source -> (events before it, whether it barges in) of each of its next turns.
        cancels: (conversation, call at which it is cancelled, turn or None for the whole).
        retries: node -> how its tries fail; where it gives up by `dead`, that leads to GRAVE.
        keys: node -> its partition key, where its state is partitioned.
        commits: nodes whose state is transactional; it is a list of the texts they have worked on.
    """

    sources: dict[str, tuple[int, int, bool]]
    nodes: dict[str, NodeSpec]
    conversations: int
    max_conversations: int
    is_droppable: bool
    fails_at: int | None = None
    cancels: tuple[tuple[int, int, int | None], ...] = ()
    stops_at: int | None = None
    is_logged: bool = True
    #: (number of the operator call, node, policy members) of each change while it runs.
    tunings: tuple[tuple[int, str, dict[str, Any]], ...] = ()
    #: (number of the operator call, edge, hundredths of a second, steps) of each breakpoint.
    holds: tuple[tuple[int, int, int, int], ...] = ()
    is_traced: bool = False
    marks: dict[str, tuple[tuple[int, bool], ...]] = field(default_factory=dict)
    takes_turns: bool = False
    retries: dict[str, RetrySpec] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)
    commits: frozenset[str] = frozenset()
    #: Node -> its barrier, where its effects are speculative.
    effects: dict[str, EffectSpec] = field(default_factory=dict)
    #: Node -> bytes that may wait in its queue.
    most_bytes: dict[str, int] = field(default_factory=dict)
    #: Hundredths of a second that each conversation has, None for any time.
    deadline: int | None = None
    #: Key by which the loop's ready callbacks are shuffled, None where they run as they came.
    shuffle: int | None = None
    #: Sources that let go of what is in their hand when their turn is cancelled.
    drained: frozenset[str] = frozenset()
    #: How the plan is rewritten before it runs.
    strategy: str = "aiflow"
    #: Nodes whose operator blocks; on the virtual clock it is called like any plain function.
    blocking: frozenset[str] = frozenset()
    #: Microseconds that pass with each look at the clock: slices end by time, anywhere.
    tick: int = 0

    def workers(self, name: str) -> int:
        """Return how many workers a node has."""
        is_one = self.nodes[name].kind in KEEPERS or name in self.commits
        return 1 if is_one else self.nodes[name].workers

    def carried(self, name: str) -> set[str]:
        """Return the sources whose events a node sends on: what pairs, those of its first input."""
        if name in self.sources:
            return {name}
        if self.nodes[name].kind == "zip":
            return self.carried(self.nodes[name].before[0][0])
        return set().union(*(self.carried(before) for before, _ in self.nodes[name].before))

    def pairs_by_arrival(self, name: str) -> bool:
        """Say whether a zip cannot know what belongs together."""
        node = self.nodes[name]
        first, *others = (self.carried(before) for before, _ in node.before)
        return node.kind == "zip" and any(each != first for each in others)

    def is_behind_chance(self, name: str) -> bool:
        """Say whether what a node gets depends on what came first somewhere."""
        if name in self.sources:
            return False
        return any(
            self.is_behind_chance(before)
            or (before in self.nodes and self.pairs_by_arrival(before))
            for before, _ in self.nodes[name].before
        )

    def port(self, name: str, before: str) -> str:
        """Return the port of a node that leads to another: of those that spread, one of two."""
        if before in self.sources or self.nodes[before].kind != "spread":
            return "out"
        behind = [each for each, node in self.nodes.items() if before in dict(node.before)]
        return "ab"[behind.index(name) % 2]

    def sinks(self) -> list[str]:
        """Return the nodes that nothing comes after."""
        before = {name for node in self.nodes.values() for name, _ in node.before}
        return [name for name in self.nodes if name not in before]


_BARRIER = st.builds(EffectSpec, st.integers(1, 4), st.none() | st.integers(1, 5))
_HOLD = st.tuples(st.integers(1, 40), st.integers(0, 9), st.integers(1, 9), st.integers(0, 3))


@st.composite
def graphs(
    draw: st.DrawFn,
    *,
    blocks_only: bool = True,
    with_failures: bool = False,
    with_cancels: bool = False,
    with_tunings: bool = False,
    with_holds: bool = False,
    with_turns: bool = False,
    with_barge_ins: bool = False,
    with_retries: bool = False,
    with_keys: bool = False,
    with_commits: bool = False,
    with_effects: bool = False,
    with_bytes: bool = False,
    with_deadlines: bool = False,
    with_totals: bool = False,
    with_blocking: bool = False,
    with_ticks: bool = False,
    thens: tuple[str, ...] = ("skip", "dead_letter"),
    kinds: tuple[str, ...] = KINDS,
    strategies: tuple[str, ...] = ("aiflow",),
) -> GraphSpec:
    """Return a random graph."""
    count = st.integers(0, 9)
    pace = st.integers(0, 3)
    sources = {
        f"s{index}": (draw(count), draw(pace), draw(st.booleans()))
        for index in range(draw(st.integers(1, 2)))
    }
    nodes: dict[str, NodeSpec] = {}
    for index in range(draw(st.integers(1, 5))):
        earlier = [*sources, *nodes]
        names = draw(st.lists(st.sampled_from(earlier), min_size=1, max_size=2, unique=True))
        detached = st.sampled_from((None, None, "drop_oldest", "drop_newest", "error"))
        before = tuple((name, None if blocks_only else draw(detached)) for name in names)
        modes = ("block",) if blocks_only else ("block", "block", "drop_newest", "drop_oldest")
        nodes[f"n{index}"] = NodeSpec(
            draw(st.sampled_from(kinds)),
            before,
            draw(st.integers(1, 4)),
            draw(st.integers(1, 3)),
            draw(st.integers(0, 3)),
            draw(st.sampled_from(modes)),
            draw(pace),
            draw(st.sampled_from(CANCELS)) if with_cancels or with_barge_ins else "propagate",
        )
    conversations = draw(st.integers(1, 3))
    may_commit = _may_commit(nodes) if with_commits else []
    commits = frozenset(name for name in may_commit if draw(st.booleans()))
    turns = (None, 0, 1, 2) if with_turns else (None,)
    return GraphSpec(
        sources,
        nodes,
        conversations,
        draw(st.integers(1, 3)),
        is_droppable=draw(st.booleans()),
        fails_at=draw(st.none() | st.integers(1, 30)) if with_failures else None,
        cancels=tuple(
            draw(
                st.lists(
                    st.tuples(
                        st.integers(1, conversations), st.integers(0, 40), st.sampled_from(turns)
                    ),
                    max_size=3,
                )
            )
        )
        if with_cancels
        else (),
        stops_at=draw(st.none() | st.integers(0, 40)) if with_cancels else None,
        is_logged=draw(st.booleans()),
        tunings=draw(_tunings(nodes, blocks_only)) if with_tunings else (),
        holds=tuple(draw(st.lists(_HOLD, min_size=1, max_size=4))) if with_holds else (),
        marks={name: draw(_marks(barge_ins=with_barge_ins)) for name in sources}
        if with_turns
        else {},
        takes_turns=with_turns and draw(st.booleans()),
        retries={name: draw(_retries(thens, has_total=with_totals)) for name in nodes}
        if with_retries
        else {},
        keys={
            name: draw(st.sampled_from(("conversation", "source", "text")))
            for name, node in nodes.items()
            if node.kind != "keep" and name not in commits and draw(st.booleans())
        }
        if with_keys
        else {},
        commits=commits,
        effects={name: draw(_BARRIER) for name in nodes if draw(st.booleans())}
        if with_effects
        else {},
        most_bytes={name: draw(st.integers(1, 200)) for name in nodes if draw(st.booleans())}
        if with_bytes
        else {},
        # Few of these graphs work for longer than some hundredths.
        deadline=draw(st.none() | st.integers(1, 4) | st.integers(1, 20))
        if with_deadlines
        else None,
        shuffle=draw(st.none() | st.integers(0, 255)),
        drained=frozenset(name for name in sources if draw(st.booleans()))
        if with_cancels or with_barge_ins
        else frozenset(),
        strategy=draw(st.sampled_from(strategies)),
        blocking=frozenset(
            name for name, node in nodes.items() if node.kind in PLAIN_KINDS and draw(st.booleans())
        )
        if with_blocking
        else frozenset(),
        tick=draw(st.sampled_from((100, 500, 1_000, 2_000))) if with_ticks else 0,
    )


def _may_commit(nodes: dict[str, NodeSpec]) -> list[str]:
    """Return the nodes that may be transactional: a join has one place for one before it."""
    joined = {name for node in nodes.values() if node.kind in JOINS for name, _ in node.before}
    several = ("list", "wait_list", "generator", "stream", "emit")
    return [
        name
        for name, node in nodes.items()
        if node.kind != "keep" and not (name in joined and node.kind in several)
    ]


def _retries(thens: tuple[str, ...], *, has_total: bool) -> st.SearchStrategy[RetrySpec]:
    return st.builds(
        RetrySpec,
        st.integers(1, 3),
        st.integers(0, 5),
        st.sampled_from(("raises", "hangs", "breaks off")),
        st.sampled_from(thens),
        st.none() | st.integers(1, 5) | st.integers(1, 60) if has_total else st.none(),
    )


def _marks(*, barge_ins: bool) -> st.SearchStrategy[tuple[tuple[int, bool], ...]]:
    barges = st.booleans() if barge_ins else st.just(False)
    return st.lists(st.tuples(st.integers(0, 9), barges), max_size=3).map(
        lambda marks: tuple(sorted(marks))
    )


@st.composite
def _tunings(
    draw: st.DrawFn, nodes: dict[str, NodeSpec], blocks_only: bool
) -> tuple[tuple[int, str, dict[str, Any]], ...]:
    """Return changes of policies, none of which makes an operator that keeps things run twice."""
    overflows = ("block",) if blocks_only else ("block", "drop_newest", "drop_oldest")
    members = {
        "queue_capacity": st.integers(1, 6),
        "workers": st.integers(1, 4),
        "reorder_capacity": st.integers(0, 4),
        "overflow": st.sampled_from(overflows),
    }
    tunings = []
    for _ in range(draw(st.integers(1, 6))):
        node = draw(st.sampled_from(sorted(nodes)))
        member = draw(st.sampled_from(sorted(members)))
        # A join keeps a place at each port for each conversation, so its queue stays.
        if (nodes[node].kind, member) != ("keep", "workers") and nodes[node].kind not in (
            *(*JOINS, "loop"),
        ):
            tunings.append((draw(st.integers(1, 40)), node, {member: draw(members[member])}))
    return tuple(tunings)


def fanned(kind: str, text: str) -> list[str]:
    """Return the suffixes that a node of a kind makes of one text, in order."""
    size = sum(map(ord, text))
    if kind == "filter":
        return [""] if size % 3 else []
    if kind in ("list", "wait_list", "generator", "stream"):
        return [str(part) for part in range(size % 4)]
    if kind == "emit":
        return ["e", "r"]
    return [""]


def item_of(text: str) -> str:
    """Return the source event that a text, or a join of texts, began as."""
    match = re.match(r"c\d+:s\d+:\d+", text)
    assert match, text
    return match[0]


def joined(texts: Iterable[str]) -> str:
    """Return the text that a join makes of the texts of one item, in whatever order they came."""
    parts = sorted(texts)
    return f"{item_of(parts[0])}({'|'.join(parts)})"


def whole(texts: Iterable[str]) -> list[str]:
    """Return the texts that a join makes of all that comes to it."""
    items: dict[str, list[str]] = defaultdict(list)
    for text in texts:
        items[item_of(text)].append(text)
    return [joined(parts) for parts in items.values()]


def paired(ports: Iterable[Iterable[str]]) -> list[str]:
    """Return the texts that a zip makes of what comes by each port: for each pair, whose it is."""
    first, *others = (Counter(map(item_of, texts)) for texts in ports)
    for other in others:
        first &= other
    return list(first.elements())


def rounds(text: str) -> int:
    """Return how often a loop sends a text back before it lets it go."""
    return sum(map(ord, text)) % 4


def counted(spec: GraphSpec, noted: Mapping[tuple[str, str], list[str]]) -> dict[str, Counter[str]]:
    """Return how often each node was called with what, in all conversations together."""
    counts: dict[str, Counter[str]] = {name: Counter() for name in spec.nodes}
    for (node, _), texts in noted.items():
        counts[node].update(texts)
    return counts


def expected(
    spec: GraphSpec, ways: Mapping[tuple[str, str], str] | None = None
) -> dict[str, Counter[str]]:
    """Return what each node must be called with where nothing is dropped, failed or cancelled.

    Args:
        spec: the graph.
        ways: (node, text) -> port that an output took, of nodes that spread theirs.
    """
    ways = ways or {}
    seen: dict[str, Counter[str]] = {name: Counter() for name in spec.nodes}
    for conversation in range(1, spec.conversations + 1):
        made: dict[str, list[str]] = {
            name: [f"c{conversation}:{name}:{number}" for number in range(count)]
            for name, (count, _, _) in spec.sources.items()
        }
        for name, node in spec.nodes.items():
            inputs = [
                text
                for before, _ in node.before
                for text in made[before]
                if (before, text) not in ways or ways[before, text] == spec.port(name, before)
            ]
            if node.kind == "join":
                inputs = whole(inputs)
            elif node.kind == "zip":
                inputs = paired(made[before] for before, _ in node.before)
            elif node.kind == "loop":
                back = f"~{name}"
                seen[name].update(
                    text + back * number for text in inputs for number in range(rounds(text))
                )
                inputs = [text + back * rounds(text) for text in inputs]
            seen[name].update(text for text in inputs if tried(spec, name, text)[0])
            made[name] = [
                f"{text}>{name}{suffix}"
                for text in inputs
                for suffix in fanned(node.kind, text)[: tried(spec, name, text)[1]]
            ]
    return seen


def tried(spec: GraphSpec, name: str, text: str) -> tuple[bool, int | None, int]:
    """Return what tries of one text at a node come to.

    Returns:
        Whether an operator gets as far as to work on it, how many outputs it has then (None is
        all of them), and how many tries there are.
    """
    retry = spec.retries.get(name)
    if retry is None:
        return True, None, 1
    failing = retry.failing(name, text)
    if failing < retry.attempts:
        return True, None, failing + 1
    if breaks_off(spec, name, text):
        return True, 1, 1
    return False, 0, retry.attempts


def breaks_off(spec: GraphSpec, name: str, text: str) -> bool:
    """Say whether an operator fails behind its first output, so that it is not tried again."""
    retry, kind = spec.retries.get(name), spec.nodes[name].kind
    return (
        retry is not None
        and retry.how == "breaks off"
        and kind in ("generator", "stream")
        and retry.gives_up(name, text)
        and bool(fanned(kind, text))
        and name not in spec.sinks()  # what leads nowhere has not left
        and name not in spec.commits
    )


@dataclass
class Run:
    """A run and what was noted while it went.

    Attributes:
        called: texts that each node's operator was called with, by (node, conversation), in order.
        emitted: texts of outputs in the order in which they left, likewise.
        terminals: (node, conversation, turn) -> the ends told there.
        late: what happened at a node after the turn's end there.
        most: most events in flight that a count of the structures found.
    """

    spec: GraphSpec
    session: Session = field(init=False)
    snapshot: Snapshot = field(init=False)
    log: list[dict[str, Any]] = field(default_factory=list)
    called: dict[tuple[str, str], list[str]] = field(default_factory=lambda: defaultdict(list))
    emitted: dict[tuple[str, str], list[str]] = field(default_factory=lambda: defaultdict(list))
    terminals: dict[tuple[str, str, int], list[str]] = field(
        default_factory=lambda: defaultdict(list)
    )
    late: list[dict[str, Any]] = field(default_factory=list)
    #: (node, text) -> the port that an output left by, of nodes with two.
    ways: dict[tuple[str, str], str] = field(default_factory=dict)
    #: Runs on a real loop, so that operators that block are in threads.
    is_real: bool = False
    #: Events that waited at nodes of each mode when their turn was cancelled.
    cut: Counter[str] = field(default_factory=Counter)
    #: (node, turn, text) -> when the first try of it began.
    first_at: dict[tuple[str, int, str], float] = field(default_factory=dict)
    #: Texts that each node's operator was called with for the first time, in order.
    begun: dict[tuple[str, str], list[str]] = field(default_factory=lambda: defaultdict(list))
    #: (node, text) of each event that was given up on, as its dead letter told.
    buried: list[tuple[str, str]] = field(default_factory=list)
    #: (node, conversation, turn) -> the state and the text that each try there began with.
    states: dict[tuple[str, str, int], list[tuple[list[str], str]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    calls: int = 0
    most: int = 0
    faults: list[str] = field(default_factory=list)
    timers: list[asyncio.TimerHandle] = field(default_factory=list)
    #: Depth of each node's queue, added up over time.
    waited_s: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    #: What each node held when it was last looked at: (queue, begun, at workers).
    left_over: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    effects: Effects = field(init=False)

    @property
    def is_timed(self) -> bool:
        """Whether time passes only while nothing is to be done, so that it adds up exactly."""
        return not (self.is_real or self.spec.tick)

    def __post_init__(self) -> None:
        """Prepare the books of effects."""
        before = {name: node.before for name, node in self.spec.nodes.items()}
        points = points_of(before, set(self.spec.effects))
        self.effects = Effects(self.spec.effects, points, self.faults)

    def note(self, line: str) -> None:
        """Read one line of the event log."""
        record = msgspec.json.decode(line)
        self.log.append(record)
        if record["record"] == "tuned":
            return
        if record["record"] in ("effect", "settled"):
            self.effects.note(record)
        if record["record"] == "effect":
            return
        place = (record["node"], record["conversation"])
        here = (*place, record["turn"])
        # What a node still gets after the end is counted as cancelled, and never worked on.
        if here in self.terminals and record.get("outcome") != "cancelled":
            self.late.append(record)
        if record["record"] == "emitted" and self._is_given_up(record):
            self.late.append(record)
        if record["record"] == "emitted" and record["port"] != "dead":
            self.emitted[place].append(record["payload"]["text"])
            if record["port"] in ("a", "b"):
                self.ways[record["node"], record["payload"]["text"]] = record["port"]
        elif record["record"] == "ended":
            self.terminals[here].append(record["terminal"])

    def _is_given_up(self, record: dict[str, Any]) -> bool:
        """Say whether an output leaves a node that was to give its turn up at once."""
        node = record["node"]
        if node in self.spec.nodes and self.spec.nodes[node].cancel != "propagate":
            return False
        if node in self.spec.drained:
            return False
        turns = self.session._conversations.turns()
        cancelled = {(turn.conversation, turn.number) for turn in turns if turn.is_cancelled}
        return (record["conversation"], record["turn"]) in cancelled

    def step(self, node: str, text: str) -> None:
        """Note that an operator is called, look at all bounds, and do what the spec plans."""
        self.called[node, text.split(":", maxsplit=1)[0]].append(text)
        if self.is_real and node in self.spec.blocking:
            return  # in a thread of its own, where nothing else may be looked at
        self.calls += 1
        self.look()
        self._cancel()
        for at, edge, length, steps in self.spec.holds:
            if at == self.calls and self.session.status.phase == "running":
                self._hold(edge, length * 0.01, steps)
        for at, tuned, changes in self.spec.tunings:
            if at == self.calls and self.session.status.phase == "running":
                self._tune(tuned, changes, at=node)
        if self.spec.fails_at == self.calls:
            raise RuntimeError("as planned")

    def _cancel(self) -> None:
        """Cancel and stop what is to be at this call."""
        for conversation, at, turn in self.spec.cancels:
            if at == self.calls:
                self._note_cut(f"c{conversation}", turn)
                self.session.cancel(f"c{conversation}", turn)
        if self.spec.stops_at == self.calls:
            self.session.stop()

    def _note_cut(self, conversation: str, number: int | None) -> None:
        """Note what those nodes have in hand that a cancel is going to find."""
        for turn in self.session._conversations.turns():
            if turn.conversation == conversation and number in (None, turn.number):
                for name, lane in turn.lanes.items():
                    if lane.depth and not lane.is_closed and name in self.spec.nodes:
                        self.cut[self.spec.nodes[name].cancel] += lane.depth

    def _tune(self, tuned: str, changes: dict[str, Any], *, at: str) -> None:
        self.session.tune(tuned, **changes)
        self.look()
        if tuned == at:
            # The event at hand runs inline, and is begun once its operator suspends.
            depth, begun, opened = self.left_over[at]
            self.left_over[at] = (depth, begun + 1, opened + 1)

    def stumble(self, node: str, text: str, scope: Scope) -> bool:
        """Fail a try that is to fail; return whether it is to hang instead."""
        if scope.attempt == 1:
            self.begun[node, scope.conversation].append(text)
        if node in self.spec.effects:
            self.effects.defer(node, text, scope)
        if node in self.spec.commits:
            here = (node, scope.conversation, scope.turn)
            self.states[here].append((list(scope.state), text))
            scope.state.append(text)
        retry = self.spec.retries.get(node)
        if retry is not None and retry.total is not None:
            now = scope.clock.now()
            if scope.attempt == 1:
                self.first_at[node, scope.turn, text] = now
            elif now > self.first_at[node, scope.turn, text] + retry.total * 0.01:
                self.faults.append(f"{node} tries {text} at {now}, when all its time is over")
        if retry is None or not self.fails(node, text, scope):
            return False
        if breaks_off(self.spec, node, text):
            return False
        self.look()
        if retry.how == "hangs" and self.spec.nodes[node].kind in ("wait", "wait_list", "stream"):
            return True
        raise ConnectionError(text)

    def fails(self, node: str, text: str, scope: Scope) -> bool:
        """Say whether a try is to fail."""
        retry = self.spec.retries.get(node)
        return retry is not None and scope.attempt <= retry.failing(node, text)

    def bury(self, letter: DeadLetter) -> None:
        """Note a dead letter."""
        self.look()
        self.buried.append((letter.node, letter.payload.text))

    def _hold(self, number: int, length_s: float, steps: int) -> None:
        """Set a breakpoint for a while, and step through it meanwhile."""
        session, loop = self.session, asyncio.get_running_loop()
        edges = sorted(session.plan.edges)
        edge = edges[number % len(edges)]
        session.set_breakpoint(edge)

        def step() -> None:
            if edge in session.breakpoints:
                session.step(edge)
                self.look()

        self.timers += [
            *(loop.call_later(length_s * (i + 1) / (steps + 1), step) for i in range(steps)),
            loop.call_later(length_s, session.resume, edge),
        ]

    def look(self) -> None:
        """Count what is in flight from the structures themselves."""
        held = 0
        for guardian in self.session._guardians.values():
            if guardian.is_source:
                held += sum(call.pending is not None for call in guardian.parked)
            else:
                held += self._look_at(guardian)
        kernel = self.session._kernel
        assert kernel is not None
        held += sum(left for *_, left in kernel.frames) + length_hint(kernel.row)
        self.most = max(self.most, held)
        snapshot = self.session.snapshot()
        if held != snapshot.in_flight:
            self.faults.append(f"{held} are held and {snapshot.in_flight} are counted")
        bound = snapshot.bound
        if bound is not None and held > bound:
            self.faults.append(f"{held} are held, {bound} may be")

    def _look_at(self, guardian: Guardian) -> int:
        queued = sum(len(queue) for lane in guardian.ready for queue in lane.queues)
        stored = sum(len(lane.store) for lane in guardian.ready)
        calls = {call for lane in self._lanes(guardian) for call in lane.calls}
        listed = sum(call.extra for call in calls)
        claimed = int(guardian.claimed is not None)
        finishing = sum(call.event is None for call in calls)
        policy = guardian.node.policy
        # What is over after a limit was lowered may stay, and nothing may come to it.
        occupied = (guardian.depth, guardian.dispatched, guardian.opened)
        declared = (
            sys.maxsize if guardian.queue_capacity is None else policy.queue_capacity,
            policy.workers + policy.reorder_capacity,
            policy.workers,
        )
        before = self.left_over.get(guardian.id, declared) if self.spec.tunings else declared
        most = tuple(map(max, declared, before))
        self.left_over[guardian.id] = occupied
        if queued != guardian.depth or queued > most[0]:
            self.faults.append(f"{guardian.id} has {queued} in its queue and says {guardian.depth}")
        if len(calls) + claimed not in (
            guardian.dispatched,
            guardian.dispatched - self._due(guardian),
        ):
            self.faults.append(
                f"{guardian.id} has {len(calls)} calls, counts {guardian.dispatched}"
            )
        if guardian.dispatched > most[1]:
            self.faults.append(f"{guardian.id} has begun {guardian.dispatched}")
        at_work = Counter(call.trial.key for call in calls if call.trial and call.is_running)
        if guardian.keys is not None and any(count > 1 for count in at_work.values()):
            self.faults.append(f"{guardian.id} works on {at_work} at once")
        if guardian.opened > most[2]:
            self.faults.append(f"{guardian.id} has {guardian.opened} at workers")
        begun = sum(call.event is not None for call in calls) + claimed
        # What a worker has taken and not yet begun is counted, and has no call for a moment.
        begun += guardian.dispatched - len(calls) - claimed
        return queued + stored + begun + listed + 0 * finishing

    def _due(self, guardian: Guardian) -> int:
        return 1 if guardian.dispatched else 0

    def _lanes(self, guardian: Guardian) -> Iterator[Any]:
        for turn in self.session._conversations.turns():
            if guardian.id in turn.lanes:
                yield turn.lanes[guardian.id]


#: Told of every run that has come to its end.
watchers: list[Callable[[Run], object]] = []


def run(spec: GraphSpec, *, is_real: bool = False) -> Run:
    """Run a graph to its end, on the virtual clock or on a real loop with threads."""
    noted = Run(spec, is_real=is_real)
    make = None if is_real else lambda: ShuffledLoop(spec.shuffle, spec.tick * 1e-6)
    with asyncio.Runner(loop_factory=make) as runner:
        runner.run(_run(noted))
    for watch in watchers:
        watch(noted)
    return noted


async def _run(noted: Run) -> None:
    deadline = noted.spec.deadline
    noted.session = Session(
        apply_strategy(_plan(noted), noted.spec.strategy),
        seed=1,
        log=noted.note if noted.spec.is_logged else None,
        conversation_deadline_s=None if deadline is None else deadline * 0.01,
    )
    task = asyncio.current_task()
    before = asyncio.all_tasks()
    if not noted.is_real:
        _watch_time(noted)
    for conversation, at, turn in noted.spec.cancels:
        if at == 0:
            noted.session.cancel(f"c{conversation}", turn)
    if noted.spec.is_traced:
        asyncio.get_running_loop().call_soon(_trace, noted)
    noted.snapshot = await noted.session.run()
    for _ in range(99 if noted.spec.tick else 0):
        await asyncio.sleep(0)  # what has come to nothing is on the run list, one for each turn
    for timer in noted.timers:
        timer.cancel()
    assert task is not None
    left = asyncio.all_tasks() - before
    if left:
        noted.faults.append(f"tasks are left: {left}")
    noted.faults += _left_behind(noted.session)


def _watch_time(noted: Run) -> None:
    """Add up what waits in each queue over the time that passes: nothing else does meanwhile."""
    loop = asyncio.get_running_loop()
    selector = loop._selector  # type: ignore[attr-defined]
    advance = selector._advance

    def pass_time(timeout_s: float) -> None:
        for guardian in noted.session._guardians.values():
            noted.waited_s[guardian.id] += guardian.depth * timeout_s
        advance(timeout_s)

    selector._advance = pass_time


def _left_behind(session: Session) -> Iterator[str]:
    """Yield what a session that has ended still has: a timer, an open call, a place."""
    kernel = session._kernel
    assert kernel is not None
    timers = [timer for timer in kernel.loop._scheduled if not timer.cancelled()]  # type: ignore[attr-defined]
    if timers:
        yield f"timers are left: {timers}"
    if kernel.open_calls or kernel.active or kernel.fading or kernel.runlist.stack:
        yield f"{kernel.open_calls} calls are open, {kernel.active} conversations are"
    for guardian in session._guardians.values():
        places = (guardian.ready, guardian.finishing, guardian.waiters, guardian.parked)
        if any(places) or guardian.dispatched or guardian.opened or guardian.claimed:
            yield f"{guardian.id} has kept {places}"


def _trace(noted: Run) -> None:
    """Follow two events of each source."""
    if noted.session.status.phase == "running":
        for source in noted.spec.sources:
            for sequence in (0, 2):
                noted.session.trace(source, sequence)


def _plan(noted: Run) -> Any:
    spec = noted.spec
    payload = Chunk if spec.is_droppable else Message
    builder = PlanBuilder(spec.max_conversations)
    for name, (count, pace, is_async) in spec.sources.items():
        marks = dict(spec.marks.get(name, ()))
        builder.source(
            name,
            _source(name, (count, pace, is_async), marks, payload),
            conversations=spec.conversations,
            takes_turns=spec.takes_turns,
            cancel="drain" if name in spec.drained else "propagate",
        )
    for name, node in spec.nodes.items():
        _add(builder, name, node, noted, payload)
        for port, (before, overflow) in zip("ab", node.before, strict=False):
            sender = f"{before}.{spec.port(name, before)}"
            builder.edge(sender, f"{name}.{port}" if node.kind in JOINS else name, overflow)
        if node.kind == "loop":
            builder.edge(f"{name}.again", name, feedback=Feedback(node.workers, RETURNS, 99))
    letters = [name for name, retry in spec.retries.items() if retry.then == "dead_letter"]
    if letters:
        builder.sink(GRAVE, noted.bury, queue_capacity=1)
    for name in letters:
        builder.edge(f"{name}.dead", GRAVE)
    return builder.build()


def _source(
    name: str, shape: tuple[int, int, bool], marks: dict[int, bool], payload: type[Payload]
) -> Callable[[Scope], Any]:
    count, pace, is_async = shape

    async def waits(scope: Scope) -> AsyncIterator[Payload | NextTurn]:
        for number in range(count):
            if pace:
                await scope.sleep(pace * 0.01)
            if number in marks:
                yield NextTurn(marks[number])
            yield payload(f"{scope.conversation}:{name}:{number}")

    def pulls(scope: Scope) -> Iterator[Payload | NextTurn]:
        for number in range(count):
            if number in marks:
                yield NextTurn(marks[number])
            yield payload(f"{scope.conversation}:{name}:{number}")

    return waits if is_async else pulls


def _queue(node: NodeSpec, spec: GraphSpec) -> int:
    """Return a queue capacity that has the places which its kind needs."""
    if node.kind in JOINS:
        return node.queue_capacity * len(node.before) * spec.conversations
    places = node.queue_capacity
    if any(before in spec.commits and how is None for before, how in node.before):
        places = max(places, MOST_OUTPUTS)
    return places + node.workers * RETURNS if node.kind == "loop" else places


def _add(builder: PlanBuilder, name: str, node: NodeSpec, noted: Run, payload: Any) -> None:
    make, more = _process(name, node, noted, payload)
    builder.node(
        name,
        make,
        max_outputs=MOST_OUTPUTS,
        queue_capacity=_queue(node, noted.spec),
        workers=noted.spec.workers(name),
        reorder_capacity=node.reorder_capacity,
        overflow=node.overflow,
        **_policy(name, node, noted.spec),
        cancel=node.cancel,
        is_blocking=name in noted.spec.blocking,
        **more,
    )


def _policy(name: str, node: NodeSpec, spec: GraphSpec) -> dict[str, Any]:
    made: dict[str, Any] = {"max_bytes": spec.most_bytes.get(name)}
    if name in spec.effects:
        made |= spec.effects[name].policy()
    if name in spec.retries:
        made["retry"] = spec.retries[name].policy()
    if name in spec.commits:
        return made | {"state_mode": "transactional", "state": list}
    if name in spec.keys:
        return made | {"state_mode": "partitioned", "partition_key": spec.keys[name]}
    return made | {"state_mode": "serialized" if node.kind in KEEPERS else "stateless"}


def _process(  # noqa: C901, PLR0911, PLR0915 - one small function for each kind
    name: str, node: NodeSpec, noted: Run, payload: Any
) -> tuple[Any, dict[str, Any]]:
    def outputs(text: str) -> list[Any]:
        return [payload(f"{text}>{name}{suffix}") for suffix in fanned(node.kind, text)]

    def cut(text: str) -> Iterator[Any]:
        whole = outputs(text)
        if breaks_off(noted.spec, name, text):
            yield whole[0]
            raise ConnectionError(text)
        yield from whole

    def plain(item: Any, scope: Scope) -> Any:
        noted.stumble(name, item.text, scope)
        noted.step(name, item.text)
        made = outputs(item.text)
        return made if node.kind == "list" else made[0] if made else None

    def emits(item: Any, scope: Scope) -> Any:
        noted.stumble(name, item.text, scope)
        noted.step(name, item.text)
        first, second = outputs(item.text)
        scope.emit(second)
        return first

    def taken_back(text: str, scope: Scope) -> list[Any]:
        """Return what a try sends before it fails, where that does not leave by itself."""
        fails = name in noted.spec.commits and noted.fails(name, text, scope)
        return outputs(text)[:1] if fails else []

    def generates(item: Any, scope: Scope) -> Iterator[Any]:
        yield from taken_back(item.text, scope)
        noted.stumble(name, item.text, scope)
        noted.step(name, item.text)
        yield from cut(item.text)

    async def waits(item: Any, scope: Scope) -> Any:
        if noted.stumble(name, item.text, scope):
            await scope.sleep(60)
        noted.step(name, item.text)
        await scope.sleep(node.pace * 0.01 * scope.random.random())
        made = outputs(item.text)
        return made if node.kind == "wait_list" else made[0]

    async def streams(item: Any, scope: Scope) -> AsyncIterator[Any]:
        for output in taken_back(item.text, scope):
            yield output
        if noted.stumble(name, item.text, scope):
            await scope.sleep(60)
        noted.step(name, item.text)
        for output in cut(item.text):
            await scope.sleep(node.pace * 0.01 * scope.random.random())
            yield output

    def keeps(item: Any, scope: Scope) -> None:
        noted.stumble(name, item.text, scope)
        noted.step(name, item.text)
        scope.state.extend(outputs(item.text))

    def tells(scope: Scope) -> list[Any]:
        return list(scope.state)

    def holds(item: Any, scope: Scope) -> None:
        keeps(item, scope)
        held = scope.state
        held[-1] = (scope.sequence, scope.place(), held[-1])
        scope.keep_from(min(sequence for sequence, _, _ in held))

    def lets_go(scope: Scope) -> Iterator[Any]:
        left = sorted(scope.state, key=lambda each: each[0], reverse=True)
        while left:
            sequence, place, output = left.pop()
            scope.keep_from(sequence)
            scope.stand_at(place)
            yield output
        scope.keep_from(None)

    def zips(item: Joined, scope: Scope) -> Any:
        texts = [part.text for parts in item.parts.values() for part in parts]
        return plain(payload(item_of(texts[0])), scope)

    def joins(item: Joined, scope: Scope) -> Any:
        texts = [part.text for parts in item.parts.values() for part in parts]
        return plain(payload(joined(texts)), scope)

    def loops(item: Any, scope: Scope) -> Any:
        back = f"~{name}"
        text = item.text
        while text.endswith(back):
            text = text.removesuffix(back)
        noted.stumble(name, item.text, scope)
        noted.step(name, item.text)
        if item.text != text + back * rounds(text):
            return Emit("again", payload(item.text + back))
        return outputs(item.text)[0]

    if node.kind == "join":
        joining = Joining("all", max_parts=MOST_PARTS)
        return joins, {"inputs": ("a", "b"), "joining": joining, "kept": MOST_PARTS}
    if node.kind == "zip":
        joining = Joining("zip", max_parts=MOST_PARTS)
        return zips, {"inputs": ("a", "b"), "joining": joining, "kept": MOST_PARTS}
    if node.kind == "hold":
        return holds, {"finish": lets_go, "state": list, "kept": 40}
    if node.kind == "loop":
        return loops, {"outputs": ("out", "again")}
    if node.kind == "spread":
        return plain, {"outputs": ("a", "b"), "balances": True}
    if node.kind == "keep":
        return keeps, {"finish": tells, "state": list, "kept": 40}
    if node.kind == "timed":
        return plain, {"service_time_s": (node.pace + 1) * 0.01}
    by_kind = {
        "wait": waits,
        "wait_list": waits,
        "stream": streams,
        "generator": generates,
        "emit": emits,
    }
    return by_kind.get(node.kind, plain), {}


def check_books(noted: Run) -> None:
    """Hold the laws that every run keeps, whatever happened in it."""
    snapshot = noted.snapshot
    assert noted.faults == []
    assert noted.late == []
    assert snapshot.in_flight == 0
    noted.effects.check({name: node.effects for name, node in snapshot.nodes.items()})
    bound = snapshot.bound
    # A bound that was lowered in mid-run says nothing of what there was before.
    assert bound is None or noted.spec.tunings or snapshot.max_in_flight <= bound
    assert noted.most <= snapshot.max_in_flight + 1
    for node in snapshot.nodes.values():
        settled = node.processed + sum(node.dropped.values()) + node.failed + node.cancelled
        assert node.received == settled, node
        assert node.in_flight == node.depth == node.running == node.held == 0, node
        shares = node.busy_s + node.backpressured_s + node.window_blocked_s + node.idle_s
        wall = snapshot.at - snapshot.started_at
        is_tuned = any(name == node.id for _, name, _ in noted.spec.tunings)
        if noted.is_timed and not is_tuned:
            assert abs(shares - wall * node.workers) < 1e-6, node
    for edge in snapshot.edges.values():
        assert edge.appended == edge.taken + edge.purged + edge.dropped, edge
        assert edge.depth == 0
    for guardian in noted.session._guardians.values():
        # Little's law; what was taken away from a queue has waited too, and is not recorded.
        into = [edge for id_, edge in snapshot.edges.items() if f">{guardian.id}." in id_]
        if into and noted.is_timed and not any(edge.purged or edge.dropped for edge in into):
            assert abs(guardian.wait.sum_s - noted.waited_s[guardian.id]) < 1e-6, guardian.id
    if not noted.spec.is_logged:
        return
    assert all(len(ends) == 1 for ends in noted.terminals.values()), noted.terminals
    for conversation in {conversation for _, conversation, _ in noted.terminals}:
        ended = {
            node for node, whose, turn in noted.terminals if (whose, turn) == (conversation, 0)
        }
        assert ended == set(snapshot.nodes), "every source streams into the first turn"
    for name, conversation in noted.called:
        if noted.called[name, conversation]:
            assert (name, conversation, 0) in noted.terminals
    turns = {(conversation, turn) for _, conversation, turn in noted.terminals}
    assert sum(snapshot.turns.values()) == len(turns)
    assert snapshot.turns["active"] == 0
