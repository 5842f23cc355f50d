"""The profile of an examined model: where it stands between rote and rule, task by task."""

from __future__ import annotations

import altair as alt

from rote.figures.figure import Chart, Figure, columns_of, describe, figures, in_order
from rote.figures.lines import only
from rote.store import Table

AXIS = [-0.5, 1.05]


@figures.register("examination-profile")
def examination_profile(table: Table) -> Figure:
    """A strip for each task: seeds as dots, references and the memorizer beside them, lines at rote and rule."""
    rows = columns_of(table, "task", "dimension", "score", "low", "high", "outcome")
    tasks = [row["task"] for row in rows if row["dimension"] != "memory"]
    ends = [{"score": 0.0, "name": "rote"}, {"score": 1.0, "name": "rule"}]
    dots = [{**dot, "score": max(AXIS[0], dot["score"])} for dot in table.options["dots"]]
    told = [{**row, "at": AXIS[1]} for row in rows if row["task"] in tasks]
    x = alt.X("score:Q", title="score", scale=alt.Scale(domain=AXIS))
    y = alt.Y("task:N", sort=tasks, title=None)
    lines = alt.Chart(alt.NamedData("ends")).mark_rule(style="summary").encode(x=x)
    names = (
        alt.Chart(alt.NamedData("ends"))
        .mark_text(style="strong-note", dy=-10, baseline="bottom")
        .encode(x=x, y=alt.value(0), text="name:N")
    )
    tips = [alt.Tooltip("task:N"), alt.Tooltip("of:N"), alt.Tooltip("score:Q", format=".2f")]
    kinds = [kind for kind in in_order(dots, "of") if kind != "seed"]
    shape = alt.Shape(
        "of:N",
        title=None,
        scale=alt.Scale(domain=["seed", *kinds], range=_shapes(kinds)),
        legend=alt.Legend(orient="bottom"),
    )
    color = alt.Color("of:N", title=None, scale=alt.Scale(domain=["seed", *kinds]), legend=alt.Legend(orient="bottom"))
    marks = alt.Chart(alt.NamedData("dots")).mark_point(filled=False, opacity=0.9).encode(
        x=x, y=y, shape=shape, color=color, tooltip=tips
    )  # fmt: skip
    words = alt.Chart(alt.NamedData("told")).mark_text(style="strong-note", align="left", dx=8).encode(
        x=alt.X("at:Q"), y=y, text="outcome:N"
    )  # fmt: skip
    chart = alt.layer(lines, names, marks, words).properties(width=360, height=alt.Step(22))
    return Figure(chart, {"ends": ends, "dots": dots, "told": told}, describe(table))


def _shapes(kinds: list[str]) -> list[str]:
    others = iter(
        ["square", "diamond", "triangle-up", "triangle-down", "triangle-right", "triangle-left", "stroke"] * 4
    )
    return ["circle", *("cross" if kind == "memorizer" else next(others) for kind in kinds)]


@figures.register("examination-curves")
def examination_curves(table: Table) -> Figure:
    """Accuracy on known and on new items over training, a panel for each task, a line for each seed."""
    rows = columns_of(table, "task", "seed", "step", "items", "accuracy")
    panels = [_panel(task) for task in in_order(rows, "task")]
    return Figure(alt.concat(*panels, columns=4, spacing=18), {"rows": rows}, describe(table))


def _panel(task: str) -> Chart:
    panel: Chart = (
        only("rows", task=task)
        .mark_line()
        .encode(
            x=alt.X("step:Q", title=None, axis=alt.Axis(tickCount=3)),
            y=alt.Y("accuracy:Q", title=None, scale=alt.Scale(domain=[0, 1])),
            color=alt.Color("items:N", title=None, scale=alt.Scale(domain=["known", "new"])),
            strokeDash=alt.StrokeDash("items:N", title=None, scale=alt.Scale(domain=["known", "new"])),
            detail="seed:N",
        )
        .properties(width=110, height=80, title=task)
    )
    return panel
