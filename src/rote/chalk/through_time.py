"""Backpropagation through time made visible (source 004, "Training: BPTT").

    dJ/dW = sum over the steps i of dJ/dW at step i

Each step gets a copy of the cell whose weights are their own nodes in the graph (``identity``), so each of them has
its own gradient: the term of that step. The weight itself gets their sum.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rote.chalk.nn import Cell, unroll
from rote.chalk.ops import identity
from rote.chalk.tensor import Array, Tensor


def bptt_terms(
    cell: Cell, inputs: Tensor, loss: Callable[[Sequence[Tensor]], Tensor], state: Any = None
) -> dict[str, Array]:
    """For each weight of the cell, by name: the terms [time, *shape] of d loss / d weight.

    inputs: [batch, time, input]. loss: one number from the list of hidden states [batch, hidden]. The gradients of all
    that the loss depends on, the cell's weights among them, are added up as by any backward().
    """
    steps = [copy.copy(cell) for _ in range(inputs.shape[1])]
    for step in steps:
        step._params = {name: identity(weight) for name, weight in cell._params.items()}
        step.__dict__.update(step._params)
    loss(unroll(steps, inputs, state)).backward()
    return {name: np.stack([step._params[name].grad for step in steps]) for name in cell._params}
