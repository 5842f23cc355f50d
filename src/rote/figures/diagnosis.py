"""How many units a linear classifier needs: accuracy as units join, most important first (source 002, Table 2)."""

from __future__ import annotations

import altair as alt

from rote.figures.figure import Figure, columns_of, describe, figures
from rote.store import Table

LEVELS = {"all": "all units", "target": "target of the group", "majority": "majority"}
WIDTH = 420


@figures.register("diagnosis")
def diagnosis(table: Table) -> Figure:
    """Accuracy with the first 1, 2, ... units, and with all of them, beside the majority's."""
    rows = columns_of(table, "units", "added", "accuracy", "spread")
    spread = [
        {**row, "low": max(0.0, row["accuracy"] - row["spread"]), "high": min(1.0, row["accuracy"] + row["spread"])}
        for row in rows
    ]
    *growing, _ = spread  # the last row is all units
    levels = [
        {"level": table.options[name], "label": label, "from": growing[0]["units"]}
        for name, label in LEVELS.items()
        if name in table.options
    ]
    marked = alt.Chart(alt.NamedData("levels"))
    rules = marked.mark_rule(style="reference").encode(y="level:Q")
    notes = marked.mark_text(style="note", align="left", dx=8).encode(x=alt.value(WIDTH), y="level:Q", text="label:N")
    chart = alt.layer(rules, notes, *_curve(len(growing))).properties(width=WIDTH, height=240)
    return Figure(chart, {"rows": growing, "levels": levels}, describe(table))


def _curve(most: int) -> tuple[alt.Chart, alt.Chart, alt.Chart]:
    """Spread, line and points of the accuracies with up to so many units."""
    every = max(1, most // 10)
    x = alt.X(
        "units:Q",
        title="units, most important first",
        scale=alt.Scale(domain=[0.5, most + 0.5], nice=False),
        axis=alt.Axis(format="d", values=[1, *range(every, most + 1, every)], grid=False),
    )
    y = alt.Y("accuracy:Q", title="accuracy", scale=alt.Scale(domain=[0, 1]))
    base = alt.Chart(alt.NamedData("rows")).encode(x=x)
    tips = [
        alt.Tooltip("units:Q"),
        alt.Tooltip("added:N", title="unit that joined"),
        alt.Tooltip("accuracy:Q", format=".3f"),
        alt.Tooltip("spread:Q", title="± over the splits", format=".3f"),
    ]
    return (
        base.mark_rule(style="frame").encode(y="low:Q", y2="high:Q"),
        base.mark_line(style="summary").encode(y=y),
        base.mark_point(style="summary-point", filled=True, size=36).encode(y=y, tooltip=tips),
    )
