"""The laboratory: takes a study from its configuration to tables and verdicts, computing only what is missing."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from rote.claims import Verdict
from rote.config import flatten, to_plain
from rote.errors import DamagedFileError, RunFailedError, StoreError, UsageError
from rote.store import FinishedRun, Request, Store, canonical, digest, read_document, write_document
from rote.studies.ledger import judged
from rote.studies.perform import one_thread, perform, told_as_failures
from rote.studies.progress import Display
from rote.studies.study import Study, studies
from rote.studies.supervisor import Order, Supervisor
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
        study.prepare(config)
        needed, requests = (
            [replace(request, preset=preset) for request in wanted]
            for wanted in (study.needs(config), study.requests(config))
        )
        missing = 0
        for wanted in (needed, requests):
            unfinished = [request for request in wanted if self.store.finished(request) is None]
            self._perform(unfinished, passed)
            missing += len(unfinished)
        finished = [FinishedRun(self.store.folder(request)) for request in requests]
        with told_as_failures(), self.store.open(summary, passed) as run:
            run.note(uses=tuple(part.id for part in finished))
            run.finish(study.summarize(config, finished))
        reused = len(needed) + len(requests) - missing
        return Result(study, FinishedRun(self.store.folder(summary)), missing, reused)

    def _perform(self, missing: Sequence[Request], passed: dict[str, Any]) -> None:
        if not missing:
            return
        modules = {request: studies[request.study].__module__ for request in missing}
        if min(self.workers, len(missing)) == 1 or "__main__" in modules.values():
            failures = self._perform_here(missing, passed)
        else:
            orders = [Order(request, passed, modules[request], self.device) for request in missing]
            failures = Supervisor(self.store, self.workers, self.display).perform(orders)
        if failures:
            raise RunFailedError(f"{len(failures)} of {len(missing)} runs failed. {_reasons(failures)}")

    def _perform_here(self, missing: Sequence[Request], passed: dict[str, Any]) -> dict[Request, str]:
        failures: dict[Request, str] = {}
        for request in missing:
            advance = self.display.track(f"{request.study} {request.part}")
            try:
                perform(self.store, request, passed, self.device, advance)
            except (StoreError, RunFailedError) as error:
                failures[request] = str(error)
        return failures

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
            with one_thread():  # as the runs will be computed
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
