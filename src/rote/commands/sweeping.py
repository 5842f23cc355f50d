"""The command that runs a study with many settings."""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tyro.conf import Positional, arg

from rote.commands.options import (
    Cluster,
    Device,
    Folder,
    Imports,
    Json,
    Maybe,
    Workers,
    confirm,
    err_console,
    open_store,
    option,
    out_console,
    print_json,
    print_rows,
    say,
)
from rote.errors import UnknownNameError, UsageError

if TYPE_CHECKING:
    from rote.laboratory import Laboratory
    from rote.laboratory.estimates import Expectation
    from rote.laboratory.sweep import Objective
    from rote.laboratory.sweep import Sweep as Asked
    from rote.store import Table

ASKS_FROM = 1000  # runs
TABLES = ("csv", "md", "tex", "json")
FIGURES = ("svg", "png", "pdf", "html", "json")


@dataclass(frozen=True)
class Sweep:
    """Run a study with many settings: a table of them, the best first, and a figure.

    Several values of a key are combined with all others (a grid); with --trials N settings are drawn at random, also
    from ranges. The runs of all settings go to the workers together; finished ones are reused. Settings are compared on
    development data where the study has a score of its own.

    Try:
      rote sweep tagging model.hidden=16,32 model.cell=elman,lstm --seeds 5
      rote sweep tagging model.hidden=16,32,64 --dry-run
      rote sweep classification task.train=train.txt training.learning_rate=0.001..0.03 --trials 10
      rote sweep plane model.hidden=4,8 --of seeds.corner_wrong --lowest --out sweep.csv --figure sweep.svg
    """

    study: Annotated[Positional[str], arg(metavar="STUDY", help="See: rote list studies.")]
    space: Annotated[
        Positional[tuple[str, ...]], option("KEY=A,B ... | KEY=LOW..HIGH ...", "Settings to try. See: rote show STUDY.")
    ] = ()
    seeds: Annotated[Maybe[int], option("N", "Random seeds of each setting. Default: as the preset says.")] = None
    trials: Annotated[Maybe[int], option("N", "Draw so many settings at random. Default: the whole grid.")] = None
    method: Annotated[Maybe[str], option("NAME", "grid, random or optuna. Default: grid, with --trials random.")] = None
    seed: Annotated[Maybe[int], option("N", "Of the random draws. Default: 0.")] = None
    of: Annotated[
        Maybe[str], option("TABLE.COLUMN", "What to compare, as mean over seeds. Default: as the study says.")
    ] = None
    lowest: Annotated[bool, option(None, "With --of: less is better.")] = False
    out: Annotated[Maybe[Path], option("FILE", "Also write the table: .csv, .md, .tex or .json.")] = None
    figure: Annotated[Maybe[Path], option("FILE", "Draw it: .svg, .png, .pdf, .html or .json (Vega-Lite).")] = None
    dry_run: Annotated[bool, option(None, "Only tell how many runs, how long and how much disk.")] = False
    yes: Annotated[bool, option(None, f"Do not ask before a sweep of more than {ASKS_FROM} runs.")] = False
    preset: Annotated[str, arg(metavar="NAME", help="smoke, quick or paper; rote show STUDY has all.")] = "quick"
    workers: Workers = None
    cluster: Cluster = None
    device: Device = "auto"
    store: Folder = None
    json: Json = False
    imports: Imports = ()

    def __call__(self) -> int:
        from rote.laboratory import Display, Laboratory
        from rote.laboratory.sweep import estimate, sweep

        asked = self._asked()
        if self.seed is not None and asked.method == "grid":
            raise UsageError("'--seed' goes with --trials N: a grid draws nothing.")
        if self.dry_run and (self.out or self.figure):
            raise UsageError("'--dry-run' writes nothing: leave out --out and --figure.")
        check_file(self.out, TABLES, "A table")
        check_file(self.figure, FIGURES, "A figure")
        display = Display(err_console())
        lab = Laboratory(
            open_store(self.store), workers=self.workers, cluster=self.cluster, device=self.device, display=display
        )
        if self.dry_run:
            self._tell(asked, estimate(lab, asked))
            return 0
        self._confirm(lab, asked)
        with display:
            found = sweep(lab, asked)
        self._write(found)
        return self._show(found)

    def _asked(self) -> Asked:
        from rote.laboratory.search_space import parse_space
        from rote.laboratory.sweep import Sweep

        space = parse_space([*self.space, *([] if self.seeds is None else [f"seeds={self.seeds}"])])
        chosen: Any = self.method  # its name is checked by the sweep
        return Sweep(self.study, space, self.preset, chosen, self.trials, self.seed or 0, self._objective())

    def _objective(self) -> Objective | None:
        from rote.laboratory.sweep import Objective

        if self.of is None:
            if self.lowest:
                raise UsageError("'--lowest' goes with --of TABLE.COLUMN.")
            return None
        table, dot, column = self.of.partition(".")
        if not dot or not table or not column:
            raise UsageError(f"Expected TABLE.COLUMN after --of, for example networks.dev. Got {self.of!r}.")
        return Objective(table, column, "min" if self.lowest else "max")

    def _tell(self, asked: Asked, found: Expectation) -> None:
        if self.json:
            print_json({"trials": asked.count, **asdict(found)})
            return
        from rote.commands.terminal import show_expectations

        print(f"{asked.name}, preset {asked.preset}: {asked.count:,} trials")
        show_expectations(out_console(), {asked.preset: found})

    def _confirm(self, lab: Laboratory, asked: Asked) -> None:
        """A grid is quickly too large by mistake: ask before anything is made."""
        from rote.laboratory.estimates import in_words
        from rote.laboratory.sweep import most_runs

        if self.yes or most_runs(asked) <= ASKS_FROM:
            return
        from rote.laboratory.sweep import estimate

        found = estimate(lab, asked)
        words = in_words(found)
        told = (
            f"This is a sweep of {asked.count:,} trials and {found.runs or 0:,} runs (time: {words['time']}, disk: "
            f"{words['disk']})."
        )
        if not sys.stdin.isatty():
            raise UsageError(f"{told} Add --yes to begin it without being asked, or give fewer values.")
        if not confirm(f"{told} Begin?"):
            raise UsageError("Nothing was begun.")

    def _write(self, found: Table) -> None:
        """Before anything is printed, since a reader may close the pipe."""
        from rote.report import to_csv, to_latex, to_markdown
        from rote.store import write_atomically
        from rote.store.files import finite

        if self.out:
            import json

            as_json = json.dumps(finite(found.records()), indent=2, ensure_ascii=False) + "\n"
            written = {"csv": to_csv(found), "md": to_markdown(found), "tex": to_latex(found), "json": as_json}
            write_atomically(self.out, written[self.out.suffix[1:]].encode())
        if self.figure and any(score is not None for score in found.column("score")):
            from rote.figures import export

            kind: Any = self.figure.suffix[1:]
            write_atomically(self.figure, export(found, kind))
        elif self.figure:
            err_console().print(f"Every trial failed: nothing is drawn in {self.figure}.", markup=False)

    def _show(self, found: Table) -> int:
        """1 where every trial failed, as of a run that failed."""
        print_rows(found.records(), as_json=self.json)
        if found.note and not self.json:
            say(found.note)
        return int(all(score is None for score in found.column("score")))


def check_file(path: Path | None, endings: tuple[str, ...], what: str) -> None:
    """Before the work that leads to the file."""
    if path is None:
        return
    if path.suffix[1:] not in endings:
        raise UnknownNameError("ending", path.suffix or path.name, [f".{end}" for end in endings], f" of {path}")
    if not path.parent.is_dir():
        raise UsageError(f"{what} cannot be written to {path}: there is no folder {path.parent}. Make it first.")
    if path.is_dir():
        raise UsageError(f"{what} cannot be written to {path}: it is a folder. Give another name.")
