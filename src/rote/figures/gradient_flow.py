"""How a loss reaches back in time: norms over the steps, one panel for each kind of quantity."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

import altair as alt

from rote.errors import UsageError
from rote.figures.figure import Figure, columns_of, describe, figures, in_order, place_name
from rote.figures.tokens import tokens_of, turned
from rote.store import Table

WIDTH = 240  # of a panel


@figures.register("gradient-flow")
def gradient_flow(table: Table) -> Figure:
    """Mean over the sequences of each norm by step; logarithmic, since what vanishes does so exponentially."""
    rows = columns_of(table, "layer", "direction", "measure", "batch", "time", "norm")
    both = len(in_order(rows, "direction")) > 1
    groups: dict[tuple[str, str, int], list[float]] = defaultdict(list)
    for row in rows:
        groups[row["measure"], place_name(row, both), row["time"]].append(row["norm"])
    means: list[dict[str, Any]] = [
        {"measure": measure, "place": place, "time": time, "norm": sum(values) / len(values)}
        for (measure, place, time), values in groups.items()
    ]
    shown = [row for row in means if row["norm"] > 0]  # a logarithm has no zero: where nothing arrives the line ends
    x = alt.X("time:Q", title="step", axis=_axis(table, 1 + max(in_order(rows, "time"))))
    y = alt.Y("norm:Q", title="norm", scale=alt.Scale(type="log"))
    tips = [alt.Tooltip("place:N"), alt.Tooltip("time:Q", title="step"), alt.Tooltip("norm:Q", format=".3g")]
    chart = (
        alt.Chart()
        .mark_line(point=True)
        .encode(x=x, y=y, color=alt.Color("place:N", title=None, sort=in_order(means, "place")), tooltip=tips)
        .properties(width=WIDTH, height=130)
        .facet(
            facet=alt.Facet("measure:N", sort=in_order(means, "measure"), header=alt.Header(title=None)),
            columns=3,
            data=alt.NamedData("rows"),
        )
        .resolve_scale(y="independent")
    )
    return Figure(chart, {"rows": shown}, describe(table))


def _axis(table: Table, steps: int) -> alt.Axis:
    """The steps' tokens, if they are known and have room."""
    sequences = table.options.get("tokens", [])
    if any(other != sequences[0] for other in sequences):
        raise UsageError(
            f"'vocabulary' must be left out: the figure is the mean over {len(sequences)} sequences of different "
            "tokens. For one of them, ask about it alone: rote.gradient_flow(model, tokens[:1], ...)."
        )
    names = tokens_of(table, 0)
    if names is None or steps > WIDTH // 12:
        return alt.Axis(format="d", tickMinStep=1)
    return alt.Axis(values=list(range(steps)), labelExpr=f"{json.dumps(names)}[datum.value]", **turned(names))
