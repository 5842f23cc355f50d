"""The command line: ``rote --help``. Each command is a dataclass; what it needs is imported when it runs."""

from __future__ import annotations

import csv
import io
import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tyro.conf import Positional, arg

from rote.arguments import parse
from rote.errors import InterruptedRunError, RoteError, RunFailedError, StoreError, UnknownNameError, UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from rote.store import Store
    from rote.studies import Result


def option(metavar: str | None, help: str) -> Any:
    """An argument whose help says itself what happens without it."""
    return arg(metavar=metavar, help=help, help_behavior_hint="")


STATUSES = ("running", "finished", "failed", "interrupted", "damaged")
Folder = Annotated[str | None, option("DIR", "Folder of the runs. Default: $ROTE_HOME, else ./rote-store.")]
Workers = Annotated[int | None, option("N", "Worker processes. Default: the cores of this machine.")]
Device = Annotated[str, arg(metavar="NAME", help="auto, cpu, cuda, cuda:0, mps.")]
Json = Annotated[bool, option(None, "Print JSON for other programs.")]
PresetFilter = Annotated[str | None, option("NAME", "Only results of this preset. Default: the most thorough.")]


@dataclass(frozen=True)
class Reproduce:
    """Run every study, or those of the named sources, judge the claims and write the report.

    Finished runs are reused; a stopped or killed command goes on where it was.

    Try:
      rote reproduce
      rote reproduce resistance --preset smoke
    """

    sources: Annotated[
        Positional[tuple[str, ...]], option("[SOURCE ...]", "By name or number: resistance, or 001. Default: all.")
    ] = ()
    preset: Annotated[str, arg(metavar="NAME", help="smoke, quick or paper.")] = "quick"
    out: Annotated[Path, arg(metavar="DIR", help="Where the report goes.")] = Path("report")
    workers: Workers = None
    device: Device = "auto"
    store: Folder = None

    def __call__(self) -> int:
        from rote.reporting import check_report_folder, write_report
        from rote.studies import Display, Laboratory, studies

        names = studies_of(self.sources)
        store, console = open_store(self.store), err_console()
        # What would be refused later is refused now, not after the training.
        for name in names:
            studies[name]().resolve(self.preset, {})
        check_report_folder(self.out)
        Laboratory(store, workers=self.workers, device=self.device).check()
        failed: list[str] = []
        for number, name in enumerate(names, start=1):
            console.print(f"[{number}/{len(names)}] {name}, preset {self.preset}", markup=False)
            try:
                with Display(console) as display:
                    lab = Laboratory(store, workers=self.workers, device=self.device, display=display)
                    result = lab.run(name, self.preset)
                console.print(f"  Runs: {result.computed} computed, {result.reused} reused", highlight=False)
            except (RunFailedError, StoreError) as error:  # the other studies go on
                failed.append(name)
                console.print(f"rote: {error}", markup=False, highlight=False, style="red", soft_wrap=True)
        show_ledger(store, preset=self.preset, names=names)
        out_console().print(
            f"Report: {write_report(store, self.out, preset=self.preset)}", markup=False, soft_wrap=True
        )
        if failed:
            raise RunFailedError(f"Failed: {', '.join(failed)}. See: rote runs list --status failed")
        return 0


@dataclass(frozen=True)
class Run:
    """Run one study and print its tables and verdicts.

    Try:
      rote run plane
      rote run plane --preset paper --workers 2
      rote run plane --seeds 128 model.hidden=16 training.learning_rate=0.03
    """

    study: Annotated[Positional[str], arg(metavar="STUDY", help="See: rote list studies.")]
    overrides: Annotated[
        Positional[tuple[str, ...]], option("[KEY=VALUE ...]", "Settings to change. See: rote show STUDY.")
    ] = ()
    preset: Annotated[str, arg(metavar="NAME", help="smoke, quick or paper.")] = "quick"
    seeds: Annotated[
        int | None, option("N", "Number of random seeds, counted from 0. Default: as the preset says.")
    ] = None
    workers: Workers = None
    device: Device = "auto"
    store: Folder = None
    json: Json = False

    def __call__(self) -> int:
        from rote.config import parse_overrides
        from rote.studies import Display, Laboratory

        overrides: dict[str, object] = dict(parse_overrides(self.overrides))
        if self.seeds is not None:
            if "seeds" in overrides:
                raise UsageError(f"Seeds are given twice: --seeds {self.seeds} and seeds={overrides['seeds']}.")
            overrides["seeds"] = self.seeds
        with Display(err_console()) as display:
            lab = Laboratory(open_store(self.store), workers=self.workers, device=self.device, display=display)
            result = lab.run(self.study, self.preset, overrides)
        show_result(result, as_json=self.json)
        return 0


@dataclass(frozen=True)
class List:
    """List studies, tasks, cells, analyses or claims.

    Try:
      rote list
      rote list claims --json
    """

    what: Annotated[Positional[str], arg(metavar="[KIND]", help="studies, tasks, cells, analyses or claims.")] = (
        "studies"
    )
    json: Json = False

    def __call__(self) -> int:
        from rote.registry import Registry
        from rote.studies import studies

        packages = {"studies": "study", "tasks": "task", "cells": "cell", "analyses": "analysis"}
        if self.what == "claims":
            rows = [{"name": claim.id, "about": claim.statement} for name in studies for claim in studies[name].claims]
        elif self.what in packages:
            # What is not imported yet is read from its sources: importing cells or analyses would import torch.
            imported = sys.modules.get(f"rote.{self.what}")
            read = Registry[Any](packages[self.what], f"rote.{self.what}")
            registry = read if imported is None else getattr(imported, self.what)
            rows = [{"name": entry.name, "about": entry.description} for entry in registry.entries()]
        else:
            raise UnknownNameError("kind", self.what, [*packages, "claims"])
        print_rows(rows, as_json=self.json)
        return 0


@dataclass(frozen=True)
class Show:
    """Show a study: what it asks, its source, claims, presets and settings.

    Try:
      rote show plane
    """

    study: Annotated[Positional[str], arg(metavar="STUDY", help="See: rote list studies.")]
    json: Json = False

    def __call__(self) -> int:
        from rote.config import flatten
        from rote.studies import studies

        study = studies[self.study]()
        presets = {name: flatten(study.resolve(name, {})) for name in study.presets}
        stacked = {"engine": "stacked"} if "engine" in flatten(study.default) else {}
        runs = {name: len(study.requests(study.resolve(name, stacked))) for name in study.presets}
        facts = {
            "name": study.name, "title": study.title, "source": study.source.title, "place": study.place,
            "about": study.about, "claims": {claim.id: claim.statement for claim in study.claims},
            "deviations": list(study.deviations), "runs": runs, "presets": presets,
        }  # fmt: skip
        if self.json:
            print_json(facts)
            return 0
        from rote.terminal import show_study

        show_study(out_console(), study, runs, presets)
        return 0


@dataclass(frozen=True)
class Runs:
    """The run store: list, show, remove or export runs.

    Try:
      rote runs
      rote runs list --status failed
      rote runs show 3f2a
      rote runs rm 3f2a --yes
      rote runs export 3f2a --out run.csv
    """

    action: Annotated[Positional[str], arg(metavar="[ACTION]", help="list, show, rm or export.")] = "list"
    ids: Annotated[Positional[tuple[str, ...]], option("[ID ...]", "Run ids, or the beginning of one.")] = ()
    study: Annotated[str | None, option("NAME", "List only runs of this study.")] = None
    status: Annotated[str | None, option("WORD", f"List only runs with this status: {', '.join(STATUSES)}.")] = None
    out: Annotated[Path | None, option("FILE", "Export into this file instead of the terminal.")] = None
    yes: Annotated[bool, option(None, "Remove without asking.")] = False
    store: Folder = None
    json: Json = False

    def __call__(self) -> int:
        actions = {"list": self._list, "show": self._show, "rm": self._remove, "export": self._export}
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
        from rote.terminal import show_runs

        show_runs(out_console(), rows, store.root)

    def _show(self, store: Store) -> None:
        from rote.store import FinishedRun, Record
        from rote.terminal import show_record, show_tables

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


@dataclass(frozen=True)
class Claims:
    """The ledger: each claim, what was published, what we found, the verdict.

    Try:
      rote claims
      rote claims --json
    """

    preset: PresetFilter = None
    store: Folder = None
    json: Json = False

    def __call__(self) -> int:
        show_ledger(open_store(self.store), self.preset, as_json=self.json)
        return 0


@dataclass(frozen=True)
class Report:
    """Write the report from what is in the store; trains nothing.

    Try:
      rote report --out report --formats png,svg
    """

    out: Annotated[Path, arg(metavar="DIR", help="Where the report goes.")] = Path("report")
    formats: Annotated[str, option("LIST", "Also save figures as png, svg, pdf (comma-separated).")] = ""
    preset: PresetFilter = None
    store: Folder = None

    def __call__(self) -> int:
        from rote.reporting import write_report

        formats = tuple(word for word in self.formats.split(",") if word)
        path = write_report(open_store(self.store), self.out, preset=self.preset, formats=formats)
        out_console().print(f"Report: {path}", markup=False, soft_wrap=True)
        return 0


@dataclass(frozen=True)
class Cite:
    """BibTeX of the sources that runs, or the named studies, come from, and of Rote.

    Try:
      rote cite plane
    """

    names: Annotated[
        Positional[tuple[str, ...]], option("[STUDY|ID ...]", "Studies or runs. Default: every finished run.")
    ] = ()
    store: Folder = None

    def __call__(self) -> int:
        from rote.citation import bibtex

        print(bibtex(open_store(self.store), self.names))
        return 0


@dataclass(frozen=True)
class Completion:
    """Print a completion script for the shell.

    Try:
      source <(rote completion bash)
      rote completion fish > ~/.config/fish/completions/rote.fish
    """

    shell: Annotated[Positional[str], arg(metavar="[SHELL]", help="bash, zsh or fish.")] = "bash"

    def __call__(self) -> int:
        from rote.completion import script

        print(script(self.shell), end="")
        return 0


COMMANDS = {
    "reproduce": Reproduce, "run": Run, "list": List, "show": Show, "runs": Runs, "claims": Claims, "report": Report,
    "cite": Cite, "completion": Completion,
}  # fmt: skip


def main(words: list[str] | None = None) -> None:
    """Run a command; exit codes: 0 done, 1 a study failed, 2 wrong usage, 130 interrupted."""
    words = sys.argv[1:] if words is None else words
    if words[:1] == ["__complete"]:  # called by the completion script, with the words typed so far
        from rote.completion import complete

        print("\n".join(complete(words[1:], COMMANDS)))
        return
    sys.exit(run_command(words))


def run_command(words: list[str]) -> int:
    try:
        return int(parse(words, COMMANDS)())
    except InterruptedRunError as error:
        print(f"rote: {error} Give the same command again to go on.", file=sys.stderr)
        return InterruptedRunError.exit_code
    except KeyboardInterrupt:
        print("rote: Interrupted. Finished runs are kept; give the same command again to go on.", file=sys.stderr)
        return InterruptedRunError.exit_code
    except RoteError as error:
        print(f"rote: {error}", file=sys.stderr)
        return error.exit_code
    except BrokenPipeError:  # rote claims | head
        sys.stderr.close()
        return 1


def open_store(folder: str | None) -> Store:
    from rote.store import Store

    store = Store(folder)
    if any(path.exists() and not path.is_dir() for path in (store.root, *store.root.parents)):
        raise UsageError(
            f"The store {store.root} is a file, or lies below one. Set ROTE_HOME (or --store) to a folder."
        )
    return store


def studies_of(sources: tuple[str, ...]) -> list[str]:
    """The names of the studies of these sources (by name or number); all when none is named."""
    from rote.studies import studies

    known = {name: studies[name].source for name in studies}
    spelled = {word for source in known.values() for word in (source.id, source.name)}
    for word in sources:
        if word not in spelled:
            raise UnknownNameError("source", word, spelled)
    return [name for name, source in known.items() if not sources or {source.id, source.name} & set(sources)]


def show_ledger(
    store: Store, preset: str | None = None, *, names: list[str] | None = None, as_json: bool = False
) -> None:
    from rote.studies import ledger
    from rote.terminal import show_verdicts, verdict_rows

    verdicts = [verdict for verdict in ledger(store, preset) if names is None or verdict.study in names]
    if as_json:
        print_json(verdict_rows(verdicts))
    else:
        show_verdicts(out_console(), verdicts)


def show_result(result: Result, *, as_json: bool) -> None:
    from rote.terminal import show_tables, show_verdicts, verdict_rows

    tables = result.summary.tables()
    if as_json:
        found = {name: table.records() for name, table in tables.items()}
        print_json({"run": result.summary.id, "verdicts": verdict_rows(result.verdicts), "tables": found})
        return
    console = out_console()
    show_tables(console, tables.values())
    console.print()
    show_verdicts(console, result.verdicts)
    console.print(f"Run {result.summary.id}", highlight=False)
    # Apart from what came out, which is the same when everything was there already.
    err_console().print(f"Runs: {result.computed} computed, {result.reused} reused", highlight=False)


def print_rows(rows: list[dict[str, Any]], *, as_json: bool) -> None:
    if as_json:
        print_json(rows)
        return
    from rote.terminal import rows_as_table

    out_console().print(rows_as_table(rows), highlight=False)


def print_json(value: object) -> None:
    from rote.store.files import finite

    print(json.dumps(finite(value), indent=2, ensure_ascii=False, default=str))


def out_console() -> Console:
    from rote.terminal import console_for

    return console_for(sys.stdout)


def err_console() -> Console:
    from rote.terminal import console_for

    return console_for(sys.stderr)


if __name__ == "__main__":
    main()
