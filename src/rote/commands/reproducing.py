"""The command that runs everything: reproduce."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import Positional, arg

from rote.commands.options import (
    Cluster,
    Device,
    Folder,
    Imports,
    Workers,
    err_console,
    open_store,
    option,
    out_console,
    tell_left_out,
)
from rote.commands.study import studies_of
from rote.errors import RoteError, RunFailedError

if TYPE_CHECKING:
    from rote.laboratory import Entry, StudyResult
    from rote.laboratory.study_run import StudyRun
    from rote.store import Store


@dataclass(frozen=True)
class Reproduce:
    """Run every study, or those of the named sources, judge the claims and write the report.

    Finished runs are reused; a stopped or killed command goes on where it was. A study that fails does not stop the
    others; the exit code is then 1.

    Try:
      rote reproduce
      rote reproduce resistance --preset smoke
    """

    sources: Annotated[
        Positional[tuple[str, ...]], option("[SOURCE ...]", "By name or number: resistance, or 001. Default: all.")
    ] = ()
    preset: Annotated[str, arg(metavar="NAME", help="smoke, quick or paper.")] = "quick"
    fresh: Annotated[
        bool, option(None, "On seeds that are new to the registered criteria, so that the verdicts confirm or refute.")
    ] = False
    out: Annotated[Path, arg(metavar="DIR", help="Where the report goes.")] = Path("report")
    workers: Workers = None
    cluster: Cluster = None
    device: Device = "auto"
    store: Folder = None
    imports: Imports = ()

    def __call__(self) -> int:
        from rote.commands.reporting import check_report_folder, write_report
        from rote.laboratory import Display, Laboratory, ledger

        names = self._names()
        store, console = open_store(self.store), err_console()
        # What would be refused later is refused now, not after the training.
        self._check(names)
        check_report_folder(self.out)
        lab = Laboratory(store, workers=self.workers, cluster=self.cluster, device=self.device)
        lab.check()
        agenda = Agenda(expected_times(store, names, self.preset, lab.workers))
        failed: list[str] = []
        read: dict[Path, StudyRun] = {}  # their tables are made once

        def told(name: str, result: StudyResult | RoteError) -> None:
            if isinstance(result, RoteError):  # the other studies go on
                failed.append(name)
                console.print(f"rote: {name}: {result}", markup=False, highlight=False, style="red", soft_wrap=True)
                ended = agenda.end(name, "failed")
            else:
                read[result.run.folder] = result.run
                ended = agenda.end(name, f"{result.computed} computed, {result.reused} reused")
            console.print(ended, markup=False, highlight=False)

        console.print(agenda.begin(), markup=False, highlight=False)
        with Display(console) as display:
            lab = Laboratory(store, workers=self.workers, cluster=self.cluster, device=self.device, display=display)
            lab.run_studies(names, self.preset, told, fresh=self.fresh)
        left_out: list[str] = []
        entries = ledger(store, left_out, read)
        changed = self._tell(store, [entry for entry in entries if entry.study in names])
        page = write_report(
            store, self.out, preset=self.preset, entries=entries, left_out=left_out, read=read, changed=changed
        )
        out_console().print(f"Report: {page}", markup=False, soft_wrap=True)
        code = tell_left_out(left_out)
        if failed:
            raise RunFailedError(f"Failed: {', '.join(failed)}. See: rote runs list --status failed")
        return code

    def _names(self) -> list[str]:
        """The studies to run; on fresh seeds those that have something to confirm."""
        from rote.laboratory import studies
        from rote.laboratory.fresh import to_confirm

        names = studies_of(self.sources)
        return [name for name in names if to_confirm(studies[name]())] if self.fresh else names

    def _check(self, names: Sequence[str]) -> None:
        from rote.laboratory import studies
        from rote.laboratory.fresh import fresh_overrides

        for name in names:
            study = studies[name]()
            study.resolve(self.preset, fresh_overrides(study)[0] if self.fresh else {})

    def _tell(self, store: Store, entries: Sequence[Entry]) -> list[str] | None:
        """The ledger, and what came out otherwise than the last time, which is returned."""
        from rote.commands.claims_terminal import show_ledger
        from rote.laboratory.changes import changes

        console = out_console()
        show_ledger(console, entries)
        changed = changes(store, entries)
        if changed:
            console.print("\nOtherwise than the last time:", style="bold")
            for line in changed:
                console.print(f"  {line}", markup=False, highlight=False)
        return changed


@dataclass
class Agenda:
    """How many studies are done, and the time left: as estimated, and corrected by how long it took so far."""

    expected: Mapping[str, float | None]  # seconds by study, in order; None where nothing is known
    done: list[str] = field(default_factory=list)
    _began: float = 0.0

    def begin(self) -> str:
        """What is said before the first."""
        self._began = time.monotonic()
        return f"{len(self.expected)} studies{self._left()}"

    def end(self, name: str, how: str) -> str:
        """What is said when one is done."""
        self.done.append(name)
        return f"[{len(self.done)}/{len(self.expected)}] {name}: {how}{self._left()}"

    def _left(self) -> str:
        from rote.laboratory.estimates import duration

        times = [seconds for name, seconds in self.expected.items() if name not in self.done]
        known = [seconds for seconds in times if seconds is not None]
        left = sum(known) * self._slower()
        if left < 1:
            return "."
        return f". About {duration(left)} left" + ("." if len(known) == len(times) else ", and what is not known yet.")

    def _slower(self) -> float:
        """How much longer than expected it took so far, once there is something to compare."""
        expected = sum(self.expected[name] or 0.0 for name in self.done)
        return (time.monotonic() - self._began) / expected if expected >= 10 else 1.0


def expected_times(store: Store, names: list[str], preset: str, workers: int) -> dict[str, float | None]:
    """A run that two studies need is counted with the first."""
    from rote.laboratory import studies
    from rote.laboratory.estimates import Estimator

    estimator, expected = Estimator(store, workers), {}
    for name in names:
        study = studies[name]()
        config = study.resolve(preset, {})
        expected[name] = estimator.expected([(study, config)]).seconds
        estimator.suppose_finished(study, config)
    return expected
