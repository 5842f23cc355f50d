"""Six ways to look inside lookup models: source 002, sections 3 and 4, Tables 2 and 3, Figures 1 to 4."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from rote.config import at_least
from rote.laboratory import Study, studies
from rote.recipes import Job, Measurement, Trained, measurements
from rote.recipes.recipe import Progress
from rote.store import Run, Table
from rote.studies.realization import inside_tables as measure
from rote.studies.realization import published
from rote.studies.realization.accuracy import AccuracyConfig
from rote.studies.realization.inside_claims import CLAIMS
from rote.studies.realization.models import QUICK, SMOKE


@measurements.register("lookup-inside")
@dataclass(frozen=True)
class InsideMeasurement(Measurement):
    """What the weights and activations of one seed's lookup models show, at the end and over training."""

    name = "lookup-inside"
    version = 2  # strongly polar neurons, narrow neurons among 50
    source = published.SOURCE
    splits: int = 5  # random divisions of the samples into training and test, for each classifier
    over_training: bool = True  # look also at the weights kept during training
    in_detail: bool = False  # also what the figures show unit by unit

    def measure(self, trained: Sequence[Trained], run: Run, progress: Progress, device: str) -> Sequence[Table]:
        from rote.studies.realization.inside_measures import look

        (seed,) = run.request.seeds
        return measure.run_tables(look(trained, seed, self.splits, self.over_training, self.in_detail, progress))


@dataclass(frozen=True)
class InsideConfig(AccuracyConfig):
    splits: int = 5  # random divisions of the samples into training and test, for each classifier
    over_training: bool = True  # look also at the weights kept during training

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(self, 1, "splits")
        at_least(self, 1, "task.unseen_tables", "task.heldout_compositions")


@studies.register("lookup-inside")
class LookupInsideStudy(Study[InsideConfig]):
    """What do models that compose lookup tables look like inside, against models that do not?"""

    name = "lookup-inside"
    source = published.SOURCE
    place = "Sections 3 and 4, Tables 2 and 3, Figures 1 to 4"
    title = "Inside lookup models with and without guidance"
    about = (
        "The models of lookup-accuracy, looked into in six ways: weights of the decoder embedding, strong connections "
        "between neurons, the range of their activations, what a linear classifier reads from states and gates and how "
        "few units it needs, how often gates are shut or open, and all of that over training, to see when it appears."
    )
    deviations = (
        "Functional groups: the authors' code ranks units by the first class alone; here the ranking sums over classes "
        "('corrected'), with theirs beside it ('as_published'). Both use L2 with C = 1, as their code and unlike their "
        "text, and converge, which theirs mostly did not.",
        "Samples: all rows, as in their code, in random divisions 90 to 10 ('tokens'). Equal prefixes give equal "
        "states, so a test state may have been trained on; 'prefixes' keeps such samples on one side.",
        "Time steps include the final dot, as in their code; the text's footnote has three.",
        "The update gate is shown in both conventions: z keeps the old state (PyTorch, their code), 1 - z admits the "
        "new one (their equations).",
        "'Strong' connections: the strongest 1 % of each matrix; the published thresholds 0.2 and 0.17 beside it.",
        "What makes a unit strong is not said: mean absolute weight decides, largest weight and number of strong edges "
        "stand beside it.",
        "Figures 3 and 4 are of the test rows with held-out compositions, held-out tables and new compositions. Left "
        "out: the held-out inputs, which are one of the four test sets and which the authors' code leaves out of "
        "Figure 4 too, and the longer compositions, which it adds there.",
        "Figure 3 shows 50 random neurons of our own choice. It and Figures 1, 2 and 4 are of the first seed.",
        "The GRU is PyTorch's, as in the authors' code; the equations of the text have the reset gate inside the "
        "product with W_hh (model.cell=gru_before).",
        "Footnotes 4 and 5, and polar neurons among the strongly connected ones, are in lookup-readings.",
        "Not in the source: LSTM models, and all measures over training.",
        "quick: models of 128 units as in lookup-accuracy, one division of the samples instead of five, no LSTMs.",
    )
    claims = CLAIMS
    optional = ("lstm", "over_training")
    presets: ClassVar[Mapping[str, Mapping[str, object]]] = {
        "smoke": {**SMOKE, "splits": 2},
        "quick": {**QUICK, "splits": 1, "lstm": False},
        "paper": {},
    }
    fixed: ClassVar[Mapping[str, str]] = {"task.longer": "only lookup-accuracy measures longer compositions."}
    default = InsideConfig()

    def jobs(self, config: InsideConfig) -> list[Job]:
        """One for each seed and cell: both models of that seed, of the first one in detail."""
        trained = [zip(*(recipe.jobs(config.seed_numbers) for recipe in pair), strict=True) for pair in config.pairs()]
        return [
            InsideMeasurement(config.splits, config.over_training, seed == config.first_seed).of(*both, seeds=(seed,))
            for of_cells in zip(*trained, strict=True)
            for seed in of_cells[0][0].request.seeds
            for both in of_cells
        ]

    def tables(self, config: InsideConfig, measured: Mapping[str, Table]) -> Sequence[Table]:
        return measure.all_tables(measured, config.model.hidden)
