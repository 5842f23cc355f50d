"""Training and test accuracy at every step: source 001, Figures 3a and 3b, as they are plotted there.

The trainings of the studies ``digit-pairs`` and ``scan-jump`` once more, weight for weight, and instead of many pairs
or commands at some steps a small batch at every step: drawn anew each time, as in training but never used there, and
from the test.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from rote.claims import Assertion, Claim, above, inside, mean
from rote.laboratory import studies
from rote.laboratory.aggregate import Row, grouped, interval_columns, interval_values
from rote.recipes import Job, Measurement, Trained, measurements, recipes
from rote.recipes.recipe import Progress
from rote.store import Column, Run, Table
from rote.studies.resistance import digits, published, scan, scan_tables
from rote.studies.resistance.digits import DigitsRecipe
from rote.studies.resistance.digits_and_scan import DigitsAndScanConfig, planned
from rote.studies.resistance.digits_data import OnDigits
from rote.studies.resistance.scan import ScanRecipe
from rote.studies.resistance.summaries import STEP, Rows, accuracy_rows, average, more_in, of
from rote.training import TrainingConfig

if TYPE_CHECKING:
    from rote.studies.resistance.every_step_training import DigitsStepsProgram, ScanStepsProgram


TASKS = {"digits": "digit pairs", "scan": "SCAN"}
MEASURES = {"digits": ("train", "test"), "scan": ("train", "combined", "test")}
PLACES = {"digits": "Figure 3a", "scan": "Figure 3b"}
NOTE = "Each point is measured on a small batch that is drawn anew. redundant, original: A; random: B."
LABELS = (
    Column("task", "digits: digit pairs; scan: SCAN", "label"),
    Column("setting", "redundant, original: the source's A; random: its B", "label"),
    Column("seed", "random seed", "label"),
)
CURVES = (
    *LABELS,
    STEP,
    Column("loss", "on a batch as in training"),
    Column("train", "share of a batch as in training that is right"),
    Column("combined", "SCAN: the same without the copies of the command that is added alone"),
    Column("test", "share of a batch of the test that is right"),
)
SEED_COLUMNS = (
    *LABELS,
    Column("gap", "training minus test accuracy, mean over all steps"),
    Column("combined_gap", "SCAN: the same without the copies of the command that is added alone"),
    Column("early", "training accuracy early: digits, the first quarter of the steps; SCAN, steps 10 to 25"),
    Column("train", "training accuracy, mean over all steps"),
    Column("test", "test accuracy, mean over all steps"),
)


def recorded(task: str, setting: str, seeds: Sequence[int], metrics: Sequence[dict[str, Any]], note: str) -> Table:
    """What was recorded in a training, a row for each seed and step."""
    rows = [
        {"task": task, "setting": setting, "seed": seed, "step": row["step"]}
        | {name: values[index] for name, values in row.items() if name != "step"}
        for row in metrics
        for index, seed in enumerate(seeds)
    ]
    return Table.make("steps", "Every network at every step", CURVES, rows, details=True, note=note)


def all_tables(rows: Rows, early: float, data: str) -> list[Table]:
    """``early``: the last step of digit pairs that counts as early; ``data``: what must be said of the digits."""
    seeds, note = per_seed(rows, early), " ".join(filter(None, (NOTE, data)))
    of_task = {task: [row for row in rows if row["task"] == task] for task in TASKS}
    return [
        _outcome(seeds, note),
        *(_accuracy(task, mine, note if task == "digits" else NOTE) for task, mine in of_task.items()),
        Table.make("seeds", "Every network", SEED_COLUMNS, seeds, details=True, note=note),
        Table.make("steps", "Every network at every step", CURVES, rows, details=True, note=note),
    ]


def per_seed(rows: Rows, early: float) -> list[Row]:
    """Means over the steps after the first update."""
    found = []
    for (task, setting, seed), mine in grouped(rows, ("task", "setting", "seed")).items():
        after = [row for row in mine if row["step"] > 0]
        first, last = scan_tables.EARLY if task == "scan" else (1, max(early, 1))
        train, test = (average(row[name] for row in after) or 0.0 for name in ("train", "test"))
        combined = average(row["combined"] for row in after)
        found.append(
            {
                "task": task, "setting": setting, "seed": seed, "train": train, "test": test, "gap": train - test,
                "combined_gap": None if combined is None else combined - test,
                "early": average(row["train"] for row in after if first <= row["step"] <= last),
            }
        )  # fmt: skip
    return found


def _outcome(seeds: Rows, note: str) -> Table:
    names = ("early", "train", "test", "gap")
    rows = []
    for (task, setting), mine in grouped(seeds, ("task", "setting")).items():
        said = published.CLOSE_IN_B if setting == "random" else None
        row = {"task": TASKS[task], "setting": setting, "seeds": len(mine), "published": said}
        row |= {name: average(one[name] for one in mine) for name in names}
        rows.append({**row, **interval_values(mean([one["gap"] for one in mine]))})
    about = {column.name: column for column in SEED_COLUMNS}
    columns = (
        *LABELS[:2],
        Column("seeds", "networks trained", "label"),
        Column("published", "what the source reports; it gives no numbers", "published"),
        *(about[name] for name in names),
        *interval_columns(),
    )
    return Table.make(
        "outcome", "Training and test accuracy over all steps", columns, rows, place="Figure 3",
        note=f"Means over steps, then over seeds; the interval is the gap's. {note}",
    )  # fmt: skip


def _accuracy(task: str, rows: Rows, note: str) -> Table:
    columns = (
        LABELS[1],
        STEP,
        Column("measure", "train: as in training; combined: without copies of 'jump'; test", "label"),
        Column("mean", "share that is right, mean over seeds"),
        Column("variance", "variance over seeds"),
    )
    return Table.make(
        f"{task}-accuracy", f"Training and test accuracy of {TASKS[task]} at every step", columns,
        accuracy_rows(rows, MEASURES[task]), place=PLACES[task], figure=f"{task}-accuracy", details=True,
        note=f"Bands: one standard deviation over seeds. {note}",
    )  # fmt: skip


INSIDE = "Weights of every step would take more room than everything else."


@recipes.register("digit-pairs-steps")
@dataclass(frozen=True)
class DigitsStepsRecipe(DigitsRecipe):
    """A network of digit pairs that is measured at every step, on a batch that is drawn anew."""

    name = "digit-pairs-steps"
    measured_inside = INSIDE

    def informed_steps(self) -> list[int]:
        return [self.training.steps]

    def program(self, seeds: Sequence[int], device: str) -> DigitsStepsProgram:
        from rote.studies.resistance.digits_training import load
        from rote.studies.resistance.every_step_training import DigitsStepsProgram

        return DigitsStepsProgram(self, seeds[0], load(self), device)


@recipes.register("scan-jump-steps")
@dataclass(frozen=True)
class ScanStepsRecipe(ScanRecipe):
    """Models of SCAN that are measured at every step, on commands that are drawn anew."""

    name = "scan-jump-steps"
    measured_inside = INSIDE

    def recorded_steps(self) -> list[int]:
        return self.training.recorded_steps()

    def informed_steps(self) -> list[int]:
        return [self.training.steps]

    def program(self, seeds: Sequence[int], device: str) -> ScanStepsProgram:
        from rote.studies.resistance.every_step_training import ScanStepsProgram

        return ScanStepsProgram(self, seeds, device)


@measurements.register("every-step")
@dataclass(frozen=True)
class StepsMeasurement(Measurement):
    """The accuracies that were recorded while networks were trained."""

    name = "every-step"
    source = published.SOURCE

    def measure(self, trained: Sequence[Trained], run: Run, progress: Progress, device: str) -> Sequence[Table]:
        from rote.studies.resistance.digits_training import note_of

        (one,) = trained
        task = "digits" if isinstance(one.recipe, DigitsRecipe) else "scan"
        return [recorded(task, one.recipe.label, one.seeds, list(one.run.metrics()), note_of(one.recipe))]


def _each(training: TrainingConfig) -> TrainingConfig:
    return replace(training, record_every=1)


@dataclass(frozen=True)
class EveryStepConfig(DigitsAndScanConfig):
    digits: TrainingConfig = field(default_factory=lambda: _each(digits.training()))
    scan: TrainingConfig = field(default_factory=lambda: _each(scan.training()))
    evaluated: int = 100
    sample: int = 64


@studies.register("every-step")
class EveryStepStudy(OnDigits[EveryStepConfig]):
    """How do training and test accuracy go, step by step, with and without redundant information?"""

    name = "every-step"
    source = published.SOURCE
    place = "Figures 3a and 3b"
    title = "Accuracy at every step"
    about = (
        "Digit pairs and SCAN in the source's settings A, where a redundant component of the input is informative, and "
        "B, where it is not. Training and test accuracy are measured after every update, as the source plots them: on "
        "small batches, because many pairs or commands at every step would take longer than the training."
    )
    deviations = (
        "Every point is measured on a small batch that is drawn anew (evaluated=100 pairs, sample=64 commands, for "
        "training and for test each), not on the whole test set; the source does not say on what it measures. Studies "
        "'digit-pairs' and 'scan-jump' measure the same trainings at fewer steps, on more.",
        "Everything else is as in these two studies, weight for weight, with their deviations. Setting B of SCAN is "
        "that of section 5.2, 'random'.",
        "The source draws mean and variance over five runs; here bands are one standard deviation over six seeds.",
        "Quick: images of 14 x 14 pixels, and of SCAN the first 100 steps, with batches of 64.",
    )
    presets: ClassVar[Mapping[str, Mapping[str, object]]] = {
        "smoke": {
            "data": "stand-in", "seeds": 2, "digits.steps": 6, "evaluated": 10, "scan.steps": 6, "scan.batch": 8,
            "sample": 8,
        },
        "quick": {"side": 14, "evaluated": 40, "scan.steps": 100, "scan.batch": 64, "sample": 32},
        "paper": {"data": "mnist"},
    }  # fmt: skip
    fixed: ClassVar[Mapping[str, str]] = planned("digits", "scan")
    optional = ("data",)
    default = EveryStepConfig()

    def jobs(self, config: EveryStepConfig) -> list[Job]:
        of_digits = [config.digits_recipe(DigitsStepsRecipe, setting) for setting in ("redundant", "random")]
        of_scan = [config.scan_recipe(ScanStepsRecipe, setting) for setting in ("original", "random")]
        return [
            StepsMeasurement().of(job) for recipe in (*of_digits, *of_scan) for job in recipe.jobs(config.seed_numbers)
        ]

    def tables(self, config: EveryStepConfig, measured: Mapping[str, Table]) -> Sequence[Table]:
        steps = measured["steps"]
        return all_tables(steps.records(), digits.EARLY * config.digits.steps, steps.note)

    claims = (
        Claim(
            "digits-gap-throughout", "resistance", "Figure 3a",
            "All through training, training and test accuracy on digit pairs are farther apart in A than in B, where "
            "they are close.",
            published.CLOSE_IN_B,
            (
                Assertion(
                    "Training minus test accuracy, mean over all steps: A minus B",
                    more_in("redundant", "random", "gap", task="digits"), above(0),
                ),
                Assertion(
                    "Training minus test accuracy in B, mean over all steps", of("random", "gap", task="digits"),
                    inside(-0.05, 0.05),
                ),
                Assertion(
                    "Training accuracy, mean over every step of the first quarter: A minus B",
                    more_in("redundant", "random", "early", task="digits"), above(0), role="report",
                ),
            ),
            remark="'Close' as in the claim digits-gap: within 0.05.",
        ),
        Claim(
            "scan-gap-throughout", "resistance", "Figure 3b",
            "All through training, training and test accuracy on SCAN are farther apart in A than in B, where they are "
            "close.",
            published.CLOSE_IN_B,
            (
                Assertion(
                    "Training minus test accuracy, mean over all steps: A minus B",
                    more_in("original", "random", "gap", task="scan"), above(0),
                ),
                Assertion(
                    "Training minus test accuracy in B, mean over all steps", of("random", "gap", task="scan"),
                    inside(-0.1, 0.1),
                ),
                Assertion(
                    "The same without the copies of 'jump': A minus B",
                    more_in("original", "random", "combined_gap", task="scan"), above(0), role="rival",
                ),
                Assertion(
                    "Training accuracy, mean over every step from 10 to 25: A minus B",
                    more_in("original", "random", "early", task="scan"), above(0), role="report",
                ),
            ),
            remark="'Close' as in the claim scan-gap: within 0.1. As long as A has learned nothing but the command "
            "'jump', the gap is that one command's; without its copies it shows whether more is behind it.",
        ),
    )  # fmt: skip
