"""What a running session consists of: turns, edges, lanes, calls and guardians.

Data and the questions that can be answered from it alone. What happens to an event is told
in `inline` (operators that are plain functions), `delivery` (the way over an edge),
`settling` (its end), `ending` (terminals), `workers` (operators that await) and `cancelling`.

It is long because these classes know one another: apart, each file would import the others.
"""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from operator import length_hint
from typing import Any, Protocol

from aiflow.clock import Clock
from aiflow.compiler.plan import EdgePlan, NodePlan
from aiflow.compiler.resolved import DEAD_PORT
from aiflow.engine.runlist import RunList
from aiflow.engine.scopes import EngineScope
from aiflow.engine.trials import Trial
from aiflow.errors import OperatorError, StallError
from aiflow.events import Context
from aiflow.metrics.instruments import Histogram
from aiflow.operators.base import Emit
from aiflow.policies import Overflow, State

Event = Context[Any]


class Nothing:
    """What is in a hand that is empty."""


NOTHING = Nothing()

#: The outputs of a list while none is being run; see `Kernel.row`.
NO_ROW: Iterator[Any] = iter(())

#: Ways of a guardian that is at rest: an arrival runs where it is, or passes the queue first.
INLINE = 1
QUEUED = 2


class Terminal(IntEnum):
    """How a turn ended on an edge or at a node; merged, the larger one wins."""

    NONE = 0
    END = 1
    CANCEL = 2
    ERROR = 3


class Settled(IntEnum):
    """What became of an event at a node; each event gets exactly one of them there."""

    PROCESSED = 0
    FAILED = 1
    CANCELLED = 2


class Tap(Protocol):
    """Somebody who looks at an edge."""

    def see(self, event: Event, at: float) -> None:
        """Take note of one event."""
        ...


class Log(Protocol):
    """Whoever writes down what happens; None in a session without one."""

    def emitted(self, node: str, port: str, event: Event, at: float) -> None:
        """An output left a node."""
        ...

    def settled(self, node: str, event: Event | None, outcome: str, at: float) -> None:
        """A node is done with an event; `outcome` is a reason where it was dropped."""
        ...

    def ended(self, node: str, turn: Turn, terminal: Terminal, at: float) -> None:
        """A turn ended at a node."""
        ...

    def retried(
        self, node: str, event: Event, attempt: int, error: str, at: float, due: float
    ) -> None:
        """A try failed, and try number `attempt` will be made when `due`."""
        ...

    def tuned(self, node: str, changes: Mapping[str, tuple[object, object]], at: float) -> None:
        """A node's policy was changed: member -> old and new value."""
        ...

    def effect(self, node: str, event: Event, key: str, outcome: str, at: float) -> None:
        """A speculative effect was deferred, committed, rolled back or discarded, or failed."""
        ...


class Barriers(Protocol):
    """Where speculative effects wait until they are wanted."""

    def open(self, lane: Lane) -> None:
        """Let the operator of a lane defer effects, if its node is speculative."""
        ...

    def counts(self, node: str) -> Mapping[str, int]:
        """Return how many effects of a node were deferred, and what became of them."""
        ...

    def close(self) -> None:
        """Roll back what is left at the end of a session."""
        ...


class Runner(Protocol):
    """How a guardian's operator is called: inline, on worker tasks, or as a source.

    Arguments come in pairs because the run list calls with two.
    """

    def wake(self, guardian: Guardian) -> None:
        """See to it that what may begin of the queue begins."""
        ...

    def start(self, lane: Lane, arrival: tuple[Event, EdgeState]) -> None:
        """Run an event for which the guardian was claimed."""
        ...

    def resume(self, call: Call, _: object) -> None:
        """Go on with a call that has become the head of its lane."""
        ...

    def left(self, call: Call, at: float) -> None:
        """Go on with a call whose output, for which it had waited, has left."""
        ...

    def cancel(self, call: Call, at: float) -> None:
        """End a call; it settles as cancelled when its operator has ended."""
        ...


class Gate(Protocol):
    """How a queue is shared out that is more than one row; `gates` tells which are.

    A row is an in-port's part of the queue, or the place of what comes back to a loop.

    Attributes:
        places: of each row, None where the queue is unlimited.
        picks: it may pass by what waits, so that everything has to go through the queue.
        in_turn: those who wait for a place get one in the order in which they came.
        max_bytes: limit of each row, None without one; `bytes`: what is in each row.
    """

    places: list[int] | None
    picks: bool
    in_turn: bool
    max_bytes: int | None
    bytes: list[int]

    def has_place(self, lane: Lane, edge: EdgeState, event: Event) -> bool:
        """Say whether there is a place for an event that comes over this edge."""
        ...

    def has_places(self, lane: Lane, edge: EdgeState, events: Sequence[Event]) -> bool:
        """Say whether there are places for several events that come together."""
        ...

    def has_droppable_bytes(self, edge: EdgeState, event: Event) -> bool:
        """Say whether there is room for an event where all gives way that may."""
        ...

    def entered(self, lane: Lane, entry: Entry) -> None:
        """Note that an entry stands in a lane's row now."""
        ...

    def left(self, lane: Lane, entry: Entry) -> None:
        """Note that an entry has left its row."""
        ...

    def take(self, lane: Lane, at: float) -> tuple[Event, EdgeState] | None:
        """Take what is to be begun next of a lane; None where nothing may be yet."""
        ...

    def stir(self, lane: Lane) -> None:
        """Note that a watermark of a lane may have moved."""
        ...

    def share_out(self, capacity: int | None) -> None:
        """Share out another number of places."""
        ...

    @property
    def occupied(self) -> int:
        """Places that are taken or kept for a row, whichever is more, of all rows together."""
        ...


class Keys(Protocol):
    """How events of one key are kept apart; `partitions` tells how."""

    @property
    def passes_by(self) -> bool:
        """Whether what waits in the queue may be passed by."""
        ...

    def claim(self, call: Call) -> bool:
        """Have a call begin, or wait for its key; say which."""
        ...

    def state_for(self, call: Call, default: Any) -> Any:  # noqa: ANN401 - the operator's own
        """Return the state that a call works on."""
        ...

    def release(self, call: Call, *, is_done: bool) -> None:
        """Let the next of a key begin; safe to repeat."""
        ...

    def first_free(self, lane: Lane) -> int | None:
        """Return the place in a lane's queue of the first event whose key is free."""
        ...

    def end_turn(self, lane: Lane) -> None:
        """Forget the keys of a turn."""
        ...

    def end_conversation(self, conversation: str) -> None:
        """Forget the key of a conversation."""
        ...


class Bundle(Protocol):
    """Outputs that leave together or not at all; `transactions` tells how."""

    @property
    def payloads(self) -> list[Any]:
        """What the outputs carry, in their order."""
        ...

    def name(self, events: list[Event]) -> Event:
        """Take the events that carry the outputs; return the first."""
        ...

    def has_places(self, lane: Lane, edge: EdgeState) -> bool:
        """Say whether there are places for all that goes to this lane."""
        ...

    def deliver(self, at: float, edge: EdgeState | None = None) -> tuple[EdgeState, Lane] | None:
        """Put all on every edge, or none on any; return where there is no room.

        Args:
            at: the time now.
            edge: where it has waited itself, so that nobody stands before it there.
        """
        ...


class Circle(Protocol):
    """The rounds of one turn in a loop; `feedback` tells how they go.

    Attributes:
        entry: the lane at which events come back. `lanes`: all of the loop, in order.
        is_over: nothing can come back any more, so that its lanes close like any others.
    """

    entry: Lane
    lanes: tuple[Lane, ...]
    is_over: bool

    def changed(self) -> None:
        """Have it looked at soon whether something has left the loop, or all has."""
        ...


class LoopOpener(Protocol):
    """A loop of the session."""

    def open(self, turn: Turn) -> None:
        """Tie a new turn's lanes in the loop together."""
        ...


class Kernel:
    """What all guardians of a session share.

    Attributes:
        in_flight: events held by the runtime now, without the one that an operator is
            just being called with inline, and without the `row`: `held` has that too.
        row: outputs of a list that are run one behind the other and have yet to run.
        frames: further such lists, each with its lane and event; see `frames`.
        most: C; `shares` says whether it is more than one.
        active: conversations that are open; `open_turns` returns their turns.
        fading: turns that still end while the next of their conversation is open.
        fail_turn: ends a turn because of an error, told by whoever met it.
        turn_ended: called when every lane of a turn has closed; `stores_closed` when those
            have that may keep events back.
        on_blocked: called when somebody begins to wait for room; None while that is known.
        leave_turn: called with a stream that is done with its turn and goes on in the next;
            the flag says whether it barges in.
        stream_closed: called with a stream that has ended between two turns.
        refused: node -> the first of its operator's refusals to be closed.
        loops: those that feedback edges close, each opened with every turn.
        speculation: where speculative effects wait; None in a run that has none.
    """

    __slots__ = (
        "active",
        "clock",
        "fading",
        "fail_turn",
        "frames",
        "in_flight",
        "leave_turn",
        "log",
        "loop",
        "loops",
        "max_in_flight",
        "most",
        "now",
        "on_blocked",
        "open_calls",
        "open_turns",
        "refused",
        "row",
        "runlist",
        "shares",
        "speculation",
        "started_at",
        "stores_closed",
        "stream_closed",
        "turn_ended",
    )

    def __init__(self, loop: asyncio.AbstractEventLoop, clock: Clock, *, most: int) -> None:
        self.loop = loop
        self.clock = clock
        self.runlist = RunList.of(loop)
        self.now = self.runlist.now
        self.in_flight = 0
        self.max_in_flight = 0
        self.row = NO_ROW
        self.frames: Sequence[tuple[Lane, Event, Iterator[Any], int]] = ()
        self.active = 0
        self.fading = 0
        self.most = most
        self.shares = most > 1
        self.open_turns: Callable[[], Iterable[Turn]] = tuple
        self.started_at = self.now()
        # Operators at work, and tasks that have been woken: while there is one, what
        # waits may be waiting for it.
        self.open_calls = 0
        self.log: Log | None = None
        self.speculation: Barriers | None = None
        self.refused: dict[str, StallError] = {}
        self.loops: tuple[LoopOpener, ...] = ()
        self.fail_turn: Callable[[Turn, BaseException], None] = _nobody_listens
        self.turn_ended: Callable[[Turn], None] = _nobody_listens
        self.stores_closed: Callable[[Turn], None] = _nobody_listens
        self.on_blocked: Callable[[], None] | None = None
        self.leave_turn: Callable[[Any, bool], None] = _nobody_listens
        self.stream_closed: Callable[[Any], None] = _nobody_listens

    @property
    def held(self) -> int:
        """Events held by the runtime now, without one that is just being run inline."""
        return self.in_flight + length_hint(self.row)

    def enter(self, events: int = 1) -> None:
        """Count events that the runtime now holds."""
        self.in_flight += events
        self.max_in_flight = max(self.max_in_flight, self.in_flight)


def _nobody_listens(*_: object) -> None:
    """Stand in until the session has said who listens."""


class Turn:
    """One turn of one conversation, while it is open.

    Attributes:
        epoch: raised by a cancel; events of an older epoch are not worked on any more.
        in_flight: events of this turn that the runtime holds.
        open_lanes: nodes at which the turn has not ended; `open_stores` those of them that may
            keep events back.
        elder: the turn before, while that still ends.
        given_up_at: when it was cancelled, if it was.
        marks: source -> what it marked -> when.
        fault: why it cannot begin, where an operator could not make its state.
        deadline: when it is given up, on the session's clock; None is never.
    """

    __slots__ = (
        "conversation",
        "deadline",
        "elder",
        "epoch",
        "error",
        "fault",
        "given_up_at",
        "in_flight",
        "is_cancelled",
        "lanes",
        "marks",
        "number",
        "open_lanes",
        "open_stores",
        "opened_at",
        "waiting_sources",
    )

    def __init__(self, conversation: str, number: int, opened_at: float) -> None:
        self.conversation = conversation
        self.number = number
        self.opened_at = opened_at
        self.elder: Turn | None = None
        self.epoch = 0
        self.in_flight = 0
        self.is_cancelled = False
        self.given_up_at = opened_at
        self.error: BaseException | None = None
        self.fault: OperatorError | None = None
        self.deadline: float | None = None
        self.lanes: dict[str, Lane] = {}
        self.open_lanes = 0
        self.open_stores = 0
        self.marks: dict[str, dict[str, float]] = {}
        self.waiting_sources: list[Callable[[], None]] = []


class EdgeState:
    """One edge: counters over the whole run; its queue is the target's.

    Attributes:
        inline: events that went straight from an operator's return into the next operator;
            each is appended and taken here, and processed and emitted at the sender.
        fanned: likewise those out of a list, but emitted at the sender, and processed at the
            target; one that it settles itself is taken back from its own count.
        waiting: senders that wait because of this edge now.
        feedback: its limits where it leads back to a loop's entry, else None.
    """

    __slots__ = (
        "appended",
        "dropped",
        "fanned",
        "feedback",
        "id",
        "inline",
        "is_detached",
        "overflow",
        "plan",
        "port",
        "purged",
        "taken",
        "tap",
        "waiting",
    )

    def __init__(self, plan: EdgePlan, port: int) -> None:
        self.id = plan.id
        self.plan = plan
        self.port = port
        self.feedback = plan.feedback
        self.is_detached = plan.is_detached
        # A detached edge never holds its sender, so it always has an overflow of its own.
        self.overflow = (plan.overflow or Overflow.DROP_OLDEST) if plan.is_detached else None
        self.inline = 0
        self.fanned = 0
        self.appended = 0
        self.taken = 0
        self.purged = 0
        self.dropped = 0
        self.waiting = 0
        self.tap: Tap | None = None

    @property
    def offered(self) -> int:
        """Events that were brought to the target's node over this edge."""
        return self.appended + self.inline + self.fanned


class Route:
    """Where the outputs of one port go, for one lane.

    Attributes:
        owner, port: the node and its port.
        hops: (edge, lane behind it) in document order; `strict` those that can hold back;
            `backwards` all, the first last, so that what runs inline of it is run first.
        returns: likewise over the feedback edges, which hold nobody back and tell no end.
        leads_on: there is any edge.
        must_count: an event that goes on has to be counted here, for a join that is told.
        choices: routes of which an output takes one, whichever has room; `turn` is the next
            to be asked first, and `full` where the others had none when one was last asked.
        bundle: what stands for several outputs in one hand, None for a way of one output.
        lane, edge: the way an event may take inline: the only edge, into a node with one
            in-port, and watched by nobody; None where that is not so.
    """

    __slots__ = (
        "backwards",
        "bundle",
        "choices",
        "edge",
        "full",
        "hops",
        "lane",
        "leads_on",
        "must_count",
        "owner",
        "port",
        "returns",
        "strict",
        "turn",
    )

    def __init__(self, owner: str, port: str, hops: tuple[tuple[EdgeState, Lane], ...]) -> None:
        self.owner = owner
        self.port = port
        self.leads_on = bool(hops)
        self.must_count = False
        self.bundle: Bundle | None = None
        self.choices: tuple[Route, ...] = ()
        self.turn = 0
        self.full: tuple[tuple[EdgeState, Lane], ...] = ()
        self.returns: tuple[tuple[EdgeState, Lane], ...] = ()
        self.hops = self.backwards = self.strict = hops
        if len(hops) != 1 or hops[0][0].feedback is not None or hops[0][0].is_detached:
            self._sort_out(hops)
        self.lane: Lane | None = None
        self.edge: EdgeState | None = None
        self.refresh()

    def _sort_out(self, hops: tuple[tuple[EdgeState, Lane], ...]) -> None:
        """Tell apart what is not just one ordinary edge, of which most ports have no more."""
        self.returns = tuple(hop for hop in hops if hop[0].feedback is not None)
        self.hops = hops = tuple(hop for hop in hops if hop[0].feedback is None)
        self.backwards = hops[::-1]
        self.strict = tuple(hop for hop in hops if not hop[0].is_detached)

    def refresh(self) -> None:
        """Find the inline way anew, after somebody began or ceased to look, or a lane died."""
        self.lane = self.edge = None
        if len(self.hops) != 1 or self.returns or self.must_count:
            return
        edge, lane = self.hops[0]
        is_watched = edge.tap is not None or lane.guardian.kernel.log is not None
        if not is_watched and not lane.is_shut and len(lane.guardian.ports) == 1:
            self.edge, self.lane = edge, lane


class Lane:
    """One turn at one node: its part of the queue, the operator's state, its end.

    Attributes:
        queues: waiting (event, since, edge, stamp), one deque per row: the in-ports, and at
            a loop's entry what has come back.
        depth: their length together.
        claimed: events about to run inline; `calls`: those that are kept as calls, in order.
        dispatched: both together.
        open_edges: in-edges on which the turn has not ended; `terminal`: merged so far.
        is_shut: what arrives is discarded; a lane that drains is shut and goes on with the rest.
        is_dead: what comes back is discarded too: cancelled, or failed here.
        before: the routes that lead here.
        circle: the rounds of the loop that the node is part of, None elsewhere.
        joins: lanes behind this one that must be told when a watermark may have moved.
        store: in a join, entries that had to make room in their row; part of `depth`.
        spare: a call that has ended and is as a new one but for its event; None without one.
        quick: an event without outputs can be settled by counting it.
        plain: class of payloads known to be returned bare; `checked`: of the payload last seen
            to be one, in whatever way it was returned.
        sequence, part: of the last output; None where inputs of one sequence need not come
            together, and `parts` by (source, sequence), pruned at `parts_kept` entries.
    """

    __slots__ = (
        "awaits_first",
        "before",
        "calls",
        "checked",
        "circle",
        "depth",
        "dispatched",
        "extra",
        "guardian",
        "has_finished",
        "is_closed",
        "is_dead",
        "is_shut",
        "joins",
        "keep_from",
        "last",
        "open_edges",
        "part",
        "parts",
        "parts_kept",
        "plain",
        "process",
        "queues",
        "quick",
        "route",
        "routes",
        "scope",
        "sequence",
        "service",
        "source",
        "spare",
        "store",
        "terminal",
        "turn",
        "waiting",
    )

    def __init__(self, guardian: Guardian, turn: Turn, scope: EngineScope) -> None:
        self.guardian = guardian
        self.turn = turn
        self.scope = scope
        self.process = guardian.process
        self.service = guardian.service
        self.queues: tuple[deque[Entry], ...] = tuple(deque() for _ in range(guardian.rows))
        self.depth = 0
        self.dispatched = 0
        self.calls: dict[Call, None] = {}
        self.spare: Call | None = None
        self.waiting = 0
        self.open_edges = 0
        self.terminal = Terminal.NONE
        self.is_dead = False
        self.is_shut = False
        self.is_closed = False
        self.has_finished = False
        self.awaits_first = False
        self.quick = True
        self.plain: type | None = None
        self.checked: type | None = None
        self.extra: list[Any] | None = None
        self.keep_from: int | None = None
        self.last: Event | None = None
        self.source: Any = None
        self.sequence: int | None = -1 if guardian.keeps_runs else None
        self.part = 0
        self.parts: dict[tuple[str, int], int] | None = None if guardian.keeps_runs else {}
        self.parts_kept = 256
        self.before: list[Route] = []
        self.circle: Circle | None = None
        self.joins: tuple[Lane, ...] = ()
        self.store: list[Entry] = _NO_STORE
        self.routes: dict[str, Route] = {}
        self.route: Route | None = None

    def keep(self, sequence: int | None) -> None:
        """Note the lowest sequence that the operator still keeps."""
        self.keep_from = sequence

    def collect(self, payload: object, port: str | None) -> None:
        """Take an output that an operator emits beside what it returns."""
        if self.extra is None:
            self.extra = []
            self.plain = None  # so that the short way looks closer at what it returns
        self.extra.append(payload if port is None else Emit(port, payload))

    def head(self) -> Call | None:
        """Return the call whose outputs leave first, None without calls."""
        return next(iter(self.calls), None)

    def first_entry(self) -> Entry:
        """Return what has waited longest; the lane must have something waiting."""
        if len(self.queues) == 1 and not self.store:
            return self.queues[0][0]
        heads = [queue[0] for queue in self.queues if queue]
        return min((*heads, *self.store), key=_stamp_of)


Entry = tuple[Event, float, EdgeState, int]

#: The store of lanes that have none; never written to.
_NO_STORE: list[Entry] = []


def _stamp_of(entry: Entry) -> int:
    return entry[3]


class Later:
    """What the beginning of an operator's call returns where its result comes later."""

    __slots__ = ()

    def take_over(self, call: Call, at: float) -> None:
        """See to the rest of the call; told once, at once."""
        raise NotImplementedError

    def suspended(self, lane: Lane, event: Event, spent_s: float, at: float) -> None:
        """Keep a call for an event that has begun inline, and take that over."""
        raise NotImplementedError


class Call:
    """One event at an operator for longer than a moment, with the outputs it has in hand.

    Attributes:
        event: the input; None for a `finish` and for a source.
        more: outputs that can still be asked for, None when there are none.
        extra: places that a returned list takes beside the first; `listed` what the
            operator emitted beside its result.
        output, route: what is in hand and the way it takes; `pending` the event made of it
            once it may leave.
        is_open: it needs a worker: the operator runs, or will be asked for more.
        is_running: the operator is at work now, since `started_at`; `spent_s` before that.
        ready_at: when the output in hand was there; `blocked_at`: since when it waits for
            room at `waits_at`, None when it does not; `or_at`: where it may be let in as well.
        is_measured: the operator's time is counted already.
        is_settled: set once, in `settling`.
        has_left: an output has left the node, so that there is no further try.
        trial: how far its tries have come; None where it has not been counted yet.
    """

    __slots__ = (
        "blocked_at",
        "event",
        "extra",
        "has_left",
        "is_cancelled",
        "is_measured",
        "is_open",
        "is_running",
        "is_settled",
        "lane",
        "listed",
        "more",
        "or_at",
        "output",
        "pending",
        "ready_at",
        "route",
        "scope",
        "spent_s",
        "started_at",
        "timer",
        "trial",
        "waits_at",
        "wake",
        "worker",
    )

    def __init__(self, lane: Lane, event: Event | None) -> None:
        self.lane = lane
        self.event = event
        self.scope = lane.scope
        self.more: Iterator[Any] | None = None
        self.extra = 0
        self.listed: list[Any] | None = None
        self.output: Any = NOTHING
        self.pending: Event | None = None
        self.route: Route | None = None
        self.is_open = False
        self.is_running = False
        self.is_settled = False
        self.is_cancelled = False
        self.is_measured = False
        self.has_left = False
        self.trial: Trial | None = None
        self.started_at = 0.0
        self.spent_s = 0.0
        self.ready_at = 0.0
        self.blocked_at: float | None = None
        self.waits_at: tuple[EdgeState, Lane] | None = None
        self.or_at: tuple[tuple[EdgeState, Lane], ...] = ()
        self.timer: asyncio.TimerHandle | None = None
        self.wake: asyncio.Future[None] | None = None
        self.worker: Any = None

    def renew(self) -> None:
        """Be as a new one again after an output has left that had to wait, but for its event."""
        self.pending = self.route = self.blocked_at = None
        self.output = NOTHING
        self.is_measured = self.has_left = False

    def is_special(self, lane: Lane) -> bool:
        """Say whether there is more to do than to send what the operator returned."""
        return bool(
            self.is_cancelled
            or lane.is_dead
            or self.listed
            or lane.extra
            or self.trial
            or self.event is None
            or (lane.guardian.keeps_order and lane.head() is not self)
        )

    def collect(self, payload: object, port: str | None) -> None:
        """Take an output that the operator emits beside what it returns."""
        if self.listed is None:
            self.listed = []
        self.listed.append(payload if port is None else Emit(port, payload))


class Guardian:
    """One node at run time: its bounded queue, its workers' places, its books.

    Invariant: depth <= q; opened <= k; dispatched <= k + ρ (the window).

    Attributes:
        ports: names of the connected in-ports.
        has_store: it may keep events back in a turn's state.
        unasked: events of one turn that may wait here before the others' share is looked at.
        way: INLINE or QUEUED, 0 where the operator is not called on the run list.
        workers: k; 0 while the node `is_paused`, so that nothing more is begun.
        tuned_at, tuned_worker_s: when k was last changed, and the seconds of worker time until
            then; None and 0 where it never was.
        free: the way while nothing is at work, waits or is waited for, else 0.
        claimed: the event that is on the run list to run inline here.
        window: k + ρ; `dispatched`: events begun and not emitted, of which `opened` hold a
            worker, and the operators of `working` run, since `started_s` added up.
        is_metered: some worker waits, so its time is to be shared out: see `meter`.
        keeps_order: events of a lane leave in the order in which they came.
        keeps_runs: outputs of one sequence are made one behind the other.
        is_choosy: lanes are asked before something of them is begun: for a gate, or to share.
        gate: how the queue is shared out among its `rows`, None where there is but one.
        ready: lanes with waiting events, the next to be served first; `finishing` those
            whose `finish` is due, and before them the calls that are due to be tried again.
        keeps_calls: each event has a call from its beginning; `retries`: tries after the first.
        keys: keeps the events of one key apart, None where nothing does.
        commits: its state is transactional, and leaves together with the outputs.
        borrowers: heads that are tried again at the place of a call that waits for them.
        waiters: calls that wait for room here, longest first.
    """

    __slots__ = (
        "backpressured_s",
        "blocked",
        "borrowers",
        "cancelled",
        "claimed",
        "commits",
        "depth",
        "dispatched",
        "dropped",
        "emitted",
        "failed",
        "finish",
        "finishing",
        "first_at_s",
        "free",
        "gate",
        "has_finish",
        "has_store",
        "id",
        "is_choosy",
        "is_limited",
        "is_metered",
        "is_paused",
        "is_pumping",
        "is_sink",
        "is_source",
        "keeps_calls",
        "keeps_order",
        "keeps_runs",
        "kernel",
        "keys",
        "max_depth",
        "max_outputs",
        "meter_at",
        "node",
        "notices",
        "opened",
        "outputs",
        "overflow",
        "parked",
        "ports",
        "process",
        "processed",
        "queue_capacity",
        "ready",
        "retries",
        "retry",
        "rows",
        "runner",
        "service",
        "service_s",
        "side_effects",
        "stamp",
        "started_s",
        "tuned_at",
        "tuned_worker_s",
        "unasked",
        "wait",
        "waiters",
        "way",
        "window",
        "window_blocked_s",
        "workers",
        "working",
    )

    def __init__(  # noqa: PLR0915 - one line for each thing that is counted
        self, node: NodePlan, kernel: Kernel, runner: Runner
    ) -> None:
        policy, operator = node.policy, node.operator
        self.id = node.id
        self.node = node
        self.kernel = kernel
        self.runner = runner
        self.process: Callable[[Any, Any], Any] = operator.process
        self.finish: Callable[[Any], Any] = operator.finish
        self.has_finish = False
        self.has_store = operator.kept_events() > 0
        self.outputs = frozenset(port.name for port in operator.outputs)
        self.max_outputs = node.outputs_at_once
        self.is_source = node.is_source
        ways = node.edges_out or {}
        self.is_sink = not any(ids for port, ids in ways.items() if port != DEAD_PORT.name)
        self.service_s: float | None = None
        self.queue_capacity = node.queue_capacity
        self.workers = policy.workers
        self.is_paused = False
        self.tuned_at: float | None = None
        self.tuned_worker_s = 0.0
        self.window = policy.workers + policy.reorder_capacity
        self.keeps_order = policy.workers == 1 or policy.reorder_capacity > 0
        self.keeps_runs = True
        self.overflow = policy.overflow
        self.retry = policy.retry
        self.side_effects = node.side_effects
        self.keeps_calls = False
        self.keys: Keys | None = None
        self.commits = policy.state is State.TRANSACTIONAL and not node.is_source
        self.retries = 0
        self.ports = node.inputs
        self.rows = len(node.inputs)
        self.gate: Gate | None = None
        self.is_choosy = False
        self.is_limited = kernel.shares
        self.unasked = 1 if kernel.shares else sys.maxsize
        self.free = 0
        self.way = 0
        self.claimed: Event | None = None
        self.is_pumping = False
        self.depth = 0
        self.max_depth = 0
        self.dispatched = 0
        self.opened = 0
        self.working = 0
        self.started_s = 0.0
        self.stamp = 0
        self.ready: deque[Lane] = deque()
        self.finishing: deque[Lane | Call] = deque()
        self.borrowers: dict[Call, None] = {}
        self.waiters: dict[Call, None] = {}
        self.parked: dict[Call, None] = {}
        self.processed = 0
        self.emitted = 0
        self.failed = 0
        self.cancelled = 0
        self.dropped: dict[str, int] = {}
        self.wait = Histogram()
        self.service = Histogram()
        self.blocked = Histogram()
        self.is_metered = False
        self.meter_at = 0.0
        self.backpressured_s = 0.0
        self.window_blocked_s = 0.0
        self.first_at_s: float | None = None
        self.notices: dict[str, int] = {}

    def note(self, what: str) -> None:
        """Count what a person should hear of after the run."""
        self.notices[what] = self.notices.get(what, 0) + 1

    def refresh(self) -> None:
        """Find anew whether an arrival may run inline; after every change of what it is of."""
        is_busy = self.dispatched or self.depth or self.waiters or self.finishing
        self.free = 0 if is_busy else self.way

    def may_queue(self, lane: Lane, edge: EdgeState, event: Event) -> bool:
        """Say whether the queue has a place for an event of this lane."""
        if self.gate is not None:
            return self.gate.has_place(lane, edge, event)
        capacity = self.queue_capacity
        if capacity is None:
            return True
        if self.depth >= capacity:
            return False
        if lane.depth < self.unasked:
            return True
        # A place is kept for each open conversation that has nothing waiting here, so that
        # one which cannot leave never stops another. Invariant: those places are there.
        kernel = self.kernel
        others = kernel.active
        if capacity < others:
            return True
        if kernel.fading:
            waiting = {other.turn.conversation for other in self.ready}
            others -= len(waiting | {lane.turn.conversation})
        else:
            others -= len(self.ready)
        return self.depth + others < capacity

    def meter(self, at: float) -> None:
        """Add the time since the last change to what the workers waited for.

        Called before each change of `parked`, `working`, `dispatched` or `depth` while one
        of the calls is not at work; while all are, there is nothing to share out.
        """
        if self.is_metered and at != self.meter_at:
            left = self.workers - self.working
            if left > 0:
                span = at - self.meter_at
                held_back = len(self.parked)
                if held_back > left:  # noqa: PLR1730 - no call for every event
                    held_back = left
                self.backpressured_s += span * held_back
                if self.depth and self.dispatched >= self.window:
                    self.window_blocked_s += span * (left - held_back)
        self.meter_at = at

    def remeter(self) -> None:
        """Find anew whether time is to be shared out, after a change."""
        self.is_metered = bool(self.parked) or self.dispatched > self.working
