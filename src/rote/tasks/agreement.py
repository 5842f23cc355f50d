"""Number agreement over a distance: source 004, slides "Long-distance dependencies, I: number".

"The keys next to the book on top of the table ___": the verb takes the number of its subject, not of the nouns that
stand nearer. Sentences are generated: a subject, prepositional phrases or a relative clause, a verb.

    the keys near the book on the tables fall .        phrases, depth 2
    the keys that help the book fall .                 subject relative: the inner verb carries the subject's number
    the keys that the book helps fall .                object relative: the inner verb carries the other's

The nouns between subject and verb are attractors: congruent (all of the subject's number), opposite, or mixed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rote.config import at_least
from rote.errors import SettingError, UsageError
from rote.tasks.task import tasks

Structure = Literal["phrases", "subject relative", "object relative"]
Attractors = Literal["congruent", "opposite", "mixed"]
TRAIN, TEST = 0, 1  # streams of random numbers
END, THE, THAT, PAD = 0, 1, 2, -1
DEEPEST = 50
PREPOSITIONS = ("near", "behind", "under", "above", "beside", "beyond")
NOUNS = ("key", "book", "table", "author", "farmer", "letter", "door", "pilot", "friend", "chair", "lamp", "picture")
INNER = ("help", "like", "follow", "avoid", "move", "cover")
VERBS = ("fall", "wait", "shine", "work", "stay", "end", "begin", "remain", "return", "arrive")
STRUCTURES = ("phrases", "subject relative", "object relative")


@dataclass(frozen=True)
class Sentences:
    """Padded with -1 behind their end."""

    tokens: NDArray[np.int64]  # [sentence, time]
    lengths: NDArray[np.int64]  # [sentence], with the full stop


@dataclass(frozen=True)
class Items:
    """Beginnings of sentences up to the verb, all of one length, and the verb's two forms."""

    prefix: NDArray[np.int64]  # [item, time]
    right: NDArray[np.int64]  # [item]
    wrong: NDArray[np.int64]  # [item]


@tasks.register("agreement")
@dataclass(frozen=True)
class AgreementTask:
    """Give a verb the number of its subject, with other nouns between the two."""

    nouns: int = 8
    verbs: int = 6
    depth: int = 2  # most prepositional phrases of a training sentence
    relatives: float = 0.4  # share of training sentences with a relative clause, half of either kind

    def __post_init__(self) -> None:
        at_least(self, 1, "nouns", "verbs")
        at_least(self, 0, "depth")
        for name, known in (("nouns", NOUNS), ("verbs", VERBS)):
            if getattr(self, name) > len(known):
                raise SettingError(name, f"must be at most {len(known)}. Got {getattr(self, name)}.")
        if self.depth > DEEPEST:
            raise SettingError("depth", f"must be at most {DEEPEST} phrases. Got {self.depth}.")
        if not 0 <= self.relatives <= 1:
            raise SettingError("relatives", f"must be a share, 0 to 1. Got {self.relatives}.")

    @property
    def words(self) -> tuple[str, ...]:
        """What each number stands for: first the singular forms, then the plural ones."""
        nouns, verbs = NOUNS[: self.nouns], VERBS[: self.verbs]
        singular = (*nouns, *(f"{word}s" for word in (*INNER, *verbs)))
        plural = (*(f"{word}s" for word in nouns), *INNER, *verbs)
        return (".", "the", "that", *PREPOSITIONS, *singular, *plural)

    def training(self, seed: int, sentences: int) -> Sentences:
        if sentences < 1:
            raise UsageError(f"'sentences' must be at least 1. Got {sentences}.")
        random = np.random.default_rng((seed, TRAIN))
        relative = random.random(sentences) < self.relatives
        kind = np.where(relative, random.integers(1, 3, sentences), 0)
        depth = random.integers(0, self.depth + 1, sentences)
        longest = max(3 * self.depth + 4, 8)
        tokens = np.full((sentences, longest), PAD, dtype=np.int64)
        for structure, phrases in [(0, k) for k in range(self.depth + 1)] + [(1, 1), (2, 1)]:
            rows = np.flatnonzero((kind == structure) & ((depth == phrases) | (structure > 0)))
            numbers = random.integers(0, 2, (len(rows), phrases + 1))
            prefix = self._prefix(random, STRUCTURES[structure], numbers)
            size = prefix.shape[1]
            tokens[rows, :size] = prefix
            tokens[rows, size] = self._verbs(numbers[:, 0], random.integers(0, self.verbs, len(rows)))
            tokens[rows, size + 1] = END
        return Sentences(tokens, (tokens != PAD).sum(1))

    def items(self, seed: int, structure: Structure, depth: int, attractors: Attractors, count: int) -> Items:
        """So many beginnings of one structure; a relative clause has depth 1."""
        if structure not in STRUCTURES:
            raise UsageError(f"'structure' must be one of {', '.join(STRUCTURES)}. Got {structure!r}.")
        if structure != "phrases" and depth != 1:
            raise UsageError(f"A {structure} clause has one noun before the verb, depth 1. Got depth {depth}.")
        if not 0 <= depth <= DEEPEST:
            raise UsageError(f"'depth' must be 0 to {DEEPEST} phrases. Got {depth}.")
        if depth == 0 and attractors != "congruent":
            raise UsageError(f"At depth 0 there is no noun that could be {attractors!r}. Take depth 1 or more.")
        which = (STRUCTURES.index(structure), depth, ("congruent", "opposite", "mixed").index(attractors))
        random = np.random.default_rng((seed, TEST, *which))
        numbers = random.integers(0, 2, (count, depth + 1))
        if attractors != "mixed":
            numbers[:, 1:] = numbers[:, :1] if attractors == "congruent" else 1 - numbers[:, :1]
        prefix = self._prefix(random, structure, numbers)
        verb = random.integers(0, self.verbs, count)
        return Items(prefix, self._verbs(numbers[:, 0], verb), self._verbs(1 - numbers[:, 0], verb))

    def _prefix(
        self, random: np.random.Generator, structure: str, numbers: NDArray[np.int64]
    ) -> NDArray[np.int64]:  # fmt: skip
        """Everything before the verb. ``numbers``: of the subject and of each noun after it, 1 for plural."""
        rows, count = numbers.shape
        nouns = self._forms(numbers, random.integers(0, self.nouns, numbers.shape))
        the, that = np.full(rows, THE), np.full(rows, THAT)
        if structure == "phrases":
            prepositions = 3 + random.integers(0, len(PREPOSITIONS), (rows, count - 1))
            parts = [the, nouns[:, 0]]
            for place in range(1, count):
                parts += [prepositions[:, place - 1], the, nouns[:, place]]
            return np.stack(parts, axis=1)
        inner = np.asarray(self.nouns + random.integers(0, len(INNER), rows))
        if structure == "subject relative":
            return np.stack([the, nouns[:, 0], that, self._forms(numbers[:, 0], inner), the, nouns[:, 1]], axis=1)
        return np.stack([the, nouns[:, 0], that, the, nouns[:, 1], self._forms(numbers[:, 1], inner)], axis=1)

    def _verbs(self, number: NDArray[np.int64], verb: NDArray[np.int64]) -> NDArray[np.int64]:
        return self._forms(number, self.nouns + len(INNER) + verb)

    def _forms(self, number: NDArray[np.int64], lemma: NDArray[np.int64]) -> NDArray[np.int64]:
        return 3 + len(PREPOSITIONS) + number * (self.nouns + len(INNER) + self.verbs) + lemma
