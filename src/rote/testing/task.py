"""What every task must keep: the same examples from the same seed, and splits that do not leak."""

from __future__ import annotations

import dataclasses
import itertools
import json
import random
from collections.abc import Callable, Collection, Hashable, Mapping
from typing import Any

import numpy as np

from rote.config import from_plain, to_plain

Splits = Mapping[str, Collection[Hashable]]


def check_task(
    task: Any,
    examples: Callable[[Any, int], Any],
    *,
    splits: Callable[[Any], Splits] | None = None,
    drawn: bool = True,
) -> None:
    """``examples(task, seed)`` gives some of the task's examples, in whatever form it has them.

    ``splits(task)``: by name, what of each split may be in no other, such as its inputs. Without it, the task's own
    ``splits()`` is asked where it has one. ``drawn``: whether another seed gives other examples.
    """
    made: Any = type(task)
    kind = made.__name__
    assert hasattr(made, "__dataclass_params__"), f"{kind} must be a dataclass: its settings are part of what a run is."
    assert made.__dataclass_params__.frozen, f"{kind} must be frozen."
    again = from_plain(made(), json.loads(json.dumps(to_plain(task))))
    assert again == task, f"{kind} does not survive being stored: {task} becomes {again}."
    before = _random_state()
    first = examples(task, 0)
    assert same(_random_state(), before), f"{kind} draws from a random state that others share. Take it from the seed."
    assert same(examples(task, 0), first), f"The same seed gives other examples of {kind} the second time."
    assert same(examples(again, 0), first), f"The same settings and seed give other examples of another {kind}."
    if drawn:
        assert not same(examples(task, 1), first), f"Two seeds give the same examples of {kind}."
    if splits is not None or hasattr(task, "splits"):
        _disjoint(kind, splits(task) if splits is not None else task.splits())


def _disjoint(kind: str, splits: Splits) -> None:
    assert len(splits) > 1, f"{kind} has the splits {list(splits)}: one alone splits nothing."
    for name, held in splits.items():
        assert held, f"The split {name!r} of {kind} is empty."
    for (one, held), (other, others) in itertools.combinations(splits.items(), 2):
        shared = set(held) & set(others)
        assert not shared, (
            f"The splits {one!r} and {other!r} of {kind} share {len(shared)} examples, such as {next(iter(shared))!r}."
        )


def same(one: Any, other: Any) -> bool:
    """Whether two values are equal, arrays, tensors and what is inside of them compared bit by bit."""
    if type(one) is not type(other):
        return False
    if hasattr(one, "tobytes"):  # an array or a number of NumPy
        return bool(one.shape == other.shape and one.dtype == other.dtype and one.tobytes() == other.tobytes())
    if hasattr(one, "detach"):  # a tensor
        return same(one.detach().cpu().numpy(), other.detach().cpu().numpy())
    if isinstance(one, Mapping):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if dataclasses.is_dataclass(one) and not isinstance(one, type):
        return all(same(getattr(one, field.name), getattr(other, field.name)) for field in dataclasses.fields(one))
    return bool(one == other)


def _random_state() -> list[Any]:
    import torch

    return [random.getstate(), np.random.get_state(), torch.get_rng_state()]
