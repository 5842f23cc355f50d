"""torch's fused kernels with the weights of our cells: the same numbers as step by step (tested), for training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from rote.cells.cell import Cell
from rote.cells.elman import ElmanCell
from rote.cells.gru import GRUCell
from rote.cells.lstm import LSTMCell

State = tuple[Tensor, ...]


def kernel_of(cell: Cell) -> Any:
    """torch's kernel of a cell's equations, or None. A subclass may have changed them: only the classes themselves.
    With a projection torch has none that is fast, and says so in a warning."""
    if type(cell) is LSTMCell and not cell.proj_size:
        return torch.lstm
    if type(cell) is GRUCell and cell.reset == "after":
        return torch.gru
    if type(cell) is ElmanCell:
        return torch.rnn_tanh if cell.nonlinearity == "tanh" else torch.rnn_relu
    return None


def is_fusable(stack: Sequence[Cell]) -> bool:
    """Whether one kernel does all layers and directions."""
    kinds = {(kernel_of(cell), cell.bias_ih is None) for cell in stack}
    return len(kinds) == 1 and kernel_of(stack[0]) is not None


def run_fused(
    stack: Sequence[Cell],
    directions: int,
    inputs: Tensor,
    lengths: Tensor | None,
    states: Sequence[State],
    dropout: float,
) -> tuple[Tensor, list[State]]:
    """Outputs [batch, time, unit] and the final states of a stack that ``is_fusable``; padding is not computed."""
    kernel, biased = kernel_of(stack[0]), stack[0].bias_ih is not None
    # has biases, layers, dropout, train (also for a backward pass in eval mode), bidirectional
    train = dropout > 0 or torch.is_grad_enabled()
    rest = ([w for cell in stack for w in _weights(cell)], biased, len(stack) // directions, dropout, train)
    start = [torch.stack(values) for values in zip(*states, strict=True)]  # [layers * directions, batch, unit]
    if lengths is None:
        output, *end = kernel(inputs, start if kernel is torch.lstm else start[0], *rest, directions == 2, True)
        return output, list(zip(*(value.unbind() for value in end), strict=True))
    packed = pack_padded_sequence(inputs, lengths.cpu(), batch_first=True, enforce_sorted=False)
    start = [value[:, packed.sorted_indices] for value in start]
    data, *end = kernel(
        packed.data, packed.batch_sizes, start if kernel is torch.lstm else start[0], *rest, directions == 2
    )
    again = PackedSequence(data, packed.batch_sizes, packed.sorted_indices, packed.unsorted_indices)
    output, _ = pad_packed_sequence(again, batch_first=True, total_length=inputs.shape[1])
    return output, list(zip(*(value[:, packed.unsorted_indices].unbind() for value in end), strict=True))


def _weights(cell: Cell) -> list[Tensor]:
    weights = [cell.weight_ih, cell.weight_hh]
    if cell.bias_ih is not None:
        weights += [cell.bias_ih, torch.zeros_like(cell.bias_ih) if cell.bias_hh is None else cell.bias_hh]
    return weights
