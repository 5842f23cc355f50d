"""Where training goes in parameter space: source 001, Figure 1 (right), made measurable.

The source draws gradient descent as moving towards theta_B, a solution that does not compose, rather than theta_A, one
that does. Here both are networks with the same initial weights. Theta_B is what training on setting A finds. Theta_A is
the nearest of several that compose: trained where the redundant input says nothing, the same trained further on setting
A, and, on the plane, networks whose redundant input is cut off and one that is written by hand into initial weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from rote.claims import Assertion, Claim, PerSeed, above, below, column
from rote.config import above_zero, at_least
from rote.laboratory import studies
from rote.models import MLPConfig
from rote.recipes import Job, Measurement, Trained, measurements, recipes
from rote.recipes.recipe import Progress
from rote.store import Run, Table
from rote.studies.resistance import plane, published, solutions_tables
from rote.studies.resistance.digits import DigitsRecipe
from rote.studies.resistance.digits_and_scan import DigitsAndScanConfig, planned
from rote.studies.resistance.digits_data import OnDigits
from rote.studies.resistance.plane import PlaneRecipe
from rote.studies.resistance.scan import ScanRecipe
from rote.studies.resistance.solutions_tables import SOLVED
from rote.tasks.digits import DigitsTask
from rote.tasks.plane import PlaneTask
from rote.tasks.scan_examples import ScanTask
from rote.training import TrainingConfig


class Further:
    """A recipe whose networks are those of another one, ``start``, trained further."""

    start: Any
    task: Any
    training: TrainingConfig
    program: Any

    @property
    def label(self) -> str:
        return f"{self.start.label}, then {self.task.setting}"

    def needs(self, seeds: Sequence[int]) -> list[Job]:
        found: list[Job] = self.start.jobs(seeds)
        return found

    def fit(self, trained: Sequence[Trained], run: Run, progress: Progress, device: str) -> None:
        from rote.training import train

        program = self.program(run.request.seeds, device)
        program.model.load_state_dict(trained[0].weights())
        train(program, self.training, run, progress=progress)


@recipes.register("plane-tuned")
@dataclass(frozen=True)
class TunedPlaneRecipe(Further, PlaneRecipe):
    """Networks on the plane that learned with an uninformative X2, trained further as published."""

    name = "plane-tuned"
    start: PlaneRecipe = field(default_factory=lambda: PlaneRecipe(PlaneTask("random")))


@recipes.register("digit-pairs-tuned")
@dataclass(frozen=True)
class TunedDigitsRecipe(Further, DigitsRecipe):
    """A network that learned digit pairs with any right digit, trained further in setting A."""

    name = "digit-pairs-tuned"
    start: DigitsRecipe = field(default_factory=lambda: DigitsRecipe(DigitsTask("random")))


@recipes.register("scan-jump-tuned")
@dataclass(frozen=True)
class TunedScanRecipe(Further, ScanRecipe):
    """Models of SCAN that learned with random action words, trained further in setting A."""

    name = "scan-jump-tuned"
    start: ScanRecipe = field(default_factory=lambda: ScanRecipe(ScanTask(setting="random")))


@measurements.register("solutions")
@dataclass(frozen=True)
class SolutionsMeasurement(Measurement):
    """How far solutions are from the initial weights, and what the loss is on the straight way there."""

    name = "solutions"
    source = published.SOURCE
    points: int = 11  # of a straight way, both ends counted
    batches: int = 16  # whose mean gradient is taken at the initial weights
    grid: int = 25  # points per side of the picture of the loss between three networks, on the plane

    def measure(self, trained: Sequence[Trained], run: Run, progress: Progress, device: str) -> Sequence[Table]:
        from rote.studies.resistance.solutions_training import measured

        return measured(self, trained, progress, device)


@dataclass(frozen=True)
class SolutionsConfig(DigitsAndScanConfig):
    plane: TrainingConfig = field(default_factory=plane.training)
    plane_seeds: int = 64
    tuning: float = 0.25  # steps of the further training in setting A, as a share of those before
    points: int = 11
    batches: int = 16
    grid: int = 25

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(self, 1, "plane_seeds", "batches")
        at_least(self, 2, "points", "grid")
        above_zero(self, "tuning")

    def further(self, training: TrainingConfig) -> TrainingConfig:
        return replace(training, steps=max(1, round(self.tuning * training.steps)))

    def plane_recipes(self) -> list[PlaneRecipe]:
        """What training finds in setting A, without informative X2, and from there in setting A."""
        a = PlaneRecipe(PlaneTask(), MLPConfig(), self.plane)
        controls = [replace(a, task=PlaneTask("random")), replace(a, task=PlaneTask("narrow"))]
        tuned = [
            TunedPlaneRecipe(PlaneTask(), MLPConfig(), self.further(self.plane), start=control) for control in controls
        ]
        return [a, *controls, *tuned]

    def digits_recipes(self) -> list[DigitsRecipe]:
        a, b = (self.digits_recipe(DigitsRecipe, setting) for setting in ("redundant", "random"))
        tuned = self.digits_recipe(TunedDigitsRecipe, "redundant", start=b)
        return [a, b, replace(tuned, training=self.further(self.digits))]

    def scan_recipes(self) -> list[ScanRecipe]:
        a, b = (self.scan_recipe(ScanRecipe, setting) for setting in ("original", "random"))
        tuned = self.scan_recipe(TunedScanRecipe, "original", start=b)
        return [a, b, replace(tuned, training=self.further(self.scan))]


def _closer(task: str, title: str, place: str) -> Claim:
    """The sentence of Figure 1, on one task."""

    def of(name: str) -> PerSeed:
        return column("nearest", name, task=task)

    return Claim(
        f"solutions-{task}", "resistance", place,
        f"From the same initial weights on {title}, training in setting A goes to a solution that does not compose and "
        "is nearer than the nearest one that does.",
        published.CLOSER_TO_B,
        (
            Assertion(
                "Distance from the initial weights: nearest solution that composes minus the one that training finds",
                of("distance") - of("found_distance"), above(0),
            ),
            Assertion(
                "Cosine of the first descent direction with the way there: the one that training finds minus the "
                "nearest that composes",
                of("found_cosine") - of("cosine"), above(0),
            ),
            Assertion(
                "Whether what training finds composes: 1, or 0 where it does not", of("found_composes"), below(0.5),
                role="condition", scale="unit",
            ),
            Assertion(
                "Training accuracy of what training finds", of("found_train"), above(SOLVED[task]), role="condition",
                scale="unit",
            ),
            Assertion(
                "Loss in setting A: nearest that composes minus found", of("loss") - of("found_loss"), below(0),
                role="report",
            ),
            Assertion(
                "Highest loss on the straight way above that at its beginning: nearest that composes minus found",
                of("rise") - of("found_rise"), above(0),
                role="report",
            ),
            Assertion(
                "Mean loss on the straight way: nearest that composes minus found",
                of("way") - of("found_way"), above(0),
                role="report",
            ),
            Assertion(
                "Barrier between the two: highest loss on the straight way above both ends",
                of("barrier"), above(0), role="report",
            ),
            Assertion(
                "Training minus test accuracy of a network that composed, after minus before it learns setting A",
                of("tuned_gap") - of("before_gap"), above(0),
                role="report",
            ),
        ),
        kind="implied",
        remark="The source draws it and measures nothing. 'Closer' is read as the distance from the initial weights, "
        "'encourages' as the direction of the first gradient. The nearest of several known solutions is no proof that "
        "there is none nearer; to take the nearest of them is the hardest test of the sentence.",
    )  # fmt: skip


@studies.register("solutions")
class SolutionsStudy(OnDigits[SolutionsConfig]):
    """Is a solution that composes farther from the initial weights than the one that training finds?"""

    name = "solutions"
    source = published.SOURCE
    place = "Figure 1"
    title = "Solutions in parameter space"
    about = (
        "The source draws gradient descent as moving towards a solution that does not compose (theta_B) rather than "
        "one that does (theta_A). Here both start from the same weights: what training in setting A finds, and the "
        "nearest of several solutions that compose. Measured are the distance from the initial weights, the loss on "
        "the straight way, and the direction of the first gradient."
    )
    deviations = (
        "All of it is ours: Figure 1 is a conceptual drawing, and the source measures nothing in parameter space.",
        "Solutions that compose are those that we know how to find or to write: trained where the redundant input says "
        "nothing (setting B; on the plane also 'narrow'), trained further in setting A from there (tuning=0.25 of the "
        "steps), and on the plane with X2 cut off, or written by hand into the initial weights.",
        "A network composes where at most 1 % of the plane's corner is wrong; of digit pairs and SCAN, where training "
        "and test accuracy differ by less than 0.05 and 0.1, as in the claims on gaps. It must also solve setting A.",
        "The loss is that of setting A on a sample; ways are straight lines, on which it is measured at some points.",
        "Networks and presets are those of the studies 'plane', 'digit-pairs' and 'scan-jump', with their deviations.",
    )
    presets: ClassVar[Mapping[str, Mapping[str, object]]] = {
        "smoke": {
            "data": "stand-in", "seeds": 2, "plane_seeds": 5, "plane.steps": 16, "digits.steps": 8,
            "digits.record_every": 2, "evaluated": 40, "scan.steps": 8, "scan.batch": 8, "sample": 16,
            "points": 3, "batches": 2, "grid": 5,
        },
        "quick": {
            "side": 14, "digits.record_every": 10, "evaluated": 200, "scan.steps": 400, "scan.batch": 64,
            "sample": 256, "points": 6, "batches": 8,
        },
        "paper": {"data": "mnist", "plane_seeds": 256, "evaluated": 500},
    }  # fmt: skip
    fixed: ClassVar[Mapping[str, str]] = planned("plane", "digits", "scan")
    optional = ("data", "plane_seeds", "grid")
    own_scale = True
    default = SolutionsConfig()

    def jobs(self, config: SolutionsConfig) -> list[Job]:
        measurement = SolutionsMeasurement(config.points, config.batches, config.grid)
        first = config.first_seed
        found = []
        for recipes_of, seeds in (
            (config.digits_recipes(), config.seed_numbers),
            (config.scan_recipes(), config.seed_numbers),
            (config.plane_recipes(), range(first, first + config.plane_seeds)),
        ):
            groups = zip(*(recipe.jobs(seeds) for recipe in recipes_of), strict=True)
            found += [measurement.of(*group) for group in groups]
        return found

    def tables(self, config: SolutionsConfig, measured: Mapping[str, Table]) -> Sequence[Table]:
        return solutions_tables.all_tables(measured)

    claims = (
        _closer("plane", "the plane", "Figure 1; section 6"),
        _closer("digits", "digit pairs", "Figure 1; section 5.1"),
        _closer("scan", "SCAN", "Figure 1; section 5.2"),
    )
