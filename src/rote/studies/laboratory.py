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
from rote.studies.ledger import judged
from rote.studies.orders import LOCKED_AGAIN, Order, Orders
from rote.studies.perform import perform, threads, told_as_failures
from rote.studies.processes import nursery
from rote.studies.progress import Display
from rote.studies.study import Study, studies
from rote.studies.supervisor import Supervisor
from rote.training.settings import checkpoint_seconds


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


class Laboratory:
    """Runs studies on a store with worker processes: ``Laboratory(Store("store")).run("plane", "quick", {})``."""

    def __init__(
        self, store: Store, *, workers: int | None = None, device: str = "auto", display: Display | None = None
    ) -> None:
        if workers is not None and workers < 1:
            raise UsageError(f"'workers' must be at least 1. Got {workers}.")
        self.store, self.device = store, device
        self.workers = workers or cores()
        self.display = display or Display()

    def check(self) -> None:
        """Device, environment and store: a UsageError now, not in the middle of the work."""
        if self.device not in ("auto", "cpu"):
            from rote.training import choose_device

            choose_device(self.device)
        checkpoint_seconds()
        self.store.check_writable()

    def run(self, name: str, preset: str = "quick", overrides: Mapping[str, object] | None = None) -> Result:
        """Run a study to the end, or take it up where it was; what is finished in the store is not computed again."""
        study, passed = studies[name](), dict(overrides or {})
        config = study.resolve(preset, passed)
        self.check()
        config = self._with_engine(study, config)
        summary = replace(study.request("summary", config, range(flatten(config)["seeds"])), preset=preset)  # type: ignore[call-overload]
        done = self.store.finished(summary)
        if done is not None:
            return Result(study, done, 0, len(done.record.uses))
        self._warm_up()
        study.prepare(config)
        needed, requests = (
            [replace(request, preset=preset) for request in wanted]
            for wanted in (study.needs(config), study.requests(config))
        )
        missing = self._perform(needed, passed) + self._perform(requests, passed, needed)
        finished = [FinishedRun(self.store.folder(request)) for request in requests]
        self._write(summary, passed, lambda: study.summarize(config, finished), finished)
        reused = len(needed) + len(requests) - missing
        return Result(study, FinishedRun(self.store.folder(summary)), missing, reused)

    def _perform(self, wanted: Sequence[Request], passed: dict[str, Any], needs: Sequence[Request] = ()) -> int:
        """Compute those that are not finished; returns how many."""
        missing = [request for request in wanted if self.store.finished(request) is None]
        if not missing:
            return 0
        modules = {request: studies[request.study].__module__ for request in missing}
        orders = [Order(request, passed, modules[request], self.device, tuple(needs)) for request in missing]
        each = max(studies[request.study].threads for request in missing)
        workers = max(1, self.workers // each)
        if workers == 1 or "__main__" in modules.values():
            failures = self._perform_here(orders)
        else:
            failures = Supervisor(self.store, workers, self.display).perform(orders)
        if failures:
            raise RunFailedError(f"{len(failures)} of {len(missing)} runs failed. {_reasons(failures)}")
        return len(missing)

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
        if self.workers > 1:
            nursery.warm_up()

    def _with_engine(self, study: Study[Any], config: Any) -> Any:
        """``engine="auto"`` decided by timing, once per store and configuration: a resumed study must find its runs."""
        if getattr(config, "engine", None) != "auto":
            return config
        path, kind = self.store.root / "engines.json", "rote engines"
        known: dict[str, str] = {}
        if path.exists():
            with contextlib.suppress(DamagedFileError):  # it is decided again
                known = read_document(path, kind, 1)
        key = digest(canonical([study.name, study.version, to_plain(config)]))[:16]
        if key not in known:
            self._warm_up()
            with threads(study.threads):  # as the runs will be computed
                times = study.engine_times(config, self.workers)
            known[key] = times.faster if times else "processes"
            write_document(path, kind, 1, known)
        return replace(config, engine=known[key])


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
