"""What a program's output owes to each symbol, from the program alone: every set of symbols is tried.

v(S) is the explained output with all positions outside S no-ops. Of it come the exact Shapley values and interaction
indices, what spans do alone and removed, the positions that decide (*used*: the union of the minimal sets that keep the
output whatever else is there) and those that never matter (*dummy*).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rote.court.program import NOTHING, Automaton, Program, Strings, as_program
from rote.errors import UsageError

LONGEST = 12


@dataclass(frozen=True)
class Truth:
    """Of every string; ``worth`` is v of all sets, the bits of a set's number are its positions."""

    program: str
    tokens: np.ndarray  # [string, time]
    targets: np.ndarray  # [string]: which output is explained
    worth: np.ndarray  # [string, set]
    shapley: np.ndarray  # [string, time]
    interactions: np.ndarray  # [string, time, time]: pairwise Shapley interaction indices
    used: np.ndarray  # bool [string, time]: in some minimal set that decides the output
    dummy: np.ndarray  # bool [string, time]: adds nothing to any set

    @property
    def total(self) -> np.ndarray:
        """What all symbols do together, [string]."""
        return np.asarray(self.worth[:, -1] - self.worth[:, 0])

    def alone(self, spans: np.ndarray) -> np.ndarray:
        """[string, span] for spans bool [string, span, time]."""
        return np.asarray(self._of(spans) - self.worth[:, :1])

    def removed(self, spans: np.ndarray) -> np.ndarray:
        return np.asarray(self.worth[:, -1:] - self._of(~spans))

    def two(self, spans: np.ndarray) -> np.ndarray:
        """The mean of both: each span's Shapley value against the rest as one."""
        return np.asarray((self.alone(spans) + self.removed(spans)) / 2)

    def _of(self, sets: np.ndarray) -> np.ndarray:
        numbers = (sets * 2 ** np.arange(self.tokens.shape[1])).sum(-1)
        return np.take_along_axis(self.worth, numbers, 1)


def truth(program: str | Program, strings: Strings, target: int | None = None, absent: str = "nothing") -> Truth:
    """The truth about one output after the last symbol; by default the largest one.

    absent="redrawn": a symbol outside a set is drawn anew, each as likely, in place of a no-op; automata only.
    """
    program = as_program(program)
    tokens = program.encode(strings)
    if tokens.shape[1] > LONGEST:
        raise UsageError(f"The truth is enumerated for strings of at most {LONGEST} symbols. Got {tokens.shape[1]}.")
    if absent not in ("nothing", "redrawn"):
        raise UsageError(f"'absent' must be 'nothing' or 'redrawn'. Got {absent!r}.")
    count = len(program.outputs)
    if target is not None and not 0 <= target < count:
        raise UsageError(f"'target' must lie in 0 to {count - 1}, the outputs of {program.name!r}. Got {target}.")
    ends = program.values(tokens)[:, -1]
    targets = ends.argmax(1) if target is None else np.full(len(tokens), target)
    worth = _nothing(program, tokens, targets) if absent == "nothing" else _redrawn(program, tokens, targets)
    return of_worth(program.name, tokens, targets, worth)


def of_worth(
    program: str, tokens: np.ndarray, targets: np.ndarray, worth: np.ndarray, used: np.ndarray | None = None
) -> Truth:
    """From v of all sets; ``used`` where it is known from elsewhere, as for a trained network."""
    single, pairs, dummy = _shares(worth)
    return Truth(program, tokens, targets, worth, single, pairs, _used(worth) if used is None else used, dummy)


def sets_of(positions: int) -> np.ndarray:
    """bool [set, position]."""
    return np.asarray((np.arange(2**positions)[:, None] >> np.arange(positions)) & 1 == 1)


def _nothing(program: Program, tokens: np.ndarray, targets: np.ndarray) -> np.ndarray:
    kept = sets_of(tokens.shape[1])
    every = np.where(kept, tokens[:, None], NOTHING).reshape(-1, tokens.shape[1])  # one batch of all sets
    ends = program.values(every)[:, -1].reshape(len(tokens), len(kept), -1)
    return np.take_along_axis(ends, targets[:, None, None], 2)[..., 0]


def _redrawn(program: Program, tokens: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """The state is a Markov chain: its distribution is carried, so that the mean over all drawn symbols is exact."""
    if not isinstance(program, Automaton):
        raise UsageError(f"absent='redrawn' is for automata. {program.name!r} is none.")
    size, kept = len(program.states), sets_of(tokens.shape[1])
    each = np.eye(size)[np.array(program.moves)].transpose(1, 0, 2)  # symbol, state, next state
    steps = np.concatenate([each, each.mean(0, keepdims=True)])
    chance = np.zeros((len(tokens), len(kept), size))
    chance[..., 0] = 1
    for step in range(tokens.shape[1]):
        own = np.where(kept[:, step], tokens[:, step, None], len(each))
        chance = np.einsum("npq,npqr->npr", chance, steps[own])
    ends = chance @ np.array(program.says)
    return np.take_along_axis(ends, targets[:, None, None], 2)[..., 0]


def _shares(worth: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Shapley values, interaction indices, and which positions never add anything."""
    strings, n = len(worth), int(worth.shape[1]).bit_length() - 1
    sizes, fact = sets_of(n).sum(1), math.factorial
    one = np.array([fact(s) * fact(n - s - 1) / fact(n) for s in range(n)])
    two = np.array([fact(s) * fact(n - s - 2) / fact(n - 1) for s in range(n - 1)])
    single, pairs, dummy = np.zeros((strings, n)), np.zeros((strings, n, n)), np.zeros((strings, n), dtype=bool)
    for i in range(n):
        gain, size = _gains(worth, sizes, i)
        single[:, i] = gain @ one[size]
        dummy[:, i] = (np.abs(gain) < 1e-9).all(1)
        for j in range(i):
            change, rest = _gains(gain, size, j)
            pairs[:, i, j] = pairs[:, j, i] = change @ two[rest]
    return single, pairs, dummy


def _gains(worth: np.ndarray, sizes: np.ndarray, bit: int) -> tuple[np.ndarray, np.ndarray]:
    paired = worth.reshape(len(worth), -1, 2, 2**bit)
    gain = (paired[:, :, 1] - paired[:, :, 0]).reshape(len(worth), -1)
    return gain, sizes.reshape(-1, 2, 2**bit)[:, 0].ravel()


def _used(worth: np.ndarray) -> np.ndarray:
    strings, n = len(worth), int(worth.shape[1]).bit_length() - 1
    enough = np.abs(worth - worth[:, -1:]) < 1e-9
    for bit in range(n):  # a set is enough if it keeps the output together with whatever else
        paired = enough.reshape(strings, -1, 2, 2**bit)
        paired[:, :, 0] &= paired[:, :, 1]
    smallest = enough.copy()
    for bit in range(n):
        paired, least = (array.reshape(strings, -1, 2, 2**bit) for array in (enough, smallest))
        least[:, :, 1] &= ~paired[:, :, 0]
    used: np.ndarray = (smallest[:, :, None] & sets_of(n)).any(1)
    return used
