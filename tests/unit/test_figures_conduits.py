"""The figures of source 000 show the rows of their tables, each in its panel, with bands from the table alone."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import pytest

from rote.errors import UsageError
from rote.figures import draw, export, figures, spec
from rote.figures.export import to_json
from rote.store import Column, Table

SETTINGS = ("unpredictable", "predictable", "unpredictable, as published", "predictable, as published")


def table(figure: str, **axes: tuple[Any, ...]) -> Table:
    """Every combination of the labels; one cell has one seed only, so that it has no interval."""
    rows: list[dict[str, Any]] = [{}]
    for name, values in axes.items():
        rows = [{**row, name: value} for row in rows for value in values]
    for number, row in enumerate(rows):
        value = 0.1 + 0.8 * number / len(rows)
        interval = {} if row.get("cell") == "gru" else {"low": value - 0.05, "high": value + 0.05}
        row.update({"mean": value, "low": None, "high": None, **interval})
    columns = [Column(name, role="label") for name in axes] + [Column(name) for name in ("mean", "low", "high")]
    return Table.make(figure, "The title", columns, rows, figure=figure, place="Figure 9", note="The note.")


CELLS, EPOCHS, KINDS = ("lstm", "gru"), (0.0, 0.5, 1.0), ("unseen", "training")
SAMPLES = {
    sample.figure: sample
    for sample in (
        table("conduit-grid", cell=CELLS, k=(2, 4, 8), n=(100, 1000), measure=("open symbol", "conduit")),
        table("conduit-prefixes", cell=CELLS, n=(100, 1000), i=(0, 1, 2)),
        table("conduit-training", cell=CELLS, k=(2, 8), n=(100, 1000), epoch=EPOCHS, measure=("open symbol", "own")),
        table("conduit-predictability", cell=CELLS, setting=SETTINGS, k=(4, 8), epoch=EPOCHS),
        table("conduit-own", cell=CELLS, setting=SETTINGS, kind=KINDS, k=(4, 8), epoch=EPOCHS),
        table(
            "conduit-procedure", procedure=("as published", "momentum"), epoch=EPOCHS, measure=("open symbol", "own")
        ),
        table(
            "conduit-gradients", cell=CELLS, setting=SETTINGS, kind=KINDS, k=(4, 8), epoch=EPOCHS, measure=("a", "b")
        ),
    )
}
every = pytest.mark.parametrize("name", sorted(SAMPLES))


def test_every_figure_of_the_conduits_has_a_sample_here() -> None:
    assert set(SAMPLES) == {entry.name for entry in figures.entries() if entry.module == "rote.figures.conduits"}


@every
def test_exports_valid_files(name: str) -> None:
    drawn = draw(SAMPLES[name])
    svg = ElementTree.fromstring(export(drawn, "svg"))
    assert len(list(svg.iter())) > 40
    assert export(drawn, "png").startswith(b"\x89PNG\r\n\x1a\n")
    assert json.loads(export(drawn, "json"))["datasets"]["rows"]


@every
def test_is_the_same_to_the_byte_each_time(name: str) -> None:
    assert to_json(spec(SAMPLES[name])) == to_json(spec(SAMPLES[name]))
    assert spec(SAMPLES[name])["description"] == "The title (Figure 9). The note."


@every
def test_says_what_a_table_lacks(name: str) -> None:
    whole = SAMPLES[name]
    short = replace(whole, columns=whole.columns[1:], rows=tuple(row[1:] for row in whole.rows))
    with pytest.raises(UsageError, match=f"lacks {whole.columns[0].name}"):
        draw(short)
    with pytest.raises(UsageError, match="no rows"):
        draw(replace(whole, rows=()))


@every
def test_shows_the_rows_of_the_table_and_computes_nothing(name: str) -> None:
    shown = spec(SAMPLES[name])
    values = {(row["mean"], row["low"], row["high"]) for row in shown["datasets"]["rows"]}
    assert values <= {tuple(row[-3:]) for row in SAMPLES[name].rows}
    text = to_json(shown)
    assert "errorband" not in text
    assert "aggregate" not in text


def test_figure_3_draws_predictable_conduits_dashed_and_each_generator_in_its_panel() -> None:
    shown = spec(SAMPLES["conduit-predictability"])
    assert len(shown["datasets"]["rows"]) == len(SAMPLES["conduit-predictability"].rows)
    assert shown["facet"]["column"]["sort"] == ["lstm, clean", "lstm, as published", "gru, clean", "gru, as published"]
    (line,) = [layer for layer in shown["spec"]["layer"] if layer["mark"]["type"] == "line"]
    dash = line["encoding"]["strokeDash"]
    assert dash["scale"] == {"domain": ["unpredictable", "predictable"], "range": [[1, 0], [6, 3]]}
    assert dash["field"] == "conduits"


def test_curves_of_one_cell_do_not_mix_with_those_of_another() -> None:
    for name in ("conduit-training", "conduit-gradients"):
        assert {row["cell"] for row in spec(SAMPLES[name])["datasets"]["rows"]} == {"lstm"}


def test_a_single_network_has_no_band() -> None:
    shown = spec(SAMPLES["conduit-grid"])
    (area,) = [layer for layer in shown["spec"]["layer"] if layer["mark"]["type"] == "area"]
    told = "isValid(datum.low) && isValid(datum.high)"
    ends = [{"calculate": f"{told} ? datum.{end} : datum.mean", "as": end} for end in ("low", "high")]
    assert sorted(area["transform"], key=str) == sorted(ends, key=str)
