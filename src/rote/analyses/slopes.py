"""DeepLIFT and layer-wise relevance propagation as arithmetics, so that they work for every cell.

Both are a gradient times the input in which the slope of each operation is another one:

            DeepLIFT (Shrikumar et al. 2017), against a run on zeros    relevance for gated units (Arras et al. 2017)
phi(v)      (phi(v) - phi(v0)) / (v - v0), the rescale rule             phi(v) / (v + epsilon sign(v))
gate * s    (s + s0) / 2 of the gate, (gate + gate0) / 2 of s           0 of the gate, gate of s: the source takes all

The first sums to the output less that of the run on zeros, exactly; of the second, biases keep a share.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from rote.analyses.inputs import check_inputs
from rote.cells.arithmetic import Function, Plain
from rote.errors import UsageError
from rote.models.sequence import SequenceModel

if TYPE_CHECKING:
    from jaxtyping import Float, Int

EPSILON = 1e-3


class Rescaled(Plain):
    """DeepLIFT: values are [2, batch, unit], of the sequence and of the run on zeros. What has no such axis, as a bias,
    is the same in both."""

    def apply(self, function: Function, value: Tensor, *weights: Tensor) -> Tensor:
        if value.dim() < 3:
            return super().apply(function, value, *weights)
        given = value.detach()
        found, slope = _with_slope(function, given, weights)
        change = given[0] - given[1]
        near = change.abs() <= torch.finfo(given.dtype).eps ** 0.5 * (1 + given[0].abs())
        secant = (found[0] - found[1]) / torch.where(near, torch.ones_like(change), change)
        return found + torch.where(near, slope[0], secant) * (value - given)

    def product(self, gate: Tensor, source: Tensor) -> Tensor:
        g, s = gate.detach(), source.detach()
        both = g * s
        if both.dim() < 3:
            return gate * source
        g_mean, s_mean = (part.mean(0) if part.dim() == 3 else part for part in (g, s))
        return both + s_mean * (gate - g) + g_mean * (source - s)


class Relevance(Plain):
    """Relevance goes through a squashing function as it is, and through a product to its source alone."""

    def apply(self, function: Function, value: Tensor, *weights: Tensor) -> Tensor:
        given = value.detach()
        found = super().apply(function, given, *weights)
        steadied = given + torch.where(given >= 0, EPSILON, -EPSILON)
        return found + found / steadied * (value - given)

    def product(self, gate: Tensor, source: Tensor) -> Tensor:
        return gate.detach() * source


def _with_slope(function: Function, given: Tensor, weights: tuple[Tensor, ...]) -> tuple[Tensor, Tensor]:
    with torch.enable_grad():
        leaf = given.clone().requires_grad_()
        found = function(leaf, *weights)
        (slope,) = torch.autograd.grad(found.sum(), leaf)
    return found.detach(), slope


@torch.enable_grad()
def gradient_times_input(
    model: SequenceModel, tokens: Tensor, at: int, target: Int[Tensor, " batch"], a: Rescaled | Relevance
) -> Float[Tensor, "batch time"]:
    """The gradient of the target's output at the step ``at``, in the slopes of ``a``, times the inputs."""
    if model.readout is not None and model.linear_readout is None:
        raise UsageError("'deeplift' and 'lrp' need a readout that is linear. Adapt with readout=nn.Linear(...).")
    vectors = check_inputs(model, tokens).vectors
    leaf = vectors.clone().requires_grad_()
    pair = torch.stack([leaf, torch.zeros_like(leaf)]) if isinstance(a, Rescaled) else leaf[None]
    hidden = _hidden(model, pair, a)[0, :, at]
    chosen = model.read(hidden).gather(1, target[:, None]).sum()
    (gradient,) = torch.autograd.grad(chosen, leaf)
    return (gradient * vectors).sum(-1)


def _hidden(model: SequenceModel, values: Tensor, a: Plain) -> Float[Tensor, "run batch time unit"]:
    """The top layer's states, step by step in the arithmetic ``a``."""
    recurrent = model.recurrent
    for layer in range(recurrent.layers):
        sides = []
        for direction in range(recurrent.directions):
            cell = recurrent.cell(layer, direction)
            projected, state = cell.project(values), cell.zero_state(*values.shape[:2])
            series: dict[int, Tensor] = {}
            times = range(values.shape[2])
            for t in reversed(times) if direction else times:
                state = cell.step(a, projected[:, :, t], state)
                series[t] = state[0]
            sides.append(torch.stack([series[t] for t in times], 2))
        values = torch.cat(sides, -1)
    return values
