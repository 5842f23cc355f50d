"""The laboratory: takes a study from its configuration to tables and verdicts, computing only what is missing."""

from __future__ import annotations

import os
import time
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from rote.claims import Verdict
from rote.errors import RoteError, RunFailedError, RunFinishedError, RunLockedError, StoreError, UsageError
from rote.laboratory.bodies import body_of
from rote.laboratory.cluster import Cluster
from rote.laboratory.fresh import fresh_overrides
from rote.laboratory.ledger import judged
from rote.laboratory.orders import LOCKED_AGAIN, Order, Orders
from rote.laboratory.perform import code_for, perform, performer, told_as_failures
from rote.laboratory.processes import starter
from rote.laboratory.progress import Display
from rote.laboratory.sent import sent
from rote.laboratory.study import Study, studies
from rote.laboratory.study_run import StudyRun, measured_of
from rote.laboratory.supervisor import Supervisor
from rote.recipes import Job
from rote.store import FinishedRun, Request, Store
from rote.training.settings import checkpoint_seconds


@dataclass(frozen=True)
class StudyResult:
    """A finished study: its run, which has its tables, and the verdicts that they give."""

    study: Study[Any]
    run: StudyRun
    computed: int  # trainings and measurements done now
    reused: int  # those found finished in the store

    left_out: list[str] = field(default_factory=list, compare=False)  # claims that could not be judged, and why

    @cached_property
    def verdicts(self) -> tuple[Verdict, ...]:
        return tuple(judged(self.study, body_of(self.study, self.run, "here", self.left_out)))


@dataclass(frozen=True)
class _Plan:
    """A study with one configuration, and the runs that it takes."""

    study: Study[Any]
    passed: dict[str, Any]
    request: Request  # of the study itself
    jobs: dict[Request, Job]  # everything that it takes, what comes first in front
    criteria: Mapping[str, str]  # of its claims, registered before, where its seeds are fresh

    def order(self, job: Job, device: str) -> Order:
        needs = tuple(need.request for need in job.needs)
        request = replace(job.request, preset=self.request.preset)
        return Order(request, self.passed, device, code_for(job), needs)


class Laboratory:
    """Runs studies on a store with worker processes: ``Laboratory(Store("store")).run("plane", "quick", {})``.

    With ``cluster``, the address of a dask scheduler, the workers are those that have joined it.
    """

    def __init__(
        self,
        store: Store,
        *,
        workers: int | None = None,
        cluster: str | None = None,
        device: str = "auto",
        display: Display | None = None,
    ) -> None:
        if workers is not None and workers < 1:
            raise UsageError(f"'workers' must be at least 1. Got {workers}.")
        self.store, self.device = store, device
        self.workers = workers or cores()
        self.display = display or Display()
        self.cluster = None if cluster is None else Cluster(store, cluster, self.display, workers)

    def check(self) -> None:
        """Device, environment, store and cluster: a UsageError now, not in the middle of the work."""
        if self.cluster is None and self.device not in ("auto", "cpu"):
            from rote.training import choose_device

            choose_device(self.device)
        checkpoint_seconds()
        if self.cluster is not None:
            self.cluster.check()
        self.store.check_writable()

    def run(
        self,
        name: str,
        preset: str = "quick",
        overrides: Mapping[str, object] | None = None,
        *,
        fresh: bool = False,
    ) -> StudyResult:
        """Run a study to the end, or take it up where it was; what is finished in the store is not computed again.

        ``fresh``: on seeds that are new to the registered criteria of its claims, so that its verdicts confirm.
        """
        (result,) = self.run_all(name, preset, [overrides or {}], fresh=fresh)
        if isinstance(result, RunFailedError):
            raise result
        return result

    def run_all(
        self, name: str, preset: str, trials: Sequence[Mapping[str, object]], *, fresh: bool = False
    ) -> list[StudyResult | RunFailedError]:
        """Run a study with each of these overrides. The runs of all are given out together, so that no worker waits for
        the end of a trial; a trial that fails is told by its error, and the others go on."""
        self._refuse_while_importing(name)
        study = studies[name]()
        criteria: Mapping[str, str] = {}
        if fresh:
            first, criteria = fresh_overrides(study)
            trials = [{**trial, **first} for trial in trials]
        configs = [study.resolve(preset, trial) for trial in trials]
        self.check()
        plans = [self._plan(study, preset, *pair, criteria) for pair in zip(configs, trials, strict=True)]
        results: dict[int, StudyResult | RunFailedError] = {}
        self._carry_out(plans, lambda number, result: results.update({number: result}))
        return [results[number] for number in range(len(plans))]

    def run_studies(
        self,
        names: Sequence[str],
        preset: str,
        told: Callable[[str, StudyResult | RoteError], None],
        *,
        fresh: bool = False,
    ) -> None:
        """Run several studies. The runs of all are given out together, in this order, so that no worker waits for the
        end of a study; ``told`` gets each result, or why there is none, as soon as it is known."""
        chosen = {name: fresh_overrides(studies[name]()) if fresh else ({}, {}) for name in names}
        configs = {name: studies[name]().resolve(preset, first) for name, (first, _) in chosen.items()}
        self.check()
        plans: dict[str, _Plan] = {}
        for name, config in configs.items():
            self._refuse_while_importing(name)
            try:
                plans[name] = self._plan(studies[name](), preset, config, *chosen[name])
            except (UsageError, StoreError) as error:  # such as data that are not on this machine
                told(name, error)
        planned = list(plans)
        self._carry_out(list(plans.values()), lambda number, result: told(planned[number], result))

    def perform(self, jobs: Sequence[Job]) -> dict[Job, FinishedRun | str]:
        """Compute these jobs and what they need, and give their finished runs, or why there is none."""
        self.check()
        everything = {one.request: one for job in jobs for one in job.all()}
        orders_of = {
            request: Order(request, {}, self.device, code_for(job), tuple(need.request for need in job.needs))
            for request, job in everything.items()
        }
        missing, damaged = self._missing(orders_of)
        if missing:
            self._warm_up()
        orders = Orders(missing, damaged)
        self._compute(orders, lambda: None)
        return {job: orders.failures.get(job.request) or FinishedRun(self.store.folder(job.request)) for job in jobs}

    def _refuse_while_importing(self, name: str) -> None:
        if sent.importing:
            raise UsageError(
                f'It runs the study {name!r} when it is imported. Put that below a line: if __name__ == "__main__":'
            )

    def _carry_out(self, plans: Sequence[_Plan], told: Callable[[int, StudyResult | RunFailedError], None]) -> None:
        """Compute what is missing of all plans; each is concluded as soon as everything that it takes is settled."""
        wanted = {one: plan.order(job, self.device) for plan in plans for one, job in plan.jobs.items()}
        missing, damaged = self._missing(wanted)
        orders = Orders(missing, damaged)
        waiting = dict(enumerate(plans))

        def conclude() -> None:
            for number, plan in list(waiting.items()):
                if orders.are_settled(plan.jobs):
                    del waiting[number]
                    told(number, self._concluded(plan, orders))

        conclude()
        self._compute(orders, conclude)
        conclude()

    def _plan(
        self,
        study: Study[Any],
        preset: str,
        config: Any,
        overrides: Mapping[str, object],
        criteria: Mapping[str, str],
    ) -> _Plan:
        jobs = study.jobs(config)
        if not all(self._is_finished(job.request) for job in jobs):
            self._warm_up()
            study.prepare(config)
            jobs = study.jobs(config)  # which there are may depend on the data
        if repeated := [job.request for job, times in Counter(jobs).items() if times > 1]:
            raise UsageError(
                f"The study {study.name!r} asks for the measurement {repeated[0].study!r} ({repeated[0].label}) more "
                "than once with these settings: its networks would count twice. Name each thing that is compared once."
            )
        everything = {one.request: one for job in jobs for one in job.all()}
        return _Plan(study, dict(overrides), study.request(config, jobs, preset), everything, criteria)

    def _is_finished(self, request: Request) -> bool:
        try:
            return self.store.finished(request) is not None
        except StoreError:  # a damaged one is told when it is to be written
            return False

    def _concluded(self, plan: _Plan, orders: Orders) -> StudyResult | RunFailedError:
        """The run of a study whose measurements are finished."""
        try:
            failures = {request: reason for request, reason in orders.failures.items() if request in plan.jobs}
            computed = len(plan.jobs.keys() & (orders.requests | failures.keys()))
            if failures:
                raise RunFailedError(f"{len(failures)} of {computed} runs failed. {_reasons(failures)}")
            # Before it is noted that the study was run: what is damaged is removed and measured again.
            measured = measured_of(plan.study, plan.request, self.store.root / "runs")
            self._write(plan)
            run = StudyRun(self.store.folder(plan.request), measured)
            with told_as_failures():
                run.tables()
            return StudyResult(plan.study, run, computed, len(plan.jobs) - computed)
        except StoreError as error:  # a damaged run is the end of its own trial only
            return RunFailedError(str(error))
        except RunFailedError as error:
            return error

    def _missing(self, wanted: Mapping[Request, Order]) -> tuple[list[Order], dict[Request, str]]:
        """Those that are not finished, and why those cannot be used whose records are damaged."""
        missing: list[Order] = []
        damaged: dict[Request, str] = {}
        needed = set(wanted) - {need for order in wanted.values() for need in order.needs}
        for request, order in reversed(list(wanted.items())):  # a training that nothing still needs may be gone
            if request in needed:
                try:
                    if self.store.finished(request) is None:
                        missing.append(order)
                        needed |= set(order.needs)
                except StoreError as error:
                    damaged[request] = str(error)
        return missing[::-1], damaged

    def _compute(self, orders: Orders, turn: Callable[[], None]) -> None:
        """Compute all; ``turn`` is called again and again meanwhile."""
        waiting = orders.waiting()
        if not waiting:
            return
        workers = max(1, self.workers // max(performer(order.request).threads for order in waiting))
        if self.cluster is not None:
            self.cluster.perform(orders, turn)
        elif workers == 1 or self._stays(waiting):
            self._perform_here(orders, turn)
        else:
            Supervisor(self.store, workers, self.display).perform(orders, turn)

    def _stays(self, orders: Sequence[Order]) -> bool:
        """Whether no other process can compute these."""
        reason = next((order.code.stays for order in orders if order.code.stays), "")
        if reason:
            told = f"One run after another, in this process, without workers: {reason}"
            self.display.say(told)
            if self.display.console is None:  # nobody looks, but this can be mended
                warnings.warn(told, stacklevel=4)
        return bool(reason)

    def _perform_here(self, orders: Orders, turn: Callable[[], None]) -> None:
        while (order := orders.take(wait=True)) is not None:
            line, failure = self.display.line(), None
            line.show(order.label)
            try:
                perform(self.store, order, self.device, line.advance)
            except RunLockedError:  # another process computes it: later, and then it may be finished
                orders.put_back(order, LOCKED_AGAIN)
                continue
            except RunFinishedError:
                pass
            except (StoreError, RunFailedError) as error:
                failure = str(error)
            finally:
                line.remove()
            orders.settle(order, failure)
            turn()

    def _write(self, plan: _Plan) -> None:
        """Note that the study was run, unless that is known; and once more for what it was not yet said to confirm."""
        request = plan.request
        while not self._is_noted(plan):
            try:
                with self.store.open(request, plan.passed, again=bool(plan.criteria)) as run:
                    run.note(uses=request.uses, criteria=dict(plan.criteria))
                    run.finish([])
            except RunFinishedError:
                return
            except RunLockedError:  # by another command for the same study
                time.sleep(LOCKED_AGAIN)

    def _is_noted(self, plan: _Plan) -> bool:
        finished = self.store.finished(plan.request)
        return finished is not None and (not plan.criteria or finished.record.criteria == plan.criteria)

    def _warm_up(self) -> None:
        if self.cluster is None and self.workers > 1:
            starter.warm_up()


def cores() -> int:
    """Those that this process may use, where the system says so."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _reasons(failures: Mapping[Request, str], shown: int = 3) -> str:
    """The commonest reasons, each once, with a run to look at."""
    by_reason: dict[str, list[Request]] = {}
    for request, reason in failures.items():
        by_reason.setdefault(reason, []).append(request)
    commonest = sorted(by_reason.items(), key=lambda item: -len(item[1]))
    parts = [f"{reason} ({_named(requests)})" for reason, requests in commonest[:shown]]
    more = f" And {len(commonest) - shown} other reasons." if len(commonest) > shown else ""
    return f"{' '.join(parts)}{more} See: rote runs list --status failed"


def _named(requests: Sequence[Request]) -> str:
    first = requests[0].id
    return f"run {first}" if len(requests) == 1 else f"{len(requests)} runs, first {first}"
