"""Carrying parts of the state through layers, directions and time, for many spans at once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from rote.analyses.both_parts import BothParts, Parted
from rote.analyses.branches import Branches, branch, separate
from rote.analyses.inputs import Inputs
from rote.analyses.spans import BiasRule, bias_positions
from rote.analyses.splitting import Chosen, Relevant, Rules, Split, part_of
from rote.cells import Recurrent, State

if TYPE_CHECKING:
    from jaxtyping import Bool, Float

# Pairs of a sequence and a span that are computed at once: enough to keep the matrix products busy, few enough for
# the processor's cache.
ROWS = 512


@dataclass(frozen=True)
class Question:
    """What is asked of a model: the part of its states that comes from each span."""

    recurrent: Recurrent
    inputs: Inputs
    inside: Bool[Tensor, "batch span time"]  # the positions of each span; one row if all sequences have the same
    bias_rule: BiasRule
    rules: Rules
    initial: list[State]
    marked: bool  # the initial states are relevant

    @cached_property
    def bias(self) -> Bool[Tensor, "batch span time"]:
        """Where products of biases count as the span's."""
        inside = self.inside
        if self.bias_rule == "exclusive_end" and self.inputs.lengths is not None:
            inside = inside & self.inputs.mask[:, None]  # a span that reaches beyond its row ends with the row
        return bias_positions(inside, self.bias_rule)

    @property
    def spans(self) -> int:
        return self.inside.shape[1]

    def block(self, rows: slice, spans: slice = slice(None)) -> Question:
        """The same question about some sequences and spans."""
        return replace(
            self,
            inputs=self.inputs.rows(rows),
            inside=(self.inside if len(self.inside) == 1 else self.inside[rows])[:, spans],
            initial=[tuple(value[rows] for value in state) for state in self.initial],
        )

    def times(self, direction: int) -> range:
        return range(self.inputs.time) if direction == 0 else range(self.inputs.time - 1, -1, -1)

    def state(self, layer: int, direction: int) -> State:
        return self.initial[layer * self.recurrent.directions + direction]


@torch.no_grad()
def relevant_states(
    question: Question,
) -> tuple[Float[Tensor, "batch time unit"], Float[Tensor, "batch span time unit"]]:
    """The true states of the top layer and the relevant part of them for every span."""
    inputs, size = question.inputs, question.recurrent.output_size
    hidden = inputs.vectors.new_empty(inputs.batch, inputs.time, size)
    relevant = inputs.vectors.new_empty(inputs.batch, question.spans, inputs.time, size)
    block = max(1, ROWS // max(1, question.spans))
    for first in range(0, inputs.batch, block):
        rows = slice(first, first + block)
        _relevant_block(question.block(rows), hidden[rows], relevant[rows])
    return hidden, relevant


def _relevant_block(question: Question, hidden: Tensor, relevant: Tensor) -> None:
    """Fill ``hidden`` [batch, time, unit] and ``relevant`` [batch, span, time, unit]."""
    recurrent, dtype = question.recurrent, hidden.dtype
    directions = range(recurrent.directions)
    masks, marked = (question.inside, question.bias), question.marked
    plans = [branch(*masks, question.times(d), dtype, marked) for d in directions]
    total: Tensor = question.inputs.vectors
    below: dict[int, Tensor] | None = None
    for layer in range(recurrent.layers):
        last = layer == recurrent.layers - 1
        sides = relevant.chunk(recurrent.directions, dim=-1) if last or recurrent.directions == 2 else [None]
        tops = [_relevant_layer(question, layer, d, plans[d], total, below, sides[d]) for d in directions]
        total, below = torch.cat([states for states, _ in tops], dim=-1), tops[0][1]
        if recurrent.directions == 2 and not last:
            # The layer above sees both directions, in which no two spans agree: each goes its own way.
            below = dict(enumerate(relevant.clone().unbind(2)))
            plans = [separate(*masks, question.times(d), dtype, marked) for d in directions]
    hidden.copy_(total)


def _relevant_layer(
    question: Question,
    layer: int,
    direction: int,
    plan: dict[int, Branches],
    total: Tensor,
    below: dict[int, Tensor] | None,  # the relevant part of ``total`` by step; None at the bottom
    result: Tensor | None,  # [batch, span, time, unit]: where the relevant parts go; None to get them by step
) -> tuple[Tensor, dict[int, Tensor]]:
    """The true states [batch, time, unit] and, by step, the relevant parts [batch, branch, unit]."""
    inputs, a = question.inputs, Relevant(question.rules)
    cell = question.recurrent.cell(layer, direction)
    projected = cell.project(total)[:, :, None]
    hidden = total.new_empty(inputs.batch, inputs.time, cell.hidden_size)
    series: dict[int, Tensor] = {}
    whole = [value[:, None] for value in question.state(layer, direction)]
    parts = [value if question.marked else value[:, :0] for value in whole]
    for t, branches in plan.items():
        begun = [branches.grow(part) for part in parts]
        a.bias_counts = branches.bias
        if below is not None:
            own: Tensor | Chosen | float = cell.project(below[t])
        else:
            own = 0.0 if branches.inside is None else Chosen(branches.inside, projected[:, t])
        new = cell.step(a, Split(projected[:, t], own), tuple(map(Split, whole, begun)))
        keep = None if inputs.lengths is None else inputs.mask[:, t, None, None]
        whole = [_held(value.total, old, keep) for value, old in zip(new, whole, strict=True)]
        parts = [_held(_settled(a, value, old), old, keep) for value, old in zip(new, begun, strict=True)]
        hidden[:, t] = (whole[0] if keep is None else whole[0] * keep)[:, 0]
        shown = parts[0] if keep is None else parts[0] * keep
        if result is None:
            series[t] = shown
        else:
            branches.write(shown, result[:, :, t])
    return hidden, series


def _settled(a: Relevant, value: Split, like: Tensor) -> Tensor:
    """A state never keeps a part made by biases alone, also if the cell forgot to settle it."""
    part = part_of(a.settle(value))
    return part.expand_as(like) if isinstance(part, Tensor) else torch.full_like(like, part)


def _held(new: Tensor, old: Tensor, keep: Tensor | None) -> Tensor:
    """A row that has ended, or backward in time not begun, keeps its state."""
    return new if keep is None else torch.where(keep, new, old)


@torch.no_grad()
def measured_error(question: Question, hidden: Tensor, relevant: Tensor) -> Float[Tensor, "batch span"]:
    """The largest ||relevant + irrelevant - state|| over all steps, over the largest ||state||.

    The irrelevant part comes from a recursion of its own that does not know the true state. For a state that is zero
    throughout (a dead ReLU) the error is absolute.
    """
    scale = hidden.norm(dim=-1).amax(-1)[:, None]
    scale = torch.where(scale > 0, scale, 1)
    errors = hidden.new_zeros(relevant.shape[:2])
    spans = min(max(1, question.spans), ROWS)
    for row in range(0, len(hidden), block := max(1, ROWS // spans)):
        for span in range(0, question.spans, spans):
            rows, chosen = slice(row, row + block), slice(span, span + spans)
            irrelevant = _both_parts(question.block(rows, chosen)).irrelevant
            difference = relevant[rows, chosen] + irrelevant - hidden[rows, None]
            errors[rows, chosen] = difference.norm(dim=-1).amax(-1) / scale[rows]
    return errors


def _both_parts(question: Question) -> Parted:
    recurrent, vectors = question.recurrent, question.inputs.vectors[:, None]
    inside = question.inside.to(vectors.dtype)[..., None]
    below = Parted(inside * vectors, (1 - inside) * vectors, vectors.new_zeros(()))
    for layer in range(recurrent.layers):
        outputs = [_both_layer(question, layer, direction, below) for direction in range(recurrent.directions)]
        parts = [torch.cat(part, dim=-1) for part in zip(*outputs, strict=True)]
        below = Parted(parts[0], parts[1], below.bias)
    return below


def _both_layer(question: Question, layer: int, direction: int, below: Parted) -> tuple[Tensor, Tensor]:
    inputs, cell, a = question.inputs, question.recurrent.cell(layer, direction), BothParts(question.rules)
    bias = question.bias.to(below.relevant.dtype)[..., None]
    shape = (inputs.batch, question.spans, cell.hidden_size)
    none = below.relevant.new_zeros(shape)
    given = [value[:, None].expand(shape) for value in question.state(layer, direction)]
    current = [Parted(value, none, none) if question.marked else Parted(none, value, none) for value in given]
    series: dict[int, tuple[Tensor, Tensor]] = {}
    for t in question.times(direction):
        a.bias_counts = bias[:, :, t]
        relevant, irrelevant = cell.project(below.relevant[:, :, t]), cell.project(below.irrelevant[:, :, t])
        now = Parted(relevant, irrelevant, torch.zeros_like(relevant))
        new = [a.settle(value) for value in cell.step(a, now, tuple(current))]
        keep = None if inputs.lengths is None else inputs.mask[:, t, None, None]
        current = [
            Parted(_held(value.relevant, old.relevant, keep), _held(value.irrelevant, old.irrelevant, keep), none)
            for value, old in zip(new, current, strict=True)
        ]
        shown = (current[0].relevant, current[0].irrelevant)
        series[t] = shown if keep is None else (shown[0] * keep, shown[1] * keep)
    ordered = [series[t] for t in range(inputs.time)]
    return torch.stack([part for part, _ in ordered], dim=2), torch.stack([part for _, part in ordered], dim=2)
