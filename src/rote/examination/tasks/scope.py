"""Scopes: what a note is depends on all the scopes that are open around it, and on none that has been closed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rote.examination.task import BatteryTask, Drawn, Integers, Items, battery
from rote.examination.tasks.lines import BEGIN, Line, answered, items, some, unseen

CLOSE = "}"
KINDS = 2  # notes, and ways to move them
TRAINED, DEEPEST, LONGEST = 3, 5, 58


@battery.register("scope")
@dataclass(frozen=True)
class Scope(BatteryTask):
    """Notes that every scope around them moves, in scopes that are nested more deeply than in training.

    The second task of nesting: no brackets with values of their own, no operators, an answer at each note.
    """

    name: ClassVar[str] = "scope"
    dimension: ClassVar = "nesting"
    about: ClassVar[str] = "A note, moved by all scopes around it; new: four or five deep instead of one to three."
    steps: ClassVar[int] = 1000
    chance: ClassVar[float] = 1 / KINDS

    @property
    def symbols(self) -> tuple[str, ...]:
        notes = [str(note) for note in range(KINDS)]
        return (BEGIN, *notes, *(f"+{note}{{" for note in notes), CLOSE, *(f"={note}" for note in notes))

    def draw(self, seed: int) -> Drawn:
        """Scored in new items: what comes once they are deeper than training items, also when scopes have closed."""
        generator = np.random.default_rng((seed, 14))
        lines = [self._line(generator, int(depth)) for depth in generator.integers(1, 1 + TRAINED, size=3000)]
        fresh = unseen([self._line(generator, TRAINED) for _ in range(400)], lines)
        deep = [self._line(generator, int(depth)) for depth in generator.integers(1 + TRAINED, 1 + DEEPEST, size=400)]
        new = [line for line in deep if len(line.words) <= LONGEST]
        train = items(lines, self.symbols)
        return Drawn(
            train=train,
            known=some(train, 300, generator),
            fresh=items(fresh[:300], self.symbols),
            new=items(new[:300], self.symbols),
            others={},
        )

    def answers(self, items: Items, seed: int) -> Integers:
        """From left to right, with a stack of the scopes that are open."""

        def move(words: list[str]) -> dict[int, str]:
            around: list[int] = []
            found: dict[int, str] = {}
            for place, word in enumerate(words[1:], 1):
                if word == CLOSE:
                    around.pop()
                elif word.endswith("{"):
                    around.append(int(word[1:-1]))
                else:
                    found[place] = f"={(int(word) + sum(around)) % KINDS}"
            return found

        return answered(items, self.symbols, move)

    def _line(self, generator: np.random.Generator, depth: int) -> Line:
        pieces = self._scope(generator, depth, 0)
        words = [BEGIN, *(word for word, _ in pieces)]
        answers = {place: answer for place, (_, answer) in enumerate(pieces, 1) if answer}
        levels = np.cumsum([word.endswith("{") - (word == CLOSE) for word in words])
        first = int(np.argmax(levels > TRAINED)) if depth > TRAINED else 0
        return Line(words, answers, [place for place in answers if place > first], range(1, len(words)))

    def _scope(self, generator: np.random.Generator, depth: int, moved: int) -> list[tuple[str, str]]:
        """Symbols with their answers: a note, a scope that is nested exactly so deep, a note, and sometimes another
        scope and a note; ``moved`` by what is around."""
        shift = int(generator.integers(KINDS))

        def note() -> tuple[str, str]:
            step = int(generator.integers(KINDS))
            return f"{step}", f"={(step + moved + shift) % KINDS}"

        inside = [note()]
        if depth > 1:
            inside += [*self._scope(generator, depth - 1, moved + shift), note()]
            if generator.random() < 0.3:
                inside += [*self._scope(generator, int(generator.integers(1, depth)), moved + shift), note()]
        return [(f"+{shift}{{", ""), *inside, (CLOSE, "")]
