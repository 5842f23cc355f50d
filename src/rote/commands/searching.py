"""The command that searches over settings of a study."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from tyro.conf import Positional, arg

from rote.commands.options import Device, Folder, Json, Workers, err_console, open_store, option, print_rows
from rote.errors import UsageError


@dataclass(frozen=True)
class Search:
    """Run a study with many settings and list them, the best first.

    Several values of a key are combined with all others (a grid); with --trials N settings are drawn at random, also
    from ranges. Trials are compared on development data; finished ones are reused.

    Try:
      rote search tagging model.hidden=16,32 model.cell=elman,lstm seeds=1
      rote search classification task.train=train.txt training.learning_rate=0.001..0.03 --trials 10
      rote search plane model.hidden=4,8 --of outcome.corner_wrong --lowest
    """

    study: Annotated[Positional[str], arg(metavar="STUDY", help="See: rote list studies.")]
    space: Annotated[
        Positional[tuple[str, ...]], option("KEY=A,B ... | KEY=LOW..HIGH ...", "Settings to try. See: rote show STUDY.")
    ] = ()
    trials: Annotated[int | None, option("N", "Draw so many settings at random. Default: the whole grid.")] = None
    method: Annotated[str | None, option("NAME", "grid, random or optuna. Default: grid, with --trials random.")] = None
    seed: Annotated[int, arg(metavar="N", help="Of the random draws.")] = 0
    of: Annotated[
        str | None, option("TABLE.COLUMN", "What to compare, as mean over rows. Default: as the study says.")
    ] = None
    lowest: Annotated[bool, option(None, "With --of: less is better.")] = False
    preset: Annotated[str, arg(metavar="NAME", help="smoke, quick or paper.")] = "quick"
    workers: Workers = None
    device: Device = "auto"
    store: Folder = None
    json: Json = False

    def __call__(self) -> int:
        from rote.studies import Display, Laboratory
        from rote.studies.search import parse_space, search

        space, objective, method = parse_space(self.space), self._objective(), self.method
        chosen: Any = method  # its name is checked by the search
        with Display(err_console()) as display:
            lab = Laboratory(open_store(self.store), workers=self.workers, device=self.device, display=display)
            found = search(
                lab, self.study, space, preset=self.preset, method=chosen, trials=self.trials, seed=self.seed,
                objective=objective,
            )  # fmt: skip
        print_rows(found.records(), as_json=self.json)
        if found.note and not self.json:
            print(found.note)
        return 0

    def _objective(self) -> Any:
        from rote.studies.search import Objective

        if self.of is None:
            if self.lowest:
                raise UsageError("'--lowest' goes with --of TABLE.COLUMN.")
            return None
        table, dot, column = self.of.partition(".")
        if not dot or not table or not column:
            raise UsageError(f"Expected TABLE.COLUMN after --of, for example networks.dev. Got {self.of!r}.")
        return Objective(table, column, "min" if self.lowest else "max")
