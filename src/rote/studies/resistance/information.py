"""What the plane's networks take from each input while they learn: the propositions of source 001, section 4, measured.

The source proves its propositions and measures none of their quantities. Most say that something is not zero, which
holds of any network, also untrained or trained without redundant information; what we test is whether it grows as
training begins, and more so where the redundant input is informative.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, cast

from rote.claims import Assertion, Claim, Estimate, Tables, above, below, mean, paired_difference
from rote.config import at_least
from rote.laboratory import Study, StudyConfig, studies
from rote.laboratory.study import RECORDS_SHOWN
from rote.models import MLPConfig
from rote.recipes import Job, Measurement, Trained, measurements, recipes
from rote.recipes.recipe import Progress
from rote.store import Run, Table
from rote.studies.resistance import published
from rote.studies.resistance.information_tables import PARTS, all_tables
from rote.studies.resistance.plane import PlaneRecipe, training
from rote.tasks.plane import PlaneTask, Setting
from rote.training import TrainingConfig

if TYPE_CHECKING:
    from rote.studies.resistance.information_training import InformedProgram

EARLY = 1 / 16  # of the steps


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
        "Proposition 5 needs two outputs: a second pair of logits learns the sign of X2.",
        "'Early' is the first sixteenth of the steps.",
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
        return [measurement.of(job) for recipe in config.recipes() for job in recipe.jobs(range(config.seeds))]

    def tables(self, config: InformationConfig, measured: Mapping[str, Table]) -> Sequence[Table]:
        curves = measured["curves"]
        return all_tables(curves.records(), EARLY * config.training.steps, curves.columns)

    claims = (
        Claim(
            "plane-gradient-information", "resistance", "Section 4, proposition 1",
            "A prediction has information about an input exactly where its derivative by it is not zero.",
            published.GRADIENT_AND_INFORMATION,
            (
                Assertion(
                    "Rank correlation over training of I(prediction; X2 | X1) and the mean size of the derivative by "
                    "X2, by seed", lambda tables: seed_mean(tables, "redundant", 1, "correlation"),
                    above(0.5, at_all=0.0),
                ),
            ),
            remark="Both are positive in every network at every step, so the equivalence itself cannot fail here; that "
            "both are zero for a network without weights from X2 is checked by a test.",
        ),
        Claim(
            "plane-loss-information", "resistance", "Section 4, proposition 2",
            "As the loss falls, the prediction has more information about the class, and so about the input.",
            published.LOSS_AND_INFORMATION,
            (
                Assertion(
                    "Share of early intervals with falling loss in which I(class; prediction) rises, by seed",
                    lambda tables: seed_mean(tables, "redundant", 1, "rises"), above(0.8, at_all=0.5),
                ),
                Assertion(
                    "Smallest I(input; prediction) - I(class; prediction) of each seed, bits; a theorem, and so a "
                    "test of the estimator", lambda tables: seed_mean(tables, "redundant", 1, "slack"), above(-1e-6),
                    role="control",
                ),
            ),
        ),
        Claim(
            "plane-needed-input", "resistance", "Section 4, proposition 3",
            "Early training makes the prediction depend on the input that decides the class.",
            published.INPUT_MOVES_PREDICTION,
            (
                Assertion(
                    "I(prediction; X1 | X2) early minus untrained, bits",
                    lambda tables: growth(tables, "redundant", 1, "own_given"), above(0.1, at_all=0.0),
                ),
                Assertion(
                    "Mean size of the derivative by X1 early minus untrained",
                    lambda tables: growth(tables, "redundant", 1, "own_gradient"), above(0.1, at_all=0.0),
                ),
            ),
        ),
        Claim(
            "plane-redundant-information", "resistance", "Section 4, proposition 4",
            "Early training makes the prediction depend on the redundant input where that is informative.",
            published.INPUT_MOVES_PREDICTION,
            (
                Assertion(
                    "I(prediction; X2 | X1) early minus untrained, bits",
                    lambda tables: growth(tables, "redundant", 1, "other_given"), above(0.01, at_all=0.0),
                ),
                Assertion(
                    "The same early: redundant minus random X2, same initial weights and X1",
                    lambda tables: against(tables, "random", 1, "other_given_early"), above(0.01, at_all=0.0),
                ),
                Assertion(
                    "The same against uninformative X2 with the corner unseen",
                    lambda tables: against(tables, "narrow", 1, "other_given_early"), above(0.01, at_all=0.0),
                    role="control",
                ),
                Assertion(
                    "Mean derivative by X2 early (it speaks against class 1)",
                    lambda tables: seed_mean(tables, "redundant", 1, "other_slope_early"), below(0.0), role="control",
                ),
                Assertion(
                    "I(prediction; X2 | X1) at the end: redundant minus random X2",
                    lambda tables: against(tables, "random", 1, "other_given_end"), above(0.01, at_all=0.0),
                    role="contrast",
                ),
            ),
            remark="Read literally the proposition says that the derivative is not zero, which holds before training "
            "and with random X2 as well.",
        ),
        Claim(
            "plane-entangled-outputs", "resistance", "Section 4.3, proposition 5",
            "With two outputs, each comes to depend on the input of the other where that is informative.",
            published.OUTPUTS_ARE_ENTANGLED,
            (
                Assertion(
                    "I(output; the other's input | its own) early minus untrained, bits",
                    lambda tables: growth(tables, "redundant", 2, "other_given"), above(0.01, at_all=0.0),
                ),
                Assertion(
                    "The same early: redundant minus random X2",
                    lambda tables: against(tables, "random", 2, "other_given_early"), above(0.01, at_all=0.0),
                ),
                Assertion(
                    "The same at the end", lambda tables: against(tables, "random", 2, "other_given_end"),
                    above(0.01, at_all=0.0), role="contrast",
                ),
                Assertion(
                    "Share of the corner where both outputs are right at the end: redundant minus random X2",
                    lambda tables: against(tables, "random", 2, "corner_end"), below(0.0), role="contrast",
                ),
            ),
        ),
    )  # fmt: skip


def seed_mean(tables: Tables, setting: str, outputs: int, column: str) -> Estimate:
    found = tables["seeds"].where(setting=setting, outputs=outputs).column(column)
    return mean([value for value in found if value is not None])


def growth(tables: Tables, setting: str, outputs: int, name: str) -> Estimate:
    rows = tables["seeds"].where(setting=setting, outputs=outputs)
    return paired_difference(rows.column(f"{name}_early"), rows.column(f"{name}_0"))


def against(tables: Tables, control: str, outputs: int, column: str) -> Estimate:
    seeds = tables["seeds"].where(outputs=outputs)
    return paired_difference(
        seeds.where(setting="redundant").column(column), seeds.where(setting=control).column(column)
    )
