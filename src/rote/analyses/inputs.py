"""What every analysis checks before it computes: the model, the tokens, their lengths, the weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence, pad_packed_sequence

from rote.cells import State, mask_of
from rote.errors import UsageError
from rote.models.capabilities import require
from rote.models.inputs import WHOLE, as_batch
from rote.models.sequence import SequenceModel

if TYPE_CHECKING:
    from jaxtyping import Bool, Float


@dataclass(frozen=True)
class Inputs:
    """A checked batch."""

    tokens: Tensor | None  # [batch, time], None when the inputs are vectors
    vectors: Float[Tensor, "batch time input"]
    lengths: Tensor | None
    mask: Bool[Tensor, "batch time"]

    @property
    def batch(self) -> int:
        return self.vectors.shape[0]

    @property
    def time(self) -> int:
        return self.vectors.shape[1]

    def rows(self, rows: slice) -> Inputs:
        """Some of the sequences."""
        tokens, lengths = (None if part is None else part[rows] for part in (self.tokens, self.lengths))
        return Inputs(tokens, self.vectors[rows], lengths, self.mask[rows])


def shown(value: Any) -> str:
    """An argument in an error: what kind of tensor it is, or of what else."""
    return f"{value.dtype} {tuple(value.shape)}" if isinstance(value, Tensor) else type(value).__name__


def as_model(model: Any, analysis: str) -> SequenceModel:
    """The model, if it is one that ``analysis`` can take apart."""
    require(analysis, model, "arithmetic")
    assert isinstance(model, SequenceModel)
    model.check_weights()
    for name, weight in (*model.named_parameters(), *model.named_buffers()):
        check_finite(f"The weight {name!r} of the model", weight)
    return model


def check_finite(what: str, values: Tensor) -> None:
    """``what``: how the error begins, as "'weight'" or "The weight 'b' of the model"."""
    # A sum is quick, and finite only if all values are; it may overflow, so that a bad sum is looked into.
    if bool(torch.isfinite(values.detach().sum())) or bool(torch.isfinite(values).all()):
        return
    first = tuple((~torch.isfinite(values)).nonzero()[0].tolist())
    raise UsageError(f"{what} has NaN or infinite values, the first at {first}; nothing can be measured on it.")


def check_inputs(model: SequenceModel, tokens: Tensor | PackedSequence, lengths: Any = None) -> Inputs:
    """``tokens`` [batch, time] (or [time], or packed; vectors [batch, time, input] without an embedding), checked."""
    tokens, lengths = unpacked(tokens, lengths)
    tokens = as_batch(tokens, model)
    if model.embedding is None:
        check_finite("'tokens'", tokens)
    checked = check_lengths(lengths, tokens.shape[0], tokens.shape[1])
    checked = None if checked is None else checked.to(tokens.device)
    model.check_counted(tokens, checked)
    mask = (
        torch.ones(tokens.shape[:2], dtype=torch.bool, device=tokens.device)
        if checked is None
        else mask_of(checked, tokens.shape[1])
    )
    return Inputs(None if model.embedding is None else tokens, model.embed(tokens).detach(), checked, mask)


def unpacked(tokens: Any, lengths: Any) -> tuple[Tensor, Any]:
    """A padded tensor and its lengths, from that or from what is packed."""
    if isinstance(tokens, PackedSequence):
        if lengths is not None:
            raise UsageError("'lengths' goes with a padded tensor; a PackedSequence already knows its lengths.")
        return pad_packed_sequence(tokens, batch_first=True)
    if not isinstance(tokens, Tensor):
        raise UsageError(f"'tokens' must be a tensor or a PackedSequence. Got {type(tokens).__name__}.")
    return tokens, lengths


def check_lengths(lengths: Any, batch: int, time: int) -> Tensor | None:
    if lengths is None:
        return None
    try:
        given = torch.as_tensor(lengths)
    except (TypeError, ValueError, RuntimeError):
        raise UsageError(f"'lengths' must be {batch} whole numbers, one per sequence. Got {lengths!r}.") from None
    if given.dtype not in WHOLE or given.shape != (batch,):
        raise UsageError(
            f"'lengths' must be {batch} whole numbers, one per sequence. Got {tuple(given.shape)} of {given.dtype}."
        )
    given = given.long()
    wrong = given[(given < 1) | (given > time)]
    if len(wrong):
        raise UsageError(f"'lengths' must lie in 1 to {time}, the steps of the tensor. Got {int(wrong[0])}.")
    return given


def check_initial(model: SequenceModel, inputs: Inputs, initial: Any) -> list[State]:
    """The states before the first step, as one tuple per layer and direction; zeros for None.

    ``initial`` may also have torch's form: h [layers * directions, batch, unit], or (h, c) of such tensors.
    """
    recurrent = model.recurrent
    zero = recurrent.zero_states(inputs.batch)
    if initial is None:
        return zero
    if model.positioned:
        raise UsageError(
            "'initial' must be left out: 'model' adds positions to its embedding, and they would start anew. Give the "
            "whole sequence."
        )
    if isinstance(initial, Tensor):
        initial = (initial,)
    try:
        if all(isinstance(value, Tensor) for value in initial):  # torch's form: by state, then by layer
            initial = list(zip(*initial, strict=True))
        given = [tuple(value.detach().to(zero[0][0].device) for value in state) for state in initial]
    except (TypeError, AttributeError, ValueError):
        given = []
    wanted, shapes = ([[tuple(value.shape) for value in state] for state in states] for states in (zero, given))
    if wanted != shapes:
        states = zip(recurrent.cell(0).state_names, wanted[0], strict=True)
        raise UsageError(
            "'initial' must hold, for each layer and direction, the states "
            f"{', '.join(f'{name} {shape}' for name, shape in states)}; or be what torch's module takes. "
            f"Wanted {wanted}. Got {shapes or repr(initial)}."
        )
    for value in (value for state in given for value in state):
        if value.dtype != zero[0][0].dtype:
            raise UsageError(f"'initial' must have the model's dtype {zero[0][0].dtype}. Got {value.dtype}.")
        check_finite("'initial'", value)
    return given
