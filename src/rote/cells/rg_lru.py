"""The recurrent block of Griffin and RecurrentGemma (De et al. 2024), whose memory is the RG-LRU.

u = conv(W_x x)               a causal convolution over the last steps, one kernel for each unit
i = sigmoid(W_i u)            input gate;  r = W_r u: where the recurrence gate is computed from
a = exp(-8 softplus(p) sigmoid(r))
m' = a * m + sqrt(1 - a^2) * (i * u)
y = W_out (gelu(W_y x) * m')

a and sqrt(1 - a^2) are functions of r, not of each other: a part of a may leave 0 to 1, where the root does not exist.
W_i and W_r act within heads. The last inputs of the convolution are states of their own, so that one step needs nothing
but its state. Rows of ``weight_ih``: W_x, W_y; ``weight_conv`` has its newest input last. RecurrentGemma lets the very
first step of a text in without the root; here, as in the paper, all steps are alike.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import gelu, softplus

from rote.cells.arithmetic import Arithmetic, V
from rote.cells.cell import Cell, Initialization, cells
from rote.cells.convolution import past_names, pushed
from rote.errors import UsageError

RATE = 8.0


def decay(value: Tensor, param: Tensor) -> Tensor:
    """a, of what the recurrence gate is computed from."""
    return torch.exp(-RATE * softplus(param) * torch.sigmoid(value))


def written_share(value: Tensor, param: Tensor) -> Tensor:
    """sqrt(1 - a^2), without cancellation."""
    return torch.sqrt(-torch.expm1(-2 * RATE * softplus(param) * torch.sigmoid(value)))


def gelu_by_tanh(value: Tensor) -> Tensor:
    return gelu(value, approximate="tanh")


@cells.register("rg_lru")
class RGLRUCell(Cell):
    """Recurrent block of Griffin and RecurrentGemma: a short convolution, a gated diagonal memory, a gated readout."""

    row_groups = (1, 1)
    gate_names = ("input", "forget", "scale")
    recurrent_matrix = False
    weight_conv: Tensor
    bias_conv: Tensor | None
    weight_input: Tensor
    bias_input: Tensor | None
    weight_recurrence: Tensor
    bias_recurrence: Tensor | None
    recurrent_param: Tensor
    weight_out: Tensor
    bias_out: Tensor | None

    def configure(self, width: int = 4, heads: int = 1) -> None:
        if width < 1:
            raise UsageError(f"'width' of the convolution must be at least 1. Got {width}.")
        if heads < 1 or self.hidden_size % heads:
            raise UsageError(f"'heads' must divide the {self.hidden_size} units. Got {heads}.")
        self.width, self.heads = width, heads
        self.state_names = ("hidden", "memory", *past_names(width))

    def shapes(self) -> dict[str, tuple[int, ...] | None]:
        units, biased = self.hidden_size, self.biases != "none"
        matrices: dict[str, tuple[int, ...] | None] = {
            "weight_conv": (units, self.width),
            **dict.fromkeys(("weight_input", "weight_recurrence"), (units, units // self.heads)),
            "weight_out": (units, units),
        }
        vectors = dict.fromkeys(
            ("bias_conv", "bias_input", "bias_recurrence", "bias_out"), (units,) if biased else None
        )
        return super().shapes() | matrices | vectors | {"recurrent_param": (units,)}

    def step(self, a: Arithmetic[V], projected: V, state: tuple[V, ...]) -> tuple[V, ...]:
        _, memory, *past = state
        x, gate = a.pieces(_plus(a, projected, self.bias_ih), [self.hidden_size] * 2)
        u = _plus(a, a.convolve(x, past, self.weight_conv), self.bias_conv)
        r = _plus(a, a.within_heads(u, self.weight_recurrence, self.heads), self.bias_recurrence)
        i = a.gate("input", a.sigmoid(_plus(a, a.within_heads(u, self.weight_input, self.heads), self.bias_input)))
        kept = a.gate("forget", a.apply(decay, r, self.recurrent_param))
        scale = a.gate("scale", a.apply(written_share, r, self.recurrent_param))
        memory = a.settle(a.product(kept, memory) + a.product(scale, a.product(i, u)))
        shown = a.product(a.apply(gelu_by_tanh, a.readout_gate(gate)), memory)
        hidden = a.settle(_plus(a, a.linear(shown, self.weight_out), self.bias_out))
        return hidden, memory, *pushed(x, past)

    def initialize(self, how: Initialization) -> None:
        """a^8 is drawn from 0.9 to 0.999 where the recurrence gate is open (section 2.4 of the paper)."""
        super().initialize(how)
        with torch.no_grad():
            kept = self.recurrent_param.uniform_(0.9, 0.999).log().neg() / RATE  # softplus of the parameter
            self.recurrent_param.copy_(kept.expm1().log())


def _plus(a: Arithmetic[V], value: V, bias: Tensor | None) -> V:
    return value if bias is None else value + a.constant(bias)
