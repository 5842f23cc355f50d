"""The SCAN models, trained as one program for several seeds, and what is measured on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from rote.models import StackedTranslator
from rote.models.packed_pairs import NO_TARGET, Pairs, arrange
from rote.store import Column, Table
from rote.tasks.scan_examples import ACTIONS, COMMAND_WORDS, END, Numbers, encoded
from rote.training import Program, choose_device

if TYPE_CHECKING:
    from jaxtyping import Bool, Float

    from rote.recipes import Trained
    from rote.recipes.recipe import Progress
    from rote.studies.resistance.scan import ScanMeasurement, ScanRecipe

LABELS = (
    Column("setting", "original is the source's A, random its B, replaced its B as in appendix B", "label"),
    Column("seed", "random seed", "label"),
    Column("step", "updates", "label"),
)
CURVES = (
    Column("loss", "cross entropy of an action on a sample of training lines, nats"),
    Column("train", "share of a sample of training lines that is right to the last action"),
    Column("combined", "the same without the copies of the command that is added alone"),
    Column("test", "share of a sample of test commands that is right to the last action"),
)
ENDS = (
    *LABELS[:2],
    Column("train", "share of all different training commands that is right with the last weights"),
    Column("test", "share of all test commands that is right with the last weights"),
)
BLOCK = 64  # batches that are drawn at once
PART = 512  # commands that are evaluated at once: what is computed for more leaves the processor's cache


class ScanProgram(Program):
    """One model per seed; ``losses`` is the mean cross entropy of the actions, the end symbol being one."""

    stacked = True
    model: StackedTranslator

    def __init__(self, recipe: ScanRecipe, seeds: Sequence[int], device: str) -> None:
        task = self.task = recipe.task
        self.batch, self.seeds = recipe.training.batch, tuple(seeds)
        self.replicas, self.device = len(seeds), choose_device(device)
        symbols = len(COMMAND_WORDS), len(ACTIONS) + 1
        self.model = StackedTranslator(recipe.model, *symbols, seeds, recipe.training.torch_dtype()).to(self.device)
        drawn = [task.training_sample(seed, recipe.sample) for seed in seeds]
        self.train = np.stack([commands for commands, _ in drawn])
        self.copies = torch.from_numpy(np.stack([copies for _, copies in drawn]))
        self.test = np.stack([task.test(seed, recipe.sample) for seed in seeds])
        self._block: tuple[int, Numbers] = (-1, self.train)

    def losses(self, step: int) -> Float[Tensor, " replica"]:
        block, within = divmod(step, BLOCK)
        if block != self._block[0]:
            drawn = [self.task.training(seed, block, BLOCK, self.batch) for seed in self.seeds]
            self._block = (block, np.stack(drawn, 1))
        pairs = self.pairs(self._block[1][within])
        return _token_mean(self.model(pairs), pairs)

    def measure(self) -> dict[str, Any]:
        pairs = self.pairs(self.train)
        logits = self.model(pairs)
        right = correct(logits, pairs).double().cpu()
        others = ~self.copies
        return {
            "loss": _token_mean(logits, pairs).tolist(),
            "train": right.mean(1).tolist(),
            "combined": ((right * others).sum(1) / others.sum(1)).tolist(),
            "test": self.accuracy(self.test).tolist(),
        }

    def sample_losses(self) -> Float[Tensor, " replica"]:
        """On the lines that training accuracy is measured on."""
        pairs = self.pairs(self.train)
        return _token_mean(self.model(pairs), pairs)

    def accuracy(self, commands: Numbers) -> Float[Tensor, " replica"]:
        """Share of commands [replica, command] whose actions are right to the last."""
        return self.right(commands).double().mean(1)

    @torch.no_grad()
    def right(self, commands: Numbers) -> Bool[Tensor, "replica command"]:
        """Without decoding: the best guess is right after every right beginning if and only if all of it is right."""
        found = []
        for first in range(0, commands.shape[1], PART):
            pairs = self.pairs(commands[:, first : first + PART])
            found.append(correct(self.model(pairs), pairs))
        return torch.cat(found, 1).cpu()

    def pairs(self, commands: Numbers) -> Pairs:
        known = encoded()
        inputs, outputs = known.inputs[commands], known.outputs[commands]
        lengths = known.input_lengths[commands], known.output_lengths[commands]
        return arrange(inputs, lengths[0], outputs, lengths[1], END).to(self.device)


def correct(logits: Float[Tensor, "replica symbol place"], pairs: Pairs) -> Bool[Tensor, "replica row"]:
    """Whether a row is right at every place that has a target; rows as the batch was given."""
    right = (logits.argmax(1) == pairs.targets) | (pairs.targets == NO_TARGET)
    return pairs.in_order(torch.cat([part.all(-1) for part in pairs.by_row(right)], 1))


def _token_mean(logits: Float[Tensor, "replica symbol place"], pairs: Pairs) -> Float[Tensor, " replica"]:
    loss = cross_entropy(logits, pairs.targets, reduction="none", ignore_index=NO_TARGET)
    return loss.sum(1) / (pairs.targets != NO_TARGET).sum(1)


def measured(asked: ScanMeasurement, trained: Trained, progress: Progress, device: str) -> list[Table]:
    """Accuracies as they were recorded, the information from the weights kept, and the last weights on all commands."""
    from rote.studies.resistance.scan_information import MEASURES, measure_information

    recipe: ScanRecipe = trained.recipe
    program, informed = recipe.program(trained.seeds, device), []
    for done, step in enumerate(trained.steps):  # the last weights last: they stay for what follows
        program.model.load_state_dict(trained.weights(step))
        informed.append({"step": step, **measure_information(program, asked.probes)})
        progress(done + 1, len(trained.steps))
    every = [program.task.lines()[0], program.task.test(0)]
    accuracies = [program.accuracy(np.tile(np.unique(part), (program.replicas, 1))).tolist() for part in every]
    ends = [
        {"setting": recipe.label, "seed": seed, "train": train, "test": test}
        for seed, train, test in zip(trained.seeds, *accuracies, strict=True)
    ]
    measures = [Column(name, about) for name, about in MEASURES.items()]
    rows, told = _long(trained, trained.run.metrics()), _long(trained, informed)
    return [
        Table.make("curves", "Every model over training", (*LABELS, *CURVES), rows, details=True),
        Table.make("information", "Every model over training", (*LABELS, *measures), told, details=True),
        Table.make("whole", "Every model at the end, on all commands", ENDS, ends, details=True),
    ]


def _long(trained: Trained, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row for each seed."""
    return [
        {"setting": trained.recipe.label, "seed": seed}
        | {name: value if name == "step" else value[index] for name, value in row.items()}
        for row in rows
        for index, seed in enumerate(trained.seeds)
    ]
