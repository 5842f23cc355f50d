"""Classifiers that read the right or the wrong state, all of one cell as one program; and the exact comparison.

A forward network's true last state does not depend on what comes behind it, so that all ways of reading are one run
over the padded batch, read at other steps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from rote.cells import Recurrent, stack, stacked_linear, unstack
from rote.models import SequenceModel, TextModel, TextModelConfig
from rote.models.fitting import fitted
from rote.models.packed_pairs import gather, run_ragged
from rote.models.sequence import linear_of
from rote.recipes import Network
from rote.store import Run, Table
from rote.studies.foundations.padding import COMPARED, CURVES
from rote.tasks.shuffling import ShuffledBatches
from rote.tasks.text import PADDING, Numbers, mask_of
from rote.tasks.text_tasks import Corpus, Part
from rote.training import Program, choose_device

if TYPE_CHECKING:
    from rote.recipes import Trained
    from rote.studies.foundations.padding import PaddingRecipe

TEST_ORDER = 10**6  # in place of an epoch: the order in which dev and test are cut into batches


class StackedClassifier(nn.Module):
    """One-layer text classifiers, a replica for each seed given; equal seeds start alike."""

    def __init__(self, corpus: Corpus, recipe: PaddingRecipe, seeds: Sequence[int]) -> None:
        super().__init__()
        sizes, dtype = (len(corpus.vocabulary), len(corpus.labels)), recipe.training.torch_dtype()
        alone = [TextModel(*sizes, recipe.model, seed, dtype) for seed in seeds]
        self.cell = stack([model.recurrent.cell(0) for model in alone])
        parts = [[model.embedding, model.linear_readout] for model in alone]
        self.embedding, self.readout = (
            nn.Parameter(torch.stack([part[place].weight.detach() for part in parts]))  # type: ignore[union-attr]
            for place in range(2)
        )
        self.readout_bias = nn.Parameter(torch.stack([model.linear_readout.bias.detach() for model in alone]))  # type: ignore[union-attr]

    def forward(self, tokens: Tensor, at: Tensor, shown: Tensor) -> Tensor:
        """Logits [replica, row, class] from the states at the steps ``at`` [replica, row] of tokens [replica, row,
        time]; where not ``shown``, from zeros."""
        replicas, rows, time = tokens.shape
        vectors = torch.cat([torch.zeros_like(self.embedding[:, :1]), self.embedding[:, 1:]], 1)  # padding stays 0
        start = vectors.new_zeros(replicas, rows, self.cell.hidden_size)
        states = run_ragged(self.cell, vectors, tokens.mT.flatten(1), [rows] * time, start)
        picked = gather(states, at * rows + torch.arange(rows, device=at.device)) * shown[..., None]
        return stacked_linear(picked, self.readout, self.readout_bias)

    def replica(self, index: int) -> SequenceModel:
        """One of them by itself, which says at every step what it would say of a text that ends there."""
        vectors = self.embedding[index].detach().clone()
        vectors[PADDING] = 0
        table = nn.Embedding.from_pretrained(vectors, padding_idx=PADDING)
        readout = linear_of(self.readout[index], self.readout_bias[index])
        return SequenceModel(Recurrent([unstack(self.cell, index)]), table, readout).eval()


class PaddingProgram(Program):
    """A network for each way of reading and seed."""

    stacked = True

    def __init__(self, recipe: PaddingRecipe, corpus: Corpus, seeds: Sequence[int], device: str) -> None:
        self.batch, self.corpus, self.device = recipe.training.batch, corpus, choose_device(device)
        self.members = [(str(member["setting"]), int(member["seed"])) for member in recipe.members(seeds)]
        self.replicas = len(self.members)
        self.model = StackedClassifier(corpus, recipe, [seed for _, seed in self.members]).to(self.device)
        self.seeds, self.order = seeds, ShuffledBatches(seeds, len(corpus.train), self.batch)

    def losses(self, step: int) -> Tensor:
        rows = self._rows(step)
        size = min(map(len, rows))  # the last batch of a pass may be smaller
        logits, targets = self._answers(self.corpus.train, [some[:size] for some in rows])
        return cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="none").view(self.replicas, -1).mean(1)

    def measure(self) -> dict[str, Any]:
        """The loss on dev, and the share of texts of each part that are right."""
        parts = {name: self._evaluate(part) for name, part in self.corpus.parts.items()}
        return {"loss": parts["dev"][0], **{name: right for name, (_, right) in parts.items()}}

    def _evaluate(self, part: Part) -> tuple[list[float], list[float]]:
        order = np.random.default_rng(TEST_ORDER).permutation(len(part))
        loss, right = torch.zeros(2, self.replicas, dtype=torch.float64)
        for first in range(0, len(order), self.batch):
            logits, targets = self._answers(part, [order[first : first + self.batch]] * self.replicas)
            each = cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="none")
            loss += each.view(self.replicas, -1).sum(1).double().cpu()
            right += (logits.argmax(-1) == targets).sum(1).cpu()
        return (loss / len(order)).tolist(), (right / len(order)).tolist()

    def _answers(self, part: Part, rows: Sequence[Numbers]) -> tuple[Tensor, Tensor]:
        """Logits and targets [replica, row]; each replica has rows of its own, as many as the others."""
        tokens, lengths = part.inputs.batch(np.concatenate(rows))
        lengths = lengths.reshape(len(rows), -1)
        columns = lengths.max(1, keepdims=True) - 1  # the last column of each replica's own batch
        wrong = np.array([reading in ("column", "packed") for reading, _ in self.members])[:, None]
        packed = np.array([reading == "packed" for reading, _ in self.members])[:, None]
        at = np.where(wrong, columns, lengths - 1)
        shown = ~packed | (lengths - 1 == columns)
        targets = part.outputs[np.stack(rows)]
        arrays = tokens.reshape(*lengths.shape, -1), at, shown, targets
        read, step, kept, wanted = (torch.from_numpy(np.ascontiguousarray(array)).to(self.device) for array in arrays)
        return self.model(read, step, kept), wanted

    def _rows(self, step: int) -> list[Numbers]:
        """The texts that each replica learns from."""
        shuffled = dict(zip(self.seeds, self.order(step), strict=True))
        return [self._alike(seed, step) if reading == "equal" else shuffled[seed] for reading, seed in self.members]

    def _alike(self, seed: int, step: int) -> Numbers:
        """A text, and others of its length."""
        random = np.random.default_rng((seed, *divmod(step, self.order.per_epoch)))
        lengths = self.corpus.train.inputs.lengths
        alike = np.flatnonzero(lengths == lengths[random.integers(len(lengths))])
        return random.choice(alike, self.batch)


def measured(trained: Trained, run: Run) -> Table:
    """What was recorded of every network over training."""
    recipe: PaddingRecipe = trained.recipe
    corpus = recipe.task.load()
    run.note(data=corpus.sha256)
    epochs, records = recipe.training.measured(len(corpus.train)), trained.run.metrics()
    rows = [
        {"cell": recipe.model.cell, "reading": which["setting"], "seed": which["seed"], "epoch": epochs[row["step"]]}
        | {name: row[name][index] for name in ("loss", "dev", "test") if name in row}
        for index, which in enumerate(recipe.members(trained.seeds))
        for row in records
    ]
    return Table.make("curves", "Every network over training", CURVES, rows, details=True)


def reopened(recipe: PaddingRecipe, trained: Trained, weights: Mapping[str, Any], index: int) -> Network:
    """One of the networks of a finished training."""
    corpus, seeds = recipe.task.load(), [int(member["seed"]) for member in recipe.members(trained.seeds)]
    size, words = recipe.model, tuple(corpus.vocabulary.words)
    needed = (len(seeds) * size.hidden**2, len(seeds) * size.embedding * len(words))
    model = fitted(lambda: StackedClassifier(corpus, recipe, seeds), weights, trained.run.folder, *needed)
    return Network(model.replica(index), inputs=words, outputs=tuple(corpus.labels), closed=recipe.closed())


def compare_directions(cells: Sequence[str], seeds: Sequence[int], words: int = 20, size: int = 8) -> Table:
    """Random bidirectional networks on a padded batch, run with its lengths and without them, in float64."""
    rows = []
    for cell in cells:
        for seed in seeds:
            config = TextModelConfig(cell=cell, embedding=size, hidden=size, bidirectional=True)
            model = TextModel(words, 2, config, seed, torch.float64)
            random = np.random.default_rng(seed)
            lengths = np.array([12, *random.integers(2, 11, size=7)])
            tokens = np.where(mask_of(lengths), random.integers(2, words, size=(8, 12)), PADDING)
            row: dict[str, Any] = {"cell": cell, "seed": seed, **_differences(model, tokens, lengths)}
            same = _differences(model, tokens[:1].repeat(4, 0), lengths[:1].repeat(4))
            rows.append({**row, "unpadded": max(same.values())})
    return Table.make("directions", "Bidirectional networks without lengths", COMPARED, rows)


@torch.no_grad()
def _differences(model: TextModel, tokens: Numbers, lengths: Numbers) -> dict[str, float]:
    read, ends = torch.from_numpy(tokens), torch.from_numpy(lengths)
    right, right_end = model.states(read, lengths=ends)
    wrong, wrong_end = model.states(read)
    states = (right - wrong)[torch.from_numpy(mask_of(lengths, tokens.shape[1]))].abs().chunk(2, -1)
    ends_off = [(one[0] - other[0]).abs() for one, other in zip(right_end, wrong_end, strict=True)]
    names = ("forward", "backward", "final_forward", "final_backward")
    return {name: float(part.max()) for name, part in zip(names, (*states, *ends_off), strict=True)}
