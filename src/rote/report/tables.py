"""A table as a file: CSV with every digit, Markdown and LaTeX as a paper prints it, published columns marked."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rote.report.numbers import is_number, shown
from rote.store import Column, Table
from rote.store.table import csv_text

_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "–": "--",
    "∞": r"$\infty$",
}


def to_csv(table: Table) -> str:
    """RFC 4180: column names, then the rows with all digits; None is empty, a list is JSON."""
    return csv_text([column.name for column in table.columns], table.rows)


def to_markdown(table: Table) -> str:
    """A heading, the note and a pipe table, numbers to three significant digits."""
    numeric = numeric_columns(table)
    lines = headed(table)
    lines.append(_piped(_markdown(_heading(column)) for column in table.columns))
    lines.append(_piped("---:" if right else "---" for right in numeric))
    lines += [_piped(_markdown(shown(value)) for value in row) for row in table.rows]
    return "\n".join(lines) + "\n"


def headed(table: Table) -> list[str]:
    """Lines of Markdown: the heading of a table, and its note."""
    return [f"### {_markdown(_caption(table))}", "", *([_markdown(table.note), ""] if table.note else [])]


def pictured(table: Table, path: str) -> str:
    """The picture of a table's figure as Markdown."""
    return f"![{_markdown(table.title)}]({path})\n"


def to_latex(table: Table) -> str:
    r"""A ``table`` environment with ``\toprule`` and so on of the booktabs package, three significant digits."""
    alignment = "".join("r" if right else "l" for right in numeric_columns(table))
    caption = _latex(_caption(table) + (f". {table.note}" if table.note else ""))
    label = re.sub(r"[^A-Za-z0-9-]+", "-", table.name)
    body = [" & ".join(_latex_cell(value) for value in row) + r" \\" for row in table.rows]
    lines = [
        r"% \usepackage{booktabs}",
        r"\begin{table}",
        r"  \centering",
        rf"  \caption{{{caption}}}",
        rf"  \label{{tab:{label}}}",
        rf"  \begin{{tabular}}{{{alignment}}}",
        r"    \toprule",
        "    " + " & ".join(_latex(_heading(column)) for column in table.columns) + r" \\",
        r"    \midrule",
        *(f"    {row}" for row in body),
        r"    \bottomrule",
        r"  \end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def numeric_columns(table: Table) -> list[bool]:
    """For each column, whether it holds numbers and nothing else."""
    columns = zip(*table.rows, strict=True) if table.rows else ((),) * len(table.columns)
    held = [[value for value in column if value is not None] for column in columns]
    return [bool(values) and all(map(is_number, values)) for values in held]


def _caption(table: Table) -> str:
    return f"{table.title} ({table.place})" if table.place else table.title


def _heading(column: Column) -> str:
    name = column.name.replace("_", " ")
    marked = column.role == "published" and "published" not in name
    return f"{name} (published)" if marked else name


def _piped(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _markdown(text: str) -> str:
    """Any ASCII punctuation may be escaped; these would otherwise start markup, HTML or a cell."""
    return re.sub(r"([\\`*_\[\]<>|~#&])", r"\\\1", _one_line(text))


def _latex(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in _one_line(text))


def _latex_cell(value: object) -> str:
    text = _latex(shown(value))
    return f"${text}$" if is_number(value) and text.startswith("-") and "$" not in text else text


def _one_line(text: str) -> str:
    return " ".join(text.split())
