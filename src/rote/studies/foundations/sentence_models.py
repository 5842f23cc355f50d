"""Language models on sentences, all networks of a recipe as one program; and what they expect after a beginning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy

from rote.models import LanguageModelConfig, StackedLanguageModel
from rote.models.fitting import fitted
from rote.models.neural_n_gram import StackedNeuralNGram
from rote.tasks.shuffling import ShuffledBatches
from rote.training import Program, TrainingConfig, choose_device

if TYPE_CHECKING:
    from jaxtyping import Float

    from rote.recipes import Trained
    from rote.studies.foundations.sentences import Batches, SentenceModel, SentenceRecipe

Population = StackedLanguageModel | StackedNeuralNGram
IGNORED = -100  # a target that cross_entropy leaves out
ORDER = 2  # the stream of random numbers that shuffles sentences, beside those of the tasks


class SentenceProgram(Program):
    """One network per replica. Every sentence begins behind a full stop, symbol 0, from a state of zeros."""

    stacked = True
    model: Population

    def __init__(
        self,
        symbols: int,
        model: SentenceModel,
        training: TrainingConfig,
        seeds: Sequence[int],
        batches: Batches,
        device: str,
    ) -> None:
        self.device, self.replicas, self.batches = choose_device(device), len(seeds), batches
        self.model = population(symbols, model, seeds, training.torch_dtype())
        self.model.to(self.device)

    def losses(self, step: int) -> Float[Tensor, " replica"]:
        """Mean cross entropy over the words of a replica's sentences, padding left out."""
        tokens = self.batches(step)
        tokens = tokens[:, :, : int((tokens >= 0).sum(2).max())]
        targets = torch.from_numpy(np.where(tokens < 0, IGNORED, tokens)).to(self.device)
        logits, _ = self.model(begun(tokens[:, :, :-1]).to(self.device))
        each = cross_entropy(logits.flatten(0, 2), targets.flatten(), ignore_index=IGNORED, reduction="none")
        return each.view(self.replicas, -1).sum(1) / (targets != IGNORED).flatten(1).sum(1)

    def measure(self) -> dict[str, Any]:
        """The loss of the first batch."""
        return {"loss": self.losses(0).tolist()}


def population(symbols: int, model: SentenceModel, seeds: Sequence[int], dtype: torch.dtype) -> Population:
    """A network for each seed."""
    if isinstance(model, LanguageModelConfig):
        return StackedLanguageModel(symbols, model, seeds, dtype)
    return StackedNeuralNGram(symbols, model, seeds, dtype)


def stacked(trained: Trained, weights: Mapping[str, Any], device: str = "cpu") -> Population:
    """The networks of a finished training with these weights."""
    recipe: SentenceRecipe = trained.recipe
    symbols, config, replicas = len(recipe.symbols()), recipe.model, len(recipe.members(trained.seeds))
    read = config.hidden if isinstance(config, LanguageModelConfig) else config.embedding * (config.order - 1)
    model = fitted(
        lambda: population(symbols, config, [0] * replicas, recipe.training.torch_dtype()),
        weights, trained.run.folder, *(replicas * config.hidden * size for size in (read, config.embedding)),
    )  # fmt: skip
    return model.to(choose_device(device)).eval()


@torch.no_grad()
def after(model: Population, prefixes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Probabilities of the word after each prefix, [replica, prefix, word]; all of one length."""
    logits, _ = model(begun(prefixes).to(model.readout.device))
    return np.asarray(logits[:, :, -1].double().softmax(-1).cpu())


def begun(tokens: NDArray[np.int64]) -> Tensor:
    """With the full stop in front, and in place of padding."""
    start = np.zeros((*tokens.shape[:2], 1), dtype=np.int64)
    return torch.from_numpy(np.concatenate([start, np.maximum(tokens, 0)], axis=2))


def larger(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    """Share of pairs in which the first is larger; equal ones count half."""
    return float(((first > second) + 0.5 * (first == second)).mean())


def shuffled(corpora: NDArray[np.int64], seeds: Sequence[int], batch: int) -> Batches:
    """Each seed's corpus in a new order in every epoch; what does not fill a batch is left out of the epoch."""
    order = ShuffledBatches(seeds, corpora.shape[1], batch, stream=(ORDER,), drop_last=True)
    return lambda step: np.take_along_axis(corpora, order(step)[:, :, None], axis=1)
