"""The commands that tell what came out: claims, report, cite."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import Positional, arg

from rote.commands.options import Folder, Json, PresetFilter, open_store, option, out_console, print_json

if TYPE_CHECKING:
    from rote.store import Store


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
      rote report --out report
    """

    out: Annotated[Path, arg(metavar="DIR", help="Where the report goes.")] = Path("report")
    preset: PresetFilter = None
    store: Folder = None

    def __call__(self) -> int:
        from rote.commands.reporting import write_report

        path = write_report(open_store(self.store), self.out, preset=self.preset)
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


def show_ledger(
    store: Store, preset: str | None = None, *, names: list[str] | None = None, as_json: bool = False
) -> None:
    from rote.commands.terminal import show_verdicts, verdict_rows
    from rote.studies import ledger

    verdicts = [verdict for verdict in ledger(store, preset) if names is None or verdict.study in names]
    if as_json:
        print_json(verdict_rows(verdicts))
    else:
        show_verdicts(out_console(), verdicts)
