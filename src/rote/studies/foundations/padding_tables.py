"""The tables of padding."""

from __future__ import annotations

from collections.abc import Mapping

from rote.laboratory.aggregate import BAND, Row, band, bands, grouped, interval_columns
from rote.store import Column, Table

MAJORITY = "majority"
READINGS = {
    "true": "the last state of each text",
    "column": "output[:, -1]: the last column, behind the padding",
    "packed": "output[:, -1] of packed output: zero but for the longest texts",
    "equal": "output[:, -1] of batches whose texts have one length",
}
LABELS = (
    Column("cell", "recurrent unit", "label"),
    Column("reading", "which state the classifier reads", "label"),
    Column("seed", "random seed", "label"),
)
CURVES = (
    *LABELS,
    Column("epoch", "passes over the training data", "label"),
    Column("loss", "cross entropy on dev, nats"),
    Column("dev", "share of texts that are right, dev"),
    Column("test", "share of texts that are right, test"),
)
COMPARED = (
    Column("cell", "recurrent unit", "label"),
    Column("seed", "random seed", "label"),
    Column("forward", "forward states at real words, largest difference to the packed run"),
    Column("backward", "backward states at real words, likewise"),
    Column("final_forward", "final state of the forward direction"),
    Column("final_backward", "final state of the backward direction"),
    Column("unpadded", "largest of the four where all texts have one length"),
)


def all_tables(tables: Mapping[str, Table]) -> list[Table]:
    """The study's tables, from those of its measurements."""
    curves, counted, compared = tables["curves"], tables["baselines"], tables["directions"]
    (majority,) = counted.where(model=MAJORITY).records()
    rows = curves.records()
    networks: list[Row] = []
    for (cell, reading, seed), mine in grouped(rows, ("cell", "reading", "seed")).items():
        best = min(mine, key=lambda row: row["loss"])
        labels = {"cell": cell, "reading": reading, "seed": seed}
        networks.append({**labels, "dev": best["dev"], "test": best["test"], "best_epoch": best["epoch"]})
    columns = (*LABELS, *CURVES[-2:], Column("best_epoch", "epoch of the lowest loss on dev, whose weights are used"))
    return [
        _outcome(networks, majority, counted.note),
        Table.make("directions", "Bidirectional networks without lengths", COMPARED, compared.records(), place="Exact"),
        _over_training(rows, majority, counted.note),
        Table.make("networks", "Every network", columns, networks, details=True, note=counted.note),
        Table.make("curves", "Every network over training", CURVES, rows, details=True),
    ]


def _outcome(networks: list[Row], majority: Row, note: str) -> Table:
    rows: list[Row] = [{"reading": MAJORITY, "about": "the most frequent class", "test": majority["test"]}]
    for (cell, reading), mine in grouped(networks, ("cell", "reading")).items():
        labels = {"cell": cell, "reading": reading, "about": READINGS[reading]}
        test = band([row["test"] for row in mine])
        rows.append({**labels, **test, "seeds": len(mine), "test": test["mean"]})
    columns = (
        *LABELS[:2],
        Column("about", "the same in words", "label"),
        Column("seeds", "networks trained", "label"),
        Column("test", "share of texts that are right, test"),
        *interval_columns(),
    )
    return Table.make("outcome", "State that is read", columns, rows, place="Padding and Masking", note=note)


def _over_training(curves: list[Row], majority: Row, note: str) -> Table:
    rows = [
        {"panel": cell, "model": reading, "epoch": epoch, **rest}
        for cell, reading, epoch, rest in (
            (row.pop("cell"), row.pop("reading"), row.pop("epoch"), row)
            for row in bands(curves, ("cell", "reading", "epoch"), "dev")
        )
    ]
    columns = (
        Column("panel", "recurrent unit", "label"), Column("model", "which state the classifier reads", "label"),
        CURVES[3], *BAND,
    )  # fmt: skip
    return Table.make(
        "training", "Over training: share of texts that are right, dev", columns, rows, figure="text-training",
        details=True, note=note,
        options={"measure": "share of texts that are right, dev", "baselines": {MAJORITY: majority["dev"]}},
    )  # fmt: skip
