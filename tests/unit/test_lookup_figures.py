"""The figures of source 002: what they show, from small tables without training."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import pytest
import vl_convert

from rote.errors import UsageError
from rote.figures import draw, export, figures, spec
from rote.store import Column, Table

MODELS = ("baseline", "guided")
BAND = "mean low high"


def table(figure: str, columns: str, rows: list[dict[str, Any]], **rest: Any) -> Table:
    named = [Column(name, f"about {name}") for name in columns.split()]
    return Table.make(figure, f"Title of {figure}", named, rows, figure=figure, **rest)


def accuracy(cells: tuple[str, ...] = ("gru",)) -> Table:
    published = {("baseline", "heldout_inputs"): (0.2, 0.25), ("guided", "heldout_inputs"): (1.0, 1.0)}
    rows = []
    for cell in cells:
        for model, value in zip(MODELS, (0.2, 1.0), strict=True):
            for split in ("heldout_inputs", "longer_new"):
                low, high = published.get((model, split), (None, None))
                labels = {"cell": cell, "model": model, "split": split, "published_low": low, "published_high": high}
                rows += [{**labels, "seed": seed, "accuracy": value * (1 - 0.1 * (seed == 2))} for seed in range(3)]
    return table("lookup-accuracy", "cell model split seed accuracy published_low published_high", rows)


def training(figure: str, measures: tuple[str, ...], cells: tuple[str, ...] = ("gru",)) -> Table:
    rows = [
        {"cell": cell, "model": model, "epoch": epoch, "measure": measure, "mean": 0.5, "low": 0.4, "high": 0.6}
        for cell in cells for measure in measures for model in MODELS for epoch in (0, 2, 5, 10)
    ]  # fmt: skip
    return table(figure, f"cell model epoch measure {BAND}", rows)


def sizes(cells: tuple[str, ...] = ("gru",)) -> Table:
    rows = [
        {"cell": cell, "model": model, "units": units, "split": split, "mean": 0.5, "low": 0.4, "high": 0.6}
        for cell in cells for split in ("heldout_tables", "new_compositions") for model in MODELS
        for units in (10, 48, 192)
    ]  # fmt: skip
    return table("lookup-sizes", f"cell model units split {BAND}", rows)


def embedding(units: int = 6, cells: tuple[str, ...] = ("gru",)) -> Table:
    rows = [
        {"cell": cell, "model": model, "symbol": symbol, "unit": unit, "weight": size * (unit - 2)}
        for cell in cells
        for model, size in zip(MODELS, (0.1, 0.5), strict=True)
        for symbol in ("<sos>", "000", "001")
        for unit in range(units)
    ]
    return table("lookup-embedding", "cell model symbol unit weight", rows)


def graphs(cells: tuple[str, ...] = ("gru",)) -> Table:
    edges = ((0, 1, 0.5), (0, 2, -0.25), (3, 2, 0.2))
    rows = [
        {
            "cell": cell,
            "model": model,
            "matrix": matrix,
            "receiver": receiver,
            "sender": sender,
            "weight": size * weight,
        }
        for cell in cells
        for matrix in ("encoder W_hz", "decoder W_iz")
        for model, size in zip(MODELS, (1, 2), strict=True)
        for receiver, sender, weight in edges
    ]
    return table("lookup-graphs", "cell model matrix receiver sender weight", rows, options={"units": 8})


def activations(cells: tuple[str, ...] = ("gru",)) -> Table:
    numbers = {"smallest": -0.9, "lower": -0.2, "median": 0.0, "upper": 0.3, "largest": 0.8}
    rows = [
        {"cell": cell, "model": model, "part": part, "neuron": neuron, **numbers}
        for cell in cells for part in ("encoder", "decoder") for model in MODELS for neuron in (3, 70, 511)
    ]  # fmt: skip
    return table("lookup-activations", f"cell model part neuron {' '.join(numbers)}", rows)


def gates(cells: tuple[str, ...] = ("gru",)) -> Table:
    rows = [
        {"cell": cell, "model": model, "part": part, "gate": gate, "unit": unit, "left": 0.1 * unit, "right": 0.3}
        for cell in cells
        for part in ("encoder", "decoder")
        for gate in (("update", "1 - update", "reset") if cell == "gru" else ("input", "forget"))
        for model in MODELS
        for unit in range(4)
    ]
    return table("lookup-gates", "cell model part gate unit left right", rows)


def groups(cells: tuple[str, ...] = ("gru",)) -> Table:
    rows = [
        {"cell": cell, "input": "encoder state", "label": label, "model": model, "seed": seed}
        | {"units": units + seed, "published": published if label == "table" else None}
        for cell in cells
        for label in ("table", "time step")
        for model, units, published in (("baseline", 30, 35.0), ("guided", 1, 2.0))
        for seed in range(3)
    ]
    return table("lookup-groups", "cell input label model seed units published", rows)


def samples(cells: tuple[str, ...] = ("gru",)) -> dict[str, Table]:
    """A table for each figure, by the figure's name."""
    tables = (
        accuracy(cells),
        training("lookup-curves", ("train", "heldout_tables", "validation_loss"), cells),
        training("lookup-emergence", ("polarity", "modularity", "Gini of the degrees", "group", "saturated"), cells),
        sizes(cells),
        embedding(cells=cells),
        graphs(cells),
        activations(cells),
        gates(cells),
        groups(cells),
    )
    return {sample.figure: sample for sample in tables}


NAMES = sorted(samples())


def parts(drawn: Any, key: str) -> Iterator[Any]:
    """Every value under a key, at any depth of a specification."""
    if isinstance(drawn, dict):
        for name, value in drawn.items():
            if name == key:
                yield value
            yield from parts(value, key)
    elif isinstance(drawn, list):
        for value in drawn:
            yield from parts(value, key)


def titles(figure: str, cells: tuple[str, ...] = ("gru",)) -> list[Any]:
    """Of panels and rows of panels, not of axes."""
    found = [title for title in parts(spec(samples(cells)[figure]), "title") if title]
    texts = [title["text"] if isinstance(title, dict) and "text" in title else title for title in found]
    return [" ".join(text) if isinstance(text, list) else text for text in texts]


class TestEveryFigure:
    def test_has_a_sample_here(self) -> None:
        modules = ("rote.figures.lookup", "rote.figures.lookup_inside")
        assert {entry.name for entry in figures.entries() if entry.module in modules} == set(NAMES)

    @pytest.mark.parametrize("cells", [("gru",), ("gru", "lstm")])
    @pytest.mark.parametrize("name", NAMES)
    def test_exports_valid_files(self, name: str, cells: tuple[str, ...]) -> None:
        drawn = draw(samples(cells)[name])
        svg = export(drawn, "svg", "dark" if len(cells) > 1 else "light")
        assert len(list(ElementTree.fromstring(svg).iter())) > 20
        if len(cells) > 1:  # as export() does, which would draw it once more before
            assert vl_convert.svg_to_png(svg.decode(), scale=1.0).startswith(b"\x89PNG\r\n\x1a\n")
        assert json.loads(export(drawn, "json"))["datasets"]

    @pytest.mark.parametrize("name", NAMES)
    def test_describes_itself_to_those_who_cannot_see_it(self, name: str) -> None:
        described = replace(samples()[name], title="The title", place="Figure 9", note="The note.")
        assert spec(described)["description"] == "The title (Figure 9). The note."

    @pytest.mark.parametrize("name", NAMES)
    def test_names_each_column_that_a_table_lacks(self, name: str) -> None:
        whole = samples()[name]
        for at, column in enumerate(whole.columns):
            rows = tuple(row[:at] + row[at + 1 :] for row in whole.rows)
            with pytest.raises(UsageError, match=f"lacks {column.name}"):
                draw(replace(whole, columns=whole.columns[:at] + whole.columns[at + 1 :], rows=rows))

    @pytest.mark.parametrize("name", NAMES)
    def test_says_that_there_is_nothing_to_draw(self, name: str) -> None:
        with pytest.raises(UsageError, match="no rows"):
            draw(replace(samples()[name], rows=()))

    @pytest.mark.parametrize("name", NAMES)
    def test_names_cells_only_where_there_are_several(self, name: str) -> None:
        assert [title for title in titles(name, ("gru", "lstm")) if title in ("gru", "lstm")] == ["gru", "lstm"]
        assert "gru" not in titles(name)

    @pytest.mark.parametrize("name", NAMES)
    def test_dark_paper_changes_only_the_theme(self, name: str) -> None:
        light, dark = spec(samples()[name]), spec(samples()[name], "dark")
        assert light.pop("config") != dark.pop("config")
        assert light == dark


class TestStrips:
    def test_every_seed_is_there_and_none_hides_another(self) -> None:
        dots = spec(accuracy())["datasets"]["seeds"]
        shown = sorted((dot["model"], dot["split"], dot["seed"], dot["accuracy"]) for dot in dots)
        rows = accuracy().records()
        assert shown == sorted((r["model"], r["split"].replace("_", " "), r["seed"], r["accuracy"]) for r in rows)
        assert len({(dot["split"], dot["lane"]) for dot in dots}) == len(dots)

    def test_the_published_range_lies_in_its_model_s_lane_once_and_only_where_there_is_one(self) -> None:
        shown = spec(accuracy())["datasets"]
        ranges = {(row["model"], row["split"]): (row["low"], row["high"]) for row in shown["published"]}
        assert ranges == {("baseline", "heldout inputs"): (0.2, 0.25), ("guided", "heldout inputs"): (1.0, 1.0)}
        assert {row["model"]: row["lane"] for row in shown["published"]} == {"baseline": -0.5, "guided": 0.5}

    def test_the_mean_leaves_out_seeds_without_a_value(self) -> None:
        rows = [{**row, "accuracy": None if row["seed"] == 2 else row["accuracy"]} for row in accuracy().records()]
        shown = spec(table("lookup-accuracy", " ".join(rows[0]), rows))["datasets"]
        assert {row["mean"] for row in shown["means"]} == {0.2, 1.0}
        assert {dot["seed"] for dot in shown["seeds"]} == {0, 1}

    def test_groups_are_on_a_logarithmic_axis_with_the_published_mean(self) -> None:
        shown = spec(groups())
        assert {row["group"]: row["mean"] for row in shown["datasets"]["means"] if row["model"] == "baseline"} == {
            "encoder state → table": 31.0,
            "encoder state → time step": 31.0,
        }
        assert [(row["low"], row["high"]) for row in shown["datasets"]["published"]] == [(35.0, 35.0), (2.0, 2.0)]
        assert {layer["encoding"]["x"]["scale"]["type"] for layer in shown["layer"]} == {"log"}


class TestTraining:
    def test_an_accuracy_is_seen_whole_and_a_loss_is_not_cut_off(self) -> None:
        panels = spec(samples()["lookup-curves"])["concat"]
        domains = [panel["layer"][1]["encoding"]["y"]["scale"].get("domain") for panel in panels]
        assert domains == [[0, 1], [0, 1], None]

    def test_sizes_have_a_panel_for_each_split_whole_shares_over_units(self) -> None:
        panels = spec(samples()["lookup-sizes"])["concat"]
        assert [panel["title"] for panel in panels] == [["heldout tables"], ["new compositions"]]
        (line,) = [layer for layer in panels[0]["layer"] if layer["mark"]["type"] == "line"]
        assert line["encoding"]["y"]["scale"]["domain"] == [0, 1]
        assert line["encoding"]["x"]["axis"]["values"] == [10, 48, 192]

    def test_five_measures_are_in_two_rows_over_a_logarithmic_axis_with_zero(self) -> None:
        shown = spec(samples()["lookup-emergence"])
        assert (shown["columns"], len(shown["concat"])) == (3, 5)
        x = shown["concat"][0]["layer"][0]["encoding"]["x"]
        assert (x["scale"]["type"], x["axis"]["values"][0]) == ("symlog", 0)


class TestInside:
    def test_both_models_have_the_same_shades(self) -> None:
        domains = {json.dumps(c["scale"]["domain"]) for c in parts(spec(embedding()), "color") if isinstance(c, dict)}
        assert len(domains) == 1
        assert json.loads(domains.pop())[-1] == pytest.approx(1.5)  # the strongest of both: 0.5 * (5 - 2)

    @pytest.mark.parametrize(("units", "across"), [(6, 2), (64, 1)])
    def test_wide_embeddings_are_stacked(self, units: int, across: int) -> None:
        assert spec(embedding(units))["columns"] == across

    def test_every_edge_is_there_and_strength_is_relative_to_the_strongest_of_both_models(self) -> None:
        shown = spec(graphs())
        edges = shown["datasets"]["gru, encoder W_hz, baseline, edges"]
        assert [(e["receiver"], e["sender"], e["weight"]) for e in edges] == [(3, 2, 0.2), (0, 2, -0.25), (0, 1, 0.5)]
        strengths = {formula for formula in parts(shown, "calculate") if formula.startswith("abs")}
        assert strengths == {"abs(datum.weight) / 1.0"}

    def test_senders_are_below_and_each_is_as_large_as_it_has_edges(self) -> None:
        nodes = spec(graphs())["datasets"]["gru, encoder W_hz, guided, nodes"]
        found = {(node["side"], node["neuron"]): (node["x"], node["y"], node["degree"]) for node in nodes}
        assert found[("sends", 2)] == (2.5 / 8, 0, 2)
        assert found[("receives", 0)] == (0.5 / 8, 1, 2)

    def test_each_cell_has_its_own_gates(self) -> None:
        found = titles("lookup-gates", ("gru", "lstm"))
        assert sum("forget" in title for title in found) == 2
        assert sum("reset" in title for title in found) == 2
