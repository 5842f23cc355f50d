"""Inflection with a rule and with exceptions: which endings are learned by heart does not change the rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rote.examination.task import BatteryTask, Drawn, Integers, Items, battery
from rote.examination.tasks.lines import BEGIN, Line, answered, exchanged, items, one_of

LETTERS = tuple("abcdefgh")
TENSES = ("past", "now", "future")
ENDINGS = ("-ta", "-ki", "-so", "-mu", "-le", "-ro")
STEMS, IRREGULAR, SHORTEST, LONGEST = 150, 30, 6, 9

Stem = tuple[str, ...]


@battery.register("exceptions")
@dataclass(frozen=True)
class Exceptions(BatteryTask):
    """The ending of a new stem, by its first letter and the tense, although a fifth of the stems has others.

    Known items are the regular ones. The irregular ones are among ``others``: no rule gives their answers, only memory.
    """

    name: ClassVar[str] = "exceptions"
    dimension: ClassVar = "exceptions"
    about: ClassVar[str] = "The ending by first letter and tense, with exceptions; new: other stems."
    steps: ClassVar[int] = 1500
    chance: ClassVar[float] = 1 / len(ENDINGS)

    @property
    def symbols(self) -> tuple[str, ...]:
        return (BEGIN, *LETTERS, *TENSES, *ENDINGS)

    def draw(self, seed: int) -> Drawn:
        generator, rule = np.random.default_rng((seed, 8)), _rule(seed)
        stems = _stems(generator, STEMS + 200 + 100)
        known, irregular = stems[IRREGULAR:STEMS], stems[:IRREGULAR]
        odd: dict[tuple[Stem, str], str] = {}
        for stem in irregular:
            for tense in TENSES:
                others = [ending for ending in ENDINGS if ending != rule[stem[0], tense]]
                odd[stem, tense] = one_of(generator, others)
        regular = {(stem, tense): rule[stem[0], tense] for stem in stems for tense in TENSES}

        def chosen(some: list[Stem], endings: dict[tuple[Stem, str], str]) -> Items:
            lines = [_line(stem, tense, endings[stem, tense]) for stem in some for tense in TENSES]
            return items(lines, self.symbols, length=2 + LONGEST)

        return Drawn(
            train=chosen(irregular + known, regular | odd),
            known=chosen(known, regular),
            fresh=None,  # other stems of the same distribution are new
            new=chosen(stems[STEMS : STEMS + 200], regular),
            others={"exceptions": chosen(irregular, odd)},
        )

    def answers(self, items: Items, seed: int) -> Integers:
        """The regular ending, also for exceptions."""
        rule = _rule(seed)
        return answered(items, self.symbols, lambda words: {len(words) - 1: rule[words[1], words[-1]]})

    def exchanged(self, items: Items, seed: int) -> Items:
        """One letter of the stem that is not the first is another."""
        generator = np.random.default_rng((seed, 8, 2))

        def change(words: list[str]) -> tuple[int, str]:
            place = int(generator.integers(2, len(words) - 1))
            return place, one_of(generator, [letter for letter in LETTERS if letter != words[place]])

        return exchanged(items, self.symbols, change)


def _rule(seed: int) -> dict[tuple[str, str], str]:
    """The ending by letter and tense. Two letters are of one class, whose endings differ by tense; each ending is that
    of two pairs of class and tense."""
    generator = np.random.default_rng((seed, 8, 1))
    classes = [place // 2 for place in generator.permutation(len(LETTERS))]
    endings = np.stack([generator.permutation(ENDINGS) for _ in range(2)]).reshape(4, len(TENSES))
    return {
        (letter, tense): str(endings[kind, column])
        for letter, kind in zip(LETTERS, classes, strict=True)
        for column, tense in enumerate(TENSES)
    }


def _stems(generator: np.random.Generator, count: int) -> list[Stem]:
    """Different ones."""
    found: dict[Stem, None] = {}
    while len(found) < count:
        length = generator.integers(SHORTEST, LONGEST + 1)
        found[tuple(generator.choice(LETTERS, size=length).tolist())] = None
    return list(found)


def _line(stem: Stem, tense: str, ending: str) -> Line:
    place = 1 + len(stem)
    return Line([BEGIN, *stem, tense], {place: ending}, {place}, {1, place})
