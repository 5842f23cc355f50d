"""Autocomplete models of three recurrent units: source 003, its appendix and all of its figures.

The source trained one network of each, with Adam on mini-batches of 64 observations of 200 characters of text8, two
passes. Here a training is one network, so that workers and machines can share them and more seeds are added to those
that are there; small networks of several seeds train together, which takes little more than half of the time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from rote.config import UNSAID, at_least
from rote.errors import SettingError
from rote.laboratory.study import CELLS_DECIDE, FILLED_IN, Study, StudyConfig, studies
from rote.models import AutocompleteConfig, SoftmaxConfig
from rote.models.settings import known_cells
from rote.recipes import Job, Measurement, Network, Recipe, Trained, measurements, recipes
from rote.recipes.recipe import Progress
from rote.store import Run, Table
from rote.studies.memorization import published
from rote.studies.memorization.autocomplete_claims import CLAIMS
from rote.studies.memorization.autocomplete_tables import all_tables
from rote.tasks.autocomplete import AutocompleteTask
from rote.tasks.text_files import available
from rote.training import TrainingConfig

AUTO = "auto"  # as the text of the task: text8 where it is on this machine, else the one that comes with the package
SMALL = 64  # units, up to which networks train faster as one program than one after another
PREFIX = 10_000_000  # characters of text8 that the text "auto" takes


def training() -> TrainingConfig:
    """As published."""
    return TrainingConfig(
        steps=published.STEPS, batch=published.BATCH, optimizer="adam", learning_rate=0.001, record_every=10
    )


@recipes.register("autocomplete")
@dataclass(frozen=True)
class AutocompleteRecipe(Recipe):
    """A network that reads a text character by character and names, at each, the word that is being typed."""

    name = "autocomplete"
    source = published.SOURCE
    view = "autocomplete"
    unit = "character"
    measured_inside = "The loss of a mini-batch before its update is known only then, and a curve has 1400 records."
    task: AutocompleteTask = field(default_factory=AutocompleteTask)
    model: AutocompleteConfig = field(default_factory=AutocompleteConfig)
    training: TrainingConfig = field(default_factory=training)
    softmax: SoftmaxConfig = field(default_factory=SoftmaxConfig)

    @property
    def together(self) -> int:  # type: ignore[override]
        return 6 if self.model.units <= SMALL else 1

    @property
    def label(self) -> str:
        return self.model.cell

    def snapshots(self) -> set[int]:
        """Before training and at a few steps on the way, closer at its beginning: to see how the network changed."""
        steps = self.training.steps
        return {0, *(steps // 5**power for power in range(1, 4) if steps // 5**power)}

    def fit(self, trained: Sequence[Trained], run: Run, progress: Progress, device: str) -> None:
        from rote.studies.memorization.autocomplete_training import AutocompleteProgram, noted
        from rote.training import train

        noted(self.task, run)
        seeds = run.request.seeds
        program = AutocompleteProgram(self.task, self.model, self.training, seeds, device, softmax=self.softmax)
        train(program, self.training, run, progress=progress, snapshots=self.snapshots())

    def closed(self) -> str:
        return ""

    def network(self, trained: Trained, weights: Mapping[str, Any], index: int) -> Network:
        from rote.models import AutocompleteModel
        from rote.models.fitting import fitted
        from rote.models.stacked_autocomplete import StackedAutocomplete
        from rote.tasks.alphabet import CHARACTERS

        model, words, origin = self.model, self.task.observations().vocabulary, trained.run.folder
        seed, dtype = trained.seeds[index], self.training.torch_dtype()
        sizes = (model.matrices * model.units**2, len(words) * model.units)
        if len(trained.seeds) == 1:
            network = fitted(lambda: AutocompleteModel(model, words, seed, dtype), weights, origin, *sizes)
        else:
            one = {name: weight[index : index + 1] for name, weight in weights.items()}
            network = fitted(lambda: StackedAutocomplete(model, words, (seed,), dtype), one, origin, *sizes).replica(0)
        return Network(network.eval(), inputs=tuple(CHARACTERS), outputs=tuple(words))


@measurements.register("autocomplete")
@dataclass(frozen=True)
class AutocompleteMeasurement(Measurement):
    """A network on the test text, and what it draws on: connectivity and suggestions, before and after training."""

    name = "autocomplete"
    source = published.SOURCE
    tested: int | None = None  # observations of the test text; None: all
    looked_at: int = 16  # of these, how many connectivity is computed for, beside the source's paragraph

    def measure(self, trained: Sequence[Trained], run: Run, progress: Progress, device: str) -> Sequence[Table]:
        from rote.studies.memorization.autocomplete_training import tested

        return tested(self, trained[0], run, progress, device)


@measurements.register("autocomplete-untrained")
@dataclass(frozen=True)
class UntrainedMeasurement(Measurement):
    """How far back a network draws before any training, at the source's size unless said otherwise."""

    name = "autocomplete-untrained"
    source = published.SOURCE
    model: AutocompleteConfig = field(default_factory=AutocompleteConfig)
    words: int = published.WORDS
    characters: int = 100  # of the paragraph, from its beginning

    @property
    def label(self) -> str:
        return self.model.cell

    def measure(self, trained: Sequence[Trained], run: Run, progress: Progress, device: str) -> Sequence[Table]:
        from rote.studies.memorization.autocomplete_training import untrained

        return untrained(self, run.request.seeds[0], device)


@measurements.register("autocomplete-text")
@dataclass(frozen=True)
class TextMeasurement(Measurement):
    """What text it is, and how far counting gets: no network."""

    name = "autocomplete-text"
    source = published.SOURCE
    task: AutocompleteTask = field(default_factory=AutocompleteTask)
    tested: int | None = None

    def measure(self, trained: Sequence[Trained], run: Run, progress: Progress, device: str) -> Sequence[Table]:
        from rote.studies.memorization.autocomplete_training import counted

        return counted(self, run)


def _model(cell: str, units: int, layers: int, nested_layers: int, depth: int) -> AutocompleteConfig:
    """Of one cell: depth is the Nested LSTM's, whose layers are counted apart."""
    made = AutocompleteConfig(cell, units, layers)
    return replace(made, layers=nested_layers, depth=depth) if cell == "nested_lstm" else made


@dataclass(frozen=True)
class InitialConfig:
    """Networks that are looked at before any training."""

    units: int = published.UNITS
    layers: int = 2  # of GRU and LSTM; the Nested LSTM has one
    depth: int = field(default=2, metadata=UNSAID)  # of the Nested LSTM
    words: int = published.WORDS
    seeds: int = 6
    characters: int = 100

    def __post_init__(self) -> None:
        at_least(self, 1, "units", "layers", "depth", "words", "seeds")
        if not 60 <= self.characters <= len(published.PARAGRAPH):
            raise SettingError(
                "characters",
                f"must lie in 60 to {len(published.PARAGRAPH)}, the paragraph's length. Got {self.characters}.",
            )

    def measurement(self, cell: str) -> UntrainedMeasurement:
        return UntrainedMeasurement(_model(cell, self.units, self.layers, 1, self.depth), self.words, self.characters)


@dataclass(frozen=True)
class MemorizationConfig(StudyConfig):
    seeds: int = 1  # as published; with one network of each nothing is decided
    task: AutocompleteTask = field(default_factory=AutocompleteTask)
    model: AutocompleteConfig = field(default_factory=AutocompleteConfig)  # its cell: see ``cells``
    training: TrainingConfig = field(default_factory=training)
    softmax: SoftmaxConfig = field(default_factory=SoftmaxConfig)
    cells: tuple[str, ...] = tuple(published.CELLS)
    nested_layers: int = 1  # of the Nested LSTM, where the others have model.layers
    tested: int | None = None
    looked_at: int = 16
    initial: InitialConfig = field(default_factory=InitialConfig)

    def __post_init__(self) -> None:
        at_least(self, 1, "seeds", "nested_layers", "tested", "looked_at")
        if not self.cells:
            raise SettingError("cells", f"must name at least one cell, such as {', '.join(published.CELLS)}.")
        known_cells(*self.cells)

    def unused(self) -> dict[str, str]:
        others, nested = set(self.cells) - {"nested_lstm"}, "nested_lstm" in self.cells
        absent = "there is no nested_lstm among 'cells'."
        unused = {} if nested else dict.fromkeys(("nested_layers", "model.depth", "initial.depth"), absent)
        only = "the Nested LSTM has 'nested_layers', before training one, and there is no other among 'cells'."
        return unused | ({} if others else dict.fromkeys(("model.layers", "initial.layers"), only))

    def recipe(self, cell: str) -> AutocompleteRecipe:
        own = self.model
        model = _model(cell, own.units, own.layers, self.nested_layers, own.depth)
        return AutocompleteRecipe(self.task, model, self.training, self.softmax)


SMOKE: Mapping[str, object] = {
    "task.text": "bundled", "task.characters": 40_000, "task.words": 400, "task.length": 100, "model.units": 16,
    "model.layers": 1, "training.steps": 12, "training.batch": 16, "training.record_every": 4, "tested": 8,
    "looked_at": 2, "initial.units": 24, "initial.layers": 1, "initial.words": 100, "initial.seeds": 2,
    "initial.characters": 60, "seeds": 2,
}  # fmt: skip
QUICK: Mapping[str, object] = {
    "task.text": AUTO, "task.words": 2000, "task.length": 50, "model.units": 64,
    "softmax.kind": "sampled", "softmax.samples": 256, "training.steps": 1000, "training.batch": 16,
    "training.learning_rate": 0.01, "training.schedule": "exponential", "training.decay": 0.2,
    "training.decay_every": 1000, "training.clip": 1.0, "training.record_every": 50, "tested": 640, "looked_at": 24,
    "initial.characters": 80, "seeds": 6,
}  # fmt: skip
SCALED: Mapping[str, object] = {
    "task.characters": PREFIX, "task.words": 5000, "model.units": 256, "softmax.kind": "sampled",
    "softmax.samples": 1024, "training.steps": 2854, "training.batch": 32, "training.learning_rate": 0.005,
    "training.schedule": "exponential", "training.decay": 0.1, "training.decay_every": 2854, "training.clip": 1.0,
    "training.record_every": 20, "seeds": 5,
}  # fmt: skip


@studies.register("autocomplete")
class AutocompleteStudy(Study[MemorizationConfig]):
    """Which recurrent units use the words before, and which only the letters of the word that they complete?"""

    name = "autocomplete"
    source = published.SOURCE
    data = ("text8",)
    place = "All figures, appendix"
    title = "Autocomplete with GRU, LSTM and Nested LSTM"
    about = (
        "A network reads a text character by character and names, at each, the word that is being typed. How far its "
        "answer depends on each earlier character (connectivity), and how often it is right with so many letters "
        "known, shows whether it uses the words before or only the letters of the word. Cost of the preset paper: "
        "70 to 80 hours of one core for each of the three networks (14 278 mini-batches of 64 x 200 characters, 16 384 "
        "words; at 60 GFLOP/s), and 1.5 GB of memory; with one network of each nothing is "
        "decided, --seeds 6 is six times that. "
        "In hours instead: the preset scaled, with layers of 256 units, 5000 words, 10 million characters and five "
        "seeds, takes 7.5 hours of one core in all (0.56 s of CPU an update of the GRU, 0.65 of the LSTM, 0.63 of the "
        "Nested LSTM; 2854 updates), half of that with two."
    )
    deviations = (
        "The text is the first 10 million characters of text8 where they are on this machine (in $ROTE_DATA or the "
        "cache), else three works that come with the package (task.text chooses). Every table says which.",
        "Epochs are shuffled as a whole, the source's through a window of 10 000; Adam's epsilon is torch's.",
        "The source's defects are measured beside the corrected numbers: padding and unknown words in the accuracy "
        "graph, training and validation mixed in the loss curves, squared norm for the formula's norm.",
        "At every scale but smoke GRU and LSTM have two layers where the Nested LSTM has one of depth 2, as published: "
        "the LSTM's and the Nested LSTM's recurrent parameters are equally many (table configurations). In results "
        "that were kept with model.layers=1, GRU and LSTM have half of them.",
        "quick: 64 units, 2000 words, observations of 50 characters, 1000 mini-batches of 16 with a falling learning "
        "rate and clipped gradients, learning from 256 sampled words instead of all (tested exactly, on 640 "
        "observations): seconds of training where the source had hours. Two layers leave the plateau of frequencies "
        "late, and long observations would leave too few updates for that. Its text is what this machine has, see "
        "above. The word 'grammar' is not in that vocabulary, and of the bundled text neither are 'learning' and "
        "'schools'.",
        "scaled: 256 units, 5000 words of the first 10 million characters, two passes in mini-batches of 32, a falling "
        "learning rate, clipped gradients, 1024 sampled words instead of all (tested exactly), five seeds.",
        "smoke: one layer of each cell, so that the Nested LSTM has twice the LSTM's recurrent parameters; it only "
        "shows that everything runs.",
    )
    presets: ClassVar[Mapping[str, Mapping[str, object]]] = {
        "smoke": SMOKE, "quick": QUICK, "scaled": SCALED, "paper": {}
    }  # fmt: skip
    fixed: ClassVar[Mapping[str, str]] = {**CELLS_DECIDE, **FILLED_IN}
    # Which text there is depends on the machine: ``stands_in`` tells. The other networks are only looked at.
    optional = ("task.text", "task.characters", "initial.seeds")
    default = MemorizationConfig()
    claims = CLAIMS

    def stands_in(self, config: Mapping[str, Any]) -> bool:
        return bool(config["task"]["text"] != "text8")

    def completed(self, config: MemorizationConfig, overrides: Mapping[str, object]) -> MemorizationConfig:
        if config.task.text != AUTO:
            return replace(config, task=config.task.resolved())
        wanted = PREFIX if config.task.characters is None else config.task.characters
        if available(wanted):
            return replace(config, task=replace(config.task, text="text8", characters=wanted))
        return replace(config, task=replace(config.task, text="bundled"))

    def prepare(self, config: MemorizationConfig) -> None:
        config.task.observations()

    def jobs(self, config: MemorizationConfig) -> list[Job]:
        """Those of the slowest networks first."""
        tested = AutocompleteMeasurement(config.tested, config.looked_at)
        by_cell = [config.recipe(cell).jobs(config.seed_numbers) for cell in reversed(config.cells)]
        trained = [tested.of(training) for trainings in zip(*by_cell, strict=True) for training in trainings]
        untrained = [
            config.initial.measurement(cell).of(seeds=(seed,))
            for seed in replace(config, seeds=config.initial.seeds).seed_numbers for cell in config.cells
        ]  # fmt: skip
        return [*trained, *untrained, TextMeasurement(config.task, config.tested).of(seeds=())]

    def tables(self, config: MemorizationConfig, measured: Mapping[str, Table]) -> Sequence[Table]:
        depths = {"trained": config.model.depth, "untrained only": config.initial.depth}
        return all_tables(measured, [published.title_of(cell) for cell in config.cells], depths)
