"""Do explanation methods find what decides? Judged on trained networks whose program is known."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from rote.claims import Assertion, Claim, above, below, column
from rote.config import at_least, not_empty, one_of
from rote.court import programs
from rote.laboratory.aggregate import BAND, bands
from rote.laboratory.study import Study, StudyConfig, studies
from rote.models.settings import known_cells
from rote.recipes import Job, Measurement, Network, Recipe, Trained, measurements, recipes
from rote.recipes.recipe import Progress
from rote.store import Column, Run, Table
from rote.studies.matrix.matrix import SOURCE
from rote.training import TrainingConfig

METHODS = (
    "two", "shapley", "decomposition", "deeplift", "integrated_gradients", "lrp", "decomposition_gcd2019",
    "decomposition_source_never", "decomposition_murdoch2018", "alone", "occlusion", "gradient_input", "connectivity",
)  # fmt: skip
MEASURES = {
    "direction": "cosine with the exact Shapley values",
    "size": "median distance from the Shapley values, over their norm",
    "mass": "share of what is attributed that lies on the deciding symbols",
    "rank": "chance that a deciding symbol gets more than one that does not decide",
    "long": "the most that a symbol of a long string gets, over the output's range",
    "right": "share of deletions on which the network is right",
}
WORST = ("long",)
NUMBERS = tuple(Column(name, about) for name, about in MEASURES.items())
NOTE = (
    "Means over programs and cells, of `long` the largest. The truth is the network's own output for every set of "
    "symbols, and what decides is the program's. Erasure (two, alone, occlusion, shapley) is made of the same passes."
)


def networks_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    labels = (
        Column("seed", "random seed of network and strings", "label"), Column("program", role="label"),
        Column("cell", "recurrent unit", "label"), Column("method", role="label"),
    )  # fmt: skip
    return Table.make("networks", "Every network by every method", (*labels, *NUMBERS), rows, details=True)


def all_tables(measured: Mapping[str, Table]) -> list[Table]:
    networks = measured["networks"]
    rows = networks.records()
    cells = [*dict.fromkeys(row["cell"] for row in rows)]
    groups = {"all": cells, **{cell: [cell] for cell in cells}}
    seeds = [
        {"seed": seed, "cell": name, "method": method, **_mean(rows, seed, method, some)}
        for method in dict.fromkeys(row["method"] for row in rows)
        for name, some in groups.items()
        for seed in dict.fromkeys(row["seed"] for row in rows)
    ]
    labels = (Column("seed", "", "label"), Column("cell", "of which networks", "label"), Column("method", "", "label"))
    by_seed = Table.make("seeds", "Every seed", (*labels, *NUMBERS), seeds, details=True)
    flat = [
        {"method": row["method"], "measure": measure, "value": row[measure]}
        for row in seeds
        if row["cell"] == "all"
        for measure in ("direction", "size", "rank")
    ]
    place = {method: number for number, method in enumerate(METHODS)}
    found = sorted(bands(flat, ("measure", "method"), "value"), key=lambda row: place[row["method"]])
    columns = (Column("measure", role="label"), Column("method", role="label"), *BAND)
    order = sorted(found, key=lambda row: ("direction", "size", "rank").index(row["measure"]))
    return [
        Table.make(
            "methods", "Explanation methods against the truth", columns, order, note=NOTE, figure="court-methods"
        ),
        by_seed,
        networks,
    ]


def _mean(rows: Sequence[Mapping[str, Any]], seed: int, method: str, cells: Sequence[str]) -> dict[str, float | None]:
    mine = [row for row in rows if row["seed"] == seed and row["method"] == method and row["cell"] in cells]
    found: dict[str, float | None] = {}
    for measure in MEASURES:
        known = [row[measure] for row in mine if row[measure] is not None]
        found[measure] = None if not known else max(known) if measure in WORST else math.fsum(known) / len(known)
    return found


def training() -> TrainingConfig:
    return TrainingConfig(
        steps=1500, batch=64, optimizer="adam", learning_rate=0.01, clip=1.0, schedule="exponential", decay=0.5,
        decay_every=500, record_every=500, dtype="float64",
    )  # fmt: skip


@recipes.register("court")
@dataclass(frozen=True)
class CourtRecipe(Recipe):
    """Networks that learn a program over strings, half of which have symbols missing."""

    name = "court"
    source = SOURCE
    view = "sequence"
    program: str = "latch"
    unit_name: str = "gru"  # the recurrent unit
    hidden: int = 20
    length: int = 10  # symbols of a string that is learned from
    training: TrainingConfig = field(default_factory=training)

    @property
    def label(self) -> str:
        return f"{self.program}, {self.unit_name}"

    @property
    def cell(self) -> str:
        return self.unit_name

    def members(self, seeds: Sequence[int]) -> list[Mapping[str, int | str]]:
        return [{"seed": seed, "setting": self.program} for seed in seeds]

    def fit(self, trained: Sequence[Trained], run: Run, progress: Progress, device: str) -> None:
        from rote.studies.court.court_training import CourtProgram
        from rote.training import train

        train(CourtProgram(self, run.request.seeds[0]), self.training, run, progress=progress)

    def closed(self) -> str:
        return ""

    def output_size(self) -> int | None:
        return len(programs[self.program].outputs)

    def network(self, trained: Trained, weights: Mapping[str, Any], index: int) -> Network:
        from rote.studies.court.court_training import reopened

        program = programs[self.program]
        example = " ".join(program.decode(program.strings(0, 1, self.length)[0]))
        model = reopened(self, weights, trained.run.folder)
        return Network(model, inputs=program.symbols, outputs=program.outputs, example=example)


@measurements.register("court")
@dataclass(frozen=True)
class CourtMeasurement(Measurement):
    """What every method says of a network, against the network's own Shapley values and what its program uses."""

    name = "court"
    source = SOURCE
    strings: int = 16
    length: int = 8
    long: int = 120  # symbols of the string on which parts may grow

    def measure(self, trained: Sequence[Trained], run: Run, progress: Progress, device: str) -> Sequence[Table]:
        from rote.studies.court.court_training import measured

        return measured(self, trained[0], progress)


@dataclass(frozen=True)
class CourtConfig(StudyConfig):
    seeds: int = 20
    programs: tuple[str, ...] = ("latch", "and", "conduit", "lookup", "parity", "agreement")
    cells: tuple[str, ...] = ("gru", "lstm")
    hidden: int = 20
    length: int = 10
    training: TrainingConfig = field(default_factory=training)
    strings: int = 32
    symbols: int = 8  # of a string that is explained
    long: int = 120

    def __post_init__(self) -> None:
        at_least(self, 1, "seeds", "hidden")
        at_least(self, 2, "strings", "symbols", "length", "long")
        known_cells(*self.cells)
        not_empty(self, "programs", "cells")
        for program in self.programs:
            one_of("programs", program, tuple(programs))
        one_of("symbols", self.symbols, tuple(range(2, 13)))


def of(measure: str, method: str, cell: str = "all") -> Any:
    return column("seeds", measure, method=method, cell=cell)


SOLVED = Assertion(
    "Share of deletions of the strings on which the networks are right",
    of("right", "decomposition"),
    above(0.99),
    role="condition",
    scale="unit",
)
HALFWAY = 0.75  # between chance and certainty


@studies.register("court")
class CourtStudy(Study[CourtConfig]):
    """Which explanation methods find what a trained network uses, and say what it adds?"""

    name = "court"
    source = SOURCE
    place = "Not in the sources"
    title = "The court: explanations against the truth"
    about = (
        "Small networks learn programs whose working is known: the last write, two symbols that are both needed, the "
        "first open symbol. Every set of symbols is tried, which gives the exact Shapley value of each and the "
        "positions that decide. Decompositions, gradients, relevance and erasure are compared with both."
    )
    deviations = (
        "Erasure is judged by a truth that is itself defined by deleting symbols, on networks that have learned from "
        "strings with deletions: there it must be good. Decompositions are to be ranked among themselves as well.",
        "Strings of eight symbols and networks of 20 units; compiled networks and other cells are in `rote court`.",
    )
    claims = (
        Claim(
            "court-decomposition-finds",
            "across",
            "Not in the sources",
            "Contextual decomposition by the default rules puts the deciding symbols first.",
            "not in the sources",
            (
                Assertion(
                    "Chance that a deciding symbol gets more", of("rank", "decomposition"), above(HALFWAY), scale="unit"
                ),
                SOLVED,
            ),
            kind="ours",
        ),
        Claim(
            "court-connectivity-finds",
            "across",
            "Not in the sources",
            "Connectivity, the norm of the gradient, puts the deciding symbols first.",
            "not in the sources",
            (
                Assertion(
                    "Chance that a deciding symbol gets more", of("rank", "connectivity"), above(HALFWAY), scale="unit"
                ),
                SOLVED,
            ),
            kind="ours",
        ),
        Claim(
            "court-rules",
            "across",
            "Not in the sources",
            "The Shapley rules of decomposition err less in size than both published sets of rules.",
            "not in the sources",
            (
                Assertion(
                    "Error of the default rules minus that of the first published",
                    of("size", "decomposition") - of("size", "decomposition_murdoch2018"),
                    below(0),
                ),
                Assertion(
                    "Error of the default rules minus that of generalized CD",
                    of("size", "decomposition") - of("size", "decomposition_gcd2019"),
                    below(0),
                ),
                SOLVED,
            ),
            kind="ours",
        ),
        Claim(
            "court-two-passes",
            "across",
            "Not in the sources",
            "The mean of a symbol's effect alone and removed is nearer in direction to the Shapley values than every "
            "decomposition.",
            "not in the sources",
            (
                *(
                    Assertion(
                        f"Cosine of two passes minus that of {name}",
                        of("direction", "two") - of("direction", name),
                        above(0),
                    )
                    for name in ("decomposition", "decomposition_murdoch2018", "decomposition_gcd2019")
                ),
                SOLVED,
            ),
            kind="ours",
            remark="The truth is defined by deletion, as this method is.",
        ),
        Claim(
            "court-growth",
            "across",
            "Not in the sources",
            "By the first published rules the parts of some GRUs grow without bound on long strings; by the default "
            "rules they do not.",
            "not in the sources",
            (
                Assertion(
                    "First published rules: the largest part of a GRU over the range of its output",
                    of("long", "decomposition_murdoch2018", "gru"),
                    above(100),
                    seeds="some",
                ),
                Assertion("Default rules: the same", of("long", "decomposition", "gru"), below(3)),
                SOLVED,
            ),
            kind="ours",
        ),
    )
    own_scale = True
    presets: ClassVar[Mapping[str, Mapping[str, object]]] = {
        "smoke": {
            "programs": ("latch",), "cells": ("gru",), "hidden": 6, "training.steps": 8, "training.record_every": 8,
            "strings": 4, "symbols": 4, "long": 12, "seeds": 2,
        },
        "quick": {
            "programs": ("latch", "and", "conduit"), "training.steps": 360, "training.batch": 32,
            "training.record_every": 360, "training.decay_every": 150, "length": 8, "strings": 12, "seeds": 5,
        },
        "paper": {},
    }  # fmt: skip
    default = CourtConfig()

    def jobs(self, config: CourtConfig) -> list[Job]:
        measurement = CourtMeasurement(config.strings, config.symbols, config.long)
        made = [
            CourtRecipe(program, cell, config.hidden, config.length, config.training)
            for program in config.programs
            for cell in config.cells
        ]
        return [measurement.of(job) for recipe in made for job in recipe.jobs(config.seed_numbers)]

    def tables(self, config: CourtConfig, measured: Mapping[str, Table]) -> Sequence[Table]:
        return all_tables(measured)
