"""A finished training: its recipe, its seeds, the weights at every step that was kept, and its networks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rote.config import from_plain
from rote.errors import StoreError, UsageError
from rote.recipes.job import TRAINING, code_used
from rote.recipes.network import Network
from rote.recipes.recipe import Recipe, recipes
from rote.store import FinishedRun, Request
from rote.store.checkpoint import steps_among


def recipe_of(request: Request) -> Recipe:
    """The recipe that a run was trained by, if this version of Rote still has it."""
    if request.part != TRAINING:
        raise StoreError(f"The run {request.id} of {request.study!r} is no training, but {request.part!r}.")
    recipe: Recipe = from_plain(recipes[request.study](), request.config)
    if request.version != recipe.version:
        raise StoreError(
            f"The run {request.id} is of version {request.version} of the recipe {request.study!r}, and "
            f"{recipe.version} is installed."
        )
    if set(request.code.values()) != set(code_used(recipe, request.config).hashes.values()):
        own = ", ".join(request.code) or "a registered name"
        raise StoreError(f"The run {request.id} was computed with other code of yours ({own}) than there is now.")
    return recipe


class Trained:
    """A finished training as a measurement sees it."""

    def __init__(self, run: FinishedRun) -> None:
        self.run, self.seeds = run, run.record.request.seeds
        self.recipe: Any = recipe_of(run.record.request)

    @property
    def steps(self) -> list[int]:
        """The steps whose weights were kept, the last of them those at the end of training."""
        return steps_among(self.run.record.files)

    def weights(self, step: int | None = None) -> dict[str, Any]:
        """The state of the program's model, by default at the end."""
        state = self.run.checkpoint(step)
        if "model" not in state:
            raise UsageError(f"The training {self.run.id} keeps no weights. {self.recipe.keeps_none}")
        weights: dict[str, Any] = state["model"]
        return weights

    def networks(self, step: int | None = None) -> list[Network]:
        """One for each replica, in the order of ``recipe.members``."""
        weights = self.weights(step)
        return [self._network(weights, index, step) for index in range(len(self.recipe.members(self.seeds)))]

    def network(self, index: int, step: int | None = None) -> Network:
        """One of them."""
        return self._network(self.weights(step), index, step)

    def _network(self, weights: Mapping[str, Any], index: int, step: int | None) -> Network:
        network: Network = self.recipe.network(self, weights, index)
        own = self.recipe.members(self.seeds)[index]
        labels = {"cell": self.recipe.cell, **own, "step": self.steps[-1] if step is None else step}
        return replace(network, labels={**labels, **network.labels}, closed=self.recipe.closed())


def networks_of(run: FinishedRun, step: int | None) -> list[Network]:
    """For ``FinishedRun.networks``."""
    return Trained(run).networks(step)
