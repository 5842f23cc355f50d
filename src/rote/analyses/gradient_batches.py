"""The numbers of connectivity: which gradients are asked for, in batches of sequences that fit into little memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor

from rote.analyses.all_outputs import Reading, causal_values, record_layers, two_way_values
from rote.analyses.inputs import Inputs
from rote.analyses.memory import RECORDED, check_memory, products
from rote.analyses.plain_autograd import input_gradients
from rote.analyses.target_rows import Of, most_likely, target_rows
from rote.cells import Recurrent, State
from rote.config import one_of
from rote.models.sequence import SequenceModel

if TYPE_CHECKING:
    from jaxtyping import Float, Int

Wrt = Literal["one_hot", "embedding"]
Norm = Literal["l2", "squared", "signed"]
# Sequences are carried together up to this many numbers per state, so that short ones keep the matrix products busy.
TOGETHER = 2**18
# From this many on each goes alone: ``adjoint`` then needs fewer products.
ALONE = 40_000
ERROR_SEQUENCES = 32  # whose error is measured at once
PIECE = 2**24  # coordinates of gradients that are formed at once


@dataclass(frozen=True)
class Measure:
    """Which gradient, of what, and as which number."""

    wrt: Wrt
    norm: Norm
    of: Of

    def __post_init__(self) -> None:
        one_of("wrt", self.wrt, ("one_hot", "embedding"))
        one_of("norm", self.norm, ("l2", "squared", "signed"))
        one_of("of", self.of, ("logit", "log_probability"))

    def numbers(self, gradients: Tensor, vectors: Tensor, table: Tensor | None) -> Tensor:
        """Gradients [..., input] in one number each; ``table`` is the embedding [vocabulary, input] or None."""
        if self.norm == "signed":
            signed: Tensor = (gradients * vectors).sum(-1)
            return signed
        if table is None:
            length: Tensor = torch.linalg.vector_norm(gradients, dim=-1)
        else:
            pieces = gradients.flatten(0, -2).split(max(1, PIECE // len(table)))
            norms = [torch.linalg.vector_norm(piece @ table.T, dim=-1) for piece in pieces]
            length = torch.cat(norms).view(gradients.shape[:-1])
        return length**2 if self.norm == "squared" else length


@torch.no_grad()
def pair_values(
    model: SequenceModel, inputs: Inputs, targets: Int[Tensor, "batch time"] | None, initial: list[State], what: Measure
) -> tuple[Float[Tensor, "batch output input"], Int[Tensor, "batch time"]]:
    """One number for each output and input, and the targets: the model's own choices if none are given."""
    recurrent = model.recurrent
    check_memory(
        _numbers(recurrent, inputs) * inputs.vectors.element_size(),
        f"connectivity() of {inputs.batch} x {inputs.time} steps",
        "Take shorter texts, or fewer of them at a time.",
    )
    values = inputs.vectors.new_zeros(inputs.batch, inputs.time, inputs.time)
    chosen = torch.zeros_like(inputs.mask, dtype=torch.long) if targets is None else targets
    table = _table(model, inputs, what)
    for rows, time in _batches(inputs, max(recurrent.cell(0).state_sizes)):
        mask, vectors = inputs.mask[rows, :time], inputs.vectors[rows, :time]
        # In one direction no output depends on what follows it: padding needs no mask there.
        padded = None if recurrent.directions == 1 or bool(mask.all()) else mask
        start = [tuple(value[rows] for value in state) for state in initial]
        recorded, hidden = record_layers(recurrent, vectors, start, padded)
        if targets is None:
            chosen[rows, :time] = most_likely(model, hidden).masked_fill(~mask, 0)
        seeds = target_rows(model, hidden, chosen[rows, :time], what.of) * mask[..., None]
        seeds = seeds.transpose(0, 1).contiguous()
        reading = _reading(recurrent, vectors, table, what)
        if recurrent.directions == 1:
            found = causal_values([runs[0] for runs in recorded], seeds, reading)
        else:
            found = two_way_values(recorded, seeds, padded, reading)
        values[rows, :time, :time] = found.transpose(0, 1)
    return values, chosen


def _batches(inputs: Inputs, size: int) -> Iterator[tuple[Tensor, int]]:
    """Sequences of about the same length, and the longest of their lengths."""
    lengths = inputs.mask.sum(1)
    order = lengths.argsort(descending=True, stable=True)
    while len(order):
        time = int(lengths[order[0]])
        count = 1 if time * size >= ALONE else TOGETHER // (time * size)
        yield order[:count], time
        order = order[count:]


def _numbers(recurrent: Recurrent, inputs: Inputs) -> float:
    """Held at once: the result, that of the sequences carried together, and the records of their steps."""
    together = max(len(rows) * time for rows, time in _batches(inputs, max(recurrent.cell(0).state_sizes)))
    steps = recurrent.directions * inputs.time + RECORDED * products(recurrent)
    return inputs.batch * inputs.time**2 + together * steps


def _table(model: SequenceModel, inputs: Inputs, what: Measure) -> Tensor | None:
    if what.norm == "signed" or what.wrt == "embedding" or model.embedding is None:
        return None
    lengths = inputs.mask.sum(1)
    return with_fewest_rows(model.embedding_matrix().detach(), int((lengths * (lengths + 1) // 2).sum()))


def with_fewest_rows(table: Float[Tensor, "vocabulary input"], pairs: int) -> Float[Tensor, "coordinate input"]:
    """A matrix whose product with any vector has the same norm as that of ``table``, to be used ``pairs`` times.

    The one-hot gradient is E g. Where the vocabulary is larger than the embedding, R g with E = Q R has the same norm
    in fewer coordinates; to find R costs about as much as E g for as many pairs as E has columns.
    """
    if len(table) <= table.shape[1] or pairs <= table.shape[1]:
        return table
    precise = torch.promote_types(table.dtype, torch.float32)  # torch factors no half precision
    triangle = table[:0].to(precise)
    for rows in table.split(4 * table.shape[1]):  # piece by piece: no second copy of a large embedding
        triangle = torch.linalg.qr(torch.cat([triangle, rows.to(precise)]), mode="r").R
    return triangle.to(table.dtype)


def _reading(recurrent: Recurrent, vectors: Tensor, table: Tensor | None, what: Measure) -> Reading:
    weights = [recurrent.cell(0, way).input_matrix for way in range(recurrent.directions)]
    if table is not None and len(table) <= table.shape[1]:  # one product to the coordinates instead of two
        weights, table = [weight @ table.T for weight in weights], None
    return Reading(weights, lambda gradients, t: what.numbers(gradients, vectors[:, t], table))


@torch.inference_mode(False)
def pair_error(
    model: SequenceModel, inputs: Inputs, initial: list[State], values: Tensor, targets: Tensor, what: Measure
) -> Float[Tensor, " batch"]:
    """Against torch's autograd at the first, the middle and the last output, relative to each output's largest."""
    last = inputs.mask.sum(1) - 1
    steps = torch.stack([torch.zeros_like(last), last // 2, last], dim=1)
    asked, found = targets.gather(1, steps), values[torch.arange(len(values))[:, None], steps]
    one_hot = what.wrt == "one_hot" and model.embedding is not None
    table = model.embedding_matrix().detach() if one_hot else None
    errors = []
    for first in range(0, inputs.batch, ERROR_SEQUENCES):
        rows = slice(first, first + ERROR_SEQUENCES)
        part, start = inputs.rows(rows), [tuple(value[rows] for value in state) for state in initial]
        gradients = input_gradients(model, part, start, steps[rows], asked[rows], what.of)
        expected = what.numbers(gradients, part.vectors[:, None], table)
        scale = expected.abs().amax(-1).clamp(min=torch.finfo(values.dtype).tiny)
        errors.append(((found[rows] - expected).abs().amax(-1) / scale).amax(-1))
    return torch.cat(errors)
