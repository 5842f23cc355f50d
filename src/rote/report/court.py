"""The court's page: the table of methods, heat maps by program, and strings with truth and attribution side by side.

One file without a script that opens anywhere, with the tables as CSV beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from rote.errors import UsageError
from rote.figures.export import still
from rote.figures.style import shade
from rote.report.tables import to_csv
from rote.store import Table
from rote.store.files import write_atomically

PICTURED = {
    "direction": "Direction: cosine with the exact Shapley values",
    "size": "Size: distance from the Shapley values, over their norm",
    "rank": "Rank: does it put the deciding positions first?",
}
UPWARD = ("direction", "sign", "mass", "rank", "interactions")  # the more the better


def write_court(
    summary: Table, programs: Table, others: Sequence[Table], left_out: Sequence[str], out: Path, command: str
) -> Path:
    """``index.html`` and the tables in the folder ``out``; the path of the page."""
    if out.exists() and not out.is_dir():
        raise UsageError(f"'--out' must be a folder. {out} is a file.")
    tables = (summary, programs, *others)
    page = court_page(summary, programs, others, left_out, command)
    try:
        out.mkdir(parents=True, exist_ok=True)
        for table in tables:
            write_atomically(out / f"{table.name}.csv", to_csv(table).encode())
        write_atomically(out / "index.html", page.encode())
    except OSError as error:
        raise UsageError(f"The page cannot be written to {out}: {error.strerror}. Choose another --out.") from None
    return out / "index.html"


def court_page(summary: Table, programs: Table, others: Sequence[Table], left_out: Sequence[str], command: str) -> str:
    about: Mapping[str, str] = programs.options["about"]
    loader = jinja2.FileSystemLoader(Path(__file__).parent / "templates")
    environment = jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    examples = next(table for table in others if table.name == "examples")
    rows = summary.records()
    return environment.get_template("court.html").render(
        lead=_lead(rows, programs),
        summary={docket: _rows(rows, docket, about) for docket in dict.fromkeys(row["docket"] for row in rows)},
        measures=list(about),
        about=about,
        pictures=[
            (title, Markup(still(_measured(programs, name))))
            for name, title in PICTURED.items()
            if any(value is not None for value in programs.column(name))
        ],
        strips=_strips(examples),
        left_out=left_out,
        command=command,
        files=[f"{table.name}.csv" for table in (summary, programs, *others)],
    )


def _lead(rows: Sequence[Mapping[str, Any]], programs: Table) -> str:
    count = len({row["method"] for row in rows})
    names = dict.fromkeys(programs.column("program"))
    return (
        f"{count} explanation methods on networks whose working is known: {len(names)} programs ({', '.join(names)}) "
        "compiled into weights or learned to the last deletion. The truth is enumerated: the exact Shapley value of "
        "every symbol, and which symbols decide."
    )


def _measured(programs: Table, measure: str) -> Table:
    return replace(programs, options={**programs.options, "measure": measure})


def _rows(rows: Sequence[Mapping[str, Any]], docket: str, about: Iterable[str]) -> list[dict[str, Any]]:
    mine = [row for row in rows if row["docket"] == docket]
    best = {}
    for name in about:
        known = [row[name] for row in mine if row[name] is not None]
        best[name] = (max(known) if name in UPWARD else min(known)) if known else "none"
    return [
        {
            "method": row["method"],
            "cells": [
                {
                    "text": _text(row[name]),
                    "best": row[name] is not None and row[name] == best[name],
                    "tip": _tip(row, name),
                }
                for name in about
            ],
        }
        for row in sorted(mine, key=lambda row: -(row["direction"] if row["direction"] is not None else -1))
    ]


def _tip(row: Mapping[str, Any], name: str) -> str:
    low, high = row.get(f"{name} low"), row.get(f"{name} high")
    return "" if low is None or high is None else f"{low:.2f} to {high:.2f}"


def _text(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.2f}" if abs(value) < 100 else f"{value:.0e}"


def _strips(examples: Table) -> list[dict[str, Any]]:
    groups: dict[str, dict[int, dict[str, list[Mapping[str, Any]]]]] = {}
    for row in examples.records():
        title = f"{row['docket']}: {row['program']} in {row['cell']}"
        groups.setdefault(title, {}).setdefault(row["string"], {}).setdefault(row["method"], []).append(row)
    return [
        {"title": title, "strips": [_strip(methods) for methods in strings.values()]}
        for title, strings in groups.items()
    ]


def _strip(methods: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, Any]:
    truth = methods["truth"]
    rows = []
    for method, cells in methods.items():
        most = max(abs(cell["value"]) for cell in cells) or 1.0
        rows.append(
            {"method": method, "cells": [(_text(cell["value"]), _color(cell["value"] / most)) for cell in cells]}
        )
    return {"symbols": [(cell["symbol"], cell["decides"]) for cell in truth], "rows": rows}


def _color(share: float) -> str:
    red, green, blue, alpha = shade((share + 1) / 2)
    return f"rgba({red}, {green}, {blue}, {0.7 * alpha:.2f})"
