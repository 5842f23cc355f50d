"""Decompositional interdependence: how far two sets of positions do more together than apart (Saphra and Lopez 2020).

Over the relevant parts b of contextual decomposition: ||b(A and B) - b(A) - b(B)|| / ||b(A and B)||. By the rules of
Murdoch et al. 2018, as published: the Shapley rules share an interaction between the sets, and leave less of it to be
seen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence

from rote.analyses.decomposition import decompose, growth_warning
from rote.analyses.inputs import as_model, shown
from rote.analyses.memory import check_memory
from rote.analyses.result import OverTokens, analyses, needs, rows_of
from rote.analyses.splitting import Bias, Gates, Interactions, Linearization, published_gates
from rote.errors import UsageError
from rote.models.capabilities import require
from rote.models.sequence import SequenceModel
from rote.store import Column, Table

if TYPE_CHECKING:
    from jaxtyping import Bool, Float


@dataclass(frozen=True, repr=False)
class Interdependence(OverTokens):
    """0 where two sets add up; NaN where they contribute nothing even together."""

    values: Float[Tensor, "batch pair time"]
    first: Bool[Tensor, "batch pair time"]
    second: Bool[Tensor, "batch pair time"]
    growth: Float[Tensor, "batch pair"]  # of the parts, over the largest state: above 3 they cancel more than they say
    version: ClassVar[int] = 2  # with growth

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
            note=self.warning, figure="interdependence", details=True, options={"sets": sets},
        )  # fmt: skip

    @property
    def warning(self) -> str:
        """What a reader must know before these numbers are believed; empty if nothing."""
        return growth_warning(self.growth, 'Try rules="murdoch2018", interactions="source".')

    def __repr__(self) -> str:
        told = f"{super().__repr__()[:-1]}, growth={float(self.growth.max()):.2g})"
        return f"{told}\n{self.warning}" if self.warning else told


@analyses.register("interdependence")
@needs("arithmetic")
def interdependence(
    model: SequenceModel,
    tokens: Tensor | PackedSequence,
    first: Tensor,
    second: Tensor,
    *,
    lengths: Any = None,
    rules: str = "murdoch2018",
    bias: Bias | None = None,
    interactions: Interactions | None = None,
    linearization: Linearization | None = None,
    output_gate: bool | None = None,
    gates: Gates | None = None,
    initial: Any = None,
    initial_relevant: bool = False,
) -> Interdependence:
    """How far two sets of positions do more together than apart, at every step.

    - first, second: bool [batch, pair, time], disjoint.
    - the other options are those of ``decompose``; gates are whole by default on cells that refuse ``rules``.

    >>> import torch, rote
    >>> model = rote.adapt(recurrent=torch.nn.LSTM(3, 5, batch_first=True))
    >>> first, second = torch.zeros(2, 1, 1, 4, dtype=torch.bool)  # one sequence, one pair of sets, four steps
    >>> first[0, 0, 0], second[0, 0, 2:] = True, True
    >>> found = rote.interdependence(model, torch.randn(1, 4, 3), first, second).values[0, 0]
    >>> bool(found[0] == 0), bool(found[3] > 0)  # at the first step only one of the two sets has begun
    (True, True)
    """
    require("interdependence", model, "arithmetic")
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
    recurrent = as_model(model, "interdependence").recurrent
    numbers = 3 * (2 * first.numel() + first.shape[1:].numel())  # parts of three sets, differences, between layers
    check_memory(
        numbers * recurrent.output_size * model.zeros.element_size(),
        f"interdependence() of {first.shape[0]} x {first.shape[1]} pairs over {first.shape[2]} steps",
        "Take fewer pairs or sequences at a time, or shorter ones.",
    )
    if gates is None and rules == "murdoch2018" and interactions is None and not output_gate:
        gates = published_gates(recurrent.all_cells())
    parts = decompose(
        model, tokens, torch.cat([first | second, first, second], dim=1), lengths=lengths, rules=rules, bias=bias,
        interactions=interactions, linearization=linearization, output_gate=output_gate, gates=gates,
        initial=initial, initial_relevant=initial_relevant,
    )  # fmt: skip
    together, one, other = parts.relevant.tensor_split(3, dim=1)
    values = (together - one - other).norm(dim=-1) / together.norm(dim=-1)
    growth = torch.stack(parts.growth.tensor_split(3, dim=1)).amax(0)
    _, a, b = parts.spans.tensor_split(3, dim=1)
    return Interdependence(values, a, b, growth, tokens=parts.tokens)
