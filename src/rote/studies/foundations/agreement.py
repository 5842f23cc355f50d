"""Number agreement past other nouns: source 004, slides "Long-distance dependencies, I: number" and "Summary"."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from rote.claims import Assertion, Claim, below, column
from rote.claims.claim import Role
from rote.claims.counting import Quantifier
from rote.config import at_least, not_empty
from rote.errors import SettingError
from rote.laboratory import Study, StudyConfig, studies
from rote.laboratory.aggregate import BAND, Row, bands, grouped
from rote.laboratory.study import CELLS_DECIDE
from rote.models import LanguageModelConfig
from rote.models.settings import NeuralNGramConfig, known_cells
from rote.recipes import Job, Measurement, Trained, measurements, recipes
from rote.recipes.recipe import Progress
from rote.store import Column, Run, Table
from rote.studies.foundations import published
from rote.studies.foundations.sentences import (
    RIGHT,
    Batches,
    SentenceModel,
    SentenceRecipe,
    counted,
    neural,
    neural_n_grams,
    right,
    small_model,
)
from rote.tasks.agreement import DEEPEST, AgreementTask, Attractors, Structure
from rote.training import TrainingConfig

ORDERS = (2, 3, 4, 5)
BOTH = tuple(kind(order) for kind in (counted, neural) for order in ORDERS)
MODEL = Column("model", "recurrent unit, the same before training, or n-grams by order, counted or neural", "label")
CONDITION = Column("condition", "what stands between subject and verb", "label")
ATTRACTORS = Column("attractors", "number of the nouns there: as the subject's, or opposite", "label")
SEED = Column("seed", "random seed of corpus and network", "label")
ACCURACY = (
    MODEL,
    SEED,
    Column("structure", "what stands between subject and verb", "label"),
    Column("depth", "nouns between subject and verb", "label"),
    Column("attractors", "number of those nouns: as the subject's, opposite, or mixed", "label"),
    Column("accuracy", "share of items in which the right form is more probable"),
)
CURVE = (MODEL, SEED, Column("step", "updates", "label"), Column("loss", "cross entropy, nats per word"))


def training() -> TrainingConfig:
    """As our preset paper has it; the lecture has none."""
    return TrainingConfig(steps=3000, batch=32, optimizer="adam", learning_rate=0.01, clip=1.0, record_every=500)


@recipes.register("agreement")
@dataclass(frozen=True)
class AgreementRecipe(SentenceRecipe):
    """Language models of sentences whose verb has the number of its subject, past other nouns."""

    name = "agreement"
    source = published.SOURCE
    about = "a sentence begins behind “.”"
    task: AgreementTask = field(default_factory=AgreementTask)
    training: TrainingConfig = field(default_factory=training)
    sentences: int = 20_000  # of a seed's corpus

    def symbols(self) -> tuple[str, ...]:
        return self.task.words

    def batches(self, seeds: Sequence[int]) -> Batches:
        import numpy as np

        from rote.studies.foundations.sentence_models import shuffled

        corpora = np.stack([self.task.training(seed, self.sentences).tokens for seed in seeds])
        return shuffled(corpora, seeds, self.training.batch)

    def sentence(self, seeds: Sequence[int], index: int) -> Iterable[int]:
        return list(self.task.training(seeds[index], 1).tokens[0])

    def snapshots(self) -> Sequence[int]:
        return (0,)


@recipes.register("agreement-neural-n-grams")
@dataclass(frozen=True)
class AgreementNeuralNGramRecipe(AgreementRecipe):
    """Feed-forward language models of the same sentences, which see the last few words."""

    name = "agreement-neural-n-grams"
    model: SentenceModel = field(default_factory=NeuralNGramConfig)

    def snapshots(self) -> Sequence[int]:
        return ()


@measurements.register("agreement")
@dataclass(frozen=True)
class AgreementMeasurement(Measurement):
    """How often the right form of the verb is more probable than the wrong one, after training and, where these
    weights were kept, before it."""

    name = "agreement"
    source = published.SOURCE
    depths: tuple[int, ...] = (0, 1, 2, 3, 5)  # prepositional phrases of the test
    items: int = 1000  # of each condition

    def conditions(self) -> list[tuple[Structure, int, Attractors]]:
        """What stands between subject and verb, how many nouns of it, and of which number."""
        every: tuple[Attractors, ...] = ("congruent", "opposite", "mixed")
        phrases: list[tuple[Structure, int, Attractors]] = [
            ("phrases", depth, attractors) for depth in self.depths for attractors in (every if depth else every[:1])
        ]
        relatives: tuple[Structure, ...] = ("subject relative", "object relative")
        return phrases + [(structure, 1, attractors) for attractors in every[:2] for structure in relatives]

    def measure(self, trained: Sequence[Trained], run: Run, progress: Progress, device: str) -> Sequence[Table]:
        from rote.studies.foundations.agreement_training import measured

        return measured(self, trained[0], device)


@measurements.register("agreement-n-grams")
@dataclass(frozen=True)
class AgreementCounts(AgreementMeasurement):
    """The same of n-grams, counted on the corpus that the networks of a seed learn from."""

    name = "agreement-n-grams"
    task: AgreementTask = field(default_factory=AgreementTask)
    sentences: int = 20_000
    orders: tuple[int, ...] = ORDERS

    def measure(self, trained: Sequence[Trained], run: Run, progress: Progress, device: str) -> Sequence[Table]:
        from rote.studies.foundations.agreement_training import counted

        return counted(self, run.request.seeds, progress)


@dataclass(frozen=True)
class AgreementConfig(StudyConfig):
    seeds: int = 10
    task: AgreementTask = field(default_factory=AgreementTask)
    model: LanguageModelConfig = field(default_factory=small_model)
    training: TrainingConfig = field(default_factory=training)
    sentences: int = 20_000  # of a seed's corpus, which its n-grams are counted on
    depths: tuple[int, ...] = (0, 1, 2, 3, 5)  # prepositional phrases of the test
    items: int = 1000  # of each condition
    cells: tuple[str, ...] = ("elman", "gru", "lstm")
    orders: tuple[int, ...] = ORDERS  # of the n-grams, counted and neural

    def __post_init__(self) -> None:
        at_least(self, 1, "sentences", "items", "seeds", "orders")
        at_least(self, 0, "depths")
        known_cells(*self.cells)
        not_empty(self, "cells", "orders", "depths")
        if max(self.depths) > DEEPEST:
            raise SettingError("depths", f"must be at most {DEEPEST}. Got {max(self.depths)}.")


def condition(structure: str, depth: int) -> str:
    """A condition in words."""
    return f"{depth} phrase{'' if depth == 1 else 's'}" if structure == "phrases" else structure


def _past(
    model: str, depth: int, role: Role = "part", seeds: Quantifier = "most", structure: Structure = "phrases"
) -> Assertion:
    """That a model gives the verb the number of its subject, past nouns of the other number."""
    labels = {"model": model, "structure": structure, "depth": depth, "attractors": "opposite"}
    label = f"{model}, {condition(structure, depth)}, opposite nouns"
    return right(label, column("accuracy", "accuracy", **labels), seeds, role)


@studies.register("agreement")
class AgreementStudy(Study[AgreementConfig]):
    """Do recurrent networks give a verb the number of its subject where n-grams, also neural, follow the last words?"""

    name = "agreement"
    source = published.SOURCE
    place = "Long-distance dependencies, I: number; Summary"
    title = "Number agreement past other nouns"
    about = (
        "Generated sentences: a subject, prepositional phrases or a relative clause, a verb. Before the verb the right "
        "form is compared with the wrong one, apart for nouns between them of the subject's number (congruent) and of "
        "the other (opposite): a model that looks at the nearest noun has all of the first and none of the second. "
        "Beside recurrent networks stand n-grams of order 2 to 5, counted and as feed-forward networks. "
        "Training has at most two phrases; more are unseen."
    )
    deviations = (
        "The lecture has examples, no experiment. Grammar, sizes and training are ours: 49 words, sentences with at "
        "most two phrases or one relative clause, every noun's number drawn by itself, tanh units, Adam.",
        "n-grams are interpolated Kneser-Ney counts of the same corpus; neural ones are feed-forward networks on the "
        "last words (Bengio et al. 2003), with the sizes, sentences and updates of the recurrent ones.",
        "An item is right if the right form of one verb is more probable than its wrong form; equal ones count half.",
        "Published accuracies on natural text are shown as context only; our sentences could not reproduce them.",
        "Preset quick: fewer sentences, updates and items.",
    )
    presets: ClassVar[Mapping[str, Mapping[str, object]]] = {
        "smoke": {
            "training.steps": 8, "training.record_every": 8, "model.embedding": 8, "model.hidden": 8, "sentences": 200,
            "items": 20, "seeds": 2, "depths": (0, 1, 2, 3),
        },
        "quick": {"training.steps": 600, "training.record_every": 200, "sentences": 10_000, "items": 200, "seeds": 6},
        "paper": {},
    }  # fmt: skip
    own_scale = True
    optional = ("cells", "depths", "orders")
    fixed: ClassVar[Mapping[str, str]] = CELLS_DECIDE
    default = AgreementConfig()

    def jobs(self, config: AgreementConfig) -> list[Job]:
        """The networks of each cell, the neural n-grams, and the counts."""
        asked = AgreementMeasurement(config.depths, config.items)
        counts = AgreementCounts(config.depths, config.items, config.task, config.sentences, config.orders)
        learned = (config.training, config.task, config.sentences)
        recipes = [
            *(AgreementRecipe(replace(config.model, cell=cell), *learned) for cell in config.cells),
            *(AgreementNeuralNGramRecipe(model, *learned) for model in neural_n_grams(config.model, config.orders)),
        ]
        networks = [asked.of(job) for recipe in recipes for job in recipe.jobs(config.seed_numbers)]
        return [*networks, counts.of(seeds=config.seed_numbers)]

    def tables(self, config: AgreementConfig, measured: Mapping[str, Table]) -> Sequence[Table]:
        every, curve = measured["accuracy"], measured["curve"]
        note = (
            f"{config.seeds} seeds, {config.items} items each. Training had at most {config.task.depth} phrases: more "
            "are unseen. Opposite: every noun between subject and verb has the other number."
        )
        means = bands(every.records(), ("model", "structure", "depth", "attractors"), "accuracy", (0.0, 1.0))
        rows = [{**row, "condition": condition(row["structure"], row["depth"])} for row in means]
        columns = (MODEL, CONDITION, ATTRACTORS, *BAND)
        return [
            _outcome(rows, note),
            Table.make(
                "conditions", "Agreement by what stands between subject and verb", columns, rows,
                place="Long-distance dependencies, I", figure="agreement", details=True,
                note=f"Bars: 95 % intervals. {note}",
            ),
            _context(),
            Table.make(
                "curve", "Loss over training", (MODEL, Column("step", "updates", "label"), *BAND),
                bands(curve.records(), ("model", "step"), "loss", (0.0, math.inf)), figure="agreement-curve",
                details=True, note="Cross entropy of each network's first batch, nats per word.",
            ),
            every,
        ]  # fmt: skip

    claims = (
        Claim(
            "agreement-n-grams", "foundations", "Long-distance dependencies, I; Summary",
            "Models of n-grams cannot give a verb the number of a subject that is further away than their n words.",
            published.N_GRAMS,
            kind="identity",
            test="tests/oracles/test_sentence_models.py::test_n_grams_know_no_subject_beyond_their_words",
            remark="They see the last words only, so that of two sentences that differ in the subject alone they have "
            "one right at most. In a subject relative the inner verb, within four words, carries the subject's number: "
            "there n-grams of four words are right, as the tables show.",
        ),
        Claim(
            "agreement-fixed-context", "foundations", "Selectional Restrictions; Summary",
            "n-grams, whether they are counted or neural networks, cannot: past two nouns of the other number, further "
            "away than their words, they do not give the verb the number of its subject.",
            published.BOTH_N_GRAMS,
            (
                *(replace(_past(model, 2), holds=below(RIGHT)) for model in BOTH),
                *(
                    right(
                        f"{model}, subject next to the verb",
                        column("accuracy", "accuracy", model=model, structure="phrases", depth=0), role="condition",
                    )
                    for model in (kind(order) for kind in (counted, neural) for order in ORDERS if order > 3)
                ),
                *(_past(model(5), 1, "report") for model in (counted, neural)),
                *(_past(model(4), 1, "report", structure="subject relative") for model in (counted, neural)),
            ),
            remark="Both kinds have to fail, at every order from 2 to 5, and both must have learned what their words "
            "decide: from order 4 on they see that a sentence has begun with the noun next to the verb. What they see "
            "cannot tell them the subject, but a word among it might betray its number, as the inner verb of a subject "
            "relative does, which is reported: there the lecture's sentence has an exception. With one phrase the "
            "subject is within five words, also reported: networks use it, counts are too sparse.",
        ),
        Claim(
            "agreement-rnn", "foundations", "Long-distance dependencies, I; Summary",
            "A vanilla recurrent network can, in principle: it agrees with the subject past one and two nouns of the "
            "other number, as in the lecture's examples.",
            published.IN_PRINCIPLE,
            (
                *(_past("elman", depth, seeds="some") for depth in (1, 2)),
                replace(_past("untrained elman", 2), holds=below(RIGHT), role="condition"),
                _past("elman", 1, "report", structure="object relative"),
                *(_past(cell, 2, "report") for cell in ("gru", "lstm")),
            ),
            kind="implied",
            remark="'In principle' is said of some network: one seed bears it out, and the count says how many do. "
            f"That it agrees in more than {RIGHT:.0%} of the items is our measure; a model that does not know the "
            "subject has half of them.",
        ),
        Claim(
            "agreement-far", "foundations", "Long-distance dependencies, I",
            "Also where the subject is very far away: further than in any sentence of the training.",
            published.NUMBER,
            (
                *(_past("elman", depth) for depth in (3, 5)),
                *(_past(cell, 5, "report") for cell in ("gru", "lstm")),
            ),
            kind="ours",
            remark="The lecture speaks of principle; sentences longer than those of the training are our test of it.",
        ),
    )  # fmt: skip


def _outcome(rows: list[Row], note: str) -> Table:
    """A row per condition, a column per model, trained networks and counts before the untrained ones."""
    models = sorted(dict.fromkeys(row["model"] for row in rows), key=lambda name: name.startswith("untrained"))
    wide = []
    for (name, attractors), group in grouped(rows, ("condition", "attractors")).items():
        if attractors != "mixed":
            values = {row["model"]: row["mean"] for row in group}
            labels = {"condition": name, "attractors": "none" if name == condition("phrases", 0) else attractors}
            wide.append({**labels, **{model: values.get(model) for model in models}})
    columns = (CONDITION, ATTRACTORS, *(Column(model, "accuracy, mean over seeds") for model in models))
    return Table.make(
        "outcome", "Share of items with the right verb form", columns, wide, place="Long-distance dependencies, I",
        note=note,
    )  # fmt: skip


def _context() -> Table:
    rows: list[Row] = [
        {"data": data, "model": model, "original": original, "nonsense": nonsense}
        for data, models in published.AGREEMENT.items()
        for model, (original, nonsense) in models.items()
    ]
    for (subject, attractor), value in published.ATTRACTOR.items():
        data = f"Lakretz et al. 2019, {subject} subject, {attractor} noun"
        rows.append({"data": data, "model": "lstm", "original": value})
    columns = (
        Column("data", "", "label"), Column("model", "", "label"),
        Column("original", "accuracy on sentences of a corpus or template", "published"),
        Column("nonsense", "accuracy on the same with words exchanged", "published"),
    )  # fmt: skip
    return Table.make(
        "context", "Natural language, for context", columns, rows,
        note="Published, of the best model of each kind; computed from the authors' released outputs.",
    )  # fmt: skip
