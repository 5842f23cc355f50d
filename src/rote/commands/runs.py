"""The command that looks after the run store: runs list, show, verify, rm, export, import, keep."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import Positional, arg

from rote.commands.options import Folder, Json, confirm, err_console, open_store, option, out_console, print_json
from rote.errors import RunLockedError, StoreError, UnknownNameError, UsageError

if TYPE_CHECKING:
    from rote.store import Listed, Store
    from rote.store.select import Selection

ACTIONS = ("list", "show", "verify", "rm", "export", "import", "keep")
SHOWN = 20  # runs that a question names one by one


@dataclass(frozen=True)
class Runs:
    """The run store: list, show, verify, remove, export, import or keep runs.

    verify checks every file against its hash and finds what does not belong; --repair makes the index again and removes
    what killed processes left. rm lists what it will remove and asks. export writes what was recorded during training
    (and --table NAME, or into a folder everything) as CSV, Parquet or TensorBoard events. import copies the runs of
    another store. keep writes a study's tables and records as one file that a repository can hold and that
    rote report --kept reads.

    Try:
      rote runs
      rote runs list --status failed --study 'lookup-*'
      rote runs show 3f2a
      rote runs verify --repair
      rote runs rm --study plane --preset smoke --older-than 30d
      rote runs rm 3f2a --yes
      rote runs export 3f2a --out run.csv
      rote runs export --study tagging --out tagging.parquet --table networks
      rote runs export --study tagging --format tensorboard --out events
      rote runs import ../other/rote-store --dry-run
      rote runs keep 3f2a --out results
    """

    action: Annotated[Positional[str], arg(metavar="[ACTION]", help=f"{', '.join(ACTIONS[:-1])} or keep.")] = "list"
    ids: Annotated[
        Positional[tuple[str, ...]],
        option(
            "[ID ...]",
            "Run ids, or the beginning of one; or patterns: lookup-*, plane/narrow. Of import: a store.",
        ),
    ] = ()
    study: Annotated[str | None, option("NAME", "Only runs of this study; may be a pattern.")] = None
    status: Annotated[
        str | None, option("WORD", "Only runs with this status: running, finished, failed, interrupted, damaged.")
    ] = None
    preset: Annotated[str | None, option("NAME", "Only runs of this preset.")] = None
    older_than: Annotated[str | None, option("AGE", "Only runs begun longer ago than this: 12h, 30d, 8w.")] = None
    format: Annotated[
        str | None, option("NAME", "Of an export: csv, parquet, tensorboard. Default: as the file is named, else csv.")
    ] = None
    table: Annotated[str | None, option("NAME", "Export this result table instead of what training recorded.")] = None
    out: Annotated[
        Path | None, option("PATH", "Export into this file or folder instead of the terminal, or keep in this folder.")
    ] = None
    repair: Annotated[bool, option(None, "With verify: make the index again, remove what killed processes left.")] = (
        False
    )
    dry_run: Annotated[bool, option(None, "Say what rm or import would do, and do nothing.")] = False
    yes: Annotated[bool, option(None, "Remove without asking.")] = False
    store: Folder = None
    json: Json = False

    def __call__(self) -> int:
        actions = {
            "list": self._list, "show": self._show, "verify": self._verify, "rm": self._remove,
            "export": self._export, "import": self._import, "keep": self._keep,
        }  # fmt: skip
        if self.action not in actions:
            raise UnknownNameError("action", self.action, actions)
        self._check()
        return actions[self.action](open_store(self.store))

    def _check(self) -> None:
        """What is missing or too much for this action."""
        if self.action == "list" and self.ids:
            raise UsageError(f"'rote runs list' takes no ids. Did you mean: rote runs show {self.ids[0]}")
        if self.action == "verify" and not self._selection.is_everything:
            raise UsageError("'rote runs verify' looks at the whole store. Leave out ids and filters.")
        if self.action in ("show", "keep") and not self.ids:
            raise UsageError(f"'rote runs {self.action}' needs the id of a run. See: rote runs list")
        if self.action in ("rm", "export") and self._selection.is_everything:
            raise UsageError(
                f"'rote runs {self.action}' needs the id of a run, or a filter such as --study. See: rote runs list"
            )
        if self.action == "import" and len(self.ids) != 1:
            raise UsageError(
                f"'rote runs import' takes the folder of one other store. Got {' '.join(self.ids) or 'none'}."
            )
        if self.repair and self.action != "verify":
            raise UsageError("'--repair' goes with: rote runs verify")
        if self.dry_run and self.action not in ("rm", "import"):
            raise UsageError("'--dry-run' goes with: rote runs rm, rote runs import")

    @property
    def _selection(self) -> Selection:
        from rote.store.select import Selection

        return Selection(self.ids, self.study, self.status, self.preset, self.older_than)

    def _list(self, store: Store) -> int:
        rows = self._selection.of(store.runs())
        if self.json:
            print_json([asdict(row) for row in rows])
            return 0
        from rote.commands.terminal import show_runs

        show_runs(out_console(), rows, store.root)
        return 0

    def _show(self, store: Store) -> int:
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
        return 0

    def _verify(self, store: Store) -> int:
        from rote.store.verify import repair, verify
        from rote.studies import Display

        with Display(err_console()) as display:
            found = verify(store.root, display.track("verify"))
        repaired = repair(store.root, found) if self.repair else []
        left = [finding for finding in found if finding not in repaired]
        if self.json:
            print_json([{**asdict(finding), "repaired": finding in repaired} for finding in found])
        else:
            for finding in found:
                done = " Repaired." if finding in repaired else ""
                print(f"{finding.kind:<11}  {finding.path}: {finding.told}{done}")
            counts = Counter(finding.kind for finding in left)
            told = ", ".join(f"{count} {kind}" for kind, count in counts.items()) or "everything is as it should be"
            mend = any(finding.kind in ("index", "leftover") for finding in left)
            print(f"{store.root}: {told}.{' Mend with: rote runs verify --repair' if mend else ''}")
        return int(any(finding.is_damage for finding in left))

    def _remove(self, store: Store) -> int:
        rows = self._selection.of(store.runs())
        running = [row for row in rows if row.status == "running"]
        if running:
            raise RunLockedError(
                f"{len(running)} of these runs are being computed: {', '.join(row.id for row in running[:5])}. Stop "
                "that first, or leave them out: --status finished"
            )
        if not rows:
            print(f"No such runs in {store.root}.")
            return 0
        question = "\n".join([*self._removal(store, rows), f"Remove {len(rows)} runs?"])
        if self.dry_run:
            print(question.rsplit("\n", 1)[0])
            return 0
        if not self.yes:
            if not sys.stdin.isatty():
                raise UsageError("Removing runs asks first. Add --yes to remove without asking.")
            if not confirm(question):
                return 0
        for row in rows:
            store.discard(store.root / row.folder)
            print(f"Removed {row.id}")
        return 0

    def _removal(self, store: Store, rows: list[Listed]) -> list[str]:
        """What will go, with sizes, and which results lose what they were made from."""
        from rote.store import Record
        from rote.studies.costs import size_of
        from rote.studies.estimates import in_bytes

        sizes = {row.id: size_of(store.root / row.folder) for row in rows}
        lines = [
            f"  {row.id}  {row.study} {row.part}, {row.preset}, {row.status}, {in_bytes(sizes[row.id])}"
            for row in rows[:SHOWN]
        ]
        if len(rows) > SHOWN:
            lines.append(f"  ... and {len(rows) - SHOWN} more")
        going = {row.id for row in rows}
        for row in store.runs():
            if row.part == "summary" and row.status == "finished" and row.id not in going:
                used = going & set(Record.read(store.root / row.folder).uses)
                if used:
                    lines.append(f"  The summary {row.id} of {row.study} stays, made from {len(used)} of these.")
        return [*lines, f"{len(rows)} runs, {in_bytes(sum(sizes.values()))}."]

    def _export(self, store: Store) -> int:
        from rote.commands.exporting import check, export, format_of
        from rote.store import FinishedRun

        format = format_of(self.format, self.out)
        check(format, self.out)
        rows = self._selection.of(store.runs())
        chosen = rows if self.ids else [row for row in rows if row.status == "finished"]
        if not chosen:
            raise UsageError(f"No finished run in {store.root} is like that. See: rote runs list")
        runs = [FinishedRun(store.root / row.folder) for row in reversed(chosen)]
        print(export(runs, format, self.out, self.table), end="")
        return 0

    def _import(self, store: Store) -> int:
        from rote.store import Store
        from rote.store.transfer import plan, take
        from rote.studies import Display
        from rote.studies.estimates import in_bytes

        try:
            other = Store(Path(self.ids[0]).expanduser())
            is_store = (other.root / "runs").is_dir()
        except (OSError, RuntimeError) as error:  # too long a name, no such user
            raise UsageError(f"{self.ids[0]!r} is no folder: {error}") from None
        if not is_store:
            raise UsageError(f"{other.root} is no store: it has no folder 'runs'. Give the folder that has it.")
        if other.root.resolve() == store.root.resolve():
            raise UsageError(f"{other.root} is this store itself. Name another one.")
        with Display(err_console()) as display:
            found = plan(store, other, display.track("check"))
            for name, reason in found.damaged.items():
                display.say(f"Not imported: {name}: {reason}")
            for name in found.running:
                display.say(f"Not imported: {name} is being computed there.")
            come = len(found.take)
            if self.dry_run:
                for name, files in found.conflicts.items():
                    display.say(f"Conflict: {name} is in both stores with other bytes: {files}.")
            else:
                come = take(store, other, found, display.track("import"))
        would = "would be imported" if self.dry_run else "imported"
        print(f"{come} runs {would}, {in_bytes(found.bytes)}; {len(found.same)} were here already.")
        if found.damaged:
            raise StoreError(f"{len(found.damaged)} runs of {other.root} are damaged and were left there.")
        return int(self.dry_run and bool(found.conflicts))

    def _keep(self, store: Store) -> int:
        from rote.studies.kept import keep

        if self.out is None:
            raise UsageError("'rote runs keep' needs the folder to write to: --out FOLDER")
        studied = [store.load(prefix).record.request.study for prefix in self.ids]
        if len(set(studied)) < len(studied):
            twice = next(name for name in studied if studied.count(name) > 1)
            raise UsageError(f"A folder keeps one result of each study. Several of these are of {twice}: keep one.")
        for prefix in self.ids:
            print(f"Kept in {keep(store, prefix, self.out).path}")
        return 0
