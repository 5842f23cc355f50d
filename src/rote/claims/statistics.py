"""Estimates with their 95 % intervals. Each says how it was made; the tests compare them with scipy and simulation."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Estimate:
    value: float
    low: float
    high: float
    n: int
    test: str  # how the interval (and p) came about
    p: float | None = None  # probability of a difference this large if there were none


def mean(values: Sequence[float], bounds: tuple[float, float] = (-math.inf, math.inf)) -> Estimate:
    """Mean over independent seeds, Student's t interval; ``bounds`` are the values that the mean can have at all."""
    sample = np.asarray(values, dtype=float)
    center, half = _t_interval(sample)
    low, high = (max(center - half, bounds[0]), min(center + half, bounds[1])) if len(sample) else (-math.inf, math.inf)
    return Estimate(center, low, high, len(sample), "mean, Student's t interval")


def proportion(successes: int, n: int) -> Estimate:
    """Share of seeds, exact (Clopper-Pearson) interval."""
    from scipy.special import betaincinv

    if not 0 <= successes <= n or n < 1:
        raise ValueError(f"{successes} successes of {n} is not a proportion.")
    low = float(betaincinv(successes, n - successes + 1, 0.025)) if successes > 0 else 0.0
    high = float(betaincinv(successes + 1, n - successes, 0.975)) if successes < n else 1.0
    return Estimate(successes / n, low, high, n, "proportion, exact binomial interval")


def paired_difference(first: Sequence[float], second: Sequence[float]) -> Estimate:
    """Mean of first - second over seeds that share initialization; t interval, sign-flip permutation test."""
    if len(first) != len(second):
        raise ValueError(f"Pairs need as many first as second values. Got {len(first)} and {len(second)}.")
    sample = np.asarray(first, dtype=float) - np.asarray(second, dtype=float)
    center, half = _t_interval(sample)
    p = _sign_flip_p(sample)
    test = "mean paired difference, Student's t interval, sign-flip permutation test"
    return Estimate(center, center - half, center + half, len(sample), test, p)


def difference(first: Sequence[float], second: Sequence[float]) -> Estimate:
    """Mean of first minus mean of second, independent samples; Welch's t interval, permutation test."""
    from scipy.special import stdtrit

    a, b = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    center = float(a.mean() - b.mean())
    test = "difference of means, Welch's t interval, permutation test"
    n = min(len(a), len(b))
    if n < 2:
        return Estimate(center, -math.inf, math.inf, n, test)
    va, vb = a.var(ddof=1) / len(a), b.var(ddof=1) / len(b)
    half = 0.0
    if va + vb > 0:
        freedom = (va + vb) ** 2 / (va**2 / (len(a) - 1) + vb**2 / (len(b) - 1))
        half = float(stdtrit(freedom, 0.975) * math.sqrt(va + vb))
    return Estimate(center, center - half, center + half, n, test, _permutation_p(a, b))


def _t_interval(sample: np.ndarray) -> tuple[float, float]:
    from scipy.special import stdtrit

    center = float(sample.mean()) if len(sample) else math.nan
    if len(sample) < 2:
        return center, math.inf
    return center, float(stdtrit(len(sample) - 1, 0.975) * sample.std(ddof=1) / math.sqrt(len(sample)))


def _sign_flip_p(sample: np.ndarray, draws: int = 20_000) -> float | None:
    """Two-sided: how often random signs give a mean as far from zero. All sign patterns where these are few."""
    n = len(sample)
    if n <= 14:
        signs = np.array(list(itertools.product((1.0, -1.0), repeat=n)))
        return _share_as_extreme(signs @ sample / n, sample.mean(), exact=True)
    signs = np.random.default_rng(0).choice((1.0, -1.0), size=(draws, n))
    return _share_as_extreme(signs @ sample / n, sample.mean(), exact=False)


def _permutation_p(a: np.ndarray, b: np.ndarray, draws: int = 20_000) -> float | None:
    pooled, n = np.concatenate([a, b]), len(a)
    if math.comb(len(pooled), n) <= draws:
        chosen = np.array(list(itertools.combinations(range(len(pooled)), n)))
        exact = True
    else:
        keys = np.random.default_rng(0).random((draws, len(pooled)))
        chosen, exact = np.argpartition(keys, n, axis=1)[:, :n], False
    first = pooled[chosen].sum(axis=1)
    null = first / n - (pooled.sum() - first) / len(b)
    return _share_as_extreme(null, a.mean() - b.mean(), exact)


def _share_as_extreme(null: np.ndarray, observed: float, exact: bool) -> float | None:
    if not math.isfinite(observed):  # a diverged seed: nothing compares with NaN, which must not read as p = 0
        return None
    # A tolerance, so that rounding does not exclude the observed arrangement itself.
    hits = int((np.abs(null) >= abs(observed) * (1 - 1e-9)).sum())
    return hits / len(null) if exact else (hits + 1) / (len(null) + 1)
