"""The tables of lookup-inside: those of one run, and the study's with the published values beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rote.store import Column, Table
from rote.studies.realization import published
from rote.studies.realization.accuracy_tables import LABELS
from rote.studies.summaries import BAND, Row, band, bands, grouped, interval_columns

COLUMNS: dict[str, tuple[str, tuple[Column, ...]]] = {
    "diagnosis": (
        "What linear classifiers read from every model",
        (
            Column("input", "activations that the classifier sees", "label"),
            Column("label", "what it tells", "label"),
            Column("ranking", "of the units: summed over classes, or by the first class as published", "label"),
            Column("splits", "random tokens, or no prefix on both sides", "label"),
            Column("accuracy", "of all units, held-out samples"),
            Column("group_accuracy", "of the functional group"),
            Column("units", "in the functional group"),
            Column("majority", "share of the most frequent class"),
        ),
    ),
    "strong-groups": (
        "Functional groups among the strongest units of the encoder",
        (
            Column("strength", "what makes a unit strong", "label"),
            Column("share", "of the group that tells the table, among the strongest 5 % of the units"),
            Column("group_units", "in the group"),
            Column("strong_units", "that are called strong"),
        ),
    ),
    "embedding": (
        "Mean absolute weight of the decoder embedding",
        (Column("symbols", "which rows", "label"), Column("strength", "mean absolute weight")),
    ),
    "graphs": (
        "How the strong edges are spread",
        (
            Column("matrix", "weights of one gate", "label"),
            Column("gini_in", "inequality of strong edges among receiving neurons; 1: one has them all"),
            Column("gini_out", "the same among sending neurons"),
            Column("most_in", "most strong edges of a receiving neuron"),
            Column("most_out", "most strong edges of a sending neuron"),
            Column("threshold", "absolute weight of the weakest of the strongest 1 %"),
            Column("beyond", "share of the weights beyond the published threshold"),
            Column("beyond_gini_in", "inequality of those among receiving neurons"),
            Column("beyond_gini_out", "the same among sending neurons"),
            Column("polarity_in", "|mean| / mean absolute weight received, mean of the top 5 % neurons"),
            Column("polarity_out", "the same for weights sent"),
        ),
    ),
    "polarity": (
        "Correlation of a neuron's mean update and reset gate weights",
        (Column("part", "encoder: received; decoder: sent", "label"), Column("correlation", "over neurons")),
    ),
    "activations": (
        "Range of the states over the test rows",
        (
            Column("part", role="label"),
            Column("narrow", "share of neurons whose values span less than 0.5"),
            Column("median_range", "largest minus smallest value, median neuron"),
            Column("median_iqr", "upper minus lower quartile, median neuron"),
        ),
    ),
    "gates": (
        "Gate saturation over the test rows",
        (
            Column("part", role="label"),
            Column("gate", "'update' keeps the old state, '1 - update' admits the new one", "label"),
            Column("left", "share of steps below 0.1, mean over units"),
            Column("right", "share of steps above 0.9"),
            Column("off", "share of units that are below 0.1 and above 0.9 at more than 5 % of the steps each"),
        ),
    ),
    "emergence": (
        "Every model over training",
        (Column("epoch", role="label"), Column("measure", role="label"), Column("value")),
    ),
    "embedding-weights": (
        "Decoder embedding of seed 0",
        (Column("symbol", role="label"), Column("unit", role="label"), Column("weight")),
    ),
    "edges": (
        "Strongest 1 % of the gate weights of seed 0",
        (
            Column("matrix", role="label"),
            Column("receiver", role="label"),
            Column("sender", role="label"),
            Column("weight"),
        ),
    ),
    "neurons": (
        "Values of 50 neurons of seed 0 over the test rows",
        (
            Column("part", role="label"),
            Column("neuron", role="label"),
            *(Column(name) for name in ("smallest", "lower", "median", "upper", "largest")),
        ),
    ),
    "gate-units": (
        "Gate saturation of every unit of seed 0",
        (
            Column("part", role="label"),
            Column("gate", role="label"),
            Column("unit", role="label"),
            Column("left", "share of steps below 0.1"),
            Column("right", "share of steps above 0.9"),
        ),
    ),
}
FIGURES = {
    "embedding-weights": ("Figure 1", "lookup-embedding"),
    "edges": ("Figure 2", "lookup-graphs"),
    "neurons": ("Figure 3", "lookup-activations"),
    "gate-units": ("Figure 4", "lookup-gates"),
}
SUMMED = {  # name of a table of every model -> (place, labels beside cell and model, measures)
    "embedding": ("Figure 1", ("symbols",), ("strength",)),
    "graphs": ("Figure 2", ("matrix",), ("gini_in", "gini_out", "beyond", "polarity_in", "polarity_out")),
    "polarity": ("Section 3.2", ("part",), ("correlation",)),
    "activations": ("Figure 3", ("part",), ("narrow", "median_range", "median_iqr")),
    "gates": ("Figure 4", ("part", "gate"), ("left", "right", "off")),
    "strong-groups": ("Section 4.1", ("strength",), ("share",)),
}


def run_table(name: str, rows: Sequence[Row]) -> Table:
    title, columns = COLUMNS[name]
    return Table.make(name, title, (*LABELS, *columns), rows, details=True)


def all_tables(tables: dict[str, Table], units: int) -> list[Table]:
    found = [_diagnosis_summary(tables["diagnosis"])]
    found += [_summed(name, tables[name]) for name in SUMMED if name in tables]
    for name, (place, figure) in FIGURES.items():
        if name in tables:
            options: dict[str, Any] = {"units": units} if name == "edges" else {}
            found.append(replace(tables[name], place=place, figure=figure, options=options))
    found += [_groups(tables["diagnosis"])]
    if "emergence" in tables:
        found.append(_emergence(tables["emergence"]))
    return [*found, *(tables[name] for name in ("diagnosis", *SUMMED) if name in tables)]


def _published(row: Row) -> tuple[float | None, float | None, float | None]:
    """Group accuracy, accuracy and units of the source: GRU models, its own ranking and its own splits."""
    if row["cell"] != "gru":
        return None, None, None
    return published.DIAGNOSIS.get((row["input"], row["label"], row["model"]), (None, None, None))


def _diagnosis_summary(every: Table) -> Table:
    names = ("cell", "input", "label", "model", "ranking", "splits")
    long = []
    for key, group in grouped(every.records(), names).items():
        row = dict(zip(names, key, strict=True))
        group_accuracy, accuracy, units = _published(row)
        found = band([one["units"] for one in group])
        means = {name: sum(one[name] for one in group) / len(group) for name in ("group_accuracy", "accuracy")}
        row |= means | {"seeds": found["seeds"], "units": found["mean"], "low": found.get("low")}
        row |= {"high": found.get("high"), "group_accuracy_published": group_accuracy}
        long.append(row | {"accuracy_published": accuracy, "units_published": units})
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
        "groups-summary", "Diagnostic classifiers and functional groups", columns, long, place="Tables 2 and 3",
        note="The published numbers come from the ranking 'as_published' on 'tokens'.",
    )  # fmt: skip


def _groups(every: Table) -> Table:
    rows = [
        {**row, "published": _published(row)[2]} for row in every.where(ranking="corrected", splits="tokens").records()
    ]
    columns = (
        *LABELS,
        Column("input", role="label"),
        Column("label", role="label"),
        Column("units", "in the functional group"),
        Column("published", "the source's mean", "published"),
    )
    return Table.make(
        "group-sizes", "Units in the functional groups, every model", columns, rows, place="Tables 2 and 3",
        figure="lookup-groups", details=True, note="Corrected ranking, splits of tokens.",
    )  # fmt: skip


def _summed(name: str, every: Table) -> Table:
    place, labels, measures = SUMMED[name]
    names = ("cell", "model", *labels)
    long = [
        {**dict(zip(names, key, strict=True)), "measure": measure, **band([row[measure] for row in group])}
        for key, group in grouped(every.records(), names).items()
        for measure in measures
    ]
    if name == "embedding":
        for row in long:
            known = row["cell"] == "gru"
            row["published"] = published.EMBEDDING.get((row["model"], row["symbols"])) if known else None
    about = {column.name: column.about for column in COLUMNS[name][1]}
    columns = [
        *LABELS[:2], *(Column(label, about[label], "label") for label in labels), Column("measure", role="label"),
        *BAND,
    ]  # fmt: skip
    if name == "embedding":
        columns.append(Column("published", "read off the published figure", "published"))
    note = "; ".join(f"{measure}: {about[measure]}" for measure in measures)
    return Table.make(f"{name}-summary", COLUMNS[name][0], columns, long, place=place, note=f"{note}.")


def _emergence(every: Table) -> Table:
    names = ("cell", "model", "epoch", "measure")
    columns = (*LABELS[:2], Column("epoch", role="label"), Column("measure", role="label"), *BAND)
    return Table.make(
        "emergence", "When modularity appears", columns, bands(every.records(), names, "value"),
        place="Not in the source", figure="lookup-emergence", details=True,
        note="Weights kept during training; at the last epoch those with the lowest validation loss. Bands: 95 % "
        "intervals over seeds.",
    )  # fmt: skip
