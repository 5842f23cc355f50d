"""The tables of lookup-readings, with the published values beside ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rote.laboratory.aggregate import Row, band, grouped, interval_columns
from rote.store import Column, Table
from rote.studies.realization import published
from rote.studies.realization.accuracy_tables import LABELS
from rote.studies.realization.inside_tables import label_columns, summed, value_columns

COLUMNS: dict[str, tuple[str, tuple[Column, ...]]] = {  # table of a run -> title, columns beside cell, model and seed
    "probes": ("What classifiers with and without a penalty read from every model", (
        *label_columns(
            input="activations that the classifier sees", label="what it tells",
            penalty="none, as the text says, or L2 with C = 1, as the authors' code has",
            ranking="of the units: weights summed over classes, weights of the first class, or Shapley values",
        ),
        *value_columns(
            accuracy="of all units, held-out samples", group_accuracy="of the functional group",
            units="in the functional group",
        ),
    )),
    "shapley": ("Groups that tell the table, by weights and by Shapley values", (
        *label_columns(penalty="of the classifier"),
        *value_columns(
            units_weights="in the group by weights, mean over divisions of the samples",
            units_shapley="in the group by Shapley values", confirmed="share of the first that is in the second",
            alike_weights="units that the groups of two divisions share, of all that either has, by weights",
            alike_shapley="the same by Shapley values",
        ),
    )),
    "connected": ("How one-sided strongly connected neurons are", (
        *label_columns(matrix="weights of one gate"),
        *value_columns(
            neurons="that are strongly connected: the 5 % with the most strong edges",
            polarity="|sum| / sum of the absolute weights of such a neuron, mean",
            polarity_strong="the same of its strong edges alone",
        ),
    )),
    "opposite": ("Strongly connected neurons with opposite signs in update and reset gate", (
        *label_columns(part="encoder: received; decoder: sent"),
        *value_columns(
            neurons="that are strongly connected in either gate",
            opposite="share whose mean weights have opposite signs",
        ),
    )),
}  # fmt: skip
SUMMED = {  # name of a table of every model -> (place, labels beside cell and model, measures)
    "shapley": (
        "Section 4.1, footnote 5",
        ("penalty",),
        ("units_weights", "units_shapley", "confirmed", "alike_weights", "alike_shapley"),
    ),
    "connected": ("Section 3.2, Figure 2", ("matrix",), ("polarity", "polarity_strong")),
    "opposite": ("Section 3.2", ("part",), ("opposite",)),
}


def run_tables(rows: Mapping[str, Sequence[Row]]) -> list[Table]:
    """What is measured of the models of a seed, by the names of ``COLUMNS``; of what there is nothing, no table."""
    return [
        Table.make(name, title, (*LABELS, *columns), rows[name], details=True)
        for name, (title, columns) in COLUMNS.items()
        if rows.get(name)
    ]


def all_tables(every: Mapping[str, Table]) -> list[Table]:
    shown = [summed(every[name], COLUMNS[name][1], *how) for name, how in SUMMED.items() if name in every]
    return [_probes(every["probes"]), *shown, *(every[name] for name in COLUMNS if name in every)]


def _probes(every: Table) -> Table:
    names = ("cell", "input", "label", "model", "penalty", "ranking")
    long = []
    for key, group in grouped(every.records(), names).items():
        row = dict(zip(names, key, strict=True))
        units = band([one["units"] for one in group])
        means = {name: band([one[name] for one in group])["mean"] for name in ("group_accuracy", "accuracy")}
        said = published.DIAGNOSIS.get((row["input"], row["label"], row["model"])) if row["cell"] == "gru" else None
        row |= means | {"seeds": len(group), "units": units["mean"], "low": units.get("low"), "high": units.get("high")}
        known = zip(("group_accuracy", "accuracy", "units"), said or (None, None, None), strict=True)
        long.append(row | {f"{name}_published": value for name, value in known})
    columns = (
        *(Column(name, role="label") for name in names),
        Column("seeds", "models", "label"),
        Column("group_accuracy", "of the functional group, mean"),
        Column("group_accuracy_published", "", "published"),
        Column("accuracy", "of all units, mean"),
        Column("accuracy_published", "", "published"),
        Column("units", "in the functional group, mean"),
        *interval_columns(),
        Column("units_published", "", "published"),
    )
    return Table.make(
        "probes-summary", "Diagnostic classifiers with and without a penalty", columns, long, place="Tables 2 and 3",
        note="The source's text has no penalty, its code L2. Published numbers are the same in all rows of a model: "
        "which of the rankings and penalties they come from is not certain. Gates with the penalty: lookup-inside.",
    )  # fmt: skip
