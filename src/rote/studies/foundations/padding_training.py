"""Classifiers that read the right or the wrong state, all of one cell as one program; and the exact comparison.

A forward network's true last state does not depend on what comes behind it, so that all ways of reading are one run
over the padded batch, read at other steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from rote.cells import stack, stacked_linear
from rote.models import TextModel
from rote.models.ragged import gather, run_ragged
from rote.store import Request, Run, Table
from rote.studies.foundations.padding_tables import BASELINE, COMPARED, CURVES, MAJORITY, READINGS
from rote.tasks.text import PADDING, Numbers, mask_of
from rote.tasks.text_baselines import majority
from rote.tasks.text_tasks import Corpus, Part
from rote.training import Program, choose_device, train

if TYPE_CHECKING:
    from rote.studies.foundations.padding import PaddingConfig
    from rote.studies.study import Progress

TEST_ORDER = 10**6  # in place of an epoch: the order in which dev and test are cut into batches


class StackedClassifier(nn.Module):
    """One-layer text classifiers, a replica for each seed given; equal seeds start alike."""

    def __init__(self, words: int, classes: int, config: PaddingConfig, seeds: Sequence[int]) -> None:
        super().__init__()
        dtype = config.training.config(1).torch_dtype()
        made = [TextModel(words, classes, config.model, seed, dtype) for seed in seeds]
        self.cell = stack([model.recurrent.cell(0) for model in made])
        parts = [[model.embedding, model.readout] for model in made]
        self.embedding, self.readout = (
            nn.Parameter(torch.stack([part[place].weight.detach() for part in parts]))  # type: ignore[union-attr]
            for place in range(2)
        )
        self.readout_bias = nn.Parameter(torch.stack([model.readout.bias.detach() for model in made]))  # type: ignore[union-attr]

    def forward(self, tokens: Tensor, at: Tensor, shown: Tensor) -> Tensor:
        """Logits [replica, row, class] from the states at the steps ``at`` [replica, row] of tokens [replica, row,
        time]; where not ``shown``, from zeros."""
        replicas, rows, time = tokens.shape
        vectors = torch.cat([torch.zeros_like(self.embedding[:, :1]), self.embedding[:, 1:]], 1)  # padding stays 0
        start = vectors.new_zeros(replicas, rows, self.cell.hidden_size)
        states = run_ragged(self.cell, vectors, tokens.mT.flatten(1), [rows] * time, start)
        picked = gather(states, at * rows + torch.arange(rows, device=at.device)) * shown[..., None]
        return stacked_linear(picked, self.readout, self.readout_bias)


class PaddingProgram(Program):
    """A network for each way of reading and seed."""

    stacked = True

    def __init__(self, config: PaddingConfig, corpus: Corpus, seeds: Sequence[int], device: str) -> None:
        self.config, self.corpus, self.device = config, corpus, choose_device(device)
        self.members = [(reading, seed) for reading in READINGS for seed in seeds]
        self.replicas = len(self.members)
        sizes = len(corpus.vocabulary), len(corpus.labels)
        self.model = StackedClassifier(*sizes, config, [seed for _, seed in self.members]).to(self.device)
        self.steps = config.training.steps_per_epoch(len(corpus.train))
        self.orders: dict[tuple[int, int], Numbers] = {}

    def losses(self, step: int) -> Tensor:
        part, (epoch, place) = self.corpus.train, divmod(step, self.steps)
        rows = [self._rows(part, reading, seed, epoch, place) for reading, seed in self.members]
        size = min(map(len, rows))  # the last batch of a pass may be smaller
        logits, targets = self._answers(part, [some[:size] for some in rows])
        return cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="none").view(self.replicas, -1).mean(1)

    def measure(self) -> dict[str, Any]:
        found = {name: self._evaluate(part) for name, part in self.corpus.parts.items()}
        return {"loss": found["dev"][0], **{name: right for name, (_, right) in found.items()}}

    def _evaluate(self, part: Part) -> tuple[list[float], list[float]]:
        order = np.random.default_rng(TEST_ORDER).permutation(len(part))
        batch = self.config.training.batch
        loss, right = torch.zeros(2, self.replicas, dtype=torch.float64)
        for first in range(0, len(order), batch):
            logits, targets = self._answers(part, [order[first : first + batch]] * self.replicas)
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
        given = tokens.reshape(*lengths.shape, -1), at, shown, targets
        read, step, kept, wanted = (torch.from_numpy(np.ascontiguousarray(array)).to(self.device) for array in given)
        return self.model(read, step, kept), wanted

    def _rows(self, part: Part, reading: str, seed: int, epoch: int, place: int) -> Numbers:
        batch = self.config.training.batch
        if reading == "equal":  # a text, and others of its length
            random = np.random.default_rng((seed, epoch, place))
            lengths = part.inputs.lengths
            alike = np.flatnonzero(lengths == lengths[random.integers(len(lengths))])
            return random.choice(alike, batch)
        if (seed, epoch) not in self.orders:
            self.orders = {key: order for key, order in self.orders.items() if key[1] == epoch}
            self.orders[seed, epoch] = np.random.default_rng((seed, epoch)).permutation(len(part))
        return self.orders[seed, epoch][place * batch : (place + 1) * batch]


def train_and_measure(
    config: PaddingConfig, request: Request, run: Run, progress: Progress, device: str
) -> list[Table]:
    corpus = config.task.load()
    run.note(data=corpus.sha256)
    program = PaddingProgram(config, corpus, request.seeds, device)
    measured = config.training.measured(len(corpus.train))
    train(program, config.training.config(len(corpus.train)), run, progress=progress, record_at=measured)
    rows = [
        {"cell": config.model.cell, "reading": reading, "seed": seed, "epoch": measured[row["step"]]}
        | {name: row[name][index] for name in ("loss", "dev", "test") if name in row}
        for index, (reading, seed) in enumerate(program.members)
        for row in run.metrics.rows()
    ]
    counted = [{"reading": MAJORITY, **majority(corpus)}]
    return [
        Table.make("curves", "Every network over training", CURVES, rows, details=True),
        Table.make("baselines", "Baseline", BASELINE, counted, note=corpus.note),
    ]


def compare_directions(cells: Sequence[str], seeds: Sequence[int], words: int = 20, size: int = 8) -> Table:
    """Random bidirectional networks on a padded batch, run with its lengths and without them, in float64."""
    from rote.models import TextModelConfig

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
    given, ends = torch.from_numpy(tokens), torch.from_numpy(lengths)
    right, right_end = model.states(given, ends)
    wrong, wrong_end = model.states(given)
    states = (right - wrong)[torch.from_numpy(mask_of(lengths, tokens.shape[1]))].abs().chunk(2, -1)
    ends_off = [(one[0] - other[0]).abs() for one, other in zip(right_end, wrong_end, strict=True)]
    names = ("forward", "backward", "final_forward", "final_backward")
    return {name: float(part.max()) for name, part in zip(names, (*states, *ends_off), strict=True)}
