"""Performing one run, in whatever process this is."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from rote.errors import RoteError, RunFailedError
from rote.store import FinishedRun, Request, Store
from rote.studies.study import Progress, studies


def perform(store: Store, request: Request, passed: dict[str, Any], device: str, progress: Progress) -> FinishedRun:
    """Compute one run in this process, with one thread."""
    from rote.training import choose_device, fix_seeds

    study = studies[request.study]()
    with one_thread(), told_as_failures(), store.open(request, passed) as run:
        fix_seeds(request.seeds[0] if request.seeds else 0)  # before the study builds anything with random weights
        run.note(device=str(choose_device(device)))
        run.finish(study.perform(request, run, progress, run.record.device))
    return FinishedRun(store.folder(request))


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Small networks gain nothing from a second thread, and on a busy machine lose much by waiting for it."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


@contextlib.contextmanager
def told_as_failures() -> Iterator[None]:
    """A bug in a study fails its run and not the others; the run's record has the traceback."""
    try:
        yield
    except RoteError:
        raise
    except Exception as error:
        raise RunFailedError(f"{type(error).__name__}: {' '.join(str(error).split())}") from error
