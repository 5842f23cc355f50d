"""The steps of a computation as data: every tensor with its place, the values forward, the gradients backward.

``show`` makes a page of them that can be stepped through. Nothing is changed: the gradients are computed beside those
that the tensors hold.
"""

from __future__ import annotations

import html
import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from rote.chalk.graph import _layout, _short
from rote.chalk.tensor import Array, Tensor, _checked

PLAYER = Path(__file__).with_name("player.js")
MOST = 400  # tensors of a picture
NUMBERS = 12  # of an array that is written out
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Chalk: {count} tensors</title>
</head>
<body style="margin: 1rem; background: #fff; color: #111">
<main id="graph"></main>
<script type="application/json" id="steps">{data}</script>
<script type="module">
{player}
document.getElementById("graph").append(player(JSON.parse(document.getElementById("steps").textContent)).element);
</script>
</body>
</html>
"""


class Shown:
    """The page of a computation graph: a notebook shows it, ``save`` writes it, ``html`` is its text."""

    def __init__(self, page: str) -> None:
        self.html = page

    def save(self, path: Path | str) -> None:
        """Write the page; it needs no server and nothing from the network."""
        path = Path(path)
        partial = path.with_name(f"{path.name}.part")
        partial.write_text(self.html, encoding="utf-8")
        os.replace(partial, path)

    def _repr_html_(self) -> str:
        page = html.escape(self.html)
        return f'<iframe srcdoc="{page}" sandbox="allow-scripts" title="Chalk" width="100%" height="560"></iframe>'


def show(loss: Tensor) -> Shown:
    """The computation graph of a loss, forward and backward step by step, with values and gradients.

    >>> from rote.chalk import Tensor, show
    >>> x = Tensor(3.0, name="x")
    >>> "multiply" in show(x * x + 2 * x).html
    True
    """
    data = steps(loss)
    text = json.dumps(data).replace("<", "\\u003c")
    player = PLAYER.read_text(encoding="utf-8").replace("export function", "function")
    return Shown(PAGE.format(count=len(data["nodes"]), data=text, player=player))


def steps(loss: Tensor) -> dict[str, Any]:
    """The graph of a loss as plain data.

    - nodes: in the order of computing, each with its name, value, parents (places in this list), column and row;
    - links: the lines between them, from [column, row] to [column, row];
    - backward: in the order of the chain rule, each with its gradient and with what it passes to its parents.
    """
    if loss.shape != ():
        raise ValueError(f"show() takes one number, a loss. This has shape {loss.shape}: reduce_sum it.")
    order = loss._topo_sort()
    if len(order) > MOST:
        raise ValueError(f"show() draws graphs of up to {MOST} tensors. This one has {len(order)}: show a part of it.")
    places = {node: place for place, node in enumerate(order)}
    rows, links = _layout(loss)
    starts = {node: max(x for other, x in rows if other is node) for node in order}
    for start, _ in links:
        starts[start[0]] = min(starts[start[0]], start[1])
    nodes = [
        {
            "name": node.name or "tensor", "value": _text(node.value), "leaf": not node.parents,
            "parents": [places[parent] for parent in node.parents],
            "column": starts[node], "row": rows[node, starts[node]],
        }
        for node in order
    ]  # fmt: skip
    lines = [[[start[1], rows[start]], [end[1], rows[end]], places[start[0]]] for start, end in links]
    passed = [[x, y] for (node, x), y in rows.items() if x != starts[node]]  # where a line goes through a column
    return {"nodes": nodes, "links": lines, "through": passed, "backward": _backward(order, places)}


def _backward(order: list[Tensor], places: dict[Tensor, int]) -> list[dict[str, Any]]:
    """The chain rule from the last tensor to the first, in gradients of its own."""
    gradients: dict[Tensor, Array] = {order[-1]: np.ones((), order[-1]._grad_dtype())}
    found = []
    for node in reversed(order):
        if node not in gradients:
            continue
        given = []
        if node._operation is not None:
            made = _checked(node._operation, node._operation.backward(node._ctx, gradients[node]), node.parents)
            for parent, gradient in zip(node.parents, made, strict=True):
                if gradient is None:
                    continue
                before = gradients.get(parent)
                gradients[parent] = np.array(gradient) if before is None else before + gradient
                given.append({"to": places[parent], "gradient": _text(gradient), "sum": _text(gradients[parent])})
        found.append({"node": places[node], "gradient": _text(gradients[node]), "given": given})
    return found


def _text(array: Any) -> str:
    """The numbers of a small array, the shape and norm of another."""
    if np.size(array) <= NUMBERS and (np.ndim(array) == 2 or (np.ndim(array) == 1 and np.size(array) > 2)):
        rows = np.atleast_2d(array)
        return "; ".join(" ".join(f"{float(number):.3g}" for number in row) for row in rows)
    return _short(array)
