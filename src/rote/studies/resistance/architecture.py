"""Is the architecture alone enough? Source 001, sections 1 and 7: many structures, the same measure of composing.

The source concludes from its propositions that "model structure design alone" will not do, and tests one structure for
each task. Here are panels of them, all trained in setting A, with a positive control: a structure that separates the
components, so that it cannot but compose.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from rote.claims import Assertion, Claim, Region, above, column, inside, mean
from rote.config import at_least
from rote.laboratory import studies
from rote.laboratory.aggregate import Row, grouped, interval_columns, interval_values
from rote.models import MLPConfig
from rote.models.structures import HalvesConfig, TranslatorFormConfig
from rote.recipes import Job, Measurement, Recipe, Trained, measurements
from rote.recipes.recipe import Progress
from rote.store import Column, Run, Table
from rote.studies.resistance import plane, published
from rote.studies.resistance.architecture_recipes import (
    DigitsStructureRecipe,
    PlaneStructureRecipe,
    ScanStructureRecipe,
)
from rote.studies.resistance.digits_and_scan import DigitsAndScanConfig, planned
from rote.studies.resistance.digits_data import OnDigits
from rote.studies.resistance.plane_tables import COMPOSITIONAL
from rote.studies.resistance.scan import ScanRecipe
from rote.studies.resistance.solutions_tables import CLOSE as CLOSE_ELSEWHERE
from rote.studies.resistance.solutions_tables import SOLVED, TASKS
from rote.studies.resistance.summaries import Rows, average
from rote.tasks.plane import PlaneTask
from rote.training import TrainingConfig

CLOSE = {"plane": COMPOSITIONAL, **CLOSE_ELSEWHERE}
CONTROL = {"plane": "3 x 8, separated", "digits": "32-64, separated", "scan": "lstm, separated"}
LABELS = (
    Column("task", "plane, digits (digit pairs) or scan (SCAN)", "label"),
    Column(
        "structure",
        "plane: layers x units, and the activation; digits: depths of the convolutions; scan: cell and attention",
        "label",
    ),
    Column("seed", "random seed", "label"),
)
MEASURED = (
    Column("parameters", "of one network"),
    Column("loss", "of setting A, on a sample"),
    Column("train", "accuracy in setting A"),
    Column("test", "accuracy on what setting A never shows"),
    Column("gap", "training minus test accuracy; plane: seen quadrant minus corner, both of class 1"),
)
STRUCTURES = (*LABELS, *MEASURED)
SEED_COLUMNS = (*STRUCTURES, Column("learned_gap", "the gap of a network that learned setting A"))
NOTE = (
    "All in setting A. Learned: a training accuracy above 0.95 on the plane, 0.5 elsewhere. Complete: learned, and a "
    "gap of at most 0.01 on the plane, 0.05 on digit pairs, 0.1 on SCAN. separated: the positive control."
)


def all_tables(rows: Rows, data: str) -> list[Table]:
    """``data``: what must be said of the digits."""
    note = " ".join(filter(None, (NOTE, data)))
    seeds = [{**row, "learned_gap": row["gap"] if row["train"] > SOLVED[row["task"]] else None} for row in rows]
    return [
        _panel(seeds, note),
        Table.make("seeds", "Every network", SEED_COLUMNS, seeds, details=True, note=note),
    ]


def _panel(seeds: Rows, note: str) -> Table:
    rows = []
    for task in TASKS:
        mine = [row for row in seeds if row["task"] == task]
        for (structure,), group in grouped(mine, ("structure",)).items():
            rows.append(_row(task, structure, group))
    columns = (
        *LABELS[:2],
        Column("seeds", "networks trained", "label"),
        MEASURED[0],
        Column("train", "accuracy in setting A, mean over seeds"),
        Column("test", "accuracy on what setting A never shows, mean over seeds"),
        Column("gap", f"{MEASURED[-1].about}, mean over seeds"),
        *interval_columns("gap"),
        Column("learned", "share of seeds that learned setting A"),
        Column("complete", "share of seeds that learned it and compose"),
    )
    return Table.make(
        "panel", "Architectures that learned with an informative redundant input", columns, rows,
        place="Sections 1 and 7", figure="architecture-panel", note=f"The source: {published.STRUCTURE_ALONE}. {note}",
    )  # fmt: skip


def _row(task: str, structure: str, group: Rows) -> Row:
    gap = mean([row["gap"] for row in group])
    learned = [row["learned_gap"] for row in group if row["learned_gap"] is not None]
    return {
        "task": TASKS[task], "structure": structure, "seeds": len(group), "parameters": group[0]["parameters"],
        "train": average(row["train"] for row in group), "test": average(row["test"] for row in group),
        "gap": gap.value, **interval_values(gap, "gap"), "learned": len(learned) / len(group),
        "complete": sum(value <= CLOSE[task] for value in learned) / len(group),
    }  # fmt: skip


# By task: those that are judged, and those that the full panel adds.
PLANE = (
    *(MLPConfig(8, layers) for layers in (1, 2, 3, 4, 5)),
    *(MLPConfig(units, 3) for units in (4, 16, 32, 64)),
    MLPConfig(8, 3, "tanh"),
)
MORE_PLANE = (
    *(MLPConfig(units, layers) for layers in (1, 2, 4, 5) for units in (4, 16, 32, 64)),
    MLPConfig(8, 3, "sigmoid"),
    MLPConfig(64, 3, "tanh"),
)
DIGITS = tuple(HalvesConfig(structure=structure) for structure in ("joint", "shared", "summed", "attention"))
MORE_DIGITS = (HalvesConfig((32,)), HalvesConfig((8, 16)), HalvesConfig((64, 128)), HalvesConfig(hidden=256))
SCAN = (TranslatorFormConfig(), TranslatorFormConfig("gru"))
MORE_SCAN = (
    TranslatorFormConfig("elman"),
    TranslatorFormConfig(attention="additive"),
    TranslatorFormConfig(attention="none"),
    TranslatorFormConfig(hidden=32),
)


@measurements.register("architecture")
@dataclass(frozen=True)
class ArchitectureMeasurement(Measurement):
    """Training and test accuracy of networks of one structure at the end of their training."""

    name = "architecture"
    source = published.SOURCE

    def measure(self, trained: Sequence[Trained], run: Run, progress: Progress, device: str) -> Sequence[Table]:
        from rote.studies.resistance.architecture_training import measured

        return [measured(trained[0], device)]


@dataclass(frozen=True)
class ArchitectureConfig(DigitsAndScanConfig):
    plane: TrainingConfig = field(default_factory=plane.training)
    plane_seeds: int = 64
    full: bool = True  # more sizes, cells and forms of attention than those that are judged

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(self, 1, "plane_seeds")

    def plane_recipes(self) -> list[PlaneStructureRecipe]:
        sizes = (*PLANE, *(MORE_PLANE if self.full else ()))
        joint = [PlaneStructureRecipe(PlaneTask(), size, self.plane) for size in sizes]
        apart = [
            PlaneStructureRecipe(PlaneTask(), MLPConfig(), self.plane, structure="summed"),
            PlaneStructureRecipe(PlaneTask(), MLPConfig(), self.plane, structure="separated"),
        ]
        return [*joint, *apart]

    def digits_recipes(self) -> list[DigitsStructureRecipe]:
        models = (*DIGITS, *(MORE_DIGITS if self.full else ()), HalvesConfig(structure="separated"))
        return [self.digits_recipe(DigitsStructureRecipe, "redundant", model) for model in models]

    def scan_recipes(self) -> list[ScanRecipe]:
        """The published one is that of the study 'scan-jump', which has trained it already."""
        models = (*SCAN[1:], *(MORE_SCAN if self.full else ()), TranslatorFormConfig(separated=True))
        others = [self.scan_recipe(ScanStructureRecipe, "original", model) for model in models]
        return [self.scan_recipe(ScanRecipe, "original"), *others]


def _not_complete(task: str, title: str, place: str, structures: Sequence[Recipe], control: Region) -> Claim:
    """The sentence on one task: none of these structures composes, the one that separates does."""

    def gap(structure: str) -> Assertion:
        return Assertion(
            f"Gap of {structure}", column("seeds", "learned_gap", task=task, structure=structure), above(CLOSE[task])
        )

    return Claim(
        f"architecture-{task}", "resistance", place,
        f"On {title}, none of several standard architectures alone achieves complete compositionality.",
        published.STRUCTURE_ALONE,
        (
            *(gap(recipe.label) for recipe in structures),
            Assertion(
                "Gap where each component has a network of its own",
                column("seeds", "learned_gap", task=task, structure=CONTROL[task]), control, role="condition",
            ),
        ),
        kind="implied",
        remark="The source concludes it from its propositions; it tests one structure for each task. The gap is "
        "training minus test accuracy, on the plane the wrong share of the corner minus that of the quadrant below "
        f"it, which was seen. Complete means at most {CLOSE[task]:g}, as in the claims of this task's study. A network "
        "that did not learn setting A counts against the claim. The structure that separates the components is told by "
        "hand which input belongs to which output; it shows that the measure can tell.",
    )  # fmt: skip


@studies.register("architecture")
class ArchitectureStudy(OnDigits[ArchitectureConfig]):
    """Does any standard architecture compose by itself when a redundant input is informative?"""

    name = "architecture"
    source = published.SOURCE
    place = "Sections 1 and 7"
    title = "Architecture alone"
    about = (
        "The source concludes that to design the structure of a model alone is not likely to achieve complete "
        "compositionality. Here many structures learn the plane, digit pairs and SCAN in setting A, and the same gap "
        "between what was and what was not shown is measured for all. A structure that gives each component a network "
        "of its own cannot but compose: the positive control."
    )
    deviations = (
        "The panel is ours: the source trains one structure for each task and concludes the rest from propositions.",
        "The positive control is told by hand which part of the input belongs to which part of the output, as g and h "
        "of the source's Figure 2 would: the plane's network reads X1 only, that of digit pairs the left image only, "
        "and in SCAN's all action words look alike but for a table that names the action of the attended word.",
        "'summed' has a network for each input and adds their outputs; 'shared' reads either image with one network; "
        "'attention' mixes what that network says of both images.",
        "Quick: only the structures that are judged; 150 steps of digit pairs on the stand-in, 400 steps of SCAN with "
        "batches of 64. Preset paper adds all sizes of the plane, and more stacks, cells and attention.",
        "Everything else is as in the studies 'plane', 'digit-pairs' and 'scan-jump', with their deviations.",
    )
    presets: ClassVar[Mapping[str, Mapping[str, object]]] = {
        "smoke": {
            "data": "stand-in", "seeds": 2, "plane_seeds": 3, "plane.steps": 8, "digits.steps": 3, "evaluated": 10,
            "scan.steps": 3, "scan.batch": 8, "sample": 8, "full": False,
        },
        "quick": {
            "data": "stand-in", "plane_seeds": 32, "digits.steps": 150, "digits.record_every": 150, "evaluated": 1000,
            "scan.steps": 400, "scan.batch": 64, "sample": 256, "full": False,
        },
        "paper": {"data": "mnist"},
    }  # fmt: skip
    fixed: ClassVar[Mapping[str, str]] = planned("plane", "digits", "scan")
    optional = ("data", "plane_seeds", "full")
    own_scale = True
    default = ArchitectureConfig()

    def jobs(self, config: ArchitectureConfig) -> list[Job]:
        measurement, first = ArchitectureMeasurement(), config.first_seed
        on_plane = range(first, first + config.plane_seeds)
        trainings = [
            *(job for recipe in config.digits_recipes() for job in recipe.jobs(config.seed_numbers)),
            *(job for recipe in config.scan_recipes() for job in recipe.jobs(config.seed_numbers)),
            *(job for recipe in config.plane_recipes() for job in recipe.jobs(on_plane)),
        ]
        return [measurement.of(job) for job in trainings]

    def tables(self, config: ArchitectureConfig, measured: Mapping[str, Table]) -> Sequence[Table]:
        return all_tables(measured["structures"].records(), measured["structures"].note)

    claims = (
        _not_complete(
            "plane", "the plane", "Sections 1, 6 and 7",
            [
                *(PlaneStructureRecipe(model=size) for size in PLANE),
                PlaneStructureRecipe(structure="summed"),
            ],
            inside(-CLOSE["plane"], CLOSE["plane"]),
        ),
        _not_complete(
            "digits", "digit pairs", "Sections 1, 5.1 and 7",
            [DigitsStructureRecipe(model=model) for model in DIGITS], inside(-CLOSE["digits"], CLOSE["digits"]),
        ),
        _not_complete(
            "scan", "SCAN", "Sections 1, 5.2 and 7",
            [ScanStructureRecipe(model=model) for model in SCAN], inside(-CLOSE["scan"], CLOSE["scan"]),
        ),
    )  # fmt: skip
