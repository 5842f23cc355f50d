"""Rows of lookup tables as padded arrays of numbers: what a model is given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rote.errors import UsageError
from rote.tasks.lookup import IGNORED, PAD, PADDING, Example


@dataclass(frozen=True)
class Encoded:
    inputs: NDArray[np.int64]  # [row, longest], PAD at the end
    input_lengths: NDArray[np.int64]  # [row]
    outputs: NDArray[np.int64]  # [row, longest], PAD at the end
    output_lengths: NDArray[np.int64]  # [row]
    attention: NDArray[np.int64]  # [row, longest output], IGNORED at the end


def encode(examples: Sequence[Example], input_vocabulary: Sequence[str], output_vocabulary: Sequence[str]) -> Encoded:
    """Symbols as their numbers in the vocabularies, padded to the longest row."""
    for row in examples:
        outside = [target for target in row.attention if not IGNORED <= target < len(row.inputs)]
        if outside or len(row.attention) != len(row.outputs):
            raise UsageError(
                f"The row '{' '.join(row.inputs)}' needs {len(row.outputs)} attention targets, one per output, from 0 "
                f"to {len(row.inputs) - 1} or {IGNORED} for none. Got {row.attention}."
            )
    inputs, input_lengths = _padded(_numbers([row.inputs for row in examples], input_vocabulary, "input"), PAD)
    outputs, output_lengths = _padded(_numbers([row.outputs for row in examples], output_vocabulary, "output"), PAD)
    attention, _ = _padded([row.attention for row in examples], IGNORED)
    return Encoded(inputs, input_lengths, outputs, output_lengths, attention)


def _numbers(rows: Sequence[Sequence[str]], vocabulary: Sequence[str], kind: str) -> list[list[int]]:
    if list(vocabulary[PAD : PAD + 1]) != [PADDING]:
        raise UsageError(f"The {kind} vocabulary must have {PADDING!r} as number {PAD}. Got {', '.join(vocabulary)}.")
    number = {symbol: place for place, symbol in enumerate(vocabulary)}
    for row in rows:
        for symbol in row:
            if symbol not in number:
                raise UsageError(
                    f"The {kind} symbol {symbol!r} of the row '{' '.join(row)}' is not in the vocabulary. "
                    f"Known: {', '.join(vocabulary)}."
                )
    return [[number[symbol] for symbol in row] for row in rows]


def _padded(rows: Sequence[Sequence[int]], filler: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    lengths = np.array([len(row) for row in rows], dtype=np.int64)
    padded = np.full((len(rows), lengths.max(initial=0)), filler, dtype=np.int64)
    for place, row in enumerate(rows):
        padded[place, : len(row)] = row
    return padded, lengths
