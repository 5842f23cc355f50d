"""Causal softmax attention (Vaswani et al. 2017) over the last steps, with a memory of their keys and values.

q, k, v = W x                                  for each head
p_s = softmax over the last steps s of (q . k_s / sqrt(size) + b[age of s])
y = W_out (sum over s of p_s v_s)

The keys and values of the last ``longest`` steps are states, oldest first, and ``seen`` says which of them there are:
one step needs nothing but its state, as of any other cell. Positions are known by age alone (``weight_age``, a number
for each age and head), so that a text may be longer than what is seen of it. Probabilities are used whole by every rule
of decomposition, and with them the keys: the parts of y are the same mixture of the parts of all values. That is the
published choice for attention, and taken apart, q . k has cross terms that belong to no position.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from rote.cells.arithmetic import Arithmetic, Plain, V, repeated, summed, tiled
from rote.cells.cell import Cell, cells
from rote.cells.over_time import ended
from rote.errors import UsageError

if TYPE_CHECKING:
    from jaxtyping import Float


class Attending(Cell):
    """What every attention has over a number of steps: registers that move on, and a mixture of values."""

    gate_names = ("attention",)
    recurrent_matrix = False
    heads: int
    longest: int

    def _mixed(self, a: Arithmetic[V], scores: V, values: V, seen: V, size: int) -> V:
        """The values, ``size`` units for each step and head, in the proportions that their scores give."""
        every = tiled(self.longest)
        scores = scores + a.arrange(a.apply(unseen, seen), repeated(self.heads))
        shares = a.exp(scores - a.arrange(self._largest(a, scores), every))
        total = a.arrange(a.reciprocal(a.arrange(shares, every.transposed)), every)
        shares = a.gate("attention", a.product(total, shares))
        return a.arrange(a.product(a.arrange(shares, repeated(size)), values), every.transposed)

    def _moved(self, a: Arithmetic[V], register: V, newest: V, size: int) -> V:
        """Without its oldest step, and with the newest behind the others."""
        if self.longest == 1:
            return newest
        _, kept = a.pieces(register, [size, (self.longest - 1) * size])
        return a.join([kept, newest])

    def _largest(self, a: Arithmetic[V], scores: V) -> V:
        """Of each head: halves are compared with each other until one step is left."""
        count = self.longest
        while count > 1:
            half = count // 2
            first, second, *odd = a.pieces(scores, [half * self.heads] * 2 + [self.heads] * (count % 2))
            scores = a.maximum(first, second)
            if odd:
                rest = a.pieces(scores, [self.heads, (half - 1) * self.heads]) if half > 1 else (scores,)
                scores = a.join([a.maximum(rest[0], odd[0]), *rest[1:]])
            count = half
        return scores

    def _ended(
        self, hidden: Tensor, registers: tuple[Tensor, ...], start: tuple[Tensor, ...], mask: Tensor | None
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        shown, (last,) = ended([hidden], mask, start[:1])
        if mask is None:
            return shown, (last, *(register[..., -self.longest :, :].flatten(-2) for register in registers))
        places = mask.sum(-1)[..., None] + torch.arange(self.longest, device=mask.device)  # [*lead, batch, longest]
        chosen = [
            register.gather(-2, places[..., None].expand(*places.shape, register.shape[-1])) for register in registers
        ]
        return shown, (last, *(register.flatten(-2) for register in chosen))


@dataclass(frozen=True)
class Attended:
    """What each step finds by attention (``Readings``): a row of shares for each, which no other step has."""

    keys: Tensor  # [batch, time, unit], without the steps that the states hold; the same of values and queries
    values: Tensor
    queries: Tensor
    shares: Float[Tensor, "*lead head time place"]
    q: Float[Tensor, "*lead head time unit"]
    k: Float[Tensor, "*lead head place unit"]
    v: Float[Tensor, "*lead head place unit"]

    @property
    def given(self) -> list[Tensor | None]:
        return [self.keys, self.values]

    def gradients(self, own: Float[Tensor, "row batch unit"], first: int) -> tuple[list[Tensor], Tensor]:
        heads, asked = self.q.shape[1], slice(first, first + len(own))
        g, q, shares = own.unflatten(-1, (heads, -1)).permute(1, 2, 0, 3), self.q[:, :, asked], self.shares[:, :, asked]
        of_shares = g @ self.v.mT
        of_scores = shares * (of_shares - (shares * of_shares).sum(-1, keepdim=True)) / math.sqrt(q.shape[-1])
        time = self.keys.shape[1]
        pairs = ((of_scores, q), (shares, g))
        found = [
            part[..., -time:, None] * whole[..., None, :] for part, whole in pairs
        ]  # [batch, head, row, time, unit]
        of_queries = (of_scores @ self.k).permute(2, 0, 1, 3).flatten(-2)
        return [part.permute(2, 0, 3, 1, 4).flatten(-2) for part in found], of_queries


@cells.register("attention")
class AttentionCell(Attending):
    """Causal softmax attention over the last steps: their keys and values are its states."""

    row_groups = (1, 1, 1)
    state_names = ("hidden", "values", "keys", "seen")
    whole_states = ("keys", "seen")
    weight_age: Tensor
    weight_out: Tensor

    def configure(self, heads: int = 1, longest: int = 32) -> None:
        """``longest``: how many steps are seen, the present one among them."""
        if heads < 1 or self.hidden_size % heads or longest < 1:
            raise UsageError(
                f"'heads' must divide the {self.hidden_size} units, and 'longest' be at least 1. "
                f"Got {heads} and {longest}."
            )
        self.heads, self.longest = heads, longest

    @property
    def state_sizes(self) -> tuple[int, ...]:
        return self.hidden_size, self.longest * self.hidden_size, self.longest * self.hidden_size, self.longest

    @property
    def direct_steps(self) -> int:
        return 1

    def shapes(self) -> dict[str, tuple[int, ...] | None]:
        own = {"weight_age": (self.longest, self.heads), "weight_out": (self.hidden_size, self.hidden_size)}
        return super().shapes() | own

    def step(self, a: Arithmetic[V], projected: V, state: tuple[V, ...]) -> tuple[V, ...]:
        _, values, keys, seen = state
        units, heads, longest = self.hidden_size, self.heads, self.longest
        given = projected if self.bias_ih is None else projected + a.constant(self.bias_ih)
        q, k, v = a.pieces(given, [units] * 3)
        one = a.constant(torch.ones_like(self.weight_age[..., 0, :1]))
        values, keys = self._moved(a, values, v, units), self._moved(a, keys, a.whole(k), units)
        seen = self._moved(a, seen, a.whole(one), 1)
        size = units // heads
        scores = a.arrange(a.product(a.arrange(a.whole(q), tiled(longest)), keys), summed(size))
        scores = a.scale(scores, 1 / math.sqrt(size)) + a.constant(self.weight_age.flatten(-2))
        y = self._mixed(a, scores, values, seen, size)
        return a.settle(a.linear(y, self.weight_out)), values, keys, seen

    def over_time(
        self, a: Plain, projected: Tensor, start: tuple[Tensor, ...], mask: Tensor | None
    ) -> tuple[Tensor, tuple[Tensor, ...]] | None:
        """All steps at once, as transformers do it, behind the steps that the states hold."""
        if type(self).step is not AttentionCell.step:
            return None
        time, size = projected.shape[-2], self.hidden_size // self.heads
        given = projected if self.bias_ih is None else projected + a.constant(self.bias_ih[..., None, :])
        q, k, v = given.split(self.hidden_size, -1)
        values, keys, seen = (
            torch.cat([old.unflatten(-1, (self.longest, -1)), new], -2)
            for old, new in zip(start[1:], (v, k, torch.ones_like(v[..., :1])), strict=True)
        )  # [*lead, batch, longest + time, unit]
        age = torch.arange(self.longest + time, device=q.device) - torch.arange(1, time + 1, device=q.device)[:, None]
        inside = (age >= 0) & (age < self.longest)  # at each step the places of the states behind it
        newest = (k, v, q)
        q, k, v = (part.unflatten(-1, (self.heads, size)).transpose(-2, -3) for part in (q, keys, values))
        ages = self.weight_age[..., age.clamp(0, self.longest - 1), :].movedim(-1, -3)  # [*replica, head, time, place]
        scores = q @ k.mT / math.sqrt(size) + (ages if ages.dim() == 3 else ages[:, None])
        scores = scores + unseen(seen).mT[..., None, :, :]
        shares = scores.masked_fill(~inside, -torch.inf).softmax(-1)
        y = a.reading((shares @ v).transpose(-2, -3).flatten(-2), Attended(*newest, shares, q, k, v))
        hidden = a.linear(y.flatten(-3, -2), self.weight_out)
        return self._ended(hidden.view_as(projected[..., : self.hidden_size]), (values, keys, seen), start, mask)


def unseen(seen: Tensor) -> Tensor:
    """What is added to the score of a step before the first one."""
    return torch.finfo(seen.dtype).min / 4 * (1 - seen)
