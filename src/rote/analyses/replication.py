"""Connectivity of a model that Rote cannot take apart: through the model's own forward pass.

All that is needed is a function from input vectors [batch, time, input] to outputs [batch, time, output]. A sequence is
repeated for as many outputs as are asked about at once, each copy is asked about one of them, and one backward pass
gives the gradients of all copies. It needs memory for every copy and several times as long as ``connectivity``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from rote.analyses.all_pairs import Measure, Norm, with_fewest_rows
from rote.analyses.connectivity import Connectivity
from rote.analyses.inputs import Inputs, check_finite, check_lengths, shown
from rote.analyses.target_rows import Of, check_targets
from rote.cells import mask_of
from rote.errors import UsageError

Forward = Callable[[Tensor], Tensor]
CHUNK = 32


@torch.inference_mode(False)
def connectivity_through(
    forward: Forward,
    vectors: Tensor,
    targets: Tensor | None = None,
    *,
    lengths: Any = None,
    embedding: nn.Embedding | Tensor | None = None,
    norm: Norm = "l2",
    of: Of = "logit",
    causal: bool = False,
    chunk: int = CHUNK,
) -> Connectivity:
    """``connectivity`` for any differentiable model: ``forward`` gives outputs [batch, time, output] for input vectors.

    - vectors: [batch, time, input]. Sequences are given to ``forward`` without their padding.
    - targets: LongTensor [batch, time], default the model's own choice.
    - embedding: what the vectors come from, [vocabulary, input]; with it gradients are those of the one-hot input.
    - causal: the model never looks ahead, so that an output needs only the steps up to it.
    - chunk: outputs asked about at once; fewer need less memory.

    Put the model into its eval mode before: dropout would give every copy of a sequence another model.

    >>> import torch, rote
    >>> gru, readout = torch.nn.GRU(8, 16, batch_first=True), torch.nn.Linear(16, 100)
    >>> found = rote.analyses.connectivity_through(lambda x: readout(gru(x)[0]), torch.randn(1, 5, 8), causal=True)
    >>> found.values.shape
    torch.Size([1, 5, 5])
    """
    table = embedding.weight if isinstance(embedding, nn.Embedding) else embedding
    what = Measure("embedding" if table is None else "one_hot", norm, of)
    inputs = _checked(vectors, lengths, table)
    if not isinstance(chunk, int) or chunk < 1:
        raise UsageError(f"'chunk' must be a whole number of at least 1. Got {chunk!r}.")
    given = check_targets(targets, inputs, _output_count(forward, inputs))
    lengths = inputs.mask.sum(1)
    table = None if table is None or norm == "signed" else with_fewest_rows(table.detach(), int((lengths**2).sum()))
    asked = _Asked(forward, inputs.vectors, what, table, given)
    values, chosen = _all_pairs(asked, inputs, chunk, causal)

    def error_of() -> Tensor:
        return _error(replace(asked, targets=chosen), lengths.tolist(), values)

    return Connectivity(values, chosen, None, inputs.mask, what.wrt, norm, of, causal, error_of)


def _all_pairs(asked: _Asked, inputs: Inputs, chunk: int, causal: bool) -> tuple[Tensor, Tensor]:
    """Numbers [batch, output, input] and targets [batch, time]; sequences of one length together."""
    values = inputs.vectors.new_zeros(inputs.batch, inputs.time, inputs.time)
    chosen = torch.zeros_like(inputs.mask, dtype=torch.long)
    lengths = inputs.mask.sum(1)
    for time in lengths.unique().tolist():
        pairs = ((lengths == time)[:, None] & inputs.mask).nonzero()
        for some in pairs[pairs[:, 1].argsort(stable=True)].split(chunk):
            rows, steps = some.T
            seen = int(steps.max()) + 1 if causal else time
            values[rows, steps, :seen], chosen[rows, steps] = asked.about(rows, steps, seen)
    return values.tril() if causal else values, chosen


def _error(alone: _Asked, lengths: list[int], values: Tensor) -> Tensor:
    """One output at a time, all steps given: shows a model that mixes its sequences, or one that looks ahead."""
    errors = values.new_zeros(len(values))
    for row, time in enumerate(lengths):
        for step in {0, (time - 1) // 2, time - 1}:
            expected, _ = alone.about(torch.tensor([row]), torch.tensor([step]), time)
            difference = (values[row, step, :time] - expected[0]).abs().max()
            scale = expected.abs().max().clamp(min=torch.finfo(values.dtype).tiny)
            errors[row] = torch.maximum(errors[row], difference / scale)
    return errors


@dataclass(frozen=True)
class _Asked:
    forward: Forward
    vectors: Tensor
    what: Measure
    table: Tensor | None
    targets: Tensor | None  # None: the model's own choice

    @torch.inference_mode(False)
    @torch.enable_grad()
    def about(self, rows: Tensor, steps: Tensor, seen: int) -> tuple[Tensor, Tensor]:
        """Numbers [pair, input] for output ``steps`` of sequences ``rows``, and the targets [pair]."""
        copies = self.vectors[rows, :seen].clone().requires_grad_()
        outputs = self.forward(copies)[torch.arange(len(rows)), steps]
        targets = outputs.argmax(-1) if self.targets is None else self.targets[rows, steps]
        outputs = outputs.log_softmax(-1) if self.what.of == "log_probability" else outputs
        (gradients,) = torch.autograd.grad(outputs.gather(1, targets[:, None]).sum(), copies)
        return self.what.numbers(gradients, copies.detach(), self.table), targets


def _checked(vectors: Any, lengths: Any, table: Tensor | None) -> Inputs:
    if not isinstance(vectors, Tensor) or not vectors.dtype.is_floating_point or vectors.dim() != 3:
        raise UsageError(
            f"'vectors' must be a tensor of floats [batch, time, input]. Got {shown(vectors)}. "
            "Tokens are embedded first: vectors = embedding(tokens)."
        )
    if not vectors.numel():
        raise UsageError(f"'vectors' is empty: {tuple(vectors.shape)}. Give at least one sequence of one step.")
    check_finite("'vectors'", vectors)
    if table is not None and (table.dim() != 2 or table.shape[1] != vectors.shape[2]):
        raise UsageError(
            f"'embedding' must be [vocabulary, input={vectors.shape[2]}], as wide as 'vectors'. "
            f"Got the shape {tuple(table.shape)}."
        )
    batch, time, _ = vectors.shape
    given = check_lengths(lengths, batch, time)
    every = torch.full((batch,), time) if given is None else given
    return Inputs(None, vectors.detach(), given, mask_of(every, time).to(vectors.device))


def _output_count(forward: Forward, inputs: Inputs) -> int:
    """From one pass over the first sequence."""
    time = int(inputs.mask[0].sum())
    with torch.no_grad():
        outputs: Any = forward(inputs.vectors[:1, :time])
    if not isinstance(outputs, Tensor) or outputs.dim() != 3 or outputs.shape[:2] != (1, time):
        raise UsageError(
            f"'forward' must give a tensor of outputs [batch, time, output], here [1, {time}, output]. "
            f"Got {shown(outputs)}. An nn.LSTM gives its states as well; say: lambda x: readout(lstm(x)[0])."
        )
    if bool(outputs.isnan().any()):
        raise UsageError("'forward' gives NaN for the first sequence; nothing can be measured on it.")
    return outputs.shape[2]
