"""A graph as an SVG that reads as the canvas does, on white, for a page or a print."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

from aiflow.drawing.layout import Places, Point, layered
from aiflow.drawing.marks import mark_of
from aiflow.drawing.picture import Card, Dock, Picture, Wire

_FONT = "Inter, 'DejaVu Sans', 'Segoe UI', Helvetica, Arial, sans-serif"
_INK, _MUTED, _LINE, _CARD, _ERROR = "#1b222c", "#566172", "#b4bfcc", "#f8fafc", "#c02826"
_NARROWEST, _WIDEST = 176.0, 232.0
_MARGIN, _PAD = 28.0, 12.0
_HEAD, _ROW, _LINE_HEIGHT = 34.0, 18.0, 16.0
_LETTER = {9: 5.3, 10: 5.9, 11: 6.4, 13: 7.7, 12: 7.0, 18: 10.4}  # widths in DejaVu, a wide face
_LEAST_TEXT = 460.0
_LANE = 18.0
_LABEL_STEP = 7.0
_DASH = "M -6 0 L 16 0"


@dataclass(frozen=True, slots=True)
class _Box:
    """A card at its place."""

    card: Card
    x: float
    y: float
    width: float
    height: float

    def dock(self, name: str, *, is_input: bool) -> Point:
        """Return where a wire meets the card; an unknown port is at its foot."""
        docks = self.card.inputs if is_input else self.card.outputs
        row = next((number for number, dock in enumerate(docks) if dock.name == name), len(docks))
        body = self.y + _HEAD + len(_lines(self.card, self.width)) * _LINE_HEIGHT
        y = min(body + (row + 0.5) * _ROW, self.y + self.height - 6)
        return (self.x if is_input else self.x + self.width), y


def svg_of(picture: Picture) -> str:
    """Return the text of an SVG file."""
    boxes, ways = _arranged(picture)
    right = max((box.x + box.width for box in boxes.values()), default=0.0)
    bottom = max((box.y + box.height for box in boxes.values()), default=0.0)
    lanes = _Lanes(boxes)
    wires = [_wire(w, boxes, ways.get(number), lanes) for number, w in enumerate(picture.wires)]
    bottom = max([bottom, *(drawn.lowest for drawn in wires)])
    width = max(right, _LEAST_TEXT) + _MARGIN
    head = list(_heading(picture, width - 2 * _MARGIN))
    above = _MARGIN + len(head) * 20 + (10 if head else 0)
    body = [drawn.path for drawn in wires]
    body += [line for box in boxes.values() for line in _card(box)]
    body += [drawn.label for drawn in wires]
    foot, foot_height = _foot(picture, width, above + bottom + 30)
    height = above + bottom + 30 + foot_height
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{_n(width)}" height="{_n(height)}"'
            f' viewBox="0 0 {_n(width)} {_n(height)}" font-family={quoteattr(_FONT)} role="img">',
            f"<title>{_text(picture.name or 'AiFlow graph')}</title>",
            *([f"<desc>{_text(picture.description)}</desc>"] if picture.description else []),
            f'<rect width="{_n(width)}" height="{_n(height)}" fill="#ffffff"/>',
            *head,
            f'<g transform="translate(0 {_n(above)})">',
            *body,
            "</g>",
            *foot,
            "</svg>",
            "",
        ]
    )


def _arranged(picture: Picture) -> tuple[dict[str, _Box], Mapping[int, list[Point]]]:
    """Return each card at its place: the graph's own where every card has one, else ours."""
    sizes = {id: _size(card) for id, card in picture.cards.items()}
    placed = {id: at for id, at in picture.layout.items() if id in sizes}
    is_drawn = bool(sizes) and len(placed) == len(sizes) and not _overlap(placed, sizes)
    edges = [(wire.source, wire.target) for wire in picture.wires]
    places = Places(placed) if is_drawn else layered(sizes, edges)
    left = min((x for x, _ in places.cards.values()), default=0.0) - _MARGIN
    top = min((y for _, y in places.cards.values()), default=0.0)
    boxes = {
        id: _Box(card, places.cards[id][0] - left, places.cards[id][1] - top, *sizes[id])
        for id, card in picture.cards.items()
    }
    ways = {
        number: [(x - left, y - top) for x, y in points] for number, points in places.ways.items()
    }
    return boxes, ways


def _overlap(placed: Mapping[str, Point], sizes: Mapping[str, Point]) -> bool:
    """Say whether cards of this size would cover one another: the canvas drew others."""
    ordered = sorted((x, y, *sizes[id]) for id, (x, y) in placed.items())
    for number, (x, y, width, height) in enumerate(ordered):
        for other_x, other_y, _, other_height in ordered[number + 1 :]:
            if other_x >= x + width:
                break
            if y < other_y + other_height and other_y < y + height:
                return True
    return False


def _size(card: Card) -> Point:
    # Not by what is set on it, which may be long: the graph's own layout leaves no room for it.
    heading = _width(card.id, 13) + _width(card.operator, 10) + 3 * _PAD
    policy = max((_width(line, 11) for line in card.lines[:1] if card.inputs), default=0.0)
    pairs = zip([*card.inputs, None], [*card.outputs, None], strict=False)
    ports = max(
        (sum(_width(dock.name, 10) for dock in pair if dock) + 4 * _PAD for pair in pairs),
        default=0.0,
    )
    width = round(min(max(_NARROWEST, heading, policy + 2 * _PAD, ports), _WIDEST))
    rows = max(len(card.inputs), len(card.outputs))
    return width, _HEAD + len(_lines(card, width)) * _LINE_HEIGHT + rows * _ROW + 6


def _lines(card: Card, width: float) -> list[str]:
    """Return what stands below a card's name, each text on at most two lines."""
    letters = max(8, int((width - 2 * _PAD) / _LETTER[11]))
    return [
        line
        for text in card.lines
        for line in textwrap.wrap(text, letters, max_lines=2, placeholder=" …")
    ]


def _card(box: _Box) -> Iterator[str]:
    card, x, y = box.card, box.x, box.y
    stroke = _LINE if card.is_known else _ERROR
    dash = ' stroke-dasharray="5 4"' if card.is_disabled or not card.is_known else ""
    yield f'<g opacity="{0.55 if card.is_disabled else 1}">'
    yield f"<title>{_text(card.id)} ({_text(card.operator)})</title>"
    yield (
        f'<rect x="{_n(x)}" y="{_n(y)}" width="{_n(box.width)}" height="{_n(box.height)}" rx="8"'
        f' fill="{_CARD}" stroke="{stroke}" stroke-width="1.2"{dash}/>'
    )
    kind = card.operator or "no operator"
    if card.is_disabled:
        kind = "disabled"
    elif not card.is_known:
        kind = f"unknown: {kind}"
    room = box.width - 2 * _PAD
    name = _cut(card.id, 13, room - 24)
    yield _words(x + _PAD, y + 21, name, 13, _INK, weight=600)
    left = room - _width(name, 13) - _PAD
    ink = _MUTED if card.is_known else _ERROR
    if kind != card.id and left > 20:  # noqa: PLR2004 - a letter and an ellipsis say nothing
        yield _words(x + box.width - _PAD, y + 21, _cut(kind, 10, left), 10, ink, anchor="end")
    for number, line in enumerate(_lines(card, box.width)):
        text = _cut(line, 11, room)
        yield _words(x + _PAD, y + _HEAD + 5 + number * _LINE_HEIGHT, text, 11, _MUTED)
    for dock in card.inputs:
        yield from _dock(box, dock, is_input=True)
    for dock in card.outputs:
        yield from _dock(box, dock, is_input=False)
    yield "</g>"


def _dock(box: _Box, dock: Dock, *, is_input: bool) -> Iterator[str]:
    x, y = box.dock(dock.name, is_input=is_input)
    yield _glyph(dock.type, x, y)
    shift = _PAD if is_input else -_PAD
    anchor = "start" if is_input else "end"
    yield _words(x + shift, y + 3.5, _cut(dock.name, 10, box.width / 2), 10, _MUTED, anchor=anchor)


@dataclass(frozen=True, slots=True)
class _Drawn:
    """A wire's line, what stands on it, and how far down it goes."""

    path: str
    label: str
    lowest: float


class _Lanes:
    """Room for what must not cross: wires that lead back, and the labels of all wires."""

    def __init__(self, boxes: Mapping[str, _Box]) -> None:
        self._taken = [(box.x, box.x + box.width, box.y, box.y + box.height) for box in
                       boxes.values()]  # fmt: skip
        self._labels: list[tuple[float, float, float, float]] = []

    def find(self, left: float, right: float, low: float) -> float:
        """Return the first free height from `low` down between two sides, and take it."""
        while True:
            below = [
                bottom
                for begin, end, top, bottom in self._taken
                if begin < right and end > left and top - _LANE < low < bottom + _LANE
            ]
            if not below:
                self._taken.append((left, right, low, low))
                return low
            low = max(below) + _LANE

    def label(self, at: Point, width: float, height: float) -> Point:
        """Return the first free place for a wire's label from its middle down, and take it."""
        x, y = at
        while any(
            abs(x - other_x) < (width + other_width) / 2 and abs(y - other_y) < (height + other) / 2
            for other_x, other_y, other_width, other in self._labels
        ):
            y += _LABEL_STEP
        self._labels.append((x, y, width, height))
        return x, y


def _wire(wire: Wire, boxes: Mapping[str, _Box], way: list[Point] | None, lanes: _Lanes) -> _Drawn:
    start = boxes[wire.source].dock(wire.source_port, is_input=False)
    end = boxes[wire.target].dock(wire.target_port, is_input=True)
    color = mark_of(wire.type).color
    if end[0] <= start[0]:
        line, middle = _back(start, end, boxes[wire.source], boxes[wire.target], lanes)
    else:
        line, middle = _forth(start, end, way or [])
    dash = ' stroke-dasharray="6 4"' if wire.is_detached else ""
    path = (
        f'<path d="{line}" fill="none" stroke="{color}" stroke-width="1.8"{dash}>'
        f"<title>{_text(wire.id)}: {_text(wire.type)}</title></path>"
    )
    text = f"{wire.type}, feedback" if wire.is_feedback else wire.type
    second = wire.overflow.replace("_", " ")
    width = max(_width(text, 10), _width(second, 9)) + 4
    height = 25 if second else 14
    x, y = middle = lanes.label(middle, width, height)
    label = (
        f'<rect x="{_n(x - width / 2)}" y="{_n(y - 8)}" width="{_n(width)}" height="{height}"'
        ' rx="3" fill="#ffffff" fill-opacity="0.92"/>'
    ) + _words(x, y + 3, text, 10, color, anchor="middle")
    if second:
        label += _words(x, y + 14, second, 9, _MUTED, anchor="middle")
    lowest = max(point[1] for point in [start, end, middle, *(way or [])])
    return _Drawn(path, label, lowest + 10)


def _forth(start: Point, end: Point, way: list[Point]) -> tuple[str, Point]:
    """Return a line from left to right through the points of its way."""
    points = [start, *way, end]
    line = f"M {_n(start[0])} {_n(start[1])}"
    for number, (x, y) in enumerate(points[1:], 1):
        before_x, before_y = points[number - 1]
        if number % 2 == 0:  # within a column it goes straight past the cards
            line += f" L {_n(x)} {_n(y)}"
            continue
        bend = max((x - before_x) / 2, 18)
        line += f" C {_n(before_x + bend)} {_n(before_y)} {_n(x - bend)} {_n(y)} {_n(x)} {_n(y)}"
    last, first = points[-1], points[-2]
    return line, ((first[0] + last[0]) / 2, (first[1] + last[1]) / 2)


def _back(start: Point, end: Point, source: _Box, target: _Box, lanes: _Lanes) -> tuple[str, Point]:
    """Return a line that leads back: out to the right, under both cards, in from the left."""
    (x1, y1), (x2, y2) = start, end
    low = max(source.y + source.height, target.y + target.height) + _LANE
    low = lanes.find(x2 - 44, x1 + 44, low)
    line = (
        f"M {_n(x1)} {_n(y1)} C {_n(x1 + 44)} {_n(y1)} {_n(x1 + 44)} {_n(low)} {_n(x1)} {_n(low)}"
        f" L {_n(x2)} {_n(low)} C {_n(x2 - 44)} {_n(low)} {_n(x2 - 44)} {_n(y2)} {_n(x2)} {_n(y2)}"
    )
    return line, ((x1 + x2) / 2, low)


def _glyph(type_name: str, x: float, y: float) -> str:
    """Return the shape of a type's glyph, so that no font is needed for it."""
    mark = mark_of(type_name)
    look = f'fill="{mark.color}" stroke="#ffffff" stroke-width="1"'
    shapes: dict[str, list[Point]] = {
        "■": [(-4.5, -4.5), (4.5, -4.5), (4.5, 4.5), (-4.5, 4.5)],
        "▲": [(0, -5.5), (5.5, 4.5), (-5.5, 4.5)],
        "◆": [(0, -6), (6, 0), (0, 6), (-6, 0)],
        "⬢": [(-5.5, 0), (-2.8, -5), (2.8, -5), (5.5, 0), (2.8, 5), (-2.8, 5)],
    }
    if mark.glyph in shapes:
        corners = " ".join(f"{_n(x + dx)},{_n(y + dy)}" for dx, dy in shapes[mark.glyph])
        return f'<polygon points="{corners}" {look}/>'
    if mark.glyph == "○":
        look = f'fill="#ffffff" stroke="{mark.color}" stroke-width="2"'
    return f'<circle cx="{_n(x)}" cy="{_n(y)}" r="4.5" {look}/>'


def _heading(picture: Picture, width: float) -> Iterator[str]:
    y = _MARGIN + 12
    if picture.name:
        yield _words(_MARGIN, y, _cut(picture.name, 18, width), 18, _INK, weight=600)
        y += 24
    letters = max(20, int(width / _LETTER[12]))
    for line in textwrap.wrap(picture.description, letters, max_lines=5, placeholder=" …"):
        yield _words(_MARGIN, y, line, 12, _MUTED)
        y += 19


def _foot(picture: Picture, width: float, y: float) -> tuple[list[str], float]:
    """Return the legend and what is to be said of the whole, and how high they are."""
    lines: list[str] = []
    x, top = _MARGIN, y
    entries = [(name, _glyph(name, 0, 0)) for name in picture.types]
    if any(wire.is_detached for wire in picture.wires):
        dashes = f'stroke="{_MUTED}" stroke-width="1.8" stroke-dasharray="6 4"'
        entries.append(("detached: never makes its sender wait", f'<path d="{_DASH}" {dashes}/>'))
    for words, sign in entries:
        shift = 24 if _DASH in sign else 11
        needed = shift + _width(words, 11) + 22
        if x > _MARGIN and x + needed > width:
            x, y = _MARGIN, y + 20
        lines.append(f'<g transform="translate({_n(x + 6)} {_n(y)})">{sign}</g>')
        lines.append(_words(x + 6 + shift, y + 4, words, 11, _MUTED))
        x += needed
    y += 22 if entries else 0
    letters = max(20, int((width - 2 * _MARGIN) / _LETTER[11]))
    for sentence in picture.footer:
        for line in textwrap.wrap(sentence, letters):
            lines.append(_words(_MARGIN, y + 4, line, 11, _MUTED))
            y += 18
    return lines, y - top + 14


def _words(  # noqa: PLR0913, PLR0917 - place, text and look
    x: float, y: float, text: str, size: int, color: str, anchor: str = "start", weight: int = 400
) -> str:
    more = f' text-anchor="{anchor}"' if anchor != "start" else ""
    more += f' font-weight="{weight}"' if weight != 400 else ""  # noqa: PLR2004 - the normal one
    return (
        f'<text x="{_n(x)}" y="{_n(y)}" font-size="{size}" fill="{color}"{more}>'
        f"{_text(text)}</text>"
    )


def _width(text: str, size: int) -> float:
    """Return about how wide a text is; whoever draws it may have another font."""
    return len(text) * _LETTER[size]


def _cut(text: str, size: int, room: float) -> str:
    most = max(1, int(room / _LETTER[size]))
    return text if len(text) <= most else f"{text[: max(1, most - 1)]}…"


def _text(text: str) -> str:
    """Return text for XML; what XML has no letters for becomes a replacement mark."""
    clean = "".join(letter if _is_xml(ord(letter)) else "\ufffd" for letter in text)
    return escape(clean)


def _is_xml(code: int) -> bool:
    return code in (9, 10, 13) or 32 <= code < 0xD800 or 0xE000 <= code < 0xFFFE or code > 0xFFFF  # noqa: PLR2004


def _n(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")
