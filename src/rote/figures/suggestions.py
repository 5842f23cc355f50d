"""Suggestions of an autocomplete model as bars, the most probable word on top."""

from __future__ import annotations

import altair as alt

from rote.figures.figure import Figure, columns_of, describe, figures, in_order
from rote.store import Table


@figures.register("suggestions")
def suggestions(table: Table) -> Figure:
    """Probability of each suggested word; a word that was asked about stands last, with its rank."""
    rows = columns_of(table, "rank", "word", "probability")
    for row in rows:
        row["label"] = f"{row['rank']}  {row['word']}"
    chart = (
        alt.Chart(alt.NamedData("rows"))
        .mark_bar()
        .encode(
            x=alt.X("probability:Q", axis=alt.Axis(format="%")),
            y=alt.Y("label:N", title=None, sort=in_order(rows, "label")),
            tooltip=[alt.Tooltip("word:N"), alt.Tooltip("rank:Q"), alt.Tooltip("probability:Q", format=".2%")],
        )
        .properties(width=300)
    )
    return Figure(chart, {"rows": rows}, describe(table))
