"""What the plane's networks take from each input while they learn: the propositions of source 001, section 4, measured.

The source proves its propositions and measures none of their quantities. Most say that something is not zero, which
holds of any network, also untrained or trained without redundant information; what we test is whether it grows as
training begins, and more so where the redundant input is informative.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, cast

from rote.claims import Assertion, Claim, above, below, measured
from rote.config import at_least
from rote.laboratory import Study, StudyConfig, studies
from rote.laboratory.study import RECORDS_SHOWN
from rote.models import MLPConfig
from rote.recipes import Job, Measurement, Trained, measurements, recipes
from rote.recipes.recipe import Progress
from rote.store import Run, Table
from rote.studies.resistance import published
from rote.studies.resistance.information_tables import PARTS, all_tables, rising_share
from rote.studies.resistance.plane import PlaneRecipe, training
from rote.studies.resistance.summaries import difference, more_in, of
from rote.tasks.plane import PlaneTask, Setting
from rote.training import TrainingConfig

if TYPE_CHECKING:
    from rote.studies.resistance.information_training import InformedProgram

EARLY = 1 / 16  # of the steps
LITERALLY = "Read literally the proposition holds of untrained networks too: that it grows is our reading."
OUTPUTS = {"first": "I(class; X2 | X1)", "second": "I(sign of X2; X1 | X2)"}


@recipes.register("plane-information")
@dataclass(frozen=True)
class InformationRecipe(PlaneRecipe):
    """Networks on the plane with a pair of logits for the class, and perhaps another for the sign of X2."""

    name = "plane-information"
    outputs: int = 1

    @property
    def label(self) -> str:
        return f"{self.task.setting}, {self.outputs} output{'s' * (self.outputs > 1)}"

    def logits(self) -> int:
        return 2 * self.outputs

    def program(self, seeds: Sequence[int], device: str) -> InformedProgram:
        from rote.studies.resistance.information_training import InformedProgram

        return InformedProgram(self, seeds, device)


@measurements.register("plane-information")
@dataclass(frozen=True)
class InformationMeasurement(Measurement):
    """What the prediction of every network takes from each input, at every kept step."""

    name = "plane-information"
    version = 2  # each output by itself
    source = published.SOURCE
    values: int = 32  # of X1 and of X2, evenly spaced, all combined with all

    def measure(self, trained: Sequence[Trained], run: Run, progress: Progress, device: str) -> Sequence[Table]:
        from rote.studies.resistance.information_training import measured

        return [measured(self, trained[0], progress, device)]


@dataclass(frozen=True)
class InformationConfig(StudyConfig):
    seeds: int = 64
    model: MLPConfig = field(default_factory=MLPConfig)
    training: TrainingConfig = field(default_factory=training)
    values: int = 32

    def __post_init__(self) -> None:
        at_least(self, 1, "seeds")
        at_least(self, 2, "values")

    def recipes(self) -> list[InformationRecipe]:
        return [
            InformationRecipe(PlaneTask(cast(Setting, setting)), self.model, self.training, outputs=outputs)
            for setting, outputs in PARTS
        ]


def _entangled(output: str) -> tuple[Assertion, Assertion]:
    """What training and redundant information add to what one of two outputs takes from the other's input."""
    early, name = f"{output}_given_early", OUTPUTS[output]
    return (
        Assertion(
            f"{name} early minus untrained, bits", difference("redundant", early, f"{output}_given_0", outputs=2),
            above(0),
        ),
        Assertion(
            f"{name} early, bits: redundant minus random X2", more_in("redundant", "random", early, outputs=2),
            above(0),
        ),
    )  # fmt: skip


@studies.register("plane-information")
class PlaneInformationStudy(Study[InformationConfig]):
    """How much do the plane's networks take from the redundant input, and does training make it more?"""

    name = "plane-information"
    source = published.SOURCE
    place = "Section 4, propositions 1 to 5"
    title = "Information in the redundant input"
    about = (
        "The source argues that gradient descent makes a prediction depend on every input that helps to reduce the "
        "loss, also on one that it does not need. Here that dependence is measured while the networks of the plane "
        "learn: the information that X2 gives about the prediction beyond X1, and the derivative by X2."
    )
    deviations = (
        "All of it is ours: the source states propositions and measures none of their quantities.",
        "Information is measured on evenly spaced X1 and X2, all combined with all, not on the training distribution, "
        "where what a prediction shares with X2 may all come through X1.",
        "Networks are measured at steps 0, 1, 2, 4, 8 and so on to the last, not at every step.",
        "Proposition 5 needs two outputs: a second pair of logits learns the sign of X2.",
        "'Early' is the first sixteenth of the steps.",
        "Read literally, propositions 3 to 5 say that a derivative is not zero, which holds before training too, and "
        "without redundant information. Our reading: it grows, and more so where the input is informative.",
    )
    presets: ClassVar[Mapping[str, Mapping[str, object]]] = {
        "smoke": {"seeds": 5, "training.steps": 16, "values": 8},
        "quick": {},
        "paper": {"seeds": 256},
    }
    fixed: ClassVar[Mapping[str, str]] = RECORDS_SHOWN
    default = InformationConfig()

    def jobs(self, config: InformationConfig) -> list[Job]:
        measurement = InformationMeasurement(config.values)
        return [measurement.of(job) for recipe in config.recipes() for job in recipe.jobs(config.seed_numbers)]

    def tables(self, config: InformationConfig, measured: Mapping[str, Table]) -> Sequence[Table]:
        curves = measured["curves"]
        return all_tables(curves.records(), EARLY * config.training.steps, curves.columns)

    claims = (
        Claim(
            "plane-gradient-information", "resistance", "Section 4, proposition 1",
            "A prediction has information about an input exactly where its derivative by it is not zero.",
            published.GRADIENT_AND_INFORMATION, kind="identity",
            test="tests/oracles/test_information.py::test_information_about_an_input_is_there_where_the_derivative_is",
            remark="Of probabilities, as the prediction is taken here. Of a hard label it is false: the derivative is "
            "zero almost everywhere.",
        ),
        Claim(
            "plane-loss-information", "resistance", "Section 4.1, proposition 2",
            "As the loss falls early in training, the prediction has more information about the class.",
            published.LOSS_AND_INFORMATION,
            (
                Assertion(
                    "Share of early intervals with falling loss in which I(class; prediction) rises",
                    measured(rising_share, "redundant"), above(0.5), scale="unit",
                ),
            ),
            kind="implied",
            remark="The assumption of the proof, 'likely to hold especially in the early part of training'. What "
            "follows from it, I(input; prediction) >= I(class; prediction), is a theorem, and tested as one.",
        ),
        Claim(
            "plane-needed-input", "resistance", "Section 4.1, proposition 3",
            "Early training makes the prediction depend on the input that decides the class.",
            published.INPUT_MOVES_PREDICTION,
            (
                Assertion(
                    "I(prediction; X1 | X2) early minus untrained, bits",
                    difference("redundant", "own_given_early", "own_given_0", outputs=1), above(0),
                ),
                Assertion(
                    "Mean size of the derivative by X1 early minus untrained",
                    difference("redundant", "own_gradient_early", "own_gradient_0", outputs=1), above(0),
                ),
            ),
            kind="implied", remark=LITERALLY,
        ),
        Claim(
            "plane-redundant-information", "resistance", "Section 4.2, proposition 4",
            "Early training makes the prediction depend on the redundant input where that is informative.",
            published.INPUT_MOVES_PREDICTION,
            (
                Assertion(
                    "I(prediction; X2 | X1) early minus untrained, bits",
                    difference("redundant", "other_given_early", "other_given_0", outputs=1), above(0),
                ),
                Assertion(
                    "I(prediction; X2 | X1) early: redundant minus random X2, same initial weights and X1",
                    more_in("redundant", "random", "other_given_early", outputs=1), above(0),
                ),
                Assertion(
                    "I(prediction; X2 | X1) early: redundant minus uninformative X2 with the corner unseen",
                    more_in("redundant", "narrow", "other_given_early", outputs=1), above(0),
                ),
                Assertion(
                    "Mean derivative by X2 early: it speaks against class 1",
                    of("redundant", "other_slope_early", outputs=1), below(0), role="rival",
                ),
                Assertion(
                    "I(prediction; X2 | X1) at the end: redundant minus random X2",
                    more_in("redundant", "random", "other_given_end", outputs=1), above(0), role="report",
                ),
            ),
            kind="implied", remark=LITERALLY,
        ),
        Claim(
            "plane-entangled-outputs", "resistance", "Section 4.3, proposition 5",
            "With two outputs, each comes to depend on the input of the other where that is informative.",
            published.OUTPUTS_ARE_ENTANGLED,
            (
                *(part for output in OUTPUTS for part in _entangled(output)),
                Assertion(
                    f"{OUTPUTS['first']} early, bits: redundant minus uninformative X2 with the corner unseen",
                    more_in("redundant", "narrow", "first_given_early", outputs=2), above(0),
                ),
                Assertion(
                    "Share of the corner where both outputs are right at the end: redundant minus random X2",
                    more_in("redundant", "random", "corner_end", outputs=2), below(0), role="report",
                ),
            ),
            kind="implied",
            remark=f"{LITERALLY} The second output has no control with the corner unseen: where X2 has one sign only, "
            "it has nothing to learn. Results kept before each output was measured by itself leave the claim open.",
        ),
    )  # fmt: skip
