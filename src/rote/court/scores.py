"""What an attribution is worth against the truth, string by string.

Two questions are asked of it and kept apart: does it find the positions that decide (*used*: mass, rank), and does it
say what each adds (the exact Shapley values: direction, size, sign)? They differ by right: a write that was overwritten
decides nothing, and still adds to some sets.
"""

from __future__ import annotations

import numpy as np

from rote.court.enumeration import Truth

MEASURES = {
    "direction": "cosine with the exact Shapley values",
    "size": "error: distance from the Shapley values over their norm (median)",
    "sign": "share of the Shapley values, by size, whose sign is right",
    "mass": "share of all that is attributed that lies on the deciding positions",
    "rank": "chance that a deciding position gets more than one that does not decide (AUC)",
    "completeness": "what is left over of the output, over its range",
    "dummy": "the most that a position gets that never matters, over the range",
    "largest": "the most that any position gets, over the range",
    "interactions": "cosine of what pairs do beyond their parts with the interaction indices",
    "long": "the most that any of 120 positions gets, over the range (the worst network)",
    "codings": "distance between networks of one function whose units are coded otherwise, over the norm",
    "shuffled": "|cosine| with what is said of the network with its weights shuffled",
    "milliseconds": "for one string",
}
BETTER = {"direction": 1, "sign": 1, "mass": 1, "rank": 1, "interactions": 1}  # the others are better when small
SIGNED = ("direction", "size", "sign", "completeness", "dummy", "largest", "interactions", "codings")
NONE = 1e-2  # of the range: what is less is nothing, as what a saturated network leaks


def per_string(values: np.ndarray, truth: Truth, scale: float, signed: bool) -> dict[str, np.ndarray]:
    """Each measure for every string [string]; NaN where it means nothing (no Shapley value, all positions decide)."""
    size = np.abs(values)
    found = {"mass": _mass(size, truth.used), "rank": _rank(size, truth.used)}
    if not signed:
        return found
    phi, norm = truth.shapley, np.linalg.norm(truth.shapley, axis=1)
    weight = np.abs(phi)
    some = norm > NONE * scale
    right = (weight * (np.sign(values) == np.sign(phi))).sum(1)
    most = np.where(truth.dummy, size, 0.0).max(1)
    return found | {
        "direction": cosine(values, phi, NONE * scale),
        "size": np.where(some, np.linalg.norm(values - phi, axis=1) / np.where(some, norm, 1), np.nan),
        "sign": np.where(some, right / np.where(some, weight.sum(1), 1), np.nan),
        "completeness": np.abs(values.sum(1) - truth.total) / scale,
        "dummy": np.where(truth.dummy.any(1), most / scale, np.nan),
        "largest": size.max(1) / scale,
    }


def cosine(values: np.ndarray, truth: np.ndarray, least: float = 0.0) -> np.ndarray:
    """Row by row; NaN where the truth is nothing, 0 where only the values are."""
    norms = [np.linalg.norm(part, axis=1) for part in (values, truth)]
    some = norms[0] > least
    found = (values * truth).sum(1) / np.where(some, norms[0], 1) / np.where(norms[1] > 1e-12, norms[1], 1)
    return np.where(norms[1] > max(least, 1e-12), np.where(some, found, 0.0), np.nan)


def pair_score(pairs: np.ndarray, truth: Truth, scale: float) -> np.ndarray:
    """Cosine of [string, pair] with the interaction indices above the diagonal."""
    first, second = np.triu_indices(truth.tokens.shape[1], 1)
    return cosine(pairs, truth.interactions[:, first, second], NONE * scale)


def distance(one: np.ndarray, other: np.ndarray, least: float) -> np.ndarray:
    """Between two attributions of one string, over the mean of their norms."""
    norm = (np.linalg.norm(one, axis=1) + np.linalg.norm(other, axis=1)) / 2
    some = norm > least
    return np.where(some, np.linalg.norm(one - other, axis=1) / np.where(some, norm, 1), np.nan)


def _mass(size: np.ndarray, used: np.ndarray) -> np.ndarray:
    total, both = size.sum(1), used.any(1) & ~used.all(1)
    share = (size * used).sum(1) / np.where(total > 0, total, 1)
    return np.where(both, share, np.nan)


def _rank(size: np.ndarray, used: np.ndarray) -> np.ndarray:
    found = np.full(len(size), np.nan)
    for row, (own, deciding) in enumerate(zip(size, used, strict=True)):
        if deciding.any() and not deciding.all():
            ahead = own[deciding][:, None] - own[~deciding]
            found[row] = ((ahead > 0) + 0.5 * (ahead == 0)).mean()
    return found
