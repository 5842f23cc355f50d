"""The study of the training procedure: source 000, section 3.

The source leaves momentum and weight decay out because they slowed rule learning. Here the same networks learn the same
rule by the published procedure, with each of the two, and with both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from rote.claims import Assertion, Claim, above, at_most, measured
from rote.config import above_zero, at_least, below_one
from rote.laboratory import Study, StudyConfig, studies
from rote.models import LanguageModelConfig
from rote.recipes import Job, Trained, measurements
from rote.recipes.recipe import Progress
from rote.store import Run, Table
from rote.studies.conduits import procedure_tables as measure
from rote.studies.conduits import published
from rote.studies.conduits.frequency import SCALED
from rote.studies.conduits.procedure_tables import BOTH, DECAY, MOMENTUM, PLAIN, SAME_STEP
from rote.studies.conduits.rules import FIXED, Passes, RulesMeasurement, RulesRecipe, recurring
from rote.tasks.rules import RulesTask


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
        labels = {column.name: getattr(training, column.name) for column in measure.PROCEDURE}
        rows = [{**labels, **row} for row in measures.records()]
        return [Table.make(measures.name, measures.title, (*measure.PROCEDURE, *measures.columns), rows, details=True)]


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
        return measure.all_tables(config, measured)

    claims = (
        Claim(
            "conduit-procedure-slows", "conduits", "Section 3",
            "With momentum, with weight decay and with both the rule is learned later than without.",
            published.PROCEDURE,
            (
                *(
                    Assertion(
                        f"log2 of the epochs needed, with {name} over the published procedure",
                        measured(measure.delay, name), above(0),
                    )
                    for name in (MOMENTUM, DECAY, BOTH)
                ),
                Assertion(
                    "Share of training after which the published procedure has learned the rule",
                    measured(measure.learned), at_most(1), role="condition",
                ),
                Assertion(
                    "It is momentum that slows, not the larger step that it makes (the first with a learning rate that "
                    "is smaller by as much)",
                    measured(measure.delay, SAME_STEP), above(0), role="rival",
                ),
            ),
            remark="Needed: P(close) from the open symbol passes 1/2, between two measured epochs where its log odds "
            "pass 0. A rule that was not learned takes for ever. Neither value is the source's.",
        ),
    )  # fmt: skip
