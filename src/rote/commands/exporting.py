"""Runs for other programs: what training recorded and result tables, as CSV, Parquet or TensorBoard events."""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from rote.errors import StoreError, UnknownNameError, UsageError
from rote.store import FinishedRun, Record, Table, write_atomically
from rote.store.files import canonical, writing
from rote.store.names import file_name
from rote.store.table import csv_text

FORMATS = ("csv", "parquet", "tensorboard")
NEEDED = {"parquet": "duckdb", "tensorboard": "tensorboardX"}
LABELS = ("run", "study", "part")
METRICS = (*LABELS, "step", "measure", "seed", "value")
Rows = list[dict[str, Any]]


def check(format: str, out: Path | None, table: str | None) -> None:
    """Before any run is read."""
    if format not in FORMATS:
        raise UnknownNameError("format", format, FORMATS)
    if table is not None and (format == "tensorboard" or _is_folder(out)):
        raise UsageError("'--table' goes with one file; a folder gets every table. Name a file, or leave --table out.")
    if format in NEEDED:
        if out is None:
            raise UsageError(f"The format {format!r} cannot go to the terminal. Say where: --out PATH.")
        _import(NEEDED[format], format)


def format_of(format: str | None, out: Path | None) -> str:
    """As asked, else by the name of the file, else CSV."""
    suffix = out.suffix.lstrip(".") if out else ""
    return format or (suffix if suffix in FORMATS else "csv")


@dataclass(frozen=True)
class Loaded:
    """What is exported of a run, read once."""

    record: Record
    metrics: list[dict[str, Any]]
    tables: dict[str, Table]

    @property
    def labels(self) -> dict[str, str]:
        request = self.record.request
        return dict(zip(LABELS, (request.id, request.study, request.part), strict=True))


def load(
    folders: Iterable[Path], format: str, out: Path | None, table: str | None, left_out: list[str]
) -> list[Loaded]:
    """The runs in these folders, as far as this export needs them; what is damaged is named in ``left_out``."""
    everything = format == "tensorboard" or _is_folder(out)
    loaded = []
    for folder in folders:
        try:
            run = FinishedRun(folder)
            metrics = run.metrics() if everything or table is None else []
            loaded.append(Loaded(run.record, metrics, run.tables() if everything or table is not None else {}))
        except StoreError as error:
            left_out.append(str(error))
    return loaded


def export(runs: Sequence[Loaded], format: str, out: Path | None, table: str | None) -> str:
    """Write what was asked for; returns what to print. A folder gets metrics and every table, a file one of them."""
    if format == "tensorboard":
        assert out is not None
        return f"{write_events(runs, out)} event files in {out}\n"
    if out is not None and _is_folder(out):
        return _folder(runs, format, out)
    rows = metric_rows(runs) if table is None else table_rows(runs, table)
    names = METRICS if table is None else _names(rows)
    if out is None:
        return as_csv(names, rows)
    _write(out, format, names, rows)
    return f"{len(rows)} rows in {out}\n"


def _is_folder(out: Path | None) -> bool:
    return out is not None and not out.suffix


def metric_rows(runs: Iterable[Loaded]) -> Rows:
    """One row per step, measure and seed; a measure that is not by seed has none."""
    return [
        run.labels | {"step": row.get("step"), "measure": measure, "seed": seed, "value": value}
        for run in runs
        for row in run.metrics
        for measure, values in row.items()
        if measure != "step"
        for seed, value in by_seed(run.record.request.seeds, values)
    ]


def by_seed(seeds: Sequence[int], values: Any) -> Iterator[tuple[int | None, Any]]:
    if isinstance(values, list) and len(values) == len(seeds):
        yield from zip(seeds, values, strict=True)
    else:
        yield None, values


def table_rows(runs: Sequence[Loaded], name: str) -> Rows:
    """The rows of the runs' tables of that name, with the run that each comes from."""
    known = {name for run in runs for name in run.tables}
    if name not in known:
        raise UnknownNameError("table", name, known, " of these runs")
    return [
        run.labels | {_apart(key): value for key, value in row.items()}
        for run in runs
        if name in run.tables
        for row in run.tables[name].records()
    ]


def _apart(name: str) -> str:
    """A column of the table that is called like one of ours."""
    return f"{name} (table)" if name in LABELS else name


def _folder(runs: Sequence[Loaded], format: str, out: Path) -> str:
    with writing(out):
        out.mkdir(parents=True, exist_ok=True)
    written: dict[str, tuple[Sequence[str], Rows]] = {"metrics": (METRICS, metric_rows(runs))}
    for name in dict.fromkeys(name for run in runs for name in run.tables):
        rows = table_rows(runs, name)
        written[file_name(f"table-{name}", written)] = (_names(rows), rows)
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
    return csv_text(names, ([row.get(name) for name in names] for row in rows), end="\n")


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
        except duckdb.Error as error:  # such as two columns that differ only in case
            reason = str(error).split("\n", 1)[0]
            raise UsageError(f"Parquet cannot hold what goes into {path} ({reason}). Use --format csv.") from None
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


def write_events(runs: Sequence[Loaded], out: Path) -> int:
    """A folder for each run, and in it one for each seed; tables and settings as texts. Returns how many files."""
    tensorboard = _import("tensorboardX", "tensorboard")
    count = 0
    for run in runs:
        request = run.record.request
        folder = out / request.study / file_name(f"{request.part}-{request.id[:10]}")
        began = datetime.fromisoformat(run.record.started).timestamp()
        with writing(folder):
            shutil.rmtree(folder, ignore_errors=True)  # of this run by an earlier export: events would be doubled
            by_folder: dict[Path, list[tuple[str, float, int]]] = {folder: []}
            for row in metric_rows([run]):
                if isinstance(row["value"], int | float) and isinstance(row["step"], int):
                    place = folder if row["seed"] is None else folder / f"seed-{row['seed']}"
                    by_folder.setdefault(place, []).append((row["measure"], float(row["value"]), row["step"]))
            for place, scalars in by_folder.items():
                with tensorboard.SummaryWriter(str(place)) as writer:
                    if place == folder:
                        for name, text in _texts(run).items():
                            writer.add_text(name, text, 0, walltime=began)
                    for measure, value, step in scalars:
                        writer.add_scalar(measure, value, step, walltime=began)
                count += 1
    return count


def _texts(run: Loaded) -> Mapping[str, str]:
    from rote.report.tables import to_markdown

    settings = json.dumps(run.record.request.config, indent=1, sort_keys=True)
    tables = {f"table/{name}": to_markdown(table) for name, table in run.tables.items() if not table.details}
    return {"settings": f"```\n{settings}\n```", **tables}


def _import(package: str, format: str) -> Any:
    try:
        return __import__(package)
    except ImportError:
        raise UsageError(
            f"The format {format!r} needs the package {package}. Install it with: pip install 'rote[export]', or use "
            "--format csv."
        ) from None
