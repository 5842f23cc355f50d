"""Pairs of handwritten digits: source 001, section 5.1.

Two images side by side; the class is that of the left one, Y = Y1. Setting A ("redundant"): in training the right one
is Y or Y + 1 (modulo 10), so it tells much of the class although the left one tells all of it. Setting B ("random"):
the right one is any digit. The test is the same for both: the right one is Y + 2, ..., Y + 9, combinations that setting
A never shows. Training pairs are made of training images, test pairs of test images.

Ours, beyond the source: noise on the right image in training, as a remedy. All settings give a seed the same left
images and classes at each step.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rote.config import at_least
from rote.errors import UsageError
from rote.tasks.task import tasks

Setting = Literal["redundant", "random"]
CLASSES = 10
TRAIN, SEEN, HELD_OUT, CROSSED = range(4)  # streams of random numbers


@dataclass(frozen=True)
class DigitImages:
    """Images of single digits."""

    images: NDArray[np.float32]  # [image, height, width], 0 (paper) to 1 (ink)
    labels: NDArray[np.int64]  # [image]

    def __post_init__(self) -> None:
        if self.images.ndim != 3 or self.labels.shape != self.images.shape[:1]:
            raise UsageError(
                "'images' must be [image, height, width] with one of 'labels' each. "
                f"Got {self.images.shape} and {self.labels.shape}."
            )
        wrong = np.flatnonzero((self.labels < 0) | (self.labels >= CLASSES))
        if len(wrong):
            raise UsageError(f"'labels' must be digits from 0 to 9. Got {self.labels[wrong[0]]} at image {wrong[0]}.")
        lacking = sorted(set(range(CLASSES)) - set(self.labels.tolist()))
        if lacking:
            raise UsageError(f"Each digit needs at least one image. There is none of {', '.join(map(str, lacking))}.")

    def of_class(self, labels: NDArray[np.int64], chance: NDArray[np.float64]) -> NDArray[np.float32]:
        """For each label one of its images, chosen by a number in [0, 1)."""
        order, first, counts = self._by_class
        return self.images[order[first[labels] + (chance * counts[labels]).astype(np.int64)]]

    def shrunk(self, side: int) -> DigitImages:
        """Averaged over squares of pixels, to ``side`` pixels in height; smaller images stay as they are. Asked again,
        it is the same object."""
        height = self.images.shape[1]
        if height <= side:
            return self
        if height % side:
            raise UsageError(f"'side' must divide the {height} pixels of an image. Got {side}.")
        if side not in self._shrunk:
            factor = height // side
            blocks = self.images.reshape(len(self.images), side, factor, -1, factor)
            self._shrunk[side] = DigitImages(blocks.mean((2, 4), dtype=np.float32), self.labels)
        return self._shrunk[side]

    @functools.cached_property
    def _shrunk(self) -> dict[int, DigitImages]:
        """By side: every training of a study asks for the same."""
        return {}

    @functools.cached_property
    def _by_class(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """The images by class, where each class begins among them, and how many it has."""
        counts = np.bincount(self.labels, minlength=CLASSES)
        return np.argsort(self.labels, kind="stable"), np.cumsum(counts) - counts, counts


@dataclass(frozen=True)
class Pairs:
    left: NDArray[np.float32]  # [pair, height, width]
    right: NDArray[np.float32]
    labels: NDArray[np.int64]  # [pair]: of the left image
    right_labels: NDArray[np.int64]

    @property
    def images(self) -> NDArray[np.float32]:
        """Side by side, [pair, height, 2 * width]."""
        return np.concatenate([self.left, self.right], axis=2)


@tasks.register("digits")
@dataclass(frozen=True)
class DigitsTask:
    """Name the left one of two digits when the right one tells much of it in training and nothing in the test."""

    setting: Setting = "redundant"
    noise: float = 0.0  # standard deviation of what is added to the right image in training; ink is 1

    def __post_init__(self) -> None:
        at_least(self, 0, "noise")

    def training(self, digits: DigitImages, seed: int, step: int, batch: int) -> Pairs:
        """Batch number ``step`` of a seed, any of them on its own."""
        random = np.random.default_rng((seed, TRAIN, step))
        pairs = self._draw(digits, random, batch)
        if not self.noise:
            return pairs
        added = self.noise * random.standard_normal(pairs.right.shape, dtype=np.float32)
        return Pairs(pairs.left, pairs.right + added, pairs.labels, pairs.right_labels)

    def seen(self, digits: DigitImages, seed: int, pairs: int) -> Pairs:
        """Other pairs of the training distribution, without noise."""
        return self._draw(digits, np.random.default_rng((seed, SEEN)), pairs)

    def held_out(self, digits: DigitImages, seed: int, pairs: int) -> Pairs:
        """The test: combinations of labels that setting A does not show. The same for all settings."""
        random = np.random.default_rng((seed, HELD_OUT))
        labels, chance = random.integers(0, CLASSES, pairs), random.random((2, pairs))
        right = (labels + random.integers(2, CLASSES, pairs)) % CLASSES
        return _pairs(digits, labels, right, chance)

    def _draw(self, digits: DigitImages, random: np.random.Generator, pairs: int) -> Pairs:
        labels, chance = random.integers(0, CLASSES, pairs), random.random((2, pairs))
        if self.setting == "redundant":
            right = (labels + random.integers(0, 2, pairs)) % CLASSES
        else:
            right = random.integers(0, CLASSES, pairs)
        return _pairs(digits, labels, right, chance)


def single_digits(digits: DigitImages, seed: int, each: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Left and right images to combine freely: ``each`` of every class on either side, other ones for other seeds."""
    labels = np.repeat(np.arange(CLASSES), each)
    left, right = np.random.default_rng((seed, CROSSED)).random((2, len(labels)))
    return digits.of_class(labels, left), digits.of_class(labels, right)


def _pairs(
    digits: DigitImages, labels: NDArray[np.int64], right: NDArray[np.int64], chance: NDArray[np.float64]
) -> Pairs:
    return Pairs(digits.of_class(labels, chance[0]), digits.of_class(right, chance[1]), labels, right)
