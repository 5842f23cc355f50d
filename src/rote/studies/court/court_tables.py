"""The court's tables: every network and method, the mean of each seed, and bands over seeds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rote.laboratory.aggregate import BAND, bands
from rote.store import Column, Table

METHODS = (
    "two", "shapley", "decomposition", "deeplift", "integrated_gradients", "lrp", "decomposition_gcd2019",
    "decomposition_source_never", "decomposition_murdoch2018", "alone", "occlusion", "gradient_input", "connectivity",
)  # fmt: skip
MEASURES = {
    "direction": "cosine with the exact Shapley values",
    "size": "median distance from the Shapley values, over their norm",
    "mass": "share of what is attributed that lies on the deciding symbols",
    "rank": "chance that a deciding symbol gets more than one that does not decide",
    "long": "the most that a symbol of a long string gets, over the output's range",
    "right": "share of deletions on which the network is right",
}
WORST = ("long",)
NUMBERS = tuple(Column(name, about) for name, about in MEASURES.items())
NOTE = (
    "Means over programs and cells, of `long` the largest. The truth is the network's own output for every set of "
    "symbols, and what decides is the program's. Erasure (two, alone, occlusion, shapley) is made of the same passes."
)


def networks_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    labels = (
        Column("seed", "random seed of network and strings", "label"), Column("program", role="label"),
        Column("cell", "recurrent unit", "label"), Column("method", role="label"),
    )  # fmt: skip
    return Table.make("networks", "Every network by every method", (*labels, *NUMBERS), rows, details=True)


def all_tables(measured: Mapping[str, Table]) -> list[Table]:
    networks = measured["networks"]
    rows = networks.records()
    cells = [*dict.fromkeys(row["cell"] for row in rows)]
    groups = {"all": cells, **{cell: [cell] for cell in cells}}
    seeds = [
        {"seed": seed, "cell": name, "method": method, **_mean(rows, seed, method, some)}
        for method in dict.fromkeys(row["method"] for row in rows)
        for name, some in groups.items()
        for seed in dict.fromkeys(row["seed"] for row in rows)
    ]
    labels = (Column("seed", "", "label"), Column("cell", "of which networks", "label"), Column("method", "", "label"))
    by_seed = Table.make("seeds", "Every seed", (*labels, *NUMBERS), seeds, details=True)
    flat = [
        {"method": row["method"], "measure": measure, "value": row[measure]}
        for row in seeds
        if row["cell"] == "all"
        for measure in ("direction", "size", "rank")
    ]
    place = {method: number for number, method in enumerate(METHODS)}
    found = sorted(bands(flat, ("measure", "method"), "value"), key=lambda row: place[row["method"]])
    columns = (Column("measure", role="label"), Column("method", role="label"), *BAND)
    order = sorted(found, key=lambda row: ("direction", "size", "rank").index(row["measure"]))
    return [
        Table.make(
            "methods", "Explanation methods against the truth", columns, order, note=NOTE, figure="court-methods"
        ),
        by_seed,
        networks,
    ]


def _mean(rows: Sequence[Mapping[str, Any]], seed: int, method: str, cells: Sequence[str]) -> dict[str, float | None]:
    mine = [row for row in rows if row["seed"] == seed and row["method"] == method and row["cell"] in cells]
    found: dict[str, float | None] = {}
    for measure in MEASURES:
        known = [row[measure] for row in mine if row[measure] is not None]
        found[measure] = None if not known else max(known) if measure in WORST else math.fsum(known) / len(known)
    return found
