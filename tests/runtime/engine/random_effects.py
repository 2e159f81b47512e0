"""Speculative effects in random graphs: what was prepared, what became of it, what must have.

An effect's books are kept twice: by the functions that were called, and by the event log. The
log says in which order things were decided, so it is held to the barrier's places too.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from aiflow.operators.scope import Scope

#: What an item is: (conversation, turn, source, sequence).
Item = tuple[str, int, str, int]


@dataclass(frozen=True)
class EffectSpec:
    """The barrier of one node: its places for each conversation, hundredths of a second."""

    capacity: int
    timeout: int | None

    def policy(self) -> dict[str, Any]:
        """Return the members of the policy."""
        return {
            "side_effects": "speculative",
            "speculative_capacity": self.capacity,
            "speculative_timeout_s": None if self.timeout is None else self.timeout * 0.01,
        }


@dataclass(frozen=True)
class Prepared:
    """One effect that an operator has deferred."""

    number: int
    node: str
    text: str
    item: Item


@dataclass
class Effects:
    """The effects of one run.

    Attributes:
        barriers: of each speculative node.
        points: nodes that commit the effects of each.
    """

    barriers: Mapping[str, EffectSpec]
    points: Mapping[str, frozenset[str]]
    faults: list[str]
    prepared: list[Prepared] = field(default_factory=list)
    done: list[Prepared] = field(default_factory=list)
    undone: list[Prepared] = field(default_factory=list)
    #: (node, item) of each event that was processed, as the log tells.
    used: set[tuple[str, Item]] = field(default_factory=set)
    #: Effects that wait, by node and conversation, as the log tells.
    waiting: Counter[tuple[str, str]] = field(default_factory=Counter)
    told: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    #: When each effect that is told of was deferred, and how many had waited too long.
    since: dict[tuple[Any, ...], float] = field(default_factory=dict)
    too_late: int = 0

    def defer(self, node: str, text: str, scope: Scope) -> None:
        """Defer one effect, which looks whether it is wanted."""
        item = (scope.conversation, scope.turn, scope.event.source, scope.sequence)  # type: ignore[attr-defined]
        made = Prepared(len(self.prepared), node, text, item)
        self.prepared.append(made)

        def commit(_: str) -> None:
            self.done.append(made)
            if self.told and not any((each, item) in self.used for each in self.points[node]):
                self.faults.append(f"{made} was committed, and nothing of its item was used")

        scope.defer(commit, lambda _: self.undone.append(made))

    def note(self, record: Mapping[str, Any]) -> None:
        """Read one line of the event log."""
        node, outcome = record["node"], record["outcome"]
        item = (record["conversation"], record["turn"], record["source"], record["sequence"])
        if record["record"] == "settled":
            if outcome == "processed":
                self.used.add((node, item))
            return
        place = (node, record["conversation"])
        self.told[node][outcome] += 1
        self._note_time(node, outcome, record)
        if outcome == "deferred":
            self.waiting[place] += 1
            if self.waiting[place] > self.barriers[node].capacity + 1:
                self.faults.append(f"{self.waiting[place]} effects wait at {place}")
        else:
            self.waiting[place] -= 1
            full = self.barriers[node].capacity
            if outcome == "discarded" and self.waiting[place] != full:
                self.faults.append(f"{place} discards with {self.waiting[place]} of {full} taken")

    def _note_time(self, node: str, outcome: str, record: Mapping[str, Any]) -> None:
        """Count what was rolled back at the moment at which its time was over."""
        timeout = self.barriers[node].timeout
        key = (node, record["key"], *map(record.get, ("conversation", "turn", "source", "part")))
        if outcome == "deferred":
            self.since[key] = record["at"]
        elif outcome == "rolled_back" and timeout is not None:
            due = self.since[key] + timeout * 0.01
            self.too_late += abs(record["at"] - due) < 1e-9

    def check(self, counts: Mapping[str, Mapping[str, int]]) -> None:
        """Hold what every run keeps: each effect came once, or was undone once; all is counted."""
        ends = Counter(each.number for each in (*self.done, *self.undone))
        assert ends == Counter(each.number for each in self.prepared)
        for node in self.barriers:
            told = counts[node]
            done = sum(each.node == node for each in self.done)
            undone = sum(each.node == node for each in self.undone)
            assert told["waiting"] == told["failed"] == 0, (node, told)
            assert told["committed"] == done, (node, told)
            assert told["rolled_back"] + told["discarded"] == undone, (node, told)
            assert told["deferred"] == done + undone, (node, told)
        assert not any(self.waiting.values())

    def wanted(self, called: Mapping[tuple[str, str], list[str]]) -> Iterator[Prepared]:
        """Yield what must be committed where nothing fails, waits too long or finds no place."""
        for each in self.prepared:
            marks = (f"{each.text}>{each.node}", f"{each.text}~{each.node}")
            texts = [
                text
                for (node, conversation), found in called.items()
                if node in self.points[each.node] and conversation == each.item[0]
                for text in found
            ]
            if any(mark in text for text in texts for mark in marks):
                yield each


def points_of(
    before: Mapping[str, tuple[tuple[str, str | None], ...]], speculative: set[str]
) -> dict[str, frozenset[str]]:
    """Return the nodes that commit the effects of each speculative node.

    Args:
        before: node -> the nodes before it, each with the overflow of a detached edge.
        speculative: the nodes whose effects wait.
    """
    behind: dict[str, set[str]] = defaultdict(set)
    for node, edges in before.items():
        for sender, overflow in edges:
            if overflow is None:
                behind[sender].add(node)

    def found(node: str) -> frozenset[str]:
        each = [found(next_) if next_ in speculative else {next_} for next_ in behind[node]]
        return frozenset().union(*each)

    return {node: found(node) for node in speculative}
