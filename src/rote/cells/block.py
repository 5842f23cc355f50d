"""A whole layer around a cell, in the same arithmetic: what deep recurrent networks of today are stacks of.

x                                          the input of the layer; its hidden state is the sum that goes on to the next
n = norm(x)                                over the root mean square, or what is left without the mean; times weights
n = silu(conv(n))                          conv > 0: a causal convolution over the last steps, one kernel for each unit
y = mixer(n)                               any cell, with its own states
y = W_out (silu(W_gate norm(x)) * y)       gate=True; without it W_out is there only where the mixer has another size
h = x + y
h = h + W_down (f(W_up m)),  m = norm(h)   mlp > 0;  f(W_up m) * (W_side m) with sided=True (SwiGLU, GeGLU)

What a norm divides by is used whole by every rule of decomposition, so that each part is divided by the same. The last
inputs of the convolution and the states of the mixer are states of the block, under ``mixer_`` and their own names, as
are its weights. An input of another size than the layer's goes through ``weight_ih`` first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import torch
from torch import Tensor
from torch.nn import functional

from rote.cells.arithmetic import Arithmetic, Function, Plain, V
from rote.cells.cell import Cell, Initialization, cells
from rote.cells.over_time import ended, hidden_over_time
from rote.config import one_of
from rote.errors import UsageError

BENDS: dict[str, Function] = {"silu": functional.silu, "gelu": functional.gelu, "relu": torch.relu}
EPS = 1e-5


@cells.register("block")
class Block(Cell):
    """A layer around another cell: norm first, convolution, gate, residual sums and an MLP behind it."""

    row_groups = (1,)
    alone = True
    weight_conv: Tensor
    bias_conv: Tensor
    weight_gate: Tensor
    weight_out: Tensor
    weight_up: Tensor
    weight_side: Tensor
    weight_down: Tensor

    def configure(
        self,
        mixer: str = "s6",
        norm: Literal["rms", "layer"] = "rms",
        conv: int = 0,
        gate: bool = False,
        mlp: int = 0,
        bend: str = "silu",
        sided: bool = True,
        eps: float = EPS,
        size: int | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        """``mixer``: the cell, of ``size`` units (those of the layer unless given) and with these ``options``;
        ``conv``: width of the convolution; ``mlp``: units of the MLP, bent by ``bend``; 0 for none."""
        if min(conv, mlp) < 0 or not eps > 0:
            raise UsageError(f"'conv' and 'mlp' must be at least 0 and 'eps' above 0. Got {conv}, {mlp} and {eps}.")
        self.norm = one_of("norm", norm, ("rms", "layer"))
        self.bend = one_of("bend", bend, tuple(BENDS))
        self.mixer, self.conv, self.gated, self.mlp, self.sided, self.eps = mixer, conv, gate, mlp, sided, eps
        self.size, self.options = size or self.hidden_size, dict(options or {})
        inner = self._made(None)
        self.__dict__["_inner"] = inner.to("meta")  # no module of its own: its weights are those of the block
        self.outward = gate or inner.output_size != self.hidden_size
        self.gate_names, self.recurrent_matrix = inner.gate_names, inner.recurrent_matrix
        self.state_names = ("hidden", *map(_of_mixer, inner.state_names), *(f"past_{ago}" for ago in range(1, conv)))
        self.whole_states, self.taken_whole = tuple(map(_of_mixer, inner.whole_states)), inner.taken_whole
        self.start_values = {_of_mixer(name): value for name, value in inner.start_values.items()}

    def _made(self, initialization: Initialization | None) -> Cell:
        """A cell as this block's mixer is one, with weights of its own."""
        kind = cells[self.mixer]
        return kind(self.hidden_size, self.size, biases=self.biases, initialization=initialization, **self.options)

    @property
    def inner(self) -> Cell:
        """The mixer with its weights."""
        template: Cell = self.__dict__["_inner"]
        bound = object.__new__(type(template))
        weights = {name: getattr(self, _of_mixer(name)) for name in template.shapes()}
        bound.__dict__ = {**template.__dict__, **weights}
        return bound

    @property
    def state_sizes(self) -> tuple[int, ...]:
        return self.hidden_size, *self.__dict__["_inner"].state_sizes, *(self.hidden_size,) * (max(self.conv, 1) - 1)

    @property
    def direct_steps(self) -> int | None:
        """Those of the mixer, behind the convolution, and the step itself."""
        inner: int | None = self.__dict__["_inner"].direct_steps
        return None if inner is None else inner + max(self.conv, 1) - 1

    def shapes(self) -> dict[str, tuple[int, ...] | None]:
        template: Cell = self.__dict__["_inner"]
        units, given, biased = self.hidden_size, template.output_size, self.norm == "layer"
        made: dict[str, tuple[int, ...] | None] = {"norm_weight": (units,), **_if(biased, norm_bias=(units,))}
        made |= _if(self.input_size != units, weight_ih=(units, self.input_size))
        made |= {_of_mixer(name): shape for name, shape in template.shapes().items()}
        made |= _if(self.conv > 0, weight_conv=(units, self.conv), bias_conv=(units,))
        made |= _if(self.gated, weight_gate=(given, units)) | _if(self.outward, weight_out=(units, given))
        if self.mlp:
            made |= {"mlp_norm_weight": (units,), **_if(biased, mlp_norm_bias=(units,))}
            made |= {"weight_up": (self.mlp, units), "weight_down": (units, self.mlp)}
            made |= _if(self.sided, weight_side=(self.mlp, units))
        return made

    def step(self, a: Arithmetic[V], projected: V, state: tuple[V, ...]) -> tuple[V, ...]:
        inner, n = self.inner, self._normed(a, projected, "norm")
        count = len(inner.state_names)
        past = state[1 + count :]
        read = self._convolved(a, (n, *past)) if self.conv else n
        new = inner.step(a, inner.enter(a, read), state[1 : 1 + count])
        h = projected + self._shown(a, n, new[0])
        return a.settle(self._with_mlp(a, h)), *new, *(n, *past)[: max(self.conv, 1) - 1]

    def _normed(self, a: Arithmetic[V], value: V, name: str) -> V:
        found = a.scale(a.norm(value, self.hidden_size, self.eps, self.norm), getattr(self, f"{name}_weight"))
        return found + a.constant(getattr(self, f"{name}_bias")) if self.norm == "layer" else found

    def _convolved(self, a: Arithmetic[V], newest_first: tuple[V, ...]) -> V:
        total = a.constant(self.bias_conv)
        for ago, value in enumerate(newest_first, start=1):
            total = a.scale(value, self.weight_conv[..., -ago]) + total
        return a.silu(total)

    def _shown(self, a: Arithmetic[V], n: V, y: V) -> V:
        if self.gated:
            y = a.product(a.silu(a.readout_gate(a.linear(n, self.weight_gate))), y)
        return a.linear(y, self.weight_out) if self.outward else y

    def _with_mlp(self, a: Arithmetic[V], h: V) -> V:
        if not self.mlp:
            return h
        m = self._normed(a, h, "mlp_norm")
        bent = a.apply(BENDS[self.bend], a.linear(m, self.weight_up))
        if self.sided:
            bent = a.product(bent, a.linear(m, self.weight_side))
        return h + a.linear(bent, self.weight_down)

    def over_time(
        self, a: Plain, projected: Tensor, start: tuple[Tensor, ...], mask: Tensor | None
    ) -> tuple[Tensor, tuple[Tensor, ...]] | None:
        """Norms, gate and MLP act on each step by itself; where the mixer can, so can the block."""
        if type(self).step is not Block.step or self.conv > 1:
            return None
        *lead, time, _ = projected.shape
        inner, x = self.inner, projected.flatten(-3, -2)
        n = self._normed(a, x, "norm")
        read = inner.enter(a, self._convolved(a, (n,)) if self.conv else n).unflatten(-2, (lead[-1], time))
        found = hidden_over_time(inner, a, read, start[1:], mask)
        if found is None:
            return None
        y, ends = found
        hidden = self._with_mlp(a, x + self._shown(a, n, y.flatten(-3, -2))).unflatten(-2, (lead[-1], time))
        shown, (last,) = ended([hidden], mask, start[:1])
        return shown, (last, *ends)

    def initialize(self, how: Initialization) -> None:
        """Norms begin as they are; the mixer as such a cell does by itself."""
        super().initialize(how)
        with torch.no_grad():
            for name, weight in self._made(how).named_parameters():
                getattr(self, _of_mixer(name)).copy_(weight)
            for name, weight in self.named_parameters():
                if name.startswith(("norm_", "mlp_norm_")):
                    weight.fill_(float(name.endswith("_weight")))


def _of_mixer(name: str) -> str:
    return f"mixer_{name}"


def _if(wanted: bool, **shapes: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
    return shapes if wanted else {}
