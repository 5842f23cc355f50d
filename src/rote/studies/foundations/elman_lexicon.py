"""Lexical classes from word order: Elman 1990, p. 195-206, Figures 7 to 9; source 004, slides "Power of RNNs"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any, ClassVar

from rote.claims import Assertion, Claim, PerSeed, Published, above, at_least, below, column, measured
from rote.config import UNSAID, above_zero
from rote.config import at_least as not_below
from rote.laboratory import Study, StudyConfig, studies
from rote.models.settings import known_cells
from rote.recipes import Job, Measurement, Network, Recipe, Trained, measurements, recipes
from rote.recipes.recipe import Progress
from rote.store import Run, Table
from rote.studies.foundations import published
from rote.studies.foundations.elman import OPEN, SHORT, ElmanRecipe, Procedure
from rote.studies.foundations.elman_lexicon_tables import (
    COUNTS,
    GRAMMAR,
    LINKAGE,
    MODEL,
    all_tables,
    branches,
)
from rote.studies.foundations.elman_tables import TRAINED, UNTRAINED, more_than, per_seed
from rote.studies.foundations.sentences import spelled
from rote.tasks.elman import Classes, ElmanTask
from rote.training import TrainingConfig
from rote.training.settings import truncated_updates

CLASSES = ("nouns", "verbs", "animate", "inanimate", "human")
NAMED = len(published.LEXICON_GROUPS)


def _predicted(name: str, network: str) -> PerSeed:
    return per_seed(name, network, "prediction")


_cosine, _error = partial(_predicted, "cosine"), partial(_predicted, "error")
_own = partial(per_seed, "own", table="token-seeds")


def _exact(group: str) -> PerSeed:
    """1 where it is a branch, else 0."""
    return column("groups", "exact", network=TRAINED, linkage=LINKAGE, group=group)


def _unseen(name: str, network: str = TRAINED) -> PerSeed:
    return per_seed(name, network, "unseen")


def _branches(network: str, linkage: str = LINKAGE, of: tuple[str, ...] = ()) -> PerSeed:
    return measured(branches, network, linkage, of)


@dataclass(frozen=True)
class WordModel:
    """The vanilla RNN language model: tanh, cross entropy, Adam, truncated backpropagation through time."""

    hidden: int = 150
    passes: float = published.LEXICON_PASSES
    columns: int = 10  # into which the stream is cut
    bptt: int = 20
    learning_rate: float = 0.003
    clip: float | None = 1.0
    cell: str = field(default="elman", metadata=UNSAID)

    def __post_init__(self) -> None:
        known_cells(self.cell)
        not_below(self, 1, "hidden", "columns", "bptt")
        above_zero(self, "passes", "learning_rate", "clip")

    def updates(self, length: int) -> int:
        """In a pass over streams with a mean length."""
        return truncated_updates(length, self.columns, self.bptt)

    def config(self, length: int) -> TrainingConfig:
        steps = max(1, round(self.passes * self.updates(length)))
        return TrainingConfig(
            steps=steps, batch=self.columns, optimizer="adam", learning_rate=self.learning_rate, clip=self.clip,
            record_every=steps,
        )  # fmt: skip


@recipes.register("elman-lexicon")
@dataclass(frozen=True)
class WordModelRecipe(Recipe):
    """Language models of today on Elman's sentences."""

    name = "elman-lexicon"
    source = published.SOURCE
    view = "sequence"
    label = MODEL
    together = 3
    task: ElmanTask = field(default_factory=ElmanTask)
    language_model: WordModel = field(default_factory=WordModel)

    @property
    def cell(self) -> str:
        return self.language_model.cell

    def fit(self, trained: Sequence[Trained], run: Run, progress: Progress, device: str) -> None:
        from rote.studies.foundations.elman_lexicon_training import WordModels
        from rote.training import train

        program = WordModels(self, run.request.seeds, device)
        train(program, self.language_model.config(self.task.length), run, progress=progress)

    def closed(self) -> str:
        return ""

    def network(self, trained: Trained, weights: Mapping[str, Any], index: int) -> Network:
        from rote.studies.foundations.elman_lexicon_training import reopened

        stream = replace(self.task, size=SHORT).training(trained.seeds[index])
        model, example = reopened(trained, weights).replica(index), spelled(stream.names, stream.symbols.tolist())
        return Network(model, inputs=stream.names, outputs=stream.names, example=example)


@measurements.register("elman-lexicon")
@dataclass(frozen=True)
class LexiconMeasurement(Measurement):
    """What the networks predict, how their states group the words, and where they put a word that was never seen.
    Beside Elman's networks: the same before training, counts, and the grammar itself."""

    name = "elman-lexicon"
    version = 2
    source = published.SOURCE
    read: int | None = None  # words of the training stream that are read when it is learned; None: all

    def measure(self, trained: Sequence[Trained], run: Run, progress: Progress, device: str) -> Sequence[Table]:
        from rote.studies.foundations.elman_lexicon_training import measured

        return measured(self, trained[0], device)


@dataclass(frozen=True)
class LexiconConfig(StudyConfig):
    seeds: int = 10
    training: Procedure = field(default_factory=lambda: Procedure(hidden=150, passes=published.LEXICON_PASSES))
    language_model: WordModel = field(default_factory=WordModel)
    sentences: int = published.LEXICON_SENTENCES
    classes: Classes = "inclusive"
    read: int | None = None  # words of the training stream that are read when it is learned; None: all
    modern: bool = True  # language models beside Elman's networks

    def __post_init__(self) -> None:
        not_below(self, 1, "seeds")
        not_below(self, 500, "sentences")
        not_below(self, 1000, "read")

    def unused(self) -> dict[str, str]:
        names = (f"language_model.{field.name}" for field in fields(WordModel))
        return {} if self.modern else dict.fromkeys(names, "it belongs to modern=true.")

    def recipes(self) -> list[Recipe]:
        task = ElmanTask("lexicon", self.sentences, self.classes)
        modern = [WordModelRecipe(task, self.language_model)] if self.modern else []
        return [ElmanRecipe(task, self.training), *modern]


@studies.register("elman-lexicon")
class LexiconStudy(Study[LexiconConfig]):
    """Do the hidden states of a network that predicts words group them by class, and is it the network that does?"""

    name = "elman-lexicon"
    source = published.SOURCE
    place = "Power of RNNs; Elman 1990, p. 195-206, Figures 7 to 9"
    title = "Lexical classes"
    about = (
        "Sentences of two or three words, without boundaries; each word is one bit and tells nothing of its class. A "
        "network learns to predict the next word. Its hidden states, averaged for each word, are clustered: are the "
        "branches that the article names branches here, in every network, and without one?"
    )
    deviations = (
        *OPEN,
        "The article gives one stream's length as 27,534, 27,354 and 27,454 words; 16 equally likely templates give "
        "27,500 on average, and ours differ by seed. It speaks of 13 classes and 15 templates and lists 12 and 16, "
        "which we take. Membership is completed from Figure 7, with broad classes that contain the narrow ones; "
        "classes=listed for those of Table 3 alone.",
        "The linkage is not named. Average linkage of Euclidean distances decides; Ward's is reported.",
        "Error 0.88 'RMS' is compared with the root of the mean squared error summed over bits, in which an output of "
        "zeros has 1.0, as it does in the article; 0.053 'RMS' from the likelihood vectors is of the size of a sum of "
        "squares, with which it is compared.",
        "All tokens are compared with the words' means; the article clusters them.",
        "The lecture calls the network a vanilla RNN language model. The part 'language model' is one of today: tanh, "
        "cross entropy, truncated backpropagation, Adam.",
        "Preset quick: fewer seeds, four passes of the language model, and the first 8,000 words are read.",
    )
    presets: ClassVar[Mapping[str, Mapping[str, object]]] = {
        "smoke": {
            "training.passes": 0.5, "training.hidden": 10, "language_model.hidden": 10, "language_model.passes": 0.5,
            "sentences": 1000, "seeds": 2, "read": 2000,
        },
        "quick": {"language_model.passes": 4.0, "seeds": 6, "read": 8000},
        "paper": {},
    }  # fmt: skip
    optional = ("modern",)
    default = LexiconConfig()

    def jobs(self, config: LexiconConfig) -> list[Job]:
        measurement = LexiconMeasurement(config.read)
        return [measurement.of(job) for recipe in config.recipes() for job in recipe.jobs(config.seed_numbers)]

    def tables(self, config: LexiconConfig, measured: Mapping[str, Table]) -> Sequence[Table]:
        note = f"After {config.training.passes:g} passes over {config.sentences} sentences; {config.seeds} seeds."
        return all_tables(measured, note, config.first_seed)

    claims = (
        Claim(
            "elman-lexicon-prediction", "foundations", "Elman 1990, p. 199",
            "The network predicts what can follow: its outputs are close to the likelihood of each word, given the "
            "sentence so far.",
            published.LEXICON_PREDICTION,
            (
                Assertion(
                    "Cosine with the likelihood vectors, trained minus counts of two words",
                    _cosine(TRAINED) - _cosine(COUNTS), above(0.0),
                ),
                *more_than("The cosine", _cosine, UNTRAINED),
                Assertion("Error on the actual next word (zeros: 1)", _error(TRAINED), below(1.0), role="report"),
                *(
                    Assertion(
                        f"The cosine: {name} minus trained", _cosine(name) - _cosine(TRAINED), above(0.0), role="report"
                    )
                    for name in (MODEL, GRAMMAR)
                ),
                Assertion(
                    "Error on the actual next word of the grammar's own probabilities", _error(GRAMMAR),
                    below(published.LEXICON_ERROR), role="report",
                ),
            ),
            kind="cited",
            numbers=(
                Published("Mean cosine", _cosine(TRAINED), mean=published.LEXICON_COSINE),
                Published("Error where zeros have 1", _error(TRAINED), mean=published.LEXICON_ERROR),
                Published(
                    "Squared error from the likelihood vectors", _predicted("likelihood", TRAINED),
                    mean=published.LEXICON_LIKELIHOOD,
                ),
            ),
            remark="Close is taken as closer than counts of two words, which do not know the sentence so far; the "
            "article has no counts. Likelihood vectors are counted, at the end of a sentence from few sentences: even "
            "the grammar that made them has no cosine of 1. Its error on the next word is the least that can be had; "
            "where it is above the published one, the article's sentences were easier than ours.",
        ),
        Claim(
            "elman-lexicon-tree", "foundations", "Power of RNNs; Elman 1990, Figure 7",
            "The tree of mean hidden states has most of the branches of the article's: word classes and classes "
            "within them.",
            published.LEXICON_TREE,
            (
                Assertion(f"Branches of Figure 7, of {NAMED}", _branches(TRAINED), above(NAMED / 2)),
                *more_than("Branches", _branches, UNTRAINED, COUNTS),
                Assertion("Branches, Ward's linkage", _branches(TRAINED, "ward"), above(NAMED / 2), role="report"),
                Assertion("Branches of a language model of today", _branches(MODEL), above(NAMED / 2), role="report"),
            ),
            kind="implied",
            remark="The lecture shows the figure and asks for its trends. Counts of neighboring words, without a "
            "network, give nearly the same tree: by itself the figure does not show that more than these was learned.",
        ),
        Claim(
            "elman-lexicon-classes", "foundations", "Power of RNNs; Elman 1990, Figure 7",
            "Verbs are apart from nouns, animate from inanimate nouns, and humans within the animate.",
            published.LEXICON_TREE,
            (
                *(
                    Assertion(f"1 where {name} are a branch", _exact(name), at_least(1.0), scale="unit")
                    for name in CLASSES
                ),
                *more_than(f"Branches of these {len(CLASSES)}", partial(_branches, of=CLASSES), UNTRAINED, COUNTS),
            ),
            kind="cited",
        ),
        Claim(
            "elman-lexicon-animals", "foundations", "Elman 1990, Figure 7",
            "Animals, small and large, are one branch.",
            published.LEXICON_TREE,
            (
                Assertion("1 where animals are a branch", _exact("animals"), at_least(1.0), scale="unit"),
            ),
            kind="cited",
        ),
        Claim(
            "elman-lexicon-zog", "foundations", "Elman 1990, p. 203, Figure 8",
            "A word that was never seen, put in the places of 'man', is taken for a human noun, without learning.",
            published.LEXICON_ZOG,
            (
                Assertion(
                    "1 where it joins a branch of humans only", _unseen("joins_kin"), at_least(1.0), scale="unit"
                ),
                Assertion(
                    "The same before training", _unseen("joins_kin", UNTRAINED), at_least(1.0), role="report",
                    scale="unit",
                ),
                Assertion(
                    "1 where the nearest word is human", _unseen("nearest_kin"), at_least(1.0), role="report",
                    scale="unit",
                ),
            ),
            kind="cited",
        ),
        Claim(
            "elman-lexicon-tokens", "foundations", "Elman 1990, p. 202",
            "Every occurrence of a word, in whatever context, stays with its own word.",
            published.LEXICON_TOKENS,
            (
                Assertion("Share of tokens nearest to their own word", _own(TRAINED), at_least(1.0), scale="unit"),
                Assertion("The same before training", _own(UNTRAINED), at_least(1.0), role="report", scale="unit"),
            ),
            kind="cited",
            remark="The article clusters all tokens; nearest to the mean of one's word is our measure of the same. "
            "Before training the word's own weights alone keep its tokens together: staying with one's word is not "
            "something that is learned.",
        ),
    )  # fmt: skip
