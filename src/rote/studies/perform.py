"""Performing one run, in whatever process this is."""

from __future__ import annotations

from typing import Any

from rote.store import FinishedRun, Request, Store
from rote.studies.study import Progress, studies


def perform(store: Store, request: Request, passed: dict[str, Any], device: str, progress: Progress) -> FinishedRun:
    """Compute one run in this process, with one thread."""
    import torch

    from rote.training import choose_device

    study = studies[request.study]()
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with store.open(request, passed) as run:
            run.note(device=str(choose_device(device)))
            run.finish(study.perform(request, run, progress, run.record.device))
    finally:
        torch.set_num_threads(threads)
    return FinishedRun(store.folder(request))
