"""What every recipe must keep: weights that its settings and seeds alone decide, and networks that come back."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from rote.config import from_plain, to_plain
from rote.recipes import Job, Network, Recipe, Trained, recipes
from rote.store import FinishedRun, Store
from rote.testing.task import same
from rote.training import fix_seeds

ROUNDING = 1e-4  # of the largest weight, after the few updates of a test, in single precision


def check_recipe(recipe: Recipe, *, seeds: Sequence[int] = (0, 1), alone: bool = True, as_kept: bool = True) -> Trained:
    """Trains these seeds several times, so give settings for a few updates; returns the first training, to look at.

    The same seeds give the same weights and metrics; alone and together they agree to rounding; every network comes
    back from the store with the weights that were kept; more than the loss is recorded only where ``measured_inside``
    says why. ``alone``: whether a seed learns the same whatever others are trained with it. ``as_kept``: whether the
    networks have their weights in the form in which they were kept.
    """
    _plain(recipe)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        first, again = (_trained(recipe, seeds, root / name) for name in ("first", "again"))
        _same_runs(recipe, first, again)
        _metrics(recipe, first)
        _networks(recipe, first, as_kept)
        if alone and recipe.together > 1 and len(seeds) > 1:
            _alone(recipe, first, _trained(recipe, seeds[:1], root / "alone"))
    return first


def _plain(recipe: Recipe) -> None:
    kind = type(recipe).__name__
    known = recipe.name in recipes and recipes[recipe.name] is type(recipe)
    assert known, f"{kind} is not registered as {recipe.name!r}."
    assert "__dataclass_params__" in vars(type(recipe)), f"{kind} must be a dataclass itself, not only its base."
    assert type(recipe).__dataclass_params__.frozen, f"{kind} must be frozen."  # type: ignore[attr-defined]
    again = from_plain(type(recipe)(), json.loads(json.dumps(to_plain(recipe))))
    assert again == recipe, f"{kind} does not survive being stored: {recipe} becomes {again}."


def _trained(recipe: Recipe, seeds: Sequence[int], root: Path) -> Trained:
    """With what it needs, in a store of its own."""
    store = Store(root)
    (job, *_) = recipe.jobs(seeds)
    for one in job.all():
        if store.finished(one.request) is None:
            _fit(store, one)
    return Trained(FinishedRun(store.folder(job.request)))


def _fit(store: Store, job: Job) -> None:
    recipe: Recipe = from_plain(recipes[job.request.study](), job.request.config)
    needed = [Trained(FinishedRun(store.folder(need.request))) for need in job.needs]
    told: list[tuple[int, int]] = []
    with store.open(job.request, device="cpu") as run:
        fix_seeds(job.request.seeds[0])
        recipe.fit(needed, run, lambda done, total: told.append((done, total)), "cpu")
        run.finish([])
    assert all(0 <= done <= total for done, total in told), f"{recipe.name!r} tells its progress as {told[:9]}."


def _same_runs(recipe: Recipe, first: Trained, again: Trained) -> None:
    assert first.steps, f"{recipe.name!r} keeps no weights: end its training with run.save."
    assert first.steps == again.steps, f"Weights are kept at {first.steps}, the second time at {again.steps}."
    for step in () if recipe.keeps_none else first.steps:
        assert same(first.weights(step), again.weights(step)), (
            f"The same seeds of {recipe.name!r} give other weights the second time, at step {step}."
        )
    assert first.run.metrics() == again.run.metrics(), f"The same seeds of {recipe.name!r} give other metrics."


def _metrics(recipe: Recipe, trained: Trained) -> None:
    names = {name for row in trained.run.metrics() for name in row} - {"step"}
    more = sorted(name for name in names if not name.endswith("loss"))  # of whatever examples it is
    assert not more or recipe.measured_inside, (
        f"{recipe.name!r} measures {more} while it trains. Measure it on kept weights, or say in 'measured_inside' why "
        "that cannot be done."
    )
    assert names - {"loss"} or not recipe.measured_inside, (
        f"{recipe.name!r} says why it measures more than the loss while it trains, but records {sorted(names)}."
    )


def _networks(recipe: Recipe, trained: Trained, as_kept: bool) -> None:
    members = recipe.members(trained.seeds)
    assert {member.get("seed") for member in members} == set(trained.seeds), (
        f"The members of {recipe.name!r} are {members}: each needs its seed, of {list(trained.seeds)}."
    )
    if not _opens(recipe):
        assert recipe.closed(), f"{recipe.name!r} has no 'network', and 'closed' does not say why."
        return
    for step in trained.steps if recipe.reopens_on_the_way else trained.steps[-1:]:
        kept = set(_contents(trained.weights(step)))
        networks = trained.networks(step)
        assert len(networks) == len(members), (
            f"{recipe.name!r} has {len(networks)} networks for {len(members)} members."
        )
        for member, network in zip(members, networks, strict=True):
            told = {name: network.labels.get(name) for name in (*member, "step")}
            assert told == {**member, "step": step}, f"A network of {recipe.name!r} is labelled {told}, not {member}."
            changed = [name for name, value in _state(network).items() if _bytes(value) not in kept]
            assert not (as_kept and changed), (
                f"{changed[0]!r} of a network of {recipe.name!r} is not as it was kept at step {step}."
            )
        for index, network in enumerate(trained.networks(step)):
            assert same(_state(network), _state(networks[index])), (
                f"A network of {recipe.name!r} has other weights when it is opened again."
            )
    other = recipe.network(trained, _doubled(trained.weights()), 0)
    assert not same(_state(other), _state(networks[0])), f"A network of {recipe.name!r} does not come from its weights."


def _alone(recipe: Recipe, together: Trained, alone: Trained) -> None:
    """The first seed, trained without the others."""
    if not _opens(recipe):
        return
    here, there = alone.networks(), together.networks()
    same_seed = [network for network in there if network.labels["seed"] == alone.seeds[0]]
    for one, other in zip(here, same_seed, strict=True):
        for name, value in _state(one).items():
            difference = float((value - _state(other)[name]).abs().max()) if value.numel() else 0.0
            largest = max(1.0, float(value.abs().max())) if value.numel() else 1.0
            assert difference <= ROUNDING * largest, (
                f"{name!r} of {recipe.name!r} is another, by {difference:.1e}, when other seeds are trained with it."
            )


def _opens(recipe: Recipe) -> bool:
    return type(recipe).network is not Recipe.network


def _state(network: Network) -> Mapping[str, Tensor]:
    return {name: value.detach() for name, value in network.model.named_parameters()}


def _contents(weights: Any) -> Iterator[bytes]:
    """Every tensor in a state, and every slice of one that is stacked."""
    if isinstance(weights, Tensor):
        yield _bytes(weights)
        if weights.dim():
            yield from map(_bytes, weights)
    elif isinstance(weights, Mapping | list | tuple):
        for value in weights.values() if isinstance(weights, Mapping) else weights:
            yield from _contents(value)


def _doubled(weights: Any) -> Any:
    if isinstance(weights, Tensor):
        return weights * 2
    if isinstance(weights, Mapping):
        return {name: _doubled(value) for name, value in weights.items()}
    return weights


def _bytes(value: Tensor) -> bytes:
    return value.detach().to(torch.float64).contiguous().numpy().tobytes()
