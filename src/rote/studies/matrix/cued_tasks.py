"""Three tasks as sentences to learn, and questions about them that a network answers by rule or by rote.

Each sentence hides a rule: some symbols, the cue, decide what comes at a later place, and everything else in the
sentence does not. Half of the questions stand in surroundings that training had (known), half in others (new). A
network that composes needs the cue alone; one that has learned by rote needs the surroundings.

- rules (source 000): two open symbols, each with its own close symbol behind a conduit. New: unseen conduits.
- lookup (source 002): two tables applied one after the other, results spelled out; the cue of the last result is the
  last table and the result before it. New: compositions that were held out.
- agreement (source 004): a verb takes the number of its subject past nouns of the other number. New: more nouns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rote.errors import UnknownNameError
from rote.tasks.agreement import AgreementTask, Items
from rote.tasks.lookup import Example, LookupTask
from rote.tasks.rules import RulesTask

TASKS = ("rules", "lookup", "agreement")
CONTEXT = 2  # symbols before a rule
SENTENCES = 4000  # of the generated tasks
DEPTHS = {"known": 2, "new": 4}  # nouns between subject and verb; training has at most 2
SECOND_PAIR = 2  # open and close symbol of the second kind of rule are so much further
PAIRS = ("(", ")", "[", "]")  # open and close symbol of both kinds
START = "<start>"
RULES = RulesTask(tokens=60_000, vocabulary=20, rules=SENTENCES, conduit=5, conduits=40)
LOOKUP = LookupTask(longer=0)
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Questions:
    """Beginnings of sentences, all of one length, behind the start symbol 0."""

    tokens: Integers  # [question, time]
    cue: NDArray[np.bool_]  # [question, time]: what decides the answer
    decided: Integers  # [question]: what the cue decides, of which the answer is one form
    right: Integers  # [question]
    wrong: Integers  # [question, alternative]

    @property
    def chance(self) -> float:
        return float(1 / (1 + self.wrong.shape[1]))


@dataclass(frozen=True)
class CuedTask:
    """One of the three tasks: what a network learns, and any number of questions about it."""

    name: str = "rules"

    def __post_init__(self) -> None:
        if self.name not in TASKS:
            raise UnknownNameError("task of the matrix", self.name, TASKS)

    def symbols(self) -> tuple[str, ...]:
        """Their names, the start of a sentence first."""
        named = {
            "rules": lambda: (START, *map(str, range(RULES.filler)), *PAIRS),
            "lookup": lambda: (START, *_lookup_names()),
            "agreement": lambda: AgreementTask().words,
        }
        return named[self.name]()

    def sentences(self, seed: int) -> Integers:
        """What a network of this seed learns, [sentence, time], padded with -1."""
        made: dict[str, Callable[[], Integers]] = {
            "rules": lambda: _two_kinds(RULES.training(seed).windows(CONTEXT), seed, "training"),
            "lookup": _lookup_sentences,
            "agreement": lambda: AgreementTask().training(seed, SENTENCES).tokens,
        }
        return made[self.name]()

    def questions(self, seed: int, number: int) -> dict[str, Questions]:
        """So many known ones for a network of this seed, and as many new ones."""
        asked = {"rules": _rules, "lookup": _lookup, "agreement": _agreement}[self.name]
        return asked(seed, number)


def _rules(seed: int, number: int) -> dict[str, Questions]:
    asked = {}
    for name, kind in (("known", "training"), ("new", "unseen")):
        corpus = RULES.test(seed, kind, number + 1, CONTEXT + RULES.conduit + 2)  # type: ignore[arg-type]
        sentences = _two_kinds(corpus.windows(CONTEXT)[-number:], seed, name)
        right = sentences[:, -1]
        wrong = np.where(right == RULES.close + 1, right + SECOND_PAIR, right - SECOND_PAIR)
        asked[name] = _questions(sentences[:, :-1], (CONTEXT,), right, right, wrong[:, None])
    return asked


def _two_kinds(windows: Integers, seed: int, drawn: str) -> Integers:
    """Half of the rules with the second pair of symbols; all symbols one further, since 0 starts a sentence.

    ``drawn``: training, known or new; each draws by itself, so that what is asked decides nothing of what is learned.
    """
    random = np.random.default_rng((seed, 5, ("training", "known", "new").index(drawn)))
    second = random.integers(0, 2, (len(windows), 1)) * SECOND_PAIR
    return np.asarray(np.where(windows >= RULES.open, windows + second, windows) + 1)


def _lookup_sentences() -> Integers:
    """The same for every seed."""
    lines = _spelled(LOOKUP.splits()["train"])
    sentences = np.full((len(lines), max(map(len, lines))), -1)
    for row, line in zip(sentences, lines, strict=True):
        row[: len(line)] = line
    return sentences


def _lookup(seed: int, number: int) -> dict[str, Questions]:
    """The same rows for every seed; if there are more questions than rows, some are asked again."""
    splits, names = LOOKUP.splits(), _lookup_names()
    strings = np.array([place + 1 for place, name in enumerate(names) if set(name) <= {"0", "1"}])
    asked = {}
    for name, split in (("known", "train"), ("new", "heldout_compositions")):
        rows = np.array(_spelled([row for row in splits[split] if len(row.outputs) == 3]))  # x t t . x y z
        rows = rows[np.resize(np.random.default_rng((seed, 5)).permutation(len(rows)), number)]
        right = rows[:, -1]
        wrong = np.array([strings[strings != answer] for answer in right])
        asked[name] = _questions(rows[:, :-1], (2, 5), right, right, wrong)
    return asked


def _agreement(seed: int, number: int) -> dict[str, Questions]:
    asked = {}
    for name, depth in DEPTHS.items():
        items: Items = AgreementTask().items(seed, "phrases", depth, "opposite", number)
        plural = (items.right > items.wrong).astype(np.int64)  # the plural forms have the larger numbers
        asked[name] = _questions(items.prefix, (1,), plural, items.right, items.wrong[:, None])
    return asked


def _spelled(rows: list[Example]) -> list[list[int]]:
    """What goes in and comes out, behind one another, as the numbers of their symbols."""
    number = {name: place + 1 for place, name in enumerate(_lookup_names())}
    return [[number[symbol] for symbol in (*row.inputs, *row.outputs)] for row in rows]


def _lookup_names() -> list[str]:
    rows = [row for split in LOOKUP.splits().values() for row in split]
    return sorted({symbol for row in rows for symbol in (*row.inputs, *row.outputs)})


def _questions(
    tokens: Integers, cue: tuple[int, ...], decided: Integers, right: Integers, wrong: Integers
) -> Questions:
    """``cue``: places in the sentence, which the start symbol moves by one."""
    begun = np.concatenate([np.zeros((len(tokens), 1), dtype=np.int64), tokens], axis=1)
    marked = np.zeros(begun.shape, dtype=bool)
    marked[:, [place + 1 for place in cue]] = True
    return Questions(begun, marked, decided, right, wrong)
