"""The same gradients by torch's own autograd, one output at a time: what the fast programs are measured against."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from rote.analyses.inputs import Inputs
from rote.cells import Recurrent, State, unroll
from rote.errors import UsageError
from rote.models.sequence import SequenceModel

if TYPE_CHECKING:
    from jaxtyping import Float, Int


class Unchanged:
    """Remembers a model's weights as they are now, for errors that are measured later."""

    def __init__(self, model: nn.Module, analysis: str) -> None:
        self._model, self._analysis, self._versions = model, analysis, self._now(model)

    def check(self) -> None:
        if self._now(self._model) != self._versions:
            raise UsageError(
                f"The model's weights have changed since {self._analysis}(); read .error before training goes on."
            )

    @staticmethod
    def _now(model: nn.Module) -> list[int]:
        # Weights made in torch's inference mode have no version.
        weights = (*model.parameters(), *model.buffers())
        return [0 if weight.is_inference() else weight._version for weight in weights]


def hidden_states(
    recurrent: Recurrent, vectors: Float[Tensor, "batch time input"], inputs: Inputs, initial: list[State]
) -> Float[Tensor, "batch time unit"]:
    """The top layer's output, step by step; no dropout, whatever the mode."""
    mask = None if inputs.lengths is None else inputs.mask
    for layer in range(recurrent.layers):
        runs = [
            unroll(recurrent.cell(layer, way), vectors, initial[layer * recurrent.directions + way], mask, way == 1)
            for way in range(recurrent.directions)
        ]
        vectors = torch.cat([run.states["hidden"] for run in runs], dim=-1)
    return vectors


def outputs_of(model: SequenceModel, hidden: Tensor) -> Tensor:
    """Logits, or the hidden states themselves; no dropout, whatever the mode."""
    return model.read(hidden)


@torch.inference_mode(False)
@torch.enable_grad()
def input_gradients(
    model: SequenceModel,
    inputs: Inputs,
    initial: list[State],
    steps: Int[Tensor, "batch row"],
    targets: Int[Tensor, "batch row"],
    of: str,
) -> Float[Tensor, "batch row time input"]:
    """d output[targets] at ``steps`` / d input vectors, by one backward pass for each row."""
    vectors = inputs.vectors.clone().requires_grad_()
    hidden = hidden_states(model.recurrent, vectors, inputs, initial)
    found = []
    for at, target in zip(steps.T, targets.T, strict=True):
        outputs = hidden[torch.arange(inputs.batch, device=hidden.device), at]
        outputs = outputs_of(model, outputs)
        outputs = outputs.log_softmax(-1) if of == "log_probability" else outputs
        chosen = outputs.gather(1, target[:, None]).sum()
        found.append(torch.autograd.grad(chosen, vectors, retain_graph=True)[0])
    return torch.stack(found, dim=1)
