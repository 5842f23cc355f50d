"""Lookup tables with and without guidance (source 002): accuracy of every seed (its Tables 5 and 6), and training.

"lookup-accuracy" has each seed beside the published range. "lookup-curves" and "lookup-emergence" show what the source
does not: accuracies and losses over training, and when the structure that it describes comes about.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np

from rote.figures.figure import Chart, Figure, Rows, columns_of, describe, figures, in_order
from rote.figures.lines import band_lines, chosen_in_legend, log_ticks, only
from rote.store import Table

WIDTH = 860  # of a row of panels
LANE = 17  # height of one model's lane in a strip
CHARACTER = 6.5  # mean width of a letter in a title


@figures.register("lookup-accuracy")
def lookup_accuracy(table: Table) -> Figure:
    """Every seed's accuracy on each split and their mean, before the published range (Tables 5 and 6)."""
    names = ("cell", "model", "split", "seed", "accuracy", "published_low", "published_high")
    rows = [
        {**row, "split": _spaced(row["split"]), "low": row.pop("published_low"), "high": row.pop("published_high")}
        for row in columns_of(table, *names)
    ]
    title = "sequence accuracy (dots: seeds, diamond: their mean, bar: published range)"
    axis = alt.Axis(format="%", tickCount=5, title=title)
    return strips(table, rows, Strip("split", "accuracy", alt.Scale(domain=[0, 1]), axis, ".1%"))


@figures.register("lookup-curves")
def lookup_curves(table: Table) -> Figure:
    """Accuracies and losses over the epochs: each model's mean, with its interval as a band."""
    return _panels(table, "epoch", "measure")


@figures.register("lookup-emergence")
def lookup_emergence(table: Table) -> Figure:
    """When structure comes about: each measure over the epochs, means with their intervals as bands."""
    return _panels(table, "epoch", "measure", logarithmic=True)


@figures.register("lookup-sizes")
def lookup_sizes(table: Table) -> Figure:
    """Accuracy on each split by the number of units: each model's mean, with its interval as a band."""
    return _panels(table, "units", "split", logarithmic=True)


def _panels(table: Table, over: str, named: str, logarithmic: bool = False) -> Figure:
    """One panel per measure, in as few rows as keep them readable, all of the same width. ``named``: the column that
    names the measures; ``over``: that of the horizontal axis."""
    found = columns_of(table, "cell", "model", over, named, "mean", "low", "high")
    rows = [{**row, "measure": row[named]} for row in found]
    measures, models = in_order(rows, "measure"), in_order(rows, "model")
    across = -(-len(measures) // -(-len(measures) // 4))
    width = min(300, WIDTH // across - 55)
    ticks = log_ticks(sorted({row[over] for row in rows})) if logarithmic else None
    chosen = chosen_in_legend("model")

    def panel(cell: str, measure: str) -> Chart:
        shares = not (logarithmic and over == "epoch") and _all_shares(rows, measure)
        lines = band_lines(
            only("rows", cell=cell, measure=measure), _spaced(measure), chosen, series="model", names=models,
            over=over, y=alt.Scale(domain=[0, 1]) if shares else alt.Scale(zero=not logarithmic), ticks=ticks,
        )  # fmt: skip
        title = textwrap.wrap(_spaced(measure), int(width / CHARACTER))
        first = (cell, measure) == (rows[0]["cell"], rows[0]["measure"])
        lines = lines.add_params(chosen) if first else lines
        return lines.properties(width=width, height=150, title=title)

    chart = by_cell(
        rows, lambda cell: alt.concat(*(panel(cell, measure) for measure in measures), columns=across, spacing=24)
    )
    return Figure(chart, {"rows": rows}, describe(table))


def _all_shares(rows: Rows, measure: str) -> bool:
    """Whether a measure is an accuracy or the like, to be seen on an axis from 0 to 1; a loss is not."""
    means = [row["mean"] for row in rows if row["measure"] == measure and row["mean"] is not None]
    return "loss" not in measure and all(0 <= value <= 1 for value in means)


def by_cell(rows: Rows, panels: Callable[[str], Chart]) -> Chart:
    """The panels of each cell below those of the one before, under the cell's name; a single cell is not named."""
    cells = in_order(rows, "cell")
    if len(cells) == 1:
        return panels(cells[0])
    named = [panels(cell).properties(title=alt.Title(cell, fontSize=15, offset=14)) for cell in cells]
    return alt.vconcat(*named, spacing=36)


def model_color(models: Sequence[str]) -> alt.Color:
    """One color of the category range for each model, in this order."""
    legend = alt.Legend(title=None, orient="top", symbolType="circle", symbolOpacity=1)
    return alt.Color("model:N", scale=alt.Scale(domain=models), legend=legend)


@dataclass(frozen=True)
class Strip:
    """How strips of seeds read: the column that names a strip, the measured column and its axis."""

    group: str
    value: str
    scale: alt.Scale
    axis: alt.Axis
    format: str  # of a number in a tip
    outline: float = 0.6  # opacity around the published range; all that is seen of a single value

    def x(self, column: str) -> alt.X:
        return alt.X(f"{column}:Q", scale=self.scale, axis=self.axis)

    def tips(self, *columns: str) -> list[alt.Tooltip]:
        labels = [alt.Tooltip("model:N"), alt.Tooltip(f"{self.group}:N")]
        return [*labels, *(alt.Tooltip(f"{column}:Q", format=self.format) for column in columns)]


def strips(table: Table, rows: Sequence[dict[str, Any]], strip: Strip) -> Figure:
    """A lane for each model in each strip: its seeds as dots, their mean, what was published, ``low`` to ``high``."""
    models, groups = in_order(rows, "model"), in_order(rows, strip.group)
    data = {
        "seeds": _seeds(rows, strip, models),
        "means": _means(rows, strip, models),
        "published": _published(rows, strip, models),
    }
    y = alt.Y(
        f"{strip.group}:N", scale=alt.Scale(domain=groups), axis=alt.Axis(title=None, ticks=False, labelLimit=260)
    )
    height = alt.Step(LANE * len(models) + 6)

    def panel(cell: str) -> Chart:
        return alt.layer(*_strip_layers(cell, strip, y, models)).properties(width=520, height=height)

    return Figure(by_cell(rows, panel), data, describe(table))


def _strip_layers(cell: str, strip: Strip, y: alt.Y, models: Sequence[str]) -> list[alt.Chart]:
    lane = alt.YOffset("lane:Q", scale=alt.Scale(domain=[-1, 1]))
    published, seeds, means = (
        only(name, cell=cell).encode(y=y, yOffset=lane) for name in ("published", "seeds", "means")
    )
    bar = published.mark_bar(size=LANE - 3, fillOpacity=0.2, strokeWidth=2, strokeOpacity=strip.outline)
    color, stroke = model_color(models), alt.Stroke("model:N", scale=alt.Scale(domain=models), legend=None)
    dot = seeds.mark_circle(size=26, opacity=0.8, clip=False)
    middle = means.mark_point(style="summary-point", shape="diamond", filled=True, size=50)
    return [
        bar.encode(x=strip.x("low"), x2="high:Q", color=color, stroke=stroke, tooltip=strip.tips("low", "high")),
        dot.encode(x=strip.x(strip.value), color=color, tooltip=[*strip.tips(strip.value), alt.Tooltip("seed:N")]),
        middle.encode(x=strip.x("mean"), tooltip=strip.tips("mean")),
    ]


def _seeds(rows: Sequence[dict[str, Any]], strip: Strip, models: Sequence[str]) -> list[dict[str, Any]]:
    """The measured rows; within a model's lane its seeds lie one below the other, so that none hides another."""
    seeds, placed = in_order(rows, "seed"), []
    for row in rows:
        if row[strip.value] is not None:
            within = (seeds.index(row["seed"]) + 0.5) / len(seeds) - 0.5
            lane = _lane(row["model"], models) + 1.2 * within / len(models)
            names = ("cell", "model", strip.group, "seed", strip.value)
            placed.append({**{name: row[name] for name in names}, "lane": round(lane, 4)})
    return placed


def _means(rows: Rows, strip: Strip, models: Sequence[str]) -> list[dict[str, Any]]:
    found: dict[tuple[str, str, str], list[float]] = {}
    for row in rows:
        if row[strip.value] is not None:
            found.setdefault((row["cell"], row["model"], row[strip.group]), []).append(row[strip.value])
    return [
        {"cell": cell, "model": model, strip.group: group, "mean": float(np.mean(values)), "lane": _lane(model, models)}
        for (cell, model, group), values in found.items()
    ]


def _published(rows: Rows, strip: Strip, models: Sequence[str]) -> list[dict[str, Any]]:
    """What the source has for each model and strip, once; nothing where it has none."""
    found = {
        (row["cell"], row["model"], row[strip.group]): {"low": row["low"], "high": row["high"]}
        for row in rows
        if row["low"] is not None and row["high"] is not None
    }
    return [
        {"cell": cell, "model": model, strip.group: group, **ends, "lane": _lane(model, models)}
        for (cell, model, group), ends in found.items()
    ]


def _lane(model: str, models: Sequence[str]) -> float:
    """The middle of a model's lane, in -1..1 over the strip."""
    return round((2 * models.index(model) + 1) / len(models) - 1, 4)


def _spaced(name: str) -> str:
    return name.replace("_", " ")
