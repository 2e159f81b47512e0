"""What stands still behind a slow node: each freed place takes one in, back to the source."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from aiflow.engine import pulling
from aiflow.engine.session import Session
from aiflow.events import Token
from aiflow.metrics.snapshot import Snapshot
from aiflow.operators.base import Emit
from aiflow.operators.scope import Scope
from aiflow.testing.plans import PlanBuilder
from aiflow.testing.virtual import run_virtual

COUNT = 12
CAPACITY = 2
NUMBERS = [str(number) for number in range(COUNT)]
#: What the line below can hold: a hand at the source and one at the function, two queues of
#: `CAPACITY`, and what the slow operator works on.
HELD = 1 + CAPACITY + 1 + CAPACITY + 1


class Line:
    """A source, a plain function, a slow operator and a sink, with little room between them.

    Args:
        is_logged: have each event told, which takes the long way everywhere.

    Attributes:
        taken: texts at the sink. `aside`: those sent by the function's other port.
        ahead: how many more were read than taken, at most.
    """

    def __init__(self, *, workers: int = 1, is_logged: bool = False) -> None:
        self.workers = workers
        self.lines: list[str] | None = [] if is_logged else None
        self.taken: list[str] = []
        self.aside: list[str] = []
        self.read = self.ahead = 0
        self.session: Session

    def run(self, plain: Plain, source: Source) -> Snapshot:
        """Run it on the virtual clock and return its last snapshot."""

        def stream(scope: Scope) -> Iterator[Any]:
            for payload in source(self, scope):
                self.read += 1
                self.ahead = max(self.ahead, self.read - len(self.taken))
                yield payload

        def process(token: Token, scope: Scope) -> object:
            return plain(self, token, scope)

        builder = PlanBuilder(1).source("s", stream)
        builder.node("p", process, queue_capacity=CAPACITY, outputs=("out", "other"), max_outputs=3)
        reorder = 0 if self.workers == 1 else self.workers
        builder.node(
            "n", slow, queue_capacity=CAPACITY, workers=self.workers, reorder_capacity=reorder
        )
        builder.sink("k", lambda token: self.taken.append(token.text)).chain("s", "p", "n", "k")
        builder.sink("o", lambda token: self.aside.append(token.text)).edge("p.other", "o")
        log = None if self.lines is None else self.lines.append
        self.session = Session(builder.build(), log=log)
        return run_virtual(self.session.run())


Plain = Callable[[Line, Token, Scope], object]
Source = Callable[[Line, Scope], Iterator[Any]]


class Special(Token, frozen=True):
    """A token of another class than those before it."""


async def slow(token: Token, scope: Scope) -> Token:
    """Take a second for each, so that whatever is before it stands still."""
    await scope.sleep(1)
    return token


def same(_line: Line, token: Token, _scope: Scope) -> Token:
    """Hand the token on."""
    return token


def numbers(_line: Line, _scope: Scope) -> Iterator[Token]:
    """Yield all numbers."""
    return map(Token, NUMBERS)


def at_six(what: Callable[[Line, Token, Scope], object]) -> Plain:
    """Return a function that hands on what it is given, but does something else at the sixth."""
    return lambda line, token, scope: what(line, token, scope) if token.text == "6" else token


def also_at_six(what: Callable[[Line, Scope], object]) -> Plain:
    """Return a function that hands on what it is given, and does something more at the sixth."""

    def plain(line: Line, token: Token, scope: Scope) -> Token:
        if token.text == "6":
            what(line, scope)
        return token

    return plain


def before_six(what: Callable[[Line, Scope], object]) -> Source:
    """Return a source of numbers that does something before it yields the sixth."""

    def source(line: Line, scope: Scope) -> Iterator[Any]:
        for text in NUMBERS:
            if text == "6":
                what(line, scope)
            yield Token(text)

    return source


def fails(*_: object) -> object:
    """Raise."""
    raise ValueError("six")


def yields(payload: object) -> Source:
    """Return a source that yields something else as the sixth."""
    return lambda _line, _scope: (payload if text == "6" else Token(text) for text in NUMBERS)


FUNCTIONS: dict[str, Plain] = {
    "hands on": same,
    "raises": at_six(fails),
    "filters": lambda _line, token, _scope: None if int(token.text) % 3 else token,
    "filters one": at_six(lambda *_: None),
    "returns a list": at_six(lambda _line, token, _scope: [token, Token("6b")]),
    "returns an empty list": at_six(lambda *_: []),
    "is a generator": at_six(lambda _line, token, _scope: iter((token, Token("6b")))),
    "sends by another port": at_six(lambda _line, token, _scope: Emit("other", token)),
    "returns another class": at_six(lambda _line, token, _scope: Special(token.text)),
    "returns no payload": at_six(lambda *_: object()),
    "emits beside its result": also_at_six(lambda _line, scope: scope.emit(Token("6b"), "other")),
    "cancels": also_at_six(lambda line, scope: line.session.cancel(scope.conversation)),
    "stops": also_at_six(lambda line, _scope: line.session.stop()),
    "drains": also_at_six(lambda line, _scope: line.session.drain()),
    "gives room behind it": also_at_six(
        lambda line, _scope: line.session.tune("n", queue_capacity=9)
    ),
    "takes room behind it": also_at_six(
        lambda line, _scope: line.session.tune("n", queue_capacity=1)
    ),
    "gives itself room": also_at_six(lambda line, _scope: line.session.tune("p", queue_capacity=9)),
    "gives itself workers": also_at_six(
        lambda line, _scope: line.session.tune("p", workers=2, reorder_capacity=2)
    ),
    "lifts a breakpoint": also_at_six(
        lambda line, _scope: line.session.set_breakpoint("p.out>n.in", False)
    ),
}
SOURCES: dict[str, Source] = {
    "yields numbers": numbers,
    "raises": before_six(fails),
    "ends at once": lambda *_: iter(()),
    "yields no payload": yields(object()),
    "yields another class": yields(Special("6")),
    "yields by a port": yields(Emit("out", Token("6"))),
    "cancels": before_six(lambda line, scope: line.session.cancel(scope.conversation)),
    "stops": before_six(lambda line, _scope: line.session.stop()),
    "drains": before_six(lambda line, _scope: line.session.drain()),
    "gives room": before_six(lambda line, _scope: line.session.tune("p", queue_capacity=9)),
}
CASES = [(name, "yields numbers") for name in FUNCTIONS] + [("hands on", name) for name in SOURCES]


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize(("function", "source"), CASES)
def test_a_short_way_comes_out_as_the_long_one(function: str, source: str, workers: int) -> None:
    """Whatever the function and the source do: the same arrives, and the same is counted."""
    seen = []
    for is_logged in (False, True):
        line = Line(workers=workers, is_logged=is_logged)
        last = line.run(FUNCTIONS[function], SOURCES[source])
        counts = {
            name: (each.received, each.processed, each.emitted, each.failed, each.cancelled)
            for name, each in last.nodes.items()
        }
        seen.append((last.phase, line.taken, line.aside, counts, line.ahead, last.conversations))
        assert last.in_flight == 0

    assert seen[0] == seen[1]


@pytest.mark.parametrize("workers", [1, 3])
def test_no_more_is_read_than_there_is_room_for(workers: int) -> None:
    """The source is as far ahead as two queues and the hands between them hold."""
    line = Line(workers=workers)
    last = line.run(same, numbers)

    held = HELD if workers == 1 else HELD - 1 + 2 * workers
    assert line.taken == NUMBERS
    assert line.ahead <= held
    assert last.max_in_flight <= held + 1  # and one at the sink
    assert last.nodes["n"].max_depth == CAPACITY
    assert last.nodes["p"].max_depth == CAPACITY


def test_a_line_that_stands_still_moves_by_one_for_each_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The function is called with what its queue holds first, in the step that freed the place."""
    pulled: list[str] = []
    make_next = pulling._make_next

    def note(call: Any, lane: Any, at: float) -> None:
        pulled.append(lane.queues[0][0][0].payload.text)
        make_next(call, lane, at)

    monkeypatch.setattr(pulling, "_make_next", note)
    line = Line()
    line.run(same, numbers)

    assert line.taken == NUMBERS
    assert len(pulled) >= COUNT - HELD
    assert pulled == sorted(pulled, key=int)


def test_what_waited_is_blocked_and_its_node_held_back_for_that_time() -> None:
    """A second passes for each event, and all that time something waits before the slow node."""
    short, long = Line(), Line(is_logged=True)
    nodes, others = short.run(same, numbers).nodes, long.run(same, numbers).nodes

    for name in ("s", "p"):
        assert nodes[name].blocked.sum_s == pytest.approx(others[name].blocked.sum_s) != 0
        assert nodes[name].backpressured_s == pytest.approx(others[name].backpressured_s) != 0
    assert nodes["p"].wait == others["p"].wait
