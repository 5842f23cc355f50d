"""Carrying parts of the state through layers, directions and time, for many spans at once.

Spans are ordered by their first position: before it the relevant part is exactly zero, so that at step t only the
spans that have begun are computed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from rote.analyses.both_parts import BothParts, Parted
from rote.analyses.inputs import Inputs
from rote.analyses.spans import BiasRule, bias_positions
from rote.analyses.splitting import Relevant, Rules, Split
from rote.cells import Cell, Recurrent, State

if TYPE_CHECKING:
    from jaxtyping import Bool, Float

ERROR_CHUNK = 128  # spans whose error is measured at once


@dataclass(frozen=True)
class Positions:
    """The positions of each span, [batch or 1, span, time], and the rule for products of biases."""

    inside: Bool[Tensor, "batch span time"]
    rule: BiasRule

    @cached_property
    def bias(self) -> Tensor:
        return bias_positions(self.inside, self.rule)

    @property
    def count(self) -> int:
        return self.inside.shape[1]

    def begin(self) -> list[int]:
        """The first position of each span in any sequence; the sequence's length for a span without positions."""
        any_row = self.inside.any(0)
        first = torch.where(any_row.any(-1), any_row.int().argmax(-1), self.inside.shape[2])
        return [int(position) for position in first]

    def select(self, index: Tensor | slice) -> Positions:
        return Positions(self.inside[:, index], self.rule)


@torch.no_grad()
def relevant_states(
    recurrent: Recurrent, inputs: Inputs, positions: Positions, rules: Rules, initial: list[State], marked: bool
) -> tuple[Float[Tensor, "batch time unit"], Float[Tensor, "batch span time unit"]]:
    """The true states of the top layer and the relevant part of them for every span."""
    begin = torch.tensor([0] * positions.count if marked else positions.begin())
    order = begin.argsort(stable=True)
    chosen = positions.select(order.to(positions.inside.device))
    counts = [int((begin <= t).sum()) for t in range(inputs.time)]
    total, relevant = inputs.vectors, None
    for layer in range(recurrent.layers):
        outputs = []
        for direction in range(recurrent.directions):
            cell = recurrent.cell(layer, direction)
            state = initial[layer * recurrent.directions + direction]
            # Backward in time the spans begin in another order: there all of them are computed at each step.
            active = counts if direction == 0 and recurrent.directions == 1 else [positions.count] * inputs.time
            outputs.append(
                _relevant_layer(cell, total, relevant, inputs, chosen, rules, state, marked, active, direction)
            )
        total = torch.cat([hidden for hidden, _ in outputs], dim=-1)
        relevant = torch.cat([part for _, part in outputs], dim=-1) if len(outputs) > 1 else outputs[0][1]
    assert relevant is not None
    return total, relevant[:, order.argsort().to(relevant.device)]


def _relevant_layer(
    cell: Cell,
    total: Tensor,
    relevant: Tensor | None,  # None at the bottom, where it is the input at the span's positions
    inputs: Inputs,
    positions: Positions,
    rules: Rules,
    state: State,
    marked: bool,
    active: list[int],
    direction: int,
) -> tuple[Tensor, Tensor]:
    batch, spans, size = inputs.batch, positions.count, cell.hidden_size
    projected, dtype = cell.project(total), total.dtype
    inside, bias = positions.inside.to(dtype)[..., None], positions.bias.to(dtype)[..., None]
    hidden = total.new_zeros(batch, inputs.time, size)
    part = total.new_zeros(batch, spans, inputs.time, size)
    a = Relevant(rules)
    whole = [value[:, None] for value in state]
    parts = [value[:, None].expand(-1, spans, -1) if marked else total.new_zeros(batch, 0, size) for value in state]
    for t in _times(inputs.time, direction):
        n = active[t]
        begun = [
            torch.cat([old, old.new_zeros(batch, n - old.shape[1], size)], 1) if n > old.shape[1] else old
            for old in parts
        ]
        now = projected[:, t, None]
        own = inside[:, :n, t] * now if relevant is None else cell.project(relevant[:, :n, t])
        a.bias_counts = bias[:, :n, t]
        new = cell.step(a, Split(now, own), tuple(map(Split, whole, begun)))
        keep = None if inputs.lengths is None else inputs.mask[:, t, None, None]
        whole = [_held(value.total, old, keep) for value, old in zip(new, whole, strict=True)]
        parts = [_held(_as_part(value, n), old, keep) for value, old in zip(new, begun, strict=True)]
        hidden[:, t] = (whole[0] if keep is None else whole[0] * keep)[:, 0]
        part[:, :n, t] = parts[0] if keep is None else parts[0] * keep
    return hidden, part


def _as_part(value: Split, n: int) -> Tensor:
    assert value.relevant is not None
    if isinstance(value.relevant, Tensor):
        return value.relevant.expand(-1, n, -1)
    return torch.full_like(value.total, value.relevant).expand(-1, n, -1)


def _held(new: Tensor, old: Tensor, keep: Tensor | None) -> Tensor:
    """A row that has ended, or backward in time not begun, keeps its state."""
    return new if keep is None else torch.where(keep, new, old)


def _times(time: int, direction: int) -> Iterator[int]:
    return iter(range(time)) if direction == 0 else iter(reversed(range(time)))


@torch.no_grad()
def measured_error(
    recurrent: Recurrent,
    inputs: Inputs,
    positions: Positions,
    rules: Rules,
    initial: list[State],
    marked: bool,
    hidden: Tensor,
) -> Float[Tensor, "batch span"]:
    """max over steps of ||relevant + irrelevant - state||, over the largest ||state||; each part from its recursion."""
    scale = hidden.norm(dim=-1).amax(-1).clamp(min=torch.finfo(hidden.dtype).tiny)[:, None]
    errors = []
    for first in range(0, positions.count, ERROR_CHUNK):
        chosen = positions.select(slice(first, first + ERROR_CHUNK))
        parted = _both_parts(recurrent, inputs, chosen, rules, initial, marked)
        difference = parted.total - hidden[:, None]
        errors.append(difference.norm(dim=-1).amax(-1) / scale)
    return torch.cat(errors, dim=1) if errors else hidden.new_zeros(inputs.batch, 0)


def _both_parts(
    recurrent: Recurrent, inputs: Inputs, positions: Positions, rules: Rules, initial: list[State], marked: bool
) -> Parted:
    inside = positions.inside.to(inputs.vectors.dtype)[..., None]
    below = Parted(inside * inputs.vectors[:, None], (1 - inside) * inputs.vectors[:, None], torch.zeros(()).to(inside))
    for layer in range(recurrent.layers):
        outputs = []
        for direction in range(recurrent.directions):
            state = initial[layer * recurrent.directions + direction]
            outputs.append(
                _both_layer(recurrent.cell(layer, direction), below, inputs, positions, rules, state, marked, direction)
            )
        below = Parted(
            torch.cat([output.relevant for output in outputs], dim=-1),
            torch.cat([output.irrelevant for output in outputs], dim=-1),
            below.bias,
        )
    return below


def _both_layer(
    cell: Cell,
    below: Parted,
    inputs: Inputs,
    positions: Positions,
    rules: Rules,
    state: State,
    marked: bool,
    direction: int,
) -> Parted:
    a, bias = BothParts(rules), positions.bias.to(below.relevant.dtype)[..., None]
    shape = (inputs.batch, positions.count, cell.hidden_size)
    none = below.relevant.new_zeros(shape)
    given = [value[:, None].expand(shape) for value in state]
    current: tuple[Any, ...] = tuple(
        Parted(value, none, none) if marked else Parted(none, value, none) for value in given
    )
    series: dict[int, Parted] = {}
    for t in _times(inputs.time, direction):
        a.bias_counts = bias[:, :, t]
        relevant, irrelevant = cell.project(below.relevant[:, :, t]), cell.project(below.irrelevant[:, :, t])
        now = Parted(relevant, irrelevant, torch.zeros_like(relevant))
        new = cell.step(a, now, current)
        if inputs.lengths is None:
            current, series[t] = new, new[0]
        else:
            keep = inputs.mask[:, t, None, None]
            current = tuple(
                Parted(torch.where(keep, n.relevant, o.relevant), torch.where(keep, n.irrelevant, o.irrelevant), none)
                for n, o in zip(new, current, strict=True)
            )
            series[t] = Parted(current[0].relevant * keep, current[0].irrelevant * keep, none)
    ordered = [series[t] for t in range(inputs.time)]
    return Parted(
        torch.stack([value.relevant for value in ordered], dim=2),
        torch.stack([value.irrelevant for value in ordered], dim=2),
        below.bias,
    )
