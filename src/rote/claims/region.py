"""Which values of a seed bear an assertion out."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Region:
    """The values between two ends. The ends belong to it only where it is ``closed``: a tie counts against."""

    low: float = -math.inf
    high: float = math.inf
    closed: bool = False

    def __post_init__(self) -> None:
        if not self.low < self.high and not (self.closed and self.low == self.high):
            raise ValueError(f"No value lies between {self.low} and {self.high}.")

    def __contains__(self, value: float) -> bool:
        if value in (self.low, self.high):
            return self.closed or math.isinf(value)
        return self.low < value < self.high

    def __str__(self) -> str:
        if math.isinf(self.high):
            return f"{'at least' if self.closed else 'above'} {self.low:g}"
        if math.isinf(self.low):
            return f"{'at most' if self.closed else 'below'} {self.high:g}"
        return f"exactly {self.low:g}" if self.low == self.high else f"between {self.low:g} and {self.high:g}"


def above(value: float) -> Region:
    return Region(low=value)


def below(value: float) -> Region:
    return Region(high=value)


def at_least(value: float) -> Region:
    """For a sentence that equality bears out too."""
    return Region(low=value, closed=True)


def at_most(value: float) -> Region:
    """For a sentence that equality bears out too."""
    return Region(high=value, closed=True)


def inside(low: float, high: float) -> Region:
    """For 'similar' and 'equally': of a signed difference, with the reason for its size beside it."""
    return Region(low, high)
