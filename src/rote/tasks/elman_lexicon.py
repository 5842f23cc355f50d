"""The sentences of Elman 1990's lexical categories: templates of word classes (Tables 3 and 4, p. 195-197).

Table 3 gives examples of 12 classes and Table 4 lists 16 templates, where the text speaks of 13 and 15. Membership is
completed here from the 29 words of Figure 7. That classes overlap is said, not which: in "inclusive" classes animate
nouns include the human and the aggressive, inanimate ones food and what is fragile, transitive verbs break, smash and
smell. With 16 equally likely templates a stream of 10,000 sentences has 27,500 words on average (SD 43); the article
gives 27,534, 27,354 and 27,454 for one and the same stream.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from rote.errors import UnknownNameError, UsageError

LISTED = {
    "NOUN-HUM": ("man", "woman", "boy", "girl"),
    "NOUN-ANIM": ("cat", "mouse", "dog"),
    "NOUN-INANIM": ("book", "rock", "car"),
    "NOUN-AGRESS": ("dragon", "monster", "lion"),
    "NOUN-FRAG": ("glass", "plate"),
    "NOUN-FOOD": ("cookie", "bread", "sandwich"),
    "VERB-INTRAN": ("think", "sleep", "exist"),
    "VERB-TRAN": ("see", "chase", "like"),
    "VERB-AGPAT": ("move", "break"),
    "VERB-PERCEPT": ("smell", "see"),
    "VERB-DESTROY": ("break", "smash"),
    "VERB-EAT": ("eat",),
}
INCLUDED = {
    "NOUN-ANIM": ("NOUN-HUM", "NOUN-AGRESS"),
    "NOUN-INANIM": ("NOUN-FOOD", "NOUN-FRAG"),
    "VERB-TRAN": ("VERB-DESTROY", "VERB-PERCEPT"),
}
TEMPLATES = tuple(
    tuple(line.split())
    for line in """
    NOUN-HUM VERB-EAT NOUN-FOOD
    NOUN-HUM VERB-PERCEPT NOUN-INANIM
    NOUN-HUM VERB-DESTROY NOUN-FRAG
    NOUN-HUM VERB-INTRAN
    NOUN-HUM VERB-TRAN NOUN-HUM
    NOUN-HUM VERB-AGPAT NOUN-INANIM
    NOUN-HUM VERB-AGPAT
    NOUN-ANIM VERB-EAT NOUN-FOOD
    NOUN-ANIM VERB-TRAN NOUN-ANIM
    NOUN-ANIM VERB-AGPAT NOUN-INANIM
    NOUN-ANIM VERB-AGPAT
    NOUN-INANIM VERB-AGPAT
    NOUN-AGRESS VERB-DESTROY NOUN-FRAG
    NOUN-AGRESS VERB-EAT NOUN-HUM
    NOUN-AGRESS VERB-EAT NOUN-ANIM
    NOUN-AGRESS VERB-EAT NOUN-FOOD
    """.strip().splitlines()
)
WORDS = tuple(dict.fromkeys(word for members in LISTED.values() for word in members))
UNSEEN = "zog"  # a word that no sentence has (Figure 8)


@dataclass(frozen=True)
class Grammar:
    """Equally likely templates of word classes, whose words are equally likely."""

    words: tuple[str, ...]
    classes: Mapping[str, tuple[str, ...]]
    templates: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        if not self.templates or not all(self.templates):
            raise UsageError("A grammar needs templates, each with at least one class. Got an empty one.")
        for name in {name for template in self.templates for name in template}:
            if name not in self.classes:
                raise UnknownNameError("word class", name, self.classes, " in a template")
            if not self.classes[name]:
                raise UsageError(f"The word class {name!r} has no words. Give it one, or leave its templates out.")
            for word in self.classes[name]:
                if word not in self.words:
                    raise UnknownNameError("word", word, self.words, f" in the class {name!r}")

    @property
    def mean_length(self) -> float:
        return sum(map(len, self.templates)) / len(self.templates)

    def draw(self, random: np.random.Generator, sentences: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The words of so many sentences one after the other, by number, and the length of each sentence."""
        number = {word: index for index, word in enumerate(self.words)}
        members = {name: np.array([number[word] for word in words]) for name, words in self.classes.items()}
        chosen = random.integers(0, len(self.templates), sentences)
        made = np.full((sentences, max(map(len, self.templates))), -1, dtype=np.int64)
        for index, template in enumerate(self.templates):
            rows = np.flatnonzero(chosen == index)
            for place, name in enumerate(template):
                made[rows, place] = random.choice(members[name], len(rows))
        return made[made >= 0], (made >= 0).sum(1)

    def continuations(self) -> dict[tuple[int, ...], NDArray[np.float64]]:
        """Every beginning of a sentence, by the numbers of its words -> probability of each word that follows; after
        a whole sentence another begins. What a perfect predictor would say."""
        number = {word: index for index, word in enumerate(self.words)}
        chances: dict[tuple[int, ...], NDArray[np.float64]] = defaultdict(lambda: np.zeros(len(self.words)))
        ends: dict[tuple[int, ...], float] = defaultdict(float)
        for template in self.templates:
            members = [self.classes[name] for name in template]
            share = 1 / len(self.templates) / math.prod(map(len, members))
            for sentence in itertools.product(*members):
                words = tuple(number[word] for word in sentence)
                ends[words] += share
                for place, word in enumerate(words):
                    chances[words[:place]][word] += share
        first = chances.pop(())
        whole = {words: chances[words] + ends[words] * first for words in {*chances, *ends}}
        return {words: values / values.sum() for words, values in whole.items()}


@cache
def grammar(classes: str) -> Grammar:
    """The published templates, with the classes as "listed" or "inclusive"."""
    members = dict(LISTED)
    if classes == "inclusive":
        for broad, narrow in INCLUDED.items():
            added = [word for name in narrow for word in LISTED[name]]
            members[broad] = tuple(dict.fromkeys((*LISTED[broad], *added)))
    return Grammar(WORDS, members, TEMPLATES)
