"""What the simulations of Elman 1990 have in common: how his networks are trained, and how they are measured.

He gives sizes and passes, the rest is open.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

from rote.config import UNSAID, above_zero, at_least
from rote.laboratory import Study, StudyConfig
from rote.models.settings import known_cells
from rote.recipes import Job, Measurement, Network, Recipe, Trained, recipes
from rote.recipes.recipe import Progress, Unit
from rote.store import Column, Run, Table
from rote.studies.foundations import published
from rote.studies.foundations.elman_tables import curve, over_steps, per_network
from rote.studies.foundations.sentences import spelled
from rote.tasks.elman import ElmanTask, Simulation
from rote.training import TrainingConfig

if TYPE_CHECKING:
    from rote.studies.foundations.elman_training import Prediction

Row = dict[str, Any]
PIECE = 500  # symbols between two chances to save or stop
SHORT = 30  # bits, consonants or sentences, of which a network's codes and an example can be had

OPEN = (
    "Left open by Elman 1990 and chosen here: logistic units with biases, weights uniform in [-limit, limit], squared "
    "error, a learning rate without momentum, float32. Each replica has a stream of its own seed.",
    "A pass is the mean length of a stream, the same for all seeds; a stream begins again at its own end, and the "
    "context is carried on.",
    "The article calls its errors RMS in captions and sum squared error in graphs; which, our tables say.",
)


@dataclass(frozen=True)
class Procedure:
    hidden: int = 20
    passes: float = 10.0
    learning_rate: float = 0.1
    limit: float = 0.5  # weights start uniformly in [-limit, limit]
    measure_every: float | None = None  # passes between two measurements of the loss; None: at the two ends
    dtype: Literal["float32", "float64"] = "float32"

    def __post_init__(self) -> None:
        at_least(self, 1, "hidden")
        at_least(self, 0, "limit")
        above_zero(self, "passes", "measure_every", "learning_rate")

    def symbols(self, length: int) -> int:
        """Updates in all, of streams with a mean length."""
        return max(1, round(self.passes * length))

    def config(self, length: int) -> TrainingConfig:
        """A step is a piece of the streams."""
        steps = math.ceil(self.symbols(length) / PIECE)
        every = None if self.measure_every is None else max(1, round(self.measure_every * length / PIECE))
        return TrainingConfig(
            steps=steps, batch=1, learning_rate=self.learning_rate, dtype=self.dtype, record_every=every or steps
        )


@recipes.register("elman")
@dataclass(frozen=True)
class ElmanRecipe(Recipe):
    """Networks that learn by Elman's own procedure to predict the next symbol of a stream."""

    name = "elman"
    source = published.SOURCE
    view = "sequence"
    about = "a symbol's probability is that of the bits of its code, taken as independent"
    task: ElmanTask = field(default_factory=ElmanTask)
    training: Procedure = field(default_factory=Procedure)
    cell: str = field(default="elman", metadata=UNSAID)

    @property
    def label(self) -> str:
        return self.task.simulation if self.cell == "elman" else f"{self.task.simulation}, {self.cell}"

    @property
    def together(self) -> int:  # type: ignore[override]
        return 3 if self.task.simulation == "lexicon" else 64

    @property
    def unit(self) -> Unit:  # type: ignore[override]
        return "word" if self.task.simulation == "lexicon" else "character"

    def passes_at(self, step: int) -> float:
        """How often a stream has been gone through after so many steps."""
        length = self.task.length
        return min(step * PIECE, self.training.symbols(length)) / length

    def fit(self, trained: Sequence[Trained], run: Run, progress: Progress, device: str) -> None:
        from rote.studies.foundations.elman_training import ElmanProgram
        from rote.training import train

        config = self.training.config(self.task.length)
        program = ElmanProgram(self, run.request.seeds)
        train(program, config, run, progress=progress, snapshots=config.recorded_steps())

    def closed(self) -> str:
        return ""

    def network(self, trained: Trained, weights: Mapping[str, Any], index: int) -> Network:
        from rote.models import StackedSRN
        from rote.models.logistic import as_sequence_model
        from rote.studies.foundations.elman_training import reopened

        stream = replace(self.task, size=SHORT).training(trained.seeds[index])
        networks = reopened(trained, weights)
        model = (
            as_sequence_model(networks, index, stream.codes)
            if isinstance(networks, StackedSRN)
            else networks.replica(index, stream.codes)
        )
        example = spelled(stream.names, stream.symbols.tolist(), " " if self.unit == "word" else "")
        return Network(model, inputs=stream.names, outputs=stream.names, example=example)


class SimulationMeasurement(Measurement):
    """What the networks, the same before training, and counts of symbols predict of streams that none learned from."""

    source = published.SOURCE
    orders: ClassVar[tuple[int, ...]] = (2, 3)  # of the counts
    text: ClassVar[str] = ""  # whose errors are shown symbol by symbol; empty: those of the new stream
    columns: ClassVar[Mapping[str, tuple[Column, ...]]]  # of each table

    @abstractmethod
    def rows(self, new: Prediction, shown: Prediction) -> Mapping[str, list[Row]]:
        """What is measured of one network, by table: on its new stream and on the text that is shown."""

    def measure(self, trained: Sequence[Trained], run: Run, progress: Progress, device: str) -> Sequence[Table]:
        from rote.studies.foundations.elman_training import measured

        return measured(self, trained[0])


@dataclass(frozen=True)
class SimulationConfig(StudyConfig):
    """A subclass adds how much a stream has of what is ``counted``."""

    seeds: int = 10
    training: Procedure = field(default_factory=Procedure)
    cell: str = field(default="elman", metadata=UNSAID)  # another learns by the same procedure
    counted: ClassVar[str]  # the setting that says how long a stream is
    least: ClassVar[int] = 1  # that it can be

    def __post_init__(self) -> None:
        at_least(self, 1, "seeds")
        at_least(self, self.least, self.counted)
        known_cells(self.cell)

    @property
    def size(self) -> int:
        return int(getattr(self, self.counted))


C = TypeVar("C", bound=SimulationConfig)


class SimulationStudy(Study[C]):
    """One of the simulations: its networks, their errors by place in the stream, and over training."""

    source = published.SOURCE
    simulation: ClassVar[Simulation]
    measurement: ClassVar[SimulationMeasurement]
    errors: ClassVar[tuple[str, str]]  # title of the table of errors, and the figure
    steps: ClassVar[tuple[str, str, str]]  # the same of the errors step by step, and what the steps are
    symbols: ClassVar[Sequence[str]]  # that are predicted at these steps

    def jobs(self, config: C) -> list[Job]:
        recipe = ElmanRecipe(ElmanTask(self.simulation, config.size), config.training, config.cell)
        return [self.measurement.of(job) for job in recipe.jobs(config.seed_numbers)]

    def tables(self, config: C, measured: Mapping[str, Table]) -> Sequence[Table]:
        note = f"After {config.training.passes:g} passes over {config.size} {config.counted}. {config.seeds} seeds."
        return [
            per_network(measured["seeds"], *self.errors, note),
            over_steps(measured["steps"], self.symbols, *self.steps, note),
            *self.by_place(measured, note),
            curve(measured["curve"], note),
            measured["seeds"],
        ]

    def by_place(self, measured: Mapping[str, Table], note: str) -> Sequence[Table]:
        """A further table of errors, where the article has one."""
        return ()
