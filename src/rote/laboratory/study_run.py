"""A study that has been run: its settings and the measurements that it is made of. Its tables are made from these."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rote.errors import StoreError
from rote.laboratory.aggregate import collected
from rote.laboratory.study import Study, studies
from rote.store import FinishedRun, Request, Table


class StudyRun(FinishedRun):
    """A finished study of a store. Its tables are made once, when they are first asked for."""

    def __init__(self, folder: Path, measured: Mapping[str, Table] | None = None) -> None:
        """``measured``: what ``measured_of`` gives, where it was read already."""
        super().__init__(folder)
        self._measured = measured
        self._tables: dict[str, Table] | None = None

    def tables(self) -> dict[str, Table]:
        """By name, from what was measured."""
        if self._tables is None:
            self._tables = _tables(self, self._measured)
            self._measured = None
        return self._tables


def tables_of(run: FinishedRun) -> dict[str, Table]:
    """The tables of a study's run, for ``FinishedRun.tables``."""
    return _tables(run, None)


def _tables(run: FinishedRun, measured: Mapping[str, Table] | None) -> dict[str, Table]:
    request = run.record.request
    study = studies[request.study]()
    measured = measured_of(study, request, run.folder.parents[1]) if measured is None else measured
    return {table.name: table for table in study.tables(study.config_of(request), measured)}


def measured_of(study: Study[Any], request: Request, runs: Path) -> dict[str, Table]:
    """The tables of a study's measurements, joined by name, from the folder of all runs."""
    jobs = study.jobs(study.config_of(request))
    if request.uses != tuple(job.request.id for job in jobs):
        raise StoreError(
            f"The run {request.id} of {request.study} is made of measurements of another version. Run the study again."
        )
    return collected([FinishedRun(runs / job.request.study / job.request.id) for job in jobs])
