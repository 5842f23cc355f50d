"""The command that looks into the run store: runs list, show, rm, export, keep."""

from __future__ import annotations

import csv
import io
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import Positional, arg

from rote.commands.options import Folder, Json, open_store, option, out_console, print_json
from rote.errors import UnknownNameError, UsageError

if TYPE_CHECKING:
    from rote.store import Store

STATUSES = ("running", "finished", "failed", "interrupted", "damaged")


@dataclass(frozen=True)
class Runs:
    """The run store: list, show, remove, export or keep runs.

    export writes what was recorded during training; keep writes a study's tables and records as one file that a
    repository can hold and that rote report --kept reads.

    Try:
      rote runs
      rote runs list --status failed
      rote runs show 3f2a
      rote runs rm 3f2a --yes
      rote runs export 3f2a --out run.csv
      rote runs keep 3f2a --out results
    """

    action: Annotated[Positional[str], arg(metavar="[ACTION]", help="list, show, rm, export or keep.")] = "list"
    ids: Annotated[Positional[tuple[str, ...]], option("[ID ...]", "Run ids, or the beginning of one.")] = ()
    study: Annotated[str | None, option("NAME", "List only runs of this study.")] = None
    status: Annotated[str | None, option("WORD", f"List only runs with this status: {', '.join(STATUSES)}.")] = None
    out: Annotated[
        Path | None, option("PATH", "Export into this file instead of the terminal, or keep in this folder.")
    ] = None
    yes: Annotated[bool, option(None, "Remove without asking.")] = False
    store: Folder = None
    json: Json = False

    def __call__(self) -> int:
        actions = {"list": self._list, "show": self._show, "rm": self._remove, "export": self._export}
        actions["keep"] = self._keep
        if self.action not in actions:
            raise UnknownNameError("action", self.action, actions)
        if self.action == "list" and self.ids:
            raise UsageError(f"'rote runs list' takes no ids. Did you mean: rote runs show {self.ids[0]}")
        if self.action != "list" and not self.ids:
            raise UsageError(f"'rote runs {self.action}' needs the id of a run. See: rote runs list")
        actions[self.action](open_store(self.store))
        return 0

    def _list(self, store: Store) -> None:
        if self.status is not None and self.status not in STATUSES:
            raise UnknownNameError("status", self.status, STATUSES)
        rows = [row for row in store.runs() if self.study in (None, row.study) and self.status in (None, row.status)]
        if self.json:
            print_json([asdict(row) for row in rows])
            return
        from rote.commands.terminal import show_runs

        show_runs(out_console(), rows, store.root)

    def _show(self, store: Store) -> None:
        from rote.commands.terminal import show_record, show_tables
        from rote.store import FinishedRun, Record

        for prefix in self.ids:
            folder = store.find(prefix)
            record = Record.read(folder)
            tables = FinishedRun(folder).tables() if record.status == "finished" else {}
            if self.json:
                found = {name: table.records() for name, table in tables.items()}
                print_json({"id": record.request.id, "folder": str(folder), **asdict(record), "tables": found})
            else:
                show_record(out_console(), record, folder)
                show_tables(out_console(), tables.values())

    def _remove(self, store: Store) -> None:
        folders = list(dict.fromkeys(store.find(prefix) for prefix in self.ids))
        if not self.yes:
            if not sys.stdin.isatty():
                raise UsageError("Removing runs asks first. Add --yes to remove without asking.")
            listed = "\n".join(f"  {folder}" for folder in folders)
            if input(f"Remove {len(folders)} runs?\n{listed}\n[y/N] ").strip().lower() not in ("y", "yes"):
                return
        for folder in folders:
            store.remove(folder.name)
            print(f"Removed {folder.name}")

    def _export(self, store: Store) -> None:
        """The rows recorded during training, one line per step, measure and seed; a measure without seeds has none."""
        from rote.store import write_atomically

        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(("run", "study", "part", "step", "measure", "seed", "value"))
        for prefix in self.ids:
            run = store.load(prefix)
            request = run.record.request
            for row in run.metrics():
                for measure, values in row.items():
                    if measure != "step":
                        by_seed = isinstance(values, list) and len(values) == len(request.seeds)
                        cells = zip(request.seeds, values, strict=True) if by_seed else [("", values)]
                        for seed, value in cells:
                            writer.writerow((run.id, request.study, request.part, row["step"], measure, seed, value))
        if self.out:
            write_atomically(self.out, text.getvalue().encode())
        else:
            print(text.getvalue(), end="")

    def _keep(self, store: Store) -> None:
        from rote.studies.kept import keep

        if self.out is None:
            raise UsageError("'rote runs keep' needs the folder to write to: --out FOLDER")
        for prefix in self.ids:
            print(f"Kept in {keep(store, prefix, self.out).path}")
