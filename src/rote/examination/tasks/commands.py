"""Commands and their actions: known words in combinations that never occurred, and words for known meanings.

A phrase is a verb with a modifier; a command is a phrase, or two of them joined. The actions follow one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import ClassVar

import numpy as np

from rote.examination.task import BatteryTask, Drawn, Integers, Items, battery
from rote.examination.tasks.lines import BEGIN, Line, answered, exchanged, items, some

Phrase = tuple[str, str]  # verb, modifier
Command = tuple[Phrase, str, Phrase]  # first, conjunction, second

TEMPLATES = {"once": "A", "twice": "AA", "left": "LA", "right": "RA", "around": "LALA", "back": "ARA"}
MODIFIERS = tuple(TEMPLATES)
CONJUNCTIONS = ("and", "after")
TURNS = {"L": "LEFT", "R": "RIGHT"}
DO, END = ">", "end"
EVALUATED = 400  # new items


@dataclass(frozen=True)
class Commands(BatteryTask):
    """What the tasks of commands share; ``meanings`` are the verbs, each with its action."""

    exact: ClassVar[bool] = True
    chance: ClassVar[float] = 0.0
    meanings: ClassVar[dict[str, str]]

    @property
    def symbols(self) -> tuple[str, ...]:
        actions = tuple(dict.fromkeys(self.meanings.values()))
        return (BEGIN, *self.meanings, *MODIFIERS, *CONJUNCTIONS, DO, *actions, *TURNS.values(), END)

    def answers(self, items: Items, seed: int) -> Integers:
        return answered(items, self.symbols, self._obey)

    def _obey(self, words: list[str]) -> dict[int, str]:
        command = words[1 : words.index(DO)]
        actions = self._actions(command[0], command[1])
        if len(command) > 2:
            second = self._actions(command[3], command[4])
            actions = actions + second if command[2] == "and" else second + actions
        return {words.index(DO) + place: action for place, action in enumerate([*actions, END])}

    def _actions(self, verb: str, modifier: str) -> list[str]:
        return [TURNS.get(letter, self.meanings[verb]) for letter in TEMPLATES[modifier]]

    def line(self, first: Phrase, conjunction: str = "", second: Phrase | None = None) -> Line:
        """A command with its actions."""
        does = self._actions(*first)
        command = [BEGIN, *first]
        if second is not None:
            command += [conjunction, *second]
            does = [*does, *self._actions(*second)] if conjunction == "and" else [*self._actions(*second), *does]
        asked = {len(command) + place: action for place, action in enumerate([*does, END])}
        return Line([*command, DO, *does], asked, asked, range(1, len(command)))

    def drawn(self, singles: list[Line], seen: list[Command], new: list[Command], seed: int, number: int) -> Drawn:
        """1,500 of the seen commands, with repetition; those that did not come are fresh."""
        generator = np.random.default_rng((seed, number, 1))
        chosen = generator.integers(len(seen), size=1500)
        rest = generator.permutation(np.setdiff1d(np.arange(len(seen)), chosen))[:EVALUATED]
        train = self._items([*singles, *(self.line(*seen[index]) for index in chosen)])
        return Drawn(
            train=train,
            known=some(train, EVALUATED, generator),
            fresh=self._items([self.line(*seen[index]) for index in rest]),
            new=self._items([self.line(*new[index]) for index in generator.permutation(len(new))[:EVALUATED]]),
            others={},
        )

    def _items(self, lines: Sequence[Line]) -> Items:
        return items(lines, self.symbols, length=15)


def pairs(first: Sequence[Phrase], second: Sequence[Phrase]) -> list[Command]:
    """All commands of two phrases."""
    return list(product(first, CONJUNCTIONS, second))


@battery.register("recombine")
@dataclass(frozen=True)
class Recombine(Commands):
    """Commands whose verb and modifier never stood together in training."""

    name: ClassVar[str] = "recombine"
    dimension: ClassVar = "recombination"
    about: ClassVar[str] = "Commands become actions; new: a verb with a modifier that it never had."
    steps: ClassVar[int] = 1200
    meanings: ClassVar[dict[str, str]] = {
        verb: verb.upper() for verb in ("walk", "look", "run", "jump", "swim", "sing")
    }

    def draw(self, seed: int) -> Drawn:
        generator = np.random.default_rng((seed, 1))
        verbs, modifiers = generator.permutation(list(self.meanings)), generator.permutation(MODIFIERS)
        kept: list[Phrase] = []
        held: list[Phrase] = []
        for row, column in product(range(6), range(6)):  # each verb, and each modifier, misses two
            phrase = str(verbs[row]), str(modifiers[column])
            (held if (column - row) % 6 < 2 else kept).append(phrase)
        singles = [self.line(phrase) for phrase in kept]
        return self.drawn(singles, pairs(kept, kept), pairs(held, kept) + pairs(kept, held), seed, 1)


@battery.register("synonyms")
@dataclass(frozen=True)
class Synonyms(Commands):
    """Commands with a verb that was only seen alone, and means what another verb means."""

    name: ClassVar[str] = "synonyms"
    dimension: ClassVar = "substitution"
    about: ClassVar[str] = "Commands become actions; new: a synonym that was only seen alone, in pairs."
    steps: ClassVar[int] = 600
    synonyms: ClassVar[dict[str, str]] = {"walk": "stroll", "look": "watch", "run": "dash", "jump": "hop"}
    meanings: ClassVar[dict[str, str]] = {
        **{verb: verb.upper() for verb in synonyms},
        **{other: verb.upper() for verb, other in synonyms.items()},
    }

    def draw(self, seed: int) -> Drawn:
        generator = np.random.default_rng((seed, 2))
        base = list(product(self.synonyms, MODIFIERS))
        kept: list[Phrase] = []
        held: list[Phrase] = []
        for synonym in self.synonyms.values():
            order = [str(modifier) for modifier in generator.permutation(MODIFIERS)]
            kept += [(synonym, modifier) for modifier in order[:2]]
            held += [(synonym, modifier) for modifier in order[2:]]
        singles = [self.line(phrase) for phrase in base + 40 * kept]
        return self.drawn(singles, pairs(base, base), pairs(held, base) + pairs(base, held), seed, 2)

    def exchanged(self, items: Items, seed: int) -> Items:
        """The first verb is replaced by the one that means the same."""
        other = {**self.synonyms, **{synonym: verb for verb, synonym in self.synonyms.items()}}
        return exchanged(items, self.symbols, lambda words: (1, other[words[1]]))


@battery.register("jump")
@dataclass(frozen=True)
class Jump(Commands):
    """Commands with a verb that was only seen alone and means something of its own: SCAN's hardest split, in small."""

    name: ClassVar[str] = "jump"
    dimension: ClassVar = "substitution"
    about: ClassVar[str] = "Commands become actions; new: two verbs, seen only alone, with all modifiers and in pairs."
    steps: ClassVar[int] = 1200
    option: ClassVar[bool] = True
    meanings: ClassVar[dict[str, str]] = Recombine.meanings

    def draw(self, seed: int) -> Drawn:
        generator = np.random.default_rng((seed, 13))
        verbs = [str(verb) for verb in generator.permutation(list(self.meanings))]
        base = list(product(verbs[2:], MODIFIERS))
        held = [(verb, modifier) for verb, modifier in product(verbs[:2], MODIFIERS) if modifier != "once"]
        singles = [self.line(phrase) for phrase in base + 40 * [(verb, "once") for verb in verbs[:2]]]
        return self.drawn(singles, pairs(base, base), pairs(held, base) + pairs(base, held), seed, 13)
