"""The command that tells what the claims came to: claims."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import Positional, arg

from rote.commands.options import (
    Folder,
    Imports,
    Json,
    Maybe,
    open_store,
    option,
    out_console,
    print_json,
    say,
    tell_left_out,
)
from rote.errors import UnknownNameError, UsageError

if TYPE_CHECKING:
    from rote.laboratory import Entry

ACTIONS = ("list", "register")


@dataclass(frozen=True)
class Claims:
    """The ledger: the verdict on each claim at the scale nearest to the source's, and at quick; a line each, a tally.

    What comes with Rote stands beside what ran here; --here leaves the former out. --full tells of each claim what it
    says, what would support it, and what came out at every scale. --file judges claims of your own by the same rules,
    about any study, or the run that --run names. register enters criteria that are new or were changed, with the
    reason; runs with --fresh then confirm or refute them.

    Try:
      rote claims
      rote claims --source resistance --outcome contradicted --full
      rote claims --export ledger
      rote claims --file mine.toml --run 3f2a
      rote claims register --reason corrected
    """

    action: Annotated[Positional[str], arg(metavar="[ACTION]", help="list or register.")] = "list"
    source: Annotated[Maybe[str], option("NAME", "Only claims of this source: resistance, or 001.")] = None
    study: Annotated[Maybe[str], option("NAME", "Only claims of this study.")] = None
    kind: Annotated[
        Maybe[str], option("WORD", "Only asserted, cited, implied, ours, identity or audit ones. Default: all.")
    ] = None
    outcome: Annotated[
        Maybe[str], option("WORD", "Only supported, contradicted, open, void, holds, not-run, ... ones.")
    ] = None
    full: Annotated[bool, option(None, "What each claim says, and what came out at every scale.")] = False
    here: Annotated[bool, option(None, "Only what ran here, without the results that come with Rote.")] = False
    export: Annotated[Maybe[Path], option("DIR", "Write it as CSV files and an RO-Crate into this folder.")] = None
    file: Annotated[Maybe[Path], option("FILE", "Judge the claims of this TOML file instead.")] = None
    run: Annotated[Maybe[str], option("ID", "With --file: on the tables of this run.")] = None
    reason: Annotated[Maybe[str], option("TEXT", "With register: why criteria are entered.")] = None
    store: Folder = None
    json: Json = False
    imports: Imports = ()

    def __call__(self) -> int:
        if self.action not in ACTIONS:
            raise UnknownNameError("action", self.action, ACTIONS)
        self._check()
        return self._register() if self.action == "register" else self._list()

    def _check(self) -> None:
        """What does not go together."""
        listing = {
            "--outcome": self.outcome, "--full": self.full, "--here": self.here, "--export": self.export,
            "--file": self.file, "--run": self.run, "--json": self.json, "--kind": self.kind, "--store": self.store,
        }  # fmt: skip
        if self.action == "register":
            if given := [name for name, value in listing.items() if value]:
                raise UsageError(f"'{given[0]}' does nothing for 'rote claims register'. Leave it out.")
            if not (self.reason or "").strip():
                raise UsageError("'rote claims register' needs the reason: --reason \"...\"")
        elif self.reason is not None:
            raise UsageError("'--reason' goes with: rote claims register")
        if self.run is not None and self.file is None:
            raise UsageError("'--run' goes with --file.")
        if self.json and (self.full or self.export):
            raise UsageError("'--json' has everything already: leave out --full and --export.")
        if self.file is not None and (self.source or self.kind or self.here):
            raise UsageError("'--file' judges the claims of a file: leave out --source, --kind and --here.")

    def _list(self) -> int:
        from rote.commands.claims_terminal import show_entries, show_ledger
        from rote.laboratory.laboratory import cores
        from rote.laboratory.settling import Settling
        from rote.laboratory.tally import entry_rows

        left_out: list[str] = []
        wanted = self._wanted()
        entries = [entry for entry in self._entries(left_out) if wanted(entry)]
        if self.export is not None:
            from rote.report.ledger_export import export_ledger

            say(f"Written: {export_ledger(entries, self.export)}")
        elif self.json:
            print_json(entry_rows(entries))
        elif self.full:
            show_entries(out_console(), entries, Settling(open_store(self.store), cores()))
        else:
            show_ledger(out_console(), entries)
        return tell_left_out(left_out)

    def _entries(self, left_out: list[str]) -> list[Entry]:
        from rote.laboratory import ledger

        store = open_store(self.store)
        if self.file is None:
            return ledger(store, left_out, kept=not self.here, names=self._names())
        from rote.laboratory.own_claims import judged_file

        return judged_file(store, self.file, self.run, self.study)

    def _names(self) -> list[str]:
        """The studies that the filters leave."""
        from rote.commands.study import studies_of
        from rote.laboratory import studies

        names = studies_of(() if self.source is None else (self.source,))
        if self.study is None:
            return names
        if studies[self.study].name not in names:
            of = studies[self.study].source.name
            raise UsageError(f"The study {self.study!r} is of the source {of!r}, not of {self.source!r}.")
        return [self.study]

    def _wanted(self) -> Callable[[Entry], bool]:
        """What the other filters leave; wrong ones are refused before anything is read."""
        from rote.claims import KINDS, OUTCOMES

        if self.kind is not None and self.kind not in KINDS:
            raise UnknownNameError("kind", self.kind, KINDS)
        outcome = None if self.outcome is None else self.outcome.replace("-", " ")
        if outcome is not None and outcome not in OUTCOMES:
            raise UnknownNameError("outcome", str(self.outcome), [name.replace(" ", "-") for name in OUTCOMES])
        return lambda entry: self.kind in (None, entry.claim.kind) and outcome in (None, entry.outcome)

    def _register(self) -> int:
        from rote.claims import Register
        from rote.claims.register import FILE
        from rote.laboratory import studies

        register = Register.read()
        claims = [claim for name in self._names() for claim in studies[name].claims if not register.has(claim)]
        if not claims:
            say("Every criterion is registered as it is now.")
            return 0
        date = datetime.now(UTC).isoformat(timespec="seconds")
        register.with_entries(claims, date, str(self.reason).strip()).write()
        for claim in claims:
            say(f"{'changed' if register.of(claim) else 'new':<8}{claim.id}")
        say(f"{len(claims)} entered in {FILE}. Commit it before the runs that are to confirm them.")
        return 0
