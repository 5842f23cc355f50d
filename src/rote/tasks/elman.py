"""The four streams of Elman 1990, the source of the lecture's figure (source 004): bits, letters, words, a lexicon.

"xor" (p. 185): two random bits and their exclusive or, over and over. "letters" (p. 187): b, d and g in random order,
each followed by its vowels, ba dii guuu, as six features. "words" (p. 191): sentences of a 15-word lexicon, spelled
without spaces, each letter a random 5-bit code. "lexicon" (p. 195): sentences of two or three words from templates,
without boundaries, one bit per word; see ``elman_lexicon``.

Not published: the 15 words (ours are those of his Figure 6 and one more), and how they were arranged (drawn evenly).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rote.config import at_least
from rote.errors import UnknownNameError, UsageError
from rote.tasks.elman_lexicon import UNSEEN, WORDS, grammar
from rote.tasks.task import tasks

Simulation = Literal["xor", "letters", "words", "lexicon"]
Classes = Literal["inclusive", "listed"]
TRAIN, TEST, CODES = 0, 1, 2  # streams of random numbers
PUBLISHED_SIZE = {"xor": 3000, "letters": 1000, "words": 200, "lexicon": 10_000}
FEATURES = ("Consonant", "Vowel", "Interrupted", "High", "Back", "Voiced")
LETTERS = {"b": "101001", "d": "101101", "g": "101011", "a": "010011", "i": "010101", "u": "010111"}
SYLLABLES = ("ba", "dii", "guuu")
TEXT = "many years ago a boy and girl lived by the sea they played happily"  # Figure 6
LEXICON = (*TEXT.split(), "house")
SENTENCE = (4, 9)  # words, both included
LEXICON_BITS = 31  # 29 words; one of the spare bits is the unseen word


@dataclass(frozen=True)
class Stream:
    """Symbols one after the other, and what a network sees of each."""

    names: tuple[str, ...]
    codes: NDArray[np.float64]  # [symbol, bit]
    symbols: NDArray[np.int64]  # [time]
    place: NDArray[np.int64]  # [time], within the cycle, syllable, word or sentence: 0 where one begins

    def encode(self, names: Sequence[str]) -> NDArray[np.int64]:
        """The symbols of these names."""
        number = {name: index for index, name in enumerate(self.names)}
        for name in names:
            if name not in number:
                raise UnknownNameError("symbol", name, self.names, " of this stream")
        return np.array([number[name] for name in names], dtype=np.int64)


@tasks.register("elman")
@dataclass(frozen=True)
class ElmanTask:
    """Predict the next bit, letter or word of a stream: the four simulations of Elman 1990."""

    simulation: Simulation = "lexicon"
    size: int | None = None  # bits, consonants or sentences; None: as published
    classes: Classes = "inclusive"  # of the lexicon: broad classes contain the narrow ones, or only what Table 3 lists

    def __post_init__(self) -> None:
        at_least(self, 1, "size")
        if self.simulation == "xor" and self.count % 3:
            raise UsageError(f"'size' of the simulation 'xor' must be a multiple of 3 bits. Got {self.size}.")

    @property
    def count(self) -> int:
        return PUBLISHED_SIZE[self.simulation] if self.size is None else self.size

    @property
    def length(self) -> int:
        """Symbols that a stream has on average; what counts as one pass, whatever the seed."""
        match self.simulation:
            case "xor":
                return self.count
            case "letters":
                return round(self.count * np.mean([len(syllable) for syllable in SYLLABLES]))
            case "words":
                return round(self.count * sum(SENTENCE) / 2 * np.mean([len(word) for word in LEXICON]))
        return round(self.count * grammar(self.classes).mean_length)

    def training(self, seed: int) -> Stream:
        return self._draw(seed, TRAIN)

    def test(self, seed: int) -> Stream:
        """Another stream in the same code."""
        return self._draw(seed, TEST)

    def spelled(self, text: str, seed: int) -> Stream:
        """A text in the code that a seed's stream has: letters without spaces, or the words of the lexicon."""
        words = text.split()
        if not words:
            raise UsageError("A text needs at least one word. Got none.")
        pieces = [[word] for word in words] if self.simulation == "lexicon" else [list(word) for word in words]
        stream = self._draw(seed, TRAIN)
        symbols = stream.encode([name for piece in pieces for name in piece])
        return Stream(stream.names, stream.codes, symbols, _places([len(piece) for piece in pieces]))

    def _draw(self, seed: int, stream: int) -> Stream:
        random = np.random.default_rng((seed, stream))
        match self.simulation:
            case "xor":
                bits = random.integers(0, 2, (self.count // 3, 3))
                bits[:, 2] = bits[:, 0] ^ bits[:, 1]
                return Stream(("0", "1"), np.array([[0.0], [1.0]]), bits.ravel(), np.arange(self.count) % 3)
            case "letters":
                codes = np.array([[float(bit) for bit in code] for code in LETTERS.values()])
                drawn = [SYLLABLES[number] for number in random.integers(0, len(SYLLABLES), self.count)]
                return _letters(drawn, tuple(LETTERS), codes)
            case "words":
                words = random.integers(SENTENCE[0], SENTENCE[1] + 1, self.count).sum()
                drawn = [LEXICON[number] for number in random.integers(0, len(LEXICON), words)]
                return _letters(drawn, tuple("abcdefghijklmnopqrstuvwxyz"), _random_codes(seed, 26, 5))
        symbols, lengths = grammar(self.classes).draw(random, self.count)
        return Stream((*WORDS, UNSEEN), np.eye(len(WORDS) + 1, LEXICON_BITS), symbols, _places(lengths))


def _letters(words: Sequence[str], names: tuple[str, ...], codes: NDArray[np.float64]) -> Stream:
    number = {name: index for index, name in enumerate(names)}
    symbols = np.array([number[letter] for word in words for letter in word], dtype=np.int64)
    return Stream(names, codes, symbols, _places([len(word) for word in words]))


def _places(lengths: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
    """0, 1, 2, ... within each piece."""
    sizes = np.asarray(lengths, dtype=np.int64)
    return np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)


def _random_codes(seed: int, symbols: int, bits: int) -> NDArray[np.float64]:
    """Different codes, none of them all zeros."""
    numbers = 1 + np.random.default_rng((seed, CODES)).permutation(2**bits - 1)[:symbols]
    return ((numbers[:, None] >> np.arange(bits)) & 1).astype(np.float64)
