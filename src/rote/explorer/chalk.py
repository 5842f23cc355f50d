"""The chalk view: computation graphs of the teaching engine, forward and backward, step by step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter
from pydantic import Field

from rote.chalk import Tensor, nn, ops
from rote.chalk.stepping import steps
from rote.errors import UnknownNameError
from rote.explorer.messages import Answer, Body

router = APIRouter(prefix="/api/chalk", tags=["chalk"])


class ChalkBody(Body):
    example: Annotated[str, Field(min_length=1, max_length=40)] = "square"


def square() -> Tensor:
    x = Tensor(3.0, name="x")
    return x * x + 2 * x


def neuron() -> Tensor:
    x, w, b = Tensor([1.0, -2.0], name="x"), Tensor([0.5, 0.25], name="w"), Tensor(0.1, name="b")
    y = ops.sigmoid(ops.reduce_sum(w * x) + b)
    return -ops.log(y)


def through_time() -> Tensor:
    """One weight at three steps: three terms of one gradient."""
    w, h = Tensor(0.9, name="w"), Tensor(0.5, name="h0")
    for step in range(3):
        h = ops.tanh(w * h + Tensor(float(step % 2), name=f"x{step + 1}"))
    return h * h


def elman() -> Tensor:
    return _cell(nn.RNNCell, lambda cell, x, h: cell(x, h))


def gru() -> Tensor:
    return _cell(nn.GRUCell, lambda cell, x, h: cell(x, h))


def lstm() -> Tensor:
    return _cell(nn.LSTMCell, lambda cell, x, h: cell(x, (h, Tensor(np.array([[0.1, 0.3]]), name="c0")))[0])


def _cell(kind: type[nn.Module], run: Callable[..., Tensor]) -> Tensor:
    """One step of a cell of two units, with weights that are always the same."""
    cell: Any = kind(2, 2)  # type: ignore[call-arg]
    random = np.random.default_rng(4)
    for parameter in cell.parameters():
        parameter.value = random.uniform(-1, 1, parameter.shape).round(2)
    x, h = (Tensor(np.array([row]), name=name) for name, row in (("x", [1.0, -1.0]), ("h0", [0.2, -0.4])))
    return ops.reduce_sum(run(cell, x, h))


EXAMPLES: dict[str, tuple[str, Callable[[], Tensor]]] = {
    "square": ("x·x + 2x at x = 3", square),
    "neuron": ("A neuron and its loss", neuron),
    "through_time": ("One weight used three times", through_time),
    "elman": ("One step of an Elman network", elman),
    "gru": ("One step of a GRU", gru),
    "lstm": ("One step of an LSTM", lstm),
}


@router.post("")
def graph(body: ChalkBody) -> Answer:
    """The steps of one example, and the names of all."""
    if body.example not in EXAMPLES:
        raise UnknownNameError("example", body.example, EXAMPLES)
    examples = {name: title for name, (title, _) in EXAMPLES.items()}
    return Answer({"examples": examples, "steps": steps(EXAMPLES[body.example][1]())})
