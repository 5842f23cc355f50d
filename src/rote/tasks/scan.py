"""SCAN: commands and the actions they ask for (Lake and Baroni 2018); source 001, section 5.2 and appendix B.

A phrase is an action word, alone or with a direction, or ``turn`` with one; a sentence is a phrase, said once, twice or
thrice; a command is a sentence or two of them. 34 phrases, 102 sentences, 20,910 commands:

left          turn left, then act             jump left             I_TURN_LEFT I_JUMP
opposite      turn twice, then act            jump opposite left    I_TURN_LEFT I_TURN_LEFT I_JUMP
around        turn and act, four times        turn around left      I_TURN_LEFT I_TURN_LEFT I_TURN_LEFT I_TURN_LEFT
and, after    in this order, in the other     jump after walk       I_WALK I_JUMP

Table 1 of source 001 joins sentences with ``before``, which the grammar does not have: its two commands are refused
here. What they ask for is what SCAN says with ``and``.

The splits of the official files (github.com/brendenlake/SCAN), with their numbers of training and test lines:

simple                        16,728  4,182   a random fifth is for the test: a draw of ours, not the official one
length                        16,990  3,920   training has up to 22 actions
addprim_jump                  14,670  7,706   of the commands with ``jump`` training has that word alone, 1,467 times
addprim_turn_left             21,890  1,208   likewise ``turn left``, 2,189 times; only as this phrase
template_around_right         15,225  4,476   test: an action word with ``around right``. Commands with ``turn around
template_opposite_right       15,225  4,476   right`` are in neither, as in the official files; and so for the other
template_right                15,225  4,476   two, with ``opposite right`` and with ``right`` directly
template_jump_around_right    18,528  1,173   test: ``jump around right``; ``turn around right`` is in neither
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Literal, get_args

import numpy as np

from rote.errors import UnknownNameError, UsageError

SplitName = Literal[
    "simple",
    "length",
    "addprim_jump",
    "addprim_turn_left",
    "template_around_right",
    "template_opposite_right",
    "template_right",
    "template_jump_around_right",
]
Pair = tuple[str, str]  # command, actions

ACTION_WORDS = ("walk", "look", "run", "jump")
DIRECTIONS = ("left", "right")
TIMES = {"twice": 2, "thrice": 3}
LONGEST_TRAINING = 22  # actions, of the split by length
TEST_SHARE = 5  # one in so many commands of the simple split


def interpret(command: str) -> str:
    """The actions of a command: ``interpret("jump left") == "I_TURN_LEFT I_JUMP"``."""
    words = _Words(command)
    first = _sentence(words)
    joined = words.take("and", "after", optional=True)
    second = _sentence(words) if joined else []
    words.end()
    return " ".join(second + first if joined == "after" else first + second)


def commands() -> list[Pair]:
    """All 20,910 commands with their actions."""
    return list(_all_commands())


def split(name: str, seed: int = 0) -> tuple[list[Pair], list[Pair]]:
    """Training and test lines of an official split; ``seed`` draws the split ``simple`` and changes no other."""
    if name not in get_args(SplitName):
        raise UnknownNameError("split", name, get_args(SplitName))
    if name == "simple":
        return _simple(seed)
    if name == "length":
        return _parted(lambda command, actions: len(actions.split()) > LONGEST_TRAINING)
    kind, _, rest = name.partition("_")
    phrase = rest.replace("_", " ")
    if kind == "addprim":
        return _with_alone(phrase)
    held_out = [phrase] if phrase.startswith("jump") else [f"{word} {phrase}" for word in ACTION_WORDS]
    left_out = f"turn {phrase.removeprefix('jump ')}"
    return _parted(lambda command, _: any(held in command for held in held_out), lambda command: left_out in command)


class _Words:
    """The words of a command, read from the left; remembers what could have stood where it is."""

    def __init__(self, command: str) -> None:
        self.command, self.words, self.place = command, command.split(), 0
        self.expected: list[str] = []

    def take(self, *expected: str, optional: bool = False) -> str:
        """The next word if it is one of those expected; else nothing where that is allowed."""
        self.expected += expected
        if self.place < len(self.words) and self.words[self.place] in expected:
            self.place, self.expected = self.place + 1, []
            return self.words[self.place - 1]
        if optional:
            return ""
        raise self._refusal()

    def end(self) -> None:
        if self.place < len(self.words):
            self.expected.append("the end")
            raise self._refusal()

    def _refusal(self) -> UsageError:
        number, expected = self.place + 1, ", ".join(self.expected)
        if self.place == len(self.words):
            return UsageError(f"The command {self.command!r} ends before its word {number}. Expected: {expected}.")
        return UsageError(
            f"{self.words[self.place]!r}, word {number} of the command {self.command!r}, is outside SCAN's grammar. "
            f"Expected: {expected}."
        )


def _sentence(words: _Words) -> list[str]:
    phrase = _phrase(words)
    return phrase * TIMES.get(words.take(*TIMES, optional=True), 1)


def _phrase(words: _Words) -> list[str]:
    verb = words.take(*ACTION_WORDS, "turn")
    act = [] if verb == "turn" else [f"I_{verb.upper()}"]
    manner = words.take("opposite", "around", optional=True)
    direction = words.take(*DIRECTIONS, optional=verb != "turn" and not manner)
    if not direction:
        return act
    turn = [f"I_TURN_{direction.upper()}"]
    return {"": turn + act, "opposite": turn * 2 + act, "around": (turn + act) * 4}[manner]


@cache
def _all_commands() -> tuple[Pair, ...]:
    manners = [f"{manner}{direction}" for manner in ("", "opposite ", "around ") for direction in DIRECTIONS]
    phrases = [*ACTION_WORDS, *(f"{verb} {manner}" for verb in (*ACTION_WORDS, "turn") for manner in manners)]
    sentences = [" ".join((phrase, *times)) for phrase in phrases for times in ((), *((word,) for word in TIMES))]
    joined = [f"{first} {word} {second}" for first in sentences for word in ("and", "after") for second in sentences]
    return tuple((command, interpret(command)) for command in (*sentences, *joined))


def _parted(
    tests: Callable[[str, str], bool], left_out: Callable[[str], bool] = lambda command: False
) -> tuple[list[Pair], list[Pair]]:
    kept = [pair for pair in _all_commands() if not left_out(pair[0])]
    return [pair for pair in kept if not tests(*pair)], [pair for pair in kept if tests(*pair)]


def _with_alone(phrase: str) -> tuple[list[Pair], list[Pair]]:
    """Training has the phrase alone only, as a tenth of its lines."""
    train, test = _parted(lambda command, _: phrase in command)
    alone = (phrase, interpret(phrase))
    test.remove(alone)
    return train + [alone] * (len(train) // 9), test


def _simple(seed: int) -> tuple[list[Pair], list[Pair]]:
    pairs = _all_commands()
    order = np.random.default_rng(seed).permutation(len(pairs))
    tested = set(order[: len(pairs) // TEST_SHARE].tolist())
    parts: tuple[list[Pair], list[Pair]] = ([], [])
    for place, pair in enumerate(pairs):
        parts[place in tested].append(pair)
    return parts
