"""Published curves in our figures: told apart, in one unit, and only where both have the same figure."""

from __future__ import annotations

from dataclasses import replace

from sample_tables import section

from rote.figures import draw
from rote.report.laid_over import NOTE, laid_over
from rote.store import Column, Table

CURVES = (Column("cell", role="label"), Column("set", role="label"), Column("step", role="label"), Column("mean"))


def curves(start: float, *columns: Column, figure: str = "memorization-training") -> Table:
    rows = [
        {"cell": cell, "set": part, "step": step, "mean": start - step, "counted": "as published", "low": 0.0}
        for cell in ("GRU", "LSTM") for part in ("train", "valid") for step in (0, 1)
    ]  # fmt: skip
    return Table.make("training", "Cross entropy", (*CURVES, *columns), rows, figure=figure)


def together(ours: Table, stored: Table) -> Table:
    here, theirs = replace(section(), tables=(ours,)), replace(section(), seeds=0, tables=(stored,))
    joined, kept = laid_over([here, theirs])
    assert kept.tables == (stored,)  # what the source stored stays by itself too
    return joined.tables[0]


def test_the_published_curve_stands_behind_ours_under_a_name_of_its_own() -> None:
    joined = together(curves(3.0), curves(8.0))
    assert list(dict.fromkeys(joined.column("cell"))) == ["GRU", "GRU, published", "LSTM", "LSTM, published"]
    for row in joined.records():
        assert row["mean"] == (8.0 if "published" in row["cell"] else 3.0) - row["step"]
    assert joined.note.endswith(NOTE)
    drawn = draw(joined).spec()
    assert {row["cell"] for row in drawn["datasets"]["rows"]} == set(joined.column("cell"))


def test_what_only_ours_measures_in_several_ways_was_published_in_one() -> None:
    joined = together(curves(3.0, Column("counted", role="label"), Column("low")), curves(8.0))
    published = [row for row in joined.records() if row["cell"] == "GRU, published"]
    assert {(row["counted"], row["low"]) for row in published} == {("as published", None)}


def test_other_figures_and_those_that_could_not_tell_them_apart_stay_as_they_are() -> None:
    ours = curves(3.0)
    assert together(ours, replace(curves(8.0), title="Another")) == ours
    taken = curves(3.0, figure="memorization-accuracy")
    assert together(taken, curves(8.0, figure="memorization-accuracy")) == taken
