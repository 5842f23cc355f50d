"""The study of the training procedure: source 000, section 3.

The source leaves momentum and weight decay out because they slowed rule learning. Here the same networks learn the same
rule by the published procedure, with each of the two, and with both.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from rote.claims import Assertion, Claim, NotMeasuredError, Tables, Values, above, at_most, measured
from rote.config import above_zero, at_least, below_one
from rote.laboratory import Study, StudyConfig, aggregate, studies
from rote.laboratory.aggregate import BAND, Row, grouped
from rote.models import LanguageModelConfig
from rote.recipes import Job, Trained, measurements
from rote.recipes.recipe import Progress
from rote.store import Column, Run, Table
from rote.studies.conduits import published
from rote.studies.conduits import rules_tables as shared
from rote.studies.conduits.frequency import SCALED
from rote.studies.conduits.rules import FIXED, Passes, RulesMeasurement, RulesRecipe, recurring
from rote.tasks.rules import RulesTask

PLAIN, MOMENTUM, DECAY = "as published", "momentum", "weight decay"
BOTH, SAME_STEP = "momentum and weight decay", "momentum, same step"
PROCEDURE = (
    Column("learning_rate", role="label"),
    Column("momentum", role="label"),
    Column("weight_decay", role="label"),
)
NAME = Column("procedure", "by which networks were trained", "label")
MEASURE = Column("measure", "what P(close) is computed from", "label")
OVER_TRAINING = {"open": "open symbol", "own": "the whole network"}
KEY = ("procedure", "seed")


def all_tables(config: ProcedureConfig, measured: Mapping[str, Table]) -> list[Table]:
    """The study's tables, from those of its measurements."""
    named = {_key(vars(training)): name for name, training in config.procedures().items()}
    rows = [{"procedure": named[_key(row)], **row} for row in measured["measures"].records()]
    unseen = [row for row in rows if row["kind"] == "unseen"]
    networks = _networks(config, unseen)
    note = f"k = {config.length}, n = {config.rules}. {config.seeds} seeds of {config.model.cell}, unseen conduits."
    return [
        _outcome(networks, config.training.epochs, note),
        Table.make(
            "over-training", "P(close) over training", (NAME, shared.EPOCH, MEASURE, *BAND),
            shared.bands(unseen, ("procedure", "epoch"), OVER_TRAINING), place="Section 3", figure="conduit-procedure",
            details=True, note=f"Bands: 95 % intervals. {note}",
        ),
        networks,
    ]  # fmt: skip


def _key(values: Mapping[str, object]) -> tuple[object, ...]:
    return tuple(values[column.name] for column in PROCEDURE)


def _networks(config: ProcedureConfig, rows: list[Row]) -> Table:
    """One row per network: at the end, and when it had learned the rule."""
    ends = {
        key: {
            **group[-1], "learned": _time(group, "open"), "learned_own": _time(group, "own"),
            **{name: shared.largest(group, name) for name in ("error", "growth")},
        }
        for key, group in grouped(rows, KEY).items()
    }  # fmt: skip
    columns = (
        NAME, *PROCEDURE, *(Column(name, role="label") for name in ("seed", "epoch")),
        *(Column(name) for name in ("open", "own", "loss")),
        Column("learned", "epoch at which P(close) from the open symbol passes 1/2, between measured ones by log odds"),
        Column("learned_own", "the same of the network's own P(close)"), shared.ERROR, shared.GROWTH,
    )  # fmt: skip
    order = list(config.procedures())
    ordered = sorted(ends.values(), key=lambda row: (order.index(row["procedure"]), row["seed"]))
    return Table.make("networks", "Every network", columns, ordered, details=True)


def _time(rows: list[Row], name: str) -> float | None:
    """The epoch at which P(close) passes one half, between two measured ones by its log odds: procedures that learn
    within one interval of measurement are told apart."""
    for one, other in itertools.pairwise(rows):
        if one[name] <= shared.LEARNED < other[name]:
            low, high = (shared.log_odds(row[name]) for row in (one, other))
            passed = (shared.log_odds(shared.LEARNED) - low) / (high - low)
            return float(one["epoch"] + passed * (other["epoch"] - one["epoch"]))
    return None


def _outcome(networks: Table, epochs: float, note: str) -> Table:
    rows = []
    for (name,), group in grouped(networks.records(), ("procedure",)).items():
        opened, times = shared.band([row["open"] for row in group]), [row["learned"] for row in group]
        rows.append(
            {
                "procedure": name, **{column.name: group[0][column.name] for column in PROCEDURE},
                "seeds": opened["seeds"], "open": opened["mean"], "low": opened.get("low"), "high": opened.get("high"),
                "own": shared.band([row["own"] for row in group])["mean"],
                "learned": sum(time is not None for time in times), "epochs": aggregate.band(times)["mean"],
            }
        )  # fmt: skip
    own, _, _, *learned = shared.OWN
    columns = (NAME, *PROCEDURE, shared.SEEDS, *shared.OPEN, own, *learned)
    title = f"How probable the close symbol is after {epochs:g} epochs, and when the rule was learned"
    return Table.make("outcome", title, columns, rows, place="Section 3", note=note)


def delay(tables: Tables, procedure: str) -> Values:
    """log2 of the epochs that a procedure needs over those of the published one; infinite where one of them did not
    learn the rule, no number where neither did."""
    slow, plain = _times(tables, procedure), _times(tables, "as published")
    return {seed: time - plain[seed] for seed, time in slow.items()}


def learned(tables: Tables) -> Values:
    """The share of training after which the published procedure has learned the rule; infinite where it has not."""
    (epochs,) = {row["epoch"] for row in tables["networks"].records()}
    return {seed: 2**time / epochs for seed, time in _times(tables, "as published").items()}


def _times(tables: Tables, procedure: str) -> Values:
    rows = tables["networks"].where(procedure=procedure).records()
    if not rows:
        raise NotMeasuredError(f"no network of the procedure {procedure!r}")
    return {row["seed"]: math.inf if row["learned"] is None else math.log2(row["learned"]) for row in rows}


@measurements.register("conduits-procedure")
@dataclass(frozen=True)
class ProcedureMeasurement(RulesMeasurement):
    """P(close) at every kept epoch, with the procedure by which the networks were trained."""

    name = "conduits-procedure"
    version = 1
    gradients: int = 0

    def measure(self, trained: Sequence[Trained], run: Run, progress: Progress, device: str) -> Sequence[Table]:
        (measures,) = (table for table in super().measure(trained, run, progress, device) if table.name == "measures")
        training = trained[0].recipe.training
        labels = {column.name: getattr(training, column.name) for column in PROCEDURE}
        rows = [{**labels, **row} for row in measures.records()]
        return [Table.make(measures.name, measures.title, (*PROCEDURE, *measures.columns), rows, details=True)]


@dataclass(frozen=True)
class ProcedureConfig(StudyConfig):
    model: LanguageModelConfig = field(default_factory=LanguageModelConfig)
    training: Passes = field(default_factory=lambda: Passes(epochs=10.0, measure_every=0.25))
    reading: ProcedureMeasurement = field(default_factory=ProcedureMeasurement)
    tokens: int = published.TOKENS
    vocabulary: int = published.VOCABULARY
    rules: int = 10_000  # n
    length: int = 4  # k, the conduit without open and close symbol
    momentum: float = 0.9
    weight_decay: float = 1e-4

    def __post_init__(self) -> None:
        at_least(self, 1, "seeds", "rules", "length")
        above_zero(self, "momentum", "weight_decay")
        below_one(self, "momentum")
        self.task()  # which refuses what does not fit

    def task(self) -> RulesTask:
        return RulesTask(self.tokens, self.vocabulary, self.rules, self.length)

    def procedures(self) -> dict[str, Passes]:
        """By name. With momentum an update goes on for 1 / (1 - momentum) times its size; the last takes that back."""
        plain, rate = self.training, self.training.learning_rate
        return {
            PLAIN: plain,
            MOMENTUM: replace(plain, momentum=self.momentum),
            DECAY: replace(plain, weight_decay=self.weight_decay),
            BOTH: replace(plain, momentum=self.momentum, weight_decay=self.weight_decay),
            SAME_STEP: replace(plain, momentum=self.momentum, learning_rate=rate * (1 - self.momentum)),
        }


@studies.register("conduit-procedure")
class ProcedureStudy(Study[ProcedureConfig]):
    """Do momentum and weight decay slow the learning of a long-distance rule?"""

    name = "conduit-procedure"
    source = published.SOURCE
    place = "Section 3"
    title = "Momentum and weight decay"
    about = (
        "Networks learn one rule by plain gradient descent, as published, with momentum, with weight decay, and with "
        "both. Momentum also makes the step ten times larger; a fifth procedure, with momentum and a learning rate "
        "that is smaller by as much, tells the two apart."
    )
    deviations = (
        "The source gives no values of momentum and weight decay, and its author's public program has neither: 0.9 and "
        "0.0001, which are customary, are ours. So is the rule, one that is learned within a few epochs.",
        "Network, training and reading as in the study conduit-frequency: see its deviations.",
        f"Preset quick is scaled down: {SCALED['tokens']:,} tokens over {SCALED['vocabulary']} types, in which a pair "
        f"of symbols stands {recurring(100_000, 50)} times by chance, {SCALED['model.hidden']} units, batch 5, "
        "learning rate 5, one rule with k = 2 and n = 3000, and one epoch.",
    )
    own_scale = True  # of momentum and weight decay
    presets: ClassVar[Mapping[str, Mapping[str, object]]] = {
        "smoke": {
            **SCALED, "tokens": 4000, "rules": 200, "length": 2, "seeds": 2, "training.epochs": 0.5,
            "training.measure_every": 0.25, "reading.rules": 4, "model.hidden": 8, "model.embedding": 8,
        },
        "quick": {
            **SCALED, "rules": 3000, "length": 2, "training.epochs": 1.0, "training.measure_every": 0.125,
        },
        "paper": {},
    }  # fmt: skip
    fixed: ClassVar[dict[str, str]] = {
        **FIXED,
        "training.momentum": "'momentum' is that of the procedures that have one. Set it instead.",
        "training.weight_decay": "'weight_decay' is that of the procedures that have one. Set it instead.",
        "training.optimizer": "the published procedure is plain gradient descent.",
        "reading.at": "P(close) is read before the close symbol, where it is predicted.",
        "reading.gradients": "this study looks at no gradients.",
    }
    default = ProcedureConfig()

    def jobs(self, config: ProcedureConfig) -> list[Job]:
        recipes = [RulesRecipe((config.task(),), config.model, training) for training in config.procedures().values()]
        return [config.reading.of(job) for recipe in recipes for job in recipe.jobs(config.seed_numbers)]

    def tables(self, config: ProcedureConfig, measured: Mapping[str, Table]) -> Sequence[Table]:
        return all_tables(config, measured)

    claims = (
        Claim(
            "conduit-procedure-slows", "conduits", "Section 3",
            "With momentum, with weight decay and with both the rule is learned later than without.",
            published.PROCEDURE,
            (
                *(
                    Assertion(
                        f"log2 of the epochs needed, with {name} over the published procedure",
                        measured(delay, name), above(0),
                    )
                    for name in (MOMENTUM, DECAY, BOTH)
                ),
                Assertion(
                    "Share of training after which the published procedure has learned the rule",
                    measured(learned), at_most(1), role="condition",
                ),
                Assertion(
                    "It is momentum that slows, not the larger step that it makes (the first with a learning rate that "
                    "is smaller by as much)",
                    measured(delay, SAME_STEP), above(0), role="rival",
                ),
            ),
            remark="Needed: P(close) from the open symbol passes 1/2, between two measured epochs where its log odds "
            "pass 0. A rule that was not learned takes for ever. Neither value is the source's.",
        ),
    )  # fmt: skip
