"""Language models on generated sentences: what the studies agreement, selection and matrix train.

They are recurrent, or neural n-grams, which see a fixed number of the last words.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

from rote.claims import Assertion, PerSeed, above
from rote.claims.claim import Role
from rote.claims.counting import Quantifier
from rote.models import LanguageModelConfig
from rote.models.settings import NeuralNGramConfig
from rote.recipes import Network, Recipe, Trained
from rote.recipes.recipe import Progress
from rote.store import Run
from rote.training import TrainingConfig

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Batches = Callable[[int], "NDArray[np.int64]"]  # step -> tokens [replica, sentence, time], padded with -1
SHOWN = 24  # symbols of an example
SentenceModel = LanguageModelConfig | NeuralNGramConfig
RIGHT = 0.9  # share of items from which on a network is said to know what is asked; one that does not has half of them


def counted(order: int) -> str:
    """What tables call an n-gram that is counted."""
    return f"{order}-gram"


def neural(order: int) -> str:
    """What tables call one that is a feed-forward network."""
    return f"neural {order}-gram"


def neural_n_grams(model: LanguageModelConfig, orders: Iterable[int]) -> list[NeuralNGramConfig]:
    """Of these orders, with the sizes of a recurrent model; one of a single word would see nothing."""
    return [NeuralNGramConfig(order, model.embedding, model.hidden) for order in orders if order > 1]


def small_model() -> LanguageModelConfig:
    """As agreement and selection train it, with each of their cells."""
    return LanguageModelConfig(cell="elman", embedding=32, hidden=32, limit=0.5)


@dataclass(frozen=True)
class SentenceRecipe(Recipe):
    """Language models of one layer, a network for each of ``members`` and all as one program. Every sentence begins
    behind symbol 0, from a state of zeros. A subclass says which symbols and sentences there are."""

    together = 64
    view = "sequence"
    model: SentenceModel = field(default_factory=small_model)
    training: TrainingConfig = field(default_factory=TrainingConfig)

    @property
    def label(self) -> str:
        return self.model.cell if isinstance(self.model, LanguageModelConfig) else neural(self.model.order)

    @abstractmethod
    def symbols(self) -> tuple[str, ...]:
        """The names of the symbols, which every member reads and says."""

    @abstractmethod
    def batches(self, seeds: Sequence[int]) -> Batches:
        """What each member learns from at an update."""

    @abstractmethod
    def sentence(self, seeds: Sequence[int], index: int) -> Iterable[int]:
        """One that a member was trained on."""

    def snapshots(self) -> Collection[int]:
        """The steps whose weights are kept beside those at the end."""
        return ()

    def fit(self, trained: Sequence[Trained], run: Run, progress: Progress, device: str) -> None:
        from rote.studies.foundations.sentence_models import SentenceProgram
        from rote.training import train

        seeds = run.request.seeds
        replicas = [int(member["seed"]) for member in self.members(seeds)]
        program = SentenceProgram(
            len(self.symbols()), self.model, self.training, replicas, self.batches(seeds), device
        )  # fmt: skip
        train(program, self.training, run, progress=progress, snapshots=self.snapshots())

    def closed(self) -> str:
        if isinstance(self.model, LanguageModelConfig):
            return ""
        return "A neural n-gram does not read step by step. Open one of a recurrent part, as 'elman'."

    def network(self, trained: Trained, weights: Mapping[str, Any], index: int) -> Network:
        from rote.studies.foundations.sentence_models import stacked

        names = self.symbols()
        model = stacked(trained, weights).replica(index)
        example = spelled(names, [0, *self.sentence(trained.seeds, index)])
        return Network(model, inputs=names, outputs=names, example=example)


def spelled(names: Sequence[str], symbols: Iterable[int], between: str = " ") -> str:
    """The beginning of a sequence in words; padding is no symbol."""
    return between.join(names[number] for number in islice(symbols, SHOWN) if number >= 0)


def right(label: str, of: PerSeed, seeds: Quantifier = "most", role: Role = "part") -> Assertion:
    """That a network knows what is asked."""
    return Assertion(label, of, above(RIGHT), seeds, role, "unit")
