"""How often verdicts are wrong, and what being right costs: simulated seeds, the old rule beside the present one.

    python benchmarks/verdicts.py

The old rule judged a mean by whether its t interval lies beyond the end of a region. The present one counts the seeds
inside the region: ``rote.claims.decide``. Both are tried where they are wrong most easily, at the border: the old one
with the true mean for an end, the present one with an end that half of all seeds exceed. Where many seeds have the same
value there is no such end; then it is the nearest on either side.

false verdicts  with a fixed number of seeds, and with seeds added one by one from 5 to 20 until decided (target: at
                most 5 % supported and 5 % contradicted)
coverage        of the intervals that are shown: how often they have the true mean, or the true share at all n at once
price           how often a statement that holds in a share p of all seeds is decided rightly, and with how many seeds
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from rote.claims import decide, mean, share_interval

Draw = Callable[[np.random.Generator, tuple[int, int]], NDArray[np.float64]]
FEWEST, MOST, LOOKS = 5, 20, (5, 10, 20)
REPEATS, INTERVALS = 100_000, 1000
TARGET = 0.05
OUTCOME = {"open": 0, "supported": 1, "contradicted": -1}
SHARES = (0.7, 0.8, 0.9, 0.95, 1.0)


@dataclass(frozen=True)
class Population:
    """``below`` and ``above``: ends that at most, and at least, half of the seeds exceed."""

    draw: Draw
    mean: float
    below: float
    above: float
    bounds: tuple[float, float] = (-math.inf, math.inf)


def learning(share: float) -> Population:
    """This share of seeds has learned, with an accuracy of 1; the others are at 0.5."""
    ends = (1.0, 0.75) if share > 0.5 else (0.75, 0.75)
    return Population(lambda r, shape: np.where(r.random(shape) < share, 1.0, 0.5), (1 + share) / 2, *ends, (0.0, 1.0))


def ceiling(random: np.random.Generator, shape: tuple[int, int]) -> NDArray[np.float64]:
    return np.where(random.random(shape) < 0.8, 1.0, random.uniform(0.9, 1.0, shape))


POPULATIONS = {
    "normal": Population(lambda r, shape: r.standard_normal(shape), 0.0, 0.0, 0.0),
    "exponential": Population(lambda r, shape: r.exponential(size=shape), 1.0, math.log(2), math.log(2)),
    "from 0 to 1, skew -1.2": Population(
        lambda r, shape: r.beta(5, 1, shape), 5 / 6, 0.5**0.2, 0.5**0.2, (0.0, 1.0)
    ),
    "80 % at 1, rest 0.9 to 1": Population(ceiling, 0.99, 1.0, 0.9999, (0.0, 1.0)),
    "50 % learn, 50 % fail": learning(0.5),
    "80 % learn, 20 % fail": learning(0.8),
    "95 % learn, 5 % fail": learning(0.95),
}  # fmt: skip


def old_rule(values: NDArray[np.float64], end: float) -> NDArray[np.int8]:
    """Of the first 1, 2, ... seeds of each row, "mean above the end": 1 supported, -1 contradicted, 0 open."""
    n = np.arange(1, values.shape[1] + 1)
    centered = values - end
    center, squares = centered.cumsum(1) / n, (centered**2).cumsum(1)
    spread = np.sqrt(np.maximum(squares - n * center**2, 0.0) / np.maximum(n - 1, 1))
    spread[spread < 1e-7] = 0.0  # rounding, where all seeds have the same value
    half = stdtrit(np.maximum(n - 1, 1), 0.975) * spread / np.sqrt(n)
    return (center > half).astype(np.int8) - (center < -half).astype(np.int8)


def counting(holds: NDArray[np.bool_]) -> NDArray[np.int8]:
    """The same by the present rule, from which seeds are in the region."""
    n = holds.shape[1]
    decisions = np.zeros((n + 1, n + 1), dtype=np.int8)
    for total in range(1, n + 1):
        decisions[total, : total + 1] = [OUTCOME[decide(k, total)] for k in range(total + 1)]
    return decisions[np.arange(1, n + 1), holds.cumsum(1)]


def until_decided(outcomes: NDArray[np.int8]) -> NDArray[np.int8]:
    """What each row says when one stops at the first decision from ``FEWEST`` to ``MOST`` seeds."""
    looked = outcomes[:, FEWEST - 1 : MOST]
    first = (looked != 0).argmax(1)
    return looked[np.arange(len(looked)), first]


def rates(supported: NDArray[np.int8], contradicted: NDArray[np.int8]) -> tuple[str, float, float]:
    """As a cell of the table, and the two shares of wrong verdicts when seeds are added."""
    cells = [f"{(supported[:, n - 1] == 1).mean():5.1%} + {(contradicted[:, n - 1] == -1).mean():5.1%}" for n in LOOKS]
    added = (until_decided(supported) == 1).mean(), (until_decided(contradicted) == -1).mean()
    return "   ".join([*cells, f"{added[0]:5.1%} + {added[1]:5.1%}"]), *added


def false_verdicts(random: np.random.Generator) -> float:
    """Prints them; the largest share by the present rule."""
    print("false verdicts at the border, supported + contradicted")
    print(" " * 42 + "".join(f"n = {n:<14}" for n in LOOKS) + f"added, {FEWEST} to {MOST}")
    worst = 0.0
    for name, population in POPULATIONS.items():
        values = population.draw(random, (REPEATS, MOST))
        old = old_rule(values, population.mean)
        new = counting(values > population.below), counting(values > population.above)
        for rule, both in (("t interval", (old, old)), ("counting", new)):
            told, *added = rates(*both)
            print(f"{name:26}{rule:14}{told}")
            worst = max([worst, *added]) if rule == "counting" else worst
    return worst


def coverage(random: np.random.Generator) -> None:
    print(f"\ncoverage of 95 % intervals of the mean, n = {', '.join(map(str, LOOKS))}; of the share's, n = 5 to 20")
    for name, population in POPULATIONS.items():
        t, shown = [], []
        for n in LOOKS:
            sample = np.sort(population.draw(random, (INTERVALS, n)), axis=1)  # sorted: alike ones are computed once
            t.append((old_rule(sample, population.mean)[:, -1] == 0).mean())
            found = [mean(row, population.bounds) for row in sample.tolist()]
            shown.append(np.mean([interval.low <= population.mean <= interval.high for interval in found]))
        inside = population.draw(random, (REPEATS, MOST)) > population.above
        told = [" / ".join(f"{share:4.0%}" for share in cell) for cell in (t, shown)]
        print(f"{name:26}t {told[0]}   shown {told[1]}   share {_covered(inside):4.0%}")


def _covered(holds: NDArray[np.bool_]) -> float:
    """How often the interval of the share has the true one at every number of seeds."""
    share = holds.mean()
    counts, fits = holds.cumsum(1), np.ones(len(holds), dtype=bool)
    for n in range(FEWEST, holds.shape[1] + 1):
        ends = [share_interval(k, n) for k in range(n + 1)]
        fits &= np.array([low <= share <= high for low, high in ends])[counts[:, n - 1]]
    return float(fits.mean())


def price(random: np.random.Generator) -> None:
    print(f"\nprice: decided rightly by {', '.join(map(str, LOOKS))} seeds, and seeds used of {MOST}")
    for share in SHARES:
        outcomes = counting(random.random((REPEATS, MOST)) < share)
        decided = [(until_decided(np.where(np.arange(MOST) < n, outcomes, 0)) == 1).mean() for n in LOOKS]
        looked = outcomes[:, FEWEST - 1 :] != 0
        used = FEWEST + np.where(looked.any(1), looked.argmax(1), MOST - FEWEST)
        print(f"p = {share:4.2f}   {' / '.join(f'{rate:4.0%}' for rate in decided)}   {used.mean():4.1f} seeds")


def main() -> None:
    random = np.random.default_rng(0)
    worst = false_verdicts(random)
    coverage(random)
    price(random)
    print(f"\nfalse verdicts by counting while seeds are added: at most {worst:.1%} (target: {TARGET:.0%})")
    if worst > TARGET:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
