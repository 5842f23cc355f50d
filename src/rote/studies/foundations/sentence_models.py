"""Language models on sentences, one population per cell, trained as one program: agreement and selection."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy

from rote.models import LanguageModelConfig, StackedLanguageModel
from rote.training import Program, TrainingConfig, choose_device

if TYPE_CHECKING:
    from jaxtyping import Float

IGNORED = -100  # a target that cross_entropy leaves out
Batches = Callable[[int], NDArray[np.int64]]  # step -> tokens [replica, sentence, time], padded with -1
Measure = Callable[["SentenceProgram"], dict[str, Any]]


class SentenceProgram(Program):
    """One network per replica. Every sentence begins behind a full stop, symbol 0, from a state of zeros."""

    stacked = True
    model: StackedLanguageModel

    def __init__(
        self,
        symbols: int,
        model: LanguageModelConfig,
        training: TrainingConfig,
        seeds: Sequence[int],
        batches: Batches,
        measure: Measure,
        device: str,
    ) -> None:
        self.device, self.replicas, self.batches, self.measured = choose_device(device), len(seeds), batches, measure
        self.model = StackedLanguageModel(symbols, model, seeds, training.torch_dtype())
        self.model.to(self.device)

    def losses(self, step: int) -> Float[Tensor, " replica"]:
        """Mean cross entropy over the words of a replica's sentences, padding left out."""
        tokens = self.batches(step)
        tokens = tokens[:, :, : int((tokens >= 0).sum(2).max())]
        targets = torch.from_numpy(np.where(tokens < 0, IGNORED, tokens)).to(self.device)
        logits, _ = self.model(self._begun(tokens[:, :, :-1]))
        each = cross_entropy(logits.flatten(0, 2), targets.flatten(), ignore_index=IGNORED, reduction="none")
        return each.view(self.replicas, -1).sum(1) / (targets != IGNORED).flatten(1).sum(1)

    def measure(self) -> dict[str, Any]:
        return self.measured(self)

    @torch.no_grad()
    def after(self, prefixes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Probabilities of the word after each prefix, [replica, prefix, word]; all of one length."""
        logits, _ = self.model(self._begun(prefixes))
        return np.asarray(logits[:, :, -1].double().softmax(-1).cpu())

    def _begun(self, tokens: NDArray[np.int64]) -> Tensor:
        begun = np.concatenate([np.zeros((*tokens.shape[:2], 1), dtype=np.int64), np.maximum(tokens, 0)], axis=2)
        return torch.from_numpy(begun).to(self.device)


def larger(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    """Share of pairs in which the first is larger; equal ones count half."""
    return float(((first > second) + 0.5 * (first == second)).mean())


def shuffled(corpora: NDArray[np.int64], seeds: Sequence[int], batch: int) -> Batches:
    """Each seed's corpus in a new order in every epoch; what does not fill a batch is left out of the epoch."""
    per_epoch = max(1, corpora.shape[1] // batch)

    @cache
    def order(epoch: int) -> NDArray[np.int64]:
        return np.stack([np.random.default_rng((seed, 2, epoch)).permutation(corpora.shape[1]) for seed in seeds])

    def batches(step: int) -> NDArray[np.int64]:
        epoch, within = divmod(step, per_epoch)
        chosen = order(epoch)[:, within * batch : (within + 1) * batch]
        return np.take_along_axis(corpora, chosen[:, :, None], axis=1)

    return batches
