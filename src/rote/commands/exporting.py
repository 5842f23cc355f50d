"""Runs for other programs: what training recorded and result tables, as CSV, Parquet or TensorBoard events."""

from __future__ import annotations

import csv
import io
import json
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from rote.errors import UnknownNameError, UsageError
from rote.store import FinishedRun, write_atomically
from rote.store.files import canonical, writing

FORMATS = ("csv", "parquet", "tensorboard")
NEEDED = {"parquet": "duckdb", "tensorboard": "tensorboardX"}
LABELS = ("run", "study", "part")
METRICS = (*LABELS, "step", "measure", "seed", "value")
Rows = list[dict[str, Any]]


def check(format: str, out: Path | None) -> None:
    """Before any run is read."""
    if format not in FORMATS:
        raise UnknownNameError("format", format, FORMATS)
    if format in NEEDED:
        if out is None:
            raise UsageError(f"The format {format!r} cannot go to the terminal. Say where: --out PATH.")
        _import(NEEDED[format], format)


def format_of(format: str | None, out: Path | None) -> str:
    """As asked, else by the name of the file, else CSV."""
    suffix = out.suffix.lstrip(".") if out else ""
    return format or (suffix if suffix in FORMATS else "csv")


def export(runs: Sequence[FinishedRun], format: str, out: Path | None, table: str | None) -> str:
    """Write what was asked for; returns what to print. A folder gets metrics and every table, a file one of them."""
    check(format, out)
    if format == "tensorboard":
        assert out is not None
        return f"{write_events(runs, out)} event files in {out}\n"
    if out is not None and not out.suffix:
        return _folder(runs, format, out)
    rows = metric_rows(runs) if table is None else table_rows(runs, table)
    names = METRICS if table is None else _names(rows)
    if out is None:
        return as_csv(names, rows)
    _write(out, format, names, rows)
    return f"{len(rows)} rows in {out}\n"


def metric_rows(runs: Iterable[FinishedRun]) -> Rows:
    """One row per step, measure and seed; a measure that is not by seed has none."""
    return [
        dict(zip(METRICS, (run.id, request.study, request.part, row["step"], measure, seed, value), strict=True))
        for run in runs
        for request in [run.record.request]
        for row in run.metrics()
        for measure, values in row.items()
        if measure != "step"
        for seed, value in by_seed(request.seeds, values)
    ]


def by_seed(seeds: Sequence[int], values: Any) -> Iterator[tuple[int | None, Any]]:
    if isinstance(values, list) and len(values) == len(seeds):
        yield from zip(seeds, values, strict=True)
    else:
        yield None, values


def table_rows(runs: Sequence[FinishedRun], name: str) -> Rows:
    """The rows of the runs' tables of that name, with the run that each comes from."""
    found: Rows = []
    known: set[str] = set()
    for run in runs:
        tables = run.tables()
        known |= set(tables)
        if name in tables:
            request = run.record.request
            labels = dict(zip(LABELS, (run.id, request.study, request.part), strict=True))
            found += [labels | {_apart(key): value for key, value in row.items()} for row in tables[name].records()]
    if name not in known:
        raise UnknownNameError("table", name, known, " of these runs")
    return found


def _apart(name: str) -> str:
    """A column of the table that is called like one of ours."""
    return f"{name} (table)" if name in LABELS else name


def _folder(runs: Sequence[FinishedRun], format: str, out: Path) -> str:
    with writing(out):
        out.mkdir(parents=True, exist_ok=True)
    tables = dict.fromkeys(name for run in runs for name in run.tables())
    written: dict[str, tuple[Sequence[str], Rows]] = {"metrics": (METRICS, metric_rows(runs))}
    for name in tables:
        rows = table_rows(runs, name)
        written[f"table-{name}"] = (_names(rows), rows)
    for name, (columns, rows) in written.items():
        _write(out / f"{name}.{format}", format, columns, rows)
    return "".join(f"{len(rows)} rows in {out / name}.{format}\n" for name, (_, rows) in written.items())


def _names(rows: Rows) -> tuple[str, ...]:
    """Every column, in the order in which they come: tables of one name may differ between studies."""
    return tuple(dict.fromkeys(key for row in rows for key in row)) or LABELS


def _write(path: Path, format: str, names: Sequence[str], rows: Rows) -> None:
    if format == "csv":
        write_atomically(path, as_csv(names, rows).encode())
    else:
        write_parquet(path, names, rows)


def as_csv(names: Sequence[str], rows: Rows) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([row.get(name) for name in names] for row in rows)
    return text.getvalue()


def write_parquet(path: Path, names: Sequence[str], rows: Rows) -> None:
    """Typed columns: whole numbers, numbers, texts; anything else as JSON text."""
    duckdb = _import("duckdb", "parquet")
    kinds = {name: _kind([row.get(name) for row in rows]) for name in names}
    plain = [{name: _value(row.get(name), kinds[name]) for name in names} for row in rows]
    lines, made = (path.with_name(f".{path.name}.{secrets.token_hex(4)}.{end}") for end in ("json.tmp", "tmp"))
    with writing(path):
        try:
            lines.write_bytes(b"".join(canonical(row) + b"\n" for row in plain))
            columns = ", ".join(f"{_quoted(name)}: '{kind}'" for name, kind in kinds.items())
            source = f"read_json({_quoted(str(lines))}, format = 'newline_delimited', columns = {{{columns}}})"
            with duckdb.connect() as connection:
                connection.execute("SET autoload_known_extensions = false")  # never from a network
                connection.execute(f"COPY (SELECT * FROM {source}) TO {_quoted(str(made))} (FORMAT parquet)")
            os.replace(made, path)
        finally:
            for temporary in (lines, made):
                temporary.unlink(missing_ok=True)


def _kind(values: Sequence[Any]) -> str:
    kinds = {type(value) for value in values if value is not None}
    for fitting, name in (({bool}, "BOOLEAN"), ({int}, "BIGINT"), ({int, float}, "DOUBLE")):
        if kinds and kinds <= fitting:
            large = name == "BIGINT" and any(abs(value) >= 2**63 for value in values if value is not None)
            return "VARCHAR" if large else name
    return "VARCHAR"


def _value(value: Any, kind: str) -> Any:
    return value if kind != "VARCHAR" or value is None or isinstance(value, str) else json.dumps(value)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def write_events(runs: Sequence[FinishedRun], out: Path) -> int:
    """A folder for each run, and in it one for each seed; tables and settings as texts. Returns how many files."""
    tensorboard = _import("tensorboardX", "tensorboard")
    count = 0
    for run in runs:
        request = run.record.request
        folder = out / request.study / f"{request.part.replace('/', '-')}-{run.id[:10]}"
        began = datetime.fromisoformat(run.record.started).timestamp()
        with writing(folder):
            shutil.rmtree(folder, ignore_errors=True)  # of this run by an earlier export: events would be doubled
            by_folder: dict[Path, list[tuple[str, float, int]]] = {folder: []}
            for row in run.metrics():
                for measure, values in row.items():
                    for seed, value in by_seed(request.seeds, values) if measure != "step" else ():
                        if isinstance(value, int | float):
                            place = folder if seed is None else folder / f"seed-{seed}"
                            by_folder.setdefault(place, []).append((measure, float(value), int(row["step"])))
            for place, scalars in by_folder.items():
                with tensorboard.SummaryWriter(str(place)) as writer:
                    if place == folder:
                        for name, text in _texts(run).items():
                            writer.add_text(name, text, 0, walltime=began)
                    for measure, value, step in scalars:
                        writer.add_scalar(measure, value, step, walltime=began)
                count += 1
    return count


def _texts(run: FinishedRun) -> Mapping[str, str]:
    from rote.report.tables import to_markdown

    settings = json.dumps(run.record.request.config, indent=1, sort_keys=True)
    tables = {f"table/{name}": to_markdown(table) for name, table in run.tables().items() if not table.details}
    return {"settings": f"```\n{settings}\n```", **tables}


def _import(package: str, format: str) -> Any:
    try:
        return __import__(package)
    except ImportError:
        raise UsageError(
            f"The format {format!r} needs the package {package}. Install it with: pip install 'rote[export]', or use "
            "--format csv."
        ) from None
