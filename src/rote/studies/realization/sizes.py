"""How many units the lookup task takes, with attentive guidance and without: source 002, section 6."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import ClassVar

from rote.claims import Assertion, Claim, PerSeed, Tables, Values, above, below, column, measured
from rote.config import at_least, not_empty
from rote.errors import SettingError
from rote.laboratory import Study, studies
from rote.laboratory.aggregate import BAND, bands
from rote.recipes import Job, Measurement, Trained, measurements, recipes
from rote.recipes.recipe import Progress
from rote.store import Column, Run, Table
from rote.studies.realization import published
from rote.studies.realization.accuracy_tables import LABELS, SETS, SPLIT
from rote.studies.realization.models import QUICK, SMOKE, LookupConfig, LookupRecipe

SIZE = (
    Column("units", "of encoder and decoder each", "label"),
    Column("parameters", "of the whole model", "label"),
)
SHOWN = ("train", *SETS)


def run_table(
    recipe: LookupRecipe, parameters: int, seeds: Sequence[int], by_split: Mapping[str, Sequence[float]]
) -> Table:
    """What is measured of the models of one size and kind."""
    labels = {"cell": recipe.cell, "model": recipe.kind, "units": recipe.model.hidden, "parameters": parameters}
    rows = [
        {**labels, "seed": seed, "split": split, "accuracy": accuracy}
        for split in SHOWN
        for seed, accuracy in zip(seeds, by_split[split], strict=True)
    ]
    columns = (*LABELS, *SIZE, SPLIT, Column("accuracy", "share of sequences right in every position"))
    return Table.make("sizes", "Sequence accuracy of every model", columns, rows, details=True)


def all_tables(every: Mapping[str, Table]) -> list[Table]:
    names = ("cell", "model", "units", "parameters", "split")
    long = bands(every["sizes"].records(), names, "accuracy", (0.0, 1.0))
    columns = (*LABELS[:2], *SIZE, SPLIT, *BAND)
    summary = Table.make(
        "sizes-summary", "Sequence accuracy by number of units", columns, long, place="Section 6",
        figure="lookup-sizes", note="Models with the lowest validation loss. The largest are those of lookup-accuracy.",
    )  # fmt: skip
    return [summary, every["sizes"]]


def answered(tables: Tables, model: str, split: str, which: str) -> Values:
    """Accuracy of the models of a kind with the fewest units that there are ("smallest"), or with the most."""
    units = tables["sizes"].column("units")
    size = min(units) if which == "smallest" else max(units)
    return column("sizes", "accuracy", model=model, split=split, units=size)(tables)


@recipes.register("lookup-sizes")
@dataclass(frozen=True)
class SmallRecipe(LookupRecipe):
    """Lookup models with few units: many seeds as one program, of which the end is kept."""

    name = "lookup-sizes"
    together = 12

    def kept_steps(self) -> list[int]:
        return [self.training.steps]


@measurements.register("lookup-sizes")
@dataclass(frozen=True)
class SizesMeasurement(Measurement):
    """Sequence accuracy of lookup models on every split of their task, with how many units and parameters they have."""

    name = "lookup-sizes"
    source = published.SOURCE

    def measure(self, trained: Sequence[Trained], run: Run, progress: Progress, device: str) -> Sequence[Table]:
        from rote.studies.realization.training import accuracies

        (models,) = trained
        recipe: LookupRecipe = models.recipe
        parameters = sum(one.numel() for one in recipe.population(models).parameters()) // len(models.seeds)
        by_split = accuracies(models, recipe.task, device)
        return [run_table(recipe, parameters, models.seeds, by_split)]


@dataclass(frozen=True)
class SizesConfig(LookupConfig):
    sizes: tuple[int, ...] = (26, 64, 128, 256)  # units, beside those of 'model.hidden'

    def __post_init__(self) -> None:
        super().__post_init__()
        not_empty(self, "sizes")
        at_least(self, 1, "sizes")
        at_least(self, 1, "task.unseen_tables", "task.heldout_compositions", "task.heldout_inputs", "task.validation")
        if max(self.sizes) >= self.model.hidden:
            raise SettingError("sizes", f"must be below 'model.hidden', {self.model.hidden}. Got {max(self.sizes)}.")

    def recipes(self) -> list[LookupRecipe]:
        """Baseline and guided models of each size, the smallest first; the largest are those of lookup-accuracy."""
        whole = self.guided(self.model.cell)
        settings = {field.name: getattr(whole, field.name) for field in fields(whole)}
        small = [
            replace(SmallRecipe(**settings), model=replace(whole.model, hidden=size)) for size in sorted(self.sizes)
        ]
        return [recipe for guided in (*small, whole) for recipe in (guided.baseline(), guided)]


def _answered(model: str, split: str, which: str) -> PerSeed:
    return measured(answered, model, split, which)


def _words(split: str) -> str:
    return split.replace("_", " ")


CLAIMS = (
    Claim(
        "lookup-few-units", "realization", "Section 6",
        "Models that are trained with few units, as few as pruning leaves, do not learn to solve the task: guided ones "
        "answer less than half of each test set, where those with all units answer more than half of the held-out "
        "compositions.",
        "“it would be interesting to find out why models with fewer parameters cannot learn to solve the lookup table "
        "task (Hupkes et al., 2019), while we know from our distillation experiments that only 26 neurons in the "
        "encoder and decoder are needed to implement a perfect solution”",
        (
            *(
                Assertion(f"Accuracy with the fewest units on {_words(split)}, guided",
                          _answered("guided", split, "smallest"), below(0.5), scale="unit")
                for split in SETS
            ),
            Assertion("Accuracy with all units on heldout compositions, guided",
                      _answered("guided", "heldout_compositions", "largest"), above(0.5), role="condition",
                      scale="unit"),
            Assertion("Accuracy with the fewest units on training rows, guided",
                      _answered("guided", "train", "smallest"), below(1), role="report", scale="unit"),
            Assertion("Fewest units, guided minus baseline on heldout compositions",
                      _answered("guided", "heldout_compositions", "smallest")
                      - _answered("baseline", "heldout_compositions", "smallest"), above(0), role="report"),
        ),
        kind="cited",
        remark="Less than half is our reading of 'cannot', as in lookup-baseline. Fewest: 26 units, 5 % of 512; at "
        "preset quick 6, 5 % of 128. Sizes differ in nothing else: not in learning rate or length of training, which "
        "small models might need otherwise.",
    ),
    Claim(
        "lookup-more-units", "realization", "Section 6",
        "More units help guided models to compose: with all of them they answer more of every test set than with the "
        "fewest.",
        "“models with fewer parameters cannot learn to solve the lookup table task”",
        tuple(
            Assertion(f"Accuracy with all units minus the fewest on {_words(split)}, guided",
                      _answered("guided", split, "largest") - _answered("guided", split, "smallest"), above(0))
            for split in SETS
        ),
        kind="implied",
    ),
)  # fmt: skip


@studies.register("lookup-sizes")
class LookupSizesStudy(Study[SizesConfig]):
    """Can models with few units learn to compose lookup tables?"""

    name = "lookup-sizes"
    source = published.SOURCE
    place = "Section 6"
    title = "Lookup tables with fewer units"
    about = (
        "The source wonders why small models cannot learn the task that a few neurons of a large one solve after "
        "pruning. Models with fewer units, with attention targets and without, are trained as those of lookup-accuracy "
        "are, beside these; lookup-surgery has the pruned ones."
    )
    deviations = (
        "The source cites this result (Hupkes et al., 2019) without sizes. Ours begin with what its pruning leaves, "
        "5 % of the units in encoder and decoder each.",
        "A small model has as few units in its attention and decoder embedding; a pruned one keeps the large ones.",
        "All sizes are trained alike, with the learning rate and the epochs of the largest. Small models learn faster "
        "with a larger learning rate, and with it some of them come to answer held-out compositions: what they could "
        "learn otherwise trained is not what this compares (training.learning_rate=0.01).",
        "All choices of lookup-accuracy, and the GRU of PyTorch.",
        "quick: 6 units beside 128, trained as in lookup-accuracy (sizes=6,16,32,64 for more).",
    )
    claims = CLAIMS
    optional = ("sizes",)
    presets: ClassVar[Mapping[str, Mapping[str, object]]] = {
        "smoke": {**SMOKE, "sizes": (4,)},
        "quick": {**QUICK, "sizes": (6,)},
        "paper": {},
    }
    fixed: ClassVar[Mapping[str, str]] = {"task.longer": "only lookup-accuracy measures longer compositions."}
    default = SizesConfig()

    def jobs(self, config: SizesConfig) -> list[Job]:
        return [SizesMeasurement().of(job) for recipe in config.recipes() for job in recipe.jobs(config.seed_numbers)]

    def tables(self, config: SizesConfig, measured: Mapping[str, Table]) -> Sequence[Table]:
        return all_tables(measured)
