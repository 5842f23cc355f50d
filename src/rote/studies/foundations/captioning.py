"""Describing pictures of digits: source 004, slides "Using RNNs", one to many; and the five shapes of these slides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from rote.claims import Assertion, Claim, PerSeed, above, column
from rote.config import at_least, not_empty
from rote.laboratory import Study, StudyConfig, studies
from rote.laboratory.aggregate import Row, band, grouped, interval_columns
from rote.laboratory.study import CELLS_DECIDE
from rote.models.settings import CaptionerConfig, known_cells
from rote.recipes import Job, Measurement, Recipe, Trained, measurements, recipes
from rote.recipes.recipe import Progress
from rote.store import Column, Run, Table
from rote.studies.foundations import published
from rote.tasks.captions import CaptionsTask
from rote.training import TrainingConfig

if TYPE_CHECKING:
    from rote.recipes.network import Described, Label

Data = Literal["mnist", "stand-in"]
Head = Literal["recurrent", "places", "whole"]
FEW, MANY = 2, 8  # of ten differences, held out
CLOSE = 0.05
FIXED: dict[Head, str] = {"places": "a word for each place", "whole": "one of all captions"}
NEAREST, SAID = "nearest picture", "most frequent caption"
MODEL = Column("model", "recurrent unit, a network with a fixed-size output, or a baseline", "label")
HELD = Column("held", "of ten differences between two digits, never shown in training", "label")
LABELS = (MODEL, HELD, Column("seed", "random seed", "label"), Column("part", "pairs of the test", "label"))
SCORES = {
    "right": "share of captions that are right in every word",
    "first": "share with the first digit right",
    "relation": "share with the relation right",
    "second": "share with the second digit right",
    "trained_pair": "share that is wrong and says a pair of digits that training has",
}
ANSWERS = (*LABELS, *(Column(name, about) for name, about in SCORES.items()))
EXAMPLES = (
    *LABELS,
    Column("number", "of the picture", "label"),
    Column("picture", "what is on it", "label"),
    Column("said", "what the network says", "label"),
)
# Slide "Using RNNs": the shape, the lecture's example, and the studies that train networks of it.
SHAPES = (
    ("one to one", "MLP", ("plane", "digit-pairs"), "a point or a picture to a class"),
    ("one to many", "image captioning", ("captioning",), "a picture to words"),
    ("many to one", "text classification", ("classification", "padding"), "a text to a class"),
    ("many to many", "seq2seq", ("scan-jump", "lookup-accuracy"), "a command to actions, read before anything is said"),
    ("many to many, step by step", "POS tagging", ("tagging", "language-modeling"), "a word to its tag or the next"),
)


def training() -> TrainingConfig:
    """As our preset paper has it; the lecture has none."""
    return TrainingConfig(steps=4000, batch=64, optimizer="adam", learning_rate=0.002, clip=1.0, record_every=500)


@recipes.register("captioning")
@dataclass(frozen=True)
class CaptioningRecipe(Recipe):
    """Networks that say which digits are on a picture, one for each number of held-out differences and seed."""

    name = "captioning"
    source = published.SOURCE
    together = 64
    model: CaptionerConfig = field(default_factory=CaptionerConfig)
    training: TrainingConfig = field(default_factory=training)
    held: tuple[int, ...] = (FEW, MANY)
    data: Data = "stand-in"
    side: int = 14  # pixels of a digit in height and width; larger ones are averaged down
    head: Head = "recurrent"

    @property
    def label(self) -> str:
        return self.model.cell if self.head == "recurrent" else FIXED[self.head]

    @property
    def cell(self) -> str:
        return self.model.cell if self.head == "recurrent" else ""

    def tasks(self, seeds: Sequence[int]) -> list[tuple[CaptionsTask, int]]:
        """The task and the seed of each network."""
        return [(CaptionsTask(held), seed) for held in self.held for seed in seeds]

    def members(self, seeds: Sequence[int]) -> list[Mapping[str, Label]]:
        return [{"seed": seed, "setting": f"{task.held} of 10 held out"} for task, seed in self.tasks(seeds)]

    def fit(self, trained: Sequence[Trained], run: Run, progress: Progress, device: str) -> None:
        from rote.studies.foundations.captioning_training import CaptioningProgram
        from rote.tasks.mnist import load_digits
        from rote.training import train

        digits = load_digits(self.data)
        run.note(data=digits.sha256)
        program = CaptioningProgram(self, digits, run.request.seeds, device)
        train(program, self.training, run, progress=progress)

    def closed(self) -> str:
        return "Its networks read pictures, not symbols: no view on texts can show them."

    def described(self, trained: Trained, index: int) -> list[Described]:
        from rote.studies.foundations.captioning_training import described

        return described(self, trained, index)


@measurements.register("captioning")
@dataclass(frozen=True)
class CaptioningMeasurement(Measurement):
    """What the networks say of new pictures, with pairs that they have seen together and with others."""

    name = "captioning"
    source = published.SOURCE
    pictures: int = 1000

    def measure(self, trained: Sequence[Trained], run: Run, progress: Progress, device: str) -> Sequence[Table]:
        from rote.studies.foundations.captioning_training import measured

        return measured(self, trained[0], device)


@measurements.register("captioning-baselines")
@dataclass(frozen=True)
class CaptioningBaselines(Measurement):
    """The same of the nearest training picture, and of the most frequent caption."""

    name = "captioning-baselines"
    source = published.SOURCE
    held: tuple[int, ...] = (FEW, MANY)
    data: Data = "stand-in"
    side: int = 14
    pictures: int = 1000
    known: int = 5000

    def measure(self, trained: Sequence[Trained], run: Run, progress: Progress, device: str) -> Sequence[Table]:
        from rote.studies.foundations.captioning_training import nearest

        return nearest(self, run.request.seeds)


@dataclass(frozen=True)
class CaptioningConfig(StudyConfig):
    model: CaptionerConfig = field(default_factory=CaptionerConfig)
    training: TrainingConfig = field(default_factory=training)
    cells: tuple[str, ...] = ("elman", "lstm")
    held: tuple[int, ...] = (FEW, MANY)  # of the ten differences between two digits, never shown in training
    data: Data = "stand-in"
    side: int = 14  # pixels of a digit in height and width; larger ones are averaged down
    pictures: int = 1000  # of each test
    known: int = 5000  # training pictures among which the nearest is looked for

    def __post_init__(self) -> None:
        at_least(self, 1, "seeds", "pictures", "known")
        at_least(self, 7, "side")
        known_cells(*self.cells)
        not_empty(self, "cells", "held")
        for held in self.held:
            CaptionsTask(held)

    def unused(self) -> dict[str, str]:
        return {"side": "the stand-in has 8 x 8 pixels."} if self.data == "stand-in" else {}

    def recipes(self) -> list[CaptioningRecipe]:
        """A recurrent network of each cell, and those with outputs of a fixed size."""
        rest = (self.training, self.held, self.data, self.side)
        recurrent = [CaptioningRecipe(replace(self.model, cell=cell), *rest) for cell in self.cells]
        # The cell does nothing in them: one name for all, whatever cells are trained.
        return recurrent + [CaptioningRecipe(replace(self.model, cell="elman"), *rest, head) for head in FIXED]


def _right(model: str, which: str, held: int = FEW) -> PerSeed:
    return column("networks", which, model=model, held=held)


@studies.register("captioning")
class CaptioningStudy(Study[CaptioningConfig]):
    """Does a recurrent network describe a picture in words, also of two digits that it never saw together?"""

    name = "captioning"
    source = published.SOURCE
    data = ("mnist",)
    place = "Using RNNs: one to many"
    title = "Describing pictures of digits"
    about = (
        "A picture of one or two digits becomes the first state of a recurrent network, which says “three left of "
        "seven” word by word. Some pairs of digits are never shown in training, although each of the two is shown in "
        "every place: a network that composes describes them as well. Beside it stand networks with a fixed-size "
        "output (a word for each place; one of all captions), the nearest training picture and the most frequent "
        "caption. One table names a study for each of the slide's five shapes."
    )
    deviations = (
        "The lecture names image captioning and shows its shape. Pictures, words, sizes and training are ours: four "
        "places, one digit in any of them or two beside or above each other, a layer of ReLU units, its output with "
        "tanh as the first state, greedy answers, Adam.",
        "Held out are pairs by their difference modulo 10, in both relations, drawn by each seed.",
        "Quick: scikit-learn's digits of 8 x 8 pixels, fewer updates and pictures. Paper: MNIST, averaged down to 14 x "
        "14 pixels.",
    )
    presets: ClassVar[Mapping[str, Mapping[str, object]]] = {
        "smoke": {
            "training.steps": 6, "training.record_every": 3, "training.batch": 8, "model.encoder": 8,
            "model.embedding": 4, "model.hidden": 8, "pictures": 20, "known": 50, "seeds": 2,
        },
        "quick": {
            "training.steps": 800, "training.batch": 32, "training.record_every": 200, "pictures": 300, "known": 2000,
        },
        "paper": {"data": "mnist"},
    }  # fmt: skip
    own_scale = True
    optional = ("cells", "known")
    fixed: ClassVar[Mapping[str, str]] = CELLS_DECIDE
    default = CaptioningConfig()

    def prepare(self, config: CaptioningConfig) -> None:
        if config.data == "mnist":
            from rote.tasks.datasets import DATASETS

            DATASETS["mnist"].fetch(", or use scikit-learn's digits (data=stand-in)")

    def stands_in(self, config: Mapping[str, Any]) -> bool:
        return bool(config["data"] == "stand-in")

    def jobs(self, config: CaptioningConfig) -> list[Job]:
        """The networks of each kind, and the baselines."""
        seeds, asked = config.seed_numbers, CaptioningMeasurement(config.pictures)
        networks = [asked.of(job) for recipe in config.recipes() for job in recipe.jobs(seeds)]
        same = (config.held, config.data, config.side, config.pictures, config.known)
        return [*networks, CaptioningBaselines(*same).of(seeds=seeds)]

    def tables(self, config: CaptioningConfig, measured: Mapping[str, Table]) -> Sequence[Table]:
        answers = measured["answers"]
        note = " ".join(filter(None, [f"{config.seeds} seeds, {config.pictures} pictures each.", answers.note]))
        return [
            _outcome(answers, note),
            _shapes(),
            _words(answers, note),
            Table.make(
                "examples", "What was said", EXAMPLES, measured["examples"].records(), details=True,
                note="The first pictures of the first seed.",
            ),
            _networks(answers),
            answers,
        ]  # fmt: skip

    claims = (
        Claim(
            "captioning-describes", "foundations", "Using RNNs",
            "A recurrent network can say a sequence for a single input: it describes new pictures in words, more often "
            "rightly than the caption of the nearest training picture does.",
            published.ONE_TO_MANY,
            (
                Assertion(
                    "Captions right, Elman minus nearest picture, pairs seen together",
                    _right("elman", "seen") - _right(NEAREST, "seen"), above(0.0),
                ),
                Assertion("Captions right, Elman", _right("elman", "seen"), above(0.5), role="report", scale="unit"),
                Assertion(
                    "LSTM minus nearest picture", _right("lstm", "seen") - _right(NEAREST, "seen"), above(0.0),
                    role="report",
                ),
                Assertion(
                    "Elman minus a word for each place", _right("elman", "seen") - _right(FIXED["places"], "seen"),
                    above(0.0), role="report",
                ),
            ),
            kind="implied",
            remark="The lecture has captioning as an example of the shape and compares it with nothing: the baseline "
            "is ours.",
        ),
        Claim(
            "captioning-composes", "foundations", "Using RNNs; with source 001",
            "It composes: of two digits that it never saw together it says as many captions rightly as of those that "
            "it did.",
            published.NOT_PUBLISHED,
            (
                Assertion(
                    f"Captions right, Elman, {FEW} of 10 differences held out: pairs never seen together minus seen",
                    _right("elman", "new") - _right("elman", "seen"), above(-CLOSE),
                ),
                Assertion(
                    "Captions right, Elman, pairs seen together", _right("elman", "seen"), above(0.5), role="condition",
                    scale="unit",
                ),
                *(
                    Assertion(
                        f"The difference, {name}, {held} of 10 held out",
                        _right(name, "new", held) - _right(name, "seen", held), above(-CLOSE), role="report",
                    )
                    for held, names in ((FEW, ("lstm", *FIXED.values())), (MANY, ("elman", "lstm", *FIXED.values())))
                    for name in names
                ),
            ),
            kind="ours",
            remark=f"Our question, as the laboratory asks it of every task. 'As many' is within {CLOSE:g}, about two "
            "standard errors of the pictures of preset quick. A network that chooses among all captions cannot: it "
            "never learned these.",
        ),
    )  # fmt: skip


def _outcome(answers: Table, note: str) -> Table:
    """A row per model and number of held-out differences: pairs seen together, and pairs that were not."""
    rows: list[Row] = []
    for (held, model), group in grouped(answers.records(), ("held", "model")).items():
        row: Row = {"held": held, "model": model}
        for part, short in (("seen", "seen"), ("held-out", "new")):
            found = band([one["right"] for one in group if one["part"] == part], (0.0, 1.0))
            row |= {"seeds": found["seeds"], short: found["mean"]}
            row |= {f"{short}_low": found.get("low"), f"{short}_high": found.get("high")}
        rows.append(row)
    rows.sort(key=lambda row: row["held"])
    columns = (
        HELD, MODEL, Column("seeds", "networks", "label"),
        Column("seen", "share of captions right, pairs that training shows"), *interval_columns("seen"),
        Column("new", "share of captions right, pairs that it never shows"), *interval_columns("new"),
    )  # fmt: skip
    return Table.make("outcome", "Captions that are right", columns, rows, place="Using RNNs", note=note)


def _words(answers: Table, note: str) -> Table:
    """What goes wrong with pairs that were never shown."""
    rows: list[Row] = []
    for (held, model), group in grouped(answers.where(part="held-out").records(), ("held", "model")).items():
        means = {name: band([one[name] for one in group])["mean"] for name in SCORES}
        rows.append({"held": held, "model": model, **means})
    rows.sort(key=lambda row: row["held"])
    columns = (HELD, MODEL, *(Column(name, about) for name, about in SCORES.items()))
    title = "Word by word, pairs that training never shows"
    return Table.make("words", title, columns, rows, place="Using RNNs", note=note)


def _networks(answers: Table) -> Table:
    rows: list[Row] = []
    for (model, held, seed), group in grouped(answers.records(), ("model", "held", "seed")).items():
        right = {one["part"]: one["right"] for one in group}
        rows.append({"model": model, "held": held, "seed": seed, "seen": right["seen"], "new": right["held-out"]})
    columns = (
        *LABELS[:3], Column("seen", "share of captions right, pairs that training shows"),
        Column("new", "share of captions right, pairs that it never shows"),
    )  # fmt: skip
    return Table.make("networks", "Every network", columns, rows, details=True)


def _shapes() -> Table:
    columns = (
        Column("shape", "what is read, what is said", "label"), Column("example", "of the lecture", "label"),
        Column("studies", "that train networks of this shape", "label"), Column("here", "what they do", "label"),
    )  # fmt: skip
    rows = [
        {"shape": shape, "example": example, "studies": ", ".join(studies), "here": here}
        for shape, example, studies, here in SHAPES
    ]
    return Table.make("shapes", "The five shapes of the slide", columns, rows, place="Using RNNs")
