"""The computation graph as a picture: every tensor with its value and gradient, parents to the left of their results.

``to_svg`` opens in any browser and needs no other program; ``to_dot`` is for Graphviz and editors that read it.
"""

from __future__ import annotations

import itertools
from typing import Any
from xml.sax.saxutils import escape

import numpy as np

from rote.chalk.tensor import Tensor

WIDTH, HEIGHT, RIGHT, DOWN, MARGIN = 150, 58, 200, 78, 12  # a box, from box to box, around all; in pixels
SWEEPS = 4
Point = tuple[Tensor, int]  # a tensor, or what goes from it to a later one, in a column


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
    rows, links = _layout(tensor)
    places = {point: (MARGIN + RIGHT * point[1], MARGIN + DOWN * row) for point, row in rows.items()}
    lines = [_curve(*places[start], *places[end]) for start, end in links]
    starts = {start[0]: start[1] for start, _ in reversed(links)}  # the column of each tensor's own box
    lines += [_line(*place) for (node, x), place in places.items() if starts.get(node, x) != x]
    boxes = [_box(node, *place) for (node, x), place in places.items() if starts.get(node, x) == x]
    width = max(x for x, _ in places.values()) + WIDTH + MARGIN
    height = max(y for _, y in places.values()) + HEIGHT + MARGIN
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" role="img"'
    style = 'font-family="sans-serif" font-size="12"'
    title = f"<title>Computation graph of {len(boxes)} tensors</title>"
    return "\n".join([f"{head} {style}>", title, *lines, *boxes, "</svg>", ""])


def _layout(tensor: Tensor) -> tuple[dict[Point, float], list[tuple[Point, Point]]]:
    """Points (tensor, column) with their rows, and the links between them.

    A tensor stands as far to the right as what is made of it allows. Where a connection passes a column it has a point
    there, which belongs to the parent, so that no line runs through a box.
    """
    order = tensor._topo_sort()
    depth = dict.fromkeys(order, 0)
    for node in reversed(order):
        for parent in node.parents:
            depth[parent] = max(depth[parent], depth[node] + 1)
    column = {node: max(depth.values()) - depth[node] for node in order}
    links = dict[tuple[Point, Point], None]()
    for parent, child in tensor.get_graph_above():
        way = [(parent, x) for x in range(column[parent], column[child])]
        links |= dict.fromkeys(itertools.pairwise([*way, (child, column[child])]))
    linked: dict[Point, list[Point]] = {(node, column[node]): [] for node in order}
    for start, end in links:
        linked.setdefault(start, []).append(end)
        linked.setdefault(end, []).append(start)
    return _rows(linked), list(links)


def _rows(linked: dict[Point, list[Point]]) -> dict[Point, float]:
    """Each point near those that it is linked to: columns sorted by their mean row, a few times there and back."""
    columns: dict[int, list[Point]] = {}
    for point in linked:
        columns.setdefault(point[1], []).append(point)
    row: dict[Point, float] = {}
    ways = [sorted(columns), sorted(columns, reverse=True)]
    for x in itertools.chain.from_iterable(ways * SWEEPS):
        near = {point: [row[other] for other in linked[point] if other in row] or [0.0] for point in columns[x]}
        columns[x].sort(key=lambda point: sum(near[point]) / len(near[point]))
        row |= {point: y - (len(columns[x]) - 1) / 2 for y, point in enumerate(columns[x])}
    top = min(row.values())
    return {point: y - top for point, y in row.items()}


def _curve(x: float, y: float, to_x: float, to_y: float) -> str:
    x, y, to_y, bend = x + WIDTH, y + HEIGHT / 2, to_y + HEIGHT / 2, (RIGHT - WIDTH) / 2
    return _path(f"M{x:.0f} {y:.0f} C{x + bend:.0f} {y:.0f} {to_x - bend:.0f} {to_y:.0f} {to_x:.0f} {to_y:.0f}")


def _line(x: float, y: float) -> str:
    return _path(f"M{x:.0f} {y + HEIGHT / 2:.0f} h{WIDTH}")


def _path(path: str) -> str:
    return f'<path d="{path}" fill="none" stroke="#888"/>'


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
        return f"{float(array):.4g}"
    if np.size(array) <= 2 and np.ndim(array) == 1:
        return "[" + ", ".join(f"{float(number):.3g}" for number in array) + "]"
    shape = "x".join(str(size) for size in np.shape(array))
    return f"{shape}, norm {np.linalg.norm(array):.3g}"
