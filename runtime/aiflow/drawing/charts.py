"""A graph as mermaid or dot: text that other programs draw, in a README or a paper."""

from __future__ import annotations

from collections.abc import Iterator

from aiflow.drawing.marks import mark_of
from aiflow.drawing.picture import Card, Picture, Wire

_LONGEST = 48


def mermaid_of(picture: Picture) -> str:
    """Return a mermaid flowchart; GitHub draws it in a fenced block of that name."""
    names = {id: f"n{number}" for number, id in enumerate(picture.cards)}
    lines = []
    if picture.name:
        # Front matter is YAML: quoted, a title may hold anything.
        lines += ["---", f"title: {_yaml(picture.name)}", "---"]
    lines.append("flowchart LR")
    for id, card in picture.cards.items():
        begin, end = ("([", "])") if not card.inputs and card.is_known else ("[", "]")
        text = "<br/>".join(map(_html, _card_lines(card)))
        lines.append(f'  {names[id]}{begin}"{text}"{end}')
    for wire in picture.wires:
        arrow = "-.->" if wire.is_detached else "-->"
        label = _html(_label(wire))
        lines.append(f'  {names[wire.source]} {arrow}|"{label}"| {names[wire.target]}')
    for number, wire in enumerate(picture.wires):
        lines.append(f"  linkStyle {number} stroke:{mark_of(wire.type).color}")
    faded = [names[id] for id, card in picture.cards.items() if card.is_disabled]
    if faded:
        lines.append("  classDef disabled opacity:0.5,stroke-dasharray:4 3")
        lines.append(f"  class {','.join(faded)} disabled")
    lines += [f"  %% {' '.join(sentence.split())}" for sentence in picture.footer]
    return "\n".join(lines) + "\n"


def dot_of(picture: Picture) -> str:
    """Return a graph for Graphviz."""
    lines = [
        "digraph aiflow {",
        "  rankdir=LR;",
        f"  label={_quoted(' — '.join(part for part in (picture.name, *picture.footer) if part))};",
        '  fontname="Helvetica";',
        '  node [shape=box, style="rounded", fontname="Helvetica", fontsize=11];',
        '  edge [fontname="Helvetica", fontsize=9];',
    ]
    for id, card in picture.cards.items():
        look = ', style="rounded,dashed", fontcolor="#5a6575"' if card.is_disabled else ""
        text = "\n".join(_card_lines(card))
        lines.append(f"  {_quoted(id)} [label={_quoted(text)}{look}];")
    for wire in picture.wires:
        color = mark_of(wire.type).color
        style = ", style=dashed" if wire.is_detached else ""
        back = ", constraint=false" if wire.is_feedback else ""
        lines.append(
            f"  {_quoted(wire.source)} -> {_quoted(wire.target)}"
            f' [label={_quoted(_label(wire))}, color="{color}", fontcolor="{color}"{style}{back}];'
        )
    return "\n".join([*lines, "}"]) + "\n"


def _card_lines(card: Card) -> Iterator[str]:
    yield card.id
    operator = card.operator if card.is_known else f"{card.operator or 'no operator'} (unknown)"
    yield f"{operator} (disabled)" if card.is_disabled else operator
    for line in card.lines:
        yield line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def _label(wire: Wire) -> str:
    """Return what an arrow says: glyph and type, the port it leaves by where that tells more."""
    words = f"{mark_of(wire.type).glyph} {wire.type}"
    if wire.source_port not in ("", "out"):
        words = f"{wire.source_port}: {words}"
    if wire.is_detached:
        words += f", {wire.overflow.replace('_', ' ')}"
    return f"{words}, feedback" if wire.is_feedback else words


def _html(text: str) -> str:
    """Return text as mermaid wants it within quotes: its own names for what it would read."""
    text = " ".join(text.split())
    for letter, name in (("#", "#35;"), ('"', "#quot;"), ("<", "#lt;"), (">", "#gt;")):
        text = text.replace(letter, name)
    return text.replace("`", "#96;")


def _yaml(text: str) -> str:
    return '"' + " ".join(text.split()).replace("\\", "\\\\").replace('"', '\\"') + '"'


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
