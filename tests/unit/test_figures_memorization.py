"""The figures of source 003 show the rows of their tables; the colored text is taken apart for one character."""

from __future__ import annotations

import pytest

from rote.errors import UsageError
from rote.figures import export, spec
from rote.figures.memorization_text import LINE, _places
from rote.store import Column, Table
from rote.studies.memorization.published import PARAGRAPH
from rote.studies.memorization.stored_data import load
from rote.studies.memorization.stored_tables import all_tables


@pytest.fixture(scope="module")
def tables() -> dict[str, Table]:
    return {table.name: table for table in all_tables(load())}


def test_a_line_breaks_between_words_and_loses_no_character():
    places = _places(PARAGRAPH)
    assert "".join(place["character"] for place in places) == PARAGRAPH
    assert max(place["column"] for place in places) < LINE
    for place in places:
        if place["line"] and place["column"] == 0:
            assert place["character"] == " "
    assert len({(place["line"], place["column"]) for place in places}) == len(PARAGRAPH)


def test_the_paragraph_holds_each_output_once_and_begins_with_the_chosen_one(tables):
    found = spec(tables["paragraph"])
    rows = found["datasets"]["rows"]
    assert len(rows) == 3 * len(PARAGRAPH)
    assert all(len(row["relative"]) == row["output"] + 1 and max(row["relative"]) == 1 for row in rows)
    (chosen,) = [param for param in found["params"] if param["name"] == "chosen"]
    assert chosen["value"] == [{"output": 106}]


@pytest.mark.parametrize("name", ["paragraph", "share", "accuracy", "training"])
def test_every_figure_of_the_stored_results_is_written_as_svg(name, tables):
    picture = export(tables[name], "svg").decode()
    for cell in ("GRU", "LSTM", "Nested LSTM"):
        assert f">{cell}<" in picture
    if name == "paragraph":
        assert "suggests learning (57.5%)" in picture  # of the GRU at character 106


@pytest.mark.parametrize("times", [(), ("minutes",), ("hours",)])
def test_losses_are_drawn_over_mini_batches_and_over_the_times_that_a_table_has(times):
    names = ("cell", "set", "step", *times, "mean")
    rows = [
        dict.fromkeys(names, 1) | {"cell": "GRU", "set": part, "step": step}
        for part in ("train", "valid")
        for step in (0, 8)
    ]
    table = Table.make("training", "T", tuple(map(Column, names)), rows, figure="memorization-training")
    axes = [panel["layer"][0]["encoding"]["x"]["field"] for panel in spec(table)["concat"]]
    assert axes == [*times, "step"] * 2


def test_a_table_without_the_columns_is_refused():
    table = Table.make("t", "T", (Column("cell"),), [{"cell": "GRU"}], figure="memorization-share")
    with pytest.raises(UsageError, match="lacks norm, k, measure"):
        spec(table)
