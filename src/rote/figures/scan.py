"""SCAN (source 001, section 5.2): its Figure 3b, with the training accuracy also without the copies of one command."""

from __future__ import annotations

from typing import Any

import altair as alt

from rote.figures.figure import Chart, Figure, columns_of, describe, figures, in_order
from rote.figures.lines import chosen_in_legend, few_steps, line_legend, only, with_deviation
from rote.store import Table

PANELS = {
    "train": "training",
    "combined": "training, without copies of the added command",
    "test": "test",
}
TICKS = (0, 5, 10, 25, 50, 100, 250, 500, 1000, 2000, 4000)


@figures.register("scan-accuracy")
def scan_accuracy(table: Table) -> Figure:
    """Sentence accuracy of every setting over training, with one standard deviation as a band (Figure 3b)."""
    rows = [with_deviation(row) for row in columns_of(table, "setting", "step", "measure", "mean", "variance")]
    chosen = chosen_in_legend("setting")
    first, *others = [_panel(rows, measure, chosen) for measure in in_order(rows, "measure")]
    return Figure(alt.hconcat(first.add_params(chosen), *others, spacing=24), {"rows": rows}, describe(table))


def _panel(rows: list[dict[str, Any]], measure: str, chosen: alt.Parameter) -> Chart:
    """One measure. The step axis is logarithmic, with 0 on it: the early steps are what the source speaks of."""
    settings, last = in_order(rows, "setting"), max(row["step"] for row in rows)
    shown = alt.condition(chosen, alt.value(1.0), alt.value(0.15))
    axis = alt.Axis(values=[tick for tick in TICKS if tick <= last], format="d", grid=False)
    base = only("rows", measure=measure).encode(
        x=alt.X("step:Q", title="step", axis=axis, scale=alt.Scale(type="symlog", constant=5)),
        color=alt.Color("setting:N", scale=alt.Scale(domain=settings), legend=line_legend()),
    )
    y = alt.Y("mean:Q", title="sentence accuracy", scale=alt.Scale(domain=[0, 1]))
    tips = [
        alt.Tooltip("setting:N"),
        alt.Tooltip("step:Q"),
        alt.Tooltip("mean:Q", title="accuracy", format=".3f"),
        alt.Tooltip("variance:Q", title="variance over seeds", format=".2g"),
    ]
    band = base.transform_filter("isValid(datum.low)").mark_area(clip=True)
    band = band.encode(y="low:Q", y2="high:Q", opacity=alt.condition(chosen, alt.value(0.18), alt.value(0.04)))
    line = base.mark_line(strokeWidth=2).encode(y=y, opacity=shown)
    points = [base.mark_point(filled=True, size=18).encode(y=y, opacity=shown, tooltip=tips)] if few_steps(rows) else []
    return alt.layer(band, line, *points).properties(width=245, height=230, title=PANELS.get(measure, measure))
