"""What a task of the battery is: items from a seed, known and new, the cue that decides, and the rule that generates.

Sequences stand behind a start symbol 0, which also fills them up on the right. At some places an answer is asked for:
the symbol that a model must find most probable after what it has read so far. A task draws, from one seed, its
training items, fresh ones of the same distribution, and new ones, which only a rule gets right. All models and both
reference learners see the same items.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from rote.registry import Registry

Integers = NDArray[np.int64]
Bools = NDArray[np.bool_]
Dimension = Literal["recombination", "substitution", "exceptions", "nesting", "distance", "binding", "state", "memory"]
DIMENSIONS: tuple[Dimension, ...] = get_args(Dimension)
BATTERY = 1  # version of the generators: profiles of different ones are not compared
START = 0  # begins every sequence, and fills it up
NOTHING = -1  # among targets: no answer is asked for here


@dataclass(frozen=True)
class Items:
    """Sequences of one length, each array [item, time]."""

    tokens: Integers
    targets: Integers  # what is asked for after reading up to here; NOTHING where nothing is
    scored: Bools  # answers that count; models learn from all of them
    cue: Bools  # symbols that decide the scored answers

    def __post_init__(self) -> None:
        shapes = {getattr(self, one.name).shape for one in fields(self)}
        if len(shapes) != 1:
            raise ValueError(f"The arrays of items must have one shape. Got {sorted(shapes)}.")
        if (self.targets[self.scored] == NOTHING).any():
            raise ValueError("A place is scored at which nothing is asked.")

    def __len__(self) -> int:
        return len(self.tokens)

    def __getitem__(self, rows: Integers | slice) -> Items:
        return Items(self.tokens[rows], self.targets[rows], self.scored[rows], self.cue[rows])


@dataclass(frozen=True)
class Drawn:
    """The items of one seed. ``known`` are training items whose answers the rule gives; ``fresh`` are of the same
    distribution, and ``new`` need the rule. ``others``: further new sets, which are told beside the score."""

    train: Items
    known: Items
    fresh: Items | None
    new: Items
    others: dict[str, Items]


class BatteryTask(ABC):
    """Subclass it as a frozen dataclass whose fields have defaults, and enter it with ``@battery.register("name")``."""

    name: ClassVar[str]
    dimension: ClassVar[Dimension]
    about: ClassVar[str]  # what is asked, and what is new, in a sentence
    steps: ClassVar[int]  # updates with 32 items each
    chance: ClassVar[float]  # accuracy of a guess
    exact: ClassVar[bool] = False  # an item is right if all its scored answers are
    option: ClassVar[bool] = False  # not in the standard battery

    @property
    @abstractmethod
    def symbols(self) -> tuple[str, ...]:
        """Their names; the first is the start."""

    @abstractmethod
    def draw(self, seed: int) -> Drawn:
        """The items of a seed. The design, what is held out and the items all change with it."""

    @abstractmethod
    def answers(self, items: Items, seed: int) -> Integers:
        """What the rule says at every place where something is asked, from the symbols alone; NOTHING elsewhere."""

    def exchanged(self, items: Items, seed: int) -> Items | None:
        """The items with one symbol exchanged that the rule ignores, so that all answers stay; None where there is no
        such symbol."""
        return None


battery: Registry[type[BatteryTask]] = Registry("task of the battery", "rote.examination.tasks", "battery")


def accuracy(answers: Integers, items: Items, *, exact: bool) -> float:
    """Of answers [item, time], over the scored places: their share that is right, or of items that are wholly so."""
    right = answers == items.targets
    if exact:
        return float((right | ~items.scored).all(1).mean())
    return float(right[items.scored].mean())
