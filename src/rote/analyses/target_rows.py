"""What is asked of a model's outputs: one target per step, and how its logit or log-probability moves with the state.

The logits of all steps together are never formed: with 16,386 outputs they are larger than everything else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor

from rote.analyses.plain_autograd import outputs_of
from rote.errors import UsageError
from rote.models.sequence import SequenceModel

if TYPE_CHECKING:
    from jaxtyping import Float, Int

Of = Literal["logit", "log_probability"]
LOGITS = 2**20  # formed at once: 4 MiB of float32


def check_targets(targets: Any, mask: Tensor, outputs: int) -> Int[Tensor, "batch output"] | None:
    """Whole numbers below ``outputs`` where ``mask`` [batch, output] is true; elsewhere they become 0.

    One sequence, and sequences with one output each, may leave an axis out."""
    if targets is None:
        return None
    if not isinstance(targets, Tensor) or targets.dtype.is_floating_point or targets.dtype == torch.bool:
        kind = targets.dtype if isinstance(targets, Tensor) else type(targets).__name__
        raise UsageError(f"'targets' must be a tensor of whole numbers (torch.long). Got {kind}.")
    if targets.dim() == 1 and 1 in mask.shape:
        targets = targets.unsqueeze(0 if mask.shape[0] == 1 else 1)
    if targets.shape != mask.shape:
        raise UsageError(
            f"'targets' must be [batch={mask.shape[0]}, output={mask.shape[1]}], one for each step of the outputs. "
            f"Got the shape {tuple(targets.shape)}."
        )
    return check_range(targets.to(mask.device).long().masked_fill(~mask, 0), outputs)


def check_range(targets: Tensor, outputs: int) -> Tensor:
    wrong = targets[(targets < 0) | (targets >= outputs)]
    if len(wrong):
        raise UsageError(f"'targets' must lie in 0 to {outputs - 1}, the outputs of the model. Got {int(wrong[0])}.")
    return targets


def most_likely(model: SequenceModel, hidden: Float[Tensor, "*place unit"]) -> Int[Tensor, "*place"]:
    """The model's own choice from each state of its top layer."""
    flat = hidden.flatten(0, -2)
    return torch.cat([outputs_of(model, rows).argmax(-1) for rows in _slices(flat, model)]).view(hidden.shape[:-1])


def target_rows(
    model: SequenceModel, hidden: Float[Tensor, "*place unit"], targets: Int[Tensor, "*place"], of: Of
) -> Float[Tensor, "*place unit"]:
    """d output[target] / d state: of a linear readout its row, minus the expected row for a log-probability."""
    flat, chosen = hidden.flatten(0, -2), targets.flatten()
    if model.readout is None:
        rows = torch.nn.functional.one_hot(chosen, hidden.shape[-1]).to(hidden.dtype)
        return (rows - flat.softmax(-1) if of == "log_probability" else rows).view_as(hidden)
    if model.linear_readout is None:
        pieces = zip(_slices(flat, model), _slices(chosen, model), strict=True)
        return torch.cat([_gradients(model, states, wanted, of) for states, wanted in pieces]).view_as(hidden)
    weight = model.linear_readout.weight.detach()
    rows = weight[chosen]
    if of == "log_probability":
        rows -= torch.cat([outputs_of(model, part).softmax(-1) @ weight for part in _slices(flat, model)])
    return rows.view_as(hidden)


@torch.enable_grad()
def _gradients(model: SequenceModel, states: Tensor, targets: Tensor, of: Of) -> Tensor:
    """Of a readout that is not linear: one backward pass for all states, since each output depends on its own only."""
    leaf = states.detach().requires_grad_()
    outputs = outputs_of(model, leaf)
    outputs = outputs.log_softmax(-1) if of == "log_probability" else outputs
    (found,) = torch.autograd.grad(outputs.gather(1, targets[:, None]).sum(), leaf)
    return found


def _slices(rows: Tensor, model: SequenceModel) -> tuple[Tensor, ...]:
    pieces: tuple[Tensor, ...] = rows.split(max(1, LOGITS // model.output_size))
    return pieces
