"""Where what the engine promises is tested: reports of other runtimes, and invariants.

`REPORTS` maps each public report that applies here to the test named after what must not happen,
`INVARIANTS` each invariant to the tests that watch it. The rules of Reactive Streams are the names
in `test_conformance`, and the laws by which random graphs are judged are killed one by one by the
faults in `mutants`.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
_HERE = "test_not_again.py"
_TRIES = "test_not_again_tries.py"
_READERS = "test_not_again_readers.py"
_RULES = "test_conformance.py"
_GRAPHS = "test_random_graphs.py"

#: Report -> (file, test), in the order of their projects' names.
REPORTS = {
    "agno-agi/agno 10366": (
        _TRIES, "test_a_tool_that_has_succeeded_is_not_called_again_by_anothers_retry"),
    "agronholm/anyio 146": (
        _HERE, "test_an_item_is_not_lost_when_its_receiver_is_cancelled_at_hand_over"),
    "akka/akka-core 17407": (
        _TRIES, "test_failures_beyond_the_workers_do_not_stop_an_ordered_stage"),
    "akka/akka-core 22880": (
        _TRIES, "test_a_success_and_a_failure_that_meet_do_not_lose_one_another"),
    "aden-hive/hive 6541": (_TRIES, "test_a_retry_does_not_publish_twice_what_has_left"),
    "anomalyco/opencode 19423": (_READERS, "test_clients_that_do_not_read_do_not_fill_the_memory"),
    "apache/flink 4924": (
        "test_retries.py",
        "test_a_full_queue_and_one_that_waits_do_not_block_a_head_that_is_tried_again"),
    "apache/flink 29005": (
        _TRIES, "test_a_result_is_not_lost_where_its_time_out_meets_a_retry"),
    "apache/pekko 2899": (_HERE, "test_a_stage_does_not_stall_when_demand_comes_back"),
    "apache/pekko 2905": (_HERE, "test_a_stage_does_not_stall_when_demand_comes_back"),
    "apache/pekko 3009": (_HERE, "test_the_last_failures_do_not_keep_a_stage_from_completing"),
    "apache/pekko 3365": (_HERE, "test_a_stage_does_not_stall_when_demand_comes_back"),
    "apache/pulsar 25706": (
        _HERE, "test_one_stalled_conversation_does_not_starve_the_others"),
    "bytedance/deer-flow 1689": (_HERE, "test_an_end_marker_is_not_dropped_from_a_full_queue"),
    "crewAIInc/crewAI 5802": (
        _TRIES, "test_a_tool_that_has_succeeded_is_not_called_again_by_anothers_retry"),
    "deepset-ai/haystack 11499": (
        _HERE, "test_siblings_of_one_that_failed_are_not_left_behind"),
    "langchain-ai/langgraph 8302": (
        _HERE, "test_a_cancel_from_within_a_cancelled_operator_stops_the_rest_too"),
    "openai/openai-agents-python 2130": (
        _READERS, "test_an_error_behind_the_last_token_does_not_leave_readers_waiting"),
    "openai/openai-agents-python 4198": (
        _HERE, "test_a_base_exception_of_an_operator_does_not_kill_the_worker"),
    "openai/openai-agents-python 5106": (
        _READERS, "test_who_looks_on_and_never_asks_does_not_pile_up_a_backlog"),
    "pipecat-ai/pipecat 3524": (
        _HERE, "test_an_interruption_does_not_swallow_the_end_of_another_turn"),
    "pipecat-ai/pipecat 4420": (_HERE, "test_an_interruption_does_not_lose_what_must_be_kept"),
    "pydantic/pydantic-ai 1524": (
        _HERE, "test_leaving_early_does_not_go_on_draining_the_provider"),
    "pydantic/pydantic-ai 5795": (_HERE, "test_a_late_cancel_does_not_flip_what_is_complete"),
    "python/cpython 83055": (
        _HERE, "test_a_put_that_comes_later_does_not_overtake_one_that_waits"),
    "python/cpython 128550": (_HERE, "test_an_eager_task_factory_does_not_hang_a_run"),
    "ray-project/ray 40753": (
        _READERS, "test_how_fast_a_reader_outside_of_the_graph_is_does_not_go_unseen"),
    "reactor/reactor-core 3442": (
        _HERE, "test_more_conversations_than_workers_do_not_lock_one_another"),
    "ReactiveX/RxJava 6284": (
        _HERE, "test_more_keys_than_workers_and_places_do_not_lock_one_another"),
    "run-llama/llama-agents 637": (
        _HERE, "test_an_error_does_not_leave_who_reads_the_stream_hanging"),
    "run-llama/llama_index 16852": (
        _TRIES, "test_a_time_out_does_not_leave_who_reads_the_stream_hanging"),
    "run-llama/llama_index 20403": (
        _TRIES, "test_the_delay_of_a_try_is_not_ignored_nor_its_count_set_back"),
    "run-llama/llama_index 22559": (
        _TRIES, "test_a_step_that_waits_does_not_do_again_what_it_did_before_the_wait"),
    "TencentBlueKing/bk-lite 5378": (
        _HERE, "test_a_merge_of_streams_does_not_grow_while_its_reader_is_slow"),
}  # fmt: skip

#: Invariant -> (file, test) of each that watches it.
INVARIANTS = {
    "what is queued, at work, held and in flight stays within its bound at every step": [
        (_RULES, "test_rule_1_1_no_more_is_delivered_than_there_are_places"),
        (_GRAPHS, "test_books_are_even_whatever_is_dropped_or_refused"),
        (_GRAPHS, "test_books_are_even_whatever_is_tuned"),
    ],
    "what comes to a node or an edge is what leaves it or is counted there": [
        (_GRAPHS, "test_every_node_is_called_with_exactly_what_the_graph_makes"),
        (_GRAPHS, "test_cancels_drops_and_tries_settle_each_event_once"),
        ("test_random_flows.py", "test_joins_and_loops_get_exactly_what_the_graph_makes"),
    ],
    "events of a key leave a node that keeps order as they came": [
        (_GRAPHS, "test_events_leave_an_ordering_node_as_they_came"),
        (_GRAPHS, "test_an_event_that_is_tried_again_keeps_its_place"),
        ("test_partitions.py", "test_keys_keep_their_order_whatever_the_figures"),
    ],
    "each edge has one terminal for each turn, and nothing after it": [
        (_RULES, "test_rules_1_4_and_1_5_each_edge_has_exactly_one_terminal"),
        (_RULES, "test_rules_1_6_and_1_7_nothing_comes_after_a_terminal"),
        ("test_random_flows.py", "test_turn_follows_turn_through_joins_and_loops"),
    ],
    "nothing that must be kept is dropped, and a terminal is neither dropped nor blocked": [
        ("test_queues.py", "test_what_must_not_be_dropped_waits_where_others_are_dropped"),
        (_RULES, "test_rules_2_9_and_2_10_a_terminal_needs_no_place"),
        (_HERE, "test_an_end_marker_is_not_dropped_from_a_full_queue"),
    ],
    "an effect that must happen once begins once at most": [
        ("test_retries.py", "test_no_effect_begins_twice"),
    ],
    "after a cancel there is no task, no reference, no output of the turn": [
        ("test_injections.py", "test_a_cancel_at_every_await_leaves_nothing"),
        (_GRAPHS, "test_a_cancelled_turn_is_over_at_once_and_leaves_nothing"),
        (_RULES, "test_rule_3_13_after_a_cancel_nothing_of_the_conversation_is_kept"),
    ],
    "every graph that the compiler lets pass comes to its end": [
        ("test_random_flows.py", "test_whatever_is_kept_or_paired_every_turn_ends"),
        ("test_feedback.py", "test_every_loop_comes_to_its_end"),
    ],
    "what is rolled back leaves no effect behind": [
        ("test_random_effects.py", "test_each_effect_comes_once_or_is_undone_once"),
        ("test_random_effects.py", "test_what_is_used_is_committed_and_nothing_else"),
    ],
    "a conversation that stands still takes nothing of the others' share": [
        ("test_fairness.py", "test_one_that_cannot_leave_never_stops_another"),
        ("test_fairness.py", "test_conversations_that_can_go_on_are_served_in_turns"),
        (_HERE, "test_one_stalled_conversation_does_not_starve_the_others"),
    ],
}  # fmt: skip


def docstring_of(file: str, test: str) -> str:
    """Return the docstring of a test."""
    module = ast.parse((TESTS / file).read_text(encoding="utf-8"))
    (found,) = [
        each for each in module.body if isinstance(each, ast.FunctionDef) and each.name == test
    ]
    return ast.get_docstring(found) or ""


@pytest.mark.parametrize("report", REPORTS)
def test_each_report_has_the_test_that_names_it(report: str) -> None:
    """The test is there, and its docstring says of which report it is."""
    project, _, number = report.partition(" ")

    said = docstring_of(*REPORTS[report])

    assert number in said
    assert project.rpartition("/")[2].partition("-")[0] in said


@pytest.mark.parametrize("invariant", INVARIANTS)
def test_each_invariant_has_a_test(invariant: str) -> None:
    """None of those that are named has gone."""
    assert all(docstring_of(*place) for place in INVARIANTS[invariant])
