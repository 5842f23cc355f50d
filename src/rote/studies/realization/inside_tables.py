"""The tables of lookup-inside, with the published values beside ours."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from rote.claims import Tables, Values, column
from rote.laboratory.aggregate import BAND, Row, band, bands, grouped, interval_columns
from rote.store import Column, Table
from rote.studies.realization import published
from rote.studies.realization.accuracy_tables import LABELS
from rote.studies.realization.models import KINDS


def label_columns(**about: str) -> tuple[Column, ...]:
    return tuple(Column(name, text, "label") for name, text in about.items())


def value_columns(**about: str) -> tuple[Column, ...]:
    return tuple(Column(name, text) for name, text in about.items())


COLUMNS: dict[str, tuple[str, tuple[Column, ...]]] = {  # table of a run -> title, columns beside cell, model and seed
    "diagnosis": ("What linear classifiers read from every model", (
        *label_columns(
            input="activations that the classifier sees", label="what it tells",
            ranking="of the units: summed over classes, or by the first class as published",
            splits="random tokens, or no prefix on both sides",
        ),
        *value_columns(
            accuracy="of all units, held-out samples", group_accuracy="of the functional group",
            units="in the functional group", majority="share of the most frequent class",
        ),
    )),
    "strong-groups": ("Functional groups among the strongest units of the encoder", (
        *label_columns(strength="what makes a unit strong"),
        *value_columns(
            share="of the group that tells the table, among the strongest 5 % of the units",
            group_units="in the group", strong_units="that are called strong",
        ),
    )),
    "embedding": ("Mean absolute weight of the decoder embedding", (
        *label_columns(symbols="which rows"), *value_columns(strength="mean absolute weight"),
    )),
    "graphs": ("How the strong edges are spread", (
        *label_columns(matrix="weights of one gate"),
        *value_columns(
            gini_in="inequality of strong edges among receiving neurons; 1: one has them all",
            gini_out="the same among sending neurons",
            most_in="most strong edges of a receiving neuron", most_out="most strong edges of a sending neuron",
            threshold="absolute weight of the weakest of the strongest 1 %",
            beyond="share of the weights beyond the published threshold",
            beyond_gini_in="inequality of those among receiving neurons",
            beyond_gini_out="the same among sending neurons",
            polarity_in="|mean| / mean absolute weight received, mean of the top 5 % neurons",
            polarity_out="the same for weights sent",
        ),
    )),
    "polarity": ("A neuron's mean update gate weight against its mean reset gate weight", (
        *label_columns(part="encoder: received; decoder: sent"),
        *value_columns(
            correlation="over neurons",
            opposite="share of neurons of opposite signs, of those among the 5 % with the largest mean in either gate",
        ),
    )),
    "activations": ("Range of the states over the test rows", (
        *label_columns(part=""),
        *value_columns(
            narrow="share of neurons whose values span less than 0.5",
            narrow_sampled="how many of the 50 neurons of Figure 3 do",
            median_range="largest minus smallest value, median neuron",
            median_iqr="upper minus lower quartile, median neuron",
        ),
    )),
    "gates": ("Gate saturation over the test rows", (
        *label_columns(part="", gate="'update' keeps the old state, '1 - update' admits the new one"),
        *value_columns(
            left="share of steps below 0.1, mean over units", right="share of steps above 0.9",
            off="share of units that are below 0.1 and above 0.9 at more than 5 % of the steps each",
        ),
    )),
    "emergence": ("Every model over training", (*label_columns(epoch="", measure=""), Column("value"))),
    "embedding-weights": ("Decoder embedding of the first seed", (
        *label_columns(symbol="", unit=""), Column("weight"),
    )),
    "edges": ("Strongest 1 % of the gate weights of the first seed", (
        *label_columns(matrix="", receiver="", sender=""), Column("weight"),
    )),
    "neurons": ("Values of 50 neurons of the first seed over the test rows", (
        *label_columns(part="", neuron=""), *value_columns(smallest="", lower="", median="", upper="", largest=""),
    )),
    "gate-units": ("Gate saturation of every unit of the first seed", (
        *label_columns(part="", gate="", unit=""),
        *value_columns(left="share of steps below 0.1", right="share of steps above 0.9"),
    )),
}  # fmt: skip
FIGURES = {
    "embedding-weights": ("Figure 1", "lookup-embedding"),
    "edges": ("Figure 2", "lookup-graphs"),
    "neurons": ("Figure 3", "lookup-activations"),
    "gate-units": ("Figure 4", "lookup-gates"),
}
SUMMED = {  # name of a table of every model -> (place, labels beside cell and model, measures)
    "embedding": ("Figure 1", ("symbols",), ("strength",)),
    "graphs": ("Figure 2", ("matrix",), ("gini_in", "gini_out", "beyond", "polarity_in", "polarity_out")),
    "polarity": ("Section 3.2", ("part",), ("correlation", "opposite")),
    "activations": ("Figure 3", ("part",), ("narrow", "narrow_sampled", "median_range", "median_iqr")),
    "gates": ("Figure 4", ("part", "gate"), ("left", "right", "off")),
    "strong-groups": ("Section 4.1", ("strength",), ("share",)),
}


def run_tables(rows: Mapping[str, Sequence[Row]]) -> list[Table]:
    """What is measured of the models of a seed, by the names of ``COLUMNS``; of what there is nothing, no table."""
    return [
        Table.make(name, title, (*LABELS, *columns), rows[name], details=True)
        for name, (title, columns) in COLUMNS.items()
        if rows.get(name)
    ]


def all_tables(tables: Mapping[str, Table], units: int) -> list[Table]:
    shown = [_diagnosis_summary(tables["diagnosis"])]
    shown += [_summed(name, tables[name]) for name in SUMMED if name in tables]
    for name, (place, figure) in FIGURES.items():
        if name in tables:
            options: dict[str, Any] = {"units": units} if name == "edges" else {}
            shown.append(replace(tables[name], place=place, figure=figure, options=options))
    shown += [_groups(tables["diagnosis"])]
    if "emergence" in tables:
        shown.append(_emergence(tables["emergence"]))
    return [*shown, *(tables[name] for name in ("diagnosis", *SUMMED) if name in tables)]


def _published(row: Row) -> tuple[float | None, float | None, float | None]:
    """Group accuracy, accuracy and units of the source: GRU models, its own ranking and its own splits."""
    if row["cell"] != "gru":
        return None, None, None
    return published.DIAGNOSIS.get((row["input"], row["label"], row["model"]), (None, None, None))


def _diagnosis_summary(every: Table) -> Table:
    return classifier_summary(
        every, "groups-summary", "Diagnostic classifiers and functional groups", ("ranking", "splits"),
        "The published numbers come from the ranking 'as_published' on 'tokens'.",
    )  # fmt: skip


def classifier_summary(every: Table, name: str, title: str, labels: Sequence[str], note: str) -> Table:
    """Means over the seeds of what classifiers reach, by model, input and ``labels``, beside the published numbers."""
    names = ("cell", "input", "label", "model", *labels)
    long = []
    for key, group in grouped(every.records(), names).items():
        row = dict(zip(names, key, strict=True))
        own = band([one["units"] for one in group])
        means = {measure: band([one[measure] for one in group])["mean"] for measure in ("group_accuracy", "accuracy")}
        row |= means | {"seeds": own["seeds"], "units": own["mean"], "low": own.get("low"), "high": own.get("high")}
        known = zip(("group_accuracy", "accuracy", "units"), _published(row), strict=True)
        long.append(row | {f"{measure}_published": value for measure, value in known})
    columns = (
        *(Column(label, role="label") for label in names),
        Column("seeds", "models", "label"),
        Column("group_accuracy", "of the functional group, mean"),
        Column("group_accuracy_published", "", "published"),
        Column("accuracy", "of all units, mean"),
        Column("accuracy_published", "", "published"),
        Column("units", "in the functional group, mean"),
        *interval_columns(),
        Column("units_published", "", "published"),
    )
    return Table.make(name, title, columns, long, place="Tables 2 and 3", note=note)


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
    table = summed(every, COLUMNS[name][1], *SUMMED[name])
    if name != "embedding":
        return table
    rows = [
        {**row, "published": published.EMBEDDING.get((row["model"], row["symbols"])) if row["cell"] == "gru" else None}
        for row in table.records()
    ]
    columns = (*table.columns, Column("published", "read off the published figure", "published"))
    return Table.make(table.name, table.title, columns, rows, place=table.place, note=table.note)


def summed(
    every: Table, columns: Sequence[Column], place: str, labels: Sequence[str], measures: Sequence[str]
) -> Table:
    """Means over the seeds of some measures of a table of every model, which are among its ``columns``."""
    names = ("cell", "model", *labels)
    long = [
        {**dict(zip(names, key, strict=True)), "measure": measure, **band([row[measure] for row in group])}
        for key, group in grouped(every.records(), names).items()
        for measure in measures
    ]
    about = {column.name: column.about for column in columns}
    shown = (
        *LABELS[:2],
        *(Column(label, about[label], "label") for label in labels),
        Column("measure", role="label"),
        *BAND,
    )
    note = "; ".join(f"{measure}: {about[measure]}" for measure in measures)
    return Table.make(f"{every.name}-summary", every.title, shown, long, place=place, note=f"{note}.")


def _emergence(every: Table) -> Table:
    names = ("cell", "model", "epoch", "measure")
    columns = (*LABELS[:2], Column("epoch", role="label"), Column("measure", role="label"), *BAND)
    return Table.make(
        "emergence", "When modularity appears", columns, bands(every.records(), names, "value"),
        place="Not in the source", figure="lookup-emergence", details=True,
        note="Weights kept during training; at the last epoch those with the lowest validation loss. Bands: 95 % "
        "intervals over seeds.",
    )  # fmt: skip


def beyond_threshold(tables: Tables, matrix: str, strongest: float) -> Values:
    """The share of weights beyond the published threshold, mean over both models, in doublings of ``strongest``."""
    shares = [column("graphs", "beyond", cell="gru", model=model, matrix=matrix)(tables) for model in KINDS]
    averages = {seed: sum(share[seed] for share in shares) / len(shares) for seed in shares[0]}
    return {seed: math.log2(share / strongest) if share else -math.inf for seed, share in averages.items()}
