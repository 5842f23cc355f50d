"""Connectivity of a model that Rote cannot take apart: through the model's own forward pass.

A sequence is repeated for as many outputs as are asked about at once, each copy is asked about one of them, and one
backward pass gives the gradients of all copies. It needs memory for every copy and several times as long as what
``all_outputs`` does with a recurrent model. There may be more or fewer outputs than inputs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from rote.analyses.forward_pass import Forward, ForwardPass, embedding_in
from rote.analyses.gradient_batches import Measure, with_fewest_rows
from rote.analyses.inputs import check_finite, check_lengths, shown, unpacked
from rote.analyses.memory import check_memory
from rote.analyses.plain_autograd import Unchanged
from rote.analyses.target_rows import check_targets
from rote.cells import mask_of
from rote.errors import UsageError
from rote.models.calling import left_alone
from rote.models.inputs import WHOLE, check_token_ids, check_vectors

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int

CHUNK = 32


@dataclass(frozen=True)
class Replicated:
    """What ``connectivity`` gives out, found by copies."""

    values: Float[Tensor, "batch output input"]
    targets: Int[Tensor, "batch output"]
    tokens: Int[Tensor, "batch input"] | None
    mask: Bool[Tensor, "batch input"]
    output_mask: Bool[Tensor, "batch output"]
    choices: int
    error_of: Callable[[], Tensor]


@torch.inference_mode(False)
def pairs_through(
    model: Forward,
    tokens: Tensor | PackedSequence,
    targets: Tensor | None,
    lengths: Any,
    what: Measure,
    embedding: nn.Module | Tensor | None,
    causal: bool,
    chunk: int,
) -> Replicated:
    if not isinstance(chunk, int) or chunk < 1:
        raise UsageError(f"'chunk' must be a whole number of at least 1. Got {chunk!r}.")
    tokens, lengths = unpacked(tokens, lengths)
    is_ids = tokens.dtype in WHOLE
    looked_up = embedding_in(model, embedding) if is_ids else None
    given = check_vectors(tokens) if looked_up is None else _checked_ids(tokens, looked_up)
    if looked_up is None:
        check_finite("'tokens'", given)
    forward = ForwardPass(model, looked_up)
    mask = _mask(lengths, given)
    longest = mask.sum(1).argmax()
    with left_alone(model, given.device):
        vectors, outputs, held = forward.check(given[longest, None, : int(mask[longest].sum())])
        steps = _output_steps(forward, given, mask, causal)
        output_mask = mask_of(steps, int(steps.max())).to(given.device)
        copies = min(chunk, int(steps.sum()))
        check_memory(
            copies * held + output_mask.numel() * mask.shape[1] * vectors.element_size(),
            f"connectivity() with {copies} outputs at once (chunk={chunk}) of {len(mask)} x {mask.shape[1]} steps",
            "Take a smaller chunk=..., shorter texts, or fewer of them at a time.",
        )
        chosen = check_targets(targets, output_mask, outputs.shape[-1])
        table = _table(embedding if looked_up is None else looked_up, what, given, mask)
        asked = _Asked(forward, given, what, table, chosen)
        values, chosen = _all_pairs(asked, mask, output_mask, vectors, chunk, causal)
    weights = None if forward.module is None else Unchanged(forward.module, "connectivity")

    def error_of() -> Tensor:
        if weights is not None:
            weights.check()
        with left_alone(model, given.device):
            return _error(replace(asked, targets=chosen), mask.sum(1).tolist(), steps.tolist(), values)

    return Replicated(values, chosen, given if is_ids else None, mask, output_mask, outputs.shape[-1], error_of)


def _all_pairs(
    asked: _Asked, mask: Tensor, output_mask: Tensor, vectors: Tensor, chunk: int, causal: bool
) -> tuple[Tensor, Tensor]:
    """Numbers [batch, output, input] and targets [batch, output]; sequences of one length together."""
    values = vectors.new_zeros(*output_mask.shape, mask.shape[1])  # outputs may be of another dtype
    chosen = torch.zeros_like(output_mask, dtype=torch.long)
    lengths = mask.sum(1)
    for time in lengths.unique().tolist():
        pairs = ((lengths == time)[:, None] & output_mask).nonzero()
        for some in pairs[pairs[:, 1].argsort(stable=True)].split(chunk):
            rows, steps = some.T
            seen = int(steps.max()) + 1 if causal else time
            values[rows, steps, :seen], chosen[rows, steps] = asked.about(rows, steps, seen)
    return values.tril() if causal else values, chosen


def _error(alone: _Asked, lengths: list[int], steps: list[int], values: Tensor) -> Tensor:
    """One output at a time, all steps given: shows a model that mixes its sequences, or one that looks ahead."""
    errors = values.new_zeros(len(values))
    for row, (time, outputs) in enumerate(zip(lengths, steps, strict=True)):
        for step in {0, (outputs - 1) // 2, outputs - 1}:
            expected, _ = alone.about(torch.tensor([row]), torch.tensor([step]), time)
            difference = (values[row, step, :time] - expected[0]).abs().max()
            scale = expected.abs().max().clamp(min=torch.finfo(values.dtype).tiny)
            errors[row] = torch.maximum(errors[row], difference / scale)
    return errors


@dataclass(frozen=True)
class _Asked:
    forward: ForwardPass
    given: Tensor  # tokens or vectors
    what: Measure
    table: Tensor | None
    targets: Tensor | None  # None: the model's own choice

    @torch.inference_mode(False)
    @torch.enable_grad()
    def about(self, rows: Tensor, steps: Tensor, seen: int) -> tuple[Tensor, Tensor]:
        """Numbers [pair, input] for output ``steps`` of sequences ``rows``, and the targets [pair]."""
        vectors, outputs = self.forward(self.given[rows, :seen])
        outputs = outputs[torch.arange(len(rows)), steps]
        targets = outputs.argmax(-1) if self.targets is None else self.targets[rows, steps]
        outputs = outputs.log_softmax(-1) if self.what.of == "log_probability" else outputs
        gradients, vectors = self.forward.gradients(outputs.gather(1, targets[:, None]).sum(), vectors)
        return self.what.numbers(gradients, vectors, self.table), targets


def _output_steps(forward: ForwardPass, given: Tensor, mask: Tensor, causal: bool) -> Tensor:
    """How many outputs each sequence gets: one pass for each length that there is."""
    lengths = mask.sum(1)
    steps = torch.zeros_like(lengths)
    for time in lengths.unique().tolist():
        same = lengths == time
        found = forward(given[same.nonzero()[0], :time])[1].shape[1]
        if causal and found != time:
            raise UsageError(
                f"'causal' is for models with an output for each input. For {time} inputs 'model' gives {found} "
                "outputs. Leave it out."
            )
        steps[same] = found
    return steps


def _table(embedding: Any, what: Measure, given: Tensor, mask: Tensor) -> Tensor | None:
    """The matrix that takes gradients at vectors to those at the one-hot input."""
    if what.wrt == "embedding" or embedding is None:
        return None
    table = embedding if isinstance(embedding, Tensor) else getattr(embedding, "weight", None)
    width = given.shape[2] if given.dim() == 3 else None
    if not isinstance(table, Tensor) or table.dim() != 2 or width not in (None, table.shape[1]):
        raise UsageError(
            f"'embedding' must have a weight [vocabulary, input{'' if width is None else f'={width}'}] for "
            f"wrt='one_hot'. Got {shown(embedding if table is None else table)}. Or take wrt='embedding'."
        )
    return None if what.norm == "signed" else with_fewest_rows(table.detach(), int((mask.sum(1) ** 2).sum()))


def _checked_ids(tokens: Tensor, embedding: nn.Module) -> Tensor:
    weight = getattr(embedding, "weight", None)
    if not isinstance(weight, Tensor):
        return check_token_ids(tokens, torch.iinfo(tokens.dtype).max)
    return check_token_ids(tokens, len(weight)).to(weight.device)


def _mask(lengths: Any, given: Tensor) -> Tensor:
    batch, time = given.shape[:2]
    checked = check_lengths(lengths, batch, time)
    return mask_of(torch.full((batch,), time) if checked is None else checked, time).to(given.device)
