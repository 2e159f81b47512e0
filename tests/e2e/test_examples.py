"""Every shipped example is sound, canonical and runs as its description says.

On the virtual clock: traces, simulated speech and synthetic sources need no socket, and a run
takes as long as its code does.
"""

from __future__ import annotations

import contextlib
import io
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from aiflow.cli import main
from aiflow.compiler.compile import Compiled
from aiflow.compiler.compile import compile as compile_graph
from aiflow.graph.codec import dumps, load
from aiflow.graph.shipped import graphs_dir
from aiflow.operators.registry import Catalog

EXAMPLES = sorted((graphs_dir() / "examples").glob("*.aiflow.json"))
ids = [path.name.removesuffix(".aiflow.json") for path in EXAMPLES]
every_example = pytest.mark.parametrize("path", EXAMPLES, ids=ids)


def example(name: str) -> Path:
    """Return the path of an example."""
    return graphs_dir() / "examples" / f"{name}.aiflow.json"


def report(name: str, *options: str) -> dict[str, Any]:
    """Return what `aiflow run --clock virtual --json` prints."""
    return run(name, "--clock", "virtual", *options)


@cache
def run(name: str, *options: str) -> dict[str, Any]:
    """Return what `aiflow run --json` prints; each run is made once."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        code = main(["run", str(example(name)), "--json", *options])
    result: dict[str, Any] = json.loads(out.getvalue())
    assert code == 0, result
    return result


@cache
def shown(name: str, sink: str, *options: str) -> str:
    """Return what one sink of an example shows."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        assert main(["run", str(example(name)), "--clock", "virtual", *options]) == 0
    lines = (line.partition(" │ ") for line in out.getvalue().splitlines())
    return " ".join(text.strip() for label, _, text in lines if label.strip() == sink)


def turns(name: str) -> str:
    """Return what the summary of a run says of its turns."""
    told = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(told):
        main(["run", str(example(name)), "--clock", "virtual"])
    return next(line for line in told.getvalue().splitlines() if " turns: " in line)


def compiled(path: Path) -> Compiled:
    """Return what the compiler says of an example."""
    return compile_graph(load(path), Catalog.load(), base=path.parent, clock="virtual")


def test_there_are_the_examples_that_the_demo_names() -> None:
    """Whoever looks for one finds it under its name."""
    assert set(ids) >= {"slow-speech", "semantic-routing", "ordered-workers", "drop-oldest"}


@every_example
def test_saving_an_opened_example_gives_the_same_bytes(path: Path) -> None:
    """The files are canonical."""
    assert dumps(load(path)) == path.read_text(encoding="utf-8")


@every_example
def test_an_example_is_whole_and_says_what_it_teaches(path: Path) -> None:
    """No error, no warning, every node has its place, and the lesson is in the file."""
    graph = load(path)

    found = [each.message for each in compiled(path).diagnostics if each.severity != "hint"]

    assert found == []
    assert set(graph.layout) == set(graph.nodes)
    assert len(graph.description) > 200


@every_example
def test_an_example_runs_within_its_bound_and_leaves_nothing(path: Path) -> None:
    """It completes, keeps the bound, and every event is accounted for at every node."""
    name = path.name.removesuffix(".aiflow.json")
    result = report(name)

    assert result["status"] == "completed"
    assert set(result["conversations"].values()) == {"completed"}
    assert result["max_in_flight"] <= result["bound"] == compiled(path).bound
    assert result["error"] is None
    for node in result["nodes"].values():
        settled = node["processed"] + sum(node["dropped"].values())
        assert node["received"] == settled + node["failed"] + node["cancelled"]
        assert node["failed"] == 0 or name == "retry-and-dead-letter"
        assert node["cancelled"] == 0 or name == "barge-in"


def test_slow_speech_stands_at_its_bound_and_loses_nothing() -> None:
    """The demo: speech is full, everyone waits, the first word is there at once."""
    result = report("slow-speech")
    speech = result["nodes"]["speech"]

    assert result["bound"] == 107
    assert speech["max_queue"] == 8
    assert not speech["dropped"]
    assert result["ttfpt_ms"] - result["model_ttft_ms"] < 60
    assert 60 < result["duration_s"] < 120
    assert speech["busy"] > 0.9
    assert result["nodes"]["router"]["received"] == 1600
    assert result["nodes"]["log"]["received"] == 100


@pytest.mark.slow
def test_the_real_clock_gives_the_same_counts() -> None:
    """Through a real socket and in real time, which takes as long as the speech does."""
    real, virtual = run("slow-speech"), report("slow-speech")

    assert real["max_in_flight"] <= real["bound"]
    assert real["ttfpt_ms"] - real["model_ttft_ms"] < 60
    for id, node in virtual["nodes"].items():
        for key in ("received", "processed", "emitted", "dropped", "failed"):
            assert real["nodes"][id][key] == node[key], (id, key)
    assert real["nodes"]["speech"]["max_queue"] == 8


def test_many_conversations_take_their_turns_four_at_a_time() -> None:
    """Ten people, two turns each; six wait at the entry, and every answer is whole."""
    result = report("many-conversations")

    assert turns("many-conversations") == "20 turns: 20 completed"
    assert len(result["conversations"]) == 10
    assert result["nodes"]["people"]["received"] == 20
    assert result["nodes"]["count"]["received"] == 20 * 40
    # Each takes 4.1 s or more, and three rounds are needed where four are open at once.
    assert 12 < result["duration_s"] < 14
    words = [shown("many-conversations", f"screen c{number}") for number in range(1, 11)]
    assert len(set(words)) == 1
    assert words[0].startswith("Mix five hundred grams")


def test_who_barges_in_silences_the_answer_before() -> None:
    """The old turn is cut off within a chunk; the new one and the polite third are whole."""
    result = report("barge-in")
    said = shown("barge-in", "speech").split("Mix five")

    assert result["conversations"] == {"c1": "completed"}
    assert turns("barge-in") == "3 turns: 1 cancelled, 2 completed"
    assert result["nodes"]["speech"]["cancelled"] > 0
    assert ["bread has left it" in text for text in said] == [False, False, True, True]


@pytest.mark.parametrize("name", ["barge-in", "many-conversations"])
@pytest.mark.slow
def test_turns_are_the_same_on_the_real_clock(name: str) -> None:
    """Through real sockets, which a barge-in closes in mid-stream."""
    real, virtual = run(name), report(name)

    assert real["status"] == "completed"
    assert real["conversations"] == virtual["conversations"]
    assert real["max_in_flight"] <= real["bound"]
    assert real["nodes"]["people"]["received"] == virtual["nodes"]["people"]["received"]
    assert real["error"] is None


def test_without_a_bound_the_queue_of_speech_grows() -> None:
    """The strategy `unbounded` holds in memory what speech has not said yet."""
    result = report("slow-speech", "--strategy", "unbounded")

    assert result["bound"] is None
    assert result["nodes"]["speech"]["max_queue"] > 200


def test_aggregating_makes_the_reader_wait_for_the_whole() -> None:
    """The strategy `aggregate` lets nothing through before the stream has ended."""
    assert report("slow-speech", "--strategy", "aggregate")["ttfpt_ms"] > 10_000


def test_dropping_at_speech_trades_completeness_for_time() -> None:
    """With `drop_oldest` the run ends soon after the model has."""
    result = report("slow-speech", "--policy", "speech.overflow=drop_oldest")

    assert sum(result["nodes"]["speech"]["dropped"].values()) > 100
    assert result["duration_s"] < 25


def test_reasoning_shows_before_the_answer_and_the_answer_before_its_end() -> None:
    """Each channel reaches its own screen while the stream still runs."""
    result = report("semantic-routing")
    thoughts, answer = (result["sinks"][id]["ttfpt_ms"] for id in ("thoughts", "answer"))

    assert thoughts < answer < result["duration_s"] * 1000 / 2 * 1.9
    assert shown("semantic-routing", "thoughts").startswith("They want a recipe")
    assert shown("semantic-routing", "answer").startswith("Mix five hundred grams")


def test_ordered_workers_restore_the_order() -> None:
    """Four workers finish as they like; the screen counts as if there were one."""
    numbers = [int(text) for text in shown("ordered-workers", "screen").split()]

    assert numbers == list(range(1, 121))


def test_without_a_reorder_buffer_the_order_is_lost() -> None:
    """The lesson's counter-example holds, or the example shows nothing."""
    option = ("--policy", "work.reorder_capacity=0")
    numbers = [int(text) for text in shown("ordered-workers", "screen", *option).split()]

    assert sorted(numbers) == list(range(1, 121))
    assert numbers != sorted(numbers)


def test_four_workers_are_nearly_four_times_as_fast_as_one() -> None:
    """What the description claims of k."""
    four = report("ordered-workers")["duration_s"]
    one = report("ordered-workers", "--policy", "work.workers=1")["duration_s"]

    assert one / four > 3


def test_drop_oldest_never_makes_the_sender_wait() -> None:
    """The view drops, with a reason; the record beside it has everything."""
    result = report("drop-oldest")
    view = result["nodes"]["view"]

    assert set(view["dropped"]) == {"drop_oldest"}
    assert sum(view["dropped"].values()) > 200
    assert view["max_queue"] == 4
    assert result["nodes"]["record"]["received"] == 500
    assert result["duration_s"] < 6
    assert "500 events: token 500" in shown("drop-oldest", "record")


@pytest.mark.parametrize("name", ids)
def test_the_same_seed_gives_the_same_event_log(name: str, tmp_path: Path) -> None:
    """On the virtual clock two runs write the same bytes."""
    logs = []
    for number in range(2):
        log = tmp_path / f"{number}.jsonl"
        with contextlib.redirect_stdout(io.StringIO()):
            main(["run", str(example(name)), "--clock", "virtual", "--json", "--events", str(log)])
        logs.append(log.read_bytes())

    assert logs[0] == logs[1]
    assert len(logs[0].splitlines()) > 100
