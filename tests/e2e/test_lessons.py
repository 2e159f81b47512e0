"""What the descriptions of the later examples claim, on the virtual clock and on the real one."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from sqlite3 import connect
from typing import Any

import pytest

from aiflow.graph.shipped import graphs_dir

# The clocks; real ones take as long as the lesson does.
clocks = pytest.mark.parametrize(
    "clock", ["virtual", pytest.param("real", marks=pytest.mark.slow)], ids=["virtual", "real"]
)
VIRTUAL = "virtual"


@pytest.fixture
def shown(aiflow: Callable[..., Any]) -> Callable[..., dict[str, str]]:
    """Return a function that runs an example: sink -> what it showed."""

    def run(name: str, clock: str, *options: str) -> dict[str, str]:
        path = graphs_dir() / "examples" / f"{name}.aiflow.json"
        called = aiflow("run", path, "--clock", clock, *options)
        assert called.code == 0, called.err
        texts: dict[str, list[str]] = {}
        for line in called.out.splitlines():
            sink, _, text = line.partition(" │ ")
            texts.setdefault(sink.strip(), []).append(text.strip())
        return {sink: " ".join(parts) for sink, parts in texts.items()}

    return run


@clocks
def test_branches_part_the_lines_and_the_merge_brings_all_of_them_together(shown, clock) -> None:
    """Six questions with their numbers, six statements in capitals."""
    text = shown("branch-and-merge", clock)["screen"]

    assert text.count("Question ") == text.count("?") == 6
    assert "ROPE IS CHEAPER THAN A NEW MAST." in text
    assert "Question 11: How deep is the inner basin?" in text


def test_a_map_that_gives_none_drops_the_line(shown) -> None:
    """As the description says."""
    option = "capitals.expression=None if 'bakery' in text else text"
    text = shown("branch-and-merge", VIRTUAL, "--set", option)["screen"]

    assert "bakery" not in text
    assert "Flour came" in text


@clocks
def test_the_rate_limit_makes_the_source_wait_and_drops_nothing(aiflow, clock) -> None:
    """240 tokens at sixty a second, the first twenty at once."""
    path = graphs_dir() / "examples" / "rate-and-sample.aiflow.json"

    result = aiflow("run", path, "--clock", clock, "--json").json

    assert result["duration_s"] >= 220 / 60 - 0.01
    assert result["nodes"]["all"]["received"] == 240
    assert result["nodes"]["log"]["received"] == 30
    assert result["nodes"]["model"]["backpressured"] > 0.9


def test_the_same_seed_leaves_the_same_tenth(shown) -> None:
    """And another seed another one."""
    first, again, other = (
        shown("rate-and-sample", VIRTUAL, "--seed", seed)["screen"] for seed in ("1", "1", "2")
    )

    assert first == again != other


def test_a_log_with_a_file_keeps_the_table(aiflow, tmp_path: Path) -> None:
    """`--set log.path=…` is all it takes."""
    path = graphs_dir() / "examples" / "rate-and-sample.aiflow.json"
    log = tmp_path / "run.sqlite"

    called = aiflow("run", path, "--clock", VIRTUAL, "--json", "--set", f"log.path={log}")

    assert called.code == 0
    with closing(connect(log)) as database:
        texts = [text for (text,) in database.execute("SELECT text FROM events ORDER BY id")]
    assert texts[:3] == ["1 ", "9 ", "17 "]
    assert len(texts) == 30


@clocks
def test_the_filter_withholds_what_no_single_token_shows(shown, clock) -> None:
    """Two names and two numbers, in pieces; the rest of the answer is whole."""
    made = shown("safety-filter", clock)

    assert made["screen"].count("[withheld]") == 4
    assert "Kingfisher" not in made["screen"]
    assert "555" not in made["screen"]
    assert made["screen"].endswith("be patient with the mayor.")
    assert made["findings"].count("confidential text withheld") == 4


def test_no_token_of_the_filters_trace_holds_a_whole_match() -> None:
    """Or the lesson would show nothing."""
    trace = (graphs_dir() / "traces" / "safety-filter.trace").read_text(encoding="utf-8")
    pieces = [json.loads(line.partition("\t")[2]) for line in trace.splitlines()[1:]]

    assert not any("Kingfisher" in str(each) or "-01" in str(each) for each in pieces)


def test_block_ends_the_text_at_the_first_match(shown) -> None:
    """Nothing of what the model says behind it is read."""
    made = shown("safety-filter", VIRTUAL, "--set", "filter.mode=block")

    assert made["screen"].endswith("which the yard calls [withheld]")
    assert made["findings"].count("withheld") == 1


@clocks
def test_passages_are_cited_beside_the_answer(shown, clock) -> None:
    """What [1] and [2] in the answer stand for is in the sources."""
    made = shown("streaming-rag", clock)

    sources = made["sources"]
    assert "[1] The lamp room (lamp-room.md): The great lens stands" in sources
    assert "[2] The lamp room: Cleaning the lens (lamp-room.md): Dust the brass first" in sources
    assert made["answer"].startswith("Clean the lens with two people")
    assert "eats the putty that holds them [2]." in made["answer"]
    assert "on the upper floor [1]." in made["answer"]


def test_sources_are_shown_before_the_model_has_said_a_word(aiflow) -> None:
    """They stream past the model; the first word takes a tenth of a second."""
    path = graphs_dir() / "examples" / "streaming-rag.aiflow.json"

    result = aiflow("run", path, "--clock", VIRTUAL, "--json").json

    assert result["model_ttft_ms"] == pytest.approx(101, abs=1)
    assert result["sinks"]["sources"]["ttfpt_ms"] < 1
    assert result["sinks"]["answer"]["ttfpt_ms"] > 101


def test_another_question_finds_other_passages(shown) -> None:
    """The index is searched, not recited."""
    made = shown("streaming-rag", VIRTUAL, "--input", "When does the ferry stay in harbour?")

    assert made["sources"].startswith("[1] The ferry: When it does not sail (ferry.md)")


@clocks
def test_what_was_added_in_a_run_is_found_in_it(shown, clock) -> None:
    """The same question finds nothing at first and two lines at the end."""
    text = shown("growing-index", clock)["screen"]

    question = "That is what the diary knows of: Why was the ferry late?"
    first, _, rest = text.partition(question)
    assert first == ""
    assert "gulls took a whole tray" in rest
    assert rest.endswith(question)
    assert "The ferry waited forty minutes" in rest
    assert "The ferry lost a rope" in rest


def test_a_diary_with_a_file_is_there_in_the_next_run_once(aiflow, tmp_path: Path) -> None:
    """Each line takes the place of itself."""
    shipped = graphs_dir() / "examples" / "growing-index.aiflow.json"
    graph = json.loads(shipped.read_text(encoding="utf-8"))
    graph["resources"][0]["params"]["file"] = "diary.sqlite"
    copy = tmp_path / "diary.aiflow.json"
    copy.write_text(json.dumps(graph), encoding="utf-8")

    for _ in range(2):
        assert aiflow("run", copy, "--clock", VIRTUAL, "--json").code == 0

    with closing(connect(tmp_path / "diary.sqlite")) as database:
        assert database.execute("SELECT count(*) FROM documents").fetchone() == (9,)


@clocks
def test_what_fails_is_tried_again_in_its_place_and_given_up_with_its_error(shown, clock) -> None:
    """What the screen does not count, the dead letters name; and the screen counts in order."""
    texts = shown("retry-and-dead-letter", clock)
    numbers = [int(number) for number in texts["screen"].split()]
    given_up = [int(number) for number in re.findall("“(\\d+)”", texts["given-up"])]

    assert numbers == sorted(numbers)
    assert sorted(numbers + given_up) == list(range(1, 61))
    assert given_up
    assert texts["given-up"].count("after 3 tries") == len(given_up)


def test_without_dead_letters_what_fails_ends_the_conversation(aiflow) -> None:
    """As the description says of `fail`."""
    path = graphs_dir() / "examples" / "retry-and-dead-letter.aiflow.json"
    option = "flaky.retry.then=fail"
    called = aiflow("run", path, "--clock", VIRTUAL, "--policy", option)

    assert called.code == 1
    assert "node flaky failed in conversation c1 after 3 tries" in called.err


@clocks
def test_a_line_that_is_too_long_comes_back_until_it_fits(shown, clock) -> None:
    """And a short one overtakes it, as the credit lets in a second."""
    text = shown("feedback-loop", clock)["screen"]

    labels = [part.strip() for part in re.split(r"\d: ", text)[1:]]
    assert len(labels) == 7
    assert max(map(len, labels)) <= 24
    assert text.index("1: Lamp oil") < text.index("0: Rope of good hemp")


def test_too_few_hops_fail_with_the_edges_name(aiflow, tmp_path: Path) -> None:
    """The emergency brake of the description."""
    path = graphs_dir() / "examples" / "feedback-loop.aiflow.json"
    short = tmp_path / "short.aiflow.json"
    short.write_text(path.read_text("utf-8").replace('"hops": 8', '"hops": 3'), "utf-8")

    called = aiflow("run", short, "--clock", "virtual")

    assert called.code == 1
    assert "edge pause.out>fits.in lets an event return 3 times" in called.err


@clocks
def test_a_join_puts_together_what_came_of_one_line(shown, clock) -> None:
    """Also where a branch sent nothing."""
    text = shown("join", clock)["screen"]

    assert "THE FERRY LEAVES THE HARBOUR AT EIGHT. (7 words)" in text
    assert "MIND THE GAP. ()" in text
    assert text.count("(") == 12


def test_a_zip_lets_only_whole_pairs_through(aiflow) -> None:
    """The others are counted, and the least queue there is does not stop it."""
    path = graphs_dir() / "examples" / "join.aiflow.json"
    options = ("--set", "both.mode=zip", "--policy", "both.queue_capacity=2")

    report = json.loads(aiflow("run", path, "--clock", VIRTUAL, "--json", *options).out)

    assert report["status"] == "completed"
    assert (
        report["sinks"]["screen"]["received"] + report["nodes"]["both"]["dropped"]["unmatched"]
        == 12
    )


def test_a_boat_keeps_its_clerk_and_by_room_the_day_is_done_sooner(aiflow, shown) -> None:
    """Each name stands with one clerk only."""
    path = graphs_dir() / "examples" / "partition.aiflow.json"
    by_room = ("--set", "by-boat.mode=room")
    text = shown("partition", VIRTUAL)["screen"]
    pairs = set(re.findall(r"clerk (\w) │ (\w+):", text))

    def duration_s(*options: str) -> float:
        out = aiflow("run", path, "--clock", VIRTUAL, "--json", *options).out
        return float(json.loads(out)["duration_s"])

    assert len({boat for _, boat in pairs}) == len(pairs) == 5
    assert {clerk for clerk, _ in pairs} == set("abc")
    assert duration_s(*by_room) < duration_s()
