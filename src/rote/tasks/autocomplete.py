"""Autocomplete: name the word that is being typed, from its first letters and the text before it (source 003).

A text is cut into observations of at most 200 characters: words are added until the next one, with the space before
it, does not fit. The target at every character is the whole word that it belongs to; the space before a word belongs
to it, so every observation begins with a space. Words outside the vocabulary have the target 1, padding the target 0.

The split, the order of the vocabulary and the numbers of the characters are the source's. Two things are ours: among
words of equal frequency at the end of the vocabulary the alphabet decides (the source does not say), and training goes
through all observations in a new random order in every epoch (the source: through a window of 10,000).
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rote.config import at_least
from rote.errors import UsageError
from rote.tasks.alphabet import END, SPACE, Outside, numbers
from rote.tasks.shuffling import epoch_order
from rote.tasks.task import tasks
from rote.tasks.text_files import Text, load_text
from rote.tasks.word_counts import index_words

Split = Literal["training", "validation", "test"]
SPLITS: tuple[Split, ...] = ("training", "validation", "test")
SOURCE_SEED = 450849059  # of the split and of the vocabulary's order
PADDING, UNKNOWN = 0, 1  # targets that are not words of the vocabulary
WORDS_BEFORE = ("<eos>", "<unknown>")  # the outputs that stand before the vocabulary


@dataclass(frozen=True)
class Batch:
    """Observations, padded to the longest."""

    tokens: NDArray[np.int64]  # [observation, time]: characters, 0 after the end
    targets: NDArray[np.int64]  # [observation, time]: words, UNKNOWN outside the vocabulary, PADDING after the end
    lengths: NDArray[np.int64]  # [observation]


@dataclass(frozen=True)
class Observations:
    """A text prepared for training. What a batch needs is read from it when the batch is made."""

    characters: NDArray[np.uint8]  # of the whole text, with the space before its first word
    targets: NDArray[np.uint32]  # [word]: its number among the outputs
    starts: NDArray[np.int64]  # [observation + 1]: first character
    first_words: NDArray[np.int64]  # [observation]
    vocabulary: tuple[str, ...]  # the outputs' names: "<eos>", "<unknown>", then words
    frequencies: NDArray[np.int64]  # [output]: how often each is the word of the text
    distinct: int  # different words in the text
    origin: str
    sha256: str
    note: str

    def __len__(self) -> int:
        return len(self.first_words)

    @functools.cached_property
    def splits(self) -> dict[Split, NDArray[np.int64]]:
        """Numbers of observations: nine tenths for training, a twentieth each for validation and test."""
        order = np.random.RandomState(SOURCE_SEED).permutation(len(self))
        first, second = int(0.9 * len(self)), int(0.05 * len(self))
        return dict(zip(SPLITS, np.split(order, [first, first + second]), strict=True))

    def batch(self, observations: NDArray[np.int64]) -> Batch:
        """These observations, in this order."""
        first = self.starts[observations]
        lengths = self.starts[observations + 1] - first
        step = np.arange(lengths.max())
        inside = step < lengths[:, None]
        tokens = self.characters[np.where(inside, first[:, None] + step, 0)].astype(np.int64)
        tokens[~inside] = END
        word = self.first_words[observations][:, None] + np.cumsum(tokens == SPACE, 1) - 1
        return Batch(tokens, np.where(inside, self.targets[word], PADDING).astype(np.int64), lengths)

    def training(self, seed: int, step: int, size: int) -> Batch:
        """Batch number ``step`` of a seed, any of them on its own; what is left at the end of an epoch is dropped."""
        chosen = self.splits["training"]
        size = min(size, len(chosen))
        epoch, within = divmod(step, self.steps_per_epoch(size))
        return self.batch(chosen[_order(seed, epoch, len(chosen))[within * size : (within + 1) * size]])

    def steps_per_epoch(self, size: int) -> int:
        return max(1, len(self.splits["training"]) // size)

    def validation(self, step: int, size: int) -> Batch:
        """The validation batch for a step: one after the other, and again from the beginning."""
        chosen = self.splits["validation"]
        return self.batch(chosen[np.arange(step * size, step * size + min(size, len(chosen))) % len(chosen)])

    def batches(self, split: Split, size: int, most: int | None = None) -> Iterator[Batch]:
        """All observations of a part (or the first ``most``) in its order."""
        chosen = self.splits[split][:most]
        for first in range(0, len(chosen), size):
            yield self.batch(chosen[first : first + size])


@tasks.register("autocomplete")
@dataclass(frozen=True)
class AutocompleteTask:
    """Name the word that is being typed, from its first letters and the text before it."""

    text: str = "text8"  # "text8", "bundled", or the path of a plain text file
    characters: int | None = None  # how many to take from its beginning; None: all
    length: int = 200  # characters of an observation, at most
    words: int = 2**14  # size of the vocabulary
    outside: Outside = "warn"  # about characters of a file that text8's rules only know as spaces
    checksum: str = ""  # of a file of one's own, set when a study begins: with another content it is another run

    def __post_init__(self) -> None:
        at_least(self, 1, "characters", "words")
        at_least(self, 2, "length")

    def unused(self) -> dict[str, str]:
        own = self.text not in ("text8", "bundled")
        return {} if own else {"outside": "it is for a file of your own. Set 'text' to one."}

    def resolved(self) -> AutocompleteTask:
        """With the checksum of a file of one's own."""
        own = self.text not in ("text8", "bundled")
        return replace(self, checksum=self._text().sha256[:16]) if own else self

    def _text(self) -> Text:
        return load_text(self.text, self.characters, self.outside)

    def observations(self) -> Observations:
        """The prepared text; kept, so that asking again costs nothing."""
        return _prepared(self)


@functools.lru_cache(maxsize=1)
def _prepared(task: AutocompleteTask) -> Observations:
    text = task._text()
    if task.checksum and not text.sha256.startswith(task.checksum):
        raise UsageError(f"{task.text} has changed since this run began. Start a new one.")
    return prepare(text, task.length, task.words)


def prepare(text: Text, length: int, words: int) -> Observations:
    """A clean text as observations of at most ``length`` characters with the ``words`` most frequent words."""
    content = b" " + text.content
    characters = numbers(content)
    indexed = index_words(characters, words)
    if indexed.distinct < words:
        raise UsageError(
            f"The text ({text.origin}) has {indexed.distinct} different words; a vocabulary of {words} needs as many. "
            f"Take words={indexed.distinct} or fewer, or a longer text."
        )
    starts = _pack(content, length)
    if len(starts) <= 20:
        raise UsageError(
            f"The text ({text.origin}) has {len(starts) - 1} observations of {length} characters: too few for a split "
            "of 90, 5 and 5 percent, which needs 20. Take a longer text or a smaller length."
        )
    order = np.random.RandomState(SOURCE_SEED).permutation(words)  # vocabulary number i is the word order[i]
    place = np.empty(words + 1, np.uint32)
    place[order], place[words] = np.arange(words) + len(WORDS_BEFORE), UNKNOWN
    targets = place[indexed.ranks]
    return Observations(
        characters, targets, starts, np.searchsorted(indexed.starts, starts[:-1]),
        (*WORDS_BEFORE, *(indexed.words[rank] for rank in order)),
        np.bincount(targets, minlength=words + len(WORDS_BEFORE)),
        indexed.distinct, text.origin, text.sha256, text.note,
    )  # fmt: skip


def _pack(content: bytes, length: int) -> NDArray[np.int64]:
    """Where observations begin, and the end: from each the last space that ends a word within ``length``."""
    starts, place, end = [0], 0, len(content)
    while end - place > length:
        place = content.rfind(b" ", place, place + length + 1)
        if place == starts[-1]:
            word = content[place + 1 :].split(b" ", 1)[0].decode()
            raise UsageError(
                f"The word {word[:20] + '...'!r} has {len(word)} letters: it does not fit into {length} characters "
                "with the space before it. Take it out, or raise 'length'."
            )
        starts.append(place)
    return np.array([*starts, end])


_order = functools.lru_cache(maxsize=16)(epoch_order)  # of seeds that are trained together
