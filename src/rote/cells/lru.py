"""Linear recurrent unit (Orvieto et al. 2023, "Resurrecting Recurrent Neural Networks for Long Sequences").

A diagonal complex recurrence and a readout of it, nothing of which depends on the input:

s' = lambda * s + gamma * (B x),  y = Re(C s') + D x,  lambda = exp(-exp(nu) + i exp(theta))

In real numbers s is two states. y is what the layer gives and stands first among the states, though the next step does
not use it. Rows of ``weight_ih``: Re B, Im B, D. The matrices C are ``weight_re`` and ``weight_im``.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from rote.cells.arithmetic import Arithmetic, V
from rote.cells.cell import Cell, Initialization, cells
from rote.errors import UsageError


@cells.register("lru")
class LRUCell(Cell):
    """Linear recurrent unit: each unit turns and shrinks at a rate of its own; no gates, no recurrent matrix."""

    row_groups = (1, 1, 1)
    gate_names = ()
    state_names = ("hidden", "real", "imaginary")
    recurrent_matrix = False
    nu_log: Tensor
    theta_log: Tensor
    gamma_log: Tensor
    weight_re: Tensor
    weight_im: Tensor

    def configure(self, r_min: float = 0.0, r_max: float = 1.0, max_phase: float = 2 * math.pi) -> None:
        """|lambda| starts in r_min to r_max, its angle in 0 to max_phase."""
        if not 0 <= r_min < r_max <= 1 or not max_phase > 0:
            raise UsageError(
                "'r_min' and 'r_max' must lie in 0 to 1 in this order, and 'max_phase' above 0. "
                f"Got {r_min}, {r_max} and {max_phase}."
            )
        self.r_min, self.r_max, self.max_phase = r_min, r_max, max_phase

    def shapes(self) -> dict[str, tuple[int, ...] | None]:
        units = self.hidden_size
        return {
            "weight_ih": (self.rows, self.input_size),
            **dict.fromkeys(("weight_re", "weight_im"), (units, units)),
            **dict.fromkeys(("nu_log", "theta_log", "gamma_log"), (units,)),
        }

    def step(self, a: Arithmetic[V], projected: V, state: tuple[V, ...]) -> tuple[V, ...]:
        _, re, im = state
        modulus, angle, gamma = torch.exp(-self.nu_log.exp()), self.theta_log.exp(), self.gamma_log.exp()
        cos, sin = modulus * angle.cos(), modulus * angle.sin()
        x_re, x_im, straight = a.pieces(projected, [self.hidden_size] * 3)
        turned_re, turned_im = a.scale(re, cos) - a.scale(im, sin), a.scale(re, sin) + a.scale(im, cos)
        re, im = a.settle(turned_re + a.scale(x_re, gamma)), a.settle(turned_im + a.scale(x_im, gamma))
        y = a.linear(re, self.weight_re) - a.linear(im, self.weight_im) + straight
        return a.settle(y), re, im

    def initialize(self, how: Initialization) -> None:
        """lambda is drawn from a ring, and gamma such that all units begin with states of one size (section 3.4)."""
        super().initialize(how)
        with torch.no_grad():
            squared = self.nu_log.uniform_(max(self.r_min, 1e-3) ** 2, min(self.r_max, 1 - 1e-6) ** 2).clone()
            self.gamma_log.copy_((1 - squared).log() / 2)
            self.nu_log.copy_((-squared.log() / 2).log())
            self.theta_log.uniform_(1e-3, self.max_phase).log_()
