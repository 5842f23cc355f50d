"""The laboratory: takes a study from its configuration to tables and verdicts, computing only what is missing."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from rote.claims import Verdict
from rote.config import flatten, to_plain
from rote.errors import (
    DamagedFileError,
    RunFailedError,
    RunFinishedError,
    RunLockedError,
    StoreError,
    UsageError,
)
from rote.store import FinishedRun, Request, Store, Table, canonical, digest, read_document, write_document
from rote.studies.cluster import Cluster
from rote.studies.ledger import judged
from rote.studies.orders import LOCKED_AGAIN, Order, Orders
from rote.studies.perform import perform, threads, told_as_failures
from rote.studies.processes import nursery
from rote.studies.progress import Display
from rote.studies.study import Study, studies
from rote.studies.supervisor import Supervisor
from rote.training.settings import checkpoint_seconds

ENGINES = "engines.json"


@dataclass(frozen=True)
class Result:
    """A finished study: its summary run and the verdicts that it gives."""

    study: Study[Any]
    summary: FinishedRun
    computed: int  # runs done now
    reused: int  # runs found finished in the store

    @cached_property
    def verdicts(self) -> tuple[Verdict, ...]:
        return tuple(judged(self.study, self.summary))


@dataclass(frozen=True)
class _Plan:
    """A study with one configuration, and the runs that it takes."""

    study: Study[Any]
    config: Any
    passed: dict[str, Any]
    summary: Request
    needed: tuple[Request, ...] = ()
    requests: tuple[Request, ...] | None = None  # None: its summary is finished

    def order(self, request: Request, device: str) -> Order:
        needs = () if request in self.needed else self.needed
        return Order(request, self.passed, studies[request.study].__module__, device, needs)


@dataclass(frozen=True)
class _Done:
    computed: set[Request]  # also those that failed
    failures: dict[Request, str]

    def __or__(self, other: _Done) -> _Done:
        return _Done(self.computed | other.computed, {**self.failures, **other.failures})


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

    def run(self, name: str, preset: str = "quick", overrides: Mapping[str, object] | None = None) -> Result:
        """Run a study to the end, or take it up where it was; what is finished in the store is not computed again."""
        (result,) = self.run_all(name, preset, [overrides or {}])
        if isinstance(result, RunFailedError):
            raise result
        return result

    def run_all(self, name: str, preset: str, trials: Sequence[Mapping[str, object]]) -> list[Result | RunFailedError]:
        """Run a study with each of these overrides. The runs of all are given out together, so that no worker waits for
        the end of a trial; a trial that fails is told by its error, and the others go on."""
        study = studies[name]()
        configs = [study.resolve(preset, trial) for trial in trials]
        self.check()
        plans = [self._plan(study, preset, *pair) for pair in zip(configs, trials, strict=True)]
        missing = [plan for plan in plans if plan.requests is not None]
        needed = {request: plan.order(request, self.device) for plan in missing for request in plan.needed}
        asked = self._perform(needed)
        going = [plan for plan in missing if not asked.failures.keys() & set(plan.needed)]
        requests = {one: plan.order(one, self.device) for plan in going for one in plan.requests or ()}
        done = asked | self._perform(requests)
        return [self._concluded(plan, done) for plan in plans]

    def _plan(self, study: Study[Any], preset: str, config: Any, overrides: Mapping[str, object]) -> _Plan:
        config, passed = self._with_engine(study, config), dict(overrides)
        summary = replace(study.request("summary", config, range(flatten(config)["seeds"])), preset=preset)  # type: ignore[call-overload]
        if self.store.finished(summary) is not None:
            return _Plan(study, config, passed, summary)
        self._warm_up()
        study.prepare(config)  # first: which runs there are may depend on the data
        needed, requests = (
            tuple(replace(request, preset=preset) for request in wanted)
            for wanted in (study.needs(config), study.requests(config))
        )
        return _Plan(study, config, passed, summary, needed, requests)

    def _concluded(self, plan: _Plan, done: _Done) -> Result | RunFailedError:
        """The summary of a trial whose runs are finished."""
        if plan.requests is None:
            earlier = FinishedRun(self.store.folder(plan.summary))
            return Result(plan.study, earlier, 0, len(earlier.record.uses))
        own = {*plan.needed, *plan.requests}
        failures = {request: reason for request, reason in done.failures.items() if request in own}
        computed = len(own & done.computed)
        if failures:
            return RunFailedError(f"{len(failures)} of {computed} runs failed. {_reasons(failures)}")
        finished = [FinishedRun(self.store.folder(request)) for request in plan.requests]
        try:
            self._write(plan.summary, plan.passed, lambda: plan.study.summarize(plan.config, finished), finished)
        except RunFailedError as error:
            return error
        summary = FinishedRun(self.store.folder(plan.summary))
        return Result(plan.study, summary, computed, len(plan.needed) + len(plan.requests) - computed)

    def _perform(self, wanted: Mapping[Request, Order]) -> _Done:
        """Compute those that are not finished."""
        missing = [request for request in wanted if self.store.finished(request) is None]
        if not missing:
            return _Done(set(), {})
        modules = {request: studies[request.study].__module__ for request in missing}
        orders = [wanted[request] for request in missing]
        each = max(studies[request.study].threads for request in missing)
        workers = max(1, self.workers // each)
        if self.cluster is not None:
            failures = self.cluster.perform(orders)
        elif workers == 1 or "__main__" in modules.values():
            failures = self._perform_here(orders)
        else:
            failures = Supervisor(self.store, workers, self.display).perform(orders)
        return _Done(set(missing), failures)

    def _perform_here(self, orders: Sequence[Order]) -> dict[Request, str]:
        failures: dict[Request, str] = {}
        waiting = Orders(orders)
        while (order := waiting.take(wait=True)) is not None:
            line = self.display.line()
            line.show(order.label)
            try:
                perform(self.store, order.request, order.passed, self.device, line.advance)
            except RunLockedError:  # another process computes it: later, and then it may be finished
                waiting.put_back(order, LOCKED_AGAIN)
                continue
            except RunFinishedError:
                pass
            except (StoreError, RunFailedError) as error:
                failures[order.request] = str(error)
            finally:
                line.remove()
            waiting.settle(order)
        return failures

    def _write(
        self,
        summary: Request,
        passed: dict[str, Any],
        summarize: Callable[[], Sequence[Table]],
        finished: Sequence[FinishedRun],
    ) -> None:
        while True:
            try:
                with told_as_failures(), self.store.open(summary, passed, again=False) as run:
                    run.note(uses=tuple(part.id for part in finished))
                    run.finish(summarize())
                return
            except RunFinishedError:  # two commands for one study share the work, and the other was faster
                return
            except RunLockedError:
                time.sleep(LOCKED_AGAIN)

    def _warm_up(self) -> None:
        if self.cluster is None and self.workers > 1:
            nursery.warm_up()

    def _with_engine(self, study: Study[Any], config: Any) -> Any:
        """``engine="auto"`` decided by timing, once per store and configuration: a resumed study must find its runs."""
        if getattr(config, "engine", None) != "auto":
            return config
        key = digest(canonical([study.name, study.version, to_plain(config)]))[:16]
        known = self._engines()
        if key not in known:
            self._warm_up()
            with told_as_failures(), threads(study.threads):  # as the runs will be computed
                times = study.engine_times(config, self.workers)
            # Another command may have decided meanwhile: both must find the same runs.
            known = {key: times.faster if times else "processes"} | self._engines()
            write_document(self.store.root / ENGINES, "rote engines", 1, known)
        return replace(config, engine=known[key])

    def _engines(self) -> dict[str, str]:
        known: dict[str, str] = {}
        if (self.store.root / ENGINES).exists():
            with contextlib.suppress(DamagedFileError):  # it is decided again
                known = read_document(self.store.root / ENGINES, "rote engines", 1)
        return known


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
