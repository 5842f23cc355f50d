"""A sweep over settings: a grid, random draws, or Optuna. A trial is a study with other settings, its runs are in the
store, so finished ones are reused.

    space = parse_space(["model.hidden=16,32", "training.learning_rate=0.001..0.1"])
    sweep(laboratory, Sweep("tagging", space, trials=8))

The runs of all trials are given out together, so that every worker is busy. Trials are compared on the study's own
score, which is measured on development data: test data choose nothing. Random draws depend on the seed alone, so a
sweep that was stopped goes on with the same trials.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from rote.errors import RunFailedError, StoreError, UnknownNameError, UsageError
from rote.laboratory.aggregate import Row, band, grouped, interval_columns
from rote.laboratory.estimates import Expectation, expected
from rote.laboratory.known_tables import columns_of, known_tables
from rote.laboratory.laboratory import Laboratory, StudyResult
from rote.laboratory.search_space import Space, Trial, check_space, count, grid, grid_trial, random_trials, varied
from rote.laboratory.study import Study, studies
from rote.store import Column, Table

Method = Literal["grid", "random", "optuna"]
METHODS: tuple[Method, ...] = ("grid", "random", "optuna")
TOGETHER = 256  # runs that are given out at once; then their trials are concluded
SAMPLED = 32  # trials from which a larger sweep is estimated


@dataclass(frozen=True)
class Objective:
    table: str
    column: str
    best: Literal["max", "min"] = "max"

    def of(self, result: StudyResult) -> tuple[float, list[float]]:
        """The score, and of each seed the mean over its rows; none where the table does not tell seeds apart. Rows of
        other settings, cells or steps are no repetitions: an interval is over seeds or there is none."""
        tables = result.run.tables()
        self.check(result.study.name, {name: columns_of(table) for name, table in tables.items()})
        rows = [row for row in tables[self.table].records() if row[self.column] is not None]
        where = f"The column {self.column!r} of the table {self.table!r}"
        if not rows:
            raise UsageError(f"{where} has no values to compare.")
        if not all(isinstance(row[self.column], int | float) for row in rows):
            raise UsageError(f"{where} holds no numbers, such as {rows[0][self.column]!r}. Name another column.")
        if "seed" not in rows[0]:
            return self._mean(rows), []
        values = [self._mean(group) for group in grouped(rows, ("seed",)).values()]
        return sum(values) / len(values), values

    def _mean(self, rows: Sequence[Row]) -> float:
        return sum(float(row[self.column]) for row in rows) / len(rows)

    def check(self, study: str, tables: dict[str, list[str]]) -> None:
        if self.table not in tables:
            raise UnknownNameError("table", self.table, tables, f" of {study}")
        if self.column not in tables[self.table]:
            raise UnknownNameError("column", self.column, tables[self.table], f" of the table {self.table!r}")


@dataclass(frozen=True)
class Sweep:
    """What is asked for. By default a grid; with a number of ``trials``, random draws."""

    name: str
    space: Space
    preset: str = "quick"
    method: Method | None = None
    trials: int | None = None
    seed: int = 0
    objective: Objective | None = None
    study: Study[Any] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "study", studies[self.name]())
        object.__setattr__(self, "method", self.method or ("grid" if self.trials is None else "random"))
        object.__setattr__(self, "objective", self.objective or _own_objective(self.study))
        self._check()

    @property
    def compared(self) -> Objective:
        assert self.objective is not None
        return self.objective

    @property
    def fixed(self) -> dict[str, object]:
        """What the study sets for a sweep, unless the space has it."""
        return {key: value for key, value in self.study.swept.items() if key not in self.space}

    @property
    def count(self) -> int:
        """Trials, without making them."""
        return count(self.space) if self.method == "grid" else self.trials or 0

    def overrides(self, trial: Trial) -> dict[str, object]:
        return {**self.fixed, **trial}

    def made(self) -> list[Trial]:
        """All trials of a grid or of random draws."""
        return list(grid(self.space)) if self.method == "grid" else random_trials(self.space, self.count, self.seed)

    def sample(self) -> list[Trial]:
        """Some trials, all over the space."""
        if self.method == "grid":
            chosen = min(self.count, SAMPLED)
            return [grid_trial(self.space, number * self.count // chosen) for number in range(chosen)]
        return random_trials(self.space, min(self.count, SAMPLED), self.seed)

    def _check(self) -> None:
        if self.method not in METHODS:
            raise UnknownNameError("method", str(self.method), METHODS)
        check_space(self.study.default, self.space)
        ranges = [key for key in self.space if not hasattr(self.space[key], "values")]
        if self.method == "grid" and ranges:
            raise UsageError(
                f"A grid needs values for {ranges[0]!r}, not a range. Give {ranges[0]}=a,b,c, or --trials N for draws."
            )
        if self.method == "grid" and self.trials is not None:
            raise UsageError("A grid has as many trials as combinations. Leave out --trials, or use --method random.")
        if self.method != "grid" and (self.trials is None or self.trials < 1):
            raise UsageError(f"The method {self.method!r} needs the number of trials, at least 1. Got {self.trials}.")
        if not 0 <= self.seed < 2**32:
            raise UsageError(f"'seed' must lie in 0 to {2**32 - 1}. Got {self.seed}.")
        for trial in self.sample():  # the whole of them is checked before the first run
            self.study.resolve(self.preset, self.overrides(trial))


def estimate(laboratory: Laboratory, asked: Sweep) -> Expectation:
    """Runs, time and disk of a sweep, from a sample of its trials where there are many."""
    sample = asked.sample()
    configs = [asked.study.resolve(asked.preset, asked.overrides(trial)) for trial in sample]
    found = expected(asked.study, configs, workers=laboratory.workers, store=laboratory.store)
    if len(sample) >= asked.count or found.runs is None or found.finished is None:
        return found
    times = asked.count / len(sample)
    return replace(
        found,
        runs=round(found.runs * times),
        finished=round(found.finished * times),
        seconds=None if found.seconds is None else found.seconds * times,
        bytes=None if found.bytes is None else round(found.bytes * times),
        rough=True,
    )


@dataclass(frozen=True)
class Outcome:
    trial: Trial
    score: float | None  # none where the trial failed
    values: list[float]  # of each seed, where the table of the objective has seeds
    run: str | None  # id of the study's run
    reason: str = ""  # of a failure
    beside: str = ""  # what the study says beside its own score


def sweep(laboratory: Laboratory, asked: Sweep) -> Table:
    """Run every trial; a table of them, the best first."""
    known = known_tables(laboratory.store, asked.study)
    if known is not None:
        asked.compared.check(asked.name, known)
    if asked.method == "optuna":
        from rote.laboratory.optuna_search import proposed

        found = proposed(asked, lambda trial: _outcomes(laboratory, asked, [trial])[0])
    else:
        found = _all(laboratory, asked, alone=known is None)
    return _table(asked, found)


def _all(laboratory: Laboratory, asked: Sweep, *, alone: bool) -> list[Outcome]:
    """``alone``: the first trial by itself, because only its tables tell whether the objective is among them."""
    trials = asked.made()
    for trial in trials:  # what would be refused later is refused now
        asked.study.resolve(asked.preset, asked.overrides(trial))
    first = trials[:1] if alone else []
    found = _outcomes(laboratory, asked, first) if first else []
    for some in _batches(trials[len(first) :], max(_sampled_runs(asked))):
        found += _outcomes(laboratory, asked, some)
    return found


def _outcomes(laboratory: Laboratory, asked: Sweep, trials: Sequence[Trial]) -> list[Outcome]:
    keys = varied(asked.space)
    results = laboratory.run_all(asked.name, asked.preset, [asked.overrides(trial) for trial in trials])
    found = []
    for trial, result in zip(trials, results, strict=True):
        label = ", ".join(f"{key}={trial[key]}" for key in keys) or "one trial"
        try:
            if isinstance(result, RunFailedError):  # such as a learning rate that is too high: the others go on
                raise result
            own = asked.study.objective is not None and asked.compared == _own_objective(asked.study)
            note = asked.study.beside(result.run.tables()) if own else ""
            found.append(Outcome(trial, *asked.compared.of(result), result.run.id, beside=note))
        except (RunFailedError, StoreError) as error:
            laboratory.display.say(f"{asked.name}: {label} failed: {error}")
            found.append(Outcome(trial, None, [], None, str(error)))
    return found


def runs_of(asked: Sweep, trial: Trial) -> int:
    """How many runs one trial takes."""
    config = asked.study.resolve(asked.preset, asked.overrides(trial))
    return max(1, len({one.request for job in asked.study.jobs(config) for one in job.all()}))


def _sampled_runs(asked: Sweep) -> list[int]:
    return [runs_of(asked, trial) for trial in asked.sample()]


def most_runs(asked: Sweep) -> int:
    """How many runs the sweep takes; where there are too many trials to look at all, hardly more than these."""
    found = _sampled_runs(asked)
    return sum(found) if len(found) == asked.count else asked.count * max(found)


def _batches(trials: Sequence[Trial], runs: int) -> Iterator[Sequence[Trial]]:
    size = max(1, TOGETHER // runs)
    return (trials[start : start + size] for start in range(0, len(trials), size))


def _table(asked: Sweep, found: Sequence[Outcome]) -> Table:
    objective, keys = asked.compared, varied(asked.space)
    sign = -1 if objective.best == "max" else 1
    ordered = sorted(found, key=lambda one: (one.score is None, sign * (one.score or 0.0)))
    failed = any(one.reason for one in ordered)
    rows = [{**one.trial, **_scores(one), "run": one.run, "failed": one.reason or None} for one in ordered]
    seeded = any(one.values for one in ordered)
    over = "seeds" if seeded else "rows"
    about = f"{objective.column} of {objective.table}, mean over {over}; the {objective.best}imum is best"
    columns = (
        *(Column(key, "setting", "label") for key in keys),
        Column("score", about),
        *interval_columns(),
        Column("seeds", "over which the interval is; empty where the table does not tell them apart"),
        Column("run", "in the store", "label"),
        *([Column("failed", "why", "label")] if failed else []),
    )
    options = {"keys": keys, "measure": objective.column, "values": [one.values for one in ordered]}
    note = next((one.beside for one in found if one.beside), "")
    if not seeded and any(one.run for one in ordered):
        note = f"The table {objective.table!r} does not tell seeds apart: means over its rows, without intervals."
    title = f"Sweep over settings of {asked.name}, the best first"
    return Table.make("sweep", title, columns, rows, note=note, figure="sweep", options=options)


def _scores(one: Outcome) -> dict[str, Any]:
    found = band(one.values)
    return {"score": one.score, "low": found.get("low"), "high": found.get("high"), "seeds": len(one.values) or None}


def _own_objective(study: Study[Any]) -> Objective:
    if study.objective is None:
        raise UsageError(
            f"The study {study.name!r} has no score of its own to compare. Name one of its tables' columns: "
            "--of TABLE.COLUMN, with --lowest if less is better."
        )
    return Objective(*study.objective)
