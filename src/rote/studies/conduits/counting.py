"""The study of counting: source 000, section 4.1, Figure 2.

The conduit is said to raise the probability of the close symbol a little, together with the open symbol. A probability
at its ceiling cannot rise: it is looked at while the rule is being learned, over several counts of rules. In the
published setting these are the networks of the study conduit-frequency.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from rote.claims import Assertion, Claim, NotMeasuredError, Tables, Values, above, measured
from rote.config import at_least
from rote.laboratory import Study, StudyConfig, aggregate, studies
from rote.laboratory.aggregate import BAND, Row, grouped, interval_columns
from rote.models import LanguageModelConfig
from rote.recipes import Job
from rote.store import Column, Table
from rote.studies.conduits import published
from rote.studies.conduits import rules_tables as shared
from rote.studies.conduits.frequency import SCALED
from rote.studies.conduits.rules import FIXED, Passes, RulesMeasurement, RulesRecipe, recurring
from rote.tasks.rules import RulesTask

RISES = {
    "rise": ("whole", "open"),
    "rise_at_close": ("whole_at_close", "open_at_close"),
    "timing": ("own", "own_early"),
}
CEILING = 0.99  # P(close) from which on there is no room to rise
OFF_CHANCE = 2  # times P(close) of an untrained network, below which nothing was learned
LABELS = ("cell", "k", "n", "seed")
GRID = (shared.CELL, shared.LENGTH, shared.COUNT)
MEASURE = Column("measure", "what P(close) is computed from", "label")
OVER_TRAINING = {"open": "open symbol", "whole": "open symbol and conduit", "own": "the whole network"}
POINTS = Column("points", "measured epochs between chance and ceiling")
TIMING = Column("timing", "log odds of the network's own P(close) at its step minus one step early, mean over these")
RISE = Column("rise", "log odds of close from open symbol and conduit minus from the open symbol, mean over these")


def all_tables(config: CountingConfig, measured: Mapping[str, Table]) -> list[Table]:
    """The study's tables, from those of its measurements."""
    rows = sorted(measured["measures"].records(), key=lambda row: (row["n"], row["seed"]))
    unseen = [row for row in rows if row["kind"] == "unseen"]
    networks = counted(unseen)
    between = f"Where the middle of the two log odds is between {OFF_CHANCE} times chance and {CEILING:g}."
    note = f"{config.seeds} seeds of {config.model.cell}, unseen conduits."
    return [
        _outcome(networks, f"{between} {note}"),
        shared.prefixes(measured["prefixes"].records(), config.length, config.training.epochs, note),
        Table.make(
            "over-training", "P(close) over training", (*GRID, shared.EPOCH, MEASURE, *BAND),
            shared.bands(unseen, ("cell", "k", "n", "epoch"), OVER_TRAINING), place="Section 4.1",
            figure="conduit-training", details=True, note=f"Bands: 95 % intervals. {note}",
        ),
        shared.variants(measured["variants"].records(), ("cell", "k", "n"), note),
        networks,
    ]  # fmt: skip


def counted(rows: list[Row]) -> Table:
    """Of every network, what the conduit adds to the open symbol and how the network times the close symbol, over the
    epochs at which there is room; and both probabilities at the end."""
    made = []
    for key, group in grouped(rows, LABELS).items():
        points = [row for row in group if has_room(row["open"], row["whole"], chance=group[0]["open"])]
        means = {name: aggregate.band([_rise(row, name) for row in points])["mean"] for name in RISES}
        labels = dict(zip(LABELS, key, strict=True))
        largest = {name: shared.largest(group, name) for name in ("error", "growth")}
        ends = {f"end_{name}": group[-1][name] for name in ("open", "whole")}
        made.append({**labels, "points": len(points), **means, **ends, **largest})
    columns = (
        *GRID, Column("seed", role="label"), POINTS, RISE,
        Column("rise_at_close", "the same read where close is the input, as published"), TIMING,
        Column("end_open", "P(close) from the open symbol at the end of training"),
        Column("end_whole", "P(close) from open symbol and conduit at the end of training"),
        shared.ERROR, shared.GROWTH,
    )  # fmt: skip
    return Table.make("networks", "Every network", columns, made, details=True)


def _rise(row: Row, name: str) -> float:
    over, under = RISES[name]
    return shared.log_odds(row[over]) - shared.log_odds(row[under])


def has_room(one: float, other: float, chance: float) -> bool:
    """Whether the middle of two probabilities, in log odds, is off chance and below the ceiling. Both decide, so that
    neither is favored."""
    middle = (shared.log_odds(one) + shared.log_odds(other)) / 2
    return shared.log_odds(OFF_CHANCE * chance) < middle < shared.log_odds(CEILING)


def _outcome(networks: Table, note: str) -> Table:
    rows = []
    for key, group in grouped(networks.records(), LABELS[:-1]).items():
        rise = aggregate.band([row["rise"] for row in group])
        points = sum(row["points"] for row in group)
        timing = aggregate.band([row["timing"] for row in group])["mean"]
        labels = dict(zip(LABELS[:-1], key, strict=True))
        interval = {name: rise.get(name) for name in ("low", "high")}
        rows.append(
            {**labels, "seeds": len(group), "points": points, "rise": rise["mean"], **interval, "timing": timing}
        )
    columns = (*GRID, shared.SEEDS, POINTS, RISE, *interval_columns(), TIMING)
    return Table.make("outcome", "What the conduit adds to the open symbol", columns, rows, place="Figure 2", note=note)


def over_all(tables: Tables, name: str) -> Values:
    """A column's mean over a seed's networks that had room at some time."""
    rows = [row for row in _lstms(tables) if row["points"]]
    if not rows:
        raise NotMeasuredError("P(close) was measured only at chance and at its ceiling")
    return {seed: sum(row[name] for row in group) / len(group) for (seed,), group in grouped(rows, ("seed",)).items()}


def at_end(tables: Tables, name: str) -> Values:
    """A column at the end of training, where the rule is most frequent."""
    rows = _lstms(tables)
    most = max(row["n"] for row in rows)
    return {row["seed"]: row[name] for row in rows if row["n"] == most}


def _lstms(tables: Tables) -> list[Row]:
    rows = tables["networks"].where(cell="lstm").records()
    if not rows:
        raise NotMeasuredError("no LSTM")
    return rows


@dataclass(frozen=True)
class CountingConfig(StudyConfig):
    model: LanguageModelConfig = field(default_factory=LanguageModelConfig)
    training: Passes = field(default_factory=Passes)
    reading: RulesMeasurement = field(default_factory=lambda: RulesMeasurement(gradients=0))
    tokens: int = published.TOKENS
    vocabulary: int = published.VOCABULARY
    counts: tuple[int, ...] = (100, 300, 1000, 3000, 10_000)  # n
    length: int = published.FIGURE_2_LENGTH  # k, the conduit without open and close symbol

    def __post_init__(self) -> None:
        at_least(self, 1, "seeds", "counts", "length")
        self.tasks()  # which refuses what does not fit

    def tasks(self) -> list[RulesTask]:
        return [RulesTask(self.tokens, self.vocabulary, n, self.length) for n in self.counts]


@studies.register("conduit-counting")
class CountingStudy(Study[CountingConfig]):
    """Does a network count the symbols between the ends of a rule?"""

    name = "conduit-counting"
    source = published.SOURCE
    place = "Section 4.1, Figure 2"
    title = "Counting the symbols of the conduit"
    about = (
        "What does the conduit add to the open symbol? While rules of several frequencies are being learned, the "
        "probability of the close symbol from both is compared with that from the open symbol alone, in log odds, "
        "wherever it is off chance and below its ceiling. Beside it stands the network's own timing: how much more "
        "probable the close symbol is at its step than one step early."
    )
    deviations = (
        "Figure 2 is shown at 50 epochs, for counts of rules that are not in the text. We look at all measured epochs: "
        "at the end the probability of a rule that was learned is at its ceiling.",
        "Network, training and reading as in the study conduit-frequency: see its deviations. Preset paper has its "
        "networks.",
        f"Preset quick is scaled down: {SCALED['tokens']:,} tokens over {SCALED['vocabulary']} types, in which a pair "
        f"of symbols stands {recurring(100_000, 50)} times by chance, {SCALED['model.hidden']} units, batch 5, "
        "learning rate 5, 3 epochs, measured eight times in each.",
    )
    presets: ClassVar[Mapping[str, Mapping[str, object]]] = {
        "smoke": {
            **SCALED, "tokens": 4000, "counts": (100, 200), "length": 3, "seeds": 2, "training.epochs": 0.5,
            "training.measure_every": 0.25, "reading.rules": 4, "model.hidden": 8, "model.embedding": 8,
        },
        "quick": {
            **SCALED, "counts": (3000, 4000, 5000), "training.epochs": 3.0, "training.measure_every": 0.125,
            "reading.gradients_every": 8,
        },
        "paper": {},
    }  # fmt: skip
    fixed: ClassVar[dict[str, str]] = {**FIXED, "reading.gradients": "this study looks at no gradients."}
    default = CountingConfig()

    def jobs(self, config: CountingConfig) -> list[Job]:
        recipes = RulesRecipe.for_tasks(config.tasks(), config.model, config.training)
        return [config.reading.of(job) for recipe in recipes for job in recipe.jobs(config.seed_numbers)]

    def tables(self, config: CountingConfig, measured: Mapping[str, Table]) -> Sequence[Table]:
        return all_tables(config, measured)

    claims = (
        Claim(
            "conduit-counting", "conduits", "Section 4.1, Figure 2",
            "Together with the open symbol the conduit raises the probability: the network counts.",
            published.COUNTING,
            (
                Assertion(
                    "Log odds of close from open symbol and conduit minus from the open symbol alone, mean over counts "
                    "of rules and epochs at which these are between chance and their ceiling",
                    measured(over_all, "rise"), above(0),
                ),
                Assertion(
                    "Log odds of the network's own P(close) at its step minus one step early, mean over the same",
                    measured(over_all, "timing"), above(0),
                ),
                Assertion(
                    "The first as published: read where close is the input",
                    measured(over_all, "rise_at_close"), above(0), role="report",
                ),
                Assertion(
                    "The first at the end of training, largest n, ceiling or not",
                    measured(at_end, "end_whole").log_odds() - measured(at_end, "end_open").log_odds(),
                    above(0), role="report",
                ),
            ),
            remark="At its ceiling P(close) cannot rise, and at chance there is nothing to raise: the middle of the "
            "two log odds is above that of twice the untrained probability and below that of 0.99. Each count of rules "
            "has the same weight. The second part is what counting has to show whatever the decomposition says: close "
            "at its step and not before it.",
        ),
    )  # fmt: skip
