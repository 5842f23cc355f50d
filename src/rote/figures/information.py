"""What input components tell about a prediction (source 001, section 4): one model, and populations over training."""

from __future__ import annotations

import altair as alt

from rote.figures.figure import Figure, columns_of, describe, figures, in_order
from rote.figures.plane_populations import plane_training
from rote.store import Table

ALONE, GIVEN = "alone", "given all other components"


@figures.register("information")
def information(table: Table) -> Figure:
    """Bits that each component tells, alone and given the others, with their errors."""
    rows = columns_of(table, "component", "alone", "given", "alone_error", "given_error", "gradient")
    bars = [
        {"component": row["component"], "kind": kind, "bits": row[name], "gradient": row["gradient"]}
        | {"low": row[name] - abs(row[f"{name}_error"]), "high": row[name] + abs(row[f"{name}_error"])}
        for row in rows
        for kind, name in ((ALONE, "alone"), (GIVEN, "given"))
    ]
    base = alt.Chart(alt.NamedData("bars")).encode(
        y=alt.Y("component:N", sort=in_order(rows, "component"), title=None),
        yOffset=alt.YOffset("kind:N", sort=[ALONE, GIVEN]),
    )
    tips = [
        alt.Tooltip("component:N"),
        alt.Tooltip("kind:N", title="counted"),
        alt.Tooltip("bits:Q", format=".4f"),
        alt.Tooltip("gradient:Q", title="norm of the gradient", format=".3g"),
    ]
    bar = base.mark_bar().encode(
        x=alt.X("bits:Q", title="information about the prediction, bits"),
        color=alt.Color("kind:N", sort=[ALONE, GIVEN], legend=alt.Legend(title=None, orient="top")),
        tooltip=tips,
    )
    error = base.mark_rule(style="summary").encode(x="low:Q", x2="high:Q")
    chart = alt.layer(bar, error).properties(width=420, height=alt.Step(24))
    return Figure(chart, {"bars": bars}, describe(table))


@figures.register("information-training")
def information_training(table: Table) -> Figure:
    """Information and gradients over training: each setting's mean, with its interval as a band."""
    return plane_training(table)
