"""The command that runs everything: reproduce."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import Positional, arg

from rote.commands.options import Cluster, Device, Folder, Workers, err_console, open_store, option, out_console
from rote.commands.studying import studies_of
from rote.errors import RunFailedError, StoreError

if TYPE_CHECKING:
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
    out: Annotated[Path, arg(metavar="DIR", help="Where the report goes.")] = Path("report")
    workers: Workers = None
    cluster: Cluster = None
    device: Device = "auto"
    store: Folder = None

    def __call__(self) -> int:
        from rote.commands.reporting import check_report_folder, write_report
        from rote.commands.terminal import show_verdicts
        from rote.studies import Laboratory, ledger, studies

        names = studies_of(self.sources)
        store, console = open_store(self.store), err_console()
        # What would be refused later is refused now, not after the training.
        for name in names:
            studies[name]().resolve(self.preset, {})
        check_report_folder(self.out)
        lab = Laboratory(store, workers=self.workers, cluster=self.cluster, device=self.device)
        lab.check()
        agenda = Agenda(expected_times(store, names, self.preset, lab.workers))
        failed: list[str] = []
        for name in names:
            console.print(agenda.begin(name), markup=False, highlight=False)
            try:
                self._run(name, store)
            except (RunFailedError, StoreError) as error:  # the other studies go on
                failed.append(name)
                console.print(f"rote: {error}", markup=False, highlight=False, style="red", soft_wrap=True)
            agenda.end(name)
        verdicts = ledger(store, self.preset)
        show_verdicts(out_console(), [verdict for verdict in verdicts if verdict.study in names])
        page = write_report(store, self.out, preset=self.preset, verdicts=verdicts)
        out_console().print(f"Report: {page}", markup=False, soft_wrap=True)
        if failed:
            raise RunFailedError(f"Failed: {', '.join(failed)}. See: rote runs list --status failed")
        return 0

    def _run(self, name: str, store: Store) -> None:
        from rote.studies import Display, Laboratory

        console = err_console()
        with Display(console) as display:
            lab = Laboratory(store, workers=self.workers, cluster=self.cluster, device=self.device, display=display)
            result = lab.run(name, self.preset)
        console.print(f"  Runs: {result.computed} computed, {result.reused} reused", highlight=False)


@dataclass
class Agenda:
    """What is running, what is next, and the time left: as estimated, and corrected by how long it took so far."""

    expected: Mapping[str, float | None]  # seconds by study, in order; None where nothing is known
    took: dict[str, float] = field(default_factory=dict)
    _began: float = 0.0

    def begin(self, name: str) -> str:
        self._began = time.monotonic()
        names = list(self.expected)
        place = names.index(name)
        then = f"; then {names[place + 1]}" if place + 1 < len(names) else ", the last"
        return f"[{place + 1}/{len(names)}] {name}{then}{self._left(names[place:])}"

    def end(self, name: str) -> None:
        self.took[name] = time.monotonic() - self._began

    def _left(self, names: list[str]) -> str:
        from rote.studies.estimates import duration

        times = [self.expected[name] for name in names]
        known = [seconds for seconds in times if seconds is not None]
        left = sum(known) * self._slower()
        if left < 1:
            return ""
        return f". About {duration(left)} left" + ("" if len(known) == len(times) else ", and what is not known yet")

    def _slower(self) -> float:
        """How much longer than expected it took so far, once there is something to compare."""
        done = [(expected, took) for name, took in self.took.items() if (expected := self.expected[name])]
        expected, took = (sum(column) for column in zip(*done, strict=True)) if done else (0.0, 0.0)
        return took / expected if expected >= 10 else 1.0


def expected_times(store: Store, names: list[str], preset: str, workers: int) -> dict[str, float | None]:
    """A run that two studies need is counted with the first."""
    from rote.studies import studies
    from rote.studies.estimates import Estimator

    estimator, expected = Estimator(store, workers), {}
    for name in names:
        study = studies[name]()
        config = study.resolve(preset, {})
        expected[name] = estimator.expected([(study, config)]).seconds
        estimator.suppose_finished(study, config)
    return expected
