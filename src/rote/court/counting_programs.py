"""Programs that add up: parity, sums modulo three, brackets that close, brackets that are counted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rote.court.program import Automaton, Program, automaton, programs


@programs.register("parity")
def parity() -> Automaton:
    """Whether the number of ones is odd."""
    states = {"even": {"0": "even", "1": "odd"}, "odd": {"0": "odd", "1": "even"}}
    return automaton(states, {"even": 0.0, "odd": 1.0}, start="even", name="parity", about="1 if the ones are odd")


@programs.register("mod3")
def mod3() -> Automaton:
    """The sum of the digits modulo three."""
    states = {str(sum_): {str(digit): str((sum_ + digit) % 3) for digit in range(3)} for sum_ in range(3)}
    says = {"0": (1.0, 0.0, 0.0), "1": (0.0, 1.0, 0.0), "2": (0.0, 0.0, 1.0)}
    return automaton(states, says, start="0", name="mod3", about="which of three the sum of the digits leaves")


@programs.register("brackets")
def brackets() -> Automaton:
    """Whether all brackets are closed, three deep at most."""
    depths = [str(depth) for depth in range(4)]
    states = {
        depth: {
            "(": depths[index + 1] if index < 3 else "broken",
            ")": depths[index - 1] if index else "broken",
            ".": depth,
        }
        for index, depth in enumerate(depths)
    }
    states["broken"] = dict.fromkeys("().", "broken")
    says = {**dict.fromkeys((*depths, "broken"), 0.0), "0": 1.0}
    return automaton(states, says, start="0", name="brackets", about="1 if every bracket is closed, else 0")


@dataclass(frozen=True)
class Counter(Program):
    """Counts without an end, so that it is no finite automaton."""

    steps: tuple[int, ...] = (1, -1, 0)  # by symbol

    def values(self, tokens: np.ndarray) -> np.ndarray:
        tokens = self._checked(tokens)
        return np.asarray(np.array([*self.steps, 0.0])[tokens].cumsum(1)[..., None])

    @property
    def empty(self) -> np.ndarray:
        return np.zeros(1)


@programs.register("counter")
def counter() -> Counter:
    """Open symbols minus close symbols, without an end."""
    return Counter("counter", "open symbols minus close symbols", ("(", ")", "."), ("output",))
