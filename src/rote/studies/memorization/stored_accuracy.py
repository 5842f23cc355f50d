"""How many positions stand behind the source's accuracy curves, worked out from their eight decimals.

A stored value is hits / positions, and the values for top 1, 2 and 3 have the same positions. Only few denominators fit
all three. Positions can only become fewer with more known characters, and the three models were tested on one test set,
so of several denominators those are taken that differ least between the models. With no known character there is
one position per word, and the nine values have one denominator in common: the words of the test set.

That the denominators then *differ* between models is the defect: padding at the end of a batch was counted as known
characters of the last word (summary/context_accuracy.py of the source adds one for everything but a space), and how
much of it there is depends on how observations happened to be put into batches.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rote.claims import Estimate

ROUNDING = 5e-9  # of eight decimals
MOST = 2_000_000  # words that a test set may have


@dataclass(frozen=True)
class Counts:
    """[model, known characters], and [model, top, known characters] for the hits."""

    positions: NDArray[np.int64]
    hits: NDArray[np.int64]

    def pooled(self, model: int, known: range, top: int = 0) -> tuple[int, int]:
        """Hits and positions over several numbers of known characters."""
        chosen = slice(known.start, known.stop)
        return int(self.hits[model, top, chosen].sum()), int(self.positions[model, chosen].sum())


def derive(accuracy: NDArray[np.float64]) -> Counts:
    """From accuracy [model, top, known], up to the last number of known characters at which anything was right."""
    known = int((accuracy[:, 0] > 0).all(0).sum())
    words = int(denominators(accuracy[:, :, 0].ravel(), MOST)[0])
    positions = np.full((len(accuracy), known), words)
    for k in range(1, known):
        fitting = [denominators(accuracy[m, :, k], int(positions[m, k - 1])) for m in range(len(accuracy))]
        positions[:, k] = min(itertools.product(*fitting), key=lambda some: max(some) - min(some))
    hits = np.rint(accuracy[:, :, :known] * positions[:, None]).astype(np.int64)
    return Counts(positions, hits)


def denominators(values: NDArray[np.float64], most: int) -> NDArray[np.int64]:
    """Every whole number up to ``most`` of which all the rounded values are whole parts, the smallest first."""
    found = np.arange(1, most + 1)
    for value in values:
        part = value * found
        found = found[np.abs(part - np.rint(part)) <= ROUNDING * found + 1e-9]
    return found


def difference_of_shares(first: tuple[int, int], second: tuple[int, int]) -> Estimate:
    """Of (hits, positions): Newcombe's interval from two Wilson intervals. Independent samples are assumed; two models
    that err on the same words, as here, have a narrower one."""
    (low_1, share_1, high_1), (low_2, share_2, high_2) = _wilson(*first), _wilson(*second)
    gap = share_1 - share_2
    low = gap - math.hypot(share_1 - low_1, high_2 - share_2)
    high = gap + math.hypot(high_1 - share_1, share_2 - low_2)
    return Estimate(gap, low, high, min(first[1], second[1]), "difference of two shares, Newcombe's interval")


def _wilson(hits: int, n: int, z: float = 1.959964) -> tuple[float, float, float]:
    share = hits / n
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return max(0.0, middle - half), share, min(1.0, middle + half)
