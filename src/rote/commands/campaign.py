"""The command that runs studies at the sources' own scale, part by part: campaign."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tyro.conf import Positional, arg

from rote.commands.options import (
    Cluster,
    Device,
    Folder,
    Json,
    Maybe,
    Workers,
    err_console,
    open_store,
    option,
    print_json,
    print_rows,
    say,
)
from rote.errors import UnknownNameError, UsageError

if TYPE_CHECKING:
    from rote.laboratory.campaign import Standing

ACTIONS = ("list", "run")


@dataclass(frozen=True)
class Campaign:
    """The studies at the sources' own scale, in the order of what an hour of computing tells: what is kept, what is
    next, the hours left.

    run goes on with the first part that is not complete, or the named ones, stage after stage, on fresh seeds. Each
    stage that is finished is kept below --out, where the ledger reads it. What is measured on the way lies beside it
    until the part is complete: commit it, and another machine goes on there. Stopped at any moment, it goes on.

    Try:
      rote campaign
      rote campaign run --workers 1
      rote campaign run text --hours 2
    """

    action: Annotated[Positional[str], arg(metavar="[ACTION]", help="list or run.")] = "list"
    parts: Annotated[Positional[tuple[str, ...]], option("[PART ...]", "Only these parts. Default: all.")] = ()
    out: Annotated[Maybe[Path], option("DIR", "Where results are kept. Default: docs/reproduction of a checkout.")] = (
        None
    )
    hours: Annotated[Maybe[float], option("N", "Begin no further stage after so long. Default: go on to the end.")] = (
        None
    )
    workers: Workers = None
    cluster: Cluster = None
    device: Device = "auto"
    store: Folder = None
    json: Json = False

    def __call__(self) -> int:
        from rote.laboratory.campaign import PARTS, standing

        if self.action not in ACTIONS:
            raise UnknownNameError("action", self.action, ACTIONS)
        self._check()
        names = [part.name for part in PARTS]
        for name in self.parts:
            if name not in names:
                raise UnknownNameError("part", name, names)
        out = self._folder()
        queue = [standing(part, out) for part in PARTS if not self.parts or part.name in self.parts]
        return self._list(queue) if self.action == "list" else self._run(queue, out)

    def _check(self) -> None:
        """What goes with the other action."""
        running = {
            "--hours": self.hours, "--workers": self.workers, "--cluster": self.cluster, "--store": self.store,
            "--device": None if self.device == "auto" else self.device,
        }  # fmt: skip
        if self.action == "list" and (named := [name for name, value in running.items() if value is not None]):
            raise UsageError(f"'{named[0]}' goes with: rote campaign run")
        if self.action == "run" and self.json:
            raise UsageError("'--json' goes with: rote campaign list")
        if self.hours is not None and not self.hours > 0:
            raise UsageError(f"'--hours' must be positive. Got {self.hours:g}.")

    def _folder(self) -> Path:
        from rote.laboratory.kept_results import CHECKOUT

        if self.out is not None:
            return self.out
        if not CHECKOUT.exists():
            raise UsageError("Rote was installed without its repository: say where results are kept, with --out DIR.")
        return CHECKOUT

    def _list(self, queue: list[Standing]) -> int:
        rows = [_row(one) for one in queue]
        if self.json:
            print_json(rows)
            return 0
        print_rows([{key.replace("_", " "): str(value) for key, value in row.items()} for row in rows], as_json=False)
        left = sum(one.hours_left for one in queue)
        following = next((one for one in queue if one.stages), None)
        if following is None:
            say("Everything is kept.")
        else:
            seeds = "1 seed" if following.stages[0] == 1 else f"{following.stages[0]} seeds"
            say(f"Next: {following.part.name} with {seeds}. About {left:.0f} hours of one core are left.")
        return 0

    def _run(self, queue: list[Standing], out: Path) -> int:
        from rote.laboratory import Display, Laboratory
        from rote.laboratory.campaign import run_stage

        end = None if self.hours is None else time.monotonic() + self.hours * 3600
        with Display(err_console()) as display:
            lab = Laboratory(
                open_store(self.store), workers=self.workers, cluster=self.cluster, device=self.device, display=display
            )
            for part, stage in [(one.part, stage) for one in queue for stage in one.stages]:
                if end is not None and time.monotonic() > end:
                    say(f"{self.hours:g} hours are over. Next: {part.name} with seeds: {stage}.")
                    return 0
                for result in run_stage(lab, part, stage, out, display.say):
                    say(f"Kept: {part.path(result.study.name, out)}, seeds: {stage}.")
                    for verdict in result.verdicts:
                        say(f"  {verdict.claim.id}: {verdict.outcome}")
        say("These parts are kept." if self.parts else "Everything is kept.")
        return 0


def _row(one: Standing) -> dict[str, Any]:
    part = one.part
    return {
        "part": part.name, "studies": ", ".join(part.studies), "preset": part.preset, "kept_seeds": one.seeds,
        "of_seeds": part.stages[-1], "carried": one.carried, "hours_taken": round(one.hours, 2),
        "hours_left": round(one.hours_left, 2),
    }  # fmt: skip
