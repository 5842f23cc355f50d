"""Performing one run, in whatever process this is."""

from __future__ import annotations

import contextlib
import functools
import operator
from collections.abc import Iterator

from rote.config import from_plain
from rote.errors import RoteError, RunFailedError
from rote.laboratory.orders import Order
from rote.outside import Code
from rote.recipes import Job, Measurement, Recipe, Trained, measurements, recipes
from rote.recipes.job import MEASUREMENT, TRAINING, code_used
from rote.recipes.recipe import Progress
from rote.store import FinishedRun, Request, Store


def perform(store: Store, order: Order, device: str, progress: Progress) -> None:
    """Compute one run in this process, with as many threads as its recipe or measurement asks for."""
    from rote.training import choose_device, fix_seeds

    request, where = order.request, str(choose_device(device))
    thing = performer(request)
    with (
        threads(thing.threads),
        told_as_failures(),
        store.open(request, order.passed, device=where, again=False) as run,
    ):
        fix_seeds(request.seeds[0] if request.seeds else 0)  # before anything is built with random weights
        run.note(uses=request.uses)
        trained = [Trained(FinishedRun(store.folder(need))) for need in order.needs]
        if isinstance(thing, Recipe):
            thing.fit(trained, run, progress, where)
            run.finish([])
        else:
            run.finish(thing.measure(trained, run, progress, where))


def performer(request: Request) -> Recipe | Measurement:
    """The recipe or the measurement that a request asks for, with its settings."""
    if request.part == TRAINING:
        recipe: Recipe = from_plain(recipes[request.study](), request.config)
        return recipe
    assert request.part == MEASUREMENT, request.part
    measurement: Measurement = from_plain(measurements[request.study](), request.config)
    return measurement


def code_for(job: Job) -> Code:
    """What computing it uses from outside the package, also to reopen the networks of the runs that it reads."""
    used = [code_used(performer(one.request), one.request.config) for one in job.all()]
    return functools.reduce(operator.or_, used)


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
    """A bug in a study, or code that ends the program, fails its run alone; the record has the traceback."""
    try:
        yield
    except RoteError:
        raise
    except (Exception, SystemExit) as error:
        raise RunFailedError(f"{type(error).__name__}: {' '.join(str(error).split())}") from error
