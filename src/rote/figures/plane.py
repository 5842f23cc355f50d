"""The plane of source 001, section 6: two inputs in [-1, 1], one class, one corner that training never shows.

"plane-data" is the source's Figure 4, "plane-boundaries" its Figures 5 and 6. The class is 1 where X1 > 0; the corner
(0, 1] x (0, 1] is for the test only. A model that composes draws its boundary along X1 = 0, into the corner as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from rote.errors import UsageError
from rote.figures.contour import contours
from rote.figures.figure import Figure, columns_of, describe, figures, in_order
from rote.figures.png import data_uri, encode
from rote.figures.style import NEGATIVE, POSITIVE, shade, shade_scale
from rote.store import Table

LEVELS = 51  # shades of a heat map, one per 0.02; the exact probabilities are in the table
ROW_WIDTH = 860  # of a row of panels
CLASSES = {1: "positive (Y1 = 1)", 0: "negative (Y1 = 0)"}

_GUIDES = {
    "corner": [{"left": 0.0, "right": 1.0, "bottom": 0.0, "top": 1.0}],
    "plane": [{"left": -1.0, "right": 1.0, "bottom": -1.0, "top": 1.0}],
    "zero": [{"left": 0.0}],
}


@figures.register("plane-data")
def plane_data(table: Table) -> Figure:
    """The samples of both classes, and the corner that training never shows (Figure 4)."""
    points = [{**row, "class": CLASSES[row["y"]]} for row in columns_of(table, "x1", "x2", "y", "part")]
    label = (
        alt.Chart(alt.NamedData("corner"))
        .mark_text(style="strong-note", text="held out (hollow)", align="right", baseline="bottom", dy=-6)
        .encode(x="right:Q", y="top:Q")
    )
    chart = alt.layer(_samples(), _compositional(), _outline("corner"), label).properties(width=340, height=340)
    return Figure(chart, {"points": points, **_GUIDES}, describe(table))


def _samples() -> alt.Chart:
    classes = list(CLASSES.values())
    color = alt.Color(
        "class:N",
        scale=alt.Scale(domain=classes, range=[POSITIVE, NEGATIVE]),
        legend=alt.Legend(title=None, orient="top"),
    )
    axis = alt.Axis(values=[-1, -0.5, 0, 0.5, 1], format=".1f")
    solid = alt.condition("datum.part === 'training'", alt.value(0.8), alt.value(0.0))
    marks = alt.Chart(alt.NamedData("points")).mark_point(size=30, strokeWidth=1.2)
    drawn: alt.Chart = marks.encode(
        x=alt.X("x1:Q", scale=_unit_scale(), title="X1", axis=axis),
        y=alt.Y("x2:Q", scale=_unit_scale(), title="X2", axis=axis),
        shape=alt.Shape("class:N", scale=alt.Scale(domain=classes, range=["circle", "triangle-up"])),
        stroke=color,
        fill=color,
        fillOpacity=solid,
        tooltip=[
            alt.Tooltip("x1:Q", title="X1", format=".3f"),
            alt.Tooltip("x2:Q", title="X2", format=".3f"),
            alt.Tooltip("class:N"),
            alt.Tooltip("part:N"),
        ],
    )
    return drawn


@figures.register("plane-boundaries")
def plane_boundaries(table: Table) -> Figure:
    """Decision boundaries over the plane, by training step (Figure 5) or by random seed (Figure 6)."""
    rows = columns_of(table, "setting", "seed", "step", "x1", "x2", "probability")
    along = _what_varies(rows, table.name)
    panels, lines = _panels(rows, table.name)
    across = sorted({panel[along] for panel in panels})
    size = min(190, max(68, ROW_WIDTH // len(across) - 6))
    layers = alt.layer(*_fields(), _outline("plane", "frame"), _compositional(), _outline("corner"), _boundary())
    chart = layers.properties(width=size, height=size).facet(
        row=alt.Row(
            "setting:N",
            sort=in_order(rows, "setting"),
            header=alt.Header(title=None, labelFontWeight=600, labelPadding=6),
        ),
        column=alt.Column(
            f"{along}:O",
            sort=across,
            header=alt.Header(title=None, labelExpr=f"'{along} ' + datum.value", labelPadding=4),
        ),
        data=alt.NamedData("panels"),
        spacing=6,
    )
    return Figure(chart, {"panels": [*panels, *lines], **_GUIDES}, describe(table))


def _what_varies(rows: Sequence[dict[str, Any]], name: str) -> str:
    """Figure 5 goes through the steps of one seed, Figure 6 through the seeds of one step."""
    seeds, steps = len(in_order(rows, "seed")), len(in_order(rows, "step"))
    if seeds > 1 and steps > 1:
        raise UsageError(
            f"The figure 'plane-boundaries' shows one seed at many steps or many seeds at one step. The table {name!r} "
            f"has {seeds} seeds and {steps} steps; keep one of them, as in table.where(step=1024)."
        )
    return "seed" if seeds > 1 else "step"


def _panels(rows: Sequence[dict[str, Any]], name: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """One row per panel with its image, and one per boundary line with its points."""
    by_panel: dict[tuple[Any, ...], list[tuple[float, float, float]]] = {}
    for row in rows:
        key = (row["setting"], row["seed"], row["step"])
        by_panel.setdefault(key, []).append((row["x1"], row["x2"], row["probability"]))
    panels, lines = [], []
    for (setting, seed, step), points in by_panel.items():
        labels = {"setting": setting, "seed": seed, "step": step}
        field, x, y = _grid(points, f"{name!r} at {labels}")
        panels.append({"kind": "field", **labels, **_image(field, x, y)})
        for number, line in enumerate(contours(_log_odds(field), x, y, level=0.0)):
            x1, x2 = ([round(value, 4) for value in values] for values in zip(*line, strict=True))
            lines.append({"kind": "line", **labels, "line": number, "x1": x1, "x2": x2})
    return panels, lines


def _grid(points: list[tuple[float, float, float]], where: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The probabilities as a field [x2, x1], lowest first, and the coordinates of its columns and rows."""
    x1, x2, probability = np.array(points, dtype=float).T
    x, column = np.unique(x1, return_inverse=True)
    y, row = np.unique(x2, return_inverse=True)
    field = np.full((len(y), len(x)), np.nan)
    field[row, column] = probability
    if len(points) != field.size or np.isnan(field).any() or min(field.shape) < 2:
        raise UsageError(
            f"The figure 'plane-boundaries' needs one probability for each point of a grid. The table {where} has "
            f"{len(points)} rows for a grid of {len(x)} x {len(y)} points."
        )
    return field, x, y


def _log_odds(field: np.ndarray) -> np.ndarray:
    """What the network computes before its softmax: nearly linear between grid points, unlike the probability."""
    inside = field.clip(1e-12, 1 - 1e-12)
    return np.asarray(np.log(inside / (1 - inside)))


def _image(field: np.ndarray, x: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    """Where the heat map lies (points in the middle of their pixels), its picture, how much of the corner is wrong."""
    half_x, half_y = (x[1] - x[0]) / 2, (y[1] - y[0]) / 2
    indices = np.rint(field[::-1].clip(0, 1) * (LEVELS - 1)).astype(int)
    palette = [shade(index / (LEVELS - 1)) for index in range(LEVELS)]
    corner = field[np.ix_(y > 0, x > 0)]
    return {
        "left": round(float(x[0] - half_x), 6),
        "right": round(float(x[-1] + half_x), 6),
        "bottom": round(float(y[0] - half_y), 6),
        "top": round(float(y[-1] + half_y), 6),
        "probability": 0.5,
        "wrong": round(float((corner <= 0.5).mean()), 4) if corner.size else None,
        "url": data_uri(encode(indices, palette)),
    }


def _fields() -> tuple[alt.Chart, alt.Chart]:
    """The heat maps, and invisible points that give the legend of their shades."""
    fields = alt.Chart().transform_filter("datum.kind === 'field'")
    x = alt.X("left:Q", scale=_unit_scale(), axis=None)
    y = alt.Y("bottom:Q", scale=_unit_scale(), axis=None)
    tips = [
        alt.Tooltip("setting:N"),
        alt.Tooltip("seed:Q"),
        alt.Tooltip("step:Q"),
        alt.Tooltip("wrong:Q", title="corner wrong", format=".1%"),
    ]
    image = fields.mark_image(clip=True, smooth=False, aspect=False)
    domain, colors = shade_scale()
    scale = alt.Scale(domain=domain, range=colors)
    legend = alt.Legend(title="probability of class 1", orient="bottom", gradientLength=180, values=[0, 0.5, 1])
    return (
        image.encode(x=x, x2="right:Q", y=y, y2="top:Q", url="url:N", tooltip=tips),
        fields.mark_point(size=0, opacity=1, clip=True).encode(
            x=x, y=y, color=alt.Color("probability:Q", scale=scale, legend=legend)
        ),
    )


def _boundary() -> alt.Chart:
    """The lines, their points joined in the order in which they come; by default Vega-Lite goes from left to right."""
    lines = alt.Chart().transform_filter("datum.kind === 'line'").transform_flatten(["x1", "x2"])
    numbered = lines.transform_window(place="row_number()", groupby=["line"]).mark_line(style="boundary", clip=True)
    drawn: alt.Chart = numbered.encode(x="x1:Q", y="x2:Q", detail="line:N", order="place:Q")
    return drawn


def _outline(part: str, style: str = "outline") -> alt.Chart:
    """Around a part of the plane: the corner that training never shows, or all of it."""
    rectangle = alt.Chart(alt.NamedData(part)).mark_rect(style=style, filled=False)
    drawn: alt.Chart = rectangle.encode(x="left:Q", x2="right:Q", y="bottom:Q", y2="top:Q")
    return drawn


def _compositional() -> alt.Chart:
    """The boundary of a model that uses X1 alone."""
    drawn: alt.Chart = alt.Chart(alt.NamedData("zero")).mark_rule(style="reference").encode(x="left:Q")
    return drawn


def _unit_scale() -> alt.Scale:
    return alt.Scale(domain=[-1, 1], nice=False, zero=False)
