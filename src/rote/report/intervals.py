"""A measurement as a small picture: the estimate with its interval, against what was expected beforehand."""

from __future__ import annotations

import math
from dataclasses import dataclass

from rote.claims import Criterion, Estimate

WIDTH, HEIGHT = 168.0, 22.0


@dataclass(frozen=True)
class IntervalPlot:
    """Horizontal places within 0..WIDTH."""

    value: float
    low: float
    high: float
    size: float  # beyond this the claim is confirmed
    at_all: float  # beyond this its direction is
    confirmed: tuple[float, float]  # left edge and width of the side that confirms


def interval_plot(estimate: Estimate, expected: Criterion) -> IntervalPlot | None:
    """The picture, or None where there is no value. Without an interval the line runs over the whole width."""
    if not math.isfinite(estimate.value):
        return None
    marks = [estimate.value, estimate.low, estimate.high, expected.size, expected.at_all]
    finite = [mark for mark in marks if math.isfinite(mark)]
    least, most = min(finite), max(finite)
    room = 0.18 * (most - least) or 0.5 * max(abs(most), 1.0)
    left, right = least - room, most + room

    def at(value: float) -> float:
        return round(WIDTH * min(1.0, max(0.0, (value - left) / (right - left))), 1)

    size = at(expected.size)
    confirmed = (size, round(WIDTH - size, 1)) if expected.direction == "above" else (0.0, size)
    places = [at(value) for value in (estimate.value, estimate.low, estimate.high)]
    return IntervalPlot(places[0], places[1], places[2], size, at(expected.at_all), confirmed)
