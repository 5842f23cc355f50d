"""Language models on corpora with a rule, and what is read out of them: source 000, sections 3 and 4.

Both studies of this source train the same kind of network and look at it in the same way: a corpus is gone through in
passes by truncated backpropagation, and P(close) is read out of the weights that were kept on the way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

from rote.config import at_least, not_empty
from rote.errors import SettingError
from rote.laboratory import Study, StudyConfig
from rote.laboratory.study import EPOCHS_DECIDE
from rote.models import LanguageModelConfig
from rote.models.settings import known_cells
from rote.recipes import Job, Measurement, Network, Recipe, Trained, measurements, recipes
from rote.recipes.recipe import Progress
from rote.store import Run, Table
from rote.studies.conduits import published
from rote.tasks.rules import RulesTask
from rote.training import EpochTraining
from rote.training.settings import truncated_updates

if TYPE_CHECKING:
    from rote.recipes.network import Label
    from rote.studies.conduits.rules_training import RulesProgram

BiasRule = Literal["in_span", "exclusive_end", "never"]
ReadAt = Literal["before_close", "at_close"]
OPEN, CLOSE = "(", ")"  # the names of the symbols of a rule
SMALL = 64  # units, up to which networks train faster as one program than one after another
RANDOM, UNPREDICTABLE, PREDICTABLE, AS_PUBLISHED = "random conduits", "unpredictable", "predictable", ", as published"
NO_OTHERS = "'others' names no cell that is trained beside 'model.cell'."
FIXED = {
    **EPOCHS_DECIDE,
    "training.patience": "networks are measured at planned epochs, up to the last.",
    "training.select": "the tables show every measured epoch, whichever weights are kept.",
}


@dataclass(frozen=True)
class Passes(EpochTraining):
    """Truncated backpropagation through a corpus that is cut into ``batch`` columns; the state is carried on."""

    batch: int = 20
    learning_rate: float = published.LEARNING_RATE
    clip: float | None = published.CLIP
    epochs: float = float(published.FIGURE_2_EPOCH)
    bptt: int = 35  # tokens between two updates

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(self, 1, "bptt")

    def steps_per_epoch(self, examples: int) -> int:
        """The number of updates in one pass over a corpus of so many tokens."""
        return truncated_updates(examples, self.batch, self.bptt)


def recurring(tokens: int, vocabulary: int) -> str:
    """How often a pair of symbols stands in uniform noise."""
    return f"{tokens / vocabulary**2:g}"


PAIRS = recurring(published.TOKENS, published.VOCABULARY)


def rule_names(task: RulesTask) -> tuple[str, ...]:
    """The names of the symbols; fillers are numbers."""
    named = {task.open: OPEN, task.close: CLOSE}
    return tuple(named.get(number, str(number)) for number in range(task.symbols))


def setting_of(task: RulesTask) -> str:
    """What a corpus is called in the tables: where its conduits come from, and by which generator."""
    if task.conduits is None:
        return RANDOM
    return (PREDICTABLE if task.copies else UNPREDICTABLE) + ("" if task.generator == "clean" else AS_PUBLISHED)


@recipes.register("conduits")
@dataclass(frozen=True)
class RulesRecipe(Recipe):
    """Language models of one layer on corpora with a long-distance rule, one for each corpus and seed."""

    name = "conduits"
    source = published.SOURCE
    view = "sequence"
    about = f"a rule is {OPEN} symbols {CLOSE}"
    tasks: tuple[RulesTask, ...] = (RulesTask(),)  # that train as one program
    model: LanguageModelConfig = field(default_factory=LanguageModelConfig)
    training: Passes = field(default_factory=Passes)

    def __post_init__(self) -> None:
        not_empty(self, "tasks")
        if len({(task.length, task.symbols) for task in self.tasks}) > 1:
            raise SettingError("tasks", "must have corpora of one length and vocabulary to train as one program.")

    @classmethod
    def for_tasks(cls, tasks: Sequence[RulesTask], model: LanguageModelConfig, training: Passes) -> list[RulesRecipe]:
        """Small networks whose corpora are of one length train as one program, others each by themselves."""
        groups: dict[object, list[RulesTask]] = {}
        for task in tasks:
            groups.setdefault((task.length, task.symbols) if model.hidden <= SMALL else task, []).append(task)
        return [cls(tuple(group), model, training) for group in groups.values()]

    @property
    def together(self) -> int:  # type: ignore[override]
        return 6 if self.model.hidden <= SMALL else 1

    @property
    def label(self) -> str:
        named = [(setting_of(task), f"{task.conduit}", f"{task.rules}") for task in self.tasks]
        setting, k, n = (" and ".join(dict.fromkeys(names)) for names in zip(*named, strict=True))
        extra = {"momentum": self.training.momentum, "weight decay": self.training.weight_decay}
        beside = "".join(f", {name} {value:g}" for name, value in extra.items() if value)
        return f"{self.model.cell}, {setting}, k = {k}, n = {n}{beside}"

    def measured(self) -> dict[int, float]:
        """The updates after which the weights are kept, with their epochs."""
        return self.training.measured(self.tasks[0].length)

    def program(self, seeds: Sequence[int], device: str) -> RulesProgram:
        from rote.studies.conduits.rules_training import RulesProgram

        return RulesProgram(self, seeds, device)

    def fit(self, trained: Sequence[Trained], run: Run, progress: Progress, device: str) -> None:
        from rote.training import train

        program, kept = self.program(run.request.seeds, device), self.measured()
        updates = self.training.over(self.tasks[0].length)
        train(program, updates, run, progress=progress, record_at=kept, snapshots=kept)

    def closed(self) -> str:
        return ""

    def members(self, seeds: Sequence[int]) -> list[Mapping[str, Label]]:
        settings = [f"{setting_of(task)}, k = {task.conduit}, n = {task.rules}" for task in self.tasks]
        return [{"setting": setting, "seed": seed} for setting in settings for seed in seeds]

    def network(self, trained: Trained, weights: Mapping[str, Any], index: int) -> Network:
        from rote.models import StackedLanguageModel
        from rote.models.fitting import fitted

        task, config = self.tasks[index // len(trained.seeds)], self.model
        one = {name: weight[index : index + 1] for name, weight in weights.items()}
        model = fitted(
            lambda: StackedLanguageModel(task.symbols, config, (0,), self.training.torch_dtype(), self.training.batch),
            one, trained.run.folder, config.hidden * max(config.hidden, config.embedding, task.symbols),
        )  # fmt: skip
        names, conduit = rule_names(task), [str(number % task.vocabulary) for number in range(1, task.conduit + 1)]
        example = " ".join(["0", "1", OPEN, *conduit, CLOSE])
        return Network(model.replica(0), inputs=names, outputs=names, example=example)


@measurements.register("conduits")
@dataclass(frozen=True)
class RulesMeasurement(Measurement):
    """P(close) by contextual decomposition, and the networks' own, at every kept epoch; gradients through the rule."""

    name = "conduits"
    version = 2  # tells how far the parts grow
    source = published.SOURCE
    rules: int = 100  # of the test corpus, for each kind of conduit
    context: int = 10  # symbols before the open symbol; with the zero state before them they count as irrelevant
    bias: BiasRule = "in_span"
    at: ReadAt = "before_close"  # where close is predicted, or (as published) one step later, where it is the input
    checked: int = 10  # rules whose decomposition is also computed in both parts, for its error
    gradients: int = 4  # rules of each kind through which the step Jacobians are multiplied; 0: none
    gradients_every: int = 1  # at each so many-th measurement, and so the error

    def __post_init__(self) -> None:
        at_least(self, 1, "rules", "checked", "gradients_every")
        at_least(self, 0, "context", "gradients")

    def measure(self, trained: Sequence[Trained], run: Run, progress: Progress, device: str) -> Sequence[Table]:
        from rote.studies.conduits.rules_training import measured

        return measured(self, trained[0], progress, device)


@dataclass(frozen=True)
class RulesConfig(StudyConfig):
    """What both studies of conduits can be told."""

    model: LanguageModelConfig = field(default_factory=LanguageModelConfig)
    training: Passes = field(default_factory=Passes)
    reading: RulesMeasurement = field(default_factory=RulesMeasurement)
    tokens: int = published.TOKENS
    vocabulary: int = published.VOCABULARY
    others: tuple[str, ...] = ()  # cells that are trained beside model.cell
    other_seeds: int = 1

    def __post_init__(self) -> None:
        at_least(self, 1, "seeds", "other_seeds")
        known_cells(*self.others)
        self.corpora(main=True)  # which refuses what does not fit
        if self.others:
            self.corpora(main=False)

    def unused(self) -> dict[str, str]:
        return {} if self.others else {"other_seeds": NO_OTHERS}

    def corpora(self, *, main: bool) -> list[list[RulesTask]]:
        """Of ``model.cell`` or of the others, in groups of which the networks may train as one program."""
        raise NotImplementedError

    def trainings(self) -> list[Job]:
        """The trainings of all networks, those of the other cells first: they take longest."""
        few = replace(self, seeds=self.other_seeds).seed_numbers
        beside = [(cell, False, few) for cell in reversed(self.others)]
        return [
            job
            for cell, main, seeds in [*beside, (self.model.cell, True, self.seed_numbers)]
            for tasks in self.corpora(main=main)
            for recipe in RulesRecipe.for_tasks(tasks, replace(self.model, cell=cell), self.training)
            for job in recipe.jobs(seeds)
        ]


C = TypeVar("C", bound=RulesConfig)


class RulesStudy(Study[C]):
    """A study of the networks that a configuration asks for."""

    source = published.SOURCE
    fixed = FIXED
    optional: ClassVar[tuple[str, ...]] = ("others", "other_seeds")

    def completed(self, config: C, overrides: Mapping[str, object]) -> C:
        """The main cell would count twice among the others: it is left out, or refused where it was set."""
        cell = config.model.cell
        if "others" in overrides and cell in config.others:
            raise SettingError("others", f"must not name {cell}, which is 'model.cell' already.")
        return replace(config, others=tuple(name for name in config.others if name != cell))

    def jobs(self, config: C) -> list[Job]:
        return [config.reading.of(training) for training in config.trainings()]
