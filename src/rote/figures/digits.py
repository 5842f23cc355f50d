"""Digit pairs (source 001, section 5.1): its Figure 3a, and what remedies do, which it does not have."""

from __future__ import annotations

import altair as alt

from rote.figures.figure import Chart, Figure, columns_of, describe, figures, in_order
from rote.figures.lines import few_steps, line_legend, with_deviation
from rote.store import Table

KINDS = {"train": "training", "test": "held-out combinations"}
PANELS = {
    "train": ("training accuracy", None),
    "gap": ("training minus test accuracy", ("gap_low", "gap_high")),
    "given": ("I(prediction; right | left), bits", ("given_low", "given_high")),
}


@figures.register("digits-accuracy")
def digits_accuracy(table: Table) -> Figure:
    """Training and test accuracy of both settings over training, with one standard deviation as a band (Figure 3a)."""
    rows = [
        {**with_deviation(row), "on": KINDS.get(row["measure"], row["measure"])}
        for row in columns_of(table, "setting", "step", "measure", "mean", "variance")
    ]
    settings, kinds = in_order(rows, "setting"), list(KINDS.values())
    base = alt.Chart(alt.NamedData("rows")).encode(
        x=alt.X("step:Q", title="step", axis=alt.Axis(grid=False)),
        color=alt.Color("setting:N", scale=alt.Scale(domain=settings), legend=line_legend()),
        detail="on:N",
    )
    dash = alt.StrokeDash("on:N", scale=alt.Scale(domain=kinds, range=[[1, 0], [5, 3]]), legend=line_legend())
    y = alt.Y("mean:Q", title="accuracy", scale=alt.Scale(domain=[0, 1]))
    tips = [
        alt.Tooltip("setting:N"),
        alt.Tooltip("on:N", title="measured on"),
        alt.Tooltip("step:Q"),
        alt.Tooltip("mean:Q", title="accuracy", format=".3f"),
        alt.Tooltip("variance:Q", title="variance over seeds", format=".2g"),
    ]
    band = base.transform_filter("isValid(datum.low)").mark_area(clip=True, opacity=0.18).encode(y="low:Q", y2="high:Q")
    line = base.mark_line(strokeWidth=2).encode(y=y, strokeDash=dash)
    points = [base.mark_point(filled=True, size=22).encode(y=y, tooltip=tips)] if few_steps(rows) else []
    chart = alt.layer(band, line, *points).properties(width=560, height=300)
    return Figure(chart, {"rows": rows}, describe(table))


@figures.register("digits-remedies")
def digits_remedies(table: Table) -> Figure:
    """Each remedy beside both settings: what it costs in training, the gap, the use of the redundant digit."""
    bounds = [name for _, pair in PANELS.values() if pair for name in pair]
    rows = columns_of(table, "setting", "about", *PANELS, *bounds)
    settings = in_order(rows, "setting")
    panels = [_remedy_panel(name, title, pair, settings) for name, (title, pair) in PANELS.items()]
    return Figure(alt.hconcat(*panels, spacing=24), {"rows": rows}, describe(table))


def _remedy_panel(name: str, title: str, bounds: tuple[str, str] | None, settings: list[str]) -> Chart:
    y = alt.Y("setting:N", sort=settings, title=None, axis=alt.Axis(labels=name == "train", ticks=False))
    base = alt.Chart(alt.NamedData("rows")).encode(y=y)
    tips = [alt.Tooltip("about:N", title="setting"), alt.Tooltip(f"{name}:Q", title=title, format=".3f")]
    x = alt.X(f"{name}:Q", title=title, scale=alt.Scale(zero=True))
    dot = base.mark_point(style="summary-point", filled=True).encode(x=x, tooltip=tips)
    low, high = bounds or (name, name)
    known = base.transform_filter(f"isValid(datum.{low}) && isValid(datum.{high})")
    interval = known.mark_rule(style="summary").encode(x=f"{low}:Q", x2=f"{high}:Q")
    return alt.layer(interval, dot).properties(width=230, height=alt.Step(30))
