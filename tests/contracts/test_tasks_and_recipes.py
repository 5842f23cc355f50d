"""Every registered task and recipe keeps its contract, with settings of a few updates; and the contracts bite."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from all_studies import settings_of
from torch import nn

from rote.examination.recipe import ExaminationRecipe
from rote.laboratory import studies
from rote.laboratory.perform import performer
from rote.laboratory.study import ordered_names
from rote.recipes import Network, Recipe, Trained, recipes
from rote.recipes.recipe import Progress
from rote.store import Run
from rote.tasks import scan, tasks
from rote.tasks.mnist import load_digits
from rote.testing import check_recipe, check_task


def rows(array: Any) -> set[tuple[Any, ...]]:
    return {tuple(row) for row in array.tolist()}


@functools.cache
def digits() -> Any:
    return load_digits("stand-in").training


def text(task: Any, seed: int) -> Any:
    return task.resolved().load()


SETTINGS: dict[str, dict[str, Any]] = {
    "autocomplete": {"text": "bundled", "characters": 20_000, "words": 100},
    "classification": {"data": "stand-in", "examples": 100},
    "language-modeling": {"data": "stand-in", "examples": 100},
    "tagging": {"data": "stand-in", "examples": 100},
    "rules": {"tokens": 20_000, "rules": 50},
}
EXAMPLES: dict[str, Callable[[Any, int], Any]] = {
    "agreement": lambda task, seed: (task.training(seed, 20), task.items(seed, "phrases", 1, "mixed", 5)),
    "autocomplete": lambda task, seed: task.resolved().observations().training(seed, 3, 4),
    "captions": lambda task, seed: (task.training(digits(), seed, 2, 5), task.test(digits(), seed, "held-out", 5)),
    "classification": text,
    "digits": lambda task, seed: (task.training(digits(), seed, 2, 5), task.held_out(digits(), seed, 5)),
    "elman": lambda task, seed: (task.training(seed), task.test(seed)),
    "language-modeling": text,
    "lookup": lambda task, seed: (task.functions(), task.splits()),
    "plane": lambda task, seed: task.training(seed, 1, 3, 4),
    "rules": lambda task, seed: (task.training(seed), task.test(seed)),
    "scan": lambda task, seed: (task.training(seed, 1, 2, 3), task.test(seed, 5)),
    "selection": lambda task, seed: (task.training(seed, 1, 4), task.items(seed, 9, 3)),
    "tagging": text,
}
FIXED = {"classification", "language-modeling", "lookup", "tagging"}  # their settings alone decide the examples
SPLITS: dict[str, Callable[[Any], Any]] = {
    "autocomplete": lambda task: {
        name: set(one.tolist()) for name, one in task.resolved().observations().splits.items()
    },
    "lookup": lambda task: {name: held for name, held in task.splits().items() if held},
    "plane": lambda task: {"seen": rows(task.seen(9).inputs), "corner": rows(task.corner(9).inputs)},
    "rules": lambda task: {"training": rows(task.training(0).conduits), "test": rows(task.test(0, "unseen").conduits)},
    "scan": lambda task: dict(zip(("train", "test"), scan.split(task.split, task.seed), strict=True)),
}


@pytest.mark.parametrize("name", sorted(tasks))
def test_every_registered_task_keeps_the_contract(name: str) -> None:
    task = tasks[name](**SETTINGS.get(name, {}))
    check_task(task, EXAMPLES[name], splits=SPLITS.get(name), drawn=name not in FIXED)


@functools.cache
def small_recipes() -> dict[str, Recipe]:
    """Of each recipe that a study asks for one, as small as in ``all_studies``."""
    found: dict[str, Recipe] = {"examination": ExaminationRecipe("gru", "conduit", steps=4)}
    for name in ordered_names():
        study = studies[name]()
        config = study.resolve("smoke", settings_of(name))
        study.prepare(config)
        for request in (
            one.request for job in study.jobs(config) for one in job.all() if one.request.part == "training"
        ):
            found.setdefault(request.study, performer(request))  # type: ignore[arg-type]
    return found


SHORTEST = {"matrix"}  # all seeds have as many sentences as the one that has fewest
SPELLED = {"elman"}  # kept as units between codes of bits, opened as a network that reads symbols


@pytest.mark.parametrize("name", sorted(recipes))
def test_every_registered_recipe_keeps_the_contract(name: str) -> None:
    recipe = small_recipes()[name]
    seeds = (0, 1) if recipe.together > 1 else (0,)
    check_recipe(recipe, seeds=seeds, alone=name not in SHORTEST, as_kept=name not in SPELLED)


# --- contracts that accept everything would be worse than none -------------------------------------------------------


@dataclass(frozen=True)
class Dice:
    """Throws dice; the tests below break one promise each."""

    sides: int = 6

    def throws(self, seed: int) -> Any:
        return np.random.default_rng([seed, self.sides]).integers(self.sides, size=20)


COUNT = itertools.count()


def other_throws(task: Dice, seed: int) -> Any:
    return next(COUNT)


def global_throws(task: Dice, seed: int) -> Any:
    return np.random.randint(task.sides)


@pytest.mark.parametrize(
    ("task", "examples", "splits", "message"),
    [
        (Dice(), Dice.throws, lambda task: {"train": [1, 2], "test": [2, 3]}, "share 1 examples, such as 2"),
        (Dice(), Dice.throws, lambda task: {"train": [1, 2], "test": []}, "The split 'test' of Dice is empty"),
        (Dice(), Dice.throws, lambda task: {"train": [1]}, "one alone splits nothing"),
        (Dice(), global_throws, None, "draws from a random state that others share"),
        (Dice(), lambda task, seed: 3, None, "Two seeds give the same examples"),
        (Dice(), other_throws, None, "The same seed gives other examples of Dice the second time"),
        (nn.Identity(), None, None, "Identity must be a dataclass"),
    ],
)  # fmt: skip
def test_check_task_names_what_is_broken(task: Any, examples: Any, splits: Any, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        check_task(task, examples, splits=splits)


def test_check_task_accepts_one_that_keeps_its_promises() -> None:
    check_task(Dice(), Dice.throws, splits=lambda task: {"train": [1], "test": [2, 3]})


@dataclass(frozen=True)
class Line(Recipe):
    """Straight lines, all seeds at once; the tests below break one promise each."""

    name = "a-line"
    together = 4
    steps: int = 3

    def fit(self, trained: Sequence[Trained], run: Run, progress: Progress, device: str) -> None:
        for step in range(1, self.steps + 1):
            run.metrics.append({"step": step, **self.measured(len(run.request.seeds))})
            progress(step, self.steps)
        run.save(self.steps, {"model": {"weight": torch.stack([self.weight(seed) for seed in run.request.seeds])}})

    def measured(self, count: int) -> dict[str, Any]:
        return {"loss": [0.5] * count}

    def weight(self, seed: int) -> torch.Tensor:
        return torch.randn(1, 2, generator=torch.Generator().manual_seed(seed))

    def network(self, trained: Trained, weights: Any, index: int) -> Network:
        model = nn.Linear(2, 1, bias=False)
        model.load_state_dict({"weight": weights["weight"][index]})
        return Network(model)


class Random:
    def weight(self, seed: int) -> torch.Tensor:
        return torch.randn(1, 2, generator=torch.Generator().manual_seed(torch.seed()))


class Leaking:
    def fit(self, trained: Any, run: Run, progress: Progress, device: str) -> None:
        seeds = run.request.seeds
        run.save(self.steps, {"model": {"weight": torch.stack([self.weight(seed) * len(seeds) for seed in seeds])}})  # type: ignore[attr-defined]


class Inside:
    def measured(self, count: int) -> dict[str, Any]:
        return {"loss": [0.5] * count, "accuracy": [1.0] * count}


class Excused:
    measured_inside = "Snapshots would be too large."


class Altering:
    def network(self, trained: Trained, weights: Any, index: int) -> Network:
        return Line.network(self, trained, {"weight": weights["weight"] * 2}, index)  # type: ignore[arg-type]


class Forgetting:
    def network(self, trained: Trained, weights: Any, index: int) -> Network:
        return Line.network(self, trained, trained.weights(), index)  # type: ignore[arg-type]


class Swapping:
    def network(self, trained: Trained, weights: Any, index: int) -> Network:
        found = Line.network(self, trained, weights, index)  # type: ignore[arg-type]
        return Network(found.model, {"seed": 7})


class Nameless:
    def members(self, seeds: Sequence[int]) -> list[Any]:
        return [{"place": place} for place, _ in enumerate(seeds)]


@pytest.fixture
def registered() -> Iterator[Callable[[type[Recipe]], None]]:
    names: list[str] = []

    def register(kind: type[Recipe]) -> None:
        recipes.register(kind.name)(kind)
        names.append(kind.name)

    yield register
    for name in names:
        recipes._registered.pop(name, None)
        recipes._loaded.pop(name, None)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (Random, "give other weights the second time, at step 3"),
        (Leaking, "is another, by .*, when other seeds are trained with it"),
        (Inside, r"measures \['accuracy'\] while it trains\. Measure it on kept weights"),
        (Excused, r"says why it measures more than the loss while it trains, but records \['loss'\]"),
        (Altering, "'weight' of a network of 'a-line' is not as it was kept at step 3"),
        (Forgetting, "A network of 'a-line' does not come from its weights"),
        (Swapping, "A network of 'a-line' is labelled .*'seed': 7"),
        (Nameless, "each needs its seed"),
    ],
)
def test_check_recipe_names_what_is_broken(
    change: type, message: str, registered: Callable[[type[Recipe]], None]
) -> None:
    broken: Any = dataclass(frozen=True)(type("Broken", (change, Line), {"__module__": __name__}))
    registered(broken)
    with pytest.raises(AssertionError, match=message):
        check_recipe(broken())


def test_check_recipe_accepts_one_that_keeps_its_promises_and_wants_it_registered(
    registered: Callable[[type[Recipe]], None],
) -> None:
    with pytest.raises(AssertionError, match="Line is not registered as 'a-line'"):
        check_recipe(Line())
    registered(Line)
    assert check_recipe(Line()).steps == [3]
