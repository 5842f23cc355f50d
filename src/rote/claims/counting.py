"""What a count of seeds says, whenever one stops counting.

``log_evidence`` is the logarithm of a likelihood ratio: a stake on many seeds doing it (nine of ten, cut off at the
share in question) against exactly that share. Wherever the share is not exceeded, it is a supermartingale as seeds are
added, so by Ville's inequality it reaches 20 in at most one case of twenty, however often one looks and whenever one
stops (Robbins 1970; Ramdas et al. 2023). docs/verdicts.md, ``benchmarks/verdicts.py``.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from typing import Literal

Decision = Literal["supported", "contradicted", "open"]
Quantifier = Literal["some", "most", "nearly all"]
SHARES: Mapping[Quantifier, float] = {"most": 0.5, "nearly all": 0.9}
ERROR = 0.05  # at most this share of decisions is wrong, in each direction
DECIDED = math.log(1 / ERROR)
LIKELY = 0.8  # a number of seeds that settles it with this probability is worth naming
MOST_ADDED = 100  # seeds that anybody would add
_STAKE = (9, 1)  # Beta(9, 1): nine seeds of ten do


@functools.cache
def log_evidence(k: int, n: int, share: float) -> float:
    """That more than this share of all seeds do, when ``k`` of ``n`` did."""
    a, b = _STAKE
    posterior = _log_beta(a + k, b + n - k) + _log_tail(a + k, b + n - k, share)
    return posterior - _log_beta(a, b) - _log_tail(a, b, share) - k * math.log(share) - (n - k) * math.log1p(-share)


def _log_beta(a: int, b: int) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


def _log_tail(a: int, b: int, share: float) -> float:
    """Logarithm of the probability that a Beta(a, b) variable is above ``share``: that fewer than ``a`` of a + b - 1
    draws are below it. Whole numbers need no incomplete beta function, whose package takes long to import."""
    n = a + b - 1
    odds = math.log(share) - math.log1p(-share)
    terms = [0.0]  # logarithms of the binomial probabilities, but for a common factor
    for i in range(1, a):
        terms.append(terms[-1] + math.log((n - i + 1) / i) + odds)
    largest = max(terms)
    return largest + math.log(math.fsum(math.exp(term - largest) for term in terms)) + n * math.log1p(-share)


@functools.cache
def decide(k: int, n: int, quantifier: Quantifier = "most") -> Decision:
    """Of a statement about some, most or nearly all seeds, that held in ``k`` of ``n``."""
    if quantifier == "some":  # which no number of seeds can contradict
        return "supported" if k else "open"
    share = SHARES[quantifier]
    if k <= share * n:  # then no greater share makes the count more probable: no evidence for one
        return "contradicted" if log_evidence(n - k, n, 1 - share) >= DECIDED else "open"
    return "supported" if log_evidence(k, n, share) >= DECIDED else "open"


def evidence_for(k: int, n: int, quantifier: Quantifier = "most") -> float:
    """The logarithm of the e-value that the statement holds; one seed proves what is said of some."""
    if quantifier == "some":
        return math.inf if k else -math.inf
    return log_evidence(k, n, SHARES[quantifier])


@functools.cache
def share_interval(k: int, n: int) -> tuple[float, float]:
    """The shares of all seeds that the count leaves possible, valid whenever one stops; 5 % on either side."""
    return _least_share(k, n), 1.0 - _least_share(n - k, n)


def _least_share(k: int, n: int) -> float:
    """Shares below it are excluded: for all of them the evidence that they are exceeded is at least 20."""
    if not k:
        return 0.0
    low, high = 1e-9, 1.0 - 1e-9
    if log_evidence(k, n, low) < DECIDED:
        return 0.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if log_evidence(k, n, middle) >= DECIDED else (low, middle)
    return low


@functools.cache
def seeds_to_settle(k: int, n: int, quantifier: Quantifier = "most") -> int | None:
    """The least number of seeds, these included, by which it is decided with a probability of four fifths.

    The predictive distribution after ``k`` of ``n``, from Jeffreys' prior; None where even ``MOST_ADDED`` more leave
    it open more often.
    """
    open_states, settled = {k: 1.0}, 0.0
    for total in range(n, n + MOST_ADDED):
        following: dict[int, float] = {}
        for count, probability in open_states.items():
            holds = (count + 0.5) / (total + 1)
            for more, share in ((1, holds), (0, 1 - holds)):
                if decide(count + more, total + 1, quantifier) == "open":
                    following[count + more] = following.get(count + more, 0.0) + probability * share
                else:
                    settled += probability * share
        open_states = following
        if settled >= LIKELY:
            return total + 1
    return None


def false_discovery(log_e: Sequence[float], rate: float = ERROR) -> list[bool]:
    """Which of these e-values are discoveries at this false discovery rate, whatever their dependence: e-BH (Wang and
    Ramdas 2022)."""
    ranked = sorted(range(len(log_e)), key=lambda index: -log_e[index])
    kept = 0
    for rank, index in enumerate(ranked, start=1):
        if log_e[index] >= math.log(len(log_e) / (rate * rank)):
            kept = rank
    chosen = set(ranked[:kept])
    return [index in chosen for index in range(len(log_e))]
