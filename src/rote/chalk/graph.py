"""The computation graph as a picture: every tensor with its value and gradient, parents to the left of their results.

``to_svg`` opens in any browser and needs no other program; ``to_dot`` is for Graphviz and editors that read it.
"""

from __future__ import annotations

from typing import Any
from xml.sax.saxutils import escape

import numpy as np

from rote.chalk.tensor import Tensor

WIDTH, HEIGHT, RIGHT, DOWN, MARGIN = 150, 58, 200, 78, 12  # a box, from box to box, around all; in pixels
SWEEPS = 4


def to_dot(tensor: Tensor) -> str:
    order = tensor._topo_sort()
    names = {node: f"n{place}" for place, node in enumerate(order)}
    text = ['  rankdir=LR; node [shape=box, fontname="sans-serif"];']
    for node, name in names.items():
        label = "\\n".join(line.replace("\\", "\\\\").replace('"', '\\"') for line in _lines(node))
        text.append(f'  {name} [label="{label}"];')
    text += [f"  {names[parent]} -> {names[child]};" for parent, child in tensor.get_graph_above()]
    return "\n".join(["digraph {", *text, "}", ""])


def to_svg(tensor: Tensor) -> str:
    places = {node: (MARGIN + RIGHT * x, MARGIN + DOWN * y) for node, (x, y) in _layout(tensor).items()}
    edges = [_edge(*places[parent], *places[child]) for parent, child in tensor.get_graph_above()]
    boxes = [_box(node, *place) for node, place in places.items()]
    width = max(x for x, _ in places.values()) + WIDTH + MARGIN
    height = max(y for _, y in places.values()) + HEIGHT + MARGIN
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" role="img"'
    style = 'font-family="sans-serif" font-size="12"'
    title = f"<title>Computation graph of {len(places)} tensors</title>"
    return "\n".join([f"{head} {style}>", title, *edges, *boxes, "</svg>", ""])


def _layout(tensor: Tensor) -> dict[Tensor, tuple[float, float]]:
    """Column and row of every tensor: leaves just before their first use, and each near what it is connected to."""
    order, edges = tensor._topo_sort(), tensor.get_graph_above()
    column: dict[Tensor, int] = {}
    for node in order:
        column[node] = 1 + max((column[parent] for parent in node.parents), default=-1)
    linked: dict[Tensor, list[Tensor]] = {node: [] for node in order}
    for parent, child in edges:
        linked[parent].append(child)
        linked[child].append(parent)
    for node in order:
        if not node.parents and linked[node]:
            column[node] = min(column[child] for child in linked[node]) - 1
    columns = [[node for node in order if column[node] == x] for x in range(max(column.values()) + 1)]
    row: dict[Tensor, float] = {}
    for _ in range(SWEEPS):
        for members in columns:
            places = {node: np.mean([row.get(other, 0.0) for other in linked[node]] or [0.0]) for node in members}
            members.sort(key=lambda node: places[node])
            row.update({node: y - (len(members) - 1) / 2 for y, node in enumerate(members)})
    top = min(row.values())
    return {node: (column[node], row[node] - top) for node in order}


def _edge(x: float, y: float, to_x: float, to_y: float) -> str:
    x, y, to_y, bend = x + WIDTH, y + HEIGHT / 2, to_y + HEIGHT / 2, (RIGHT - WIDTH) / 2
    path = f"M{x:.0f} {y:.0f} C{x + bend:.0f} {y:.0f} {to_x - bend:.0f} {to_y:.0f} {to_x:.0f} {to_y:.0f}"
    return f'<path d="{path}" fill="none" stroke="#888"/><circle cx="{to_x:.0f}" cy="{to_y:.0f}" r="3" fill="#888"/>'


def _box(node: Tensor, x: float, y: float) -> str:
    fill = "#fff4d6" if node.parents else "#e3eefb"  # results and leaves
    box = f'<rect x="{x:.0f}" y="{y:.0f}" width="{WIDTH}" height="{HEIGHT}" rx="6" fill="{fill}" stroke="#555"/>'
    lines = [
        f'<text x="{x + 8:.0f}" y="{y + 17 + 17 * place:.0f}" fill="#111">{escape(line)}</text>'
        for place, line in enumerate(_lines(node))
    ]
    return box + "".join(lines)


def _lines(node: Tensor) -> tuple[str, str, str]:
    gradient = "none" if node._grad is None else _short(node._grad)
    return node.name or "tensor", f"value {_short(node.value)}", f"grad {gradient}"


def _short(array: Any) -> str:
    if np.ndim(array) == 0:
        return f"{array:.4g}"
    if np.size(array) <= 2 and np.ndim(array) == 1:
        return "[" + ", ".join(f"{number:.3g}" for number in array) + "]"
    shape = "x".join(str(size) for size in np.shape(array))
    return f"{shape}, norm {np.linalg.norm(array):.3g}"
