"""How long a large graph takes to open, against a bare scene of the same shapes.

    python -m aiflow_studio.app.opening_bench [--nodes N] [--runs N] [--json]

The studio's time runs from the file on the disk to the painted canvas, as *Open* does it: reading,
cards, wires, panels. What the compiler finds follows a moment later and is told apart. The other's
is that of a `QGraphicsScene` that is given a rectangle for every rectangle of the cards, a text for
every text, a line for every wire, and is painted whole in a view of the same size. Both are
measured in turn, so what else the machine does falls on both. Nothing here is a test: times are
told, not judged.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter

from PySide6.QtCore import (
    QCoreApplication,
    QEvent,
    QLineF,
    QPointF,
    QRectF,
    Qt,
    qInstallMessageHandler,
)
from PySide6.QtGui import QPainter, QPen
from PySide6.QtWidgets import QApplication, QGraphicsScene, QGraphicsView, QWidget

from aiflow.graph import codec
from aiflow.graph.model import Edge, Graph, Node, PortRef
from aiflow.operators.registry import Catalog
from aiflow_studio.app.crash import CrashReporter
from aiflow_studio.app.loop import new_loop
from aiflow_studio.app.settings import SettingsFile
from aiflow_studio.app.start import hear_qt, let_go, make_application
from aiflow_studio.app.studio import Studio
from aiflow_studio.canvas.faces import NodeFace, edges_by_node, node_face
from aiflow_studio.canvas.nodegraphqt.card_painter import CardLayout, lay_out
from aiflow_studio.canvas.nodegraphqt.style import Style
from aiflow_studio.canvas.ports import PortTypes
from aiflow_studio.runs.embedded import EmbeddedHost

_CHAIN = 10
_STEP_X, _STEP_Y = 268, 190
_MOST_CELLS = 16


@dataclass(frozen=True, slots=True)
class Shapes:
    """What is drawn of a graph, as a bare scene would have it; scene coordinates."""

    rects: list[QRectF]
    texts: list[tuple[str, QPointF]]
    lines: list[QLineF]
    area: QRectF


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and say what was found."""
    options = _parser().parse_args(arguments)
    # The same on every machine, and no window that flickers.
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    qInstallMessageHandler(hear_qt)
    app = make_application()
    with asyncio.Runner(loop_factory=new_loop) as runner:
        found = runner.run(measure(app, options.nodes, options.runs))
    let_go()
    if options.json:
        sys.stdout.write(json.dumps(found) + "\n")
    else:
        sys.stdout.write(sentence(found) + "\n")
    return 0


async def measure(app: QApplication, nodes: int, runs: int) -> dict[str, float]:
    """Open a graph of `nodes` nodes `runs` times in each way, in turn.

    Returns:
        Counts of shapes, the medians of the times in ms, and those of their ratios to the bare one.
    """
    catalog = Catalog.load()
    studio = Studio(app, catalog, EmbeddedHost(catalog), SettingsFile(None), CrashReporter())
    studio.open_at_start(None)
    studio.window.show()
    graph, style = rows_of_chains(nodes), Style(studio.look.theme)
    shapes = shapes_of(graph, catalog, style)
    ours, theirs = [], []
    with tempfile.TemporaryDirectory() as folder:
        large, empty = Path(folder, "large.aiflow.json"), Path(folder, "empty.aiflow.json")
        codec.save(large, graph)
        codec.save(empty, Graph())
        # The first time of each makes fonts and fills caches; it is left out.
        for _ in range(runs + 1):
            ours.append(_open(studio, large))
            studio.open_at_start(empty)
            await asyncio.sleep(0)
            theirs.append(_open_bare(shapes, studio.canvas.widget(), style))
    await studio.leave()
    await studio.dismantle()
    times = [(*own, bare) for own, bare in zip(ours, theirs, strict=True)][1:]
    return {
        "nodes": nodes,
        "runs": runs,
        "rectangles": len(shapes.rects),
        "texts": len(shapes.texts),
        "lines": len(shapes.lines),
        "studio_ms": round(median(shown for shown, _, _ in times) * 1000, 1),
        "checked_ms": round(median(checked for _, checked, _ in times) * 1000, 1),
        "bare_ms": round(median(bare for _, _, bare in times) * 1000, 1),
        "ratio": round(median(shown / bare for shown, _, bare in times), 2),
        "checked_ratio": round(median(checked / bare for _, checked, bare in times), 2),
    }


def sentence(found: dict[str, float]) -> str:
    """Return what was found in words."""
    return (
        f"{found['nodes']:,} nodes open in {found['studio_ms']:,.0f} ms, {found['ratio']} times the"
        f" {found['bare_ms']:,.0f} ms of a bare scene of the same {found['rectangles']:,}"
        f" rectangles, {found['texts']:,} texts and {found['lines']:,} lines"
        f" (medians of {found['runs']} runs in turn); checked after {found['checked_ms']:,.0f} ms,"
        f" {found['checked_ratio']} times."
    )


def rows_of_chains(nodes: int) -> Graph:
    """Return a graph of chains of ten below each other, from a source to a sink."""
    made: dict[str, Node] = {}
    edges: dict[str, Edge] = {}
    layout: dict[str, tuple[float, float]] = {}
    for number in range(nodes):
        row, column = divmod(number, _CHAIN)
        is_last = column == _CHAIN - 1 or number == nodes - 1
        operator = "counter" if is_last else "delay" if column else "text-input"
        id = f"{operator}-{number}"
        if column:
            edge = Edge(PortRef(list(made)[-1], "out"), PortRef(id, "in"))
            edges[edge.id] = edge
        made[id] = Node(id, operator)
        layout[id] = (column * _STEP_X, row * _STEP_Y)
    return Graph(name="large", nodes=made, edges=edges, layout=layout)


def shapes_of(graph: Graph, catalog: Catalog, style: Style) -> Shapes:
    """Return the shapes that the canvas draws of a graph while nothing runs."""
    types = PortTypes(graph, catalog)
    touching = edges_by_node(graph)
    rects: list[QRectF] = []
    texts: list[tuple[str, QPointF]] = []
    ports: dict[PortRef, QPointF] = {}
    area = QRectF()
    for id, (x, y) in graph.layout.items():
        face = node_face(graph.nodes[id], types, touching)
        layout, corner = lay_out(face, style), QPointF(x, y)
        area = area.united(layout.rect.translated(corner))
        rects += [rect.translated(corner) for rect in _rects(face, layout)]
        texts += [(text, at + corner) for text, at in _texts(face, layout)]
        for side, left in ((face.inputs, 0.0), (face.outputs, layout.width)):
            for row, port in enumerate(side):
                ports[PortRef(id, port.name)] = corner + QPointF(left, layout.port_y(row))
    rects += [QRectF(at.x() - 5, at.y() - 5, 10, 10) for at in ports.values()]
    lines = [QLineF(ports[edge.source], ports[edge.target]) for edge in graph.edges.values()]
    return Shapes(rects, texts, lines, area)


def _rects(face: NodeFace, layout: CardLayout) -> Iterator[QRectF]:
    """Give card, foot and the cells of the queue."""
    yield layout.rect
    yield QRectF(0, layout.height - 4, layout.width, 4)
    if layout.queue_rect is not None and face.capacity is not None:
        cells = face.capacity if face.capacity <= _MOST_CELLS else 1
        whole = layout.queue_rect.adjusted(0, 2, -40, -2)
        for cell in range(cells):
            left = whole.left() + whole.width() * cell / cells
            yield QRectF(left, whole.top(), whole.width() / cells - 3, whole.height())


def _texts(face: NodeFace, layout: CardLayout) -> Iterator[tuple[str, QPointF]]:
    """Give name, operator, policy, depth of the queue and names of ports."""
    yield layout.name, layout.name_rect.topLeft()
    yield layout.title, layout.name_rect.center()
    for text, rect in layout.lines:
        yield text, rect.topLeft()
    if layout.queue_rect is not None:
        yield f"0/{face.capacity}", layout.queue_rect.topRight() - QPointF(30, 0)
    for side, left in ((face.inputs, 11.0), (face.outputs, layout.width / 2)):
        for row, port in enumerate(side):
            yield port.name, QPointF(left, layout.port_y(row) - 7)


def _open(studio: Studio, path: Path) -> tuple[float, float]:
    """Return the seconds from a file to a painted canvas, and those until it is checked."""
    view = studio.canvas.widget()
    assert isinstance(view, QGraphicsView), "a canvas that is no view has no viewport"
    gc.collect()
    began = perf_counter()
    studio.desk.load(path)
    studio.canvas.fit()
    view.viewport().repaint()
    painted = perf_counter()
    studio.linter.check_now()
    return painted - began, perf_counter() - began


def _open_bare(shapes: Shapes, beside: QWidget, style: Style) -> float:
    """Return the seconds from shapes to a painted scene, in a view as large as `beside`."""
    view = QGraphicsView()
    view.setRenderHint(QPainter.RenderHint.Antialiasing)
    view.resize(beside.size())
    view.show()
    QCoreApplication.sendPostedEvents()
    gc.collect()
    began = perf_counter()
    scene = QGraphicsScene(view)
    pen, brush = QPen(style.border), style.card
    for rect in shapes.rects:
        scene.addRect(rect, pen, brush)
    for text, at in shapes.texts:
        scene.addSimpleText(text, style.small_font).setPos(at)
    for line in shapes.lines:
        scene.addLine(line, pen)
    scene.setSceneRect(shapes.area)
    view.setScene(scene)
    view.fitInView(shapes.area, Qt.AspectRatioMode.KeepAspectRatio)
    view.viewport().repaint()
    took = perf_counter() - began
    view.close()
    view.deleteLater()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
    return took


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m aiflow_studio.app.opening_bench")
    parser.add_argument("--nodes", type=int, default=1000, help="nodes of the graph")
    parser.add_argument("--runs", type=int, default=9, help="times that each is opened")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    return parser


if __name__ == "__main__":
    sys.exit(main())
