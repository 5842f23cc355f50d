"""The line on which a field crosses a level: marching squares on a regular grid, exact for linear fields."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import numpy as np

# An edge of the grid: (row, column, 0) goes from (row, column) to the next column, (row, column, 1) to the next row.
Edge = tuple[int, int, int]
Line = list[tuple[float, float]]


def contours(field: np.ndarray, x: np.ndarray, y: np.ndarray, level: float = 0.5) -> list[Line]:
    """The lines ``field == level`` as lists of (x, y), for ``field`` [y, x]. A closed line ends where it began."""
    neighbors: dict[Edge, list[Edge]] = defaultdict(list)
    for one, other in _segments(field, level):
        neighbors[one].append(other)
        neighbors[other].append(one)
    return [[_crossing(edge, field, x, y, level) for edge in chain] for chain in _chains(neighbors)]


def _segments(field: np.ndarray, level: float) -> Iterator[tuple[Edge, Edge]]:
    """The pieces of the lines, one or two for each cell whose corners lie on both sides, as pairs of crossed edges."""
    above = field > level
    mixed = above[:-1, :-1].astype(int) + above[:-1, 1:] + above[1:, :-1] + above[1:, 1:]
    for r, c in np.argwhere((mixed > 0) & (mixed < 4)).tolist():
        # Around the cell: the edge between each corner and the next.
        edges: list[Edge] = [(r, c, 0), (r, c + 1, 1), (r + 1, c, 0), (r, c, 1)]
        corners = [above[r, c], above[r, c + 1], above[r + 1, c + 1], above[r + 1, c]]
        crossed = [edge for i, edge in enumerate(edges) if corners[i] != corners[(i + 1) % 4]]
        if len(crossed) == 2:
            yield crossed[0], crossed[1]
            continue
        # A saddle: the middle decides which two opposite corners belong together.
        middle_above = field[r : r + 2, c : c + 2].mean() > level
        first, second, third, fourth = crossed
        if bool(corners[0]) == bool(middle_above):
            yield first, second
            yield third, fourth
        else:
            yield fourth, first
            yield second, third


def _chains(neighbors: dict[Edge, list[Edge]]) -> Iterator[list[Edge]]:
    """The pieces joined end to end: first the lines that end at the border, then the closed ones."""
    left = {edge: list(others) for edge, others in neighbors.items()}
    ends = sorted(edge for edge, others in left.items() if len(others) == 1)
    for start in (*ends, *sorted(left)):
        chain = [start]
        while left[chain[-1]]:
            following = left[chain[-1]].pop(0)
            left[following].remove(chain[-1])
            chain.append(following)
        if len(chain) > 1:
            yield chain


def _crossing(edge: Edge, field: np.ndarray, x: np.ndarray, y: np.ndarray, level: float) -> tuple[float, float]:
    """Where the field, linear along the edge, has the level."""
    r, c, down = edge
    r2, c2 = (r + 1, c) if down else (r, c + 1)
    here, there = float(field[r, c]), float(field[r2, c2])
    share = (level - here) / (there - here)
    return float(x[c] + share * (x[c2] - x[c])), float(y[r] + share * (y[r2] - y[r]))
