"""Agreement with a subject that may be far away, among nouns that in training mostly have its number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rote.examination.task import BatteryTask, Drawn, Integers, Items, battery
from rote.examination.tasks.lines import BEGIN, Line, answered, exchanged, items, one_of, some, unseen

SINGULAR = ("cat", "dog", "boy", "girl", "bird", "friend", "guest", "king")
PLURAL = tuple(f"{noun}s" for noun in SINGULAR)
NOUNS = (*SINGULAR, *PLURAL)
PREPOSITIONS = ("near", "behind", "with", "above", "beside")
VERBS = ("saw", "met", "found", "heard", "knew")
THE, THAT, COMMA = "the", "that", ","
NUMBERS = ("is", "are")
CONGRUENT = 0.9  # share of the nouns behind a subject that have its number, in training
OTHER = dict(zip((*SINGULAR, *PLURAL), (*PLURAL, *SINGULAR), strict=True))


@battery.register("agreement")
@dataclass(frozen=True)
class Agreement(BatteryTask):
    """The verb agrees with the subject, although the noun before it is of the other number.

    Nouns behind the subject mostly have its number in training, so that the last noun, or most of them, tell nearly as
    much as the subject. If all nouns of a new item are of the other number, whoever goes by them fails everywhere, and
    the score of a model jumps between seeds. So these are among ``others``; in new items the last noun is of the other
    number and each noun before it is by chance, and going by most of them is right on some.
    """

    name: ClassVar[str] = "agreement"
    dimension: ClassVar = "distance"
    about: ClassVar[str] = "The verb's number; new: more nouns between, and the last one misleads."
    steps: ClassVar[int] = 450
    chance: ClassVar[float] = 1 / 2

    @property
    def symbols(self) -> tuple[str, ...]:
        return (BEGIN, COMMA, THE, THAT, *PREPOSITIONS, *VERBS, *NOUNS, *NUMBERS)

    def draw(self, seed: int) -> Drawn:
        generator = np.random.default_rng((seed, 11))
        lines = [_line(generator, depth * [CONGRUENT]) for depth in generator.integers(3, size=1200).tolist()]
        more = [_line(generator, depth * [CONGRUENT]) for depth in generator.integers(3, size=600).tolist()]
        deep = generator.integers(3, 6, size=400).tolist()
        new = [_line(generator, [*(depth - 1) * [0.5], 0]) for depth in deep]
        opposite = [_line(generator, depth * [0]) for depth in deep]
        train = items(lines, self.symbols)
        return Drawn(
            train=train,
            known=some(train, 400, generator),
            fresh=items(unseen(more, lines)[:400], self.symbols),
            new=items(new, self.symbols),
            others={"all of the other number": items(opposite, self.symbols)},
        )

    def answers(self, items: Items, seed: int) -> Integers:
        def agree(words: list[str]) -> dict[int, str]:
            return {len(words) - 1: NUMBERS[words[_subject(words)] in PLURAL]}

        return answered(items, self.symbols, agree)

    def exchanged(self, items: Items, seed: int) -> Items:
        """One noun that is not the subject has the other number; a subject that is alone is another of its number."""
        generator = np.random.default_rng((seed, 11, 1))

        def change(words: list[str]) -> tuple[int, str]:
            subject = _subject(words)
            others = [place for place, word in enumerate(words) if word in NOUNS and place != subject]
            if others:
                place = int(generator.choice(others))
                return place, OTHER[words[place]]
            same = SINGULAR if words[subject] in SINGULAR else PLURAL
            return subject, one_of(generator, [noun for noun in same if noun != words[subject]])

        return exchanged(items, self.symbols, change)


def _subject(words: list[str]) -> int:
    """Its place: the first noun of the sentence, or behind the comma."""
    return (words.index(COMMA) if COMMA in words else 0) + 2


def _line(generator: np.random.Generator, congruent: Sequence[float]) -> Line:
    """Up to two phrases and a comma, the subject, and nouns behind it, one of them in a relative clause or none; each
    of these has the subject's number with its probability in ``congruent``."""

    def noun(plural: bool) -> str:
        return one_of(generator, PLURAL if plural else SINGULAR)

    before: list[str] = []
    for _ in range(generator.integers(3)):
        before += [one_of(generator, PREPOSITIONS), THE, noun(generator.random() < 0.5)]
    if before:
        before.append(COMMA)
    plural = bool(generator.random() < 0.5)
    behind: list[str] = []
    clause = generator.integers(2 * len(congruent)) if congruent else 0
    for place, probability in enumerate(congruent):
        link = [THAT, one_of(generator, VERBS)] if place == clause else [one_of(generator, PREPOSITIONS)]
        behind += [*link, THE, noun(plural == (generator.random() < probability))]
    words = [BEGIN, *before, THE, noun(plural), *behind]
    last = len(words) - 1
    return Line(words, {last: NUMBERS[plural]}, {last}, {len(before) + 2})
