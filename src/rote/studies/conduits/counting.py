"""The study of counting: source 000, section 4.1, Figure 2.

The conduit is said to raise the probability of the close symbol a little, together with the open symbol. A probability
at its ceiling cannot rise: it is looked at while the rule is being learned, over several counts of rules. In the
published setting these are the networks of the study conduit-frequency.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from rote.claims import Assertion, Claim, above, measured
from rote.config import at_least
from rote.laboratory import Study, StudyConfig, studies
from rote.models import LanguageModelConfig
from rote.recipes import Job
from rote.store import Table
from rote.studies.conduits import counting_tables as measure
from rote.studies.conduits import published
from rote.studies.conduits.frequency import SCALED
from rote.studies.conduits.rules import FIXED, Passes, RulesMeasurement, RulesRecipe, recurring
from rote.tasks.rules import RulesTask


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
        return measure.all_tables(config, measured)

    claims = (
        Claim(
            "conduit-counting", "conduits", "Section 4.1, Figure 2",
            "Together with the open symbol the conduit raises the probability: the network counts.",
            published.COUNTING,
            (
                Assertion(
                    "Log odds of close from open symbol and conduit minus from the open symbol alone, mean over counts "
                    "of rules and epochs at which these are between chance and their ceiling",
                    measured(measure.over_all, "rise"), above(0),
                ),
                Assertion(
                    "Log odds of the network's own P(close) at its step minus one step early, mean over the same",
                    measured(measure.over_all, "timing"), above(0),
                ),
                Assertion(
                    "The first as published: read where close is the input",
                    measured(measure.over_all, "rise_at_close"), above(0), role="report",
                ),
                Assertion(
                    "The first at the end of training, largest n, ceiling or not",
                    measured(measure.at_end, "end_whole").log_odds() - measured(measure.at_end, "end_open").log_odds(),
                    above(0), role="report",
                ),
            ),
            remark="At its ceiling P(close) cannot rise, and at chance there is nothing to raise: the middle of the "
            "two log odds is above that of twice the untrained probability and below that of 0.99. Each count of rules "
            "has the same weight. The second part is what counting has to show whatever the decomposition says: close "
            "at its step and not before it.",
        ),
    )  # fmt: skip
