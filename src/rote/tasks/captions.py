"""Pictures of one or two handwritten digits, and what is on them in words: one to many, source 004, "Using RNNs".

    three .     three left of seven .     three above seven .

A picture has four places. One digit stands in any of them, two stand beside or above each other. The pairs whose
difference (second minus first, modulo 10) is among ``held`` of the ten, drawn by the seed, are never shown in training,
in neither relation: every digit is seen in every place, these two never together. Training pictures are made of
training images, test pictures of test images.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rote.config import at_least
from rote.errors import SettingError
from rote.tasks.digits import CLASSES, DigitImages
from rote.tasks.task import tasks

Which = Literal["seen", "held-out"]
END, PAD = 0, -1
DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
WORDS = (".", *DIGITS, "left", "of", "above")
LEFT, OF, ABOVE = (WORDS.index(word) for word in ("left", "of", "above"))
RELATIONS = ("alone", "left", "above")
LONGEST = 5  # words, the end included
ALONE = 0.2  # share of pictures with one digit
TRAIN, TEST, HELD = 0, 1, 2  # streams of random numbers


@dataclass(frozen=True)
class Captioned:
    images: NDArray[np.float32]  # [picture, height, width]
    captions: NDArray[np.int64]  # [picture, word], padded with -1
    relation: NDArray[np.int64]  # [picture]: of RELATIONS


@tasks.register("captions")
@dataclass(frozen=True)
class CaptionsTask:
    """Say in words which digits are on a picture, and how they stand to each other."""

    held: int = 2  # of the ten differences between two digits, never shown in training

    def __post_init__(self) -> None:
        at_least(self, 1, "held")
        if self.held >= CLASSES:
            raise SettingError("held", f"must leave one of the {CLASSES} differences for training. Got {self.held}.")

    def held_out(self, seed: int) -> NDArray[np.int64]:
        """The differences of the pairs that a seed's networks never see. With more of them, those of fewer stay."""
        return np.random.default_rng((seed, HELD)).permutation(CLASSES)[: self.held]

    def training(self, digits: DigitImages, seed: int, step: int, batch: int) -> Captioned:
        """Batch number ``step`` of a seed, any of them on its own."""
        return self._draw(digits, np.random.default_rng((seed, TRAIN, step)), batch, self._shown(seed), ALONE)

    def test(self, digits: DigitImages, seed: int, which: Which, count: int) -> Captioned:
        """Pictures of two digits: of pairs that training shows, or that it does not."""
        random = np.random.default_rng((seed, TEST, int(which == "seen")))
        differences = self._shown(seed) if which == "seen" else self.held_out(seed)
        return self._draw(digits, random, count, differences, 0.0)

    def _shown(self, seed: int) -> NDArray[np.int64]:
        return np.setdiff1d(np.arange(CLASSES), self.held_out(seed))

    def _draw(
        self, digits: DigitImages, random: np.random.Generator, count: int, differences: NDArray[np.int64], alone: float
    ) -> Captioned:
        relation = np.where(random.random(count) < alone, 0, random.integers(1, len(RELATIONS), count))
        first = random.integers(0, CLASSES, count)
        second = (first + differences[random.integers(0, len(differences), count)]) % CLASSES
        images = self._pictures(digits, random, first, second, relation)
        return Captioned(images, captions(first, second, relation), relation)

    def _pictures(
        self, digits: DigitImages, random: np.random.Generator, first: NDArray[np.int64], second: NDArray[np.int64],
        relation: NDArray[np.int64],
    ) -> NDArray[np.float32]:  # fmt: skip
        chance, (row, column) = random.random((2, len(first))), random.integers(0, 2, (2, len(first)))
        row, column = np.where(relation == 2, 0, row), np.where(relation == 1, 0, column)  # the first of two
        rows, height, width = np.arange(len(first)), *digits.images.shape[1:]
        places = np.zeros((len(first), 2, 2, height, width), dtype=np.float32)
        places[rows, row, column] = digits.of_class(first, chance[0])
        two = np.flatnonzero(relation)
        below, right = (relation == 2)[two], (relation == 1)[two]
        places[two, row[two] + below, column[two] + right] = digits.of_class(second, chance[1])[two]
        return places.transpose(0, 1, 3, 2, 4).reshape(len(first), 2 * height, 2 * width)


def captions(
    first: NDArray[np.int64], second: NDArray[np.int64], relation: NDArray[np.int64]
) -> NDArray[np.int64]:  # fmt: skip
    """What is said of these digits, [picture, word]."""
    said = np.full((len(first), LONGEST), PAD, dtype=np.int64)
    said[:, 0] = 1 + first
    said[relation == 0, 1] = END
    for number, words in ((1, (LEFT, OF)), (2, (ABOVE,))):
        rows = np.flatnonzero(relation == number)
        end = 1 + len(words)
        said[rows[:, None], np.arange(1, end)] = words
        said[rows, end], said[rows, end + 1 :] = 1 + second[rows], PAD
        said[rows, end + 1] = END
    return said


def spoken(caption: NDArray[np.int64]) -> str:
    """A caption in words, up to its end."""
    words = [int(word) for word in caption if word >= 0]
    return " ".join(WORDS[word] for word in words[: words.index(END) if END in words else None])
