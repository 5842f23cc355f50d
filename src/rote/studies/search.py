"""Search over settings: a grid, random draws, or Optuna. A trial is a run of a study, so finished ones are reused.

    space = parse_space(["model.hidden=16,32", "training.learning_rate=0.001..0.1"])
    search(laboratory, "tagging", space, trials=8)

Trials are compared on the study's own score, which is measured on development data: test data choose nothing. Random
draws depend on the seed alone, so a search that was stopped goes on with the same trials.
"""

from __future__ import annotations

import itertools
import math
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Union, get_args, get_origin

import numpy as np

from rote.config import keys
from rote.errors import RunFailedError, UnknownNameError, UsageError
from rote.store import Column, Table
from rote.studies.laboratory import Laboratory, Result
from rote.studies.study import studies

Method = Literal["grid", "random", "optuna"]
METHODS: tuple[Method, ...] = ("grid", "random", "optuna")
Trial = dict[str, str]
LOGARITHMIC = 10  # a range is drawn on a logarithmic scale from this ratio of its ends on


@dataclass(frozen=True)
class Choice:
    """``a,b,c``: one of these, as it is written."""

    values: tuple[str, ...]

    def draw(self, random: np.random.Generator) -> str:
        return self.values[int(random.integers(len(self.values)))]


@dataclass(frozen=True)
class Between:
    """``low..high``: any number, whole if both ends are; on a logarithmic scale where they are far apart."""

    low: float
    high: float
    whole: bool

    @property
    def logarithmic(self) -> bool:
        return self.low > 0 and self.high / self.low >= LOGARITHMIC

    def draw(self, random: np.random.Generator) -> str:
        low, high = (math.log(self.low), math.log(self.high)) if self.logarithmic else (self.low, self.high)
        drawn = random.uniform(low, high)
        return self.written(math.exp(drawn) if self.logarithmic else drawn)

    def written(self, value: float) -> str:
        return str(round(value)) if self.whole else f"{value:.4g}"


Space = Mapping[str, Choice | Between]


@dataclass(frozen=True)
class Objective:
    table: str
    column: str
    best: Literal["max", "min"] = "max"

    def of(self, result: Result) -> float:
        """The mean of the column, over networks."""
        tables = result.summary.tables()
        if self.table not in tables:
            raise UnknownNameError("table", self.table, tables, f" of {result.study.name}")
        known = [column.name for column in tables[self.table].columns if column.role == "measured"]
        if self.column not in known:
            raise UnknownNameError("column", self.column, known, f" of the table {self.table!r}")
        values = [value for value in tables[self.table].column(self.column) if value is not None]
        if not values:
            raise UsageError(f"The column {self.column!r} of the table {self.table!r} has no values to compare.")
        return float(sum(values) / len(values))


def parse_space(words: Sequence[str]) -> dict[str, Choice | Between]:
    """From ``key=a,b`` and ``key=low..high``; a key with one value is the same in every trial."""
    space: dict[str, Choice | Between] = {}
    for word in words:
        key, equals, text = word.partition("=")
        if not equals or not key or not text:
            raise UsageError(f"Expected key=a,b,c or key=low..high, for example model.hidden=16,32. Got {word!r}.")
        if key in space:
            raise UsageError(f"The key {key!r} is given twice.")
        ends = text.split("..")
        if len(ends) == 2 and all(map(_is_number, ends)):
            low, high = map(float, ends)
            if not low < high:
                raise UsageError(f"The range of {key!r} must go from low to high. Got {text!r}.")
            space[key] = Between(low, high, all(end.lstrip("+-").isdigit() for end in ends))
        else:
            space[key] = Choice(tuple(text.split(",")))
    return space


def search(
    laboratory: Laboratory,
    name: str,
    space: Space,
    *,
    preset: str = "quick",
    method: Method | None = None,
    trials: int | None = None,
    seed: int = 0,
    objective: Objective | None = None,
) -> Table:
    """Every trial with its score, the best first. By default a grid; with a number of ``trials``, random draws."""
    study: Any = studies[name]()
    method = method or ("grid" if trials is None else "random")
    chosen = objective or _own_objective(study)
    fixed = {key: value for key, value in getattr(study, "searched", {}).items() if key not in space}
    _check(study, space, method, trials)
    say = laboratory.display.say

    def score(trial: Trial) -> tuple[float | None, Result | None]:
        say(f"{name}: {', '.join(f'{key}={trial[key]}' for key in varied) or 'one trial'}")
        try:
            result = laboratory.run(name, preset, {**fixed, **trial})
        except RunFailedError as error:  # such as a learning rate that is too high: the others go on
            say(f"  failed: {error}")
            return None, None
        return chosen.of(result), result

    counts = objective is None and hasattr(study, "beside")  # baselines of the study's own score
    varied = [key for key, values in space.items() if not isinstance(values, Choice) or len(values.values) > 1]
    if method == "optuna":
        found = list(_optuna(space, trials or 0, seed, chosen.best, score))
    else:
        asked = _grid(space) if method == "grid" else _random(space, trials or 0, seed)
        for trial in asked:  # what would be refused later is refused now
            study.resolve(preset, {**fixed, **trial})
        found = [(trial, *score(trial)) for trial in asked]
    beside = next((study.beside(result.summary.tables()) for _, _, result in found if result), "") if counts else ""
    return _table(name, chosen, varied, found, beside)


def _check(study: Any, space: Space, method: Method, trials: int | None) -> None:
    if method not in METHODS:
        raise UnknownNameError("method", method, METHODS)
    known = keys(study.default)
    for key, values in space.items():
        if key not in known:
            raise UnknownNameError("key", key, known)
        if get_origin(known[key]) is tuple and isinstance(values, Choice) and len(values.values) > 1:
            raise UsageError(f"The key {key!r} is a list by itself, so that its values cannot be searched over.")
        if isinstance(values, Between) and not _takes_numbers(known[key]):
            raise UsageError(f"The key {key!r} takes no numbers, so that it has no range. Give values: {key}=a,b.")
        if isinstance(values, Between) and method == "grid":
            raise UsageError(f"A grid needs values for {key!r}, not a range. Give key=a,b,c, or --trials N for draws.")
    if method != "grid" and (trials is None or trials < 1):
        raise UsageError(f"The method {method!r} needs the number of trials, at least 1. Got {trials}.")
    if method == "grid" and trials is not None:
        raise UsageError("A grid has as many trials as combinations. Leave out --trials, or use --method random.")


def _grid(space: Space) -> list[Trial]:
    choices = [values.values for values in space.values() if isinstance(values, Choice)]
    return [dict(zip(space, combination, strict=True)) for combination in itertools.product(*choices)]


def _random(space: Space, trials: int, seed: int) -> list[Trial]:
    """Each once, however often it is drawn."""
    random = np.random.default_rng(seed)
    drawn = [{key: values.draw(random) for key, values in space.items()} for _ in range(trials)]
    return [dict(pairs) for pairs in dict.fromkeys(tuple(trial.items()) for trial in drawn)]


Score = Callable[[Trial], tuple[float | None, Result | None]]


def _optuna(
    space: Space, trials: int, seed: int, best: str, score: Score
) -> Iterator[tuple[Trial, float | None, Result | None]]:
    try:
        import optuna
    except ImportError:
        raise UsageError(
            "The method 'optuna' needs the package optuna. Install it with: pip install 'rote[search]', or use "
            "--method random."
        ) from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    directions = optuna.study.StudyDirection
    direction = directions.MAXIMIZE if best == "max" else directions.MINIMIZE
    asked = optuna.create_study(direction=direction, sampler=optuna.samplers.TPESampler(seed=seed))
    for _ in range(trials):
        now = asked.ask()
        trial: Trial = {}
        for key, values in space.items():
            if isinstance(values, Choice):
                trial[key] = now.suggest_categorical(key, values.values)
            elif values.whole:
                trial[key] = str(now.suggest_int(key, int(values.low), int(values.high), log=values.logarithmic))
            else:
                trial[key] = values.written(now.suggest_float(key, values.low, values.high, log=values.logarithmic))
        value, result = score(trial)
        if value is None:
            asked.tell(now, state=optuna.trial.TrialState.FAIL)
        else:
            asked.tell(now, value)
        yield trial, value, result


def _table(
    name: str,
    objective: Objective,
    varied: Sequence[str],
    found: Sequence[tuple[Trial, float | None, Result | None]],
    beside: str = "",
) -> Table:
    sign = -1 if objective.best == "max" else 1
    ordered = sorted(found, key=lambda trial: (trial[1] is None, sign * (trial[1] or 0.0)))
    rows = [
        {**trial, "score": value, "run": None if result is None else result.summary.id}
        for trial, value, result in ordered
    ]
    about = f"{objective.column} of {objective.table}, mean over networks; the {objective.best}imum is best"
    columns = (*(Column(key, "setting", "label") for key in varied), Column("score", about), Column("run", "", "label"))
    return Table.make("search", f"Search over settings of {name}, the best first", columns, rows, note=beside)


def _own_objective(study: Any) -> Objective:
    if not hasattr(study, "objective"):
        raise UsageError(
            f"The study {study.name!r} has no score of its own to search by. Name one of its tables' columns: "
            "--of TABLE.COLUMN, with --lowest if less is better."
        )
    return Objective(*study.objective)


def _takes_numbers(kind: Any) -> bool:
    kinds = get_args(kind) if get_origin(kind) in (Union, types.UnionType) else (kind,)
    return any(one in (int, float) for one in kinds)


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
