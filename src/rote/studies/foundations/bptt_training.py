"""Networks that learn to recall a symbol, and the terms of their gradient, from torch and from the teaching engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy

from rote.analyses import gradient_flow
from rote.cells import Cell
from rote.chalk import Tensor as ChalkTensor
from rote.chalk import bptt_terms, gradcheck, nn, ops
from rote.models import StackedLanguageModel
from rote.models.fitting import fitted
from rote.models.sequence import SequenceModel
from rote.store import Table
from rote.studies.foundations.bptt import LABELS, MEASURED, TERM
from rote.training import Program, choose_device

if TYPE_CHECKING:
    from rote.recipes import Trained
    from rote.studies.foundations.bptt import RecallRecipe, TermsMeasurement

TEST = 10**6  # the number of a block that no training draws
ROUNDING = 1e-17  # stands for a difference of nothing, whose logarithm is needed
CHALK: dict[str, type[nn.Cell]] = {"elman": nn.RNNCell, "lstm": nn.LSTMCell, "gru": nn.GRUCell}


def draw(recipe: RecallRecipe, seed: int, block: int, count: int, first: bool = False) -> tuple[Any, Any]:
    """Tokens [count, time] and the symbol to be recalled: the only one of the first half of the alphabet."""
    random = np.random.default_rng((seed, block))
    keys = random.integers(recipe.symbols, size=count)
    tokens = recipe.symbols + random.integers(recipe.symbols, size=(count, recipe.time))
    places = np.zeros(count, dtype=np.int64) if first else random.integers(recipe.time, size=count)
    tokens[np.arange(count), places] = keys
    return tokens, keys


class RecallProgram(Program):
    """One network per seed; the loss is that of the last step."""

    stacked = True
    model: StackedLanguageModel

    def __init__(self, recipe: RecallRecipe, seeds: Sequence[int], device: str) -> None:
        self.recipe, self.seeds, self.replicas, self.device = recipe, seeds, len(seeds), choose_device(device)
        self.model = networks(recipe, seeds).to(self.device)

    def losses(self, step: int) -> Tensor:
        batch = self.recipe.training.batch
        drawn = [draw(self.recipe, seed, step, batch, first=step == TEST) for seed in self.seeds]
        tokens, keys = (torch.from_numpy(np.stack(part)).to(self.device) for part in zip(*drawn, strict=True))
        logits, _ = self.model(tokens)
        each = cross_entropy(logits[:, :, -1].flatten(0, 1), keys.flatten(), reduction="none")
        return each.view(keys.shape).mean(1)

    def measure(self) -> dict[str, Any]:
        """The loss where the symbol to be recalled comes first."""
        return {"loss": self.losses(TEST).tolist()}


def networks(recipe: RecallRecipe, seeds: Sequence[int]) -> StackedLanguageModel:
    """Before training."""
    return StackedLanguageModel(2 * recipe.symbols, recipe.model, seeds, recipe.training.torch_dtype())


def reopened(trained: Trained, weights: Mapping[str, Any]) -> StackedLanguageModel:
    """The networks of a finished training with these weights."""
    recipe, seeds = trained.recipe, trained.seeds
    sizes = (recipe.model.hidden, recipe.model.embedding, 2 * recipe.symbols)
    return fitted(
        lambda: networks(recipe, seeds), weights, trained.run.folder,
        *(len(seeds) * recipe.model.hidden * size for size in sizes),
    )  # fmt: skip


def measured(asked: TermsMeasurement, trained: Trained) -> list[Table]:
    """Every network before and after training, and every term of its gradient."""
    recipe: RecallRecipe = trained.recipe
    seeds: list[dict[str, Any]] = []
    terms: list[dict[str, Any]] = []
    for network, step in (("untrained", 0), ("trained", None)):
        models = reopened(trained, trained.weights(step))
        for index, seed in enumerate(trained.seeds):
            labels = {"cell": recipe.model.cell, "network": network, "seed": seed}
            row, norms = measured_terms(recipe, asked.sequences, models.replica(index, torch.float64), seed)
            if network == "untrained":
                row["derivative"] = _log(_derivative_error(recipe.model.cell, seed))
            seeds.append({**labels, **row})
            terms += [{**labels, "distance": back, "log_norm": norm} for back, norm in enumerate(norms)]
    return [
        Table.make("seeds", "Every network", (*LABELS, *MEASURED), seeds, details=True),
        Table.make("terms", "Every term", (*LABELS, *TERM), terms, details=True),
    ]


def measured_terms(
    recipe: RecallRecipe, sequences: int, model: SequenceModel, seed: int
) -> tuple[dict[str, float], list[float]]:
    """The seed's row, and the terms' norms from the nearest on. The first step has none: the state before it is 0."""
    tokens, keys = draw(recipe, seed, TEST, sequences, first=True)
    inputs, targets = torch.from_numpy(tokens), torch.from_numpy(keys)
    flow = gradient_flow(model, inputs, at=-1, targets=targets, jacobians=False, terms=True)
    assert flow.terms is not None
    terms = flow.terms[0]["weight_hh"].numpy()
    total, logs = terms.sum(0), [_log(norm) for norm in flow.weights[0]["weight_hh"][1:].flip(0).tolist()]
    norms = [value - logs[0] for value in logs]
    right = (model(inputs)[:, -1].argmax(-1) == targets).double().mean()
    return {
        "decay": float(np.polyfit(range(len(norms)), norms, 1)[0]),
        "farthest": norms[-1],
        "right": float(right),
        "sum_error": _log(flow.error),
        "without_nearest": _log(float(np.linalg.norm(terms[-1]) / np.linalg.norm(total))),
        **_with_chalk(recipe.model.cell, model, tokens, keys, terms),
    }, norms


@torch.no_grad()
def _with_chalk(
    name: str, model: SequenceModel, tokens: NDArray[Any], keys: NDArray[Any], terms: NDArray[Any]
) -> dict[str, float]:
    """The same network in the teaching engine."""
    assert model.embedding is not None
    assert model.readout is not None
    cell = _chalk_cell(name, model.recurrent.cell(0))
    weight, bias = (part.numpy() for part in model.readout.parameters())
    inputs = model.embedding(torch.from_numpy(tokens))
    states, vectors = model.recurrent(inputs)[0].numpy(), ChalkTensor(inputs.numpy())

    def loss(hidden: Any) -> Any:
        return ops.cross_entropy(hidden[-1] @ weight.T + bias, keys) * float(len(keys))

    own = ops.stack(*nn.unroll(cell, vectors), axis=1).value
    own_terms = bptt_terms(cell, vectors, loss)["weight_h"].swapaxes(1, 2)
    return {
        "states": _log(float(np.abs(own - states).max())),
        "engines": _log(float(np.abs(own_terms - terms).max())),
    }


def _derivative_error(name: str, seed: int) -> float:
    """Of a small network of its own: finite differences compute it anew for every number that there is."""
    random = np.random.default_rng(seed)
    cell = CHALK[name](2, 3)
    weights = [random.normal(size=weight.shape) for weight in cell.parameters()]

    def unrolled(inputs: ChalkTensor, *values: ChalkTensor) -> ChalkTensor:
        vars(cell).update(zip(cell._params, values, strict=True))
        return ops.stack(*nn.unroll(cell, inputs))

    return gradcheck(unrolled, random.normal(size=(1, 4, 2)), *weights, tolerance=np.inf)


def _chalk_cell(name: str, theirs: Cell) -> nn.Cell:
    """With the same weights; torch has them transposed."""
    cell = CHALK[name](theirs.input_size, theirs.hidden_size)
    values = {"weight_x": theirs.weight_ih.T, "weight_h": theirs.weight_hh.T, "bias": theirs.bias}
    if theirs.bias_ih is not None and theirs.bias_hh is not None and name == "gru":  # one of them is inside a product
        values |= {"bias": theirs.bias_ih, "bias_h": theirs.bias_hh}
    for part, value in values.items():
        setattr(cell, part, ChalkTensor(value.numpy().copy()))
    return cell


def _log(value: float) -> float:
    return float(np.log10(max(value, ROUNDING)))
