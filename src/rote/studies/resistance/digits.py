"""Digit pairs: source 001, section 5.1 and appendix A, Figure 3a; with the information of section 4, and remedies.

The source gives the network (appendix A), hinge loss, Adam at 0.001, batch 64, 200 steps and five seeds. What it
leaves open or says in two ways: see ``deviations``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from rote.claims import Assertion, Claim, above, below, inside
from rote.config import above_zero, at_least, below_one
from rote.laboratory import StudyConfig, studies
from rote.laboratory.study import RECORDS_SHOWN
from rote.models import CNNConfig
from rote.recipes import Job, Measurement, Network, Recipe, Trained, measurements, recipes
from rote.recipes.recipe import Progress
from rote.store import Run, Table
from rote.studies.resistance import digits_tables, published
from rote.studies.resistance.digits_data import AnyData, Data, OnDigits, on_this_machine
from rote.studies.resistance.summaries import difference, more_in, of
from rote.tasks.digits import CLASSES, DigitsTask
from rote.training import TrainingConfig

if TYPE_CHECKING:
    from torch import nn

    from rote.studies.resistance.digits_training import DigitsProgram

EARLY = 0.25  # share of the steps that counts as early
Loss = Literal["one_vs_all", "crammer_singer"]


def training() -> TrainingConfig:
    """As published, and recorded every fifth step."""
    return TrainingConfig(steps=200, batch=64, optimizer="adam", learning_rate=0.001, record_every=5)


@recipes.register("digit-pairs")
@dataclass(frozen=True)
class DigitsRecipe(Recipe):
    """A convolutional network that names the left one of two digits."""

    name = "digit-pairs"
    source = published.SOURCE
    measured_inside = "Weights of every recorded step would take more room than everything else: 41 times half a MB."
    task: DigitsTask = field(default_factory=DigitsTask)
    model: CNNConfig = field(default_factory=CNNConfig)
    training: TrainingConfig = field(default_factory=training)
    loss: Loss = "one_vs_all"
    data: Data = "stand-in"
    side: int = 28  # pixels of an image in height and width; larger ones are averaged down
    evaluated: int = 1000  # pairs that an accuracy is measured on while it is trained
    remedy: str = ""  # what is tried against the use of the right digit; its values are in the fields above

    @property
    def label(self) -> str:
        return self.remedy or self.task.setting

    def informed_steps(self) -> list[int]:
        """Steps whose weights are kept: all early recorded ones, then a few; of a remedy the first and the last."""
        steps, last = self.training.recorded_steps(), self.training.steps
        if self.remedy:
            return [0, last]
        return [step for step in steps if step <= EARLY * last or step % max(1, last // 4) == 0 or step == last]

    def fit(self, trained: Sequence[Trained], run: Run, progress: Progress, device: str) -> None:
        from rote.studies.resistance.digits_training import load
        from rote.training import train

        run.note(data=load(self).sha256)
        program = self.program(run.request.seeds, device)
        train(program, self.training, run, progress=progress, snapshots=self.informed_steps())

    def program(self, seeds: Sequence[int], device: str) -> DigitsProgram:
        from rote.studies.resistance.digits_training import DigitsProgram, load

        return DigitsProgram(self, seeds[0], load(self), device)

    def untrained(self, size: tuple[int, int], seed: int) -> nn.Module:
        """The network before training, for images of so many pixels in height and width."""
        from rote.models import CNN

        return CNN(size, CLASSES, self.model, seed, self.training.torch_dtype())

    def closed(self) -> str:
        return "Its networks read pictures, not symbols. What they do is in the report: rote report."

    def network(self, trained: Trained, weights: Mapping[str, Any], index: int) -> Network:
        from rote.models.fitting import fitted
        from rote.studies.resistance.digits_training import load, make_network

        size = max(self.model.depths) * self.model.hidden
        model = fitted(lambda: make_network(self, load(self), trained.seeds[0]), weights, trained.run.folder, size)
        return Network(model.eval())


@measurements.register("digit-pairs")
@dataclass(frozen=True)
class DigitsMeasurement(Measurement):
    """The accuracies of a network over its training, and what its prediction takes from each digit at kept steps."""

    name = "digit-pairs"
    source = published.SOURCE
    crossed: int = 4  # images of each class and side, all combined with all, that the information is measured on
    gradients: int = 128  # of these combinations, how many the gradients are measured on

    def measure(self, trained: Sequence[Trained], run: Run, progress: Progress, device: str) -> Sequence[Table]:
        from rote.studies.resistance.digits_training import measured

        return [measured(self, trained[0], progress, device)]


@dataclass(frozen=True)
class DigitsConfig(StudyConfig):
    model: CNNConfig = field(default_factory=CNNConfig)
    training: TrainingConfig = field(default_factory=training)
    loss: Loss = "one_vs_all"
    data: AnyData = "auto"  # auto: MNIST where it is or can be had, else the stand-in
    side: int = 28
    evaluated: int = 1000
    crossed: int = 4
    gradients: int = 128
    remedies: bool = True  # also train setting A with each of the remedies
    noise: float = 1.0  # remedy: standard deviation of noise on the right image in training; ink is 1
    dropout: float = 0.5  # remedy: of the fully connected layer's inputs and outputs
    slower: float = 0.3  # remedy: factor of the learning rate

    def __post_init__(self) -> None:
        at_least(self, 1, "seeds", "evaluated", "crossed", "gradients")
        at_least(self, 8, "side")
        at_least(self, 0, "noise")
        below_one(self, "dropout")
        above_zero(self, "slower")

    def unused(self) -> dict[str, str]:
        unused = {} if self.remedies else dict.fromkeys(("noise", "dropout", "slower"), "it belongs to remedies=true.")
        return unused | ({"side": "the stand-in has 8 x 8 pixels."} if self.data == "stand-in" else {})

    def recipes(self) -> list[DigitsRecipe]:
        """Settings A and B of the source, and A with each of the remedies."""
        data = on_this_machine(self.data)
        a = DigitsRecipe(DigitsTask(), self.model, self.training, self.loss, data, self.side, self.evaluated)
        b = replace(a, task=DigitsTask("random"))
        slow = replace(self.training, learning_rate=self.training.learning_rate * self.slower)
        remedies = [
            replace(a, remedy="noise", task=replace(a.task, noise=self.noise)),
            replace(a, remedy="dropout", model=replace(self.model, dropout=self.dropout)),
            replace(a, remedy="slow", training=slow),
        ]
        return [a, b, *(remedies if self.remedies else [])]


@studies.register("digit-pairs")
class DigitPairsStudy(OnDigits[DigitsConfig]):
    """Does a network name the left one of two digits by the left one alone, when the right one tells much of it too?"""

    name = "digit-pairs"
    source = published.SOURCE
    place = "Section 5.1, appendix A, Figure 3a"
    title = "Pairs of digits"
    about = (
        "Two digits side by side; the class is the left one. In setting A ('redundant') the right one is the same or "
        "the next digit, in setting B ('random') it is any. The test has the combinations that A never shows. A "
        "network that composes looks at the left digit only and does as well in the test as in training."
    )
    deviations = (
        "Appendix A lists two convolutions and the output layer twice, section 5.1 says three convolutions: two here, "
        "without padding, one hidden layer of 64 and an output of 10 (model.depths=32,64,64 adds a third).",
        "Left open by the source and chosen here: one-vs-all hinge loss (loss=crammer_singer is the other), pixels "
        "from 0 to 1, Glorot uniform weights, zero biases, Adam's epsilon 1e-8, training accuracy on fresh pairs of "
        "the training distribution rather than on the batch.",
        "The source plots every step. The trainings of this study are recorded every fifth step, at quick every tenth, "
        "so that accuracies can be measured on many pairs; study 'every-step' has all steps, on small batches.",
        "Quick averages the images down to 14 x 14 pixels and measures on fewer pairs.",
        "The information and the remedies are ours: the source measures accuracies only.",
    )
    presets: ClassVar[Mapping[str, Mapping[str, object]]] = {
        "smoke": {
            "data": "stand-in", "seeds": 2, "training.steps": 8, "training.record_every": 2, "evaluated": 40,
            "crossed": 1, "gradients": 8,
        },
        "quick": {
            "side": 14, "training.record_every": 10, "evaluated": 200, "crossed": 2, "gradients": 32,
        },
        "paper": {"data": "mnist", "evaluated": 500},
    }  # fmt: skip
    fixed: ClassVar[Mapping[str, str]] = {
        **RECORDS_SHOWN,
        "training.patience": "networks are measured at planned steps, up to the last.",
    }
    optional = ("data", "remedies", "noise", "dropout", "slower")  # other data are named as such
    default = DigitsConfig()

    def jobs(self, config: DigitsConfig) -> list[Job]:
        measurement = DigitsMeasurement(config.crossed, config.gradients)
        return [measurement.of(job) for recipe in config.recipes() for job in recipe.jobs(config.seed_numbers)]

    def tables(self, config: DigitsConfig, measured: Mapping[str, Table]) -> Sequence[Table]:
        curves = measured["curves"]
        return digits_tables.all_tables(curves.records(), EARLY * config.training.steps, curves.columns, curves.note)

    claims = (
        Claim(
            "digits-faster", "resistance", "Section 5.1, Figure 3a",
            "Training accuracy rises faster when the right digit tells much of the class.",
            published.TRAINS_FASTER,
            (
                Assertion(
                    "Training accuracy, mean over the first quarter of the steps: A minus B, same initial weights and "
                    "left digits", more_in("redundant", "random", "early_train"), above(0),
                ),
                Assertion(
                    "Training accuracy before the first step: A minus B", more_in("redundant", "random", "train_0"),
                    inside(-0.05, 0.05), role="report",
                ),
            ),
            remark="Each setting is measured on pairs of its own training distribution, as published.",
        ),
        Claim(
            "digits-gap", "resistance", "Section 5.1, Figure 3a",
            "The gap between training and test accuracy is larger when the right digit tells much of the class.",
            published.LARGER_GAP,
            (
                Assertion(
                    "Training minus test accuracy at the end: A minus B", more_in("redundant", "random", "gap"),
                    above(0),
                ),
                Assertion(
                    "Training accuracy at the end in A", of("redundant", "train"), above(0.5), role="condition",
                    scale="unit",
                ),
                Assertion(
                    "Training minus test accuracy at the end in B", of("random", "gap"), inside(-0.05, 0.05),
                    role="rival",
                ),
            ),
            remark="Figure 3 calls training and test 'close' in B: within 0.05, about what the pairs of preset quick "
            "resolve (two standard errors).",
        ),
        Claim(
            "digits-redundant-input", "resistance", "Section 4.2, proposition 4",
            "Early in training the prediction depends more on the right digit where that tells much of the class; the "
            "dependence stays.",
            published.INPUT_MOVES_PREDICTION,
            (
                Assertion(
                    "I(prediction; right | left), mean over the first quarter of the steps, bits: A minus B",
                    more_in("redundant", "random", "early_given"), above(0),
                ),
                Assertion(
                    "I(prediction; right | left) at the end, bits: A minus B", more_in("redundant", "random", "given"),
                    above(0),
                ),
                Assertion(
                    "Gradient by the right image over that by the left at the end: A over B",
                    of("redundant", "ratio").log_ratio(of("random", "ratio")), above(0), scale="log",
                ),
                Assertion(
                    "I(prediction; right | left) in A: end minus untrained network, bits",
                    difference("redundant", "given", "given_0"), above(0), role="rival",
                ),
                Assertion(
                    "I(prediction; right | left) in B: end minus untrained network, bits",
                    difference("random", "given", "given_0"), below(0), role="report",
                ),
            ),
            kind="implied",
            remark="Read literally the proposition says that the gradient is not zero, which holds before training and "
            "in B as well. What training does differently in A is the test. Where it does not grow in A either, B has "
            "unlearned the right digit and A has kept it.",
        ),
    )  # fmt: skip
