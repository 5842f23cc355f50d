"""Carrying parts of the state through layers, directions and time, for many spans at once.

Of the two parts of a state the smaller one is carried, per sequence and span, and the other is what remains of the true
state. Where a decomposition is unstable, rounding in a part that is nearly everything would grow on the part that is
nearly nothing; carried itself, the small part keeps its relative precision (``splitting``), and a part that is zero
stays zero: the irrelevant one of a full span as well as the relevant one before its span.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from rote.analyses.shared_spans import Branches, branch, separate
from rote.analyses.span_question import Question, States
from rote.analyses.splitting import Carried, Chosen, Split, part_of
from rote.cells import Cell
from rote.cells.arithmetic import Plain

if TYPE_CHECKING:
    from jaxtyping import Float

# Pairs of a sequence and a span that are computed at once: enough that the products take longer than the calls of
# them, few enough for the processor's cache.
ROWS = 1024
EVERY = 4  # steps after which the parts are measured again


@dataclass
class Below:
    """The carried part of a layer's output at one step, as the layer above takes it."""

    part: Tensor  # [batch, branch, unit]
    rest: Tensor  # [batch, branch, 1]: 1 where the part is the irrelevant one, else 0
    whole: Tensor  # [batch, 1, unit]: the sum of both parts
    reference: Tensor | None  # [batch or 1, 1, unit]: what comes from no input; None where that has been shared out

    def as_part(self, rest: Tensor) -> Tensor:
        """The irrelevant part where ``rest`` is 1, else the relevant one."""
        other = rest != self.rest
        return torch.where(other, self.whole - self.part, self.part) if bool(other.any()) else self.part


@torch.no_grad()
def decomposed_states(question: Question) -> States:
    """The true states of the top layer and the relevant part of them for every span."""
    inputs, recurrent = question.inputs, question.recurrent
    shape, new = (len(question.steps), recurrent.output_size), inputs.vectors.new_empty
    hidden, growth = new(inputs.batch, *shape), new(inputs.batch, question.spans)
    relevant = new(inputs.batch, question.spans, *shape)
    reference = new(inputs.batch, *shape) if question.rules.reference else None
    block = max(1, ROWS // max(1, question.spans))
    for first in range(0, inputs.batch, block):
        rows = slice(first, first + block)
        own = States(hidden[rows], relevant[rows], None if reference is None else reference[rows], growth[rows])
        _decompose_block(question.block(rows), own)
    return States(hidden, relevant, reference, growth)


def _decompose_block(question: Question, result: States) -> None:
    """Fill ``result``."""
    recurrent, dtype = question.recurrent, result.hidden.dtype
    directions = range(recurrent.directions)
    masks, marked = (question.inside, question.bias), question.marked
    plans = [branch(*masks, question.times(d), dtype, marked) for d in directions]
    total: Tensor = question.inputs.vectors
    below: list[dict[int, Below]] = []
    result.growth.zero_()
    for layer in range(recurrent.layers):
        last = layer == recurrent.layers - 1
        runs = [_Layer(question, layer, d, plans[d]) for d in directions]
        sides = result.relevant.chunk(recurrent.directions, dim=-1)
        for run, side in zip(runs, sides, strict=True):
            run.go(total, below, side if last else None)
            torch.maximum(result.growth, run.growth(), out=result.growth)
        total = torch.cat([run.hidden for run in runs], dim=-1)
        below = [run.series for run in runs]
        if recurrent.directions == 2 and not last:
            # The layer above sees both directions, in which no two spans agree: each goes its own way.
            below = [run.by_span() for run in runs]
            plans = [separate(*masks, question.times(d), dtype, marked) for d in directions]
    result.hidden.copy_(total[:, question.steps])
    if result.reference is not None:
        tops = [run.output_reference for run in runs]
        found = torch.cat([top.expand(len(total), -1, -1) for top in tops if top is not None], dim=-1)
        result.reference.copy_((found * question.inputs.mask[..., None])[:, question.steps])


@dataclass
class _Layer:
    """One direction of one layer, walked through step by step."""

    question: Question
    layer: int
    direction: int
    plan: dict[int, Branches]
    series: dict[int, Below] = field(default_factory=dict)

    def __post_init__(self) -> None:
        question, inputs = self.question, self.question.inputs
        self.cell: Cell = question.recurrent.cell(self.layer, self.direction)
        self.states = [value[:, None] for value in question.state(self.layer, self.direction)]
        self.apart = [k for k, name in enumerate(self.cell.state_names) if name not in self.cell.whole_states]
        self.parts = [torch.zeros_like(value) if question.marked else value[:, :0] for value in self.whole]
        # By branch: 1 where the irrelevant part is carried; for each state the squared norm of its largest part so far.
        self.figures = self.whole[0].new_zeros(inputs.batch, int(question.marked), 1 + len(self.whole))
        self.figures[..., 0] = 1
        self.flipped = question.marked  # some irrelevant part is carried
        self.reference = question.reference(self.layer, self.direction, self.whole[0].dtype)
        has_reference = question.rules.reference
        self.references = [torch.zeros_like(value[:, :1]) for value in self.whole] if has_reference else None
        self.hidden = self.whole[0].new_zeros(inputs.batch, inputs.time, self.whole[0].shape[-1])
        self.output_reference = torch.zeros_like(self.hidden) if question.carries_bias else None
        if self.reference is not None:
            self.output_reference = self.reference[0]
        self.scale = self.whole[0].new_zeros(inputs.batch, 1, len(self.whole))  # squared norms of the largest states
        self._choose(None)

    def go(self, total: Tensor, below: list[dict[int, Below]], result: Tensor | None) -> None:
        """``total``: the layer's input [batch, time, row]; ``below``: its parts by direction and step, none at the
        bottom; ``result``: where the relevant parts go, [batch, span, step, unit], or None to keep them by step."""
        inputs, a, cell = self.question.inputs, Carried(self.question.rules), self.cell
        projected = cell.project(total)[:, :, None]
        places = {step: place for place, step in enumerate(self.question.steps.tolist())}
        for number, (t, branches) in enumerate(self.plan.items()):
            keep = None if inputs.lengths is None else inputs.mask[:, t, None, None]
            self.parts = [branches.grow(part) for part in self.parts]
            self.figures = branches.grow(self.figures)
            carried: list[Tensor] | None = None
            if self.figures.shape[1] or self.question.carries_bias:
                own = self._input(a, branches, projected[:, t], [side[t] for side in below])
                begun: list[Tensor] = self.parts
                new = cell.step(a, own, self._split())
                mine = [new[k] for k in self.apart]
                self.parts = [_held(_settled(a, value, old), old, keep) for value, old in zip(mine, begun, strict=True)]
                totals = [value.total for value in new]
                if self.question.carries_bias:
                    carried = [_tensor(value.bias, value.total) for value in mine]
            else:  # no span has begun
                totals = list(cell.step(Plain(), projected[:, t], tuple(self.states)))
            self.states = [_held(value, old, keep) for value, old in zip(totals, self.states, strict=True)]
            self._refer(t, carried, keep)
            if self.starting or number % EVERY == 0 or number == inputs.time - 1:
                self._choose(keep)
            self.hidden[:, t] = (self.whole[0] if keep is None else self.whole[0] * keep)[:, 0]
            if result is None:
                self.series[t] = self._shown(t, keep)
            elif t in places:
                shown = self._shown(t, keep)
                part = shown.as_part(0 * shown.rest) if self.flipped else shown.part
                branches.write(part, result[:, :, places[t]])

    @property
    def whole(self) -> list[Tensor]:
        """The states that are taken apart, each as it is."""
        return [self.states[k] for k in self.apart]

    def _split(self) -> tuple[Split, ...]:
        """The state before a step, in parts."""
        found = [Split(value, None) for value in self.states]
        biases: Sequence[Tensor | float] = self.references or [0.0] * len(self.parts)
        for k, part, bias in zip(self.apart, self.parts, biases, strict=True):
            found[k] = Split(self.states[k], part, bias)
        return tuple(found)

    def _refer(self, t: int, carried: list[Tensor] | None, keep: Tensor | None) -> None:
        """What comes from no input, behind the step: as the reference run has it, or as it was carried along."""
        if self.references is None:
            return
        now = [value[:, t, None] for value in self.reference] if self.reference is not None else carried
        assert now is not None
        self.references = [_held(value, old, keep) for value, old in zip(now, self.references, strict=True)]
        if carried is not None and self.output_reference is not None:
            self.output_reference[:, t] = self.references[0][:, 0]

    def _input(self, a: Carried, branches: Branches, projected: Tensor, below: list[Below]) -> Split:
        """The input in parts."""
        if self.starting:
            self._begin(branches, below)
        a.rest, a.settled = (self.rest if self.flipped else None), branches.bias
        if a.rest is not None and not self.question.rules.reference:
            a.settled = a.rest if branches.bias is None else (a.rest - branches.bias).abs()
        if not below:
            chosen = branches.inside
            if a.rest is not None:
                chosen = a.rest if chosen is None else (a.rest - chosen).abs()
            return Split(projected, 0.0 if chosen is None else Chosen(chosen, projected))
        parts = torch.cat([side.as_part(self.rest) for side in below], dim=-1)
        under = [side.reference for side in below if side.reference is not None]
        if not under:
            return Split(projected, self.cell.project(parts))
        return Split(projected, self.cell.project(parts), self.cell.project(torch.cat(under, dim=-1)))

    def _begin(self, branches: Branches, below: list[Below]) -> None:
        """Where both parts are still zero, carry the one that gets nothing from this step's input either."""
        if below:
            ahead = below[0].rest if len(below) == 1 else below[0].rest * below[1].rest
        else:
            ahead = 0 * self.rest[:1] if branches.inside is None else branches.inside
        nothing = torch.stack([(part == 0).all(-1) for part in self.parts]).all(0) & self.zero
        self._carry(torch.where(nothing[..., None], ahead, self.rest))

    @property
    def rest(self) -> Tensor:
        return self.figures[..., :1]

    def _carry(self, rest: Tensor) -> None:
        self.figures = torch.cat([rest, self.figures[..., 1:]], dim=-1)
        self.flipped = bool(rest.any())

    def _sums(self) -> list[Tensor]:
        """The sum of both parts of each state: the state, less its reference."""
        if self.references is None:
            return self.whole
        return [value - reference for value, reference in zip(self.whole, self.references, strict=True)]

    def _choose(self, keep: Tensor | None) -> None:
        """Measure both parts of every state, and carry the smaller one from here."""
        sums = self._sums()
        everything = torch.cat([_square(value) for value in sums], dim=-1)  # [batch, 1, state]
        states = everything if self.references is None else torch.cat([_square(value) for value in self.whole], dim=-1)
        self.scale = torch.maximum(self.scale, torch.maximum(states, everything))
        self.zero = (everything == 0).all(-1)  # [batch, 1]
        self.starting = bool(self.zero.any())
        own = torch.cat([_square(part) for part in self.parts], dim=-1)
        cross = torch.cat([part @ value.mT for part, value in zip(self.parts, sums, strict=True)], dim=-1)
        other = torch.sub(everything + own, cross, alpha=2).clamp_(min=0)
        both = torch.maximum(own, other)
        largest = torch.maximum(self.figures[..., 1:], both if keep is None else both * keep)
        self.figures = torch.cat([self.rest, largest], dim=-1)
        # Not at once, so that parts of about the same size stay as they are.
        swap = own.sum(-1, keepdim=True) > 4 * other.sum(-1, keepdim=True)
        if bool(swap.any()):
            self.parts = [torch.where(swap, all_ - part, part) for all_, part in zip(sums, self.parts, strict=True)]
            self._carry(torch.where(swap, 1 - self.rest, self.rest))

    def _shown(self, t: int, keep: Tensor | None) -> Below:
        part, sums = self.parts[0], self._sums()[0]
        if keep is not None:
            part, sums = part * keep, sums * keep
        reference = None if self.output_reference is None else self.output_reference[:, t, None]
        return Below(part, self.rest, sums, reference)

    def by_span(self) -> dict[int, Below]:
        """``series`` with a part for every span."""
        made: dict[int, Below] = {}
        for t, branches in self.plan.items():
            shown = self.series[t]
            shape = (len(shown.part), self.question.spans)
            part, rest = shown.part.new_empty(*shape, shown.part.shape[-1]), shown.rest.new_empty(*shape, 1)
            branches.write(shown.part, part)
            branches.write(shown.rest, rest)
            made[t] = Below(part, rest, shown.whole, shown.reference)
        return made

    def growth(self) -> Float[Tensor, "batch span"]:
        """The largest part of a state over the largest such state; 1 for spans that have never begun."""
        largest = self.figures[..., 1:] / torch.where(self.scale > 0, self.scale, 1)
        ratio = largest.amax(-1, keepdim=True).sqrt().nan_to_num(nan=torch.inf, posinf=torch.inf)
        last = self.plan[self.question.times(self.direction)[-1]]
        result = ratio.new_empty(len(ratio), self.question.spans, 1)
        last.write(ratio, result)
        return torch.where(result > 0, result, 1)[..., 0]


def _square(values: Tensor) -> Tensor:
    """The squared norm of the last axis, which stays."""
    norm: Tensor = torch.linalg.vector_norm(values, dim=-1, keepdim=True)
    return norm.square_()


def _settled(a: Carried, value: Split, like: Tensor) -> Tensor:
    """A state never keeps a part made by biases alone, also if the cell forgot to settle it."""
    part = part_of(a.settle(value))
    return part.expand_as(like) if isinstance(part, Tensor) else torch.full_like(like, part)


def _tensor(bias: Tensor | float, like: Tensor) -> Tensor:
    """The part that comes from no input, of every sequence."""
    return bias.expand_as(like) if isinstance(bias, Tensor) else torch.full_like(like, bias)


def _held(new: Tensor, old: Tensor, keep: Tensor | None) -> Tensor:
    """A row that has ended, or backward in time not begun, keeps its state."""
    return new if keep is None else torch.where(keep, new, old)
