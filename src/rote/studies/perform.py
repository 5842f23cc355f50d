"""Performing one run, in whatever process this is."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from rote.errors import RoteError, RunFailedError
from rote.store import Request, Store
from rote.studies.study import Progress, studies


def perform(store: Store, request: Request, passed: dict[str, Any], device: str, progress: Progress) -> None:
    """Compute one run in this process, with as many threads as its study asks for."""
    from rote.training import choose_device, fix_seeds

    study, where = studies[request.study](), str(choose_device(device))
    with threads(study.threads), told_as_failures(), store.open(request, passed, device=where, again=False) as run:
        fix_seeds(request.seeds[0] if request.seeds else 0)  # before the study builds anything with random weights
        run.finish(study.perform(request, run, progress, where))


@contextlib.contextmanager
def threads(count: int) -> Iterator[None]:
    """Of torch. Small networks gain nothing from a second one, and on a busy machine lose much by waiting for it."""
    import torch

    earlier = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(earlier)


@contextlib.contextmanager
def told_as_failures() -> Iterator[None]:
    """A bug in a study fails its run and not the others; the run's record has the traceback."""
    try:
        yield
    except RoteError:
        raise
    except Exception as error:
        raise RunFailedError(f"{type(error).__name__}: {' '.join(str(error).split())}") from error
