"""The tiny study with runs that end their worker."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Sequence
from dataclasses import dataclass

from tiny_study import Tiny, TinyConfig, TinyRecipe

from rote.laboratory import studies
from rote.recipes import Trained, recipes
from rote.recipes.recipe import Progress
from rote.store import Run, commit

ALWAYS, ONCE, ASKED_ONCE = 1, 2, 3


@recipes.register("deadly")
@dataclass(frozen=True)
class DeadlyRecipe(TinyRecipe):
    """Seed 1 kills its worker whenever it is trained, seed 2 the first time, seed 3 gets SIGTERM the first time."""

    name = "deadly"

    def fit(self, trained: Sequence[Trained], run: Run, progress: Progress, device: str) -> None:
        def deadly(done: int, total: int) -> None:
            progress(done, total)
            (seed,), first = run.request.seeds, run.record.resumed == 0
            if (done >= 2 and seed == ALWAYS) or (done == 2 and seed == ONCE and first):
                os.kill(os.getpid(), signal.SIGKILL)
            if done == 2 and seed == ASKED_ONCE and first:
                os.kill(os.getpid(), signal.SIGTERM)

        super().fit(trained, run, deadly, device)


@studies.register("deadly")
class Deadly(Tiny):
    """The tiny study with trainings that end their worker."""

    name = "deadly"

    def recipe(self, config: TinyConfig) -> TinyRecipe:
        return DeadlyRecipe(config.steps, config.keep, config.work, config.pause)


@recipes.register("lasting")
@dataclass(frozen=True)
class LastingRecipe(DeadlyRecipe):
    """Seed 0 is not durable, the first time, before the run after it, seed 2 for example, has killed their worker."""

    name = "lasting"

    def fit(self, trained: Sequence[Trained], run: Run, progress: Progress, device: str) -> None:
        if run.request.seeds == (0,) and run.record.resumed == 0:
            commit.sync_file_system = lambda root: threading.Event().wait()  # for ever, of this process
        super().fit(trained, run, progress, device)


@recipes.register("threaded")
@dataclass(frozen=True)
class ThreadedRecipe(TinyRecipe):
    """Tells with how many threads it computes."""

    name = "threaded"
    threads = 2

    def fit(self, trained: Sequence[Trained], run: Run, progress: Progress, device: str) -> None:
        import torch

        run.note(randomness={"threads": torch.get_num_threads()})
        super().fit(trained, run, lambda done, total: None, device)


@studies.register("threaded")
class Threaded(Tiny):
    """The tiny study with two threads for each training."""

    name = "threaded"

    def recipe(self, config: TinyConfig) -> TinyRecipe:
        return ThreadedRecipe(config.steps)
