"""Language modeling on sentences: source 004, "RNNs for Language Modeling", against the previous, feed-forward one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from rote.claims import Assertion, Claim, below, column, measured
from rote.claims.claim import Role
from rote.config import above_zero, at_least, not_empty
from rote.errors import SettingError, UnknownNameError
from rote.laboratory import studies
from rote.laboratory.aggregate import Row, band, grouped, interval_columns
from rote.models import TextModelConfig
from rote.recipes import Job, Measurement, Trained, measurements, recipes
from rote.recipes.recipe import Progress
from rote.store import Column, Run, Table
from rote.studies.foundations import published
from rote.studies.foundations.text_study import (
    DEVIATIONS,
    TextBaselines,
    TextConfig,
    TextRecipe,
    TextStudy,
    TextTraining,
)
from rote.studies.foundations.text_tables import over_baseline
from rote.tasks.text_tasks import Kind, LanguageTask

NETWORK = Column("network", "feed-forward (window), or recurrent unit", "label")
RATE = Column("rate", "learning rate", "label")
SEED = Column("seed", "random seed", "label")
REACHED = (
    Column("parameters", "trained numbers"),
    Column("loss", "lowest cross entropy on dev, nats"),
    Column("dev", "perplexity there, dev"),
    Column("test", "perplexity there, test"),
    Column("epoch", "passes over the training data until then"),
)
TRIALS = (NETWORK, RATE, SEED, *REACHED)


@recipes.register("language-modeling")
@dataclass(frozen=True)
class LanguageRecipe(TextRecipe):
    """Networks that say at every word of a sentence which comes next."""

    name: ClassVar[str] = "language-modeling"
    kind: ClassVar[Kind] = "language-modeling"
    task: LanguageTask = field(default_factory=LanguageTask)


@recipes.register("language-modeling-budget")
@dataclass(frozen=True)
class BudgetRecipe(LanguageRecipe):
    """The same networks with as many hidden units as a number of parameters allows; ``model.hidden`` does nothing."""

    name: ClassVar[str] = "language-modeling-budget"
    budget: int = 20_000  # parameters, embedding and readout included

    @property
    def label(self) -> str:
        return f"{super().label}, {self.budget} parameters, rate {self.training.learning_rate:g}"

    def allowed(self) -> int | None:
        return self.budget


@measurements.register("language-modeling-trials")
@dataclass(frozen=True)
class TrialsMeasurement(Measurement):
    """What the networks of each learning rate had at the lowest loss on dev."""

    name = "language-modeling-trials"
    source = published.SOURCE
    network: str = "window"  # what the tables call it

    @property
    def label(self) -> str:
        return self.network

    def measure(self, trained: Sequence[Trained], run: Run, progress: Progress, device: str) -> Sequence[Table]:
        from rote.studies.foundations.text_training import trials

        return [trials(self.network, trained, run)]


@measurements.register("language-modeling-baselines")
@dataclass(frozen=True)
class LanguageBaselines(TextBaselines):
    """The perplexities of guessing and of counting words."""

    name, kind = "language-modeling-baselines", "language-modeling"
    task: LanguageTask = field(default_factory=LanguageTask)


@dataclass(frozen=True)
class LanguageConfig(TextConfig):
    task: LanguageTask = field(default_factory=LanguageTask)
    variants: tuple[str, ...] = ("window", "elman", "lstm")
    tuned: tuple[str, ...] = ("window", "elman", "lstm")  # compared with one budget; none: no such comparison
    budget: int = 600_000  # parameters of each of them, embedding and readout included
    rates: tuple[float, ...] = (0.001, 0.003, 0.01)  # learning rates that each is tried with, dev decides
    tuned_epochs: float = 8.0

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(self, 1, "budget")
        above_zero(self, "tuned_epochs")
        not_empty(self, "rates")
        if min(self.rates) <= 0:
            raise SettingError("rates", f"must be above 0. Got {min(self.rates)}.")

    def unused(self) -> dict[str, str]:
        names = ("budget", "rates", "tuned_epochs")
        return {} if self.tuned else dict.fromkeys(names, "'tuned' names no network.")


def _against_window(name: str) -> Assertion:
    perplexity, other = (column("networks", "test", model=model) for model in (name, "window"))
    return Assertion(
        f"Perplexity in test, {name} over feed-forward, as the preset sets them", perplexity.log_ratio(other),
        below(0.0), role="report", scale="log",
    )  # fmt: skip


def _tuned(name: str, role: Role = "part") -> Assertion:
    perplexity, other = (column("tuned-networks", "test", network=network) for network in (name, "window"))
    return Assertion(
        f"Perplexity in test, {name} over feed-forward, as many parameters and trials", perplexity.log_ratio(other),
        below(0.0), role=role, scale="log",
    )  # fmt: skip


@studies.register("language-modeling")
class LanguageStudy(TextStudy[LanguageConfig]):
    """Does a recurrent language model predict words better than counting, and than one that sees three words?"""

    name = "language-modeling"
    recipe, baselines = LanguageRecipe, LanguageBaselines
    data = ("ewt",)
    objective = ("networks", "dev", "min")
    place = "RNNs for Language Modeling; RNNs: high-level"
    title = "Language modeling"
    about = (
        "At every word of a sentence the network says which comes next, up to the end of the sentence. Beside it the "
        "previous language model of the lecture, which sees a fixed number of words, and the perplexities of guessing "
        "and of counting words. Recurrent and feed-forward networks are also compared with one budget: as many "
        "parameters, the same learning rates to choose from on dev, the same number of epochs. With text of your own, "
        "a sentence per line: rote run language-modeling task.train=FILE."
    )
    deviations = (
        *DEVIATIONS,
        "Perplexity per word and end of sentence; words that are not in the vocabulary count as one word, so that "
        "perplexities of different vocabularies cannot be compared.",
        "Quick: 800 sentences, 500 words, 32 units, 3 epochs, Adam at 0.01. Paper: UD English EWT with "
        "4,000 words, 64 units, 4 epochs, Adam at 0.003.",
        "With one budget: the number of parameters decides the hidden units of each network, dev the learning rate and "
        "the epoch. After the 3 epochs of quick all networks still improve, feed-forward ones having come further: "
        "what they reach when none improves any more is compared here.",
    )
    known: ClassVar = {
        "window": {"network": "window"},
        "elman": {"model.cell": "elman"},
        "lstm": {"model.cell": "lstm"},
    }
    presets: ClassVar[Mapping[str, Mapping[str, object]]] = {
        "smoke": {
            "task.data": "stand-in", "task.examples": 64, "seeds": 2, "training.epochs": 1.0, "model.embedding": 4,
            "model.hidden": 4, "tuned": ("window", "elman"), "budget": 2000, "rates": (0.01,), "tuned_epochs": 1.0,
        },
        "quick": {
            "task.examples": 800, "task.largest": 500, "model.embedding": 32, "model.hidden": 32,
            "training.epochs": 3.0, "training.learning_rate": 0.01, "training.measure_every": 1.0,
            "tuned": ("window", "elman"), "budget": 20_000, "rates": (0.003, 0.01, 0.03), "tuned_epochs": 12.0,
        },
        "paper": {"task.data": "ewt", "task.largest": 4000, "training.measure_every": 1.0},
    }  # fmt: skip
    optional: ClassVar[tuple[str, ...]] = ("variants", "task.data", "tuned")
    default = LanguageConfig(model=TextModelConfig(), training=TextTraining())

    def completed(self, config: LanguageConfig, overrides: Mapping[str, object]) -> LanguageConfig:
        if (config.task.train or "variants" in overrides) and "tuned" not in overrides:
            config = replace(config, tuned=())  # whoever names networks wants these
        for name in config.tuned:
            if name not in self.known:
                raise UnknownNameError("network", name, self.known)
        return super().completed(config, overrides)

    def jobs(self, config: LanguageConfig) -> list[Job]:
        """Beside the variants, the networks of one budget: each with every learning rate."""
        compared = [
            TrialsMeasurement(name).of(
                *(job for recipe in self._budgeted(config, name) for job in recipe.jobs(config.seed_numbers))
            )
            for name in config.tuned
        ]
        return [*super().jobs(config), *compared]

    def tables(self, config: LanguageConfig, measured: Mapping[str, Table]) -> Sequence[Table]:
        first, *others = super().tables(config, measured)
        return [first, *tuned_tables(config, measured["trials"] if config.tuned else None, first.note), *others]

    def _budgeted(self, config: LanguageConfig, name: str) -> list[BudgetRecipe]:
        """A network's recipes, one for each learning rate. It reads, and says, what its variant does."""
        one = self._recipe(config, name)
        model = replace(one.model, hidden=1)  # the budget decides
        trainings = [
            replace(one.training, learning_rate=rate, epochs=config.tuned_epochs, measure_every=1.0)
            for rate in config.rates
        ]
        same = (one.architecture, one.window, one.packed, config.budget)
        return [BudgetRecipe(config.task, model, training, *same) for training in trainings]

    claims = (
        Claim(
            "language-modeling-unigram", "foundations", "RNNs for Language Modeling",
            "A recurrent network predicts the next word from those before it, better than word counts do.",
            published.WINDOW,
            tuple(
                Assertion(
                    f"Perplexity in test, {name} minus unigram",
                    measured(over_baseline, {"model": "unigram"}, model=name), below(0.0),
                )
                for name in ("elman", "lstm")
            ),
            kind="ours",
            remark="The lecture shows the model and compares it with nothing.",
        ),
        Claim(
            "language-modeling-window", "foundations", "RNNs: high-level",
            "A recurrent language model predicts better than a feed-forward one, which sees a fixed number of words.",
            published.WINDOW,
            (_tuned("elman"), _tuned("lstm", "report"), *(_against_window(name) for name in ("elman", "lstm"))),
            kind="implied",
            remark="The lecture contrasts the two and measures nothing. They are compared with as many parameters, the "
            "same learning rates to choose from on dev and the same number of epochs; without this, as reported, "
            "networks are compared of which some have learned for too short a time.",
        ),
    )  # fmt: skip


def tuned_tables(config: LanguageConfig, trials: Table | None, note: str) -> list[Table]:
    """Of each network and seed the learning rate that is best on dev; none without trials."""
    if trials is None:
        return []
    best: list[Row] = [
        min(group, key=lambda row: row["loss"]) for group in grouped(trials.records(), ("network", "seed")).values()
    ]
    told = (
        f"At most {config.budget} parameters each, learning rates {', '.join(f'{rate:g}' for rate in config.rates)} "
        f"to choose from on dev, {config.tuned_epochs:g} epochs. {note}"
    )
    columns = (NETWORK, SEED, Column("rate", "learning rate that is best on dev"), *REACHED)
    return [
        _outcome(best, told),
        Table.make("tuned-networks", "Every network with one budget", columns, best, details=True, note=told),
        Table.make("trials", "Every trial", TRIALS, trials.records(), details=True, note=told),
    ]


def _outcome(best: list[Row], note: str) -> Table:
    rows: list[Row] = []
    for (network,), group in grouped(best, ("network",)).items():
        means = {name: band([row[name] for row in group])["mean"] for name in ("dev", "epoch")}
        rates = [row["rate"] for row in group]
        test = band([row["test"] for row in group])
        chosen = ", ".join(f"{rate:g}: {rates.count(rate)}" for rate in sorted(set(rates)))
        labels = {"network": network, "parameters": group[0]["parameters"], "rates": chosen}
        rows.append({**labels, **test, "test": test["mean"], **means})
    columns = (
        NETWORK, Column("seeds", "networks", "label"), Column("parameters", "trained numbers", "label"),
        Column("dev", "perplexity, dev"), Column("test", "perplexity, test"), *interval_columns(),
        Column("rates", "learning rates that dev chose, and in how many seeds", "label"),
        Column("epoch", "mean epoch of the lowest loss on dev"),
    )  # fmt: skip
    title = "One budget of parameters and trials: perplexity"
    return Table.make("tuned", title, columns, rows, place="RNNs: high-level", note=note)
