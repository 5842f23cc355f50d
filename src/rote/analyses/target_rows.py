"""What is asked of a model's outputs: one target per step, and how its logit or log-probability moves with the state.

The logits of all steps together are never formed: with 16,386 outputs they are larger than everything else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor

from rote.analyses.inputs import Inputs
from rote.analyses.plain_autograd import outputs_of
from rote.errors import UsageError
from rote.models.sequence import SequenceModel

if TYPE_CHECKING:
    from jaxtyping import Float, Int

Of = Literal["logit", "log_probability"]
LOGITS = 2**20  # formed at once: 4 MiB of float32


def output_count(model: SequenceModel) -> int:
    return model.recurrent.output_size if model.readout is None else model.readout.out_features


def check_targets(targets: Any, inputs: Inputs, outputs: int) -> Int[Tensor, "batch time"] | None:
    """Whole numbers [batch, time] below ``outputs``; what stands at padding does not matter and becomes 0."""
    if targets is None:
        return None
    if not isinstance(targets, Tensor) or targets.dtype.is_floating_point or targets.dtype == torch.bool:
        kind = targets.dtype if isinstance(targets, Tensor) else type(targets).__name__
        raise UsageError(f"'targets' must be a tensor of whole numbers (torch.long). Got {kind}.")
    if targets.dim() == 1 and inputs.batch == 1:
        targets = targets[None]
    if targets.shape != inputs.mask.shape:
        raise UsageError(
            f"'targets' must be [batch={inputs.batch}, time={inputs.time}], one for each step. "
            f"Got the shape {tuple(targets.shape)}."
        )
    targets = targets.to(inputs.mask.device).long().masked_fill(~inputs.mask, 0)
    return check_range(targets, outputs)


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
    """d output[target] / d state: the target's row of the readout; minus the expected row for a log-probability."""
    flat, chosen = hidden.flatten(0, -2), targets.flatten()
    if model.readout is None:
        rows = torch.nn.functional.one_hot(chosen, hidden.shape[-1]).to(hidden.dtype)
        return (rows - flat.softmax(-1) if of == "log_probability" else rows).view_as(hidden)
    weight = model.readout.weight.detach()
    rows = weight[chosen]
    if of == "log_probability":
        rows -= torch.cat([outputs_of(model, part).softmax(-1) @ weight for part in _slices(flat, model)])
    return rows.view_as(hidden)


def _slices(flat: Tensor, model: SequenceModel) -> tuple[Tensor, ...]:
    pieces: tuple[Tensor, ...] = flat.split(max(1, LOGITS // output_count(model)))
    return pieces
