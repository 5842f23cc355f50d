"""The figures of agreement and selection, source 004: accuracy by condition, and over training. Bands are intervals."""

from __future__ import annotations

import altair as alt

from rote.figures.figure import Chart, Figure, columns_of, describe, figures, in_order
from rote.figures.lines import HAS_INTERVAL, band_lines, chosen_in_legend, only
from rote.store import Table

BAND = ("mean", "low", "high")
CHANCE = 0.5


@figures.register("agreement")
def agreement(table: Table) -> Figure:
    """Accuracy of every model, a panel for what stands between subject and verb, a mark for the nouns there."""
    rows = columns_of(table, "model", "condition", "attractors", *BAND)
    models, kinds = in_order(rows, "model"), in_order(rows, "attractors")
    order = [name for name in models if not name.startswith("untrained")]
    order += [name for name in models if name.startswith("untrained")]
    legend = alt.Legend(title=None, orient="top")
    base = alt.Chart().encode(
        y=alt.Y("model:N", sort=order, title=None),
        yOffset=alt.YOffset("attractors:N", sort=kinds),
        color=alt.Color("attractors:N", scale=alt.Scale(domain=kinds), legend=legend),
        tooltip=[*(alt.Tooltip(f"{name}:N") for name in ("model", "condition", "attractors")),
                 *(alt.Tooltip(f"{name}:Q", format=".3f") for name in BAND)],
    )  # fmt: skip
    x = alt.X("mean:Q", title="share right", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(tickCount=5))
    interval = base.transform_filter(HAS_INTERVAL).mark_rule(strokeWidth=1.5)
    layers = alt.layer(
        alt.Chart().mark_rule(style="reference").encode(x=alt.datum(CHANCE)),
        interval.encode(x=alt.X("low:Q", title="share right"), x2="high:Q"),
        base.mark_point(size=36, filled=True).encode(
            x=x, shape=alt.Shape("attractors:N", scale=alt.Scale(domain=kinds), legend=legend)
        ),
    ).properties(width=190, height=26 * len(models))
    header = alt.Header(title=None, labelFontWeight=600)
    chart: Chart = layers.facet(
        facet=alt.Facet("condition:N", sort=in_order(rows, "condition"), header=header), columns=3,
        data=alt.NamedData("rows"),
    )  # fmt: skip
    return Figure(chart, {"rows": rows}, describe(table))


@figures.register("agreement-curve")
def agreement_curve(table: Table) -> Figure:
    """The loss of the networks over training."""
    rows = columns_of(table, "model", "step", *BAND)
    chosen = chosen_in_legend("model")
    chart = band_lines(
        alt.Chart(alt.NamedData("rows")), "loss", chosen, series="model", names=in_order(rows, "model"), over="step",
        y=alt.Scale(zero=False),
    )  # fmt: skip
    return Figure(chart.add_params(chosen).properties(width=360, height=200), {"rows": rows}, describe(table))


@figures.register("selection")
def selection(table: Table) -> Figure:
    """Accuracy with the trained gap over training, a panel for each training, a line for each cell."""
    rows = columns_of(table, "model", "trained", "step", *BAND)
    chosen, trained = chosen_in_legend("model"), in_order(rows, "trained")
    panels = []
    for number, name in enumerate(trained):
        lines = band_lines(
            only("rows", trained=name), "share right", chosen, series="model", names=in_order(rows, "model"),
            over="step", y=alt.Scale(domain=[0, 1]),
        )  # fmt: skip
        panel = alt.layer(
            alt.Chart(alt.NamedData("rows")).mark_rule(style="reference").encode(y=alt.datum(CHANCE)), lines
        )
        panel = panel.properties(width=max(140, 760 // len(trained)), height=190, title=name)
        panels.append(panel.add_params(chosen) if number == 0 else panel)
    return Figure(alt.hconcat(*panels), {"rows": rows}, describe(table))
