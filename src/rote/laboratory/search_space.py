"""What a sweep may try: values or a range for each key, as a grid, or drawn at random.

    space = parse_space(["model.hidden=16,32", "training.learning_rate=0.001..0.1"])
    random_trials(space, 8, seed=0)

Nothing is built before it is needed: the number of trials of a grid is known without making them.
"""

from __future__ import annotations

import itertools
import math
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Union, get_args, get_origin

import numpy as np

from rote.config import convert, each_once, keys
from rote.errors import UnknownNameError, UsageError

Trial = dict[str, str]
LOGARITHMIC = 10  # a range is drawn on a logarithmic scale from this ratio of its ends on


@dataclass(frozen=True)
class Choice:
    """``a,b,c``: one of these, as it is written."""

    values: tuple[str, ...]

    def draw(self, random: np.random.Generator) -> str:
        return self.values[int(random.integers(len(self.values)))]


@dataclass(frozen=True)
class Between:
    """``low..high``: any number, whole if both ends are; on a logarithmic scale where they are far apart."""

    low: float
    high: float
    whole: bool

    @property
    def logarithmic(self) -> bool:
        return self.low > 0 and self.high / self.low >= LOGARITHMIC

    def draw(self, random: np.random.Generator) -> str:
        low, high = (math.log(self.low), math.log(self.high)) if self.logarithmic else (self.low, self.high)
        drawn = random.uniform(low, high)
        return self.written(math.exp(drawn) if self.logarithmic else drawn)

    def written(self, value: float) -> str:
        return str(round(value)) if self.whole else f"{value:.4g}"


Space = Mapping[str, Choice | Between]


def parse_space(words: Sequence[str]) -> dict[str, Choice | Between]:
    """From ``key=a,b`` and ``key=low..high``; a key with one value is the same in every trial."""
    space: dict[str, Choice | Between] = {}
    for word in words:
        key, equals, text = word.partition("=")
        if not equals or not key or not text:
            raise UsageError(f"Expected key=a,b,c or key=low..high, for example model.hidden=16,32. Got {word!r}.")
        if key in space:
            raise UsageError(f"The key {key!r} is given twice.")
        ends = text.split("..")
        if len(ends) == 2 and all(map(_is_number, ends)):
            low, high = map(float, ends)
            if not low < high:
                raise UsageError(f"The range of {key!r} must go from low to high. Got {text!r}.")
            space[key] = Between(low, high, all(end.lstrip("+-").isdigit() for end in ends))
        else:
            space[key] = Choice(tuple(text.split(",")))
    return space


def varied(space: Space) -> list[str]:
    """The keys that have more than one value."""
    return [key for key, values in space.items() if not isinstance(values, Choice) or len(values.values) > 1]


def count(space: Space) -> int:
    """The trials of a grid."""
    return math.prod(len(values.values) for values in space.values() if isinstance(values, Choice))


def grid(space: Space) -> Iterator[Trial]:
    """Every combination, the last key fastest."""
    choices = [values.values for values in space.values() if isinstance(values, Choice)]
    return (dict(zip(space, combination, strict=True)) for combination in itertools.product(*choices))


def grid_trial(space: Space, index: int) -> Trial:
    """One of them by its number."""
    trial: Trial = {}
    for key, values in reversed(list(space.items())):
        assert isinstance(values, Choice)
        index, place = divmod(index, len(values.values))
        trial[key] = values.values[place]
    return {key: trial[key] for key in space}


def random_trials(space: Space, trials: int, seed: int) -> list[Trial]:
    """They depend on the seed alone; each once, however often it is drawn."""
    random = np.random.default_rng(seed)
    drawn = [{key: values.draw(random) for key, values in space.items()} for _ in range(trials)]
    return [dict(pairs) for pairs in dict.fromkeys(tuple(trial.items()) for trial in drawn)]


def check_space(config: Any, space: Space) -> None:
    """Keys and values against the configuration they are for, each value by itself."""
    known = keys(config)
    for key, values in space.items():
        if key not in known:
            raise UnknownNameError("key", key, known)
        if isinstance(values, Between):
            if not _takes_numbers(known[key]):
                raise UsageError(f"The key {key!r} takes no numbers, so that it has no range. Give values: {key}=a,b.")
        elif get_origin(known[key]) is tuple and len(values.values) > 1:
            raise UsageError(f"The key {key!r} is a list by itself, so that its values cannot be swept over.")
        else:
            each_once(key, [convert(key, value, known[key]) for value in values.values])


def _takes_numbers(kind: Any) -> bool:
    kinds = get_args(kind) if get_origin(kind) in (Union, types.UnionType) else (kind,)
    return any(one in (int, float) for one in kinds)


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
