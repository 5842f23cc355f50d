"""Looking at an autocomplete model: connectivity and suggestions on the source's paragraph and on the test text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rote.analyses import connectivity
from rote.models import AutocompleteModel
from rote.studies.memorization.measures import Words
from rote.studies.memorization.published import PARAGRAPH
from rote.studies.memorization.tables import NORMS, Looked, Profile, Suggestions
from rote.tasks.alphabet import decode, encode
from rote.tasks.autocomplete import UNKNOWN, Batch

SUGGESTED = 3


def look(model: AutocompleteModel, labels: Mapping[str, Any]) -> Looked:
    """The paragraph. Where its word is outside the vocabulary, connectivity is that of the model's own choice."""
    words = Words.find(PARAGRAPH)
    tokens = torch.from_numpy(encode(PARAGRAPH))[None].to(model.readout.weight.device)
    with torch.no_grad():
        chances = model(tokens).softmax(-1)[0]
    targets = asked_words(model, words).to(tokens.device)
    outside = targets == UNKNOWN
    chosen = torch.where(outside, chances.argmax(-1), targets)
    values = _both_norms(connectivity(model, tokens, chosen[None], norm="l2").values)
    return Looked(labels, {norm: value[0] for norm, value in values.items()}, _suggestions(model, chances, targets))


def asked_words(model: AutocompleteModel, words: Words) -> Tensor:
    """[character]: the output that stands for its word."""
    numbers = {word: index for index, word in enumerate(model.vocabulary)}
    return torch.tensor([numbers.get(words.names[word], UNKNOWN) for word in words.of])


def profiles(model: AutocompleteModel, batch: Batch) -> dict[str, Profile]:
    """Share and reach by both norms over all observations; only outputs whose word is in the vocabulary count."""
    device = model.readout.weight.device
    tokens, targets = (torch.from_numpy(part).to(device) for part in (batch.tokens, batch.targets))
    found = connectivity(model, tokens, targets, lengths=torch.from_numpy(batch.lengths), norm="l2")
    values = _both_norms(found.values)
    made: dict[str, list[Profile]] = {norm: [] for norm in NORMS}
    for row, length in enumerate(batch.lengths.tolist()):
        words = Words.find(decode(batch.tokens[row, :length].tolist()))
        for norm in NORMS:
            part = values[norm][row, :length, :length]
            made[norm].append(Profile.of(part, words, batch.targets[row, :length] > UNKNOWN))
    return {norm: Profile.joined(parts) for norm, parts in made.items()}


def paragraph_profiles(looked: Looked, inside: np.ndarray) -> dict[str, Profile]:
    words = Words.find(PARAGRAPH)
    return {norm: Profile.of(looked.values[norm], words, inside) for norm in NORMS}


def lag_ratios(values: np.ndarray, lags: tuple[int, ...]) -> dict[int, float]:
    """log10 of what outputs draw on the character ``lag`` before, relative to that on their own; the median."""
    own = np.diagonal(values)
    return {lag: float(np.log10(np.median(np.diagonal(values, -lag) / own[lag:]))) for lag in lags}


def _both_norms(values: Tensor) -> dict[str, np.ndarray]:
    norm = values.double().cpu().numpy()
    return {"squared": norm**2, "l2": norm}


def _suggestions(model: AutocompleteModel, chances: Tensor, targets: Tensor) -> Suggestions:
    best, numbers = chances.topk(SUGGESTED, -1)
    own = chances.gather(1, targets[:, None])
    ranks = 1 + (chances > own).sum(-1)
    inside = (targets > UNKNOWN).tolist()
    return Suggestions(
        words=[[model.vocabulary[number] for number in row] for row in numbers.tolist()],
        chances=best.tolist(),
        ranks=[rank if known else None for rank, known in zip(ranks.tolist(), inside, strict=True)],
        target_chances=[value if known else None for value, known in zip(own[:, 0].tolist(), inside, strict=True)],
    )
