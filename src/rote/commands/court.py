"""The command that judges explanation methods on networks whose working is known: court."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rote.commands.options import Imports, Json, Maybe, option, out_console, print_json
from rote.errors import InterruptedRunError, UsageError

if TYPE_CHECKING:
    from rote.court import Verdict

SHOWN = ("direction", "size", "sign", "mass", "rank", "completeness", "largest", "long", "interactions", "milliseconds")


@dataclass(frozen=True)
class Court:
    """Which explanation is right? Methods against the truth, on networks that programs were compiled into.

    Programs are compiled into the weights of recurrent networks, or learned by them to the last deletion; what every
    symbol adds is enumerated. Prints a table and writes a page with heat maps and example strings. A method of your own
    is judged beside the others: register it in a file and name that with --import.

    Try:
      rote court
      rote court --methods two,decomposition,integrated_gradients --programs latch,and --cells gru,lstm
      rote court --dockets trained --seeds 3 --out court-trained
      rote court --import my_method.py --methods my_method,two --json
    """

    methods: Annotated[Maybe[str], option("NAME,...", "Default: all that are registered.")] = None
    programs: Annotated[Maybe[str], option("NAME,...", "Default: all, such as latch, parity, lookup.")] = None
    cells: Annotated[Maybe[str], option("NAME,...", "elman, elman_relu, gru, lstm and others. Default: all.")] = None
    dockets: Annotated[str, option("NAME,...", "compiled, trained or both. Default: both.")] = "compiled,trained"
    strings: Annotated[int, option("N", "Random strings for each program. Default: 16.")] = 16
    length: Annotated[int, option("N", "Symbols of a string, at most 12. Default: 8.")] = 8
    seeds: Annotated[int, option("N", "Trained networks of each program and cell. Default: 1.")] = 1
    seed: Annotated[int, option("N", "From which the strings are drawn. Default: 0.")] = 0
    out: Annotated[
        Maybe[Path], option("DIR", "Where the page and the tables go. Default: court; none with --json.")
    ] = None
    json: Json = False
    imports: Imports = ()

    def __call__(self) -> int:
        try:
            verdict = self._judged()
        except KeyboardInterrupt:
            raise InterruptedRunError(
                "The court was interrupted: nothing was written, and nothing is kept.", nothing_kept=True
            ) from None
        if self.json:
            print_json(
                {table.name: table.records() for table in verdict.tables if table.name != "examples"}
                | {"left out": list(verdict.left_out)}
            )
        else:
            _show(verdict)
        if self.out is not None or not self.json:
            path = self._written(verdict, self.out or Path("court"))
            if not self.json:
                out_console().print(f"Page: {path}", markup=False, soft_wrap=True)
        return 0

    def _judged(self) -> Verdict:
        from rote.court import judge

        try:
            return judge(
                _names("--methods", self.methods), programs=_names("--programs", self.programs),
                cells=_names("--cells", self.cells), dockets=_names("--dockets", self.dockets) or (),
                strings=self.strings, length=self.length, seed=self.seed, seeds=self.seeds, progress=_told,
            )  # fmt: skip
        finally:
            _told("", 0, 0)

    def _written(self, verdict: Verdict, out: Path) -> Path:
        from rote.report.court import write_court

        options = {
            "--methods": self.methods, "--programs": self.programs, "--cells": self.cells, "--dockets": self.dockets,
            "--strings": self.strings, "--length": self.length, "--seeds": self.seeds, "--seed": self.seed,
        }  # fmt: skip
        command = " ".join(["rote court", *(f"{name} {value}" for name, value in options.items() if value is not None)])
        others = (verdict.cases, verdict.examples)
        return write_court(verdict.summary, verdict.programs, others, verdict.left_out, out, command)


def _names(argument: str, given: str | None) -> list[str] | None:
    if given is None:
        return None
    found = [name.strip() for name in given.split(",") if name.strip()]
    if not found:
        raise UsageError(f"'{argument}' names nothing. Leave it out for all.")
    return found


def _told(what: str, done: int, total: int) -> None:
    """The line of progress; an empty one takes it away."""
    if sys.stderr.isatty():
        line = f"{what} ({done} of about {total})" if what else ""
        print(f"\r\x1b[2K{line}", end="", file=sys.stderr, flush=True)


def _show(verdict: Verdict) -> None:
    from rote.commands.terminal import rows_as_table

    console = out_console()
    for docket in dict.fromkeys(verdict.summary.column("docket")):
        rows: list[dict[str, Any]] = verdict.summary.where(docket=docket).records()
        rows.sort(key=lambda row: -(row["direction"] if row["direction"] is not None else -1))
        console.print(f"\n{docket.capitalize()} networks", style="bold", highlight=False)
        console.print(
            rows_as_table([{"method": row["method"], **{k: row[k] for k in SHOWN}} for row in rows]), highlight=False
        )
    console.print(
        "\ndirection, size, sign: against the exact Shapley values; mass, rank: on the positions that decide. Small is "
        "good for size, completeness, largest and long.", style="dim", highlight=False,
    )  # fmt: skip
    if verdict.left_out:
        console.print(f"Left out: {len(verdict.left_out)} networks, with reasons on the page.", style="dim")
