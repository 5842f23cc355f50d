"""A measurement: from trained networks and settings of its own to tables.

    @measurements.register("plane-boundary")
    @dataclass(frozen=True)
    class BoundaryMeasurement(Measurement):
        '''Where the networks draw their boundary.'''

        name = "plane-boundary"
        grid: int = 41

        def measure(self, trained, run, progress, device): ...

It is a run of its own, found by its settings, its version and the trainings that it looked at: another setting, or a
corrected measure, never costs a training.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from rote.claims import Source
from rote.recipes.job import MEASUREMENT, Job, job_of
from rote.recipes.recipe import Progress
from rote.recipes.trained import Trained
from rote.registry import Registry
from rote.store import Run, Table


class Measurement(ABC):
    """Subclass it as a frozen dataclass whose fields have defaults, and enter it with ``@measurements.register``."""

    name: ClassVar[str]
    version: ClassVar[int] = 1  # raised when the same networks give other tables
    source: ClassVar[Source | None] = None
    threads: ClassVar[int] = 1

    @property
    def label(self) -> str:
        """What tells this measurement from others of its name, in a few words."""
        return ""

    def of(self, *trainings: Job, seeds: Sequence[int] | None = None) -> Job:
        """The job that measures these trainings. ``seeds`` are theirs unless they are given, as for a measurement that
        looks at no network."""
        if seeds is None:
            seeds = sorted({seed for training in trainings for seed in training.request.seeds})
        label = self.label or " and ".join(dict.fromkeys(filter(None, (job.request.label for job in trainings))))
        return job_of(self, MEASUREMENT, seeds, trainings, label)

    @abstractmethod
    def measure(self, trained: Sequence[Trained], run: Run, progress: Progress, device: str) -> Sequence[Table]:
        """The tables of these trainings. ``run`` takes notes such as the hashes of data."""


measurements: Registry[type[Measurement]] = Registry("measurement", "rote.studies", "measurements", "rote.examination")
