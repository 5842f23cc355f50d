"""The commands that tell what came out: claims, report, cite."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import Positional

from rote.commands.options import (
    Folder,
    Imports,
    Json,
    PresetFilter,
    open_store,
    option,
    out_console,
    print_json,
    tell_left_out,
)
from rote.errors import UnknownNameError, UsageError

if TYPE_CHECKING:
    from rote.claims import Verdict


@dataclass(frozen=True)
class Claims:
    """The ledger: the verdict on each claim with our first number, a line each, and a tally.

    --full tells of each claim what it says, what was published, and all that we measured.

    Try:
      rote claims
      rote claims --source resistance --outcome not-reproduced --full
      rote claims --json
    """

    source: Annotated[str | None, option("NAME", "Only claims of this source: resistance, or 001.")] = None
    study: Annotated[str | None, option("NAME", "Only claims of this study.")] = None
    outcome: Annotated[
        str | None, option("WORD", "Only reproduced, partly, not-reproduced, inconclusive or not-run ones.")
    ] = None
    full: Annotated[bool, option(None, "What each claim says, the published value, and all measurements.")] = False
    preset: PresetFilter = None
    store: Folder = None
    json: Json = False
    imports: Imports = ()

    def __call__(self) -> int:
        from rote.claims import verdict_rows
        from rote.commands.terminal import show_ledger, show_verdicts
        from rote.laboratory import ledger

        if self.json and self.full:
            raise UsageError("'--full' is for people: JSON has everything already.")
        wanted = self._wanted()
        left_out: list[str] = []
        verdicts = [verdict for verdict in ledger(open_store(self.store), self.preset, left_out) if wanted(verdict)]
        if self.json:
            print_json(verdict_rows(verdicts))
        elif self.full:
            show_verdicts(out_console(), verdicts)
        else:
            show_ledger(out_console(), verdicts)
        return tell_left_out(left_out)

    def _wanted(self) -> Callable[[Verdict], bool]:
        """What the filters leave; wrong ones are refused before anything is read."""
        from rote.claims import OUTCOMES
        from rote.commands.study import studies_of
        from rote.laboratory import studies

        names = studies_of(() if self.source is None else (self.source,))
        if self.study is not None:
            if studies[self.study].name not in names:
                of = studies[self.study].source.name
                raise UsageError(f"The study {self.study!r} is of the source {of!r}, not of {self.source!r}.")
            names = [self.study]
        outcome = None if self.outcome is None else self.outcome.replace("-", " ")
        if outcome is not None and outcome not in OUTCOMES:
            raise UnknownNameError("outcome", str(self.outcome), [name.replace(" ", "-") for name in OUTCOMES])
        return lambda verdict: verdict.study in names and outcome in (None, verdict.outcome)


@dataclass(frozen=True)
class Report:
    """Write the report from what is in the store, or from results that were kept in a folder; trains nothing.

    Try:
      rote report --out report
      rote report --kept docs/reproduction --out published
      rote report --kept docs/reproduction --markdown
    """

    out: Annotated[Path | None, option("DIR", "Where the report goes. Default: report.")] = None
    kept: Annotated[Path | None, option("DIR", "Of the results that rote runs keep wrote under this folder.")] = None
    markdown: Annotated[bool, option(None, "With --kept: Markdown pages beside the results instead.")] = False
    preset: PresetFilter = None
    store: Folder = None
    imports: Imports = ()

    def __call__(self) -> int:
        from rote.commands.reporting import write_kept_report, write_pages, write_report

        if self.markdown and self.kept is None:
            raise UsageError("'--markdown' goes with --kept DIR.")
        if self.markdown and self.out is not None:
            raise UsageError("'--markdown' writes beside the results: leave out --out.")
        if self.kept is not None and (self.preset or self.store):
            raise UsageError("'--preset' and '--store' choose among the runs of a store: leave them out with --kept.")
        left_out: list[str] = []
        out = self.out or Path("report")
        if self.kept is None:
            path = write_report(open_store(self.store), out, preset=self.preset, left_out=left_out)
        elif self.markdown:
            path = write_pages(self.kept, left_out=left_out)
        else:
            path = write_kept_report(self.kept, out, left_out)
        out_console().print(f"Report: {path}", markup=False, soft_wrap=True)
        return tell_left_out(left_out)


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
    imports: Imports = ()

    def __call__(self) -> int:
        from rote.commands.citation import bibtex

        print(bibtex(open_store(self.store), self.names))
        return 0
