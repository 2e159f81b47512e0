"""The faults: each is one line of the engine written otherwise, with what it would come to."""

from __future__ import annotations

from tests.runtime.engine.mutants.grafting import Mutant

_BOOKS = "test_books_are_even_whatever_is_dropped_or_refused"
_CALLS = "test_every_node_is_called_with_exactly_what_the_graph_makes"
_CANCEL = "test_a_cancelled_turn_is_over_at_once_and_leaves_nothing"
_TRIES = "test_tries_neither_lose_nor_double_an_event"
_FLOWS = "test_joins_and_loops_get_exactly_what_the_graph_makes"
_KEYS = "test_keys_keep_their_order_and_go_on_beside_each_other"
_EFFECTS = "test_each_effect_comes_once_or_is_undone_once"
_BEGINS = "test_every_try_begins_with_what_was_committed_before_it"

MUTANTS = (
    # Law 1: the bound
    Mutant(
        "a queue takes one event too many",
        "memory beyond what the plan says",
        _CALLS,
        (("cells:Guardian.may_queue", "self.depth >= capacity", "self.depth > capacity"),),
    ),
    Mutant(
        "one event too many is begun",
        "more in the window than k + ρ",
        "test_no_more_is_begun_than_workers_and_reorder_buffer_hold",
        (
            (
                "delivery:take",
                "guardian.dispatched >= guardian.window or",
                "guardian.dispatched > guardian.window or",
            ),
        ),
    ),
    Mutant(
        "one worker too many",
        "an API is asked more often at once than it allows",
        _CALLS,
        (
            (
                "delivery:take",
                "guardian.opened >= guardian.workers",
                "guardian.opened > guardian.workers",
            ),
        ),
    ),
    Mutant(
        "more conversations are open than C",
        "the bound is kept for C of them",
        "test_at_most_c_conversations_are_open_and_the_others_are_counted",
        (
            (
                "conversations:Conversations.next",
                "len(self.active) >= self._most",
                "len(self.active) > self._most",
            ),
        ),
    ),
    # Law 2: accounting
    Mutant(
        "a call settles twice",
        "one event is processed and cancelled (akka-core 22880)",
        _CANCEL,
        (
            ("settling:settle", "if call.is_settled:", "if False:"),
            ("calls:complete", "if call.is_settled:", "if False:"),
            ("calls:advance", "while not call.is_settled:", "while True:"),
            ("retrying:call_failed", "if call.is_settled:", "if False:"),
        ),
    ),
    Mutant(
        "a place is not freed",
        "the node stands still after k + ρ events",
        _CALLS,
        (("settling:settle", "guardian.dispatched -= 1", "pass"),),
    ),
    Mutant(
        "a worker is not given back",
        "the node stands still after k events",
        _CALLS,
        (("settling:close_worker", "guardian.opened -= 1", "pass"),),
    ),
    Mutant(
        "what is purged stays in the count",
        "in_flight grows with every cancel",
        _CANCEL,
        (("failing:_purge", "leave(lane, purged)", "leave(lane, 0)"),),
    ),
    Mutant(
        "a purged event is missing in its edge's books",
        "an edge's figures do not add up",
        _CANCEL,
        (("failing:_purge", "entry[2].purged += 1", "pass"),),
    ),
    Mutant(
        "a drop is not counted",
        "a loss that nobody is told of",
        _BOOKS,
        (
            (
                "overflow:_count",
                "guardian.dropped[reason] = guardian.dropped.get(reason, 0) + 1",
                "pass",
            ),
        ),
    ),
    # Law 3: order
    Mutant(
        "the reorder buffer lets everybody out",
        "tokens change places",
        "test_a_reorder_buffer_restores_the_order",
        (("calls:_may_leave", "not call.lane.guardian.keeps_order or", "True or"),),
    ),
    Mutant(
        "a later sender overtakes one that waits",
        "a full queue changes the order (cpython 83055)",
        "test_waiting_senders_are_served_in_the_order_in_which_they_came",
        (
            ("waiting:is_awaited", "return lane.waiting > 0", "return False"),
            ("delivery:_next_waiter", "in guardian.waiters:", "in reversed(guardian.waiters):"),
        ),
    ),
    Mutant(
        "the next head is not told that it is its turn",
        "an ordered stage stalls (pekko 3009)",
        _CALLS,
        (
            (
                "settling:settle",
                "if was_head and lane.calls and guardian.keeps_order:",
                "if False:",
            ),
            ("worker:Worker._left_simply", "if calls and guardian.keeps_order:", "if False:"),
        ),
    ),
    Mutant(
        "a part gets the number of the one before",
        "two outputs are the same to whoever counts",
        "test_outputs_inherit_their_place_and_number_themselves",
        (
            ("calls:next_part", "lane.part += 1", "lane.part += 0"),
            ("inline:pass_on", "lane.part = lane.part + 1", "lane.part"),
        ),
    ),
    # Law 4 and 5: ends and gaps
    Mutant(
        "END comes before the data",
        "the last words of an answer are lost",
        _CALLS,
        (
            (
                "ending:try_close",
                "lane.is_closed or lane.dispatched or lane.depth",
                "lane.is_closed",
            ),
        ),
    ),
    Mutant(
        "a terminal is dropped",
        "a stream's reader waits for ever (deer-flow 1689)",
        _CANCEL,
        (
            (
                "ending:_close",
                "kernel.runlist.push(edge_ended, target, lane.terminal)",
                "lane.terminal is Terminal.CANCEL"
                " or kernel.runlist.push(edge_ended, target, lane.terminal)",
            ),
        ),
    ),
    Mutant(
        "a turn ends twice at a node",
        "whoever waits for the end is told again",
        _CANCEL,
        (("ending:_close", "lane.is_closed = True", "lane.is_closed = lane.is_dead"),),
    ),
    Mutant(
        "what an operator kept back is not told",
        "the last sentence is never spoken",
        _CALLS,
        (("ending:_tells", "return lane.terminal is Terminal.END", "return False"),),
    ),
    Mutant(
        "a gap is missing",
        "a filter in one branch stops the join behind the other",
        _FLOWS,
        (("waking:tell_joins", "for join in lane.joins:", "for join in ():"),),
    ),
    Mutant(
        "a watermark is too early",
        "a join lets an item go of which a part is still to come",
        _FLOWS,
        (
            (
                "watermarks:_own_mark",
                "return min(arriving, pending - 1)",
                "return min(arriving, pending)",
            ),
        ),
    ),
    Mutant(
        "what an operator keeps does not hold the watermark",
        "a join misses what a chunker holds",
        "test_what_an_operator_keeps_holds_the_watermark_back",
        (("watermarks:_own_mark", "if lane.keep_from is not None:", "if False:"),),
    ),
    Mutant(
        "an error passes for an end",
        "a failed run says that it completed",
        "test_a_failing_operator_ends_its_conversation_and_no_other",
        (("failing:fail_lane", "lane.guardian.kernel.fail_turn(lane.turn, error)", "pass"),),
    ),
    # Law 6 and 7: backpressure and overflow
    Mutant(
        "a wake-up is lost",
        "everything waits and nothing ever moves again",
        _CALLS,
        (
            (
                "settling:go_on",
                "if guardian.depth or guardian.waiters or guardian.finishing:",
                "if guardian.finishing:",
            ),
        ),
    ),
    Mutant(
        "whoever waits for a place is not let in",
        "a full queue never wakes its senders",
        _CALLS,
        (("delivery:admit", "while (call := _next_waiter(guardian)) is not None:", "while None:"),),
    ),
    Mutant(
        "a broadcast asks its first branch only",
        "one branch gets what the other has no room for",
        _CALLS,
        (("delivery:deliver", "for hop in route.strict:", "for hop in route.strict[:1]:"),),
    ),
    Mutant(
        "what must not be dropped is dropped",
        "a tool's result is lost (pipecat 4420)",
        _BOOKS,
        (
            (
                "overflow:overflow",
                "elif how is Overflow.ERROR or not is_droppable(event.payload):",
                "elif how is Overflow.ERROR:",
            ),
            ("delivery:has_room", "or is_droppable(event.payload)", "or True"),
        ),
    ),
    Mutant(
        "a drop takes the newest for the oldest",
        "stale words are kept and fresh ones lost",
        "test_what_is_dropped_is_counted_and_the_rest_keeps_its_order",
        (
            (
                "overflow:_oldest_droppable",
                "enumerate(lane.queues[edge.port])",
                "reversed(list(enumerate(lane.queues[edge.port])))",
            ),
        ),
    ),
    Mutant(
        "a source reads on before what it had in hand is counted",
        "a word is never seen again where a slice of time ends just there",
        "test_a_source_reads_on_when_its_hand_is_counted_and_not_before",
        (
            (
                "taskstream:TaskStream._wait",
                "self._is_handed or self.is_full",
                "self.hand.pending is not None or self.is_full",
            ),
        ),
    ),
    # Law 8: cancellation
    Mutant(
        "no epoch check: a late result leaves",
        "words of a cancelled turn are still spoken",
        "test_what_a_call_returns_after_its_turn_was_cancelled_does_not_leave",
        (
            ("calls:advance", "if lane.is_dead:", "if False:"),
            ("inline:_look_closer", "elif lane.is_dead:", "elif False:"),
        ),
    ),
    Mutant(
        "a node takes in what comes after its end",
        "an interrupted voice goes on",
        "test_modes_of_two_nodes_on_a_path_do_not_mix",
        (("delivery:accept", "if lane.is_shut:", "if False:"),),
    ),
    Mutant(
        "a place goes to one whose turn is given up",
        "a word of a cancelled turn passes on to the next node",
        "test_a_cancel_from_within_an_operator_lets_nothing_more_in_there",
        (
            (
                "delivery:_next_waiter",
                "call.lane.is_dead and not _still_lets_go(call.lane)",
                "False",
            ),
        ),
    ),
    Mutant(
        "a cancel does not close the source",
        "the provider is paid for words nobody reads",
        "test_stopping_cancels_everything_at_once",
        (
            ("cancelling:_end_everywhere", "lane.source.stop(Terminal.CANCEL, at)", "pass"),
            (
                "usher:Usher._cancel_whole",
                "stop_sources(turn, Terminal.CANCEL, self._kernel.now())",
                "pass",
            ),
        ),
    ),
    Mutant(
        "a cancel leaves what waits in the queue",
        "old words are worked on after a barge-in",
        "test_rules_1_8_and_3_12_after_a_cancel_deliveries_stop",
        (("failing:empty", "if lane.depth:", "if False:"),),
    ),
    Mutant(
        "a cancel leaves the calls running",
        "tasks are left behind (langgraph 8302)",
        "test_modes_of_two_nodes_on_a_path_do_not_mix",
        (("failing:empty", "guardian.runner.cancel(call, at)", "pass"),),
    ),
    Mutant(
        "a cancelled turn ends the conversation",
        "one interruption and the line is dead",
        "test_a_source_that_takes_turns_outlives_the_cancel_of_one",
        (("usher:Usher._give_up", "goes_on=not conversation.is_over", "goes_on=False"),),
    ),
    # Law 10: cycles
    Mutant(
        "a loop's credit is not given back",
        "a loop stands still after its first items",
        _FLOWS,
        (("feedback:Rounds._release", "loop.held -= len(gone)", "pass"),),
    ),
    Mutant(
        "a loop ends while something goes round",
        "what comes back arrives after END",
        "test_no_more_items_are_in_the_loop_than_its_credit",
        (("feedback:Rounds._look", "if is_quiet and not", "if not"),),
    ),
    Mutant(
        "a loop takes in more than its credit",
        "it fills up and stands still",
        "test_no_more_items_are_in_the_loop_than_its_credit",
        (("feedback:Loop.has_credit", "if self.held >= credit:", "if False:"),),
    ),
    # Law 11: retries
    Mutant(
        "a retry is counted twice",
        "the figures of a run are wrong",
        _TRIES,
        (("retrying:begin_try", "guardian.retries += 1", "guardian.retries += 2"),),
    ),
    Mutant(
        "a try begins after the time of all of them",
        "an answer is paid for that nobody waits for any more",
        "test_no_try_begins_when_the_wait_for_a_worker_has_used_up_the_time",
        (("retrying:may_try_again", "at < ends", "True"),),
    ),
    Mutant(
        "one try too many",
        "a paid request is made once more than allowed",
        _TRIES,
        (
            (
                "retrying:_why_not_again",
                "trial.attempt >= guardian.retry.attempts",
                "trial.attempt > guardian.retry.attempts",
            ),
        ),
    ),
    Mutant(
        "the attempt is always the first",
        "endless tries (llama_index 20403)",
        _TRIES,
        (("retrying:begin_try", "scope.attempt = trial.attempt", "scope.attempt = 1"),),
    ),
    Mutant(
        "tried again after a part had left",
        "everything is said twice (hive 6541)",
        "test_nothing_is_said_twice_after_a_part_has_left",
        (("retrying:_why_not_again", "if call.has_left:", "if False:"),),
    ),
    Mutant(
        "a time-out does not end a try",
        "one that hangs holds its place for good",
        _TRIES,
        (("timeouts:time_is_up", "if trial.over is None:", "if True:"),),
    ),
    Mutant(
        "a place at a barrier is not given back",
        "after some effects all others are thrown away",
        "test_what_is_used_is_committed_and_nothing_else",
        (("speculation:Speculation._give_back", "self._taken[place] -= 1", "pass"),),
    ),
    Mutant(
        "a failed try keeps its effects",
        "what was tried twice is ordered twice",
        _EFFECTS,
        (
            (
                "speculation:Speculation.retried",
                "each.event is event, ROLLED_BACK",
                "each.event is event, COMMITTED",
            ),
        ),
    ),
    Mutant(
        "an effect that waits too long is undone and waits on",
        "it is undone and done (agents-js 2059)",
        _EFFECTS,
        (("speculation:Speculation._part", "items[item] = left", "items[item] = left + found"),),
    ),
    Mutant(
        "an effect is left in place at the turn's end",
        "what nobody used is neither done nor undone, and keeps its place",
        "test_what_nobody_has_used_is_rolled_back_when_its_turn_ends",
        (
            (
                "speculation:Speculation.ended",
                "if turn.open_lanes <= 1:",
                "if turn.open_lanes <= 0:",
            ),
        ),
    ),
    Mutant(
        "an event that sends nothing keeps its effects",
        "places are taken until the turn ends, and all further effects are thrown away",
        "test_what_sends_nothing_on_is_rolled_back_at_once",
        (
            (
                "speculation:Speculation.settled",
                "(is_failed or not each.points)",
                "is_failed",
            ),
        ),
    ),
    # Law 12: state
    Mutant(
        "a partition's key is ignored",
        "two events of one customer are worked on at once",
        _KEYS,
        (
            (
                "partitions:Partitions.claim",
                "if found.holder is None or found.holder is call:",
                "if True:",
            ),
        ),
    ),
    Mutant(
        "a key is not given back",
        "one customer waits for ever (pulsar 25706)",
        _KEYS,
        (("partitions:Partitions.release", "if found.line:", "if False:"),),
    ),
    Mutant(
        "a transaction works on the state itself",
        "a failed try has changed something",
        _BEGINS,
        (
            (
                "transactions:begin_transaction",
                "operator.copy_state(lane.scope.state)",
                "lane.scope.state",
            ),
        ),
    ),
    Mutant(
        "a transaction forgets its state",
        "what was sent was never noted",
        _BEGINS,
        (("transactions:_commit_state", "lane.scope.state = call.scope.state", "pass"),),
    ),
    # Law 13: fairness
    Mutant(
        "one lane is served until it is empty",
        "a busy conversation stops the others",
        "test_conversations_take_turns_and_one_cannot_fill_a_queue",
        (
            ("delivery:take", "guardian.ready.append(lane)", "guardian.ready.appendleft(lane)"),
            ("delivery:_take_chosen", "ready.append(lane)", "ready.appendleft(lane)"),
        ),
    ),
    # The short ways: what they leave out must cancel out
    Mutant(
        "a place is not given on to who waits upstream",
        "a source stands still behind a line that moves",
        "test_a_short_way_comes_out_as_the_long_one",
        (("pulling:pull", "nodes += (guardian, lane.guardian)", "pass"),),
    ),
    Mutant(
        "a source is read on though it is to stop",
        "a provider is asked for more after the stop",
        "test_a_short_way_comes_out_as_the_long_one",
        (("pulledstream:PulledStream.may_read_on", "self.stop_with or self._is_over", "False"),),
    ),
    Mutant(
        "what is let in by the short way is counted twice",
        "the books say that something is still there",
        _BOOKS,
        (("pulling:_let_in", "is_counted=True", "is_counted=False"),),
    ),
    Mutant(
        "what a row of outputs has yet to run is in no count",
        "more is held than a snapshot says",
        "test_how_many_are_held_is_exact_whenever_an_operator_asks",
        (("frames:unfold", "kernel.row = outputs", "pass"),),
    ),
    Mutant(
        "an operator that gave way is forgotten by its round",
        "a call never ends",
        "test_each_in_line_is_stepped_once_in_a_turn",
        (("stepping:Round.run", "line.insert(place, stepper)", "pass"),),
    ),
)
