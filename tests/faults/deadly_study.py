"""The tiny study with runs that end their worker."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence

from tiny_study import Tiny

from rote.store import Request, Run, Table
from rote.studies import studies
from rote.studies.study import Progress

ALWAYS, ONCE, ASKED_ONCE = 1, 2, 3


@studies.register("deadly")
class Deadly(Tiny):
    """Seed 1 kills its worker whenever it is performed, seed 2 the first time, seed 3 gets SIGTERM the first time."""

    name = "deadly"

    def perform(self, request: Request, run: Run, progress: Progress, device: str) -> Sequence[Table]:
        def deadly(done: int, total: int) -> None:
            progress(done, total)
            (seed,), first = request.seeds, run.record.resumed == 0
            if (done >= 2 and seed == ALWAYS) or (done == 2 and seed == ONCE and first):
                os.kill(os.getpid(), signal.SIGKILL)
            if done == 2 and seed == ASKED_ONCE and first:
                os.kill(os.getpid(), signal.SIGTERM)

        return super().perform(request, run, deadly, device)


@studies.register("threaded")
class Threaded(Tiny):
    """Tells with how many threads it computes."""

    name = "threaded"
    threads = 2

    def perform(self, request: Request, run: Run, progress: Progress, device: str) -> Sequence[Table]:
        import torch

        run.note(randomness={"threads": torch.get_num_threads()})
        return super().perform(request, run, lambda done, total: None, device)
