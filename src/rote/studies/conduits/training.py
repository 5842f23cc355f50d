"""Language models on corpora with a rule, trained as one program, and what is measured on them over training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from rote.models import StackedLanguageModel
from rote.store import Column, Run, Table
from rote.studies.conduits import reading as reader
from rote.studies.conduits.reading import Windows
from rote.studies.conduits.tables import CELL, COUNT, EPOCH, KIND, LENGTH
from rote.tasks.rules import RulesTask, TestConduits
from rote.training import Program, choose_device, train

if TYPE_CHECKING:
    from rote.models import LanguageModelConfig
    from rote.studies.conduits.settings import Passes, Reading
    from rote.studies.study import Progress

KINDS: tuple[TestConduits, ...] = ("unseen", "training")
WINDOW = 35
LABELS = (
    CELL,
    Column("setting", "corpus: random conduits, or a set of them, predictable or not; generator", "label"),
    LENGTH,
    COUNT,
    Column("seed", "random seed of corpus and network", "label"),
)
MEASURED = (
    Column("loss", "cross entropy of the test windows, nats per symbol"),
    Column("own", "the model's own P(close) where close comes next"),
    Column("own_early", "the same one step too early"),
    Column("open", "P(close) from the open symbol alone, by decomposition, before close"),
    Column("open_at_close", "the same read where close is the input, as published"),
    Column("conduit", "P(close) from the conduit as one phrase, before close"),
    Column("conduit_at_close", "the same read where close is the input, as published"),
    Column("whole", "P(close) from open symbol and conduit, before close"),
    Column("whole_at_close", "the same read where close is the input, as published"),
    Column("interdependence", "of open symbol and conduit: what they do together but not apart, relative"),
    Column("error", "largest relative error of the decomposition, float64"),
    Column("jacobians", "log10 of the norm of the product of the conduit's step Jacobians"),
    Column("carried", "log10 of |d loss / d h| at the open symbol over the same just before close"),
)
PREFIX = (Column("i", "symbols of the conduit in the prefix", "label"), Column("probability", "P(close) from it"))
VARIANT = (
    Column("bias", "where products of biases count as relevant", "label"),
    Column("at", "the step at which P(close) is read", "label"),
    Column("open", "P(close) from the open symbol alone"),
    Column("conduit", "P(close) from the conduit as one phrase"),
)
CORPUS = (
    Column("tokens", "length of the corpus"),
    Column("asked", "rules that were to be placed"),
    Column("opened", "open symbols in the corpus"),
    Column("whole", "open symbols with their close symbol k + 1 behind them"),
    Column("error", "largest relative error of the decomposition at the end, in float32 as published"),
)


@dataclass(frozen=True)
class Replica:
    """One network: its corpus, its seed, and what it is called in the tables."""

    task: RulesTask
    setting: str
    seed: int

    @property
    def labels(self) -> dict[str, Any]:
        return {"setting": self.setting, "k": self.task.conduit, "n": self.task.rules, "seed": self.seed}


class ConduitProgram(Program):
    """One network per replica, on corpora of one length; ``losses`` is the mean cross entropy of each."""

    model: StackedLanguageModel

    def __init__(
        self, replicas: Sequence[Replica], model: LanguageModelConfig, passes: Passes, reading: Reading, device: str
    ) -> None:
        self.members, self.passes, self.reading, self.cell = replicas, passes, reading, model.cell
        self.replicas, self.device = len(replicas), choose_device(device)
        self.stacked = len(replicas) > 1  # the gradient of one network is clipped by torch's own function
        first = replicas[0].task
        seeds = [member.seed for member in replicas]
        self.model = StackedLanguageModel(
            first.symbols, model, seeds, passes.config(first.length).torch_dtype(), passes.batch
        )
        self.model.to(self.device)
        self.corpora = [member.task.training(member.seed) for member in replicas]
        rows = first.length // passes.batch
        columns = [corpus.tokens[: rows * passes.batch].reshape(passes.batch, rows) for corpus in self.corpora]
        self.columns = torch.from_numpy(np.stack(columns)).to(self.device)  # [replica, batch, row]
        self.length, self.steps = first.length, passes.steps_per_epoch(first.length)
        self.measured, self.done = passes.measured(first.length), 0  # updates; set again by the first one after a stop
        self.windows = [self._windows(member) for member in replicas]

    def losses(self, step: int) -> Tensor:
        """The state is carried through a pass over the corpus and is zero at its beginning."""
        within = step % self.steps
        if within == 0:
            self.model.carry(None)
        first = within * self.passes.bptt
        piece = self.columns[:, :, first : first + self.passes.bptt + 1]
        self.done = step + 1
        losses, state = self.model.losses(piece[..., :-1], piece[..., 1:], self.model.carried)
        self.model.carry(state)
        return losses

    def measure(self) -> dict[str, Any]:
        rows, losses = [], []
        slow = list(self.measured).index(self.done) % self.reading.gradients_every == 0
        for index, (member, windows) in enumerate(zip(self.members, self.windows, strict=True)):
            model = self.model.replica(index, torch.float64)
            found = reader.read(model, windows, self.reading)
            error = reader.error(model, windows, self.reading) if slow else None
            flow: list[dict[str, Any]] = [{} for _ in found]
            if slow and self.reading.gradients:
                flow = reader.gradients(model, windows, self.reading.gradients)
            common = {**self.labels(member), "error": error}
            rows += [{**common, **row, **part} for row, part in zip(found, flow, strict=True)]
            losses.append(found[0]["loss"])
        return {"loss": losses, "epoch": self.measured[self.done], "rows": rows}

    def labels(self, member: Replica) -> dict[str, Any]:
        return {"cell": self.cell, **member.labels}

    def _windows(self, member: Replica) -> Windows:
        """Rules with their context, the same at every measurement. One rule stands in each 35 symbols, as published."""
        context, rules = self.reading.context, self.reading.rules
        size = max(WINDOW, member.task.conduit + 2)
        made = [member.task.test(member.seed, kind, rules + 1 + context // size, size) for kind in KINDS]
        tokens = np.concatenate([corpus.windows(context)[-rules:] for corpus in made])
        return Windows(torch.from_numpy(tokens).to(self.device), context, member.task.close, KINDS)


def train_and_measure(program: ConduitProgram, run: Run, progress: Progress) -> list[Table]:
    """Train to the end, then the tables of the run: over training, the prefixes and bias rules at the end, corpora."""
    training = program.passes.config(program.length)
    train(program, training, run, progress=progress, record_at=program.measured)
    rows = [{**row, "epoch": record["epoch"]} for record in run.metrics.rows() for row in record["rows"]]
    last = [row for row in rows if row["epoch"] == rows[-1]["epoch"]]
    prefixes = [
        {**row, "i": i, "probability": value} for row in last for i, value in enumerate(row["prefixes"])
    ]  # fmt: skip
    variants, corpora = [], []
    for index, (member, windows) in enumerate(zip(program.members, program.windows, strict=True)):
        labels, corpus = program.labels(member), program.corpora[index]
        single = reader.error(program.model.replica(index, torch.float32), windows, program.reading)
        found = reader.by_rule(program.model.replica(index, torch.float64), windows)
        variants += [{**labels, **row} for row in found]
        counts = {"asked": corpus.asked, "opened": corpus.opened, "whole": corpus.survivors}
        corpora.append({**labels, "tokens": len(corpus.tokens), **counts, "error": single})
    return [
        Table.make("measures", "Every network over training", (*LABELS, KIND, EPOCH, *MEASURED), rows, details=True),
        Table.make("prefixes", "P(close) from prefixes of the rule", (*LABELS, KIND, *PREFIX), prefixes, details=True),
        Table.make("variants", "P(close) by bias rule and step", (*LABELS, KIND, *VARIANT), variants, details=True),
        Table.make("corpora", "Training corpora", (*LABELS, *CORPUS), corpora, details=True),
    ]
