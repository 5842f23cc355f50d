"""SCAN as numbers, with the settings of source 001, section 5.2 and appendix B: what a model is trained and tested on.

A command is its number in ``scan.commands()``; it is a template, such as ``_ left and turn right``, with action words
in its places. The settings:

original    A: the split's own lines
random      B, as in section 5.2: every action word of a training line is drawn anew from the four, at each use
replaced    B as in appendix B: each ``jump``, in training and test, becomes one of the other three, at each use.
            Of the jump split the test then has commands of training only.

All settings give a seed the same lines at each step; a line's length does not depend on its action words.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rote.config import at_least
from rote.tasks import scan
from rote.tasks.scan import ACTION_WORDS, SplitName
from rote.tasks.task import tasks

Setting = Literal["original", "random", "replaced"]
Numbers = NDArray[np.int64]

COMMAND_WORDS = (*ACTION_WORDS, "turn", "left", "right", "opposite", "around", "twice", "thrice", "and", "after")
ACTIONS = (*(f"I_{word.upper()}" for word in ACTION_WORDS), "I_TURN_LEFT", "I_TURN_RIGHT")
END = len(ACTIONS)  # ends the actions, and is what a decoder is fed first
JUMP = ACTION_WORDS.index("jump")
NONE = -1
TRAIN, TEST, SAMPLE = 0, 1, 2  # streams of random numbers


@dataclass(frozen=True)
class Encoded:
    """All commands; rows are as in ``scan.commands()``, behind their length is padding (0)."""

    inputs: Numbers  # [command, 9]: numbers of COMMAND_WORDS
    input_lengths: Numbers
    outputs: Numbers  # [command, 49]: numbers of ACTIONS, then END
    output_lengths: Numbers  # with END


@dataclass(frozen=True)
class Templates:
    """Which command is which template with which action words."""

    names: tuple[str, ...]
    template: Numbers  # [command]
    words: Numbers  # [command, 2]: numbers of the action words, NONE where there is no first or second one
    commands: Numbers  # [template, 4, 4]: the command with these action words; one that has no place is ignored


@tasks.register("scan")
@dataclass(frozen=True)
class ScanTask:
    """Turn commands into actions when a word, a length or a turn of phrase was never seen in training."""

    split: SplitName = "addprim_jump"
    setting: Setting = "original"
    seed: int = 0  # draws the split 'simple'

    def __post_init__(self) -> None:
        at_least(self, 0, "seed")

    def training(self, seed: int, block: int, steps: int, batch: int) -> Numbers:
        """Batches ``block * steps`` to ``(block + 1) * steps - 1``, drawn with replacement: [steps, batch]."""
        return self._draw(np.random.default_rng((seed, TRAIN, block)), (steps, batch))[1]

    def training_sample(self, seed: int, size: int) -> tuple[Numbers, NDArray[np.bool_]]:
        """As in training but never used there; and which lines are copies of the command that is added alone."""
        lines, drawn = self._draw(np.random.default_rng((seed, SAMPLE)), (size,))
        return drawn, np.bincount(self.lines()[0])[lines] > 1

    def test(self, seed: int, size: int | None = None) -> Numbers:
        """Test commands, all or a draw without replacement."""
        test = self.lines()[1]
        random = np.random.default_rng((seed, TEST))
        chosen = test if size is None or size >= len(test) else np.sort(random.choice(test, size, replace=False))
        if self.setting == "replaced":
            chosen = self._with_words(chosen, random.integers(0, 12, (len(chosen), 2)))
        return chosen

    def lines(self) -> tuple[Numbers, Numbers]:
        """The lines of training and test, as in the official files."""
        return _lines(self.split, self.seed)

    def _draw(self, random: np.random.Generator, shape: tuple[int, ...]) -> tuple[Numbers, Numbers]:
        """Training lines, and what the setting makes of them."""
        train = self.lines()[0]
        lines = train[random.integers(0, len(train), shape)]
        return lines, self._with_words(lines, random.integers(0, 12, (*shape, 2)))

    def _with_words(self, chosen: Numbers, draw: Numbers) -> Numbers:
        """``draw``: twelve equally likely numbers, because there are four action words, or three others."""
        if self.setting == "original":
            return chosen
        found = templates()
        words = draw % 4 if self.setting == "random" else found.words[chosen]
        if self.setting == "replaced":
            words = np.where(words == JUMP, draw % JUMP, words)
        return found.commands[found.template[chosen], words[..., 0], words[..., 1]]


@cache
def encoded() -> Encoded:
    word, action = ({symbol: number for number, symbol in enumerate(symbols)} for symbols in (COMMAND_WORDS, ACTIONS))
    pairs = scan.commands()
    inputs, input_lengths = _padded([[word[symbol] for symbol in command.split()] for command, _ in pairs])
    outputs, output_lengths = _padded([[*(action[symbol] for symbol in text.split()), END] for _, text in pairs])
    return Encoded(inputs, input_lengths, outputs, output_lengths)


@cache
def templates() -> Templates:
    rows, words, numbers = [], [], {}
    for command, _ in scan.commands():
        parts = command.split()
        found = [ACTION_WORDS.index(part) for part in parts if part in ACTION_WORDS]
        rows.append(" ".join("_" if part in ACTION_WORDS else part for part in parts))
        words.append((*found, NONE, NONE)[:2])
        numbers[rows[-1], words[-1]] = len(rows) - 1
    names = tuple(dict.fromkeys(rows))
    number = {name: place for place, name in enumerate(names)}
    table = np.empty((len(names), 4, 4), dtype=np.int64)
    for name, row in zip(names, table, strict=True):
        places = name.split().count("_")
        for first in range(4):
            for second in range(4):
                row[first, second] = numbers[name, (*(first, second)[:places], NONE, NONE)[:2]]
    return Templates(names, np.array([number[row] for row in rows]), np.array(words), table)


@cache
def _lines(split: SplitName, seed: int) -> tuple[Numbers, Numbers]:
    number = {command: place for place, (command, _) in enumerate(scan.commands())}
    train, test = ([number[command] for command, _ in part] for part in scan.split(split, seed))
    return np.array(train), np.array(test)


def _padded(rows: list[list[int]]) -> tuple[Numbers, Numbers]:
    lengths = np.array([len(row) for row in rows])
    padded = np.zeros((len(rows), lengths.max()), dtype=np.int64)
    for place, row in enumerate(rows):
        padded[place, : len(row)] = row
    return padded, lengths
