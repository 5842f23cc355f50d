"""Networks on text over training, with the baselines as lines across (source 004, everyday uses)."""

from __future__ import annotations

import altair as alt

from rote.figures.figure import Figure, columns_of, describe, figures, in_order
from rote.figures.lines import band_lines, chosen_in_legend, only
from rote.store import Table


@figures.register("text-training")
def text_training(table: Table) -> Figure:
    """The mean of each network over training with its interval, and each baseline as a horizontal rule."""
    rows = columns_of(table, "panel", "model", "epoch", "mean", "low", "high")
    models, panels = in_order(rows, "model"), in_order(rows, "panel")
    counted = [{"baseline": name, "value": value} for name, value in table.options.get("baselines", {}).items()]
    measure = table.options.get("measure", "mean")
    chosen = chosen_in_legend("model")
    charts = []
    for panel in panels:
        lines = band_lines(
            only("rows", panel=panel), measure, chosen, series="model", names=models, over="epoch",
            y=alt.Scale(zero=False),
        )  # fmt: skip
        rule = alt.Chart(alt.NamedData("baselines")).encode(
            y="value:Q", tooltip=[alt.Tooltip("baseline:N"), alt.Tooltip("value:Q", format=".3f")]
        )
        width = 520 // len(panels)
        note = rule.mark_text(style="note", align="right", baseline="bottom", dx=-2, dy=-2)
        layers = alt.layer(rule.mark_rule(style="reference"), lines, note.encode(x=alt.value(width), text="baseline:N"))
        charts.append(layers.properties(width=width, height=280, title=panel))
    first, *others = charts
    return Figure(
        alt.hconcat(first.add_params(chosen), *others, spacing=24), {"rows": rows, "baselines": counted},
        describe(table),
    )  # fmt: skip
