"""``rote.examine``: does this architecture compose, or does it learn by rote?"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rote.errors import UnknownNameError, UsageError
from rote.examination.forms import Kind, check_form, form_of, has_form, kind_named, kind_of_module
from rote.examination.learners import Make, enter, learner, names_of
from rote.examination.plan import RATES, SEEDS, Plan, equally_good, planned, rates_of, seconds_of, standard
from rote.examination.profile import Profile, TaskProfile, task_profile
from rote.examination.recipe import ExaminationMeasurement, ExaminationRecipe, FittedMeasurement, ReferenceMeasurement
from rote.examination.references import keep_examined, kept_profile
from rote.examination.task import DIMENSIONS, battery
from rote.laboratory import Laboratory
from rote.laboratory.progress import Display
from rote.recipes import Job
from rote.store import FinishedRun, Store, Table

DEFAULT = ("lstm", "gru")
One = tuple[str, int, float]  # task, seed, learning rate


def examine(
    make: Make | str,
    *,
    minutes: float = 15,
    seeds: int = 5,
    against: Sequence[str] = DEFAULT,
    tasks: Sequence[str] | None = None,
    kind: Kind = "tokens",
    name: str = "",
    first_seed: int = 0,
    store: Store | str | Path | None = None,
    workers: int | None = None,
    cluster: str | None = None,
    device: str = "auto",
    display: Display | None = None,
) -> Profile:
    """Train a learner on the battery and place it between the best memorizer and the rule.

    - make: the name of a registered cell or architecture, or a function from the size of a vocabulary to a module that
      maps tokens [batch, time] to logits [batch, time, vocabulary]; or to an object that is no network, with
      ``fit(tokens, targets)`` and ``probabilities(tokens)`` (``rote.examination.fitted``).
    - minutes: how long it may take, for each learner; what is left out for it is said in ``profile.plan``.
    - against: learners to compare with. Of those that come with Rote the profiles are there; others are examined in
      the same way.
    - tasks: names of the battery's tasks; by default all that fit into the time.
    - kind: "seq2seq" for ``make(source_size, target_size)``, whose module maps a source and the target so far to logits
      [batch, answers, vocabulary], and "classifier" for one that maps tokens and lengths to logits [batch,
      vocabulary], and may look in both directions (``rote.examination.forms``). Then learners that come with Rote read
      the same items as one sequence.

    What is trained is kept in the store, so that an examination that was stopped goes on where it was; so is the
    profile, which the explorer shows.

    >>> import rote
    >>> profile = rote.examine("lstm", minutes=15)  # doctest: +SKIP
    >>> rote.examination.kept_profile("lstm").tasks["parity"].outcome
    'rule'
    """
    from rote.examination.checks import check_learner

    kind, examined = kind_named(kind), _named(make)
    for what, value in (("minutes", minutes), ("seeds", seeds)):
        if not value > 0:
            raise UsageError(f"{what!r} must be above 0. Got {value}.")
    wanted = _tasks(tasks, kind)
    others = [other for other in names_of(against) if other != examined]
    kept = {other: profile for other in others if (profile := kept_profile(other)) is not None}
    sizes = {  # 0: it is fitted
        one: check_learner(one, kind_of_module(one, kind)) for one in (examined, *others) if one not in kept
    }
    laboratory = Laboratory(
        store if isinstance(store, Store) else Store(store), workers=workers, cluster=cluster, device=device,
        display=display,
    )  # fmt: skip
    budget = minutes * 60 * laboratory.workers
    finished = _finished(laboratory.store, examined, kind, wanted, range(first_seed, first_seed + seeds))
    costs = _costs(examined, kind, wanted, budget, finished) if sizes[examined] else dict.fromkeys(wanted, 0.0)
    plan = planned(costs, budget, seeds, first_seed, finished=finished, all_tasks=tasks is not None)
    if tasks is None and plan.seconds > budget:
        needed = math.ceil(plan.seconds / 60 / laboratory.workers)
        raise UsageError(
            f"{examined} has {sizes[examined]:,} parameters, too many for {minutes:g} minutes: {plan.trainings} "
            f"trainings on {plan.tasks[0]} alone take about {needed}, as busy as this machine is now. Give it more "
            "minutes, or make it smaller."
        )
    references = [kept.get(one) or _examination(laboratory, one, kind, plan, sizes[one]) for one in others]
    own = _examination(laboratory, examined, kind, plan, sizes[examined])
    profile = Profile(name or own.name, own.parameters, own.tasks, own.plan, tuple(references))
    keep_examined(profile, laboratory.store.root)
    return profile


def _named(make: Make | str) -> str:
    if isinstance(make, str):
        learner(make)
        return make
    if not callable(make):
        raise UsageError(f"'make' must be a name or a function of the vocabulary's size. Got {type(make).__name__}.")
    called = getattr(make, "__qualname__", type(make).__qualname__)
    if not called.isidentifier():
        raise UsageError(
            f"{called!r} cannot be found by workers. Give a function of a module: def make(vocabulary_size)."
        )
    known = f"{make.__module__}:{called}"
    enter(known, make)
    return known


def _tasks(tasks: Sequence[str] | None, kind: Kind) -> list[str]:
    if tasks is None:
        return [task for task in standard() if has_form(kind, task)]
    wanted = names_of(tasks)
    for one in wanted:
        if one not in battery:
            raise UnknownNameError("task of the battery", one, battery)
        check_form(kind, one)
    if not wanted:
        raise UsageError(f"'tasks' names no task. Known: {', '.join(battery)}.")
    return list(dict.fromkeys(wanted))


def _finished(store: Store, name: str, kind: Kind, tasks: Sequence[str], seeds: Sequence[int]) -> dict[str, int]:
    """How many trainings of each task are in the store."""
    wanted = [(task, seed, rate) for task in tasks for seed in seeds for rate in RATES]
    return Counter(
        task for task, seed, rate in wanted if store.folder(_training(name, kind, task, seed, rate).request).exists()
    )


def _costs(name: str, kind: Kind, tasks: Sequence[str], budget: float, finished: Mapping[str, int]) -> dict[str, float]:
    """Seconds of a training by task. Once the least that is asked of the first tasks takes all the time, the others are
    not timed, since they are left out; each counts as much as there is."""
    found: dict[str, float] = {}
    least = 0.0
    for task in tasks:
        slow = least > budget
        try:
            found[task] = budget if slow else seconds_of(name, task, kind_of_module(name, kind), form_of(kind, task))
        except (Exception, SystemExit):  # as its training will tell, and the other tasks go on
            found[task] = 0.0
        least += found[task] * max(0, SEEDS[-1] - finished.get(task, 0))
    return found


def _training(name: str, kind: Kind, task: str, seed: int, rate: float) -> Job:
    called, form = kind_of_module(name, kind), form_of(kind, task)
    (job,) = ExaminationRecipe(name, task, rate, battery[task].steps, kind=called, form=form).jobs([seed])
    return job


def _version(run: FinishedRun) -> str:
    """What a run was computed with."""
    environment = run.record.environment
    commit = str(environment.get("commit") or "unknown")[:12] + (", changed" if environment.get("dirty") else "")
    return f"commit {commit}, torch {environment.get('packages', {}).get('torch')}"


def _row(tables: Mapping[str, Table]) -> dict[str, Any]:
    """What is known of a training: its numbers, how it came there, and what it answers."""
    (row,) = tables["trainings"].records()
    labels = {"learner", "task", "seed", "rate"}
    rest = {
        name: [{key: value for key, value in one.items() if key not in labels} for one in tables[table].records()]
        for name, table in (("curve", "curves"), ("examples", "examples"), ("others", "others"))
    }
    return {**row, **rest}


def _examination(laboratory: Laboratory, name: str, kind: Kind, plan: Plan, parameters: int) -> Profile:
    way = _Examination if parameters else _FittedExamination
    return way(laboratory, name, kind, plan).profile(parameters)


class _Examination:
    """One learner on the tasks of a plan: rates are chosen on the known items of the first seed, then all seeds."""

    def __init__(self, laboratory: Laboratory, name: str, kind: Kind, plan: Plan) -> None:
        self.laboratory, self.name, self.kind, self.plan = laboratory, name, kind, plan
        self.failed: dict[str, list[str]] = {}
        self.made_by: set[str] = set()  # versions and commits of the program

    def profile(self, parameters: int) -> Profile:
        begun = time.monotonic()
        rates, chosen, rows = self._rows()
        references = self._references()
        tasks: dict[str, TaskProfile] = {}
        for task in sorted(self.plan.tasks, key=lambda task: DIMENSIONS.index(battery[task].dimension)):
            mine = [rows[one] for one in chosen if one[0] == task and one in rows]
            tasks[task] = task_profile(task, mine, references[task], self.failed.get(task, ()))
        told = {
            "seeds": list(self.plan.seeds), "rates": {task: list(each) for task, each in rates.items()},
            "left_out": list(self.plan.left_out), "seconds": round(time.monotonic() - begun, 1),
            "made_by": sorted(self.made_by),
        }  # fmt: skip
        if self.kind == "tokens":
            return Profile(self.name, parameters, tasks, told)
        formless = [task for task in standard() if not has_form(self.kind, task)]
        named = f"{self.name} ({self.kind})"
        return Profile(named, parameters, tasks, {**told, "kind": self.kind, "formless": formless})

    def _rows(self) -> tuple[dict[str, tuple[float, ...]], list[One], dict[One, dict[str, Any]]]:
        """The rates that each task is learned with, the trainings that count, and what is known of them."""
        first = self.plan.seeds[0]
        tried = self._measured([(task, first, rate) for task in self.plan.tasks for rate in self.plan.rates])
        rates = {task: self._rates(task, tried) for task in self.plan.tasks}
        chosen = [(task, *one) for task in self.plan.tasks for one in rates_of(self.plan.seeds, rates[task]).items()]
        return rates, chosen, {**tried, **self._measured([one for one in chosen if one not in tried])}

    def _rates(self, task: str, tried: dict[One, dict[str, Any]]) -> tuple[float, ...]:
        known = {rate: row["known"] for (one, _, rate), row in tried.items() if one == task}
        return equally_good(known) if known else self.plan.rates[:1]

    def _measured(self, wanted: Sequence[One]) -> dict[One, dict[str, Any]]:
        """What is known of these trainings; those that failed are noted with the reason."""
        jobs = {one: self._job(one) for one in wanted}
        runs = self.laboratory.perform(list(jobs.values()))
        found = {}
        for one, job in jobs.items():
            run = runs[job]
            if isinstance(run, FinishedRun):
                found[one] = _row(run.tables())
                self.made_by.add(_version(run))
            else:
                self.failed.setdefault(one[0], []).append(run)
        return found

    def _job(self, one: One) -> Job:
        return ExaminationMeasurement().of(_training(self.name, self.kind, *one))

    def _references(self) -> dict[str, dict[int, dict[str, Any]]]:
        jobs = {
            (task, seed): ReferenceMeasurement(task, form=form_of(self.kind, task)).of(seeds=[seed])
            for task in self.plan.tasks for seed in self.plan.seeds
        }  # fmt: skip
        runs = self.laboratory.perform(list(jobs.values()))
        found: dict[str, dict[int, dict[str, Any]]] = {}
        for (task, seed), job in jobs.items():
            run = runs[job]
            if not isinstance(run, FinishedRun):
                raise UsageError(f"The rote learner fails on {task}: {run}")
            (row,) = run.tables()["references"].records()
            found.setdefault(task, {})[seed] = row
        return found


class _FittedExamination(_Examination):
    """A learner that is no network: it has no learning rate to be chosen."""

    def _rows(self) -> tuple[dict[str, tuple[float, ...]], list[One], dict[One, dict[str, Any]]]:
        chosen = [(task, seed, 0.0) for task in self.plan.tasks for seed in self.plan.seeds]
        return {}, chosen, self._measured(chosen)

    def _job(self, one: One) -> Job:
        task, seed, _ = one
        return FittedMeasurement(self.name, task, form=form_of(self.kind, task)).of(seeds=[seed])
