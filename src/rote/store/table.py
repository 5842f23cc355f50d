"""A labelled table: what every analysis and study returns, what reports show and claims read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from rote.store.files import finite

Role = Literal["label", "measured", "published"]


@dataclass(frozen=True)
class Column:
    name: str
    about: str = ""  # what it is and in which unit, shown as the heading's explanation
    role: Role = "measured"


@dataclass(frozen=True)
class Table:
    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Any, ...], ...]
    place: str = ""  # where the source has it: "Figure 5"
    note: str = ""  # what a reader must know: what was changed, how it is measured
    figure: str = ""  # name of the figure that draws it
    details: bool = False  # long data behind a figure: offered as a download, not printed
    options: dict[str, Any] = field(default_factory=dict)  # what the figure needs beside the rows

    @classmethod
    def make(
        cls, name: str, title: str, columns: Sequence[Column], rows: Iterable[Mapping[str, Any]], **rest: Any
    ) -> Table:
        """From rows as mappings; a missing value is None, NaN becomes None."""
        cells = tuple(tuple(finite(row.get(column.name)) for column in columns) for row in rows)
        return cls(name, title, tuple(columns), cells, **rest)

    def records(self) -> list[dict[str, Any]]:
        names = [column.name for column in self.columns]
        return [dict(zip(names, row, strict=True)) for row in self.rows]

    def column(self, name: str) -> list[Any]:
        index = [column.name for column in self.columns].index(name)
        return [row[index] for row in self.rows]

    def where(self, **labels: Any) -> Table:
        """The rows whose columns have these values."""
        kept = [
            row
            for row, record in zip(self.rows, self.records(), strict=True)
            if all(record[name] == value for name, value in labels.items())
        ]
        return Table(**{**self.__dict__, "rows": tuple(kept)})

    def to_plain(self) -> dict[str, Any]:
        columns = [[column.name, column.about, column.role] for column in self.columns]
        return {**self.__dict__, "columns": columns, "rows": [list(row) for row in self.rows]}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Table:
        columns = tuple(Column(*column) for column in plain["columns"])
        return cls(**{**plain, "columns": columns, "rows": tuple(tuple(row) for row in plain["rows"])})
