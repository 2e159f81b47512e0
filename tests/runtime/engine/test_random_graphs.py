"""The engine's laws on random graphs: bound, accounting, order, ends, backpressure, cancel."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from hypothesis import given

from tests.runtime.engine.random_graphs import (
    ALL_STRATEGIES,
    KINDS,
    GraphSpec,
    check_books,
    counted,
    expected,
    graphs,
    many,
    run,
    tried,
)


@given(graphs(with_turns=True, strategies=ALL_STRATEGIES))
@many(150)
def test_every_node_is_called_with_exactly_what_the_graph_makes(spec: GraphSpec) -> None:
    """Under block nothing is lost, doubled or made up, whatever the queues and workers."""
    noted = run(spec)

    check_books(noted)
    assert noted.snapshot.phase == "completed"
    assert counted(spec, noted.called) == expected(spec)


@given(graphs(with_turns=True))
@many(100)
def test_events_leave_an_ordering_node_as_they_came(spec: GraphSpec) -> None:
    """With one worker or a reorder buffer, outputs stand in the order of their inputs."""
    noted = run(replace(spec, is_logged=True))

    for (node, conversation), inputs in noted.called.items():
        policy = spec.nodes[node]
        workers = 1 if policy.kind == "keep" else policy.workers
        # Two timers of one time may fire in any order, so there calls do not tell who came first.
        if workers > 1 and (not policy.reorder_capacity or policy.kind == "timed"):
            continue
        if workers > 1 and policy.kind == "stream":
            # Each begins on a task of its own, so the calls do not tell who came first.
            if len(policy.before) > 1:
                continue
            inputs = noted.emitted[policy.before[0][0], conversation]  # noqa: PLW2901
        place = {text: index for index, text in enumerate(inputs)}
        left = [place[text.rpartition(">")[0]] for text in noted.emitted[node, conversation]]
        assert left == sorted(left), (node, conversation)


@given(graphs(blocks_only=False))
@many(150)
def test_books_are_even_whatever_is_dropped_or_refused(spec: GraphSpec) -> None:
    """Every arrival is processed, dropped with a reason, failed or cancelled; nothing else."""
    noted = run(spec)

    check_books(noted)
    assert noted.snapshot.phase in ("completed", "failed")
    if not spec.is_droppable:
        assert all(not node.dropped for node in noted.snapshot.nodes.values())


@given(graphs(blocks_only=False, with_failures=True))
@many(150)
def test_a_failing_operator_ends_its_conversation_and_no_other(spec: GraphSpec) -> None:
    """The others complete, every node hears of every end once, and the books are even."""
    noted = run(spec)

    check_books(noted)
    outcomes = Counter(noted.snapshot.conversations.values())
    assert outcomes["completed"] + outcomes["failed"] == spec.conversations
    hows = [how for node in spec.nodes.values() for _, how in node.before if how is not None]
    # A detached edge may neither hold its sender nor drop what is not droppable: it fails.
    if "error" not in hows and (spec.is_droppable or not hows):
        assert outcomes["failed"] <= 1
    if spec.fails_at is not None and noted.calls >= spec.fails_at:
        assert outcomes["failed"] >= 1, "an operator has raised, and nobody was told"


@given(graphs(blocks_only=False, with_turns=True, with_barge_ins=True))
@many(150)
def test_a_barge_in_ends_its_turn_and_no_conversation(spec: GraphSpec) -> None:
    """The conversation goes on, each turn ends once at each node, and the books are even."""
    noted = run(spec)

    check_books(noted)
    if "error" not in [how for node in spec.nodes.values() for _, how in node.before]:
        assert "failed" not in noted.snapshot.conversations.values() or not spec.is_droppable


@given(
    graphs(
        blocks_only=False,
        with_failures=True,
        with_cancels=True,
        with_turns=True,
        with_barge_ins=True,
        strategies=ALL_STRATEGIES,
    )
)
@many(250)
def test_a_cancelled_turn_is_over_at_once_and_leaves_nothing(spec: GraphSpec) -> None:
    """Cancel and stop, from within any operator call, leave no event, task or second end."""
    noted = run(spec)

    check_books(noted)
    assert "active" not in noted.snapshot.conversations.values()


@given(
    graphs(
        blocks_only=False,
        with_failures=True,
        with_cancels=True,
        with_turns=True,
        with_barge_ins=True,
    )
)
@many(40)
def test_the_same_run_twice_writes_the_same_log(spec: GraphSpec) -> None:
    """On the virtual clock plan and seed decide everything."""
    spec = replace(spec, is_logged=True)

    assert run(spec).log == run(spec).log


@given(graphs(blocks_only=False, with_failures=True))
@many(60)
def test_a_log_changes_nothing_of_what_it_tells(spec: GraphSpec) -> None:
    """Without a log events take the short way inline; each operator is called just the same."""
    # A log makes other callbacks, so that a shuffle would be another one.
    told = run(replace(spec, is_logged=True, shuffle=None))
    untold = run(replace(spec, is_logged=False, shuffle=None))

    assert told.called == untold.called
    assert told.snapshot.conversations == untold.snapshot.conversations


@given(graphs(with_tunings=True))
@many(150)
def test_tuning_neither_loses_nor_doubles_an_event(spec: GraphSpec) -> None:
    """Whatever q, k and ρ become in mid-run: the same calls, within limits that only shrink."""
    noted = run(spec)

    check_books(noted)
    assert noted.snapshot.phase == "completed"
    assert counted(spec, noted.called) == expected(spec)


@given(graphs(with_tunings=True))
@many(100)
def test_a_node_that_keeps_order_keeps_it_when_it_is_tuned(spec: GraphSpec) -> None:
    """Order that was promised at the start holds to the end, though k is raised at ρ 0."""
    noted = run(replace(spec, is_logged=True))

    for (node, conversation), inputs in noted.called.items():
        policy = spec.nodes[node]
        workers = 1 if policy.kind == "keep" else policy.workers
        if policy.kind == "timed" or (workers > 1 and not policy.reorder_capacity):
            continue
        if workers > 1 and policy.kind == "stream":
            # Each begins on a task of its own, so the calls do not tell who came first.
            if len(policy.before) > 1:
                continue
            inputs = noted.emitted[policy.before[0][0], conversation]  # noqa: PLW2901
        place = {text: index for index, text in enumerate(inputs)}
        left = [place[text.rpartition(">")[0]] for text in noted.emitted[node, conversation]]
        assert left == sorted(left), (node, conversation)


@given(graphs(blocks_only=False, with_failures=True, with_cancels=True, with_tunings=True))
@many(150)
def test_books_are_even_whatever_is_tuned(spec: GraphSpec) -> None:
    """Drops, failures and cancels beside changes of q, k, ρ and o leave no event uncounted."""
    noted = run(spec)

    check_books(noted)
    assert "active" not in noted.snapshot.conversations.values()


@given(graphs(with_turns=True, with_retries=True))
@many(200)
def test_tries_neither_lose_nor_double_an_event(spec: GraphSpec) -> None:
    """What succeeds at last is heard once, what is given up on is told once, and all is counted."""
    noted = run(spec)

    check_books(noted)
    assert noted.snapshot.phase == "completed"
    assert counted(spec, noted.called) == expected(spec)
    begun = counted(spec, noted.begun)
    lost: Counter[tuple[str, str]] = Counter()
    for name, retry in spec.retries.items():
        given_up = [text for text in begun[name].elements() if retry.gives_up(name, text)]
        tries = sum(tried(spec, name, text)[2] for text in begun[name].elements())
        assert noted.snapshot.nodes[name].failed == len(given_up)
        assert noted.snapshot.nodes[name].retries == tries - begun[name].total()
        if retry.then == "dead_letter":
            lost.update((name, text) for text in given_up)
    assert Counter(noted.buried) == lost


@given(graphs(with_retries=True, with_keys=True))
@many(150)
def test_an_event_that_is_tried_again_keeps_its_place(spec: GraphSpec) -> None:
    """With one worker or a reorder buffer, outputs leave in the order of the first tries."""
    noted = run(replace(spec, is_logged=True))

    for (node, conversation), inputs in noted.begun.items():
        policy = spec.nodes[node]
        workers = 1 if policy.kind == "keep" else policy.workers
        if workers > 1 and (not policy.reorder_capacity or policy.kind == "timed"):
            continue
        if node in spec.keys or (workers > 1 and policy.kind == "stream"):
            # One begins on a task of its own, or when its key is free: calls do not tell who came.
            if len(policy.before) > 1:
                continue
            inputs = noted.emitted[policy.before[0][0], conversation]  # noqa: PLW2901
        place = {text: index for index, text in enumerate(inputs)}
        left = [place[text.rpartition(">")[0]] for text in noted.emitted[node, conversation]]
        assert left == sorted(left), (node, conversation)


@given(
    graphs(
        blocks_only=False,
        with_failures=True,
        with_cancels=True,
        with_turns=True,
        with_barge_ins=True,
        with_retries=True,
        with_keys=True,
        thens=("fail", "skip", "dead_letter"),
    )
)
@many(250)
def test_cancels_drops_and_tries_settle_each_event_once(spec: GraphSpec) -> None:
    """Whatever comes together, every node's books are even and nothing is left."""
    noted = run(spec)

    check_books(noted)
    assert "active" not in noted.snapshot.conversations.values()


@given(graphs(with_retries=True, with_cancels=True, thens=("fail", "skip", "dead_letter")))
@many(40)
def test_tries_are_the_same_in_each_run(spec: GraphSpec) -> None:
    """Chance in the waits is keyed, so plan and seed decide everything."""
    spec = replace(spec, is_logged=True)

    assert run(spec).log == run(spec).log


@given(graphs(with_turns=True, with_retries=True, with_keys=True))
@many(150)
def test_keys_keep_their_order_and_go_on_beside_each_other(spec: GraphSpec) -> None:
    """With tries in between: one of a key at a time, and what the graph makes is made."""
    noted = run(spec)

    check_books(noted)
    assert counted(spec, noted.called) == expected(spec)


@given(
    graphs(
        with_turns=True,
        with_retries=True,
        with_commits=True,
        with_keys=True,
        strategies=ALL_STRATEGIES,
    )
)
@many(200)
def test_transactions_neither_lose_nor_double_an_event(spec: GraphSpec) -> None:
    """What a failed try had sent is not heard; what succeeds at last is, once and as a whole."""
    noted = run(spec)

    check_books(noted)
    assert noted.snapshot.phase == "completed"
    assert counted(spec, noted.called) == expected(spec)


@given(graphs(with_commits=True, kinds=(*KINDS[:-1], "loop", "loop")))
@many(100)
def test_transactions_go_round_in_loops(spec: GraphSpec) -> None:
    """Whatever stands before or behind it, a commit neither loses nor doubles an event."""
    noted = run(spec)

    check_books(noted)
    assert noted.snapshot.phase == "completed"
    assert counted(spec, noted.called) == expected(spec)


@given(
    graphs(
        blocks_only=False,
        with_cancels=True,
        with_turns=True,
        with_barge_ins=True,
        with_retries=True,
        with_commits=True,
        thens=("fail", "skip", "dead_letter"),
    )
)
@many(250)
def test_every_try_begins_with_what_was_committed_before_it(spec: GraphSpec) -> None:
    """A try that failed, hung or was given up has left the state as it was, whoever cancels."""
    noted = run(spec)

    check_books(noted)
    for (node, _, _), begun in noted.states.items():
        committed: list[str] = []
        for number, (state, text) in enumerate(begun):
            assert state == committed, (node, begun)
            is_last_try = number + 1 == len(begun) or begun[number + 1][1] != text
            retry = spec.retries.get(node)
            if is_last_try and (retry is None or not retry.gives_up(node, text)):
                committed.append(text)


@given(graphs(with_retries=True, with_commits=True))
@many(100)
def test_a_transaction_leaves_as_a_whole(spec: GraphSpec) -> None:
    """Nothing else of the node stands in the log between the outputs of one event."""
    noted = run(replace(spec, is_logged=True))

    for name in spec.commits:
        times: dict[tuple[str, str], set[float]] = {}
        for record in noted.log:
            if (
                record["record"] == "emitted"
                and record["node"] == name
                and record["port"] != "dead"
            ):
                text = record["payload"]["text"].rpartition(">")[0]
                times.setdefault((record["conversation"], text), set()).add(record["at"])
        assert all(len(each) == 1 for each in times.values())


@given(graphs(with_cancels=True, with_failures=True, with_retries=True, with_commits=True))
@many(40)
def test_transactions_are_the_same_in_each_run(spec: GraphSpec) -> None:
    """Plan and seed decide everything, commits too."""
    spec = replace(spec, is_logged=True)

    assert run(spec).log == run(spec).log


@given(graphs(with_holds=True, with_tunings=True))
@many(120)
def test_holding_and_stepping_neither_lose_nor_double_an_event(spec: GraphSpec) -> None:
    """Breakpoints, steps and tunings at any time: the same calls, and no limit is passed."""
    noted = run(spec)

    check_books(noted)
    assert noted.snapshot.phase == "completed"
    assert counted(spec, noted.called) == expected(spec)


@given(
    graphs(
        blocks_only=False,
        with_failures=True,
        with_cancels=True,
        with_holds=True,
        with_tunings=True,
        with_turns=True,
        with_retries=True,
        with_keys=True,
    )
)
@many(120)
def test_books_are_even_whatever_is_held(spec: GraphSpec) -> None:
    """Drops, failures, cancels and stops find held nodes and leave nothing behind."""
    noted = run(spec)

    check_books(noted)
    assert "active" not in noted.snapshot.conversations.values()


@given(
    graphs(
        blocks_only=False,
        with_failures=True,
        with_cancels=True,
        with_turns=True,
        with_retries=True,
        with_keys=True,
    )
)
@many(80)
def test_a_trace_changes_nothing_of_what_it_sees(spec: GraphSpec) -> None:
    """Calls, outcomes and counts are those of the run that nobody looks into."""
    spec = replace(spec, shuffle=None)  # a trace makes other callbacks
    seen = run(replace(spec, is_traced=True))
    unseen = run(spec)

    check_books(seen)
    assert seen.called == unseen.called
    assert seen.snapshot.conversations == unseen.snapshot.conversations
    for id, node in seen.snapshot.nodes.items():
        other = unseen.snapshot.nodes[id]
        assert (node.processed, node.emitted, node.dropped) == (
            other.processed, other.emitted, other.dropped,
        )  # fmt: skip
