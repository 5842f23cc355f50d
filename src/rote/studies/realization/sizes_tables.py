"""The tables of lookup-sizes, and what its claims are about: one value per seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rote.claims import Tables, Values, column
from rote.laboratory.aggregate import BAND, bands
from rote.store import Column, Table
from rote.studies.realization.accuracy_tables import LABELS, SETS, SPLIT
from rote.studies.realization.models import LookupRecipe

SIZE = (
    Column("units", "of encoder and decoder each", "label"),
    Column("parameters", "of the whole model", "label"),
)
SHOWN = ("train", *SETS)


def run_table(
    recipe: LookupRecipe, parameters: int, seeds: Sequence[int], by_split: Mapping[str, Sequence[float]]
) -> Table:
    """What is measured of the models of one size and kind."""
    labels = {"cell": recipe.cell, "model": recipe.kind, "units": recipe.model.hidden, "parameters": parameters}
    rows = [
        {**labels, "seed": seed, "split": split, "accuracy": accuracy}
        for split in SHOWN
        for seed, accuracy in zip(seeds, by_split[split], strict=True)
    ]
    columns = (*LABELS, *SIZE, SPLIT, Column("accuracy", "share of sequences right in every position"))
    return Table.make("sizes", "Sequence accuracy of every model", columns, rows, details=True)


def all_tables(every: Mapping[str, Table]) -> list[Table]:
    names = ("cell", "model", "units", "parameters", "split")
    long = bands(every["sizes"].records(), names, "accuracy", (0.0, 1.0))
    columns = (*LABELS[:2], *SIZE, SPLIT, *BAND)
    summary = Table.make(
        "sizes-summary", "Sequence accuracy by number of units", columns, long, place="Section 6",
        figure="lookup-sizes", note="Models with the lowest validation loss. The largest are those of lookup-accuracy.",
    )  # fmt: skip
    return [summary, every["sizes"]]


def answered(tables: Tables, model: str, split: str, which: str) -> Values:
    """Accuracy of the models of a kind with the fewest units that there are ("smallest"), or with the most."""
    units = tables["sizes"].column("units")
    size = min(units) if which == "smallest" else max(units)
    return column("sizes", "accuracy", model=model, split=split, units=size)(tables)
