"""The connectivity figure of source 003: a paragraph in color, once for each cell.

The color of a character says how much the output at the chosen character draws on it, relative to the most; above each
text stand that cell's suggestions there. Pointing at a character chooses it in all texts. A row of the table holds what
one output draws on as a list, which Vega takes apart for the chosen output only.
"""

from __future__ import annotations

from typing import Any

import altair as alt

from rote.figures.figure import Chart, Figure, columns_of, describe, figures, in_order
from rote.figures.style import shade_scale
from rote.store import Table

LINE = 84  # characters, at most
WIDE, HIGH = 9.8, 23  # of a character
ABOVE = 2.2  # lines that a cell's name and suggestions take


@figures.register("memorization-paragraph")
def memorization_paragraph(table: Table) -> Figure:
    """What a chosen character of the paragraph draws on, in each cell (connectivity figure)."""
    found = columns_of(table, "cell", "output", "character", "suggestions", "chances", "relative")
    cells = in_order(found, "cell")
    places = _places("".join(row["character"] for row in found if row["cell"] == cells[0]))
    lines = 1 + places[-1]["line"]
    tops = {cell: index * (lines + ABOVE) + ABOVE for index, cell in enumerate(cells)}
    text = [{**place, **_box(place, tops[cell])} for cell in cells for place in places]
    rows = [
        {
            "cell": row["cell"], "output": row["output"], "relative": row["relative"], "first": tops[row["cell"]],
            "name": tops[row["cell"]] - 1.7, "above": tops[row["cell"]] - 0.85, "suggested": _suggested(row),
        }
        for row in found
    ]  # fmt: skip
    selected = table.options.get("selected", max(row["output"] for row in found))
    height = len(cells) * (lines + ABOVE)
    return Figure(_chart(selected, height), {"rows": rows, "text": text, "places": places}, describe(table))


def _chart(selected: int, height: float) -> Chart:
    """All texts in one view, one below the other, so that they share what is chosen."""
    chosen = alt.selection_point(
        name="chosen", fields=["output"], on="pointerover", clear=False, empty=False, value=[{"output": selected}]
    )
    across = alt.Scale(domain=[-0.5, LINE - 0.5], nice=False)
    down = alt.Scale(domain=[0, height - 0.5], nice=False, reverse=True)
    y = {name: alt.Y(f"{name}:Q", scale=down, axis=None) for name in ("line", "top", "name", "above")}
    box = {"x": alt.X("left:Q", scale=across, axis=None), "x2": "right:Q", "y": y["top"], "y2": "bottom:Q"}
    text = alt.Chart(alt.NamedData("text"))
    here = alt.Chart(alt.NamedData("rows")).transform_filter(chosen)
    drawn_on = (
        here.transform_flatten(["relative"], ["value"])
        .transform_window(number="row_number()", groupby=["cell"])
        .transform_calculate(output="datum.number - 1")
        .transform_lookup("output", alt.LookupData(alt.NamedData("places"), "output", ["column", "line"]))
        .transform_calculate(left="datum.column - 0.5", right="datum.column + 0.5")
        .transform_calculate(top="datum.first + datum.line - 0.42", bottom="datum.first + datum.line + 0.42")
    )
    left = alt.value(0)
    return alt.layer(
        drawn_on.mark_rect().encode(**box, color=_color()),
        text.mark_text(style="strong-note", font="monospace", fontSize=14).encode(
            x=alt.X("column:Q", scale=across, axis=None), y=y["line"], text="character:N"
        ),
        text.transform_filter(chosen).mark_rect(style="outline").encode(**box),
        here.mark_text(style="strong-note", align="left", fontSize=13, fontWeight=600).encode(
            x=left, y=y["name"], text="cell:N"
        ),
        here.mark_text(style="note", align="left", fontSize=12).encode(x=left, y=y["above"], text="suggested:N"),
        text.mark_rect(opacity=0).encode(**box).properties(name="characters").add_params(chosen),
    ).properties(width=LINE * WIDE, height=height * HIGH)


def _color() -> alt.Color:
    """From nothing to the full blue: the upper half of the shades of probabilities."""
    stops, colors = shade_scale()
    upper = [(2 * stop - 1, color) for stop, color in zip(stops, colors, strict=True) if stop > 0.5]
    scale = alt.Scale(domain=[0.0, *(stop for stop, _ in upper[1:])], range=[color for _, color in upper], clamp=True)
    legend = alt.Legend(title="of the most", orient="bottom", gradientLength=140, format=".2~g", tickCount=3)
    return alt.Color("value:Q", scale=scale, legend=legend)


def _places(text: str) -> list[dict[str, Any]]:
    """Line and column of every character; a word that does not fit begins a new line, with its space."""
    places: list[dict[str, Any]] = []
    line = column = 0
    for output, character in enumerate(text):
        end = text.find(" ", output + 1)
        length = (end if end >= 0 else len(text)) - output
        if character == " " and column and column + length > LINE:
            line, column = line + 1, 0
        places.append({"output": output, "character": character, "column": column, "line": line})
        column += 1
    return places


def _box(place: dict[str, Any], top: float) -> dict[str, float]:
    """Where a character stands in the view, below the top of its cell's text."""
    column, line = place["column"], round(top + place["line"], 3)
    return {
        "line": line, "left": column - 0.5, "right": column + 0.5, "top": round(line - 0.42, 3),
        "bottom": round(line + 0.42, 3),
    }  # fmt: skip


def _suggested(row: dict[str, Any]) -> str:
    words = zip(row["suggestions"], row["chances"], strict=True)
    return "suggests " + ", ".join(f"{word} ({chance:.1%})" for word, chance in words)
