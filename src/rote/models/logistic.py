"""Elman's network of logistic units as the analyses take networks: tanh units, a table of codes, a softmax.

Both are the same function. With g = 2 h - 1 the units h = logistic(W x + V h' + b) are
g = tanh(W/2 x + V/4 g' + (b + V 1/2) / 2), and the context at rest, h = 0.5, is g = 0. The outputs are bits of the next
symbol's code: with these taken as independent, the probability of a code c is proportional to exp(c . z) for logits z,
so that the codes times the readout give a softmax over the symbols.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from rote.cells import ElmanCell, Recurrent
from rote.models import SequenceModel, StackedSRN

if TYPE_CHECKING:
    from numpy.typing import NDArray


def as_sequence_model(networks: StackedSRN, index: int, codes: NDArray[Any]) -> SequenceModel:
    """Network number ``index``; ``codes``: what it sees of each symbol, [symbol, bit]."""
    dtype, bits = networks.inner.dtype, networks.inputs
    inner, outer, table = networks.inner[index].double(), networks.outer[index].double(), torch.from_numpy(codes)
    from_context, to_bits = inner[bits:-1].T, outer[:-1].T

    def weight(values: Tensor) -> nn.Parameter:
        return nn.Parameter(values.to(dtype).contiguous())

    cell = ElmanCell(
        bits, networks.hidden, biases="one",
        weights={
            "weight_ih": weight(inner[:bits].T / 2),
            "weight_hh": weight(from_context / 4),
            "bias_ih": weight((inner[-1] + from_context.sum(1) / 2) / 2),
        },
    )  # fmt: skip
    readout = nn.Linear(networks.hidden, len(table), device="meta")
    readout.weight, readout.bias = weight(table @ to_bits / 2), weight(table @ (outer[-1] + to_bits.sum(1) / 2))
    return SequenceModel(Recurrent([cell]), nn.Embedding.from_pretrained(table.to(dtype)), readout).eval()
