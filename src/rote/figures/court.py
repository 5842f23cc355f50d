"""The court as a heat map: a tile for each method and program, one panel for each docket."""

from __future__ import annotations

import altair as alt

from rote.figures.figure import Figure, check_columns, columns_of, describe, figures, in_order
from rote.figures.style import shade_scale
from rote.store import Table

SMALL_IS_GOOD = ("size", "completeness", "dummy", "largest", "codings", "shuffled", "long")


@figures.register("court")
def court(table: Table) -> Figure:
    """Tiles by method and program: blue where a method is near the truth, orange where it is far from it."""
    measure = str(table.options.get("measure", "direction"))
    check_columns(table, "docket", "program", "method", measure)
    rows = [
        {
            "docket": row["docket"], "program": row["program"], "method": row["method"], "value": row[measure],
            "shown": f"{row[measure]:.2f}" if abs(row[measure]) < 100 else f"{row[measure]:.0e}",
            "tone": 1 - 2 * min(1.0, row[measure]) if measure in SMALL_IS_GOOD else 2 * row[measure] - 1,
        }
        for row in table.records()
        if row[measure] is not None
    ]  # fmt: skip
    stops, colors = shade_scale()
    best = sorted(in_order(rows, "method"), key=lambda name: -_mean([r["tone"] for r in rows if r["method"] == name]))
    base = alt.Chart(alt.NamedData("rows")).encode(
        x=alt.X("program:N", sort=in_order(rows, "program"), title=None, axis=alt.Axis(labelAngle=-45, orient="top")),
        y=alt.Y("method:N", sort=best, title=None, axis=alt.Axis(labelLimit=240)),
        tooltip=["docket:N", "program:N", "method:N", alt.Tooltip("value:Q", title=measure, format=".3~g")],
    )
    scale = alt.Scale(domain=[2 * stop - 1 for stop in stops], range=list(colors), clamp=True)
    tiles = base.mark_rect(opacity=0.7).encode(color=alt.Color("tone:Q", scale=scale, legend=None))
    panel = alt.layer(tiles, base.mark_text(fontSize=10).encode(text="shown:N"))
    chart = panel.properties(width=alt.Step(38), height=alt.Step(20)).facet(
        row=alt.Row("docket:N", sort=in_order(rows, "docket"), title=None), spacing=24
    )
    about = table.options.get("about", {}).get(measure, measure)
    return Figure(chart, {"rows": rows}, f"{describe(table)} {about}.")


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


@figures.register("court-methods")
def court_methods(table: Table) -> Figure:
    """The mean of every method with its interval over seeds, a panel for each measure."""
    rows = columns_of(table, "measure", "method", "mean", "low", "high")
    rows = [row for row in rows if row["mean"] is not None]
    base = alt.Chart(alt.NamedData("rows")).encode(
        y=alt.Y("method:N", sort=in_order(rows, "method"), title=None, axis=alt.Axis(labelLimit=240)),
        tooltip=["method:N", *(alt.Tooltip(f"{name}:Q", format=".3~g") for name in ("mean", "low", "high"))],
    )
    layers = alt.layer(
        base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q", title=None, scale=alt.Scale(zero=False)), x2="high:Q"),
        base.mark_point(filled=True, size=45, opacity=1).encode(x=alt.X("mean:Q", title=None)),
    )
    chart = layers.properties(width=170, height=alt.Step(18)).facet(
        column=alt.Column("measure:N", sort=in_order(rows, "measure"), title=None), spacing=20
    )
    return Figure(chart.resolve_scale(x="independent"), {"rows": rows}, describe(table))
