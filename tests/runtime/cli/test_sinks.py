"""Tests of `aiflow.cli.sinks`."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from aiflow.cli.sinks import LINE_WIDTH, SinkLines


def lines_of(*shown: tuple[str, str, str], has_many: bool = False) -> list[str]:
    """Return the lines that come of these pieces."""
    lines: list[str] = []
    sinks = SinkLines(lines.append, ("screen", "log"), has_many=has_many)
    for piece in shown:
        sinks.show(*piece)
    sinks.close()
    return lines


def test_pieces_of_one_line_are_put_together() -> None:
    """A newline ends a line, and close ends the last."""
    assert lines_of(
        ("screen", "c1", "Hel"), ("screen", "c1", "lo\nthe"), ("screen", "c1", "re")
    ) == [
        "screen │ Hello",
        "screen │ there",
    ]


def test_two_nodes_never_share_a_line() -> None:
    """Pieces that come in turns stay apart, each under its own label."""
    assert lines_of(
        ("screen", "c1", "a"), ("log", "c1", "x"), ("screen", "c1", "b\n"), ("log", "c1", "y\n")
    ) == ["screen │ ab", "log    │ xy"]


def test_conversations_are_told_apart_where_there_are_many() -> None:
    """Each line then names its conversation."""
    assert lines_of(("log", "c1", "a\n"), ("log", "c12", "b\n"), has_many=True) == [
        "log    c1    │ a",
        "log    c12   │ b",
    ]


def test_running_text_is_broken_at_a_blank() -> None:
    """A reader need not wait for the end of a paragraph."""
    text = " ".join(["word"] * 50)

    lines = lines_of(("screen", "c1", text))

    assert len(lines) > 1
    assert all(len(line) <= LINE_WIDTH + len("screen │ ") for line in lines)


def test_a_line_of_json_stays_whole() -> None:
    """Whoever reads the log can parse each line."""
    line = '{"text": "' + "word " * 50 + '"}'

    assert lines_of(("log", "c1", line[:150]), ("log", "c1", line[150:] + "\n")) == [
        f"log    │ {line}"
    ]


def test_a_text_cannot_speak_to_the_terminal() -> None:
    """Escape sequences in what a model says are shown, not obeyed."""
    text = "a\x1b[2Jb\x07c\x9bd\te\r\n"

    assert lines_of(("log", "c1", text)) == ["log    │ a␛[2Jb␇c\ufffdd\te"]


@given(st.lists(st.tuples(st.sampled_from("ab"), st.text("xy \n", max_size=30)), max_size=30))
def test_no_word_is_lost(shown: list[tuple[str, str]]) -> None:
    """However pieces are cut, each node's words come out in order."""
    lines: list[str] = []
    sinks = SinkLines(lines.append, ("a", "b"), has_many=False)

    for node, text in shown:
        sinks.show(node, "c1", text)
    sinks.close()

    for name in "ab":
        given_words = "".join(text for node, text in shown if node == name).split()
        words = " ".join(line[4:] for line in lines if line[0] == name).split()
        assert words == given_words
