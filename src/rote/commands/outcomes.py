"""The commands that write what came out: report, cite."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional

from rote.commands.options import (
    Folder,
    Imports,
    Maybe,
    PresetFilter,
    open_store,
    option,
    out_console,
    tell_left_out,
)
from rote.errors import UsageError


@dataclass(frozen=True)
class Report:
    """Write the report from what is in the store, or from results that were kept in a folder; trains nothing.

    Try:
      rote report --out report
      rote report --kept docs/reproduction --out published
      rote report --kept docs/reproduction --markdown
    """

    out: Annotated[Maybe[Path], option("DIR", "Where the report goes. Default: report.")] = None
    kept: Annotated[Maybe[Path], option("DIR", "Of the results that rote runs keep wrote under this folder.")] = None
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
