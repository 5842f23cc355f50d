"""A recipe: exactly what determines the weights of trained networks, and how to train and reopen them.

    @recipes.register("plane")
    @dataclass(frozen=True)
    class PlaneRecipe(Recipe):
        '''Networks that classify points of the plane.'''

        name = "plane"
        task: PlaneTask = PlaneTask()
        model: MLPConfig = MLPConfig()
        training: TrainingConfig = TrainingConfig()

        def fit(self, trained, run, progress, device): ...

The identity of a training run is the recipe's plain form, its version and the seeds. What is measured later, and how it
is executed, is no part of it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from rote.claims import Source
from rote.errors import UsageError
from rote.recipes.job import TRAINING, Job, job_of
from rote.registry import Registry
from rote.store import Run

if TYPE_CHECKING:
    from rote.recipes.network import Described, Label, Network
    from rote.recipes.trained import Trained

Progress = Callable[[int, int], None]  # steps done, steps in all
View = Literal["sequence", "autocomplete", "lookup", ""]
Unit = Literal["character", "word"]


class Recipe(ABC):
    """Subclass it as a frozen dataclass whose fields have defaults, and enter it with ``@recipes.register("name")``."""

    name: ClassVar[str]
    version: ClassVar[int] = 1  # raised when the same settings give other weights
    source: ClassVar[Source | None] = None
    threads: ClassVar[int] = 1  # that one training computes with
    together: ClassVar[int] = 1  # seeds that are trained as one program
    measured_inside: ClassVar[str] = ""  # why more than the loss is measured in the training loop, where it is
    keeps_none: ClassVar[str] = ""  # why no weights stay, where ``fit`` measures all that is asked of them
    view: ClassVar[View] = ""  # of the explorer, that opens the networks
    unit: ClassVar[Unit] = "word"  # what one step reads
    about: ClassVar[str] = ""  # how to read what the networks say
    reopens_on_the_way: ClassVar[bool] = True  # whether earlier snapshots are of the network that was kept

    @property
    def label(self) -> str:
        """What tells this recipe from others of its name, in a few words."""
        return ""

    @property
    def cell(self) -> str:
        """The recurrent unit, where there is one."""
        model = getattr(self, "model", None)
        return str(getattr(model, "cell", ""))

    def needs(self, seeds: Sequence[int]) -> Sequence[Job]:
        """Trainings that these start from."""
        return ()

    def jobs(self, seeds: Sequence[int]) -> list[Job]:
        """The trainings of these seeds, as many at a time as are trained together."""
        groups = [seeds[first : first + self.together] for first in range(0, len(seeds), self.together)]
        return [job_of(self, TRAINING, group, self.needs(group), self.label) for group in groups]

    @abstractmethod
    def fit(self, trained: Sequence[Trained], run: Run, progress: Progress, device: str) -> None:
        """Train the networks of ``run.request.seeds``, from the run's last checkpoint where there is one. ``trained``
        are those that it ``needs``."""

    def closed(self) -> str:
        """Why its networks are no models of symbols, and what to do instead; empty where they are."""
        return "How to open its networks is not known here."

    def output_size(self) -> int | None:
        """The number of its outputs, where that is known without the weights."""
        return None

    def members(self, seeds: Sequence[int]) -> list[Mapping[str, Label]]:
        """What tells the networks of a training from each other, in their order; known without the weights."""
        return [{"seed": seed} for seed in seeds]

    def network(self, trained: Trained, weights: Mapping[str, Any], index: int) -> Network:
        """One of the networks with these weights, which are those of all."""
        raise UsageError(f"The recipe {self.name!r} does not say how its networks are opened: define network().")

    def described(self, trained: Trained, index: int) -> list[Described]:
        """Of a network that reads pictures: some of its test, and what it says of them."""
        raise UsageError(f"Networks of the recipe {self.name!r} describe no pictures.")

    @property
    def describes(self) -> bool:
        return type(self).described is not Recipe.described


recipes: Registry[type[Recipe]] = Registry("recipe", "rote.studies", "recipes", "rote.examination")
