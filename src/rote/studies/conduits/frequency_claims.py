"""The numbers on which the claims about rule frequency are judged, from the study's tables. One value per seed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from rote.claims import Estimate, Tables, mean, paired_difference
from rote.studies.conduits.summary import LEARNED
from rote.studies.summaries import Row, grouped


def networks(tables: Tables, **labels: Any) -> list[Row]:
    """The networks of the main cell, tested with unseen conduits."""
    table = tables["networks"]
    return table.where(cell=table.column("cell")[0], kind="unseen", **labels).records()


def per_seed(rows: list[Row], value: Callable[[list[Row]], float]) -> list[float]:
    return [value(group) for _, group in sorted(grouped(rows, ("seed",)).items())]


def examples_needed(tables: Tables) -> Estimate:
    rows = networks(tables)
    counts = sorted({row["n"] for row in rows})
    beyond = counts[-1] * counts[-1] / counts[-2] if len(counts) > 1 else 2 * counts[-1]

    def needed(group: list[Row]) -> float:
        return math.log2(min([row["n"] for row in group if row["open"] > LEARNED], default=beyond))

    return _longest_minus_shortest(rows, needed)


def epochs_needed(tables: Tables) -> Estimate:
    def needed(group: list[Row]) -> float:
        (row,) = group
        return math.log2(row["epoch"] if row["learned"] is None else row["learned"])

    return _longest_minus_shortest(_at_count(tables, max), needed)


def open_minus_conduit(tables: Tables, at: str) -> Estimate:
    rows = _at_count(tables, max)
    return paired_difference(per_seed(rows, _mean(f"open{at}")), per_seed(rows, _mean(f"conduit{at}")))


def from_conduit(tables: Tables) -> Estimate:
    return mean(per_seed(_at_count(tables, max), _mean("conduit")), bounds=(0.0, 1.0))


def untrained(tables: Tables) -> Estimate:
    return mean(per_seed(_at_count(tables, max), _mean("open_untrained")), bounds=(0.0, 1.0))


def rare_conduit(tables: Tables) -> Estimate:
    return _longest_minus_shortest(_at_count(tables, min), lambda group: math.log10(group[0]["conduit"]))


def rare_open(tables: Tables) -> Estimate:
    rows = _at_count(tables, min)
    short, long = _by_length(rows)
    pairs = zip(per_seed(short, _mean("open")), per_seed(long, _mean("open")), strict=True)
    return mean([abs(math.log10(one / other)) for one, other in pairs])


def rise(tables: Tables, at: str) -> Estimate:
    """Of Figure 2: the whole rule up to the close symbol against the open symbol alone, at the end of training."""
    rows = _figure_2(tables)
    return paired_difference(per_seed(rows, _mean(f"end_whole{at}")), per_seed(rows, _mean(f"end_open{at}")))


def timing(tables: Tables) -> Estimate:
    rows = _figure_2(tables)
    return paired_difference(per_seed(rows, _mean("end_own")), per_seed(rows, _mean("end_own_early")))


def error_single(tables: Tables) -> Estimate:
    return mean(per_seed(networks(tables), lambda group: max(row["error_float32"] for row in group)), bounds=(0.0, 1.0))


def error_double(tables: Tables) -> Estimate:
    return mean(per_seed(networks(tables), lambda group: max(row["error"] for row in group)), bounds=(0.0, 1.0))


def _at_count(tables: Tables, extreme: Callable[[list[int]], int]) -> list[Row]:
    rows = networks(tables)
    return [row for row in rows if row["n"] == extreme([other["n"] for other in rows])]


def _figure_2(tables: Tables) -> list[Row]:
    """The networks of Figure 2's length; of the longest where the grid does not have it."""
    rows, length = _at_count(tables, max), tables["networks"].options["figure_2_length"]
    lengths = {row["k"] for row in rows}
    return [row for row in rows if row["k"] == (length if length in lengths else max(lengths))]


def _by_length(rows: list[Row]) -> tuple[list[Row], list[Row]]:
    """Those of the shortest and of the longest conduit."""
    lengths = [row["k"] for row in rows]
    return [row for row in rows if row["k"] == min(lengths)], [row for row in rows if row["k"] == max(lengths)]


def _longest_minus_shortest(rows: list[Row], value: Callable[[list[Row]], float]) -> Estimate:
    short, long = _by_length(rows)
    return paired_difference(per_seed(long, value), per_seed(short, value))


def _mean(column: str) -> Callable[[list[Row]], float]:
    return lambda group: sum(row[column] for row in group) / len(group)
