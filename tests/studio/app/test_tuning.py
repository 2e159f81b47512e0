"""What of a policy is changed while a run goes on holds in the run, without a restart."""

from __future__ import annotations

from collections.abc import Callable

from pytestqt.qtbot import QtBot

from aiflow.graph import edits
from aiflow.graph.model import Graph
from aiflow.graph.values import UNSET
from aiflow_studio.app.studio import Studio
from aiflow_studio.app.tuning import policy_changes, told
from tests.studio.fake_host import FakeHost


def change(studio: Studio, edit: Callable[[Graph], Graph], label: str = "Change") -> None:
    """Edit the document as a form does."""
    studio.document.replace(edit(studio.document.graph), label)


def running(studio: Studio) -> None:
    """Run a graph of one source and one sink."""
    change(studio, lambda graph: edits.add_node(graph, "synthetic"))
    change(studio, lambda graph: edits.add_node(graph, "screen"))
    assert studio.commands.run()


def tuned(host: FakeHost) -> list[tuple[str, dict[str, object]]]:
    """Return what was asked of the run: node and policy members."""
    return [(each["node"], each["changes"]) for call, each in host.asked if call == "tune"]


def test_a_policy_that_is_changed_holds_in_the_run(
    studio: Studio, host: FakeHost, qtbot: QtBot
) -> None:
    """It is one undo step, it is told, and no restart is offered for it."""
    running(studio)
    before = studio.document.undo_stack.count()

    change(studio, lambda graph: edits.merge_policy(graph, "screen", {"queue_capacity": 3}))
    qtbot.waitUntil(lambda: bool(tuned(host)))
    qtbot.waitUntil(lambda: "screen runs with q 3" in studio.bar.said)

    assert tuned(host) == [("screen", {"queue_capacity": 3})]
    assert studio.document.undo_stack.count() == before + 1
    assert not studio.commands.differs()


def test_undo_tunes_back(studio: Studio, host: FakeHost, qtbot: QtBot) -> None:
    """The document is the truth: what it gives no longer is the default again."""
    running(studio)
    change(studio, lambda graph: edits.merge_policy(graph, "screen", {"queue_capacity": 3}))
    qtbot.waitUntil(lambda: len(tuned(host)) == 1)

    studio.document.undo_stack.undo()
    qtbot.waitUntil(lambda: len(tuned(host)) == 2)

    assert tuned(host)[1] == ("screen", {"queue_capacity": 8})
    qtbot.waitUntil(lambda: not studio.commands.differs())


def test_a_refused_change_stays_in_the_document_and_says_why(
    studio: Studio, host: FakeHost, qtbot: QtBot
) -> None:
    """It waits for the next start, which is offered."""
    running(studio)
    host.refusal = "AF301: node screen has 2 workers"

    change(studio, lambda graph: edits.merge_policy(graph, "screen", {"workers": 2}))
    qtbot.waitUntil(lambda: studio.bar.said == "Not in this run: AF301: node screen has 2 workers")

    assert studio.document.graph.nodes["screen"].policy == {"workers": 2}
    assert studio.commands.differs()


def test_nothing_is_asked_for_what_cannot_be_tuned_or_when_nothing_runs(
    studio: Studio, host: FakeHost
) -> None:
    """Params, states and layout are for the next start; so is all of it before the first."""
    change(studio, lambda graph: edits.add_node(graph, "screen"))
    change(studio, lambda graph: edits.merge_policy(graph, "screen", {"workers": 2}))
    assert studio.commands.run()
    change(studio, lambda graph: edits.merge_policy(graph, "screen", {"cancel": "drain"}))
    change(studio, lambda graph: edits.move(graph, {"screen": (1.0, 2.0)}))

    assert host.asked == []
    assert studio.commands.differs()


def test_only_changed_members_are_named() -> None:
    """A member that the file gives no longer counts as changed too."""
    before = edits.add_node(Graph(), "screen")
    before = edits.merge_policy(before, "screen", {"queue_capacity": 3, "workers": 2})
    after = edits.merge_policy(before, "screen", {"queue_capacity": UNSET, "overflow": "block"})

    assert policy_changes(before, after) == {
        "screen": {"queue_capacity": UNSET, "overflow": "block"}
    }
    assert policy_changes(after, after) == {}


def test_changes_are_told_in_the_papers_letters() -> None:
    """As the inspector names them."""
    assert told({"queue_capacity": [8, 4], "overflow": ["block", "drop_oldest"]}) == (
        "q 4 instead of 8, o drop oldest instead of block"
    )
    assert told({"retry.timeout_s": [None, 2.0]}) == "retry.timeout_s 2.0 instead of none"
