"""Source 001, sections 1 and 7: how far networks of many structures are from composing."""

from __future__ import annotations

import altair as alt

from rote.figures.figure import Chart, Figure, columns_of, describe, figures, in_order
from rote.figures.lines import only
from rote.store import Table


@figures.register("architecture-panel")
def architecture_panel(table: Table) -> Figure:
    """The gap of every structure with its interval, a panel for each task."""
    rows = columns_of(table, "task", "structure", "train", "gap", "gap_low", "gap_high", "complete")
    panels = []
    for task in in_order(rows, "task"):
        structures = in_order([row for row in rows if row["task"] == task], "structure")
        panels.append(_panel(task, structures))
    return Figure(alt.hconcat(*panels, spacing=24), {"rows": rows}, describe(table))


def _panel(task: str, structures: list[str]) -> Chart:
    base = only("rows", task=task).encode(y=alt.Y("structure:N", sort=structures, title=None))
    tips = [
        alt.Tooltip("structure:N"),
        alt.Tooltip("train:Q", title="accuracy in setting A", format=".3f"),
        alt.Tooltip("gap:Q", format=".3f"),
        alt.Tooltip("complete:Q", title="share of seeds that compose", format=".2f"),
    ]
    known = base.transform_filter("isValid(datum.gap_low) && isValid(datum.gap_high)")
    interval = known.mark_rule(style="summary").encode(x="gap_low:Q", x2="gap_high:Q")
    x = alt.X("gap:Q", title="gap between seen and unseen", scale=alt.Scale(zero=True))
    dots = base.mark_point(style="summary-point", filled=True).encode(x=x, tooltip=tips)
    return alt.layer(interval, dots).properties(width=200, height=alt.Step(20), title=task)
