"""The command that looks after the run store: runs list, show, verify, rm, slim, export, import, keep."""

from __future__ import annotations

import contextlib
import sys
from collections import Counter
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tyro.conf import Positional, arg

from rote.commands.options import (
    Folder,
    Json,
    Maybe,
    confirm,
    err_console,
    open_store,
    option,
    out_console,
    print_json,
    say,
    tell_left_out,
)
from rote.errors import RoteError, RunLockedError, StoreError, UnknownNameError, UsageError
from rote.printable import printable

if TYPE_CHECKING:
    from rote.store import Listed, Record, Store, Table
    from rote.store.select import Selection

ACTIONS = ("list", "show", "verify", "rm", "slim", "export", "import", "keep")
STUDIES = ("study", "summary")  # parts whose runs are a study's result; the second in stores of version 0.1
SHOWN = 20  # runs that a question names one by one
FILTERED = ("list", "rm", "slim", "export")
GOES_WITH = {  # option -> the actions that it does something for
    "study": FILTERED, "status": FILTERED, "preset": FILTERED, "older_than": FILTERED, "format": ("export",),
    "table": ("export",), "out": ("export", "keep"), "repair": ("verify",), "dry_run": ("rm", "slim", "import"),
    "yes": ("rm",), "json": ("list", "show", "verify", "slim"),
}  # fmt: skip


@dataclass(frozen=True)
class Runs:
    """The run store: list, show, verify, remove, slim, export, import or keep runs.

    verify checks every file against its hash and finds what does not belong; --repair makes the index again and removes
    what killed processes left. rm lists what it will remove and asks. slim keeps the weights of finished trainings and
    removes what only resuming needs, the optimizer's state above all, as every training does now when it finishes; of
    the whole store, or of the runs that are named. export writes what was recorded during training
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
      rote runs slim --dry-run
      rote runs slim 3f2a 'lookup-*'
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
            "Run ids, or the beginning of one; or patterns: lookup-*, plane/training. Of import: a store.",
        ),
    ] = ()
    study: Annotated[
        Maybe[str], option("NAME", "Only runs of this study; may be a pattern. list: with what they use.")
    ] = None
    status: Annotated[
        Maybe[str],
        option("WORD", "Only runs with this status: running, finished, failed, interrupted, damaged, newer."),
    ] = None
    preset: Annotated[Maybe[str], option("NAME", "Only runs of this preset.")] = None
    older_than: Annotated[Maybe[str], option("AGE", "Only runs begun longer ago than this: 12h, 30d, 8w.")] = None
    format: Annotated[
        Maybe[str], option("NAME", "Of an export: csv, parquet, tensorboard. Default: as the file is named, else csv.")
    ] = None
    table: Annotated[Maybe[str], option("NAME", "Export this result table instead of what training recorded.")] = None
    out: Annotated[
        Maybe[Path], option("PATH", "Export into this file or folder instead of the terminal, or keep in this folder.")
    ] = None
    repair: Annotated[bool, option(None, "With verify: make the index again, remove what killed processes left.")] = (
        False
    )
    dry_run: Annotated[bool, option(None, "Say what rm, slim or import would do, and do nothing.")] = False
    yes: Annotated[bool, option(None, "Remove without asking.")] = False
    store: Folder = None
    json: Json = False

    def __call__(self) -> int:
        actions = {
            "list": self._list, "show": self._show, "verify": self._verify, "rm": self._remove,
            "slim": self._slim, "export": self._export, "import": self._import, "keep": self._keep,
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
        for name, actions in GOES_WITH.items():
            if getattr(self, name) and self.action not in actions:
                fitting = ", ".join(f"rote runs {action}" for action in actions)
                raise UsageError(f"'--{name.replace('_', '-')}' goes with: {fitting}")

    @property
    def _selection(self) -> Selection:
        from rote.store.select import Selection

        return Selection(self.ids, self.study, self.status, self.preset, self.older_than)

    def _list(self, store: Store) -> int:
        rows = self._listed(store)
        if self.json:
            print_json([asdict(row) for row in rows])
            return 0
        from rote.commands.terminal import show_runs

        show_runs(out_console(), rows, store.root)
        return 0

    def _listed(self, store: Store) -> list[Listed]:
        """A study's runs with those that they are made from, which are named by their recipes and measurements."""
        from rote.store import Record
        from rote.store.select import Selection

        rows = store.runs()
        if self.study is None:
            return self._selection.of(rows)
        by_id, wanted = {row.id: row for row in rows}, {row.id for row in Selection(study=self.study).of(rows)}
        unread = set(wanted)
        while unread:
            used: set[str] = set()
            for name in unread & by_id.keys():
                with contextlib.suppress(StoreError):  # damaged, which is listed
                    used |= set(Record.read(store.root / by_id[name].folder).uses)
            unread = used - wanted
            wanted |= used
        return [row for row in replace(self._selection, study=None).of(rows) if row.id in wanted]

    def _show(self, store: Store) -> int:
        from rote.commands.terminal import show_networks, show_record, show_tables
        from rote.store import FinishedRun, Record

        left_out: list[str] = []
        for folder in [store.find(prefix) for prefix in self.ids]:
            tables: dict[str, Table] = {}
            try:
                record = Record.read(folder)
            except StoreError as error:
                left_out.append(str(error))
                continue
            try:
                tables = FinishedRun(folder).tables() if record.status == "finished" else {}
            except StoreError as error:  # what its record says is shown all the same
                left_out.append(str(error))
            networks = self._networks(record)
            if self.json:
                found = {name: table.records() for name, table in tables.items()}
                facts = {"id": record.request.id, "folder": str(folder), **asdict(record)}
                print_json({**facts, "networks": networks, "tables": found})
            else:
                show_record(out_console(), record, folder)
                show_networks(out_console(), networks)
                show_tables(out_console(), tables.values())
        return tell_left_out(left_out)

    def _networks(self, record: Record) -> list[dict[str, Any]]:
        """What tells the networks of a finished training from each other; ``store.load(ID).networks()`` opens them."""
        from rote.recipes.job import TRAINING
        from rote.recipes.trained import recipe_of

        if (record.request.part, record.status) != (TRAINING, "finished"):
            return []
        try:
            recipe = recipe_of(record.request)
            return [] if recipe.keeps_none else [dict(labels) for labels in recipe.members(record.request.seeds)]
        except RoteError:  # of another version, or of code that is not here: its record says which
            return []

    def _verify(self, store: Store) -> int:
        from rote.laboratory import Display
        from rote.store.verify import repair, verify

        with Display(err_console()) as display:
            found = verify(store.root, display.track("verify"))
        repaired = repair(store.root, found) if self.repair else []
        left = [finding for finding in found if finding not in repaired]
        if self.json:
            print_json([{**asdict(finding), "repaired": finding in repaired} for finding in found])
        else:
            for finding in found:
                done = " Repaired." if finding in repaired else ""
                say(f"{finding.kind:<11}  {finding.path}: {finding.told}{done}")
            counts = Counter(finding.kind for finding in left)
            told = ", ".join(f"{count} {kind}" for kind, count in counts.items()) or "everything is as it should be"
            mend = any(finding.kind in ("index", "leftover") for finding in left)
            say(f"{store.root}: {told}.{' Mend with: rote runs verify --repair' if mend else ''}")
        return int(any(finding.is_damage or finding.kind == "newer" for finding in left))

    def _remove(self, store: Store) -> int:
        rows = self._selection.of(store.runs())
        running = [row for row in rows if row.status == "running"]
        if running:
            raise RunLockedError(
                f"{len(running)} of these runs are being computed: {', '.join(row.id for row in running[:5])}. Stop "
                "that first, or leave them out: --status finished"
            )
        if not rows:
            say(f"No such runs in {store.root}.")
            return 0
        question = "\n".join([*self._removal(store, rows), f"Remove {len(rows)} runs?"])
        if self.dry_run:
            say(question.rsplit("\n", 1)[0])
            return 0
        if not self.yes:
            if not sys.stdin.isatty():
                raise UsageError("Removing runs asks first. Add --yes to remove without asking.")
            if not confirm(question):
                return 0
        left_out: list[str] = []
        for row in rows:
            try:
                store.discard(store.root / row.folder)
            except StoreError as error:
                left_out.append(str(error))
            else:
                say(f"Removed {row.id}")
        return tell_left_out(left_out)

    def _removal(self, store: Store, rows: list[Listed]) -> list[str]:
        """What will go, with sizes, and which results lose what they were made from."""
        from rote.laboratory.costs import size_of
        from rote.laboratory.estimates import in_bytes
        from rote.store import Record

        sizes = {row.id: size_of(store.root / row.folder) for row in rows}
        lines = [
            f"  {row.id}  {row.study} {row.part}, {row.preset}, {row.status}, {in_bytes(sizes[row.id])}"
            for row in rows[:SHOWN]
        ]
        if len(rows) > SHOWN:
            lines.append(f"  ... and {len(rows) - SHOWN} more")
        going = {row.id for row in rows}
        for row in store.runs():
            if row.part in STUDIES and row.status == "finished" and row.id not in going:
                try:
                    used = going & set(Record.read(store.root / row.folder).uses)
                except StoreError:  # damaged since it was listed, and no result any more
                    continue
                if used:
                    lines.append(f"  The study {row.id} of {row.study} stays, made from {len(used)} of these.")
        return [*lines, f"{len(rows)} runs, {in_bytes(sum(sizes.values()))}."]

    def _slim(self, store: Store) -> int:
        from rote.laboratory.estimates import in_bytes
        from rote.store.index import UNREAD
        from rote.store.slim import slim

        rows = self._selection.of(store.runs())
        chosen = [row for row in rows if row.status in ("finished", *UNREAD)]
        whole = [row for row in rows if row.status not in ("finished", *UNREAD)]
        if self.ids and rows and not chosen:
            named = ", ".join(f"{row.id} is {row.status}" for row in rows[:5])
            raise StoreError(f"A run that is not finished keeps everything, to be resumed from: {named}.")
        freed: list[dict[str, Any]] = []
        left_out: list[str] = []
        for row in chosen:
            try:
                count = slim(store.root / row.folder, dry_run=self.dry_run)
            except StoreError as error:
                left_out.append(str(error))
                continue
            if count > 0:
                freed.append({"id": row.id, "study": row.study, "part": row.part, "freed": count})
                if not self.json:
                    say(f"{row.id}  {row.study} {row.part}, {in_bytes(count)}")
        total = sum(one["freed"] for one in freed)
        if self.json:
            print_json({"runs": freed, "freed": total, "unfinished": [row.id for row in whole]})
        else:
            would = "would be freed" if self.dry_run else "freed"
            kept = f" {len(whole)} runs are not finished and keep everything." if whole else ""
            say(f"{in_bytes(total)} {would} in {len(freed)} of {len(rows)} runs.{kept}")
        return tell_left_out(left_out)

    def _export(self, store: Store) -> int:
        from rote.commands.exporting import check, export, format_of, load
        from rote.store.index import UNREAD

        format = format_of(self.format, self.out)
        check(format, self.out, self.table)
        rows = self._selection.of(store.runs())
        chosen = rows if self.ids else [row for row in rows if row.status in ("finished", *UNREAD)]
        if not chosen:
            raise UsageError(f"No finished run in {store.root} is like that. See: rote runs list")
        left_out: list[str] = []
        folders = [store.root / row.folder for row in reversed(chosen)]
        runs = load(folders, format, self.out, self.table, left_out)
        if runs:
            text = export(runs, format, self.out, self.table)
            print(printable(text) if sys.stdout.isatty() else text, end="")  # a program gets every byte
        return tell_left_out(left_out)

    def _import(self, store: Store) -> int:
        from rote.laboratory import Display
        from rote.laboratory.estimates import in_bytes
        from rote.store import Store
        from rote.store.transfer import plan, take

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
            for name, reason in {**found.damaged, **found.newer}.items():
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
        say(f"{come} runs {would}, {in_bytes(found.bytes)}; {len(found.same)} were here already.")
        if found.damaged:
            raise StoreError(f"{len(found.damaged)} runs of {other.root} are damaged and were left there.")
        if found.newer:
            raise StoreError(
                f"{len(found.newer)} runs of {other.root} were written by a later version of Rote and were left there. "
                "Install a newer Rote."
            )
        return int(self.dry_run and bool(found.conflicts))

    def _keep(self, store: Store) -> int:
        from rote.laboratory.kept_results import keep

        if self.out is None:
            raise UsageError("'rote runs keep' needs the folder to write to: --out FOLDER")
        studied = [store.load(prefix).record.request.study for prefix in self.ids]
        if len(set(studied)) < len(studied):
            twice = next(name for name in studied if studied.count(name) > 1)
            raise UsageError(f"A folder keeps one result of each study. Several of these are of {twice}: keep one.")
        for prefix in self.ids:
            say(f"Kept in {keep(store, prefix, self.out).path}")
        return 0
