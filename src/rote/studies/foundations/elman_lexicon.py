"""Lexical classes from word order: Elman 1990, p. 195-206, Figures 7 to 9; source 004, slides "Power of RNNs"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from rote.config import at_least
from rote.errors import UsageError
from rote.store import FinishedRun, Request, Run, Table
from rote.studies.foundations import lexicon_claims as judged
from rote.studies.foundations import published
from rote.studies.foundations.elman_settings import OPEN, Procedure
from rote.studies.foundations.lexicon_tables import all_tables
from rote.studies.study import Progress, Study, studies
from rote.tasks.elman import Classes, ElmanTask

ELMAN, MODEL = "elman's procedure", "language model"


@dataclass(frozen=True)
class WordModel:
    """The vanilla RNN language model: tanh, cross entropy, Adam, truncated backpropagation through time."""

    hidden: int = 150
    passes: float = published.LEXICON_PASSES
    columns: int = 10  # into which the stream is cut
    bptt: int = 20
    learning_rate: float = 0.003
    clip: float | None = 1.0

    def __post_init__(self) -> None:
        at_least(self, 1, "hidden", "columns", "bptt")
        for name in ("passes", "learning_rate", "clip"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise UsageError(f"{name!r} of WordModel must be above 0. Got {value!r}.")


@dataclass(frozen=True)
class LexiconConfig:
    training: Procedure = field(default_factory=lambda: Procedure(hidden=150, passes=published.LEXICON_PASSES))
    language_model: WordModel = field(default_factory=WordModel)
    sentences: int = published.LEXICON_SENTENCES
    classes: Classes = "inclusive"
    read: int | None = None  # words of the training stream that are read when it is learned; None: all
    seeds: int = 10
    together: int = 5  # networks in a run
    modern: bool = True  # language models beside Elman's networks

    def __post_init__(self) -> None:
        at_least(self, 1, "seeds", "together")
        at_least(self, 500, "sentences")
        at_least(self, 1000, "read")

    def task(self) -> ElmanTask:
        return ElmanTask("lexicon", self.sentences, self.classes)


@studies.register("elman-lexicon")
class LexiconStudy(Study[LexiconConfig]):
    """Do the hidden states of a network that predicts words group them by class, and is it the network that does?"""

    name = "elman-lexicon"
    version = 2
    source = published.SOURCE
    place = "Power of RNNs; Elman 1990, p. 195-206, Figures 7 to 9"
    title = "Lexical classes"
    about = (
        "Sentences of two or three words, without boundaries; each word is one bit and tells nothing of its class. A "
        "network learns to predict the next word. Its hidden states, averaged for each word, are clustered: are the "
        "branches that the article names branches here, in every network, and without one? The preset paper takes "
        "about three minutes of one core."
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
            "sentences": 1000, "seeds": 2, "together": 2, "read": 2000,
        },
        "quick": {"language_model.passes": 4.0, "seeds": 6, "together": 3, "read": 8000},
        "paper": {},
    }  # fmt: skip
    default = LexiconConfig()

    def requests(self, config: LexiconConfig) -> list[Request]:
        alone = replace(config, modern=False)
        firsts = range(0, config.seeds, config.together)
        groups = [range(first, min(first + config.together, config.seeds)) for first in firsts]
        elman, model = replace(alone, language_model=WordModel()), replace(alone, training=Procedure())
        parts = [(ELMAN, elman)] + ([(MODEL, model)] if config.modern else [])
        return [self.request(name, part, group) for name, part in parts for group in groups]

    def perform(self, request: Request, run: Run, progress: Progress, device: str) -> Sequence[Table]:
        from rote.studies.foundations.lexicon_training import elman_networks, language_models

        config = self.config_of(request)
        if request.part == MODEL:
            return language_models(config, run, progress, device)
        return elman_networks(config, run, progress)

    def summarize(self, config: LexiconConfig, runs: Sequence[FinishedRun]) -> Sequence[Table]:
        return all_tables(config, runs)

    claims = judged.CLAIMS
