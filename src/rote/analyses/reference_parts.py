"""Both parts of every value, each through its own recursion, as the published implementations carry them.

Slower than ``splitting.Carried``, and used to measure its error: in double precision, by other formulas. After each
step the parts must sum to the true state by themselves; what they miss counts as error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from rote.analyses.propagation import ROWS
from rote.analyses.span_question import Question, States, in_double_precision
from rote.analyses.splitting import Number, Rules
from rote.cells.arithmetic import Arithmetic, Arrangement, Function, NoTensor, Plain


@dataclass
class Parted(NoTensor):
    relevant: Tensor
    irrelevant: Tensor
    bias: Tensor
    whole: bool = field(default=False, kw_only=True)  # used undivided: only the sum of the parts has a meaning

    @property
    def parts(self) -> tuple[Tensor, Tensor, Tensor]:
        return self.relevant, self.irrelevant, self.bias

    @property
    def total(self) -> Tensor:
        return self.relevant + self.irrelevant + self.bias

    def __add__(self, other: Parted) -> Parted:
        parts = (self.relevant + other.relevant, self.irrelevant + other.irrelevant, self.bias + other.bias)
        return Parted(*parts, whole=self.whole or other.whole)

    def __sub__(self, other: Parted) -> Parted:
        return self + -other

    def __neg__(self) -> Parted:
        return Parted(-self.relevant, -self.irrelevant, -self.bias, whole=self.whole)

    def __rsub__(self, one: float) -> Parted:
        return Parted(-self.relevant, -self.irrelevant, one - self.bias, whole=self.whole)


def undivided(value: Tensor) -> Parted:
    zero = torch.zeros_like(value)
    return Parted(zero, value, zero, whole=True)


class BothParts(Arithmetic[Parted]):
    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.bias_counts: Number = 0.0

    def linear(self, value: Parted, weight: Tensor) -> Parted:
        return Parted(value.relevant @ weight.T, value.irrelevant @ weight.T, value.bias @ weight.T, whole=value.whole)

    def constant(self, bias: Tensor) -> Parted:
        zero = torch.zeros_like(bias)
        return Parted(zero, zero, bias)

    def pieces(self, value: Parted, sizes: Sequence[int]) -> tuple[Parted, ...]:
        relevant, irrelevant, bias = (
            part.split(list(sizes), dim=-1) for part in (value.relevant, value.irrelevant, value.bias)
        )
        return tuple(Parted(r, i, b, whole=value.whole) for r, i, b in zip(relevant, irrelevant, bias, strict=True))

    def scale(self, value: Parted, weight: Tensor | float) -> Parted:
        return Parted(*(part * weight for part in value.parts), whole=value.whole)

    def join(self, values: Sequence[Parted]) -> Parted:
        plain = Plain()
        parts = [plain.join(same) for same in zip(*(value.parts for value in values), strict=True)]
        return Parted(*parts, whole=any(value.whole for value in values))

    def arrange(self, value: Parted, how: Arrangement) -> Parted:
        return Parted(*map(how.forward, value.parts), whole=value.whole)

    def product(self, gate: Parted, source: Parted) -> Parted:
        rg, ig, bg = gate.relevant, gate.irrelevant, gate.bias
        rs, i_s, bs = source.relevant, source.irrelevant, source.bias
        if gate.whole:
            return Parted(*(gate.total * part for part in source.parts), whole=source.whole)
        if source.whole:
            return Parted(*(source.total * part for part in gate.parts))
        relevant, irrelevant = rg * rs + rg * bs + bg * rs, ig * i_s + ig * bs + bg * i_s
        match self.rules.interactions:
            case "shapley":
                cross = (rg * i_s + ig * rs) / 2
                relevant, irrelevant = relevant + cross, irrelevant + cross
            case "source":
                relevant, irrelevant = relevant + ig * rs, irrelevant + rg * i_s
            case "relevant":
                irrelevant = irrelevant + ig * rs + rg * i_s
        return Parted(relevant, irrelevant, bg * bs)

    def maximum(self, first: Parted, second: Parted) -> Parted:
        return undivided(torch.maximum(first.total, second.total))

    def settle(self, value: Parted) -> Parted:
        if self.rules.reference:
            return value
        counted = self.bias_counts * value.bias
        return Parted(value.relevant + counted, value.irrelevant + value.bias - counted, torch.zeros_like(value.bias))

    def readout_gate(self, value: Parted) -> Parted:
        return value if self.rules.output_gate else self.whole(value)

    def whole(self, value: Parted) -> Parted:
        return Parted(*value.parts, whole=True)

    def gate(self, name: str, value: Parted) -> Parted:
        return value if self.rules.takes_apart(name) else self.whole(value)

    def apply(self, function: Function, value: Parted, *weights: Tensor) -> Parted:
        return self._linearized(lambda x: function(x, *weights), value)

    def _linearized(self, function: Callable[[Tensor], Tensor], value: Parted) -> Parted:
        r, i, b = value.relevant, value.irrelevant, value.bias
        if value.whole:
            return undivided(function(value.total))
        if self.rules.linearization == "shapley":
            return Parted(*shapley(function, r, i + torch.zeros_like(r), b + torch.zeros_like(r)))
        both, alone = function(r + i + b), function(b)
        with_r, with_i = function(r + b), function(i + b)
        return Parted((with_r - alone + both - with_i) / 2, (with_i - alone + both - with_r) / 2, alone)


def shapley(function: Callable[[Tensor], Tensor], r: Tensor, i: Tensor, b: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Shapley values of the three parts in function(r + i + b); function(0) stays with the bias."""
    nothing, all_three = function(torch.zeros_like(i)), function(r + i + b)
    alone = [function(part) for part in (r, i, b)]
    ri, rb, ib = function(r + i), function(r + b), function(i + b)

    def value(
        own: Tensor, first: Tensor, second: Tensor, with_first: Tensor, with_second: Tensor, others: Tensor
    ) -> Tensor:
        return (own - nothing) / 3 + (with_first - first + with_second - second) / 6 + (all_three - others) / 3

    return (
        value(alone[0], alone[1], alone[2], ri, rb, ib),
        value(alone[1], alone[0], alone[2], ri, ib, rb),
        value(alone[2], alone[0], alone[1], rb, ib, ri) + nothing,
    )


@torch.no_grad()
def measured_error(question: Question, found: States) -> Tensor:
    """How far the parts are from those of this file, [batch, span]: the largest norm of a difference over all steps,
    or of what is missing from a sum, over the largest norm of a part or a state. Absolute where all of these are zero.
    """
    errors = found.growth.new_zeros(found.growth.shape)
    spans = min(max(1, question.spans), ROWS)
    for row in range(0, len(errors), block := max(1, ROWS // spans)):
        for span in range(0, question.spans, spans):
            rows, chosen = slice(row, row + block), slice(span, span + spans)
            asked = question.block(rows, chosen)
            relevant, irrelevant, error = _top(asked, question.steps)
            hidden, own = found.hidden[rows, None].double(), found.relevant[rows, chosen].double()
            rest = hidden - own if found.reference is None else hidden - found.reference[rows, None].double() - own
            sizes = [part.norm(dim=-1).amax(-1) for part in (relevant, irrelevant, hidden)]
            scale = torch.maximum(torch.maximum(sizes[0], sizes[1]), sizes[2])
            differences = [
                (ours - theirs).norm(dim=-1).amax(-1) for ours, theirs in ((own, relevant), (rest, irrelevant))
            ]
            worst = torch.maximum(differences[0], differences[1]) / torch.where(scale > 0, scale, 1)
            errors[rows, chosen] = torch.maximum(worst, error).to(errors.dtype)
    return errors


def _top(question: Question, steps: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Both parts of the top layer at the wanted steps, [batch, span, step, unit], and what the sums miss."""
    recurrent, vectors = question.recurrent, question.inputs.vectors.double()[:, None]
    inside = question.inside.double()[..., None]
    below, total = Parted(inside * vectors, (1 - inside) * vectors, torch.zeros_like(vectors)), vectors
    error = vectors.new_zeros(question.inputs.batch, question.spans)
    for layer in range(recurrent.layers):
        runs = [_one_layer(question, layer, d, below, total, error) for d in range(recurrent.directions)]
        relevant, irrelevant, bias, total = (torch.cat(side, dim=-1) for side in zip(*runs, strict=True))
        below = Parted(relevant, irrelevant, bias)
    return below.relevant[:, :, steps], below.irrelevant[:, :, steps], error


def _one_layer(
    question: Question, layer: int, direction: int, below: Parted, total: Tensor, error: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The output's parts and the true output, [batch, span or 1, time, unit]; ``error`` is raised in place."""
    inputs, a, plain = question.inputs, BothParts(question.rules), Plain()
    cell = in_double_precision(question.recurrent.cell(layer, direction))
    counts = question.bias.double()[..., None]
    whole = tuple(value.double()[:, None] for value in question.state(layer, direction))
    current = []
    for name, value in zip(cell.state_names, whole, strict=True):
        full = value.expand(-1, question.spans, -1)
        none = torch.zeros_like(full)
        parted = Parted(full, none, none) if question.marked else Parted(none, full, none)
        current.append(undivided(value) if name in cell.whole_states else parted)
    series: dict[int, tuple[Tensor, Tensor, Tensor, Tensor]] = {}
    missing, largest = (error.new_zeros(len(current), *error.shape) for _ in range(2))  # of every state, so far
    for t in question.times(direction):
        a.bias_counts = counts[:, :, t]
        now = Parted(*(cell.project(part[:, :, t]) for part in below.parts))
        new = cell.step(a, now, tuple(current))
        true = cell.step(plain, cell.project(total[:, :, t]), whole)
        keep = inputs.mask[:, t, None, None]
        whole = tuple(torch.where(keep, value, old) for value, old in zip(true, whole, strict=True))
        for k, name in enumerate(cell.state_names):
            if name in cell.whole_states:
                current[k] = undivided(whole[k])
                continue
            parts = _spread(a.settle(new[k]), error.shape)
            _raise(missing[k], largest[k], true[k], parts, keep[..., 0])
            current[k] = _kept(_completed(parts, true[k]), current[k], keep)
        top = current[0]
        series[t] = (top.relevant * keep, top.irrelevant * keep, top.bias * keep, whole[0] * keep)
    torch.maximum(error, (missing / torch.where(largest > 0, largest, 1)).amax(0), out=error)
    relevant, irrelevant, bias, output = zip(*(series[t] for t in range(inputs.time)), strict=True)
    return torch.stack(relevant, 2), torch.stack(irrelevant, 2), torch.stack(bias, 2), torch.stack(output, 2)


def _spread(value: Parted, shape: Sequence[int]) -> Parted:
    """Every part [batch, span, unit]."""
    return Parted(*(part.expand(*shape, -1) for part in torch.broadcast_tensors(*value.parts)))


def _raise(missing: Tensor, largest: Tensor, true: Tensor, parts: Parted, keep: Tensor) -> None:
    """By what the parts of a step miss of the true state, and by the largest of them. What is missing is compared with
    the largest of all steps: where a gate lets next to nothing through, its parts still sum to within rounding of 1."""
    short = (parts.total - true).norm(dim=-1)
    sizes = [part.norm(dim=-1).expand_as(short) for part in (parts.relevant, parts.irrelevant, parts.bias, true)]
    torch.maximum(missing, keep * short, out=missing)
    torch.maximum(largest, keep * torch.stack(sizes).amax(0), out=largest)


def _completed(parts: Parted, true: Tensor) -> Parted:
    """The larger part of each unit takes up what rounding left, so that it does not add up from step to step; a part of
    zero stays zero, since what is put into an unstable zero would grow."""
    missing = true - parts.total
    larger = parts.relevant.abs() > parts.irrelevant.abs()
    return Parted(
        parts.relevant + torch.where(larger, missing, 0),
        parts.irrelevant + torch.where(larger | (parts.irrelevant == 0), 0, missing),
        parts.bias,
    )


def _kept(new: Parted, old: Parted, keep: Tensor) -> Parted:
    return Parted(*(torch.where(keep, a, b) for a, b in zip(new.parts, old.parts, strict=True)))
