"""Networks that learn a program, and what every method says of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from rote.analyses.attribution import checked, is_signed, methods
from rote.court import programs
from rote.court.dockets import own_truth
from rote.court.enumeration import Truth
from rote.court.learning import Learning, batch_of, loss_of, start
from rote.court.scores import per_string
from rote.models.fitting import fitted
from rote.models.sequence import SequenceModel
from rote.store import Table
from rote.studies.court.court import METHODS, networks_table
from rote.training import Program

if TYPE_CHECKING:
    from rote.court.program import Program as Known
    from rote.recipes import Trained
    from rote.recipes.recipe import Progress
    from rote.studies.court.court import CourtMeasurement, CourtRecipe

GROWING = ("decomposition", "decomposition_murdoch2018")  # of which a claim is; each takes as long as all others
NEAR = 0.25  # of the gap between two outputs: what counts as right


class CourtProgram(Program):
    """One network of one seed."""

    def __init__(self, recipe: CourtRecipe, seed: int) -> None:
        self.recipe, self.seed, self.known = recipe, seed, programs[recipe.program]
        self.network = start(self.known, recipe.unit_name, recipe.hidden, seed).to(recipe.training.torch_dtype())
        self.model = self.network
        self.settings = Learning(batch=recipe.training.batch, length=recipe.length)

    def losses(self, step: int) -> Tensor:
        vectors, said = batch_of(self.known, self.seed, step, self.settings)
        dtype = self.network.zeros.dtype
        return loss_of(self.network, vectors.to(dtype), said.to(dtype))[None]

    def measure(self) -> dict[str, list[float]]:
        return {"loss": self.losses(-1).tolist()}


def reopened(recipe: CourtRecipe, weights: Mapping[str, Any], origin: Path) -> SequenceModel:
    def make() -> SequenceModel:
        made = start(programs[recipe.program], recipe.unit_name, recipe.hidden, 0)
        return made.to(recipe.training.torch_dtype())

    return fitted(make, weights, origin, recipe.hidden**2).requires_grad_(False).eval()


def measured(asked: CourtMeasurement, trained: Trained, progress: Progress) -> list[Table]:
    recipe: CourtRecipe = trained.recipe
    known, rows = programs[recipe.program], list[dict[str, Any]]()
    for seed, network in zip(trained.seeds, trained.networks(), strict=True):
        model: Any = network.model.double()
        truth = own_truth(model, known, known.strings(7_000_000 + seed, asked.strings, asked.length))
        right = _right(truth, known)
        for number, name in enumerate(METHODS):
            progress(number, len(METHODS))
            labels = {"seed": seed, "program": recipe.program, "cell": recipe.unit_name, "method": name}
            long = _long(model, known, name, seed, asked.long, truth) if name in GROWING else None
            rows.append({**labels, **_scores(model, truth, name), "right": right, "long": long})
    return [networks_table(rows)]


def _scores(model: SequenceModel, truth: Truth, name: str) -> dict[str, float | None]:
    method, tokens = methods[name], torch.from_numpy(truth.tokens)
    values = checked(name, method, model, tokens, tokens.shape[1] - 1, torch.from_numpy(truth.targets)).numpy()
    found = per_string(values, truth, _scale(truth), is_signed(method))
    kept = {measure: found[measure] for measure in ("direction", "size", "mass", "rank") if measure in found}
    known = {measure: scores[~np.isnan(scores)] for measure, scores in kept.items()}
    middle = {"size": np.median}
    return {m: float(middle.get(m, np.mean)(scores)) if len(scores) else None for m, scores in known.items()}


def _long(model: SequenceModel, known: Known, name: str, seed: int, length: int, truth: Truth) -> float:
    tokens = torch.from_numpy(known.strings(8_000_000 + seed, 1, length))
    target = torch.from_numpy(truth.targets[:1])
    values = checked(name, methods[name], model, tokens, length - 1, target)
    return float(values.abs().max()) / _scale(truth)


def _scale(truth: Truth) -> float:
    return float(np.ptp(truth.worth)) or 1.0


def _right(truth: Truth, known: Known) -> float:
    """Of all strings with any of their symbols deleted."""
    from rote.court import truth as of_program

    expected = of_program(known, truth.tokens).worth
    return float((np.abs(truth.worth - expected) < NEAR * known.gap).mean())
