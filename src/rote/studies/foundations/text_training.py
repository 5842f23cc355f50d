"""One network on text: how it is trained and measured, and how a trained one is opened again."""

from __future__ import annotations

import bisect
import functools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from rote.errors import UsageError
from rote.models import TextModel, TextModelConfig, WindowModel, WordAverage
from rote.models.fitting import fitted
from rote.recipes import Network
from rote.store import Run, Table
from rote.studies.foundations.language_modeling import TRIALS
from rote.studies.foundations.sentences import spelled
from rote.studies.foundations.text_tables import curve_columns
from rote.tasks.text import UNKNOWN, Numbers, Ragged, batches, pad
from rote.tasks.text_tasks import START, Corpus, Part
from rote.training import Program, choose_device

if TYPE_CHECKING:
    from jaxtyping import Float

    from rote.recipes import Trained
    from rote.studies.foundations.text_study import TextRecipe

EVALUATED = 128  # sequences at once


class TextProgram(Program):
    """The loss is the mean over the texts of a batch, or over its words; padding counts in none."""

    def __init__(self, recipe: TextRecipe, corpus: Corpus, seed: int, device: str) -> None:
        self.recipe, self.corpus, self.seed, self.device = recipe, corpus, seed, choose_device(device)
        self.model = make_model(recipe, corpus, seed).to(self.device)
        self.steps = recipe.training.steps_per_epoch(len(corpus.train))
        self.rows = functools.lru_cache(maxsize=1)(self._rows)

    def losses(self, step: int) -> Float[Tensor, " replica"]:
        epoch, place = divmod(step, self.steps)
        logits, targets = self._answers(self.corpus.train, self.rows(epoch)[place])
        loss = cross_entropy(logits, targets)
        if self.recipe.training.l2:
            squares = sum((parameter**2).sum() for parameter in self.model.parameters())
            loss = loss + self.recipe.training.l2 * squares
        return loss.reshape(1)

    def measure(self) -> dict[str, Any]:
        """The loss on dev, and the score of each part."""
        parts = {name: self._evaluate(part) for name, part in self.corpus.parts.items()}
        perplexity = self.recipe.kind == "language-modeling"
        scores = {name: [math.exp(loss) if perplexity else right] for name, (loss, right) in parts.items()}
        return {"loss": [parts["dev"][0]], **scores}

    def _evaluate(self, part: Part) -> tuple[float, float]:
        """Mean loss and share of right answers, over texts or words."""
        order = np.argsort(part.inputs.lengths, kind="stable")
        loss, right, count = 0.0, 0, 0
        for first in range(0, len(order), EVALUATED):
            logits, targets = self._answers(part, order[first : first + EVALUATED])
            loss += float(cross_entropy(logits, targets, reduction="sum"))
            right += int((logits.argmax(-1) == targets).sum())
            count += len(targets)
        return loss / count, right / count

    def _answers(self, part: Part, rows: Numbers) -> tuple[Tensor, Tensor]:
        """Logits and targets of every text, or of every word of the texts, one behind the other."""
        tokens, lengths = (torch.from_numpy(array) for array in part.inputs.batch(rows))
        flat = part.targets.flat(rows) if isinstance(part.targets, Ragged) else part.targets[rows]
        logits = answers(self.recipe, self.model, tokens.to(self.device), lengths)
        return logits, torch.from_numpy(flat).to(self.device)

    def _rows(self, epoch: int) -> list[Numbers]:
        random = np.random.default_rng((self.seed, epoch))
        return batches(self.corpus.train.inputs.lengths, self.recipe.training.batch, random)


def make_model(recipe: TextRecipe, corpus: Corpus, seed: int) -> nn.Module:
    """The network that the recipe names, drawn from its seed."""
    sizes, allowed = (len(corpus.vocabulary), len(corpus.labels)), recipe.allowed()
    if allowed is None:
        return _made(recipe, recipe.model, sizes, seed)
    return _made(recipe, replace(recipe.model, hidden=largest_hidden(recipe, sizes, allowed)), sizes, seed)


def largest_hidden(recipe: TextRecipe, sizes: tuple[int, int], allowed: int) -> int:
    """The units with which the network has at most so many parameters, embedding and readout included."""

    def count(hidden: int) -> int:
        return sum(one.numel() for one in _made(recipe, replace(recipe.model, hidden=hidden), sizes, 0).parameters())

    if count(1) > allowed:
        raise UsageError(
            f"'budget' must be at least {count(1)}, for {sizes[0]} words and one hidden unit. Got {allowed}."
        )
    low, high = 1, 2
    while count(high) <= allowed:
        low, high = high, 2 * high
    return low + bisect.bisect_right(range(low + 1, high), allowed, key=count)


def _made(recipe: TextRecipe, config: TextModelConfig, sizes: tuple[int, int], seed: int) -> nn.Module:
    dtype = recipe.training.torch_dtype()
    if recipe.architecture == "average":
        return WordAverage(*sizes, config, seed, dtype)
    if recipe.architecture == "window":
        return WindowModel(*sizes, config, seed, dtype, recipe.window)
    return TextModel(*sizes, config, seed, dtype)


def answers(recipe: TextRecipe, model: Any, tokens: Tensor, lengths: Tensor) -> Tensor:
    """Logits [text or word, output]."""
    if recipe.kind == "classification":
        return model.classify(tokens, lengths=lengths)  # type: ignore[no-any-return]
    if recipe.packed:
        return model.at_words(tokens, lengths=lengths)  # type: ignore[no-any-return]
    return model.at_words(tokens, lengths=lengths, packed=False)  # type: ignore[no-any-return]


def measured(variant: str, trained: Sequence[Trained], run: Run) -> Table:
    """What was recorded of every seed over training."""
    recipe: TextRecipe = trained[0].recipe
    corpus = recipe.task.load()
    run.note(data=corpus.sha256)
    epochs = recipe.training.measured(len(corpus.train))
    rows = []
    for one in trained:
        parameters = sum(weight.numel() for weight in one.weights().values())
        labels = {"model": variant, "seed": one.seeds[0], "parameters": parameters}
        rows += [
            {**labels, "epoch": epochs[row["step"]]}
            | {name: row[name][0] for name in ("loss", "dev", "test") if name in row}
            for row in one.run.metrics()
        ]
    return Table.make("curves", "Every network over training", curve_columns(recipe.kind), rows, details=True)


def trials(network: str, trained: Sequence[Trained], run: Run) -> Table:
    """Of every seed and learning rate, what its network had at the lowest loss on dev."""
    rows = []
    for one in trained:
        best = min(measured(network, [one], run).records(), key=lambda row: row["loss"])
        labels = {"network": network, "rate": one.recipe.training.learning_rate, "seed": one.seeds[0]}
        rows.append({**labels, **{name: best.get(name) for name in ("parameters", "loss", "dev", "test", "epoch")}})
    return Table.make("trials", "Every trial", TRIALS, rows, details=True)


@dataclass(frozen=True)
class TextNetwork(Network):
    """A trained network that reads words and names its answers. Recurrent ones are taken by every analysis."""

    recipe: Any = None  # the TextRecipe that it was trained by

    def encode(self, texts: Iterable[Sequence[str]]) -> tuple[Tensor, Tensor]:
        """Tokens [text, time] and lengths, from words."""
        numbers = {word: number for number, word in enumerate(self.inputs)}
        start = [START] if self.recipe.kind == "language-modeling" else []
        lower = self.recipe.task.lowercase
        read = [[*start, *(word.lower() if lower else word for word in text)] for text in texts]
        tokens, lengths = pad([[numbers.get(word, UNKNOWN) for word in text] for text in read])
        return torch.from_numpy(tokens), torch.from_numpy(lengths)

    @torch.no_grad()
    def predict(self, texts: Sequence[Sequence[str]]) -> list[Any]:
        """The label of each text; a list of tags for each; or of the most probable next words."""
        tokens, lengths = self.encode(texts)
        best = answers(self.recipe, self.model, tokens, lengths).argmax(-1).tolist()
        named = [self.outputs[number] for number in best]
        if self.recipe.kind == "classification":
            return named
        ends = np.cumsum(lengths.tolist())
        return [named[end - length : end] for end, length in zip(ends, lengths.tolist(), strict=True)]


def reopened(recipe: TextRecipe, trained: Trained, weights: Mapping[str, Any]) -> TextNetwork:
    """The network of a finished training."""
    corpus = recipe.task.load()
    needed = [recipe.model.embedding * len(corpus.vocabulary)]
    if recipe.architecture == "recurrent":
        needed.append(recipe.model.layers * recipe.model.hidden**2)
    model = fitted(lambda: make_model(recipe, corpus, trained.seeds[0]), weights, trained.run.folder, *needed)
    words, dev = tuple(corpus.vocabulary.words), corpus.dev.inputs
    return TextNetwork(
        model.eval(), inputs=words, outputs=tuple(corpus.labels), closed=recipe.closed(), recipe=recipe,
        example=spelled(words, dev.values[: dev.lengths[0]]),
    )  # fmt: skip
