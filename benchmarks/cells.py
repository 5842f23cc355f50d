"""A training step of Rote's layers against torch's own: forward, backward and nothing else.

The same weights, inputs and lengths; process time on one thread, medians of rounds in which both take turns.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from rote.cells import Recurrent, as_recurrent

ROUNDS = 15
TARGET = 1.1
SIZES = ((20, 35, 200), (64, 20, 128), (16, 12, 512))  # batch, time, units
KINDS = {"lstm": nn.LSTM, "gru": nn.GRU}


def ours(recurrent: Recurrent, inputs: Tensor, lengths: Tensor | None) -> Callable[[], Tensor]:
    def step() -> Tensor:
        output, _ = recurrent(inputs, lengths=lengths)
        return output.square().mean()

    return step


def theirs(module: Any, inputs: Tensor, lengths: Tensor | None) -> Callable[[], Tensor]:
    def step() -> Tensor:
        if lengths is None:
            return module(inputs)[0].square().mean()
        packed = pack_padded_sequence(inputs, lengths, batch_first=True, enforce_sorted=False)
        output, _ = pad_packed_sequence(module(packed)[0], batch_first=True, total_length=inputs.shape[1])
        return output.square().mean()

    return step


def seconds(step: Callable[[], Tensor], module: nn.Module) -> float:
    module.zero_grad(set_to_none=True)
    before = time.process_time()
    step().backward()
    return time.process_time() - before


def compare(kind: str, batch: int, steps: int, units: int, layers: int, padded: bool) -> float:
    """How many times as long a step of ours takes."""
    torch.manual_seed(0)
    module = KINDS[kind](units, units, layers, batch_first=True)
    inputs = torch.randn(batch, steps, units)
    lengths = torch.randint(steps // 4, steps + 1, (batch,)) if padded else None
    programs = [ours(as_recurrent(module), inputs, lengths), theirs(module, inputs, lengths)]
    gradients = []
    for program in programs:
        seconds(program, module)
        gradients.append([parameter.grad.clone() for parameter in module.parameters() if parameter.grad is not None])
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-5)
    rounds = [[seconds(program, module) for program in programs] for _ in range(ROUNDS)]
    taken = [statistics.median(column) for column in zip(*rounds, strict=True)]
    ratio = statistics.median(mine / other for mine, other in rounds)
    what = f"{kind}, {layers} layer{'s' if layers > 1 else ''}, batch {batch}, {steps} steps, {units} units"
    what += ", padded" if padded else ""
    print(f"{what:58s} {taken[0] * 1e3:7.1f} ms, torch {taken[1] * 1e3:7.1f}: {ratio:.2f}")
    return ratio


def main() -> None:
    torch.set_num_threads(1)
    ratios = [
        compare(kind, *size, layers, padded)
        for kind in KINDS
        for size in SIZES
        for layers in (1, 2)
        for padded in (False, True)
    ]
    print(f"Target: at most {TARGET} times torch's. Largest {max(ratios):.2f}, median {statistics.median(ratios):.2f}.")


if __name__ == "__main__":
    main()
