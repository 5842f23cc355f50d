"""The studies of text are one script: baselines by counting, a network for each variant and seed, and tables.

A variant is a set of keys that it changes; ``own`` changes none. With a file of one's own to train on, ``own`` is what
is trained unless variants are named.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

from rote.claims import Tables
from rote.config import at_least, resolve
from rote.errors import UnknownNameError, UsageError
from rote.laboratory import Study, StudyConfig
from rote.laboratory.study import EPOCHS_DECIDE, FILLED_IN
from rote.models import TextModelConfig
from rote.recipes import Job, Measurement, Network, Recipe, Trained, measurements
from rote.recipes.recipe import Progress
from rote.store import Run, Table
from rote.studies.foundations import published
from rote.studies.foundations.text_tables import all_tables, baseline_table
from rote.tasks.text_tasks import ClassificationTask, Kind, TextTask
from rote.training import EpochTraining

if TYPE_CHECKING:
    from rote.recipes.network import Label

Architecture = Literal["recurrent", "average", "window"]
OWN = "own"
LAST_ARE_GONE = "The weights with the lowest loss on dev are kept; the tables show the last ones beside them."
DEVIATIONS = (
    "The lecture names these uses and gives no data, sizes or numbers: all settings are ours. Adam, gradients "
    "clipped to 5, sentences of similar length in a batch, embeddings uniform in [-0.1, 0.1], cells and readout as "
    "torch initializes them. Weights are those with the lowest loss on dev; test is looked at once, with these.",
    "Data: files that are named; else a corpus in $ROTE_DATA; else generated reviews. Every table says which.",
)
FIXED = {
    **EPOCHS_DECIDE,
    **FILLED_IN,
    "training.select": "the weights with the lowest loss on dev are kept.",
}
# Keys that a network has no use for.
NO_USE: dict[Architecture, tuple[str, ...]] = {
    "recurrent": ("window",),
    "average": ("window", "packed", "model.cell", "model.bidirectional", "model.layer_dropout"),
    "window": (
        "packed", "model.cell", "model.bidirectional", "model.layers", "model.layer_dropout", "model.word_dropout",
    ),
}  # fmt: skip
NETWORKS: dict[Kind, tuple[Architecture, ...]] = {
    "classification": ("recurrent", "average"),
    "tagging": ("recurrent", "window"),
    "language-modeling": ("recurrent", "window"),
}


@dataclass(frozen=True)
class TextTraining(EpochTraining):
    """Passes over shuffled sentences. The weights that are kept are those with the lowest loss on dev."""

    optimizer: Literal["sgd", "adam", "adamw", "adagrad"] = "adam"
    learning_rate: float = 0.003
    clip: float | None = 5.0
    select: Literal["last", "best"] = "best"
    epochs: float = 4.0
    measure_every: float = 0.5
    l2: float = 0.0  # times the sum of all squared parameters is added to the loss; weight_decay = 2 l2 is the same

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(self, 0, "l2")


@dataclass(frozen=True)
class TextRecipe(Recipe):
    """A network on text, with the weights that have the lowest loss on dev. A subclass for each kind of task."""

    kind: ClassVar[Kind]
    source = published.SOURCE
    measured_inside = LAST_ARE_GONE
    view = "sequence"
    reopens_on_the_way = False
    task: TextTask = field(default_factory=ClassificationTask)
    model: TextModelConfig = field(default_factory=TextModelConfig)
    training: TextTraining = field(default_factory=TextTraining)
    architecture: Architecture = "recurrent"
    window: int = 0  # words that a feed-forward language model sees; the others have no window
    packed: bool = True

    def __post_init__(self) -> None:
        """What cannot be trained is refused before anything is."""
        if self.architecture not in NETWORKS[self.kind]:
            known = " or ".join(NETWORKS[self.kind])
            raise UsageError(f"'network' must be {known} for {self.kind}. Got {self.architecture!r}.")
        if not self.packed and (self.kind == "classification" or self.architecture != "recurrent"):
            raise UsageError(
                "'packed' can be false for recurrent taggers and language models only. What an unpacked classifier "
                "learns is shown by the study padding."
            )
        if self.kind == "language-modeling" and self.architecture == "recurrent" and self.model.bidirectional:
            raise UsageError(
                "A language model that reads both ways sees what it is to predict. Set model.bidirectional=false."
            )

    @property
    def cell(self) -> str:
        return self.model.cell if self.architecture == "recurrent" else ""

    @property
    def label(self) -> str:
        model, training = self.model, self.training
        recurrent = self.architecture == "recurrent"
        told = {
            self.cell or self.architecture: True,
            "both directions": recurrent and model.bidirectional,
            f"{model.layers} layers": recurrent and model.layers > 1,
            "unpacked": not self.packed,
            f"word dropout {model.word_dropout:g}": model.word_dropout,
            f"L2 {training.l2:g}": training.l2,
            f"epochs {training.epochs:g}": True,
        }
        return ", ".join(words for words, holds in told.items() if holds)

    def members(self, seeds: Sequence[int]) -> list[Mapping[str, Label]]:
        return [{"seed": seed, "setting": self.label} for seed in seeds]

    def allowed(self) -> int | None:
        """How many parameters a network may have, where that decides the size of its hidden layer."""
        return None

    def fit(self, trained: Sequence[Trained], run: Run, progress: Progress, device: str) -> None:
        from rote.studies.foundations.text_training import TextProgram
        from rote.training import train

        corpus, (seed,) = self.task.load(), run.request.seeds
        run.note(data=corpus.sha256)
        examples = len(corpus.train)
        program = TextProgram(self, corpus, seed, device)
        at = self.training.measured(examples)
        train(program, self.training.over(examples), run, progress=progress, record_at=at)

    def closed(self) -> str:
        if self.architecture != "recurrent":
            return (
                f"A network of the kind {self.architecture!r} does not read step by step. Open one of a recurrent part."
            )
        if self.kind == "classification" and self.model.bidirectional:
            return (
                "A classifier that reads both ways says nothing before the end. Open one that reads forward, as 'lstm'."
            )
        return ""

    def network(self, trained: Trained, weights: Mapping[str, Any], index: int) -> Network:
        from rote.studies.foundations.text_training import reopened

        return reopened(self, trained, weights)


@measurements.register("text")
@dataclass(frozen=True)
class TextMeasurement(Measurement):
    """Loss and scores of a variant's networks at every measured epoch, as they were recorded in training."""

    name = "text"
    source = published.SOURCE
    variant: str = OWN  # what the tables call it

    @property
    def label(self) -> str:
        return self.variant

    def measure(self, trained: Sequence[Trained], run: Run, progress: Progress, device: str) -> Sequence[Table]:
        from rote.studies.foundations.text_training import measured

        return [measured(self.variant, trained, run)]


@dataclass(frozen=True)
class TextBaselines(Measurement):
    """What counting gives on the same data. A subclass for each kind of task."""

    kind: ClassVar[Kind]
    source = published.SOURCE
    task: TextTask = field(default_factory=ClassificationTask)

    def measure(self, trained: Sequence[Trained], run: Run, progress: Progress, device: str) -> Sequence[Table]:
        corpus = self.task.load()
        run.note(data=corpus.sha256)
        return [baseline_table(self.kind, corpus)]


@dataclass(frozen=True)
class TextConfig(StudyConfig):
    task: TextTask = field(default_factory=ClassificationTask)  # each study's own
    model: TextModelConfig = field(default_factory=TextModelConfig)
    training: TextTraining = field(default_factory=TextTraining)
    network: Architecture = "recurrent"  # average: deep averaging network; window: feed-forward language model
    window: int = 3  # words that the latter sees
    packed: bool = True  # false: the network runs over padding as over words
    variants: tuple[str, ...] = ()  # the networks to train; own: as model.*, training.* and network say

    def __post_init__(self) -> None:
        at_least(self, 1, "seeds", "window")


def generated(config: Mapping[str, Any]) -> bool:
    """Whether a run with this plain configuration read generated reviews in place of a corpus."""
    return bool(config["task"]["data"] == "stand-in")


C = TypeVar("C", bound=TextConfig)


class TextStudy(Study[C]):
    """A study of one kind of task, with variants of its network."""

    recipe: ClassVar[type[TextRecipe]]
    baselines: ClassVar[type[TextBaselines]]
    known: ClassVar[Mapping[str, Mapping[str, Any]]]  # variant -> the keys that it changes
    source = published.SOURCE
    swept: ClassVar[Mapping[str, object]] = {"variants": OWN}
    own_scale = True
    optional: ClassVar[tuple[str, ...]] = ("variants", "task.data")  # a corpus, or what stands in for it
    fixed: ClassVar[Mapping[str, str]] = FIXED

    def stands_in(self, config: Mapping[str, Any]) -> bool:
        return generated(config)

    def completed(self, config: C, overrides: Mapping[str, object]) -> C:
        for name in config.variants:
            if name not in (OWN, *self.known):
                raise UnknownNameError("variant", name, (OWN, *self.known))
        if config.task.train:
            config = self._for_own_files(config, overrides)
        if not config.variants:
            raise UsageError(f"'variants' must name a network to train: {', '.join((OWN, *self.known))}.")
        for name in config.variants:  # refuses what does not go together
            self._recipe(config, name)
        return replace(config, task=config.task.resolved())

    def unused(self, config: C) -> dict[str, str]:
        """Beside others, what every variant decides by itself or has no use for."""
        inert = [{*self._changed(name), *NO_USE[self._recipe(config, name).architecture]} for name in config.variants]
        names = ", ".join(config.variants)
        reason = f"the variants that are trained ({names}) set it themselves or have no use for it."
        if OWN not in config.variants:
            reason += " Add variants=own for a network as you set it."
        return {**super().unused(config), **dict.fromkeys(set.intersection(*inert), reason)}

    def _for_own_files(self, config: C, overrides: Mapping[str, object]) -> C:
        """One network, and all of the text: what a preset says of them is for its own data."""
        whole: dict[str, Any] = {name: None for name in ("examples", "largest") if f"task.{name}" not in overrides}
        chosen = config.variants if "variants" in overrides else (OWN,)
        return replace(config, task=replace(config.task, **whole), variants=chosen)

    def prepare(self, config: C) -> None:
        config.task.check()
        if config.task.train:
            config.task.load()

    def jobs(self, config: C) -> list[Job]:
        """The baselines, and the networks of each variant."""
        seeds = config.seed_numbers
        networks = [TextMeasurement(name).of(*self._recipe(config, name).jobs(seeds)) for name in config.variants]
        return [self.baselines(config.task).of(seeds=(0,)), *networks]

    def tables(self, config: C, measured: Mapping[str, Table]) -> Sequence[Table]:
        return all_tables(self.recipe.kind, self.title, self.place, measured)

    def beside(self, tables: Tables) -> str:
        """For a list of scores: what counting gives on the same data."""
        counted = [row for row in tables["outcome"].records() if row["seeds"] is None]
        scores = ", ".join(f"{row['model']} {row['dev']:.3g}" for row in counted)
        return f"Baselines, dev: {scores}."

    def _recipe(self, config: C, name: str) -> TextRecipe:
        """How the networks of a variant are trained."""
        one = resolve(config, self._changed(name))
        window = one.window if one.network == "window" else 0
        return self.recipe(one.task, one.model, one.training, one.network, window, one.packed)

    def _changed(self, name: str) -> Mapping[str, Any]:
        """A variant that names no other network is a recurrent one."""
        return {} if name == OWN else {"network": "recurrent", **self.known[name]}
