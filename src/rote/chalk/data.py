"""Batches of examples."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from rote.chalk.tensor import Tensor


class Batch(NamedTuple):
    inputs: Tensor
    targets: Tensor


class DataIterator:
    def __call__(self, inputs: Any, targets: Any) -> Iterator[Batch]:
        raise NotImplementedError


class BatchIterator(DataIterator):
    """``shuffle``: the examples, not only the order of the batches. The last batch may be smaller."""

    def __init__(self, batch_size: int = 32, shuffle: bool = True) -> None:
        if batch_size < 1:
            raise ValueError(f"'batch_size' must be at least 1. Got {batch_size}.")
        self.batch_size, self.shuffle, self.num_batches = batch_size, shuffle, 0

    def __call__(self, inputs: Any, targets: Any) -> Iterator[Batch]:
        values = [np.asarray(given.value if isinstance(given, Tensor) else given) for given in (inputs, targets)]
        if len(values[0]) != len(values[1]):
            raise ValueError(f"Inputs and targets must be as many. Got {len(values[0])} and {len(values[1])}.")
        order = np.random.permutation(len(values[0])) if self.shuffle else np.arange(len(values[0]))
        starts = range(0, len(order), self.batch_size)
        self.num_batches = len(starts)
        return (Batch(*(Tensor(value[order[start : start + self.batch_size]]) for value in values)) for start in starts)
