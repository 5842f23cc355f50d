"""A small corpus of reviews from a grammar, for machines without real text: each word has a tag, each sentence a label.

What decides the label needs more than single words: ``not`` turns a judgment round, and of two judgments the one after
``but``, or outside ``although``, counts. Some words have two tags, and what tells them apart stands before them (``the
play``, ``they play``) or behind them (``that film was``, ``that was``; ``the light film``, ``the light faded``). It
lets a study run; that these things matter in it is how it was made, not a finding. Every table made with it says so.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

NOTE = (
    "Not real text but a stand-in from a small grammar of reviews (rote.tasks.text_stand_in), in which word order and "
    "context matter by construction: no real data were in $ROTE_DATA and no files were given, or it was asked for."
)
POSITIVE = ("good", "great", "fine", "funny", "moving", "clever", "warm", "fresh", "superb", "charming")
NEGATIVE = ("bad", "dull", "weak", "boring", "tired", "clumsy", "cold", "stale", "awful", "tedious")
NOUNS = (
    "film",
    "story",
    "cast",
    "plot",
    "ending",
    "script",
    "scene",
    "music",
    "dialogue",
    "director",
    "camera",
    "week",
)
BOTH = ("play", "show", "act", "work", "cut", "light", "minor", "cold")  # nouns that are also verbs or adjectives
PLAIN = ("long", "new", "short", "first", "last", "light", "minor", "old")
VERBS = ("play", "show", "act", "work", "cut", "move")
PAST = ("saw", "made", "liked", "wrote", "filmed")
SYLLABLES = ("ka", "lo", "mi", "ren", "sa", "tor", "vi", "bel", "na", "dro", "fi", "gus")
Word = tuple[str, str]  # form, tag
T = TypeVar("T")


class Review(NamedTuple):
    words: tuple[str, ...]
    tags: tuple[str, ...]  # one for each word
    label: str  # positive or negative


def make_reviews(count: int, seed: int) -> list[Review]:
    """The first ``count`` reviews of a seed; more of them begin with the same."""
    return list(_reviews(count, seed))


@functools.lru_cache(maxsize=3)
def _reviews(count: int, seed: int) -> tuple[Review, ...]:
    return tuple(_Writer(np.random.default_rng((seed, number))).review() for number in range(count))


class _Writer:
    def __init__(self, random: np.random.Generator) -> None:
        self.random = random

    def review(self) -> Review:
        positive = bool(self.random.integers(2))
        form = self._choice((self._clause, self._clause, self._clause, self._but, self._although))
        words = [*self._places(0.3, opening=True), *form(positive), *self._places(0.6), (".", "PUNCT")]
        forms, tags = zip(*words, strict=True)
        return Review(forms, tags, "positive" if positive else "negative")

    def _but(self, positive: bool) -> list[Word]:
        return [*self._clause(not positive), (",", "PUNCT"), ("but", "CCONJ"), *self._clause(positive)]

    def _although(self, positive: bool) -> list[Word]:
        return [("although", "SCONJ"), *self._clause(not positive), (",", "PUNCT"), *self._clause(positive)]

    def _clause(self, positive: bool) -> list[Word]:
        """A subject and a judgment, some of them turned round by a negation."""
        turned = self.random.random() < 0.25
        judged = POSITIVE if positive != turned else NEGATIVE
        said: list[Word] = [*self._subject(), self._choice((("was", "AUX"), ("seemed", "VERB")))]
        if turned:
            said.append(self._choice((("not", "PART"), ("never", "ADV"))))
        if self.random.random() < 0.4:
            said.append((self._choice(("very", "so", "rather", "quite")), "ADV"))
        return [*said, (self._choice(judged), "ADJ")]

    def _subject(self) -> list[Word]:
        kinds: tuple[Callable[[], list[Word]], ...] = (self._noun, self._noun, self._that, self._seen, self._people)
        return self._choice(kinds)()

    def _that(self) -> list[Word]:
        return [("that", "PRON")]

    def _noun(self) -> list[Word]:
        said: list[Word] = [(self._choice(("the", "this", "that", "every")), "DET")]
        if self.random.random() < 0.4:
            said.append((self._choice(PLAIN), "ADJ"))
        return [*said, (self._choice(NOUNS + BOTH), "NOUN")]

    def _seen(self) -> list[Word]:
        """``the film that Kalo saw``"""
        return [*self._noun(), ("that", "PRON"), self._name(), (self._choice(PAST), "VERB")]

    def _people(self) -> list[Word]:
        """``the way they play``"""
        return [("the", "DET"), ("way", "NOUN"), ("they", "PRON"), (self._choice(VERBS), "VERB")]

    def _places(self, again: float, opening: bool = False) -> list[Word]:
        """``in the last scene by Kalo``, any number of them."""
        said: list[Word] = []
        while self.random.random() < again and len(said) < 18:
            place = [self._name()] if self.random.random() < 0.3 else self._noun()
            said += [(self._choice(("in", "with", "by", "like", "after")), "ADP"), *place]
        return [*said, (",", "PUNCT")] if said and opening else said

    def _name(self) -> Word:
        parts = [SYLLABLES[self.random.integers(len(SYLLABLES))] for _ in range(self.random.integers(2, 4))]
        return "".join(parts).capitalize(), "PROPN"

    def _choice(self, options: Sequence[T]) -> T:
        return options[int(self.random.integers(len(options)))]
