"""Partitioned state: each key has its own, and at most one event of a key is at work.

An event whose key is busy waits behind its queue, in its place in the order; where events leave
as they finish it stays in the queue, and others are begun before it. So one busy key stops no
other within the window.

The state of a key is made when its first event comes. By a field of the payload it lasts to the
end of the turn; by `conversation` it lasts over the turns to the end of the conversation. That is
when a key is idle: nothing can come for it any more.

Serialized nodes that try events again use the same lines, with the turn as their only key: the
next event begins when the one before is through with its tries. So do transactional ones, where
it begins when the one before is committed.
"""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import AsyncIterator, Callable, Hashable, Iterator
from itertools import islice
from typing import Any

import msgspec

from aiflow.engine.cells import Call, Event, Guardian, Lane
from aiflow.engine.lines import fall_due
from aiflow.operators.base import Operator
from aiflow.operators.names import value_at
from aiflow.operators.scope import Scope
from aiflow.policies import Retry, State

#: Most entries of a queue that are looked at for one whose key is free.
_LOOKED_AT = 256
#: The key by which a state outlasts its turn.
_CONVERSATION = "conversation"

#: Whose keys are forgotten together: a conversation's turn, or without one all its turns.
_Owner = tuple[str, int | None]
_Key = tuple[_Owner, Hashable]


class Partition:
    """One key: its state, the call at work, and those that wait for it, first come first."""

    __slots__ = ("holder", "line", "state")

    def __init__(self, state: Any) -> None:  # noqa: ANN401 - the operator's own
        self.state = state
        self.holder: Call | None = None
        self.line: deque[Call] = deque()


class Partitions:
    """The keys of one guardian.

    Args:
        guardian: whose events they keep apart.
        field: path of a payload's field, or `conversation`; "" where the turn is the key and
            the state stays with the lane.
    """

    def __init__(self, guardian: Guardian, field: str) -> None:
        self._guardian = guardian
        self._field = field
        self._outlasts_turns = field == _CONVERSATION
        self._owners: dict[_Owner, dict[Hashable, Partition]] = {}

    def __len__(self) -> int:
        """Return how many keys there are now."""
        return sum(map(len, self._owners.values()))

    @property
    def passes_by(self) -> bool:
        """Whether what waits in the queue may be passed by: events leave as they finish."""
        return not self._guardian.keeps_order and self._guardian.gate is None

    def claim(self, call: Call) -> bool:
        """Have a call begin, or wait for its key; say which.

        Raises:
            ValueError: its event has no such field.
            BaseException: whatever the operator raises that makes a new state.
        """
        trial, event = call.trial, call.event
        assert trial is not None
        assert event is not None
        if trial.key is None:
            trial.key = self._key_of(event)
        owner, value = trial.key
        found = self._found(trial.key)
        if found is None:
            found = Partition(self._new_state())
            self._owners.setdefault(owner, {})[value] = found
        if found.holder is None or found.holder is call:
            found.holder = call
            return True
        found.line.append(call)
        trial.is_waiting = True
        return False

    def state_for(self, call: Call, default: Any) -> Any:  # noqa: ANN401 - each operator's own state
        """Return the state that a call works on; `default` where the lane has it."""
        assert call.trial is not None
        found = self._found(call.trial.key)
        return found.state if found is not None and self._field else default

    def release(self, call: Call, *, is_done: bool) -> None:
        """Let the next of a key begin; safe to repeat.

        Args:
            call: at work, or waiting for the key.
            is_done: its operator has come to its end, so that the state is what it says.
        """
        trial = call.trial
        found = None if trial is None or trial.key is None else self._found(trial.key)
        if found is None:
            return
        if found.holder is not call:
            if call in found.line:
                found.line.remove(call)
            return
        if is_done and self._field:
            found.state = call.scope.state
        found.holder = None
        if found.line:
            found.holder = found.line.popleft()
            fall_due(found.holder)

    def first_free(self, lane: Lane) -> int | None:
        """Return the place in a lane's queue of the first event whose key is free."""
        for index, entry in enumerate(islice(lane.queues[0], _LOOKED_AT)):
            try:
                found = self._found(self._key_of(entry[0]))
            except ValueError:
                return index  # it fails when it is begun
            if found is None or found.holder is None:
                return index
        return None

    def end_turn(self, lane: Lane) -> None:
        """Forget the keys of a turn, for which nothing can come any more."""
        if not self._outlasts_turns:
            self._owners.pop((lane.turn.conversation, lane.turn.number), None)

    def end_conversation(self, conversation: str) -> None:
        """Forget the key of a conversation."""
        self._owners.pop((conversation, None), None)

    def states_of(self, scope: Scope) -> Iterator[Any]:
        """Yield the states of a turn, in the order in which their keys came."""
        owner = (scope.conversation, None if self._outlasts_turns else scope.turn)
        for found in tuple(self._owners.get(owner, {}).values()):
            yield found.state

    def _found(self, key: _Key) -> Partition | None:
        return self._owners.get(key[0], {}).get(key[1])

    def _key_of(self, event: Event) -> _Key:
        if self._outlasts_turns:
            return (event.conversation, None), None
        owner = (event.conversation, event.turn)
        return owner, _hashable(value_at(self._field, event)) if self._field else None

    def _new_state(self) -> Any:  # noqa: ANN401 - the operator's own
        return self._guardian.node.operator.new_state() if self._field else None


def set_keys(guardian: Guardian) -> None:
    """Keep a guardian's events apart where its policy asks for it; once, for good."""
    if guardian.keys is not None or guardian.is_source:
        return
    policy = guardian.node.policy
    if policy.state is State.PARTITIONED:
        keys = guardian.keys = Partitions(guardian, policy.partition_key or _CONVERSATION)
        if guardian.has_finish:
            guardian.finish = _finish_each(guardian.node.operator, keys)
    elif guardian.commits or (_must_wait(guardian.retry, policy.state) and guardian.window > 1):
        guardian.keys = Partitions(guardian, "")


def _must_wait(retry: Retry, state: State) -> bool:
    return retry.attempts > 1 and state is State.SERIALIZED


def _finish_each(operator: Operator[Any], keys: Partitions) -> Callable[[Scope], Any]:
    """Return a `finish` that tells what was kept back for each key."""
    finish = operator.finish

    def tells(scope: Scope) -> Iterator[Any]:
        for state in keys.states_of(scope):
            scope.state = state
            yield from _listed(finish(scope))

    async def waits(scope: Scope) -> AsyncIterator[Any]:
        for state in keys.states_of(scope):
            scope.state = state
            if inspect.isasyncgenfunction(finish):
                async for output in finish(scope):
                    yield output
            else:
                for output in _listed(await finish(scope)):
                    yield output

    is_async = inspect.iscoroutinefunction(finish) or inspect.isasyncgenfunction(finish)
    return waits if is_async else tells


def _listed(outputs: Any) -> Iterator[Any]:  # noqa: ANN401 - whatever it returned
    if outputs is None:
        return iter(())
    return iter(outputs if isinstance(outputs, list | Iterator) else [outputs])


def _hashable(value: object) -> Hashable:
    """Return a value as a key; of what cannot be one, how it is written."""
    try:
        hash(value)
    except TypeError:
        return msgspec.json.encode(value, order="sorted", enc_hook=repr)
    return value
