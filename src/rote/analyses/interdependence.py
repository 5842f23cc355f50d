"""Decompositional interdependence: how far two sets of positions do more together than apart (Saphra and Lopez 2020).

Over the relevant parts b of contextual decomposition: ||b(A and B) - b(A) - b(B)|| / ||b(A and B)||.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence

from rote.analyses.decomposition import decompose
from rote.analyses.inputs import shown
from rote.analyses.result import Result, analyses, rows_of
from rote.errors import UsageError
from rote.models.sequence import SequenceModel
from rote.store import Column, Table

if TYPE_CHECKING:
    from jaxtyping import Bool, Float


@dataclass(frozen=True, repr=False)
class Interdependence(Result):
    """0 where two sets add up; NaN where they contribute nothing even together."""

    values: Float[Tensor, "batch pair time"]
    first: Bool[Tensor, "batch pair time"]
    second: Bool[Tensor, "batch pair time"]
    axes: ClassVar[dict[str, tuple[str, ...]]] = {
        "values": ("batch", "pair", "time"),
        "first": ("batch", "pair", "time"),
        "second": ("batch", "pair", "time"),
    }

    def to_table(self) -> Table:
        rows = rows_of(self.values, ("batch", "pair", "time"), "interdependence", ~self.values.isnan())
        columns = (
            Column("batch", role="label"),
            Column("pair", "index of the pair of sets", role="label"),
            Column("time", "step of the output", role="label"),
            Column("interdependence", "||b(A and B) - b(A) - b(B)|| / ||b(A and B)||"),
        )
        sets = [
            [
                [one.nonzero().flatten().tolist(), other.nonzero().flatten().tolist()]
                for one, other in zip(a, b, strict=True)
            ]
            for a, b in zip(self.first, self.second, strict=True)
        ]
        return Table.make(
            "interdependence", "What two sets of positions do together but not apart", columns, rows,
            figure="interdependence", details=True, options={"sets": sets},
        )  # fmt: skip


@analyses.register("interdependence")
def interdependence(
    model: SequenceModel, tokens: Tensor | PackedSequence, first: Tensor, second: Tensor, **options: Any
) -> Interdependence:
    """How far two sets of positions do more together than apart, at every step.

    - first, second: bool [batch, pair, time], disjoint.
    - options: those of ``decompose``.

    >>> import torch, rote
    >>> model = rote.adapt(recurrent=torch.nn.LSTM(3, 5, batch_first=True))
    >>> first, second = torch.zeros(2, 1, 1, 4, dtype=torch.bool)  # one sequence, one pair of sets, four steps
    >>> first[0, 0, 0], second[0, 0, 2:] = True, True
    >>> found = rote.interdependence(model, torch.randn(1, 4, 3), first, second).values[0, 0]
    >>> bool(found[0] == 0), bool(found[3] > 0)  # at the first step only one of the two sets has begun
    (True, True)
    """
    for name, mask in (("first", first), ("second", second)):
        if not isinstance(mask, Tensor) or mask.dtype != torch.bool or mask.dim() != 3:
            raise UsageError(f"{name!r} must be a bool tensor [batch, pair, time]. Got {shown(mask)}.")
    if first.shape != second.shape:
        raise UsageError(
            f"'first' and 'second' must have one shape. Got {tuple(first.shape)} and {tuple(second.shape)}."
        )
    if bool((first & second).any()):
        batch, pair, time = (first & second).nonzero()[0].tolist()
        raise UsageError(
            f"'first' and 'second' must not share a position. Both have step {time} in pair {pair} of sequence {batch}."
        )
    parts = decompose(model, tokens, torch.cat([first | second, first, second], dim=1), **options)
    together, one, other = parts.relevant.tensor_split(3, dim=1)
    values = (together - one - other).norm(dim=-1) / together.norm(dim=-1)
    return Interdependence(values, *parts.spans.tensor_split(3, dim=1)[1:])
