"""Padding: source 004, "Batching in RNNs" and "Padding and Masking". What happens when the mask is forgotten.

Step 3 of the lecture is to select the correct final states. The common mistake is ``output[:, -1]``: of a padded batch
that is the state behind the padding (or, of packed output, zeros), except for the longest row. Everything else is
alike: same seeds, same initial weights, same batches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from rote.claims import Claim, Estimate, Measurement, Tables, above, below, mean, paired_difference
from rote.config import at_least
from rote.errors import UsageError
from rote.models import TextModelConfig
from rote.models.settings import known_cells
from rote.store import FinishedRun, Request, Run, Table
from rote.studies.foundations import padding_tables, published
from rote.studies.foundations.text_settings import TextTraining
from rote.studies.study import Progress, Study, studies
from rote.studies.summaries import collected, column_of, measured
from rote.tasks.text_tasks import ClassificationTask

DIRECTIONS = "directions"  # the part without training


@dataclass(frozen=True)
class PaddingConfig:
    task: ClassificationTask = field(default_factory=ClassificationTask)
    model: TextModelConfig = field(default_factory=lambda: TextModelConfig(embedding=32, hidden=32))
    training: TextTraining = field(default_factory=lambda: TextTraining(epochs=6.0, measure_every=1.0))
    cells: tuple[str, ...] = ("elman", "lstm")
    seeds: int = 5

    def __post_init__(self) -> None:
        at_least(self, 1, "seeds")
        known_cells(*self.cells)
        plain = TextModelConfig(cell=self.model.cell, embedding=self.model.embedding, hidden=self.model.hidden)
        if self.model != plain:
            raise UsageError(
                "The networks of the study padding have one layer, one direction and no dropout: of model.* only "
                "embedding and hidden can be set."
            )


@measured
def against(tables: Tables, cell: str, first: str, second: str) -> Estimate:
    """Accuracy in test with one way of reading minus another, same seed."""
    one, other = (column_of(tables["networks"], "test", cell=cell, reading=name) for name in (first, second))
    return paired_difference(one, other)


@measured
def over_majority(tables: Tables, cell: str, reading: str) -> Estimate:
    (majority,) = column_of(tables["outcome"], "test", reading=padding_tables.MAJORITY)
    return mean([value - majority for value in column_of(tables["networks"], "test", cell=cell, reading=reading)])


@measured
def error(tables: Tables, quantity: str) -> Estimate:
    """Largest difference to the packed run, over networks of all cells."""
    return mean(column_of(tables["directions"], quantity))


@studies.register("padding")
class PaddingStudy(Study[PaddingConfig]):
    """What does a classifier learn that reads the last column of a padded batch in place of each text's last state?"""

    name = "padding"
    version = 1
    source = published.SOURCE
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
    default = PaddingConfig()

    def resolve(self, preset: str, overrides: Mapping[str, object]) -> PaddingConfig:
        config = super().resolve(preset, overrides)
        return replace(config, task=config.task.resolved())

    def prepare(self, config: PaddingConfig) -> None:
        config.task.check()

    def requests(self, config: PaddingConfig) -> list[Request]:
        """One run for each cell, all seeds and ways of reading as one program; and the exact comparison."""
        one = [replace(config, cells=(cell,), model=replace(config.model, cell=cell)) for cell in config.cells]
        untrained = replace(self.default, cells=config.cells)
        return [
            *(self.request(part.model.cell, part, range(config.seeds)) for part in one),
            self.request(DIRECTIONS, untrained, range(max(config.seeds, self.default.seeds))),
        ]

    def perform(self, request: Request, run: Run, progress: Progress, device: str) -> Sequence[Table]:
        from rote.studies.foundations import padding_training

        config = self.config_of(request)
        if request.part == DIRECTIONS:
            return [padding_training.compare_directions(config.cells, request.seeds)]
        return padding_training.train_and_measure(config, request, run, progress, device)

    def summarize(self, config: PaddingConfig, runs: Sequence[FinishedRun]) -> Sequence[Table]:
        return padding_tables.all_tables(collected(runs))

    claims = (
        Claim(
            "padding-final-state", "foundations", "Padding and Masking",
            "A classifier needs the true last state of each text: reading the last column of a padded batch destroys "
            "learning.",
            published.FINAL_STATE,
            (
                Measurement(
                    "Accuracy in test, true last state minus output[:, -1], Elman",
                    lambda tables: against(tables, "elman", "true", "column"), above(0.05, at_all=0.0),
                ),
                Measurement(
                    "The same, LSTM",
                    lambda tables: against(tables, "lstm", "true", "column"), above(0.05, at_all=0.0),
                ),
                Measurement(
                    "Accuracy in test, output[:, -1] of texts of one length minus majority, Elman",
                    lambda tables: over_majority(tables, "elman", "equal"), above(0.05), role="control",
                ),
                Measurement(
                    "The same, LSTM",
                    lambda tables: over_majority(tables, "lstm", "equal"), above(0.05), role="control",
                ),
                Measurement(
                    "Accuracy in test, output[:, -1] minus majority, Elman",
                    lambda tables: over_majority(tables, "elman", "column"), below(0.05), role="contrast",
                ),
                Measurement(
                    "The same, LSTM",
                    lambda tables: over_majority(tables, "lstm", "column"), below(0.05), role="contrast",
                ),
                Measurement(
                    "Accuracy in test, true last state minus output[:, -1] of packed output, LSTM",
                    lambda tables: against(tables, "lstm", "true", "packed"), above(0.05, at_all=0.0), role="contrast",
                ),
            ),
        ),
        Claim(
            "padding-directions", "foundations", "Two Extensions; Padding and Masking",
            "Without lengths, a bidirectional network's forward states are right, its backward states wrong, and its "
            "final states wrong in both directions.",
            published.FINAL_STATE,
            (
                Measurement(
                    "Forward states at real words, largest difference to the packed run",
                    lambda tables: error(tables, "forward"), below(1e-12),
                ),
                Measurement(
                    "Backward states at real words", lambda tables: error(tables, "backward"), above(1e-3),
                ),
                Measurement(
                    "Final state, forward", lambda tables: error(tables, "final_forward"), above(1e-3),
                ),
                Measurement(
                    "Final state, backward", lambda tables: error(tables, "final_backward"), above(1e-3),
                ),
                Measurement(
                    "A batch without padding: largest of all four", lambda tables: error(tables, "unpadded"),
                    below(1e-12), role="control",
                ),
            ),
            remark="Networks with torch's initial weights, float64, padding with the vector 0: the biases act on it.",
        ),
    )  # fmt: skip
