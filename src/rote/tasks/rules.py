"""A long-distance rule in uniform noise: source 000, section 4.

The corpus is uniform over a vocabulary; n times it holds ``open conduit close``, with k symbols between the two. Here k
is always the length of the conduit; the source writes x[t-k] for the open symbol, which makes its k one more. Conduits
are drawn afresh for each rule, or taken from a set of q. Of such a set each is also placed m times outside the rule
("predictable"), or not at all (m = 0, "unpredictable").

The clean generator never lets two of these overlap. The author's public program (``generator="as_published"``) writes
k + 2 symbols into k places of a list, or into k + 1 for a copy outside the rule: the corpus grows with each write, and
writes at fixed places cut earlier rules in two. It also draws from one symbol more than its vocabulary has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rote.config import at_least
from rote.errors import UsageError
from rote.tasks.task import tasks

Generator = Literal["clean", "as_published"]
TestConduits = Literal["unseen", "training"]
TRAIN, TEST = 0, 1  # streams of random numbers
CHUNK = 1024  # symbols in a piece of the growing list


@dataclass(frozen=True)
class Corpus:
    tokens: NDArray[np.int64]  # [length]
    starts: NDArray[np.int64]  # where the rules begin that are whole: close stands k + 1 behind open
    copies: NDArray[np.int64]  # where conduits were placed outside the rule; not known for "as_published"
    conduits: NDArray[np.int64]  # [q, k]: the set, or the conduits of the whole rules
    asked: int  # rules that were to be placed
    opened: int  # open symbols that are there, with and without their close symbol

    @property
    def survivors(self) -> int:
        return len(self.starts)

    def windows(self, context: int) -> NDArray[np.int64]:
        """The whole rules, each with ``context`` symbols before it: [rules, context + k + 2]."""
        length = context + self.conduits.shape[1] + 2
        starts = self.starts[self.starts >= context] - context
        return self.tokens[starts[:, None] + np.arange(length)]


@tasks.register("rules")
@dataclass(frozen=True)
class RulesTask:
    """Predict the close symbol that an open symbol promises, k arbitrary symbols later, in uniform noise."""

    tokens: int = 1_000_000
    vocabulary: int = 1000  # symbols 0, 1, ... of the filler and the conduits
    rules: int = 1000  # n
    conduit: int = 8  # k, the symbols between open and close
    conduits: int | None = None  # q, the size of their set; None: drawn afresh for each rule
    copies: int = 0  # m, how often each of the set stands outside the rule
    generator: Generator = "clean"
    open_symbol: int | None = None  # None: the first that is no filler
    close_symbol: int | None = None  # None: the one behind it

    def __post_init__(self) -> None:
        at_least(self, 1, "tokens", "vocabulary", "conduits")
        at_least(self, 0, "rules", "conduit", "copies")
        self._check_symbols()
        self._check_room()
        self._check_set()

    @property
    def filler(self) -> int:
        """How many symbols the filler has; the author's program draws from 0 to the vocabulary, both included."""
        return self.vocabulary + (self.generator == "as_published")

    @property
    def open(self) -> int:
        return self.filler if self.open_symbol is None else self.open_symbol

    @property
    def close(self) -> int:
        return self.filler + 1 if self.close_symbol is None else self.close_symbol

    @property
    def symbols(self) -> int:
        """What a model needs to know: all symbols up to the largest."""
        return max(self.filler - 1, self.open, self.close) + 1

    @property
    def length(self) -> int:
        """Of the training corpus: as asked, and with the author's program as far as it has grown."""
        if self.generator == "clean":
            return self.tokens
        return self.tokens + 2 * self.rules + (self._copies_per_rule() * self.rules)

    def training(self, seed: int) -> Corpus:
        random = np.random.default_rng((seed, TRAIN))
        return self._clean(random) if self.generator == "clean" else self._as_published(random)

    def test(self, seed: int, conduits: TestConduits = "unseen", rules: int = 100, window: int = 35) -> Corpus:
        """One rule at a random place of each window; conduits that no rule of the training corpus has, or those it has.

        Clean, whatever the generator of the training corpus."""
        if window < self.conduit + 2:
            raise UsageError(f"A window must hold k + 2 = {self.conduit + 2} symbols. Got 'window' {window}.")
        seen = self.training(seed).conduits
        random = np.random.default_rng((seed, TEST, ("unseen", "training").index(conduits)))
        if conduits == "unseen":
            chosen = self._unseen(random, seen, rules)
        elif len(seen):
            chosen = seen[random.permutation(np.resize(random.permutation(len(seen)), rules))]
        else:
            raise UsageError("The training corpus has no whole rule, so that there are no training conduits.")
        tokens = random.integers(0, self.vocabulary, rules * window)
        starts = np.arange(rules) * window + random.integers(0, window - self.conduit - 1, rules)
        self._write(tokens, starts, chosen)
        none = np.empty(0, dtype=np.int64)
        return Corpus(tokens, starts, none, chosen, rules, rules)

    def _clean(self, random: np.random.Generator) -> Corpus:
        """Blocks without overlap, every arrangement equally likely: which of the places left hold a block is drawn."""
        k, n, q = self.conduit, self.rules, self.conduits or 0
        tokens = random.integers(0, self.vocabulary, self.tokens)
        which = random.permutation(np.arange(n) % q) if q else np.arange(n)  # each of the set equally often
        pool = self._distinct(random, q) if q else random.integers(0, self.vocabulary, (n, k))
        blocks = n + q * self.copies
        lengths = np.where(np.arange(blocks) < n, k + 2, k)
        order = random.permutation(blocks)
        slots = np.sort(random.choice(self.tokens - lengths.sum() + blocks, blocks, replace=False))
        starts = np.empty(blocks, dtype=np.int64)
        starts[order] = slots + np.concatenate([[0], np.cumsum(lengths[order] - 1)])[:-1]
        rules, copies = starts[:n], starts[n:]
        self._write(tokens, rules, pool[which])
        tokens[copies[:, None] + np.arange(k)] = pool[np.arange(q * self.copies) % q] if len(copies) else 0
        return Corpus(tokens, np.sort(rules), np.sort(copies), pool, n, n)

    def _write(self, tokens: NDArray[np.int64], starts: NDArray[np.int64], conduits: NDArray[np.int64]) -> None:
        tokens[starts], tokens[starts + self.conduit + 1] = self.open, self.close
        tokens[starts[:, None] + 1 + np.arange(self.conduit)] = conduits

    def _as_published(self, random: np.random.Generator) -> Corpus:
        """The public program's writes in their order, each at a place of a grid of k + 2, into a list that grows."""
        size, repeats = self.conduit + 2, 1 + self._copies_per_rule()
        grown = _GrowingList(random.integers(0, self.filler, self.tokens))
        pool = random.integers(0, self.filler, (self.conduits or self.rules, size))
        written = pool.tolist()
        places = random.permutation(-(-self.tokens // size))[: repeats * self.rules] * size
        for index, (begin, *others) in enumerate(places.reshape(-1, repeats).tolist()):
            conduit = written[index % len(written)]
            grown.put(begin, 1, [self.open])
            grown.put(begin + 1, self.conduit, conduit)
            grown.put(begin + size - 1, 1, [self.close])
            for other in others:
                grown.put(other, size - 1, conduit)
        tokens = grown.array()[: self.length]
        opened = np.flatnonzero(tokens == self.open)
        inside = opened[opened + size <= len(tokens)]
        starts = inside[tokens[inside + size - 1] == self.close]
        pool = pool[:, : self.conduit] if self.conduits else tokens[starts[:, None] + 1 + np.arange(self.conduit)]
        return Corpus(tokens, starts, np.empty(0, dtype=np.int64), pool, self.rules, len(opened))

    def _copies_per_rule(self) -> int:
        """The public program counts copies per rule, not per conduit; rounded where the two do not agree."""
        return round(self.copies * (self.conduits or 0) / self.rules) if self.rules else 0

    def _distinct(self, random: np.random.Generator, count: int) -> NDArray[np.int64]:
        return self._unseen(random, np.empty((0, self.conduit), dtype=np.int64), count, distinct=True)

    def _unseen(
        self, random: np.random.Generator, seen: NDArray[np.int64], count: int, distinct: bool = False
    ) -> NDArray[np.int64]:
        """Conduits that are not among ``seen``, and if ``distinct`` no two alike."""
        used, left = set(map(bytes, seen)), self.vocabulary**self.conduit
        if left <= len(used):
            raise UsageError(
                f"No unseen conduit is left: {self.vocabulary}^{self.conduit} = {left}, and the training rules have "
                f"{len(used)} of them. Take a longer 'conduit' or fewer 'rules'."
            )
        chosen: list[NDArray[np.int64]] = []
        while len(chosen) < count:
            for row in random.integers(0, self.vocabulary, (count, self.conduit)):
                if len(chosen) < count and bytes(row) not in used:
                    chosen.append(row)
                    if distinct:
                        used.add(bytes(row))
        return np.array(chosen, dtype=np.int64).reshape(count, self.conduit)

    def _check_symbols(self) -> None:
        for name, symbol in (("open_symbol", self.open), ("close_symbol", self.close)):
            if symbol < self.filler:
                raise UsageError(
                    f"{name!r} must not be a filler symbol: those are 0 to {self.filler} - 1 = "
                    f"{self.filler - 1}. Got {symbol}; take at least {self.filler}."
                )
        if self.open == self.close:
            raise UsageError(f"'open_symbol' and 'close_symbol' must differ. Both are {self.open}.")

    def _check_set(self) -> None:
        if self.copies and self.conduits is None:
            raise UsageError(f"'copies' needs a set: give 'conduits'. Got {self.copies} copies of no set.")
        possible = self.vocabulary**self.conduit
        if self.conduits is not None and self.conduits > possible:
            raise UsageError(
                f"'conduits' asks for {self.conduits} different ones, but of {self.conduit} symbols over "
                f"{self.vocabulary} there are {self.vocabulary}^{self.conduit} = {possible}."
            )

    def _check_room(self) -> None:
        k, n, q, m = self.conduit, self.rules, self.conduits or 0, self.copies
        if k + 2 > self.tokens:
            raise UsageError(
                f"A rule has k + 2 = {k} + 2 = {k + 2} symbols, but the corpus has 'tokens' {self.tokens}. "
                "Take a shorter 'conduit' or more 'tokens'."
            )
        if n * (k + 2) > self.tokens:
            raise UsageError(
                f"{n} rules of k + 2 = {k + 2} symbols need {n} x {k + 2} = {n * (k + 2)} of {self.tokens} tokens. "
                f"At most {self.tokens // (k + 2)} 'rules' fit."
            )
        room = n * (k + 2) + q * m * k
        if room > self.tokens:
            raise UsageError(
                f"q x m = {q} x {m} = {q * m} copies of {k} symbols and {n} rules of {k + 2} need {q * m * k} + "
                f"{n * (k + 2)} = {room} of {self.tokens} tokens. At most {(self.tokens - n * (k + 2)) // (q * k)} "
                "'copies' of each fit."
            )
        places, writes = -(-self.tokens // (k + 2)), n * (1 + self._copies_per_rule())
        if self.generator == "as_published" and writes > places:
            raise UsageError(
                f"The published generator writes {n} rules and {writes - n} copies to a grid of {self.tokens} / "
                f"{k + 2} = {places} places. Take fewer 'copies' or 'rules'."
            )


class _GrowingList:
    """A list in pieces: replacing a few symbols by more of them moves one piece, not all that follows."""

    def __init__(self, symbols: NDArray[np.int64]) -> None:
        self.pieces = [symbols[first : first + CHUNK].tolist() for first in range(0, len(symbols), CHUNK)]
        self.ends = np.cumsum([len(piece) for piece in self.pieces])

    def put(self, begin: int, places: int, symbols: list[int]) -> None:
        """``list[begin : begin + places] = symbols``."""
        number = min(int(np.searchsorted(self.ends, begin, side="right")), len(self.pieces) - 1)
        piece = self.pieces[number]
        first = begin - int(self.ends[number]) + len(piece)
        over = first + places - len(piece)
        piece[first : first + places] = symbols
        grown = len(symbols) - places + max(0, over)
        self.ends[number:] += grown
        after = number + 1
        while over > 0 and after < len(self.pieces):  # the rest of the places are in the pieces behind
            cut = min(over, len(self.pieces[after]))
            del self.pieces[after][:cut]
            self.ends[after:] -= cut
            over, after = over - cut, after + 1

    def array(self) -> NDArray[np.int64]:
        return np.array([symbol for piece in self.pieces for symbol in piece], dtype=np.int64)
