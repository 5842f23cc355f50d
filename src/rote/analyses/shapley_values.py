"""Shapley values of input positions, and of pairs of them, by the model's own forward passes.

The value of a set of positions is the model's output with all others absent. A position's Shapley value is what it adds
to those before it, averaged over all orders: the only division that adds up, treats equal positions alike, gives
nothing to one that changes nothing, and is linear (Shapley 1953). The interaction index of a pair is the same average
of v(S, i, j) - v(S, i) - v(S, j) + v(S) (Grabisch and Roubens 1999). Short sequences are enumerated, exactly and in one
batched pass; of longer ones orders are drawn, and the result has standard errors.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from rote.analyses.absence import absent_vectors
from rote.analyses.explained import Explained, explain
from rote.analyses.forward_pass import Forward
from rote.analyses.memory import check_memory
from rote.analyses.result import OverTokens, analyses, needs, rows_of
from rote.errors import UsageError
from rote.models.sequence import SequenceModel
from rote.store import Column, Table

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int

ENUMERATED = 12  # positions, at most, whose sets are enumerated


@dataclass(frozen=True, repr=False)
class ShapleyValues(OverTokens):
    """A number for each position, of which the sum is the output less that without any input."""

    values: Float[Tensor, "batch time"]
    standard_errors: Float[Tensor, "batch time"]  # zero where all sets were enumerated
    pairs: Float[Tensor, "batch time other"] | None  # interaction indices, symmetric, zero on the diagonal
    pair_errors: Float[Tensor, "batch time other"] | None
    whole: Float[Tensor, " batch"]  # the explained output
    empty: Float[Tensor, " batch"]  # the same with every input absent
    mask: Bool[Tensor, "batch time"]
    targets: Int[Tensor, " batch"]
    steps: Int[Tensor, " batch"]  # of the output
    permutations: int  # that were drawn; 0: all sets were enumerated
    absent: str
    version: ClassVar[int] = 1

    @property
    def sum_error(self) -> Float[Tensor, " batch"]:
        """How far the values are from summing to what all inputs do together; rounding."""
        return (self.values.sum(1) - (self.whole - self.empty)).abs()

    def to_table(self) -> Table:
        rows = rows_of(self.values, ("batch", "time"), "value", self.mask)
        errors = rows_of(self.standard_errors, ("batch", "time"), "standard_error", self.mask)
        columns = (
            Column("batch", role="label"),
            Column("time", "step of the input", "label"),
            Column("value", "Shapley value: what the input adds to the output, over all orders"),
            Column("standard_error", "over the orders that were drawn"),
        )
        return Table.make(
            "shapley", f"Shapley values of the inputs; absent: {self.absent}", columns,
            [row | error for row, error in zip(rows, errors, strict=True)], figure="attribution",
        )  # fmt: skip


@analyses.register("shapley")
@needs("logits")
def shapley(
    model: SequenceModel | Forward,
    tokens: Tensor | PackedSequence,
    *,
    at: int = -1,
    target: int | Tensor | None = None,
    permutations: int | None = 20,
    pairs: bool = False,
    absent: str | Tensor = "zero",
    seed: int = 0,
    lengths: Any = None,
    embedding: nn.Module | None = None,
) -> ShapleyValues:
    """What each input adds to an output, averaged over the orders in which inputs could come in.

    - permutations: orders that are drawn from ``seed``, each a forward pass per step; None enumerates all sets, of
      sequences of at most 12 steps, exactly.
    - pairs: also the interaction index of every two positions: four passes per pair and order.
    - the other options are those of ``erase``; with absent="redrawn" each order draws other inputs.

    >>> import torch, rote
    >>> model = rote.adapt(recurrent=torch.nn.GRU(3, 5, batch_first=True), readout=torch.nn.Linear(5, 2))
    >>> vectors = torch.randn(1, 6, 3)
    >>> exact, drawn = (rote.shapley(model, vectors, permutations=n) for n in (None, 100))
    >>> bool(exact.sum_error.max() < 1e-6), bool(drawn.sum_error.max() < 1e-6)
    (True, True)
    >>> bool(((exact.values - drawn.values).abs() < 5 * drawn.standard_errors + 1e-6).all())
    True
    """
    explained = explain("shapley", model, tokens, at, target, lengths, embedding)
    name = absent if isinstance(absent, str) else "vector"
    if permutations is None:
        if name == "redrawn":
            raise UsageError("absent='redrawn' is a mean over draws. Give 'permutations' a number, such as 100.")
        found = _enumerated(explained, absent_vectors(explained, absent, 2, seed)[0], pairs)
    elif permutations < 2:
        raise UsageError(f"'permutations' must be at least 2, to know their error, or None. Got {permutations}.")
    else:
        fills = absent_vectors(explained, absent, permutations, seed)
        found = _drawn(explained, fills, permutations, pairs, seed)
    return ShapleyValues(
        *found, explained.mask, explained.targets, explained.steps, permutations or 0, name, tokens=explained.tokens
    )


def by_permutations(explained: Explained, permutations: int, seed: int = 0) -> Float[Tensor, "batch time"]:
    """The values alone, against inputs of zero."""
    return _drawn(explained, absent_vectors(explained, "zero", 2, seed), permutations, False, seed)[0]


Found = tuple[Tensor, Tensor, Tensor | None, Tensor | None, Tensor, Tensor]


def all_sets(positions: int) -> Bool[Tensor, "set position"]:
    """Every set of positions; the bits of its number are its members."""
    return (torch.arange(2**positions)[:, None] >> torch.arange(positions)) & 1 == 1


def of_all_sets(
    values: Float[Tensor, "batch set"], pairs: bool = True
) -> tuple[Float[Tensor, "batch position"], Float[Tensor, "batch position position"] | None]:
    """Exact Shapley values and interaction indices, from the value of every set in the order of ``all_sets``."""
    n = int(values.shape[1]).bit_length() - 1
    sizes = all_sets(n).sum(1).to(values.device)
    one = values.new_tensor([math.factorial(s) * math.factorial(n - s - 1) / math.factorial(n) for s in range(n)])
    added = []
    for i in range(n):
        gain, size = _gains(values, sizes, i)
        added.append((gain * one[size]).sum(1))
    single = torch.stack(added, 1) if n else values.new_zeros(len(values), 0)
    if not pairs:
        return single, None
    two = values.new_tensor(
        [math.factorial(s) * math.factorial(n - s - 2) / math.factorial(n - 1) for s in range(n - 1)]
    )
    both = values.new_zeros(len(values), n, n)
    for i in range(n):
        gain, size = _gains(values, sizes, i)
        for j in range(i):  # a lower bit keeps its place when a higher one is taken out
            change, rest = _gains(gain, size, j)
            both[:, i, j] = both[:, j, i] = (change * two[rest]).sum(1)
    return single, both


def _gains(values: Tensor, sizes: Tensor, bit: int) -> tuple[Tensor, Tensor]:
    """What the position of ``bit`` adds to every set without it, and the sizes of these sets."""
    paired = values.view(len(values), -1, 2, 2**bit)
    return (paired[:, :, 1] - paired[:, :, 0]).flatten(1), sizes.view(-1, 2, 2**bit)[:, 0].flatten()


def _enumerated(explained: Explained, absent: Tensor, pairs: bool) -> Found:
    batch, time = explained.mask.shape
    if time > ENUMERATED:
        raise UsageError(
            f"permutations=None enumerates the sets of at most {ENUMERATED} positions. The sequences have {time}: "
            "give a number of permutations."
        )
    kept = all_sets(time).to(explained.mask.device)[None].expand(batch, -1, -1)
    values = explained.values(kept, absent)
    single, both = of_all_sets(values.double(), pairs)
    single, both = single.to(values.dtype), None if both is None else both.to(values.dtype)
    errors = None if both is None else torch.zeros_like(both)
    return single, torch.zeros_like(single), both, errors, values[:, -1], values[:, 0]


def _drawn(explained: Explained, fills: Tensor, permutations: int, pairs: bool, seed: int) -> Found:
    batch, time = explained.mask.shape
    generator = torch.Generator().manual_seed(seed)
    orders = torch.stack([torch.randperm(time, generator=generator) for _ in range(permutations)])
    check_memory(
        permutations * batch * time * (time + 1) * (4 if pairs else 1),
        f"shapley() of {batch} x {time} steps by {permutations} permutations",
        "Take fewer permutations or sequences at a time.",
    )
    place = orders.argsort(1).to(explained.mask.device)  # when each position comes in
    kept = place[:, None] < torch.arange(time + 1, device=place.device)[:, None]  # [permutation, count, time]
    values = _over_draws(explained, kept, fills)  # [permutation, batch, count]
    gains = (values[..., 1:] - values[..., :-1]).gather(2, place[:, None].expand(-1, batch, -1))
    whole, empty = values[0, :, -1], values[..., 0].mean(0)
    single, errors = gains.mean(0), gains.std(0) / permutations**0.5
    if not pairs:
        return single, errors, None, None, whole, empty
    both, both_errors = _drawn_pairs(explained, fills, permutations, generator)
    return single, errors, both, both_errors, whole, empty


def _over_draws(explained: Explained, kept: Tensor, fills: Tensor) -> Tensor:
    """[draw, batch, coalition] of kept [draw, coalition, time]; all draws at once where they share what is absent."""
    batch, (draws, count, time) = len(explained.mask), kept.shape
    if len(fills) == 1:
        flat = kept.reshape(1, -1, time).expand(batch, -1, -1)
        return explained.values(flat, fills[0]).view(batch, draws, count).transpose(0, 1)
    pairs = zip(kept, fills, strict=True)
    return torch.stack([explained.values(own.expand(batch, -1, -1), fill) for own, fill in pairs])


def _drawn_pairs(
    explained: Explained, fills: Tensor, permutations: int, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """For every pair and draw a set of the others, whose size is as likely as any: the weights of the index."""
    time = explained.mask.shape[1]
    first, second = torch.triu_indices(time, time, 1)
    count = len(first)
    scores = torch.rand(permutations, count, time, generator=generator)
    lines = torch.arange(count)
    scores[:, lines, first] = scores[:, lines, second] = 2.0  # never among the others
    rank = scores.argsort(-1).argsort(-1)
    size = torch.randint(time - 1, (permutations, count, 1), generator=generator) if time > 1 else rank[..., :1]
    others = rank < size
    sets = others[:, :, None].repeat(1, 1, 4, 1)  # neither, the first, the second, both
    sets[:, lines, 1, first] = sets[:, lines, 2, second] = True
    sets[:, lines, 3, first] = sets[:, lines, 3, second] = True
    values = _over_draws(explained, sets.flatten(1, 2).to(explained.mask.device), fills)
    values = values.view(permutations, -1, count, 4)
    changes = values[..., 3] - values[..., 1] - values[..., 2] + values[..., 0]
    both, errors = (explained.vectors.new_zeros(len(explained.mask), time, time) for _ in range(2))
    for made, found in ((both, changes.mean(0)), (errors, changes.std(0) / permutations**0.5)):
        made[:, first, second] = made[:, second, first] = found
    return both, errors
