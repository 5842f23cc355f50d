"""A labelled table: what every analysis and study returns, what reports show and claims read."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

from rote.store.files import finite
from rote.store.typed import from_json

Role = Literal["label", "measured", "published"]
# Behind apostrophes too, so that taking one away gives back every text. The last four are their wide forms, which some
# spreadsheets compute as well.
_FORMULA = re.compile("'*[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?")


@dataclass(frozen=True)
class Column:
    AS_LIST: ClassVar[bool] = True  # how a file has it: a table has many

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

    def __post_init__(self) -> None:
        names = [column.name for column in self.columns]
        if len(set(names)) < len(names):
            raise ValueError(f"two columns of one name in the table {self.name!r}")
        if any(len(row) != len(names) for row in self.rows):
            raise ValueError(f"a row that has not one value for each column of the table {self.name!r}")

    @classmethod
    def make(
        cls, name: str, title: str, columns: Sequence[Column], rows: Iterable[Mapping[str, Any]], **rest: Any
    ) -> Table:
        """From rows as mappings; a missing value is None, NaN becomes None."""
        cells = tuple(tuple(finite(row.get(column.name)) for column in columns) for row in rows)
        return cls(name, title, tuple(columns), cells, **rest)

    @property
    def names(self) -> list[str]:
        """Of its columns."""
        return [column.name for column in self.columns]

    def records(self) -> list[dict[str, Any]]:
        names = self.names
        return [dict(zip(names, row, strict=True)) for row in self.rows]

    def column(self, name: str) -> list[Any]:
        index = self.names.index(name)
        return [row[index] for row in self.rows]

    def where(self, **labels: Any) -> Table:
        """The rows whose columns have these values."""
        rows, names = self.rows, self.names
        for name, value in labels.items():
            index = names.index(name)
            rows = tuple([row for row in rows if row[index] == value])
        return replace(self, rows=rows)

    def to_plain(self) -> dict[str, Any]:
        columns = [[column.name, column.about, column.role] for column in self.columns]
        return {**self.__dict__, "columns": columns, "rows": [list(row) for row in self.rows]}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any], path: Path = Path("A table")) -> Table:
        """``path``: the file that it is from, for a message that names it."""
        table: Table = from_json(cls, plain, path)
        return table


def csv_text(names: Sequence[str], rows: Iterable[Iterable[object]], end: str = "\r\n") -> str:
    """Numbers as they are. A text that a spreadsheet would take for a formula gets an apostrophe before it."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator=end)
    writer.writerow(map(_cell, names))
    writer.writerows(map(_cell, row) for row in rows)
    return text.getvalue()


def _cell(value: object) -> str:
    text = exact(value)
    return f"'{text}" if isinstance(value, str) and _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def exact(value: object) -> str:
    """The value with all its digits, as a tooltip and a CSV file give it; None is empty."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if isinstance(value, int | float):
        return repr(value)
    return json.dumps(value, ensure_ascii=False, default=str)
