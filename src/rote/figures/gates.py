"""How gates and units are used: saturation as in Karpathy et al. 2015 and source 002's Figure 4, ranges as in its 3."""

from __future__ import annotations

import altair as alt

from rote.figures.figure import Chart, Figure, columns_of, describe, figures, in_order, place_name
from rote.figures.lines import only
from rote.store import Table

_CORNERS = [{"left": 0.0, "right": 1.0}, {"left": 1.0, "right": 0.0}]


@figures.register("gate-saturation")
def gate_saturation(table: Table) -> Figure:
    """One dot per unit: how often its gate is shut and how often open. On the line it is always one or the other."""
    rows = columns_of(table, "layer", "direction", "gate", "unit", "left", "right")
    both = len(in_order(rows, "direction")) > 1
    placed = [{**row, "place": place_name(row, both)} for row in rows]
    axis = alt.Axis(values=[0, 0.5, 1], format="%")
    x = alt.X("left:Q", scale=alt.Scale(domain=[0, 1]), axis=axis, title="shut (left-saturated)")
    y = alt.Y("right:Q", scale=alt.Scale(domain=[0, 1]), axis=axis, title="open (right-saturated)")
    tips = [
        alt.Tooltip("unit:Q"),
        alt.Tooltip("left:Q", title="shut", format=".1%"),
        alt.Tooltip("right:Q", title="open", format=".1%"),
    ]
    gates = in_order(rows, "gate")
    color = alt.Color("gate:N", scale=alt.Scale(domain=gates), legend=None)
    dots = alt.Chart().mark_circle(size=36, opacity=0.55, clip=False).encode(x=x, y=y, color=color, tooltip=tips)
    line = alt.Chart(alt.NamedData("diagonal")).mark_line(style="reference").encode(x="left:Q", y="right:Q")
    chart = (
        alt.layer(line, dots)
        .properties(width=170, height=170)
        .facet(
            column=alt.Column("gate:N", sort=gates, header=alt.Header(title=None, labelFontWeight=600)),
            row=alt.Row("place:N", sort=in_order(placed, "place"), header=alt.Header(title=None)),
            data=alt.NamedData("rows"),
            spacing=30,
        )
    )
    return Figure(chart, {"rows": placed, "diagonal": _CORNERS}, describe(table))


@figures.register("activation-distribution")
def activation_distribution(table: Table) -> Figure:
    """For each unit the range of its values, the middle half of them as a bar, and the median."""
    names = ("layer", "direction", "kind", "name", "unit", "smallest", "lower", "median", "upper", "largest")
    rows = columns_of(table, *names)
    both = len(in_order(rows, "direction")) > 1
    placed = [{**row, "series": f"{row['name']}, {place_name(row, both)}"} for row in rows]
    units = 1 + max(row["unit"] for row in rows)
    width = min(760, max(120, 9 * units))
    panels: list[Chart] = []
    for series in in_order(placed, "series"):
        base = only("rows", series=series).properties(title=series)
        x = alt.X(
            "unit:Q", scale=alt.Scale(domain=[-0.5, units - 0.5], nice=False), axis=alt.Axis(grid=False, format="d")
        )
        tips = [alt.Tooltip(f"{name}:Q", format=".3f") for name in names[5:]]
        base = base.encode(x=x, tooltip=[alt.Tooltip("unit:Q"), *tips])
        y = alt.Y("smallest:Q", title=None, scale=alt.Scale(zero=False))
        whole = base.mark_rule(style="frame").encode(y=y, y2="largest:Q")
        thick = max(1.0, min(6.0, width / units - 1))
        half = base.mark_rule(strokeWidth=thick, opacity=0.75).encode(y="lower:Q", y2="upper:Q", color=_one_color())
        middle = base.mark_point(style="summary-point", filled=True, size=thick * 3).encode(y="median:Q")
        panels.append(alt.layer(whole, half, middle).properties(width=width, height=110))
    chart = alt.concat(*panels, columns=1 if width > 380 else 2, spacing=18)
    return Figure(chart, {"rows": placed}, describe(table))


def _one_color() -> alt.Color:
    """The first of the category range, so that it fits the paper."""
    return alt.Color("kind:N", scale=alt.Scale(domain=["state", "gate"]), legend=None)
