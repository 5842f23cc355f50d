"""Number agreement past other nouns: source 004, slides "Long-distance dependencies, I: number" and "Summary"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from rote.config import at_least
from rote.errors import UsageError
from rote.models import LanguageModelConfig
from rote.models.settings import known_cells
from rote.store import FinishedRun, Request, Run, Table
from rote.studies.foundations import agreement_claims as judged
from rote.studies.foundations import published
from rote.studies.foundations.against_counts import COUNTS, AgainstCounts
from rote.studies.foundations.agreement_tables import all_tables
from rote.studies.study import Progress, studies
from rote.tasks.agreement import DEEPEST, AgreementTask
from rote.training import TrainingConfig


@dataclass(frozen=True)
class AgreementConfig:
    task: AgreementTask = field(default_factory=AgreementTask)
    model: LanguageModelConfig = field(
        default_factory=lambda: LanguageModelConfig(cell="elman", embedding=32, hidden=32, limit=0.5)
    )
    training: TrainingConfig = field(
        default_factory=lambda: TrainingConfig(
            steps=3000, batch=32, optimizer="adam", learning_rate=0.01, clip=1.0, record_every=500
        )
    )
    sentences: int = 20_000  # of a seed's corpus, which its n-grams are counted on
    depths: tuple[int, ...] = (0, 1, 2, 3, 5)  # prepositional phrases of the test
    items: int = 1000  # of each condition
    cells: tuple[str, ...] = ("elman", "gru", "lstm")
    orders: tuple[int, ...] = (2, 3, 4, 5)  # of the n-grams
    seeds: int = 10

    def __post_init__(self) -> None:
        at_least(self, 1, "sentences", "items", "seeds", "orders")
        at_least(self, 0, "depths")
        known_cells(*self.cells)
        if not self.cells or not self.orders or not self.depths:
            raise UsageError("'cells', 'orders' and 'depths' of AgreementConfig must each name at least one.")
        if max(self.depths) > DEEPEST:
            raise UsageError(f"'depths' of AgreementConfig must be at most {DEEPEST}. Got {max(self.depths)}.")


@studies.register("agreement")
class AgreementStudy(AgainstCounts[AgreementConfig]):
    """Do recurrent networks give a verb the number of its subject where n-grams follow the nearest noun?"""

    name = "agreement"
    version = 1
    source = published.SOURCE
    place = "Long-distance dependencies, I: number; Summary"
    title = "Number agreement past other nouns"
    about = (
        "Generated sentences: a subject, prepositional phrases or a relative clause, a verb. Before the verb the right "
        "form is compared with the wrong one, apart for nouns between them of the subject's number (congruent) and of "
        "the other (opposite): a model that looks at the nearest noun has all of the first and none of the second. "
        "Training has at most two phrases; more are unseen. The preset paper takes about four minutes of one core."
    )
    deviations = (
        "The lecture has examples, no experiment. Grammar, sizes and training are ours: 49 words, sentences with at "
        "most two phrases or one relative clause, every noun's number drawn by itself, tanh units, Adam.",
        "n-grams are interpolated Kneser-Ney counts of the same corpus.",
        "An item is right if the right form of one verb is more probable than its wrong form; equal ones count half.",
        "Published accuracies on natural text are shown as context only; our sentences could not reproduce them.",
        "Preset quick: fewer sentences, updates and items.",
    )
    presets: ClassVar[Mapping[str, Mapping[str, object]]] = {
        "smoke": {
            "training.steps": 8, "training.record_every": 8, "model.embedding": 8, "model.hidden": 8, "sentences": 200,
            "items": 20, "seeds": 2, "depths": (0, 2, 3),
        },
        "quick": {
            "training.steps": 600, "training.record_every": 200, "sentences": 10_000, "items": 200,
            "seeds": 5,
        },
        "paper": {},
    }  # fmt: skip
    default = AgreementConfig()

    def perform(self, request: Request, run: Run, progress: Progress, device: str) -> Sequence[Table]:
        from rote.studies.foundations.agreement_training import count, train_and_measure

        config = self.config_of(request)
        if request.part == COUNTS:
            return count(config, request.seeds, progress)
        return train_and_measure(config, run, progress, device)

    def summarize(self, config: AgreementConfig, runs: Sequence[FinishedRun]) -> Sequence[Table]:
        return all_tables(config, runs)

    claims = judged.CLAIMS
