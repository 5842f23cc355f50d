"""The figures of Elman 1990's simulations: errors over a stream, by bit, by place, and over training.

"elman-steps" is his Figures 3, 4 and 6, "elman-bits" Figure 5. His Figures 7 and 8 are "dendrogram". Lines that the
article does not have: the network before training, and counts of the last symbols.
"""

from __future__ import annotations

from typing import Any

import altair as alt

from rote.figures.figure import Chart, Figure, columns_of, describe, figures, in_order
from rote.figures.lines import DASHES, HAS_INTERVAL, line_legend
from rote.store import Table

BAND = ("mean", "low", "high")
WIDTH, HEIGHT = 840, 220


@figures.register("elman-steps")
def elman_steps(table: Table) -> Figure:
    """The error at each step of a stream, with the symbol that is predicted there (Figures 3, 4 and 6)."""
    rows = columns_of(table, "network", "step", "symbol", *BAND)
    steps = len(in_order(rows, "step"))
    x = alt.X(
        "step:Q", scale=alt.Scale(domain=[-0.5, steps - 0.5], nice=False),
        axis=alt.Axis(labels=False, ticks=False, grid=False, title=table.options.get("axis"), titlePadding=22),
    )  # fmt: skip
    names = [{"step": row["step"], "symbol": row["symbol"]} for row in rows if row["network"] == rows[0]["network"]]
    symbols = (
        alt.Chart(alt.NamedData("symbols"))
        .mark_text(style="note", baseline="top", dy=6)
        .encode(x=x, y=alt.value(HEIGHT), text="symbol:N")
    )
    chart = alt.layer(_lines(rows, x, ["step:Q", "symbol:N"]), symbols).properties(
        width=min(WIDTH, max(300, 30 * steps)), height=HEIGHT
    )
    return Figure(chart, {"rows": rows, "symbols": names}, describe(table))


@figures.register("elman-places")
def elman_places(table: Table) -> Figure:
    """The error by letter of a word."""
    rows = columns_of(table, "network", "place", *BAND)
    x = alt.X("place:Q", title="letter of the word", axis=alt.Axis(grid=False, tickMinStep=1))
    chart = _lines(rows, x, ["place:Q"]).properties(width=360, height=HEIGHT)
    return Figure(chart, {"rows": rows}, describe(table))


@figures.register("elman-curve")
def elman_curve(table: Table) -> Figure:
    """The error of the trained networks over passes."""
    rows = [{**row, "network": "trained"} for row in columns_of(table, "pass", *BAND)]
    x = alt.X("pass:Q", title="passes", axis=alt.Axis(grid=False))
    chart = _lines(rows, x, ["pass:Q"], legend=False).properties(width=360, height=HEIGHT)
    return Figure(chart, {"rows": rows}, describe(table))


@figures.register("elman-bits")
def elman_bits(table: Table) -> Figure:
    """The error of each bit at consonants and at vowels (Figure 5)."""
    rows = columns_of(table, "network", "letter", "feature", *BAND)
    names, features = in_order(rows, "network"), in_order(rows, "feature")
    base = alt.Chart().encode(
        x=alt.X("feature:N", sort=features, axis=alt.Axis(title=None, labelAngle=-40)),
        xOffset=alt.XOffset("network:N", sort=names),
        color=alt.Color("network:N", scale=alt.Scale(domain=names), legend=alt.Legend(title=None, orient="top")),
        tooltip=_tips(["network:N", "feature:N"]),
    )
    layers = alt.layer(
        base.transform_filter(HAS_INTERVAL).mark_rule(strokeWidth=1.5).encode(
            y=alt.Y("low:Q", title="squared error"), y2="high:Q"
        ),
        base.mark_point(size=44, filled=True).encode(y=alt.Y("mean:Q", title="squared error")),
    ).properties(width=360, height=HEIGHT)  # fmt: skip
    header = alt.Header(title=None, labelFontWeight=600)
    chart: Chart = layers.facet(
        column=alt.Column("letter:N", sort=in_order(rows, "letter"), header=header), data=alt.NamedData("rows")
    )
    return Figure(chart, {"rows": rows}, describe(table))


def _lines(
    rows: list[dict[str, Any]], x: alt.X, tips: list[str], legend: bool = True
) -> alt.LayerChart | alt.FacetChart:
    """A line with a band for each network, the first of the table drawn on top."""
    names, key = in_order(rows, "network"), line_legend() if legend else None
    base = alt.Chart(alt.NamedData("rows")).encode(
        x=x, color=alt.Color("network:N", scale=alt.Scale(domain=names), legend=key)
    )
    dash = alt.StrokeDash("network:N", scale=alt.Scale(domain=names, range=DASHES[: len(names)]), legend=key)
    y = alt.Y("mean:Q", title="error", scale=alt.Scale(zero=True))
    band = base.transform_filter(HAS_INTERVAL).mark_area(opacity=0.15, clip=True)
    return alt.layer(
        band.encode(y=alt.Y("low:Q", title="error"), y2="high:Q"),
        base.mark_line(strokeWidth=2).encode(y=y, strokeDash=dash),
        base.mark_point(size=24, filled=True).encode(y=y, tooltip=_tips(["network:N", *tips])),
    )


def _tips(labels: list[str]) -> list[alt.Tooltip]:
    return [*(alt.Tooltip(label) for label in labels), *(alt.Tooltip(f"{name}:Q", format=".4g") for name in BAND)]
