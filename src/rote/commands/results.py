"""The commands that tell what came out: claims, report, cite."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from rote.commands.options import Folder, Json, PresetFilter, open_store, option, out_console, print_json
from rote.errors import UsageError


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
        from rote.claims import verdict_rows
        from rote.commands.terminal import show_verdicts
        from rote.studies import ledger

        verdicts = ledger(open_store(self.store), self.preset)
        if self.json:
            print_json(verdict_rows(verdicts))
        else:
            show_verdicts(out_console(), verdicts)
        return 0


@dataclass(frozen=True)
class Report:
    """Write the report from what is in the store, or from results that were kept in a folder; trains nothing.

    Try:
      rote report --out report
      rote report --kept docs/reproduction --out published
      rote report --kept docs/reproduction --markdown
    """

    out: Annotated[Path, arg(metavar="DIR", help="Where the report goes.")] = Path("report")
    kept: Annotated[Path | None, option("DIR", "Of the results that rote runs keep wrote under this folder.")] = None
    markdown: Annotated[bool, option(None, "With --kept: Markdown pages beside the results instead.")] = False
    preset: PresetFilter = None
    store: Folder = None

    def __call__(self) -> int:
        from rote.commands.reporting import write_kept_report, write_pages, write_report

        if self.markdown and self.kept is None:
            raise UsageError("'--markdown' goes with --kept DIR.")
        if self.kept is not None and (self.preset or self.store):
            raise UsageError("'--preset' and '--store' choose among the runs of a store: leave them out with --kept.")
        if self.kept is None:
            path = write_report(open_store(self.store), self.out, preset=self.preset)
        else:
            path = write_pages(self.kept) if self.markdown else write_kept_report(self.kept, self.out)
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
        from rote.commands.citation import bibtex

        print(bibtex(open_store(self.store), self.names))
        return 0
