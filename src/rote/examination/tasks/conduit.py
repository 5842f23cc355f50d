"""Open symbols and close symbols around a conduit that says nothing of them (after source 003's conduits)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import numpy as np

from rote.examination.task import BatteryTask, Drawn, Integers, Items, battery
from rote.examination.tasks.lines import BEGIN, Line, answered, exchanged, items, one_of, some, unseen

FILLERS = tuple("abcdefghij")
KINDS = {f"open{kind}": f"close{kind}" for kind in range(4)}


@battery.register("conduit")
@dataclass(frozen=True)
class Conduit(BatteryTask):
    """Close what was opened, over a stretch that in training always stood behind other open symbols."""

    name: ClassVar[str] = "conduit"
    dimension: ClassVar = "distance"
    about: ClassVar[str] = "The close symbol of the open symbol; new: over a stretch that always had others."
    steps: ClassVar[int] = 300
    chance: ClassVar[float] = 1 / len(KINDS)

    @property
    def symbols(self) -> tuple[str, ...]:
        return (BEGIN, *FILLERS, *KINDS, *KINDS.values())

    def draw(self, seed: int) -> Drawn:
        """Two of the four kinds for each conduit, so that its own fillers always mislead about the other two."""
        generator = np.random.default_rng((seed, 4))
        known: list[tuple[str, list[str]]] = []
        held: list[tuple[str, list[str]]] = []
        for kinds in 4 * list(combinations(KINDS, 2)):  # 24 conduits, and all kinds equally often
            conduit = generator.choice(FILLERS, size=generator.integers(5, 9)).tolist()
            for kind in KINDS:
                (known if kind in kinds else held).append((kind, conduit))
        lines = [_line(generator, *pair) for pair in known for _ in range(12)]
        fresh = unseen([_line(generator, *pair) for pair in known for _ in range(12)], lines)
        new = unseen([_line(generator, *pair) for pair in held for _ in range(12)], lines)
        train = items(lines, self.symbols, length=14)
        return Drawn(
            train=train,
            known=some(train, 300, generator),
            fresh=some(items(fresh, self.symbols, length=14), 300, generator),
            new=some(items(new, self.symbols, length=14), 300, generator),
            others={},
        )

    def answers(self, items: Items, seed: int) -> Integers:
        def close(words: list[str]) -> dict[int, str]:
            return {len(words) - 1: next(KINDS[word] for word in words if word in KINDS)}

        return answered(items, self.symbols, close)

    def exchanged(self, items: Items, seed: int) -> Items:
        """One filler of the conduit, or before it, is another."""
        generator = np.random.default_rng((seed, 4, 1))

        def change(words: list[str]) -> tuple[int, str]:
            place = generator.choice([place for place, word in enumerate(words) if word in FILLERS])
            return int(place), one_of(generator, [one for one in FILLERS if one != words[place]])

        return exchanged(items, self.symbols, change)


def _line(generator: np.random.Generator, kind: str, conduit: list[str]) -> Line:
    before = generator.choice(FILLERS, size=generator.integers(5)).tolist()
    words = [BEGIN, *before, kind, *conduit]
    return Line(words, {len(words) - 1: KINDS[kind]}, {len(words) - 1}, {1 + len(before)})
