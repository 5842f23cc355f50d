"""Selectional restrictions over a gap: source 004, slides "Selectional Restrictions".

    the family moved from the city because they wanted a larger house .
    the team moved from the city because they wanted a larger market .

Which object comes depends on the noun, nine words before it in the lecture's sentence. Gaps of other lengths leave out
words or put some in, in this order: "wanted a", larger, they, because, moved, "from this city", away, old, noisy. With
``variants`` every word between them has alternatives of equal probability, which say nothing about the object.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rote.config import at_least, not_empty
from rote.errors import SettingError
from rote.tasks.task import tasks

TRAIN, TEST = 0, 1  # streams of random numbers
END, THE, PAD = 0, 1, -1
NOUNS = (("family", "couple", "household"), ("team", "club", "orchestra"))
OBJECTS = (("house", "garden", "kitchen"), ("market", "stadium", "audience"))
FILLERS = (  # in their order; the number: from which gap on
    (6, ("moved", "went", "drove")),
    (10, ("away", "off", "far")),
    (7, ("from", "outside", "beyond")),
    (8, ("this", "that", "another")),
    (12, ("noisy", "quiet", "dirty")),
    (11, ("old", "small", "poor")),
    (9, ("city", "town", "region")),
    (5, ("because", "since", "as")),
    (4, ("they", "all", "most")),
    (1, ("wanted", "needed", "found")),
    (2, ("a", "one", "some")),
    (3, ("larger", "better", "newer")),
)
LONGEST = len(FILLERS)
LECTURE = 9


@dataclass(frozen=True)
class Items:
    """Beginnings of sentences up to the object, and which kind of object is right."""

    prefix: NDArray[np.int64]  # [item, time]
    kind: NDArray[np.int64]  # [item]: 0 or 1, of OBJECTS


@tasks.register("selection")
@dataclass(frozen=True)
class SelectionTask:
    """Choose the object that goes with a noun, so many words after it."""

    gaps: tuple[int, ...] = (LECTURE,)  # words between noun and object in training, equally likely
    variants: int = 1  # alternatives of each word between them; 1: always those of the lecture

    def __post_init__(self) -> None:
        not_empty(self, "gaps")
        for gap in self.gaps:
            check_gap("gaps", gap)
        at_least(self, 1, "variants")
        if self.variants > 3:
            raise SettingError("variants", f"must be at most 3. Got {self.variants}.")

    @property
    def words(self) -> tuple[str, ...]:
        """What each number stands for."""
        groups = (*NOUNS, *OBJECTS, *(words[: self.variants] for _, words in FILLERS))
        return (".", "the", *(word for group in groups for word in group))

    @property
    def objects(self) -> NDArray[np.int64]:
        """The objects of each kind, [kind, object]."""
        return np.array([[self.words.index(word) for word in group] for group in OBJECTS])

    def training(self, seed: int, block: int, count: int) -> NDArray[np.int64]:
        """Block number ``block`` of a seed's sentences, [count, time], padded with -1 to the longest gap of all."""
        random = np.random.default_rng((seed, TRAIN, block))
        kind, gap = random.integers(0, 2, count), np.array(self.gaps)[random.integers(0, len(self.gaps), count)]
        objects = self.objects[kind, random.integers(0, self.objects.shape[1], count)]
        tokens = np.full((count, LONGEST + 4), PAD, dtype=np.int64)
        for size in set(self.gaps):
            rows = np.flatnonzero(gap == size)
            tokens[rows, : size + 2] = self._prefix(random, kind[rows], size)
            tokens[rows, size + 2], tokens[rows, size + 3] = objects[rows], END
        return tokens

    def items(self, seed: int, gap: int, count: int) -> Items:
        check_gap("gap", gap)
        random = np.random.default_rng((seed, TEST, gap))
        kind = random.integers(0, 2, count)
        return Items(self._prefix(random, kind, gap), kind)

    def _prefix(self, random: np.random.Generator, kind: NDArray[np.int64], gap: int) -> NDArray[np.int64]:
        count, nouns = len(kind), 2 + len(NOUNS[0]) * kind + random.integers(0, len(NOUNS[0]), len(kind))
        first = 2 + sum(map(len, NOUNS)) + sum(map(len, OBJECTS))
        used = [number for number, (needed, _) in enumerate(FILLERS) if needed <= gap]
        fillers = first + self.variants * np.array(used) + random.integers(0, self.variants, (count, gap))
        return np.concatenate([np.full((count, 1), THE), nouns[:, None], fillers], axis=1)


def check_gap(name: str, gap: int) -> None:
    if not 1 <= gap <= LONGEST:
        raise SettingError(name, f"must be 1 to {LONGEST} words between noun and object. Got {gap}.")
