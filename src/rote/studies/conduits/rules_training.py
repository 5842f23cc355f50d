"""The program that trains language models on corpora with a rule, and what is read out of the models.

All rules and all spans of a model are decomposed in one pass, by the published rules (Murdoch et al. 2018). Positions,
with s the place of the open symbol and e of the close symbol: [s] alone, [s+1 .. e-1] the conduit as one phrase,
[s .. s+i] the prefixes. P is the softmax of the readout of the relevant part, without the readout's bias, as in the
author's program.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from rote.analyses import decompose, gradient_flow
from rote.analyses.decomposition import Parts
from rote.analyses.jacobians import product_norm
from rote.analyses.splitting import published_gates
from rote.laboratory.aggregate import Row
from rote.models import SequenceModel, StackedLanguageModel
from rote.store import Column, Table
from rote.studies.conduits.rules import BiasRule, setting_of
from rote.studies.conduits.rules_tables import CELL, COUNT, EPOCH, KIND, LENGTH
from rote.tasks.rules import RulesTask, TestConduits
from rote.training import Program, choose_device

if TYPE_CHECKING:
    from rote.recipes import Trained
    from rote.recipes.recipe import Progress
    from rote.studies.conduits.rules import RulesMeasurement, RulesRecipe

KINDS: tuple[TestConduits, ...] = ("unseen", "training")
WINDOW = 35  # symbols of the test corpus with one rule, as published
BIAS_RULES: tuple[BiasRule, ...] = ("in_span", "exclusive_end", "never")
TOLERANCE = {torch.float64: 1e-10, torch.float32: 1e-4}  # of the parts, relative to the largest
BEFORE = -2  # the step of a window before the close symbol, which is its last
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
    Column("growth", "largest part over the largest state; above 3 the parts grow and cancel, and say little"),
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


class RulesProgram(Program):
    """One network per task and seed, on corpora of one length; ``losses`` is the mean cross entropy of each."""

    model: StackedLanguageModel

    def __init__(self, recipe: RulesRecipe, seeds: Sequence[int], device: str) -> None:
        self.members = [(task, seed) for task in recipe.tasks for seed in seeds]
        self.replicas, self.device, self.bptt = len(self.members), choose_device(device), recipe.training.bptt
        self.stacked = self.replicas > 1  # the gradient of one network is clipped by torch's own function
        passes, (first, *_), starts = recipe.training, recipe.tasks, [seed for _, seed in self.members]
        batch, length, dtype = passes.batch, first.length, passes.torch_dtype()
        self.model = StackedLanguageModel(first.symbols, recipe.model, starts, dtype, batch).to(self.device)
        self.corpora = [task.training(seed) for task, seed in self.members]
        rows, self.steps = length // batch, passes.steps_per_epoch(length)
        columns = [corpus.tokens[: rows * batch].reshape(batch, rows) for corpus in self.corpora]
        self.columns = torch.from_numpy(np.stack(columns)).to(self.device)  # [replica, batch, row]

    def losses(self, step: int) -> Tensor:
        """The state is carried through a pass over the corpus and is zero at its beginning."""
        within = step % self.steps
        if within == 0:
            self.model.carry(None)
        inputs, targets = self._piece(within)
        losses, state = self.model.losses(inputs, targets, self.model.carried)
        self.model.carry(state)
        return losses

    def measure(self) -> dict[str, Any]:
        """The loss at the beginning of the corpus; everything else is measured on the weights that are kept."""
        inputs, targets = self._piece(0)
        losses, _ = self.model.losses(inputs, targets, self.model.cell.zero_state(*inputs.shape[:2]))
        return {"loss": losses.tolist()}

    def _piece(self, number: int) -> tuple[Tensor, Tensor]:
        first = number * self.bptt
        piece = self.columns[:, :, first : first + self.bptt + 1]
        return piece[..., :-1], piece[..., 1:]


def measured(asked: RulesMeasurement, trained: Trained, progress: Progress, device: str) -> list[Table]:
    """Every network over training; prefixes and bias rules at its end; the corpora."""
    recipe: RulesRecipe = trained.recipe
    program, kept = recipe.program(trained.seeds, device), recipe.measured()
    networks = [
        (
            {"cell": recipe.cell, "setting": setting_of(task), "k": task.conduit, "n": task.rules, "seed": seed},
            windows_of(task, seed, asked, program.device),
        )
        for task, seed in program.members
    ]
    rows: list[Row] = []
    for number, (step, epoch) in enumerate(kept.items()):
        program.model.load_state_dict(trained.weights(step))
        slowly = number % asked.gradients_every == 0
        for index, (labels, windows) in enumerate(networks):
            model = program.model.replica(index, torch.float64)
            rows += [{**labels, "epoch": epoch, **row} for row in read_all(model, windows, asked, slowly=slowly)]
        progress(number + 1, len(kept))
    last = [row for row in rows if row["epoch"] == rows[-1]["epoch"]]
    prefixes = [{**row, "i": i, "probability": value} for row in last for i, value in enumerate(row["prefixes"])]
    program.model.load_state_dict(trained.weights())
    variants, corpora = [], []
    for index, ((labels, windows), corpus) in enumerate(zip(networks, program.corpora, strict=True)):
        single = error(program.model.replica(index, torch.float32), windows, asked)
        variants += [{**labels, **row} for row in by_rule(program.model.replica(index, torch.float64), windows)]
        counts = {"asked": corpus.asked, "opened": corpus.opened, "whole": corpus.survivors}
        corpora.append({**labels, "tokens": len(corpus.tokens), **counts, "error": single})
    return [
        Table.make("measures", "Every network over training", (*LABELS, KIND, EPOCH, *MEASURED), rows, details=True),
        Table.make("prefixes", "P(close) from prefixes of the rule", (*LABELS, KIND, *PREFIX), prefixes, details=True),
        Table.make("variants", "P(close) by bias rule and step", (*LABELS, KIND, *VARIANT), variants, details=True),
        Table.make("corpora", "Training corpora", (*LABELS, *CORPUS), corpora, details=True),
    ]


def windows_of(task: RulesTask, seed: int, asked: RulesMeasurement, device: torch.device) -> Windows:
    """Rules with their context, the same at every epoch. One rule stands in each 35 symbols, as published."""
    context, rules, size = asked.context, asked.rules, max(WINDOW, task.conduit + 2)
    corpora = [task.test(seed, kind, rules + 1 + context // size, size) for kind in KINDS]
    tokens = np.concatenate([corpus.windows(context)[-rules:] for corpus in corpora])
    return Windows(torch.from_numpy(tokens).to(device), context, task.close, KINDS)


@dataclass(frozen=True)
class Windows:
    """Rules to look at: [rule, context + k + 2], the close symbol last; ``kinds`` names equal parts of them."""

    tokens: Tensor
    context: int
    close: int
    kinds: tuple[str, ...]

    @property
    def conduit(self) -> int:
        return self.tokens.shape[1] - self.context - 2

    @property
    def spans(self) -> list[tuple[int, int]]:
        """The prefixes, of which the first is the open symbol and the last open symbol and conduit; the conduit."""
        start, k = self.context, self.conduit
        return [*((start, start + i) for i in range(k + 1)), (start + 1, start + k)]

    def some(self, rules: int) -> Windows:
        """The first ``rules`` of each kind."""
        parts = self.tokens.chunk(len(self.kinds))
        return replace(self, tokens=torch.cat([part[:rules] for part in parts]))

    def means(self, **values: Tensor) -> list[Row]:
        """One row per kind: the means of these over its rules, as plain numbers."""
        parts = {name: value.chunk(len(self.kinds)) for name, value in values.items()}
        return [
            {"kind": kind, **{name: part[number].double().mean(0).tolist() for name, part in parts.items()}}
            for number, kind in enumerate(self.kinds)
        ]


@torch.no_grad()
def read_all(model: SequenceModel, windows: Windows, asked: RulesMeasurement, *, slowly: bool) -> list[Row]:
    """One row per kind of conduit: what ``read`` gives and, ``slowly``, the error and the gradients."""
    rows = read(model, windows, asked)
    worst = error(model, windows, asked) if slowly else None
    flow = gradients(model, windows, asked.gradients) if slowly and asked.gradients else [{}] * len(rows)
    return [{**row, "error": worst, **part} for row, part in zip(rows, flow, strict=True)]


@torch.no_grad()
def read(model: SequenceModel, windows: Windows, asked: RulesMeasurement) -> list[Row]:
    """One row per kind of conduit, for a model in the precision in which it is to be decomposed."""
    parts = _parts(model, windows, asked.bias)
    scores = model(windows.tokens).log_softmax(-1)
    own = scores[..., windows.close].exp()
    growth = float(parts.growth.max())
    rows = windows.means(
        chances=_chances(parts, windows.close),
        loss=-scores[:, :-1].gather(-1, windows.tokens[:, 1:, None]).mean((1, 2)),
        own=own[:, BEFORE],
        own_early=own[:, BEFORE - 1],
        interdependence=_interdependence(parts),
    )
    for row in rows:
        *prefixes, conduit = row.pop("chances")  # of each span before close, at close
        for name, pair in (("open", prefixes[0]), ("conduit", conduit), ("whole", prefixes[-1])):
            row[name], row[f"{name}_at_close"] = pair
        row["growth"] = growth
        row["prefixes"] = [pair[0 if asked.at == "before_close" else 1] for pair in prefixes]
    return rows


def error(model: SequenceModel, windows: Windows, asked: RulesMeasurement) -> float:
    """The largest relative error of the decomposition over the checked rules and all spans."""
    parts = _parts(model, windows.some(asked.checked), asked.bias)
    largest = float(parts.error.max())
    assert largest < TOLERANCE[parts.relevant.dtype], f"The decomposition has an error of {largest:.1e}."
    return largest


def by_rule(model: SequenceModel, windows: Windows) -> list[Row]:
    """P(close) from the open symbol and from the conduit by every published bias rule, at both steps of reading."""
    return [
        {"kind": row["kind"], "bias": rule, "at": name, "open": opened[at], "conduit": conduit[at]}
        for rule in BIAS_RULES
        for row in windows.means(chances=_chances(_parts(model, windows, rule), windows.close))
        for opened, *_, conduit in [row["chances"]]
        for at, name in enumerate(("before_close", "at_close"))
    ]


def gradients(model: SequenceModel, windows: Windows, rules: int) -> list[Row]:
    """How the loss at the close symbol reaches the open symbol, for the first ``rules`` of each kind.

    jacobians: spectral norm of d state before close / d state at open, the product of the conduit's step Jacobians.
    carried: |d loss / d hidden state at open| over the same just before close.
    """
    some = windows.some(rules)
    context, rule = some.tokens[:, : some.context], some.tokens[:, some.context : -1]
    cell = model.recurrent.cell(0, 0)
    initial = [cell.zero_state(len(rule))]
    if some.context:
        with torch.no_grad():
            _, initial = model.recurrent(model.embed(context))
    targets = torch.full((len(rule),), some.close, device=rule.device)
    flow = gradient_flow(model, rule, some.conduit, targets=targets, initial=initial, jacobians=False)
    product = product_norm(cell, model.embed(rule), initial[0], some.conduit)
    hidden = flow.states[0]["hidden"]
    return some.means(jacobians=product.log10(), carried=(hidden[:, 0] / hidden[:, -1]).log10())


def _parts(model: SequenceModel, windows: Windows, bias: BiasRule) -> Parts:
    """At the two steps that are read. The rule is the published one: that its parts grow on some networks is told;
    cells that refuse it are taken apart with their gates whole."""
    gates, read = published_gates(model.recurrent.all_cells()), slice(BEFORE, None)
    return decompose(model, windows.tokens, windows.spans, at=read, rules="murdoch2018", bias=bias, gates=gates)


def _chances(parts: Parts, close: int) -> Tensor:
    """P(close) from each span, [rule, span, 2]: before close and at close."""
    return parts.probabilities()[..., close]


def _interdependence(parts: Parts) -> Tensor:
    """Of open symbol and conduit, before close: what ``rote.interdependence`` gives, from the spans that are there."""
    opened, whole, conduit = (parts.relevant[:, span, 0] for span in (0, -2, -1))
    ratio: Tensor = (whole - opened - conduit).norm(dim=-1) / whole.norm(dim=-1)
    return ratio
