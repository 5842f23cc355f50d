"""One number for what the connectivity figure of source 003 shows: how much of it lies on words before the present one.

A text is words, each after a space; the space belongs to the word after it, as in the autocomplete task. A matrix is
connectivity[output, input], not negative. Of one output step:

    share    on previous words: the part of its connectivity that lies before the space of its own word
    reach    mean distance to the inputs, in characters, weighted by connectivity
    words    the part on each word so far, and how many words that are

The source says of its accuracy curves that they "don't summarize the model to a single number, which one may wish for".
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rote.errors import UsageError

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Words:
    """Where the words of a text are."""

    text: str
    names: tuple[str, ...]
    of: NDArray[np.int64]  # [character], the number of its word
    known: NDArray[np.int64]  # [character], letters of its word up to here: 0 at the space

    @classmethod
    def find(cls, text: str) -> Words:
        if not text.startswith(" ") or "  " in text or text.endswith(" "):
            raise UsageError(f"A text must be words with one space before each. Got {text[:40]!r}.")
        spaces = np.array([character == " " for character in text])
        of = spaces.cumsum() - 1
        starts = np.flatnonzero(spaces)
        return cls(text, tuple(text[1:].split(" ")), of, np.arange(len(text)) - starts[of])


def share_on_previous_words(values: Matrix, words: Words) -> Matrix:
    """[output]; NaN within the first word, which has none before it."""
    earlier = words.of[None, :] < words.of[:, None]
    share = _over(np.where(earlier, values, 0.0).sum(1), values.sum(1))
    return np.where(words.of > 0, share, np.nan)


def reach(values: Matrix, words: Words) -> Matrix:
    """[output], in characters; NaN within the first word."""
    steps = np.arange(len(values))
    distance = (steps[:, None] - steps[None, :]).clip(min=0)
    return np.where(words.of > 0, _over((values * distance).sum(1), values.sum(1)), np.nan)


def share_by_word(values: Matrix, words: Words, output: int) -> Matrix:
    """[word], from the first to the one of this output; they sum to 1."""
    row = values[output, : output + 1]
    return _over(np.bincount(words.of[: output + 1], row).astype(np.float64), np.asarray(row.sum()))


def words_in_use(shares: Matrix) -> float:
    """How many words an output draws on: 1 where one word has everything, n where n share equally."""
    return float(1 / (shares**2).sum())


def as_norm(squared: Matrix) -> Matrix:
    """The article's formula from what its program stored."""
    norm: Matrix = np.sqrt(squared)
    return norm


def _over(part: Matrix, whole: Matrix) -> Matrix:
    """0 where there is nothing: an output whose every gradient underflows draws on nothing."""
    found: Matrix = np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)
    return found
