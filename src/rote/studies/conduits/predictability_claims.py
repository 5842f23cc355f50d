"""The numbers on which the claims about predictable conduits are judged, from the study's tables. One per seed."""

from __future__ import annotations

import math
from collections.abc import Callable

from rote.claims import Estimate, Tables, paired_difference
from rote.studies.summaries import Row, grouped

Extreme = Callable[[list[int]], int]


def networks(tables: Tables, setting: str, extreme: Extreme, kind: str = "unseen") -> list[Row]:
    """Of the main cell, one row per seed, for the shortest or the longest conduit."""
    table = tables["networks"]
    rows = table.where(cell=table.column("cell")[0], setting=setting, kind=kind).records()
    chosen = [row for row in rows if row["k"] == extreme([other["k"] for other in rows])]
    return sorted(chosen, key=lambda row: row["seed"])


def head_start(
    tables: Tables, extreme: Extreme, column: str = "learned", kind: str = "unseen", suffix: str = ""
) -> Estimate:
    times = [
        [
            math.log2(row["epoch"] if row[column] is None else row[column])
            for row in networks(tables, setting, extreme, kind)
        ]
        for setting in (f"unpredictable{suffix}", f"predictable{suffix}")
    ]
    return paired_difference(*times)


def late(tables: Tables, extreme: Extreme, column: str = "open", suffix: str = "") -> Estimate:
    values = [
        [row[column] for row in networks(tables, setting, extreme)]
        for setting in (f"predictable{suffix}", f"unpredictable{suffix}")
    ]
    return paired_difference(*values)


def defect(tables: Tables) -> Estimate:
    values = [
        [row["own"] for row in networks(tables, setting, min, "training")]
        for setting in ("predictable, as published", "predictable")
    ]
    return paired_difference(*values)


def gradient(tables: Tables, column: str) -> Estimate:
    """Through the conduits that the networks were trained on."""
    return paired_difference(
        *(_early(tables, setting, "training", column) for setting in ("predictable", "unpredictable"))
    )


def familiar(tables: Tables) -> Estimate:
    return paired_difference(*(_early(tables, "predictable", kind, "jacobians") for kind in ("training", "unseen")))


def _early(tables: Tables, setting: str, kind: str, column: str) -> list[float]:
    """By seed: the mean over lengths and the measurements of the first quarter of training, without the first."""
    table = tables["networks"]
    rows = table.where(cell=table.column("cell")[0], setting=setting, kind=kind).records()
    return [
        sum(math.nan if row[f"early_{column}"] is None else row[f"early_{column}"] for row in group) / len(group)
        for _, group in sorted(grouped(rows, ("seed",)).items())
    ]
