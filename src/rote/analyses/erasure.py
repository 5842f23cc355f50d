"""Erasure: what a model's output is with some of its inputs alone, and without them.

The plainest of all explanations, and in the court (``rote.court``) the best in direction: no rule of a decomposition is
in it, only forward passes. *alone* asks what a span does where nothing else is, *removed* what is lost without it
(occlusion), *two* is their mean, the exact Shapley value of the span against the rest taken as one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from rote.analyses.absence import absent_vectors, spread_over
from rote.analyses.explained import explain
from rote.analyses.forward_pass import Forward
from rote.analyses.memory import check_memory
from rote.analyses.result import OverTokens, analyses, needs, rows_of
from rote.analyses.spans import span_masks
from rote.models.sequence import SequenceModel
from rote.store import Column, Table

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int

MEASURES = {
    "alone": "the output with the span alone, less that without any input",
    "removed": "the output of the whole sequence, less that without the span",
    "two": "their mean: the span's Shapley value against the rest",
}


@dataclass(frozen=True, repr=False)
class Erasure(OverTokens):
    """What each span does to one output of the model, by forward passes alone."""

    alone: Float[Tensor, "batch span"]
    removed: Float[Tensor, "batch span"]
    alone_error: Float[Tensor, "batch span"]  # standard error over what was drawn; zero where nothing was
    removed_error: Float[Tensor, "batch span"]
    whole: Float[Tensor, " batch"]  # the explained output
    empty: Float[Tensor, " batch"]  # the same with every input absent
    spans: Bool[Tensor, "batch span time"]
    targets: Int[Tensor, " batch"]
    steps: Int[Tensor, " batch"]  # of the output
    absent: str
    version: ClassVar[int] = 1

    @property
    def two(self) -> Float[Tensor, "batch span"]:
        """The mean of both: of two players, the span and all other positions, the span's Shapley value."""
        return (self.alone + self.removed) / 2

    def to_table(self) -> Table:
        rows: list[dict[str, Any]] = []
        for name, values in (("alone", self.alone), ("removed", self.removed), ("two", self.two)):
            rows += [{**row, "measure": name} for row in rows_of(values, ("batch", "span"), "value")]
        columns = (
            Column("batch", role="label"),
            Column("span", "index of the span", "label"),
            Column("measure", "; ".join(f"{name}: {about}" for name, about in MEASURES.items()), "label"),
            Column("value", "change of the explained output"),
        )
        positions = [[span.nonzero().flatten().tolist() for span in row] for row in self.spans]
        return Table.make(
            "erasure", f"What each span does to the output; absent: {self.absent}", columns, rows, figure="erasure",
            options={"positions": positions},
        )  # fmt: skip


@analyses.register("erase")
@needs("logits")
def erase(
    model: SequenceModel | Forward,
    tokens: Tensor | PackedSequence,
    spans: Any = None,
    *,
    at: int = -1,
    target: int | Tensor | None = None,
    absent: str | Tensor = "zero",
    draws: int = 32,
    seed: int = 0,
    lengths: Any = None,
    embedding: nn.Module | None = None,
) -> Erasure:
    """What an output is with each span alone and without it: two forward passes per span, for any model.

    - model: what ``rote.adapt`` gives, or any module or function with outputs [batch, step, output].
    - spans: (start, end) pairs, both inclusive, or a bool tensor [batch, span, time]; by default every position.
    - at: the step of the output; a negative one counts from the end of each sequence.
    - target: which output; by default the model's own choice at that step.
    - absent: what stands in place of an erased input: "zero", the "mean" of the embedding (of the given vectors, where
      there is none), a vector, or "redrawn": other inputs, drawn ``draws`` times from ``seed``, and the mean over them.
    - embedding: of a model that was not adapted, the module that looks up its tokens, unless it has no other.

    >>> import torch, rote
    >>> lstm, table = torch.nn.LSTM(8, 16, batch_first=True), torch.nn.Embedding(100, 8)
    >>> model = rote.adapt(recurrent=lstm, embedding=table, readout=torch.nn.Linear(16, 100))
    >>> found = rote.erase(model, torch.tensor([[4, 8, 15, 16, 23]]), spans=[(1, 2), (0, 4)])
    >>> found.two.shape  # batch, span
    torch.Size([1, 2])
    >>> bool((found.alone[0, 1] - found.removed[0, 1]).abs() < 1e-6)  # of all positions both are the same
    True
    """
    explained = explain("erase", model, tokens, at, target, lengths, embedding)
    batch, time = explained.mask.shape
    every = [(step, step) for step in range(time)]
    inside = span_masks(every if spans is None else spans, batch, time, explained.mask.device)
    inside = inside.expand(batch, -1, -1) & explained.mask[:, None]
    fills = absent_vectors(explained, absent, draws, seed)
    count = inside.shape[1]
    check_memory(
        2 * batch * count * time * (1 + explained.vectors.element_size()),
        f"erase() of {batch} x {count} spans over {time} steps",
        "Take fewer spans or sequences at a time.",
    )
    nothing = torch.zeros(batch, 1, time, dtype=torch.bool, device=inside.device)
    kept = torch.cat([inside, ~inside, nothing, ~nothing], 1)
    values = torch.stack([explained.values(kept, fill) for fill in fills])
    own, without, empty, whole = values.split([count, count, 1, 1], -1)
    alone, alone_error = spread_over(own - empty)
    removed, removed_error = spread_over(whole - without)
    return Erasure(
        alone, removed, alone_error, removed_error, whole[0, :, 0], empty.mean(0)[:, 0], inside, explained.targets,
        explained.steps, absent if isinstance(absent, str) else "vector", tokens=explained.tokens,
    )  # fmt: skip
