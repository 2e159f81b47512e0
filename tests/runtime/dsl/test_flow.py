"""Tests of `Flow`, `P` and the typed methods."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest
from pydantic import Field

from aiflow import Flow, P
from aiflow.dsl.generate import TARGET, generate, param_names, resource_method
from aiflow.dsl.names import identifier
from aiflow.dsl.policy import SYMBOLS
from aiflow.errors import EditError
from aiflow.events import Token
from aiflow.graph import codec
from aiflow.graph.model import Feedback
from aiflow.graph.shipped import graphs_dir
from aiflow.operators.base import Operator, Params, Port
from aiflow.operators.registry import Catalog
from aiflow.operators.scope import Scope
from aiflow.policies import Policy, Retry
from aiflow.types import TEXT, TOKEN

CATALOG = Catalog.load()


class LoudParams(Params):
    """One parameter."""

    mark: str = Field("!", title="Mark", description="What stands behind.")


class Loud(Operator[LoudParams]):
    """An operator that is not installed."""

    name = "loud"
    inputs = (Port("words", TEXT),)
    outputs = (Port("shout", TOKEN),)
    Params: ClassVar = LoudParams

    def process(self, payload: Token, scope: Scope) -> Token:
        """Shout."""
        return Token(payload.text.upper() + self.params.mark)


def test_the_typed_methods_are_those_of_the_operators_there_are() -> None:
    """After a new operator: `python -m aiflow.dsl.generate`."""
    assert TARGET.read_text(encoding="utf-8") == generate(CATALOG)


def test_slow_speech_written_in_python_is_the_example() -> None:
    """But for what the canvas needs: the file and the program are one graph."""
    example = codec.load(graphs_dir() / "examples" / "slow-speech.aiflow.json")
    flow = Flow("Slow speech", description=example.description, max_conversations=1)
    provider = flow.provider("provider", trace="traces/slow-speech.trace")
    model = flow.chat("model", provider=provider)
    router = flow.router("router")
    chunks = flow.chunker("chunks", max_tokens=5)
    speech = flow.speech("speech", policy=P(sigma="serialized"))
    log = flow.jsonl("log", policy=P(q=64))
    screen = flow.screen("screen")
    model >> router
    router.reasoning.to(log, fanout="detached")
    router.answer >> chunks >> speech
    chunks.to(screen, fanout="detached")
    flow.measure(log)

    assert flow.to_json() == codec.dumps(example, export=True)


def test_a_policy_goes_by_symbol_by_name_and_by_place() -> None:
    """All three say the same."""
    by_symbol = P(q=4, k=2, rho=6, sigma="stateless", o="drop_oldest", c="propagate")
    by_name = P(
        queue_capacity=4,
        workers=2,
        reorder_capacity=6,
        state="stateless",
        overflow="drop_oldest",
        cancel="propagate",
    )
    by_place = P(4, 2, 6, "stateless", "drop_oldest", "propagate")

    assert by_symbol == by_name == by_place
    assert by_symbol.members["queue_capacity"] == 4
    assert len({by_symbol, by_name, by_place}) == 1
    assert Policy.model_validate(by_symbol.members).workers == 2
    assert repr(P(q=4)) == "P(queue_capacity=4)"


def test_a_retry_may_be_a_model_or_a_mapping() -> None:
    """Only what is given is kept."""
    assert P(r=Retry(attempts=3)) == P(retry={"attempts": 3}) != P(r={"attempts": 2})


def test_a_member_that_is_given_twice_is_refused() -> None:
    """Nobody knows which one counts."""
    with pytest.raises(TypeError, match="q is queue_capacity; give one of the two"):
        P(q=4, queue_capacity=8)


def test_p_knows_every_member_of_a_policy() -> None:
    """One that is added to the policy is added here."""
    from inspect import signature  # noqa: PLC0415 - for this test only

    assert set(signature(P).parameters) == {*SYMBOLS, *Policy.model_fields}


def test_what_is_left_out_stays_out_and_none_is_a_value() -> None:
    """The file holds given params only."""
    flow = Flow()
    flow.chat("a", temperature=None)
    flow.chat("b")

    assert flow.graph.nodes["a"].params == {"temperature": None}
    assert flow.graph.nodes["b"].params == {}
    assert flow.graph.nodes["b"].resources == {}


def test_ids_are_made_from_the_operator_where_none_is_given() -> None:
    """As on the canvas; one that is taken is refused."""
    flow = Flow()

    assert [flow.screen().id, flow.screen().id] == ["screen", "screen-2"]
    with pytest.raises(EditError, match="there is a node screen"):
        flow.screen("screen")


def test_an_operator_from_outside_is_added_by_its_class() -> None:
    """Its ports are known, its params typed, and the flow brings it along."""
    flow = Flow()
    loud = flow.add(Loud, "loud", Loud.Params(mark="?"), policy={"workers": 2})
    flow.synthetic("s") >> loud >> flow.screen("out")

    assert list(flow.graph.edges) == ["s.out>loud.words", "loud.shout>out.in"]
    assert flow.graph.nodes["loud"].params == {"mark": "?"}
    assert flow.graph.nodes["loud"].policy == {"workers": 2}
    assert flow.operators == (Loud,)


def test_ports_can_be_named() -> None:
    """For operators that only a plug-in knows, and inputs beside the first."""
    flow = Flow()
    a, b = flow.add("split", "a"), flow.add("unite", "b", resources={"well": "w"})
    a.port("left").to(b.into("right"), fanout="detached", overflow="error")
    b.port().to(flow["a"], feedback=Feedback(credit=2))

    edges = flow.graph.edges
    assert edges["a.left>b.right"].overflow == "error"
    assert edges["b.out>a.in"].feedback == Feedback(credit=2)
    assert flow.graph.nodes["b"].resources == {"well": "w"}


def test_a_node_can_be_placed_disabled_and_excused() -> None:
    """In one expression."""
    flow = Flow()
    flow.delay("d").at(10, 20).disable().suppress("AF603", "a demo")

    node = flow.graph.nodes["d"]
    assert flow.graph.layout == {"d": (10, 20)}
    assert node.is_disabled
    assert node.suppress[0].reason == "a demo"


def test_a_graph_that_was_handed_out_does_not_change() -> None:
    """A flow makes new graphs, as edits do."""
    flow = Flow()
    before = flow.graph
    flow.screen("x")

    assert before.nodes == {}


@pytest.mark.parametrize(
    ("name", "expected"),
    [("text-input", "text_input"), ("in", "in_"), ("9th", "_9th"), ("", "_"), ("P", "p")],
)
def test_any_name_has_one_in_python(name: str, expected: str) -> None:
    """Keywords get an underscore."""
    assert identifier(name) == expected


def test_names_that_clash_give_way() -> None:
    """A parameter beside `policy`, a resource kind beside an operator."""

    class Odd(Params):
        policy: int = 1
        lambda_: int = 2
        id: int = 3

    operator: Any = type("OddOne", (Operator,), {"name": "odd", "Params": Odd, "requires": {}})

    assert param_names(operator) == {"policy": "policy_", "lambda_": "lambda_", "id": "id_"}
    assert resource_method("index", {"index"}) == "index_resource"
