"""Means with their 95 % intervals: shown beside verdicts and in tables, never judged by."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

DRAWS = 10_000  # of Dirichlet weights: the ends of an interval are then good to about 0.01 of its bounds


@dataclass(frozen=True)
class Estimate:
    value: float
    low: float
    high: float
    n: int
    method: str  # how the interval came about


def mean(values: Sequence[float], bounds: tuple[float, float] = (-math.inf, math.inf)) -> Estimate:
    """Mean over independent seeds with its interval; ``bounds`` are the values that a seed can have at all.

    Student's t where the values vary inside their bounds. Where one touches a bound, or none differs from another, t
    would call five perfect seeds certain: then the interval is Gaffke's, which allows for what was not seen.
    """
    return _mean(tuple(map(float, values)), bounds)


@functools.lru_cache(maxsize=4096)  # a report shows the same numbers in many places
def _mean(values: tuple[float, ...], bounds: tuple[float, float]) -> Estimate:
    sample = np.asarray(values, dtype=float)
    if not len(sample):
        return Estimate(math.nan, -math.inf, math.inf, 0, "no value")
    center = float(sample.mean())
    bounded = math.isfinite(bounds[0]) and math.isfinite(bounds[1])
    if bounded and (sample.min() <= bounds[0] or sample.max() >= bounds[1] or (len(sample) > 1 and not sample.std())):
        low, high = (
            min(max(_gaffke(tuple(sample.tolist()), bound, part), bounds[0]), bounds[1])  # rounding
            for bound, part in zip(bounds, (2.5, 97.5), strict=True)
        )
        return Estimate(center, low, high, len(sample), "mean, Dirichlet interval")
    if len(sample) < 2 or not sample.std():
        return Estimate(center, *bounds, len(sample), "no spread, no interval")
    half = _t_half_width(sample)
    return Estimate(
        center, max(center - half, bounds[0]), min(center + half, bounds[1]), len(sample), "mean, t interval"
    )


def proportion(successes: int, n: int) -> Estimate:
    """Share of seeds, exact (Clopper-Pearson) interval."""
    from scipy.special import betaincinv

    if not 0 <= successes <= n or n < 1:
        raise ValueError(f"{successes} successes of {n} is not a proportion.")
    low = float(betaincinv(successes, n - successes + 1, 0.025)) if successes > 0 else 0.0
    high = float(betaincinv(successes + 1, n - successes, 0.975)) if successes < n else 1.0
    return Estimate(successes / n, low, high, n, "proportion, exact binomial interval")


def _t_half_width(sample: np.ndarray) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(len(sample) - 1, 0.975) * sample.std(ddof=1) / math.sqrt(len(sample)))


@functools.lru_cache(maxsize=4096)
def _gaffke(values: tuple[float, ...], bound: float, percent: float) -> float:
    """An end of the interval: a quantile of the values and their bound, randomly weighted (Learned-Miller and Thomas
    2019, after Gaffke). For values of 0 and 1 it is Clopper and Pearson's."""
    return float(np.percentile(_weights(len(values) + 1) @ np.array([*values, bound]), percent))


@functools.lru_cache(maxsize=64)
def _weights(n: int) -> np.ndarray:
    return np.random.default_rng(0).dirichlet(np.ones(n), size=DRAWS)
