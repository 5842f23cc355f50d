"""The figures of Elman's simulations, agreement and selection show the rows of their tables."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import pytest

from rote.errors import UsageError
from rote.figures import draw, export, figures, spec
from rote.store import Column, Table

MODULES = ("rote.figures.elman", "rote.figures.sentences")
NETWORKS = ("trained", "untrained", "counts of 2")
BAND = ("mean", "low", "high")


def table(figure: str, **axes: tuple[Any, ...]) -> Table:
    """Every combination of the labels; the last row has one seed only, so that it has no interval."""
    rows: list[dict[str, Any]] = [{}]
    for name, values in axes.items():
        rows = [{**row, name: value} for row in rows for value in values]
    for number, row in enumerate(rows):
        value = 0.1 + 0.8 * number / len(rows)
        row.update({"mean": value, "low": value - 0.05, "high": value + 0.05})
    rows[-1].update({"low": None, "high": None})
    columns = [Column(name, role="label") for name in axes] + [Column(name) for name in BAND]
    return Table.make(figure, "The title", columns, rows, figure=figure, place="Figure 9", note="The note.")


def with_symbols(made: Table) -> Table:
    columns = (*made.columns, Column("symbol", role="label"))
    rows = tuple((*row, "abc"[row[1]]) for row in made.rows)
    return replace(made, columns=columns, rows=rows, options={"axis": "letter"})


SAMPLES = {
    sample.figure: sample
    for sample in (
        with_symbols(table("elman-steps", network=NETWORKS, step=(0, 1, 2))),
        table("elman-places", network=NETWORKS, place=(1, 2, 3)),
        table("elman-curve", **{"pass": (0.0, 1.0, 2.0)}),
        table("elman-bits", network=NETWORKS, letter=("consonant", "vowel"), feature=("Consonant", "High")),
        table("agreement", model=("elman", "2-gram", "untrained elman"), condition=("2 phrases", "object relative"),
              attractors=("congruent", "opposite")),
        table("agreement-curve", model=("elman", "gru"), step=(0, 10, 20)),
        table("selection", model=("elman", "lstm"), trained=("gap 2", "mixed gaps"), step=(0, 10, 20)),
    )
}  # fmt: skip
every = pytest.mark.parametrize("name", sorted(SAMPLES))


def test_every_figure_of_these_files_has_a_sample_here() -> None:
    assert set(SAMPLES) == {entry.name for entry in figures.entries() if entry.module in MODULES}


@every
def test_exports_valid_files_with_every_row(name: str) -> None:
    drawn = draw(SAMPLES[name])
    svg = ElementTree.fromstring(export(drawn, "svg"))
    assert len(list(svg.iter())) > 20
    assert spec(SAMPLES[name])["description"] == "The title (Figure 9). The note."
    rows = spec(SAMPLES[name])["datasets"]["rows"]
    assert [[row[column] for column in BAND] for row in rows] == [
        [row[column] for column in BAND] for row in SAMPLES[name].records()
    ]


@every
def test_a_table_without_a_needed_column_or_without_rows_is_refused(name: str) -> None:
    sample = SAMPLES[name]
    kept = [index for index, column in enumerate(sample.columns) if column.name != "mean"]
    lacking = replace(
        sample, columns=tuple(sample.columns[index] for index in kept),
        rows=tuple(tuple(row[index] for index in kept) for row in sample.rows),
    )  # fmt: skip
    with pytest.raises(UsageError, match="lacks mean"):
        draw(lacking)
    with pytest.raises(UsageError, match="no rows"):
        draw(replace(sample, rows=()))


def test_the_symbols_stand_below_the_steps_once_each() -> None:
    assert spec(SAMPLES["elman-steps"])["datasets"]["symbols"] == [
        {"step": step, "symbol": symbol} for step, symbol in enumerate("abc")
    ]
