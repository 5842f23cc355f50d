"""Lookup models with exchanged parts (source 002, Table 4) and with few neurons (section 5.2), beside what it reports.

Our mean is a diamond with its 95 % interval; the published mean is a tick, with its standard deviation as a bar.
"""

from __future__ import annotations

from typing import Any

import altair as alt

from rote.figures.figure import Chart, Figure, columns_of, describe, figures, in_order
from rote.figures.lines import HAS_INTERVAL, only
from rote.store import Table

AXIS = "accuracy on new compositions (diamond: our mean and 95 % interval; tick: published{})"
UNCHANGED = {"original": "nothing, as trained", "none": "nothing, only retrained"}
READINGS = {
    "edges": "most strong edges",
    "mean": "largest mean weight",
    "max": "largest weight",
    "random": "random neurons",
    "none": "nothing cut",
}


@figures.register("lookup-substitution")
def lookup_substitution(table: Table) -> Figure:
    """Accuracy with a frozen component of the other kind after retraining, beside the published (Table 4)."""
    names = ("model", "component", "published", "published_sd", "accuracy", "low", "high", "before")
    rows = [
        {**row, **_published_bar(row), "exchanged": UNCHANGED.get(row["component"], row["component"])}
        for row in columns_of(table, *names)
    ]
    title = AXIS.format(", bar: ± its standard deviation")
    panels = [_panel(kind, in_order(rows, "exchanged"), title) for kind in in_order(rows, "model")]
    return Figure(alt.vconcat(*panels, spacing=24), {"rows": rows}, describe(table))


@figures.register("lookup-pruning")
def lookup_pruning(table: Table) -> Figure:
    """Accuracy of pruned models before and after retraining, by how the kept neurons are chosen (section 5.2)."""
    found = columns_of(table, "by", "when", "published", "accuracy", "low", "high")
    rows = [{**row, "kept": READINGS.get(row["by"], row["by"])} for row in found]
    chart = _marks(
        alt.Chart(alt.NamedData("rows")), "when", in_order(rows, "when"), AXIS.format(""), [alt.Tooltip("kept:N")]
    )
    header = alt.Header(title=None, labelAngle=0, labelAlign="left", labelFontWeight=600)
    faceted = chart.properties(width=480, height=alt.Step(24)).facet(
        row=alt.Row("kept:N", sort=in_order(rows, "kept"), header=header), spacing=8
    )
    return Figure(faceted, {"rows": rows}, describe(table))


def _published_bar(row: dict[str, Any]) -> dict[str, float]:
    if row["published"] is None or row["published_sd"] is None:
        return {}
    low, high = row["published"] - row["published_sd"], row["published"] + row["published_sd"]
    return {"published_low": max(0.0, low), "published_high": min(1.0, high)}


def _panel(kind: str, components: list[str], title: str) -> Chart:
    tips = [alt.Tooltip("model:N"), alt.Tooltip("before:Q", title="before retraining", format=".3f")]
    layers = _marks(only("rows", model=kind), "exchanged", components, title, tips)
    return layers.properties(width=480, height=alt.Step(24), title=f"{kind} models")


def _marks(base: alt.Chart, lanes: str, order: list[str], title: str, tips: list[alt.Tooltip]) -> Chart:
    """Each lane's published value and ours, one above the other."""
    base = base.encode(y=alt.Y(f"{lanes}:N", sort=order, scale=alt.Scale(domain=order), title=None))
    scale = alt.Scale(domain=[0, 1])
    x = alt.X("accuracy:Q", title=title, scale=scale, axis=alt.Axis(format="%", tickCount=5))
    shown = [
        alt.Tooltip(f"{lanes}:N"),
        *tips,
        alt.Tooltip("accuracy:Q", format=".3f"),
        alt.Tooltip("low:Q", title="95 % from", format=".3f"),
        alt.Tooltip("high:Q", title="95 % to", format=".3f"),
        alt.Tooltip("published:Q", format=".3f"),
    ]
    legend = alt.Legend(title=None, orient="top", symbolType="square", symbolOpacity=1)
    color = alt.Color("from:N", legend=legend)
    said = base.transform_filter("isValid(datum.published)").transform_calculate(**{"from": "'published'"})
    bar = said.transform_filter("isValid(datum.published_low)").mark_bar(height=12, opacity=0.35)
    tick = said.mark_tick(thickness=3, size=16)
    known = base.transform_filter(HAS_INTERVAL)
    return alt.layer(
        bar.encode(x=alt.X("published_low:Q", title=title, scale=scale), x2="published_high:Q", color=color),
        tick.encode(x=alt.X("published:Q", title=title, scale=scale), color=color, tooltip=shown),
        known.mark_rule(style="summary").encode(x=alt.X("low:Q", title=title), x2="high:Q"),
        base.mark_point(style="summary-point", shape="diamond", filled=True).encode(x=x, tooltip=shown),
    )
