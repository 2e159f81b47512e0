"""What an operator is: params, typed ports, and plain code that handles one payload.

No queue, no task, no retry and no state in here: those are policies, run by the guardian,
and state is handed in through `Scope`. Who knows which operators exist: `registry`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, Literal, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict

from aiflow.operators.scope import Scope
from aiflow.policies import Policy, SideEffects, State
from aiflow.types import PortType


class Params(BaseModel):
    """Base of an operator's parameters; each field has a description, a unit or bounds."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class NoParams(Params):
    """Parameters of an operator that has none."""


@dataclass(frozen=True, slots=True)
class Port:
    """A named, typed way in or out.

    Attributes:
        is_optional: an input that may stay unconnected without a diagnostic.
        like: for an output: name of the in-port whose payloads leave here, so that an edge
            behind it carries the type that came in and not only the declared one; "" for none.
    """

    name: str
    type: PortType
    help: str = ""
    is_optional: bool = False
    like: str = ""


class Emit(NamedTuple):
    """An output for a port by name; a bare payload goes to the first output.

    Attributes:
        created_at: for sources: when the payload arrived, on the session's clock;
            None means now.
    """

    port: str
    payload: object
    created_at: float | None = None


@dataclass(frozen=True, slots=True)
class NextTurn:
    """What a source's stream yields between two turns of its conversation; no payload.

    What it yields afterwards belongs to the next turn: its number is one higher, its sequence
    starts anew, and every node that the source reaches begins it with a new state. The source
    is asked for no more until the next turn has opened.

    Attributes:
        barge_in: give the present turn up, as each node's `cancel` says, and open the next at
            once; without it the next one opens when the present one has ended everywhere.
    """

    barge_in: bool = False


@dataclass(frozen=True, slots=True)
class Joining:
    """How a node brings together what comes by its different in-ports.

    Attributes:
        mode: `all` parts of one (source, sequence), or `zip`, one event of each port.
        is_strict: an event that nothing can be paired with fails the conversation.
        max_parts: parts of one conversation that `all` may keep beside the queue.
    """

    mode: Literal["all", "zip"]
    is_strict: bool = False
    max_parts: int = 0


P = TypeVar("P", bound=Params)


class Operator(Generic[P]):
    """A reusable description of what a node does.

    `process` is a plain function and returns an output (a payload or `Emit`), None for
    nothing, a list (declare `max_outputs`), or is a generator: each further output is
    then asked for only when the last has left. It may be a coroutine function or an
    async generator function where it must wait. One instance serves all conversations
    and workers, so it keeps nothing but its params.

    Attributes:
        name: id in files, `[a-z][a-z0-9-]*`.
        title: what the palette shows. `category`: its heading there, one of
            `sources text tools retrieval flow sinks`. `summary`: one sentence.
        Params: the model of its parameters.
        inputs: in-ports; none makes it a source. `outputs`: out-ports; none makes it a sink.
        requires: name of a needed resource -> its kind, such as {"provider": "provider"}.
        accepts: name of a resource that it can do without -> its kind; one that is given takes
            the place of what the params say of time.
        state: the loosest state-safety mode that is still right for it.
        side_effects: the weakest promise that is true.
        is_blocking: `process` blocks its thread and runs in an executor.
        max_outputs: most outputs of one list, 1 or more.
        runs_on_virtual_clock: False where it needs a socket, a device or a child process.
        default_policy: given policy members of a node when it is added; plain JSON values.
        folders: where relative paths in the params are looked up, first match wins: the
            graph's own folder, then the shipped graphs. Given by the compiler.
    """

    name: ClassVar[str]
    title: ClassVar[str] = ""
    category: ClassVar[str] = "text"
    summary: ClassVar[str] = ""
    Params: ClassVar[type[Params]] = NoParams
    inputs: ClassVar[tuple[Port, ...]] = ()
    outputs: ClassVar[tuple[Port, ...]] = ()
    requires: ClassVar[Mapping[str, str]] = {}
    accepts: ClassVar[Mapping[str, str]] = {}
    state: ClassVar[State] = State.STATELESS
    side_effects: ClassVar[SideEffects] = SideEffects.NONE
    is_blocking: ClassVar[bool] = False
    max_outputs: ClassVar[int] = 1
    runs_on_virtual_clock: ClassVar[bool] = True
    default_policy: ClassVar[Mapping[str, Any]] = {}

    def __init__(self, params: P, folders: Sequence[Path] = ()) -> None:
        self.params = params
        self.folders = tuple(folders)

    @classmethod
    def resource_kinds(cls) -> dict[str, str]:
        """Return name -> kind of all that it can be handed, what it needs first."""
        return {**cls.requires, **cls.accepts}

    def process(self, payload: Any, scope: Scope) -> Any:  # noqa: ANN401 - payloads are any type
        """Handle one payload; see the class for what may be returned."""
        raise NotImplementedError(f"{type(self).__name__} has no process()")

    def finish(self, scope: Scope) -> Any:  # noqa: ANN401 - what an operator returns
        """Return what was kept back, at the end of a turn and before END passes on."""
        return None

    def new_state(self) -> Any:  # noqa: ANN401 - each operator's own state
        """Return the state that a conversation's turn starts with; None for no state."""
        return None

    def copy_state(self, state: Any) -> Any:  # noqa: ANN401 - each operator's own state
        """Return a copy of a state, which a transactional node lets one event change.

        It must share nothing that `process` changes in place. Override it where that can be had
        cheaper than by `copy.deepcopy`: a state that is never changed in place may be returned
        itself.
        """
        return deepcopy(state)

    def kept_events(self) -> int:
        """Return how many events one conversation may keep in the state, for the bound."""
        return 0

    def joins(self) -> Joining | None:
        """Return how in-ports are joined; `process` then gets a `Joined`. None: one by one."""
        return None

    def balances(self) -> bool:
        """Return whether an output that names no port takes any port that has room."""
        return False

    def service_time_s(self) -> float | None:
        """Return the time per event that the params declare, None where they say nothing."""
        return None

    def outputs_per_event(self) -> float | None:
        """Return how many events leave by the first output for each that comes, None if unknown."""
        return None

    def waits_for_end(self) -> bool:
        """Return whether it keeps its first event's output back until the turn ends, for sure."""
        return False

    def most_outputs(self) -> int:
        """Return the most outputs of one event, all of which a transaction commits at once."""
        return self.max_outputs

    def check(self, policy: Policy) -> Iterator[str]:
        """Yield a sentence for each pair of params and policy that cannot work together."""
        return iter(())


class Source(Operator[P]):
    """An operator without inputs: it opens conversations and streams into them.

    Attributes:
        takes_turns: a cancelled turn does not close the stream: what it still yields of that
            turn is discarded, and with `NextTurn` it goes on. Where it is False, as for a model
            that is paid for every word, the stream is closed with its turn.
    """

    category: ClassVar[str] = "sources"
    takes_turns: ClassVar[bool] = False

    def for_run(self) -> Source[P]:
        """Return what one run streams from: this, or one that holds what its conversations share.

        Several runs of one plan may go on at once, so nothing of a run is kept here.
        """
        return self

    def conversations(self) -> int:
        """Return how many conversations one run opens here, 1 or more."""
        return 1

    def events_per_turn(self) -> int | None:
        """Return how many events a turn sends by the first output, None if nobody can say."""
        return None

    def rate_per_s(self) -> float | None:
        """Return the declared events per second of one conversation, None where none are."""
        return None

    def stream(self, scope: Scope) -> Iterator[Any] | AsyncIterator[Any]:
        """Yield the payloads (or `Emit`s) of one conversation, `NextTurn` between its turns.

        The next is asked for only when the last has left, so a source that reads a socket
        stops reading when the graph is full. An iterator never waits for time; an async
        iterator may (`scope.sleep_until`). Closed (`close`/`aclose`) on cancel.
        """
        raise NotImplementedError(f"{type(self).__name__} has no stream()")
