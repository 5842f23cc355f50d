"""One network on text: how it is trained and measured, and how a trained one is taken back from the store."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from rote.errors import UsageError
from rote.models import TextModel, WindowModel, WordAverage
from rote.store import FinishedRun, Request, Run, Table
from rote.studies.foundations.text_settings import TextConfig
from rote.studies.foundations.text_tables import curve_columns
from rote.studies.study import Progress, studies
from rote.tasks.text import Numbers, Ragged, batches, pad
from rote.tasks.text_tasks import Corpus, Kind, Part
from rote.training import Program, choose_device, train

if TYPE_CHECKING:
    from jaxtyping import Float

EVALUATED = 128  # sequences at once


class TextProgram(Program):
    """The loss is the mean over the texts of a batch, or over its words; padding counts in none."""

    def __init__(self, kind: Kind, config: TextConfig, corpus: Corpus, seed: int, device: str) -> None:
        self.kind, self.config, self.corpus, self.seed = kind, config, corpus, seed
        self.device = choose_device(device)
        self.model = make_network(config, corpus, seed).to(self.device)
        self.examples = len(corpus.train)
        self.steps = config.training.steps_per_epoch(self.examples)
        self.rows = functools.lru_cache(maxsize=1)(self._rows)

    def losses(self, step: int) -> Float[Tensor, " replica"]:
        epoch, place = divmod(step, self.steps)
        logits, targets = self._answers(self.corpus.train, self.rows(epoch)[place])
        loss = cross_entropy(logits, targets)
        if self.config.training.l2:
            squares = sum((parameter**2).sum() for parameter in self.model.parameters())
            loss = loss + self.config.training.l2 * squares
        return loss.reshape(1)

    def measure(self) -> dict[str, Any]:
        found = {name: self._evaluate(part) for name, part in self.corpus.parts.items()}
        perplexity = self.kind == "language-modeling"
        scores = {name: [math.exp(loss) if perplexity else right] for name, (loss, right) in found.items()}
        return {"loss": [found["dev"][0]], **scores}

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
        return answer(self.kind, self.config, self.model, tokens.to(self.device), lengths), torch.from_numpy(flat).to(
            self.device
        )

    def _rows(self, epoch: int) -> list[Numbers]:
        random = np.random.default_rng((self.seed, epoch))
        return batches(self.corpus.train.inputs.lengths, self.config.training.batch, random)


def make_network(config: TextConfig, corpus: Corpus, seed: int) -> nn.Module:
    """The network that the configuration names, drawn from its seed."""
    dtype, sizes = config.training.config(1).torch_dtype(), (len(corpus.vocabulary), len(corpus.labels))
    if config.network == "average":
        return WordAverage(*sizes, config.model, seed, dtype)
    if config.network == "window":
        return WindowModel(*sizes, config.model, seed, dtype, config.window)
    return TextModel(*sizes, config.model, seed, dtype)


def answer(kind: Kind, config: TextConfig, model: Any, tokens: Tensor, lengths: Tensor) -> Tensor:
    """Logits [text or word, output]."""
    if kind == "classification":
        return model.classify(tokens, lengths)  # type: ignore[no-any-return]
    if config.packed:
        return model.at_words(tokens, lengths)  # type: ignore[no-any-return]
    return model.at_words(tokens, lengths, packed=False)  # type: ignore[no-any-return]


def train_and_measure(
    kind: Kind, config: TextConfig, corpus: Corpus, request: Request, run: Run, progress: Progress, device: str
) -> Table:
    """Train the one seed of ``request``; its rows over training."""
    (seed,) = request.seeds
    program = TextProgram(kind, config, corpus, seed, device)
    measured = config.training.measured(program.examples)
    train(program, config.training.config(program.examples), run, progress=progress, record_at=measured)
    parameters = sum(parameter.numel() for parameter in program.model.parameters())
    rows = [
        {"model": request.part, "seed": seed, "parameters": parameters, "epoch": measured[row["step"]]}
        | {name: row[name][0] for name in ("loss", "dev", "test") if name in row}
        for row in run.metrics.rows()
    ]
    return Table.make("curves", "Every network over training", curve_columns(kind), rows, details=True)


@dataclass(frozen=True)
class TrainedText:
    """A trained network with what it needs to read words and to name its answers."""

    kind: Kind
    config: TextConfig
    model: nn.Module  # recurrent ones are taken by every analysis
    corpus: Corpus

    def encode(self, texts: Iterable[Sequence[str]]) -> tuple[Tensor, Tensor]:
        """Tokens [text, time] and lengths, from words."""
        lowered = [[word.lower() for word in text] if self.config.task.lowercase else list(text) for text in texts]
        if self.kind == "language-modeling":
            lowered = [["<s>", *text] for text in lowered]
        tokens, lengths = pad([self.corpus.vocabulary.encode(text) for text in lowered])
        return torch.from_numpy(tokens), torch.from_numpy(lengths)

    @torch.no_grad()
    def predict(self, texts: Sequence[Sequence[str]]) -> list[Any]:
        """The label of each text; a list of tags for each; or of the most probable next words."""
        tokens, lengths = self.encode(texts)
        best = answer(self.kind, self.config, self.model, tokens, lengths).argmax(-1).tolist()
        named = [self.corpus.labels[number] for number in best]
        if self.kind == "classification":
            return named
        ends = np.cumsum(lengths.tolist())
        return [named[end - length : end] for end, length in zip(ends, lengths.tolist(), strict=True)]


def trained(run: FinishedRun) -> TrainedText:
    """The network of a finished run with its best weights. ``store.load(ID)`` gives the run; see ``rote runs``."""
    request = run.record.request
    study: Any = studies[request.study]()
    if not hasattr(study, "kind") or "curves" not in run.tables():
        raise UsageError(f"The run {run.id} ({request.study}, {request.part}) is no network on text. See: rote runs")
    config = study.config_of(request)
    corpus = config.task.load()
    model = make_network(config, corpus, request.seeds[0])
    model.load_state_dict(run.checkpoint()["model"])
    return TrainedText(study.kind, config, model.eval(), corpus)
