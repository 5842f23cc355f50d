"""The tables of lookup-accuracy, Tables 5 and 6 of source 002 among them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rote.laboratory.aggregate import BAND, Row, band, bands, grouped
from rote.store import Column, Table
from rote.studies.realization import published
from rote.studies.realization.models import KINDS, LookupRecipe

SETS = ("heldout_compositions", "heldout_inputs", "heldout_tables", "new_compositions")
LONGER = ("longer_seen", "longer_incremental", "longer_new")
SHOWN_MEASURES = {
    "validation_loss": "validation loss",
    "heldout_compositions": "heldout compositions",
    "heldout_tables": "heldout tables",
    "new_compositions": "new compositions",
}
LABELS = (
    Column("cell", "recurrent unit of encoder and decoder", "label"),
    Column("model", "baseline, or guided by attention targets", "label"),
    Column("seed", "of initial weights and order of the examples", "label"),
)


SPLIT = Column("split", "which examples", "label")
EPOCH = Column("epoch", "passes over the training examples", "label")
MEASURE = Column("measure", "sequence accuracy on a split, or the loss that models are selected by", "label")
PUBLISHED = (
    Column("published_low", "lowest published run", "published"),
    Column("published_high", "highest published run", "published"),
)


def run_tables(
    recipe: LookupRecipe, seeds: Sequence[int], by_split: Mapping[str, Sequence[float]], metrics: Sequence[Row]
) -> list[Table]:
    """What is measured of one training: the models that were selected, and all of them over training."""
    labels = {"cell": recipe.cell, "model": recipe.kind}
    last, per_epoch = metrics[-1], recipe.steps_per_epoch()
    rows = [
        {**labels, "seed": seed, "split": split, "accuracy": accuracy, "last": last.get(split, {at: None})[at]}
        for split, values in by_split.items()
        for at, (seed, accuracy) in enumerate(zip(seeds, values, strict=True))
    ]  # fmt: skip
    curves = [
        {**labels, "seed": seed, "epoch": row["step"] / per_epoch, "measure": name, "value": value}
        for row in metrics
        for name, values in row.items() if name != "step"
        for seed, value in zip(seeds, values, strict=True)
    ]  # fmt: skip
    selected = Column("accuracy", "share of sequences right in every position, model with the lowest validation loss")
    columns = (*LABELS, SPLIT, selected, Column("last", "the same after the last epoch"))
    value = Column("value", "what was measured")
    return [
        Table.make("accuracy", "Sequence accuracy of every model", columns, rows, details=True),
        Table.make("curves", "Every model over training", (*LABELS, EPOCH, MEASURE, value), curves, details=True),
    ]


def all_tables(every: Mapping[str, Table]) -> list[Table]:
    """Tables 5 and 6, the summary with longer compositions, every model, and training."""
    rows = every["accuracy"].records()
    as_published = [_published_table(rows, *which) for which in zip(KINDS, ("Table 5", "Table 6"), strict=True)]
    return [*as_published, _summary(rows), _every_model(rows), _curves(every["curves"])]


def _published_table(rows: Sequence[Row], model: str, place: str) -> Table:
    """Runs in rows, sets in columns, as the source prints them. Its runs and ours are not the same networks."""
    first = rows[0]["cell"]
    mine = [row for row in rows if row["model"] == model and row["cell"] == first]
    wide = []
    for number, ((seed,), group) in enumerate(grouped(mine, ("seed",)).items()):
        row: Row = {"run": number + 1, "seed": seed}
        for name in SETS:
            row[name] = next((one["accuracy"] for one in group if one["split"] == name), None)
            theirs = published.ACCURACY[model][name]
            row[f"{name}_published"] = theirs[number] if number < len(theirs) else None
        wide.append(row)
    columns = [Column("run", role="label"), Column("seed", "of ours", "label")]
    for name in SETS:
        columns += [
            Column(name, "sequence accuracy, ours"),
            Column(f"{name}_published", "the source's run of this number", "published"),
        ]
    return Table.make(
        f"accuracy-{model}", f"Sequence accuracy of the {model} models ({first})", columns, wide, place=place,
        note="Models with the lowest validation loss. Run by run the two are different networks: compare the ranges.",
    )  # fmt: skip


def _summary(rows: Sequence[Row]) -> Table:
    long = []
    for (cell, model, split), group in grouped(rows, ("cell", "model", "split")).items():
        low, high = published_range(cell, model, split)
        last = [row["last"] for row in group if row["last"] is not None]
        long.append(
            {
                "cell": cell, "model": model, "split": split,
                **band([row["accuracy"] for row in group], (0.0, 1.0)),
                "last": sum(last) / len(last) if last else None, "published_low": low, "published_high": high,
            }
        )  # fmt: skip
    columns = (
        *LABELS[:2],
        SPLIT,
        *BAND,
        Column("last", "mean after the last epoch instead of at the lowest validation loss"),
        *PUBLISHED,
    )
    return Table.make(
        "accuracy-summary", "Sequence accuracy on every split", columns, long, place="Tables 5 and 6",
        note="Published values of LSTM models and of longer compositions are from the authors' model collection.",
    )  # fmt: skip


def published_range(cell: str, model: str, split: str) -> tuple[float | None, float | None]:
    if cell == "gru" and split in SETS:
        runs = published.ACCURACY[model][split]
        return min(runs), max(runs)
    known = published.LSTM_RANGE if cell == "lstm" else published.LONGER_RANGE if cell == "gru" else {}
    return known.get((model, split), (None, None))


def _every_model(rows: Sequence[Row]) -> Table:
    shown = []
    for row in rows:
        if row["split"] in (*SETS, *LONGER):
            low, high = published_range(row["cell"], row["model"], row["split"])
            shown.append({**row, "published_low": low, "published_high": high})
    shown.sort(key=lambda row: (*SETS, *LONGER).index(row["split"]))
    columns = (
        *LABELS,
        SPLIT,
        Column("accuracy", "share of sequences right in every position"),
        Column("last", "the same after the last epoch"),
        *PUBLISHED,
    )
    return Table.make(
        "accuracy", "Sequence accuracy of every model", columns, shown, place="Tables 5 and 6",
        figure="lookup-accuracy", details=True,
    )  # fmt: skip


def _curves(curves: Table) -> Table:
    rows = [
        {**row, "measure": SHOWN_MEASURES[row["measure"]]}
        for row in curves.records()
        if row["measure"] in SHOWN_MEASURES
    ]
    names = ("cell", "model", "epoch", "measure")
    columns = (
        *LABELS[:2],
        EPOCH,
        MEASURE,
        *BAND,
    )
    return Table.make(
        "curves", "Accuracy and validation loss over training", columns, bands(rows, names, "value"),
        place="Not in the source", figure="lookup-curves", details=True, note="Bands: 95 % intervals over seeds.",
    )  # fmt: skip
