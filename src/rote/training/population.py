"""Replicas of one model: stacked into one program, or one process each. Which is faster is measured."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from rote.training.program import Program
    from rote.training.settings import TrainingConfig

Engine = Literal["auto", "stacked", "processes"]
PROCESS_START = 2.5  # seconds until a new worker process has imported torch


@dataclass(frozen=True)
class EngineTimes:
    """Expected seconds for the whole population, from a few timed updates."""

    stacked: float
    processes: float

    @property
    def faster(self) -> Engine:
        return "stacked" if self.stacked <= self.processes else "processes"


def split_seeds(seeds: Sequence[int], engine: Engine) -> list[tuple[int, ...]]:
    """The seeds of each run: all in one when stacked, else a run for each."""
    return [tuple(seeds)] if engine == "stacked" else [(seed,) for seed in seeds]


def time_engines(
    make: Callable[[Sequence[int]], Program],
    config: TrainingConfig,
    seeds: Sequence[int],
    workers: int,
    updates: int = 8,
) -> EngineTimes:
    """Time ``updates`` updates of the stacked population and of one replica, and extrapolate to all steps."""
    together = _seconds_per_update(make(seeds), config, updates)
    alone = _seconds_per_update(make(seeds[:1]), config, updates)
    rounds = -(-len(seeds) // workers)
    return EngineTimes(together * config.steps, PROCESS_START + alone * config.steps * rounds)


def _seconds_per_update(program: Program, config: TrainingConfig, updates: int) -> float:
    optimizer = config.make_optimizer(program.model.parameters())

    def update(step: int) -> None:
        optimizer.zero_grad(set_to_none=True)
        program.losses(step).sum().backward()
        optimizer.step()

    update(0)  # first-time costs: allocation, the first block of data
    start = time.perf_counter()
    for step in range(updates):
        update(step)
    return (time.perf_counter() - start) / updates
