"""How studies, tables and verdicts look in a terminal."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table as Grid
from rich.text import Text

from rote.claims import Estimate
from rote.commands.arguments import NARROWEST
from rote.laboratory import Study
from rote.laboratory.estimates import Expectation, in_words
from rote.printable import printable
from rote.store import Listed, Record, Table


class PrintableConsole(Console):
    """Whatever is printed on it, no text from a record or a file reaches the terminal as a command to it."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=printable(segment.text))


def console_for(file: TextIO) -> Console:
    """A terminal's own width; elsewhere (a file, a pipe) lines are as long as they are."""
    wide = not file.isatty() and "COLUMNS" not in os.environ
    made = PrintableConsole(file=file, width=10_000 if wide else None)
    made.width = max(made.width, NARROWEST)
    return made


def show_tables(console: Console, tables: Iterable[Table]) -> None:
    """Every table that is meant to be read; long data behind figures is left out."""
    for table in tables:
        if not table.details:
            place = f" ({table.place})" if table.place else ""
            console.print(f"\n{table.title}{place}", markup=False, highlight=False, style="bold")
            for part in in_bands(console, table):
                console.print(part, highlight=False)
            if table.note:
                console.print(table.note, markup=False, style="dim")


def show_runs(console: Console, runs: Sequence[Listed], root: Path) -> None:
    if not runs:
        console.print(f"No such runs in {root}.", markup=False, highlight=False)
        return
    rows = [
        {
            "id": row.id[:10], "study": row.study, "part": row.part, "preset": row.preset, "status": row.status,
            "seeds": row.seeds, "started": row.started[:16].replace("T", " "), "seconds": row.seconds,
            "about": row.label,
        }
        for row in runs
    ]  # fmt: skip
    reasons = [printable(f"{row.id[:10]}: {row.error}", lines=False) for row in runs if row.error]
    console.file.write("\n".join([*in_columns(rows), *reasons]) + "\n")


def show_networks(console: Console, networks: Sequence[Mapping[str, Any]], most: int = 12) -> None:
    """The networks of a training, a line each."""
    if networks:
        console.print("networks (open them in Python: store.load(ID).networks()[index])", highlight=False, markup=False)
    for index, labels in enumerate(networks[:most]):
        told = ", ".join(f"{name} {value}" for name, value in labels.items())
        console.print(printable(f"  {index}  {told}", lines=False), highlight=False, markup=False)
    if len(networks) > most:
        console.print(f"  ... and {len(networks) - most} more", highlight=False)


def show_record(console: Console, record: Record, folder: Path) -> None:
    request, environment = record.request, record.environment
    packages = ", ".join(f"{name} {version}" for name, version in environment.get("packages", {}).items())
    own = ", ".join(f"{name} {digest[:12]}" for name, digest in request.code.items())
    facts = {
        "run": request.id,
        "folder": folder,
        "study": f"{request.study}, version {request.version}, part {request.part}, preset {request.preset}",
        **({"about": request.label} if request.label else {}),
        "status": record.status + (f", taken up again {record.resumed} times" if record.resumed else ""),
        "started": f"{record.started}, took {record.seconds:.1f} s on {record.device or 'no device'}",
        "seeds": _seeds(request.seeds),
        "overrides": ", ".join(f"{key}={value}" for key, value in record.passed.items()) or "none",
        "made from": ", ".join(record.uses) or "itself",
        "code": f"commit {environment.get('commit') or 'unknown'}{', changed' if environment.get('dirty') else ''}",
        **({"own code": own} if own else {}),
        "packages": f"python {environment.get('python')}, {packages}",
    }
    for name, value in facts.items():
        console.print(Text(f"{name:<10} ", style="bold").append(str(value), style="not bold"))
    if record.error:
        console.print(f"error\n{record.error}", markup=False, highlight=False)


def interval(estimate: Estimate) -> str:
    return f"{number(estimate.value)} [{number(estimate.low)}, {number(estimate.high)}]"


def in_bands(console: Console, table: Table) -> list[Grid]:
    """The table, cut into several below each other where it is wider than the terminal; labels begin each of them."""
    labels = [column.name for column in table.columns if column.role == "label"]
    unlimited = console.options.update_width(10_000)
    bands: list[list[str]] = [[]]
    for name in (column.name for column in table.columns if column.role != "label"):
        wider = rows_as_table(_only(table, [*labels, *bands[-1], name]))
        if bands[-1] and console.measure(wider, options=unlimited).maximum > console.width:
            bands.append([])
        bands[-1].append(name)
    return [rows_as_table(_only(table, [*labels, *band])) for band in bands]


def _only(table: Table, names: Sequence[str]) -> list[dict[str, Any]]:
    return [{name: record[name] for name in names} for record in table.records()]


def in_columns(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Lines of plain text, for thousands of rows: a table that measures and folds every cell takes seconds."""
    cells = [list(rows[0]), *([printable(number(value), lines=False) for value in row.values()] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    right = [isinstance(value, int | float) for value in rows[0].values()]
    return [
        "  ".join(
            cell.rjust(width) if number else cell.ljust(width)
            for cell, width, number in zip(line, widths, right, strict=True)
        ).rstrip()
        for line in cells
    ]


def rows_as_table(rows: list[dict[str, Any]]) -> Grid:
    grid = Grid(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in rows[0] if rows else ():
        values = [row[name] for row in rows]
        is_number = all(isinstance(value, int | float | None) for value in values)
        short = max(len(number(value)) for value in values) <= 20
        grid.add_column(Text(name), justify="right" if is_number else "left", overflow="fold", no_wrap=short)
    for row in rows:
        grid.add_row(*(Text(number(value)) for value in row.values()))
    return grid


def show_study(
    console: Console,
    study: Study[Any],
    costs: Mapping[str, Expectation],
    presets: Mapping[str, Mapping[str, object]],
) -> None:
    console.print(f"{study.name}: {study.title}", style="bold", markup=False)
    console.print(f"{study.source.label}, “{study.source.title}”, {study.place}.\n", markup=False, highlight=False)
    console.print(study.about + "\n", markup=False, highlight=False)
    console.print("Claims", style="bold")
    for claim in study.claims:
        console.print(f"  {claim.id}: {claim.statement}", markup=False, highlight=False)
    console.print("\nDeviations and choices", style="bold")
    for text in study.deviations:
        console.print(f"  - {text}", markup=False, highlight=False)
    show_expectations(console, costs)
    console.print("\nPresets (change any key with key=value)", style="bold")
    keys = next(iter(presets.values()))
    rows = [{"key": key} | {name: as_typed(values[key]) for name, values in presets.items()} for key in keys]
    console.print(rows_as_table(rows))


def show_expectations(console: Console, costs: Mapping[str, Expectation]) -> None:
    workers = next(iter(costs.values())).workers
    console.print(f"\nWhat is still to be done with {workers} workers, estimated", style="bold", highlight=False)
    console.print(rows_as_table([{"preset": name, **in_words(found)} for name, found in costs.items()]))
    if any(found.rough for found in costs.values()):
        console.print(
            "Roughly, or at least: scaled by the number of updates and seeds, not by the size of networks or data."
        )


def as_typed(value: object) -> str:
    """As one would write it after ``key=``."""
    if isinstance(value, tuple):
        return ",".join(map(as_typed, value))
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)


def _seeds(seeds: Sequence[int]) -> str:
    together = len(seeds) > 1 and list(seeds) == list(range(seeds[0], seeds[-1] + 1))
    return f"{seeds[0]} to {seeds[-1]}" if together else ", ".join(map(str, seeds))


def number(value: object) -> str:
    if value is None:
        return "–"
    return f"{value:.3g}" if isinstance(value, float) else str(value)
