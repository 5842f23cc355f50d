"""Whether a tensor is what a model reads: numbers of tokens, or vectors."""

from __future__ import annotations

import torch
from torch import Tensor

from rote.errors import UsageError
from rote.models.sequence import SequenceModel

WHOLE = (torch.int64, torch.int32, torch.int16, torch.uint8, torch.int8)


def as_batch(inputs: Tensor, model: SequenceModel, argument: str = "tokens") -> Tensor:
    """Tokens [batch, time] or vectors [batch, time, input] on the model's device; one sequence becomes a batch."""
    zeros = model.zeros
    if model.embedding is not None:
        batch = check_token_ids(inputs, model.embedding.num_embeddings, argument)
    elif inputs.dtype != zeros.dtype:
        raise UsageError(f"The inputs must have the model's dtype {zeros.dtype}. Got {inputs.dtype}.")
    else:
        batch = check_vectors(inputs, model.recurrent.cell(0).input_size, argument)
    return batch.to(zeros.device)


def check_token_ids(tokens: Tensor, rows: int, argument: str = "tokens") -> Tensor:
    """Numbers [batch, time] of ``rows`` tokens, at least one."""
    if tokens.dtype not in WHOLE:
        raise UsageError(f"'{argument}' must be whole numbers (torch.long). Got {tokens.dtype}.")
    if tokens.dim() == 1:
        tokens = tokens[None]
    if tokens.dim() != 2:
        raise UsageError(f"'{argument}' must be [batch, time] or [time]. Got the shape {tuple(tokens.shape)}.")
    _check_some(tokens, argument)
    if int(tokens.min()) < 0 or int(tokens.max()) >= rows:
        bad = tokens[(tokens < 0) | (tokens >= rows)][0]
        raise UsageError(f"'{argument}' must lie in 0 to {rows - 1}, the embedding's rows. Got {int(bad)}.")
    return tokens.long()


def check_vectors(inputs: Tensor, size: int | None = None, argument: str = "tokens") -> Tensor:
    """Floats [batch, time, input], at least one step."""
    if inputs.dim() == 2:
        inputs = inputs[None]
    if inputs.dim() != 3 or not inputs.is_floating_point() or size not in (None, inputs.shape[2]):
        width, shown = "input" if size is None else size, f"{inputs.dtype} {tuple(inputs.shape)}"
        raise UsageError(f"Without an embedding the inputs are [batch, time, {width}]. Got {shown}.")
    _check_some(inputs, argument)
    return inputs.detach()


def _check_some(inputs: Tensor, argument: str) -> None:
    if not inputs.shape[0] or not inputs.shape[1]:
        raise UsageError(
            f"'{argument}' is empty: {tuple(inputs.shape)}. Give at least one sequence of at least one step."
        )
