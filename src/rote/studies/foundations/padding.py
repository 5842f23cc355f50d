"""Padding: source 004, "Batching in RNNs" and "Padding and Masking". What happens when the mask is forgotten.

Step 3 of the lecture is to select the correct final states. The common mistake is ``output[:, -1]``: of a padded batch
that is the state behind the padding (or, of packed output, zeros), except for the longest row. Everything else is
alike: same seeds, same initial weights, same batches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from rote.claims import Assertion, Claim, PerSeed, above, column, measured
from rote.claims.claim import Role
from rote.config import at_least
from rote.laboratory import Study, StudyConfig, studies
from rote.laboratory.aggregate import BAND, Row, band, bands, grouped, interval_columns
from rote.laboratory.study import CELLS_DECIDE
from rote.models import TextModelConfig
from rote.models.settings import known_cells
from rote.recipes import Job, Measurement, Network, Recipe, Trained, measurements, recipes
from rote.recipes.recipe import Progress
from rote.store import Column, Run, Table
from rote.studies.foundations import published
from rote.studies.foundations.classification import ClassificationBaselines
from rote.studies.foundations.text_study import FIXED, LAST_ARE_GONE, TextTraining, generated
from rote.studies.foundations.text_tables import over_baseline
from rote.tasks.text_tasks import ClassificationTask

if TYPE_CHECKING:
    from rote.recipes.network import Label

CELLS = ("elman", "lstm")
OVER_MAJORITY: tuple[tuple[str, str, Role], ...] = (
    ("equal", "of texts of one length", "condition"),
    ("column", "of padded batches", "report"),
)
ONE_LAYER = [
    f"model.{name}"
    for name in ("layers", "bidirectional", "word_dropout", "embedding_dropout", "layer_dropout", "output_dropout")
]
MAJORITY = "majority"
READINGS = {
    "true": "the last state of each text",
    "column": "output[:, -1]: the last column, behind the padding",
    "packed": "output[:, -1] of packed output: zero but for the longest texts",
    "equal": "output[:, -1] of batches whose texts have one length",
}
LABELS = (
    Column("cell", "recurrent unit", "label"),
    Column("reading", "which state the classifier reads", "label"),
    Column("seed", "random seed", "label"),
)
CURVES = (
    *LABELS,
    Column("epoch", "passes over the training data", "label"),
    Column("loss", "cross entropy on dev, nats"),
    Column("dev", "share of texts that are right, dev"),
    Column("test", "share of texts that are right, test"),
)
COMPARED = (
    Column("cell", "recurrent unit", "label"),
    Column("seed", "random seed", "label"),
    Column("forward", "forward states at real words, largest difference to the packed run"),
    Column("backward", "backward states at real words, likewise"),
    Column("final_forward", "final state of the forward direction"),
    Column("final_backward", "final state of the backward direction"),
    Column("unpadded", "largest of the four where all texts have one length"),
)


def model() -> TextModelConfig:
    """As our preset paper has it; the lecture has none."""
    return TextModelConfig(embedding=32, hidden=32)


def training() -> TextTraining:
    """As our preset paper has it; the lecture has none."""
    return TextTraining(epochs=6.0, measure_every=1.0)


@recipes.register("padding")
@dataclass(frozen=True)
class PaddingRecipe(Recipe):
    """Classifiers that read the right or a wrong state, every way of reading and seed as one program."""

    name = "padding"
    source = published.SOURCE
    together = 64
    measured_inside = LAST_ARE_GONE
    task: ClassificationTask = field(default_factory=ClassificationTask)
    model: TextModelConfig = field(default_factory=model)
    training: TextTraining = field(default_factory=training)

    @property
    def label(self) -> str:
        return self.model.cell

    def members(self, seeds: Sequence[int]) -> list[Mapping[str, Label]]:
        return [{"seed": seed, "setting": reading} for reading in READINGS for seed in seeds]

    def fit(self, trained: Sequence[Trained], run: Run, progress: Progress, device: str) -> None:
        from rote.studies.foundations.padding_training import PaddingProgram
        from rote.training import train

        corpus = self.task.load()
        run.note(data=corpus.sha256)
        program, examples = PaddingProgram(self, corpus, run.request.seeds, device), len(corpus.train)
        at = self.training.measured(examples)
        train(program, self.training.over(examples), run, progress=progress, record_at=at)

    def closed(self) -> str:
        return "Its classifiers differ in the state that is read, not in what they read. Open one of classification."

    def network(self, trained: Trained, weights: Mapping[str, Any], index: int) -> Network:
        from rote.studies.foundations.padding_training import reopened

        return reopened(self, trained, weights, index)


@measurements.register("padding")
@dataclass(frozen=True)
class PaddingMeasurement(Measurement):
    """Loss and accuracy of every network at every measured epoch, as they were recorded in training."""

    name = "padding"
    source = published.SOURCE

    def measure(self, trained: Sequence[Trained], run: Run, progress: Progress, device: str) -> Sequence[Table]:
        from rote.studies.foundations.padding_training import measured

        return [measured(trained[0], run)]


@measurements.register("padding-directions")
@dataclass(frozen=True)
class PaddingDirections(Measurement):
    """What padding without lengths changes in random bidirectional networks, exactly."""

    name = "padding-directions"
    source = published.SOURCE
    cells: tuple[str, ...] = CELLS

    def measure(self, trained: Sequence[Trained], run: Run, progress: Progress, device: str) -> Sequence[Table]:
        from rote.studies.foundations.padding_training import compare_directions

        return [compare_directions(self.cells, run.request.seeds)]


@dataclass(frozen=True)
class PaddingConfig(StudyConfig):
    task: ClassificationTask = field(default_factory=ClassificationTask)
    model: TextModelConfig = field(default_factory=model)
    training: TextTraining = field(default_factory=training)
    cells: tuple[str, ...] = CELLS

    def __post_init__(self) -> None:
        at_least(self, 1, "seeds")
        known_cells(*self.cells)


def _test(cell: str, reading: str) -> PerSeed:
    return column("networks", "test", cell=cell, reading=reading)


@studies.register("padding")
class PaddingStudy(Study[PaddingConfig]):
    """What does a classifier learn that reads the last column of a padded batch in place of each text's last state?"""

    name = "padding"
    source = published.SOURCE
    data = ("sst2", "trec")
    place = "Batching in RNNs; Padding and Masking"
    title = "Padding without a mask"
    about = (
        "Texts of different lengths are padded to one. The state that a classifier reads is the last one of each text "
        "(right), that in the last column of the batch (output[:, -1]), the same of packed output, which is zero for "
        "all but the longest texts, or the last column of batches whose texts have one length, where nothing is "
        "padded. And exactly, without training: what padding changes in a bidirectional network."
    )
    deviations = (
        "The lecture shows the three steps and gives no data or numbers: all settings are ours. One layer, Adam, "
        "batches of 32 texts in random order, the weights with the lowest loss on dev.",
        "A network is measured as it reads in training: with the last column, in padded batches of 32 in random order.",
        "Quick: 1,000 generated reviews, 16 units, Adam at 0.01. Paper: SST-2, 32 units, Adam at 0.003.",
    )
    presets: ClassVar[Mapping[str, Mapping[str, object]]] = {
        "smoke": {
            "task.data": "stand-in", "task.examples": 64, "seeds": 2, "training.epochs": 1.0, "model.embedding": 4,
            "model.hidden": 4,
        },
        "quick": {
            "task.data": "stand-in", "task.examples": 1000, "model.embedding": 16, "model.hidden": 16,
            "training.learning_rate": 0.01,
        },
        "paper": {"task.data": "sst2"},
    }  # fmt: skip
    own_scale = True
    optional = ("cells",)
    fixed: ClassVar[Mapping[str, str]] = {
        **CELLS_DECIDE,
        **FIXED,
        **dict.fromkeys(ONE_LAYER, "the networks have one layer, one direction and no dropout."),
        "training.l2": "the networks learn without it. Set 'training.weight_decay' instead.",
    }
    default = PaddingConfig()

    def completed(self, config: PaddingConfig, overrides: Mapping[str, object]) -> PaddingConfig:
        return replace(config, task=config.task.resolved())

    def stands_in(self, config: Mapping[str, Any]) -> bool:
        return generated(config)

    def prepare(self, config: PaddingConfig) -> None:
        config.task.check()

    def jobs(self, config: PaddingConfig) -> list[Job]:
        """The most frequent class, the networks of each cell, and the exact comparison."""
        seeds, model = config.seed_numbers, config.model
        recipes = [PaddingRecipe(config.task, replace(model, cell=cell), config.training) for cell in config.cells]
        return [
            ClassificationBaselines(config.task).of(seeds=(0,)),
            *(PaddingMeasurement().of(job) for recipe in recipes for job in recipe.jobs(seeds)),
            PaddingDirections(config.cells).of(seeds=seeds),
        ]

    def tables(self, config: PaddingConfig, measured: Mapping[str, Table]) -> Sequence[Table]:
        curves, counted, compared = measured["curves"], measured["baselines"], measured["directions"]
        (majority,) = counted.where(model=MAJORITY).records()
        rows = curves.records()
        networks: list[Row] = []
        for (cell, reading, seed), mine in grouped(rows, ("cell", "reading", "seed")).items():
            best = min(mine, key=lambda row: row["loss"])
            labels = {"cell": cell, "reading": reading, "seed": seed}
            networks.append({**labels, "dev": best["dev"], "test": best["test"], "best_epoch": best["epoch"]})
        columns = (
            *LABELS,
            *CURVES[-2:],
            Column("best_epoch", "epoch of the lowest loss on dev, whose weights are used"),
        )
        return [
            _outcome(networks, majority, counted.note),
            Table.make(
                "directions", "Bidirectional networks without lengths", COMPARED, compared.records(), place="Exact"
            ),
            _over_training(rows, majority, counted.note),
            Table.make("networks", "Every network", columns, networks, details=True, note=counted.note),
            Table.make("curves", "Every network over training", CURVES, rows, details=True),
        ]

    claims = (
        Claim(
            "padding-final-state", "foundations", "Padding and Masking",
            "A classifier needs the true last state of each text: one that reads the last column of a padded batch "
            "does worse.",
            published.FINAL_STATE,
            (
                *(
                    Assertion(
                        f"Accuracy in test, true last state minus output[:, -1], {cell}",
                        _test(cell, "true") - _test(cell, "column"), above(0.0),
                    )
                    for cell in CELLS
                ),
                *(
                    Assertion(
                        f"Accuracy in test, output[:, -1] {words} minus majority, {cell}",
                        measured(over_baseline, {"reading": MAJORITY}, cell=cell, reading=reading), above(0.0),
                        role=role,
                    )
                    for reading, words, role in OVER_MAJORITY
                    for cell in CELLS
                ),
                *(
                    Assertion(
                        f"Accuracy in test, true last state minus output[:, -1] of packed output, {cell}",
                        _test(cell, "true") - _test(cell, "packed"), above(0.0), role="report",
                    )
                    for cell in CELLS
                ),
            ),
            kind="implied",
            remark="The lecture says what to select, not what happens otherwise. The last column of texts of one "
            "length must be enough to learn from, or the comparison would say nothing.",
        ),
        Claim(
            "padding-directions", "foundations", "Two Extensions; Padding and Masking",
            "Without lengths, a bidirectional network's forward states are right, its backward states wrong, and its "
            "final states wrong in both directions.",
            published.FINAL_STATE,
            kind="identity",
            test="tests/oracles/test_text_models.py"
            "::test_without_lengths_forward_states_are_right_and_backward_and_final_ones_wrong",
            remark="A property of the program. Networks with torch's initial weights, float64, padding with the "
            "vector 0: the biases act on it.",
        ),
    )  # fmt: skip


def _outcome(networks: list[Row], majority: Row, note: str) -> Table:
    rows: list[Row] = [{"reading": MAJORITY, "about": "the most frequent class", "test": majority["test"]}]
    for (cell, reading), mine in grouped(networks, ("cell", "reading")).items():
        labels = {"cell": cell, "reading": reading, "about": READINGS[reading]}
        test = band([row["test"] for row in mine])
        rows.append({**labels, **test, "seeds": len(mine), "test": test["mean"]})
    columns = (
        *LABELS[:2],
        Column("about", "the same in words", "label"),
        Column("seeds", "networks trained", "label"),
        Column("test", "share of texts that are right, test"),
        *interval_columns(),
    )
    return Table.make("outcome", "State that is read", columns, rows, place="Padding and Masking", note=note)


def _over_training(curves: list[Row], majority: Row, note: str) -> Table:
    rows = [
        {"panel": cell, "model": reading, "epoch": epoch, **rest}
        for cell, reading, epoch, rest in (
            (row.pop("cell"), row.pop("reading"), row.pop("epoch"), row)
            for row in bands(curves, ("cell", "reading", "epoch"), "dev")
        )
    ]
    columns = (
        Column("panel", "recurrent unit", "label"), Column("model", "which state the classifier reads", "label"),
        CURVES[3], *BAND,
    )  # fmt: skip
    return Table.make(
        "training", "Over training: share of texts that are right, dev", columns, rows, figure="text-training",
        details=True, note=note,
        options={"measure": "share of texts that are right, dev", "baselines": {MAJORITY: majority["dev"]}},
    )  # fmt: skip
