"""What a figure is: an Altair chart over named data, drawn from one table by one registered function.

    @figures.register("plane-data")
    def plane_data(table: Table) -> Figure: ...

A figure is a pure function of its table. The rows are filled in after Altair has written the chart, because Altair
checks every inline row against the schema (seconds for a dense grid), and because the chart then holds no data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from rote.errors import UsageError
from rote.figures.style import Theme, theme
from rote.registry import Registry
from rote.store import Table

Rows = Sequence[Mapping[str, Any]]
Chart = alt.Chart | alt.LayerChart | alt.FacetChart | alt.HConcatChart | alt.VConcatChart | alt.ConcatChart
# Whether specifications are checked against Vega-Lite's schema, which takes longer than drawing: the tests do.
CHECKED = False


@dataclass(frozen=True)
class Figure:
    """A chart and the data behind it; a notebook shows it as it is."""

    chart: Chart
    data: Mapping[str, Rows]  # dataset name -> rows
    description: str = ""  # what a reader who cannot see it is told

    def spec(self, on: Theme = "light") -> dict[str, Any]:
        """The complete Vega-Lite specification. The same table always gives the same one."""
        spec: dict[str, Any] = self.chart.to_dict(validate=CHECKED)
        spec["config"] = theme(on)  # in place of whatever theme the session has enabled
        spec.pop("usermeta", None)
        spec["datasets"] = {name: [dict(row) for row in rows] for name, rows in self.data.items()}
        if self.description:
            spec["description"] = self.description
        return spec

    def _repr_mimebundle_(self, *_: Any, **__: Any) -> tuple[dict[str, str], dict[str, Any]]:
        """A picture, which every front end and nbconvert can show. Not the specification: there is no type for one of
        Vega-Lite's that they all know, and notebooks with a type that ends otherwise than in +json are not valid."""
        from rote.figures.export import bundle

        return bundle(self)


figures: Registry[Callable[[Table], Figure]] = Registry("figure", "rote.figures")


def draw(table: Table) -> Figure:
    """The figure of a table: the one that its ``figure`` field names."""
    if not table.figure:
        raise UsageError(f"The table {table.name!r} names no figure to draw it with. Known: {', '.join(figures)}.")
    return figures[table.figure](table)


def describe(table: Table) -> str:
    """The text that stands for the figure: the table's place, title and note."""
    lead = f"{table.title} ({table.place})" if table.place else table.title
    return f"{lead}. {table.note}" if table.note else f"{lead}."


def columns_of(table: Table, *names: str) -> list[dict[str, Any]]:
    """The named columns of every row. An error says which of them the table lacks, or that it has no rows."""
    check_columns(table, *names)
    return [{name: row[name] for name in names} for row in table.records()]


def check_columns(table: Table, *names: str) -> None:
    present = {column.name for column in table.columns}
    lacking = [name for name in names if name not in present]
    if lacking:
        raise UsageError(
            f"The figure {table.figure!r} needs the columns {', '.join(names)}. "
            f"The table {table.name!r} lacks {', '.join(lacking)}."
        )
    if not table.rows:
        raise UsageError(f"The table {table.name!r} has no rows, so there is nothing to draw.")


def place_name(row: Mapping[str, Any], both: bool) -> str:
    """Which cell of a recurrent model a row is about; ``both``: there are two directions to be told apart."""
    return f"layer {row['layer']}" + (f", {('forward', 'backward')[row['direction']]}" if both else "")


def in_order(rows: Rows, name: str) -> list[Any]:
    """The values of one column, each once, in the order in which the table has them."""
    return list(dict.fromkeys(row[name] for row in rows))
