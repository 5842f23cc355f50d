"""The words of a long text, counted and numbered without an object for each: 100 MB take seconds and little memory.

A word of up to 12 letters is one 64-bit number, five bits for each letter; the longer ones (one in thirty in text8) are
numbered through a dictionary.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rote.errors import UsageError
from rote.tasks.alphabet import SPACE, decode

PACKED = 12  # letters of five bits in a 64-bit number
LONG = 2**63  # from here on: the numbers of longer words
PIECE = 2**20  # words that are looked at together
Keys = NDArray[np.uint64]


@dataclass(frozen=True)
class IndexedWords:
    words: tuple[str, ...]  # the most frequent first; among equals by the alphabet
    ranks: NDArray[np.uint32]  # [word of the text]: its place in ``words``, or their number for any other word
    starts: NDArray[np.int32]  # [word of the text]: its first letter
    distinct: int  # different words in the text


def index_words(characters: NDArray[np.uint8], most: int) -> IndexedWords:
    """The ``most`` frequent words of a clean text that begins with a space, and where each stands."""
    if len(characters) >= 2**31:
        raise UsageError(f"The text has {len(characters)} characters; at most 2147483646 are taken. Set 'characters'.")
    starts = np.flatnonzero(characters == SPACE).astype(np.int32) + np.int32(1)
    keys, long_words = _keys(characters, starts)
    known, counts = np.unique(keys, return_counts=True)
    fewest = 0 if len(known) <= most else np.partition(counts, -most)[-most]
    candidates = np.flatnonzero(counts >= fewest)
    named = [(-int(counts[index]), _name(int(known[index]), long_words), index) for index in candidates]
    chosen = sorted(named)[:most]
    ranks = _ranks(keys, known[[index for _, _, index in chosen]])
    return IndexedWords(tuple(name for _, name, _ in chosen), ranks, starts, len(known))


def _keys(characters: NDArray[np.uint8], starts: NDArray[np.int32]) -> tuple[Keys, list[str]]:
    """A number for each word of the text, and the words that are too long for their letters to fit into it."""
    keys = np.empty(len(starts), np.uint64)
    numbers: dict[bytes, int] = {}
    for first in range(0, len(starts), PIECE):
        begin = starts[first : first + PIECE].astype(np.int64)
        after = starts[first + 1 : first + 1 + len(begin)].astype(np.int64)
        if len(after) < len(begin):  # the last word ends with the text
            after = np.append(after, len(characters) + 1)
        lengths = after - 1 - begin
        key = keys[first : first + PIECE]
        key[:] = 0
        for letter in range(PACKED):
            key <<= np.uint64(5)
            key |= np.where(letter < lengths, characters.take(begin + letter, mode="clip") - 1, 0).astype(np.uint64)
        for index in np.flatnonzero(lengths > PACKED):
            word = characters[begin[index] : begin[index] + lengths[index]].tobytes()
            key[index] = LONG + numbers.setdefault(word, len(numbers))
    return keys, [decode(word) for word in numbers]


def _name(key: int, long_words: list[str]) -> str:
    if key >= LONG:
        return long_words[key - LONG]
    letters = (key >> 5 * place & 31 for place in reversed(range(PACKED)))
    return decode(letter + 1 for letter in letters if letter)


def _ranks(keys: Keys, chosen: Keys) -> NDArray[np.uint32]:
    order = np.argsort(chosen)
    ordered, ranks = chosen[order], np.empty(len(keys), np.uint32)
    for first in range(0, len(keys), PIECE):
        piece = keys[first : first + PIECE]
        place = np.searchsorted(ordered, piece).clip(max=len(ordered) - 1)
        ranks[first : first + PIECE] = np.where(ordered[place] == piece, order[place], len(chosen))
    return ranks
