"""What fits into the time: seeds, learning rates and tasks, from a few timed updates of the user's own model.

Steps are never cut: that would make every model one that has not learned.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from rote.examination.forms import Form, Kind
from rote.examination.task import battery
from rote.laboratory.perform import threads

RATES = (0.004, 0.0015, 0.01)  # the first alone, where there is no time to choose
# What is left out first stands last.
ORDER = (
    "recall", "parity", "recombine", "lookup", "conduit", "exceptions", "nested", "count", "synonyms", "s3",
    "agreement", "scope", "memory",
)  # fmt: skip
SEEDS = (5, 3, 2)
TIMED, WARM = 6, 2  # updates
OVERHEAD = 1.5  # seconds beside the updates of a training: its start, its records, what is asked of it


@dataclass(frozen=True)
class Plan:
    tasks: tuple[str, ...]
    seeds: tuple[int, ...]
    rates: tuple[float, ...]
    seconds: float  # of one core, as it was estimated
    left_out: tuple[str, ...] = ()

    @property
    def trainings(self) -> int:
        return len(self.tasks) * (len(self.seeds) + len(self.rates) - 1)


def standard() -> list[str]:
    """The tasks of the battery, that which is left out last first; longer options are named by the user."""
    own = [name for name in battery if not getattr(battery[name], "option", False)]
    return sorted(own, key=lambda name: ORDER.index(name) if name in ORDER else len(ORDER))


def seconds_of(
    learner: str,
    task: str,
    kind: Kind = "tokens",
    form: Form = "all",
    clock: Callable[[], float] = time.perf_counter,
) -> float:
    """What one training takes on one core of this machine, with one thread as trainings have: as busy as it is, unless
    ``clock`` counts the time of this process alone."""
    import torch

    from rote.examination.training import ExaminationProgram

    program, steps = ExaminationProgram(learner, battery[task](), 0, kind=kind, form=form), battery[task].steps
    optimizer = torch.optim.AdamW(program.model.parameters(), fused=True)
    with threads(1):
        for step in range(WARM + TIMED):
            if step == WARM:
                begun = clock()
            optimizer.zero_grad()
            program.losses(step).sum().backward()
            optimizer.step()
    return OVERHEAD + steps * (clock() - begun) / TIMED


def planned(
    costs: Mapping[str, float],
    budget: float,
    seeds: int,
    first_seed: int = 0,
    *,
    finished: Mapping[str, int] | None = None,
    all_tasks: bool = False,
) -> Plan:
    """The plan that keeps most within a budget of core seconds: fewer seeds, then one rate, then fewer tasks.

    - costs: seconds of a training by task, the most important first.
    - finished: how many trainings of each task are there already.
    - all_tasks: leave none out, whatever it takes.
    """
    for one in _plans(tuple(costs), seeds, first_seed, all_tasks=all_tasks):
        each = one.trainings // len(one.tasks)
        plan = replace(
            one, seconds=sum(costs[task] * max(0, each - (finished or {}).get(task, 0)) for task in one.tasks)
        )
        if plan.seconds <= budget:
            break
    return replace(plan, left_out=tuple(task for task in costs if task not in plan.tasks))


def _plans(tasks: tuple[str, ...], seeds: int, first: int, *, all_tasks: bool) -> Iterator[Plan]:
    counts = [seeds, *(count for count in SEEDS if count < seeds)]
    for rates in (RATES, RATES[:1]):
        for count in counts if rates == RATES else counts[-1:]:
            yield Plan(tasks, tuple(range(first, first + count)), rates, 0.0)
    for kept in range(len(tasks) - 1, 0, -1) if not all_tasks else ():
        yield Plan(tasks[:kept], tuple(range(first, first + counts[-1])), RATES[:1], 0.0)


def equally_good(known: dict[float, float]) -> tuple[float, ...]:
    """The rates within .02 of the best on known items, all of which are legitimate: the seeds go round them."""
    best = max(known.values())
    return tuple(rate for rate in known if known[rate] >= best - 0.02)


def rates_of(seeds: Sequence[int], rates: Sequence[float]) -> dict[int, float]:
    """Which rate each seed has."""
    return {seed: rates[number % len(rates)] for number, seed in enumerate(seeds)}
