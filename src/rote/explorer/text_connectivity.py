"""Connectivity of a text: what each output draws on, what the model suggests there, and the rank of what was meant.

The matrix is computed once for all outputs, so that moving over the text asks for nothing more.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from rote.analyses import connectivity
from rote.analyses.gradient_batches import Norm, Wrt
from rote.analyses.target_rows import Of
from rote.errors import UsageError
from rote.explorer.reading import LIMIT, Reader, Reading

DIGITS = 6  # of a probability
Ask = Literal["text", "choice", "word"]  # about what the text has, the model's own choice, or one word everywhere


@dataclass(frozen=True)
class Linked:
    """One text, one model."""

    reading: Reading
    values: Tensor  # [output, input]
    asked: tuple[str, ...]  # the output that was asked about at each step
    own: tuple[bool, ...]  # true where the text does not say, so that it is the model's own choice
    ranks: tuple[int, ...]  # of the asked output; 1 is the most probable
    chances: tuple[float, ...]
    suggested: tuple[tuple[str, ...], ...]
    suggested_chances: tuple[tuple[float, ...], ...]
    causal: bool

    def by_word(self, output: int, norm: Norm) -> list[tuple[str, float]]:
        """What an output draws on each word up to it: the gradient with respect to the whole word."""
        values = self.values[output].double()
        found: dict[int, tuple[str, float]] = {}
        for step in range(len(values) if not self.causal else output + 1):
            word, value = self.reading.words[step], float(values[step])
            name, sum_before = found.get(word, ("", 0.0))
            found[word] = (name + self.reading.symbols[step], sum_before + (value**2 if norm == "l2" else value))
        return [(name.strip() or "space", value**0.5 if norm == "l2" else value) for name, value in found.values()]

    def answer(self) -> dict[str, Any]:
        """For the page: numbers rounded, the matrix as float32 in base64; only its lower half where that is all."""
        values = self.values.float().cpu().numpy()
        kept = values[np.tril_indices(len(values))] if self.causal else values
        return self.reading.facts() | {
            "asked": self.asked,
            "own": self.own,
            "ranks": self.ranks,
            "chances": _rounded(self.chances),
            "suggested": self.suggested,
            "suggested_chances": [_rounded(row) for row in self.suggested_chances],
            "causal": self.causal,
            "values": packed(kept),
        }


def link(
    reader: Reader,
    text: str,
    *,
    wrt: Wrt = "one_hot",
    norm: Norm = "l2",
    of: Of = "logit",
    ask: Ask = "text",
    word: str | None = None,
    top: int = 5,
    limit: int = LIMIT,
) -> Linked:
    """Connectivity of every output of the text with every symbol of it."""
    reading = reader.read(text, limit)
    model = reader.model
    with torch.no_grad():
        chances = model(reading.tokens)[0].softmax(-1)
    wanted = _wanted(reader, reading, ask, word)
    best = chances.argmax(-1).tolist()
    asked = torch.tensor([own if target is None else target for target, own in zip(wanted, best, strict=True)])
    found = connectivity(model, reading.tokens, asked[None].to(chances.device), wrt=wrt, norm=norm, of=of)
    own_chance = chances.gather(1, asked[:, None].to(chances.device))
    ranks = 1 + (chances > own_chance).sum(-1)
    values, numbers = chances.topk(min(top, len(reader.outputs)), -1)
    return Linked(
        reading, found.values[0].detach(), tuple(reader.outputs[number] for number in asked.tolist()),
        tuple(target is None for target in wanted), tuple(ranks.tolist()), tuple(own_chance[:, 0].tolist()),
        tuple(tuple(reader.outputs[number] for number in row) for row in numbers.tolist()),
        tuple(map(tuple, values.tolist())), found.causal,
    )  # fmt: skip


def packed(values: np.ndarray) -> str:
    """Little-endian float32, in base64."""
    return base64.b64encode(np.ascontiguousarray(values, dtype="<f4").tobytes()).decode()


def _wanted(reader: Reader, reading: Reading, ask: Ask, word: str | None) -> list[int | None]:
    if ask == "choice":
        return [None] * reading.time
    if ask == "text":
        return list(reading.targets)
    if not word:
        raise UsageError("Say which word: 'word' is empty, and 'ask' is \"word\".")
    return [reader.output(word)] * reading.time


def _rounded(values: tuple[float, ...]) -> list[float]:
    return [round(value, DIGITS) for value in values]
