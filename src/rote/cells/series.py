"""Values at every step that are known, or linear in states that are not known yet: what ``over_time`` computes with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from torch import Tensor

from rote.cells.arithmetic import NoTensor, Readings
from rote.cells.matrix_memory import Chunks
from rote.cells.replaced_memory import Replaced

Number = Tensor | float
Written = Chunks | Replaced  # a memory of matrices at every step


@dataclass
class Series(NoTensor):
    """offset + the sum of slope * old state, at every step; ``lost`` where it is anything else."""

    offset: Number
    slopes: dict[int, Number] = field(default_factory=dict)
    lost: bool = False
    old: int | None = None  # the state that this is, as it was before the step

    @property
    def known(self) -> bool:
        return isinstance(self.offset, Tensor) and not self.slopes and not self.lost

    def __add__(self, other: Series) -> Series:
        slopes = dict(self.slopes)
        for state, slope in other.slopes.items():
            slopes[state] = slopes[state] + slope if state in slopes else slope
        return Series(added(self.offset, other.offset), slopes, self.lost or other.lost)

    def __sub__(self, other: Series) -> Series:
        return self + -other

    def __neg__(self) -> Series:
        return self.times(-1.0)

    def __rsub__(self, one: float) -> Series:
        return Series(one) + -self

    def times(self, factor: Number) -> Series:
        slopes = {state: multiplied(slope, factor) for state, slope in self.slopes.items()}
        return Series(multiplied(self.offset, factor), slopes, self.lost)


LOST = Series(0.0, lost=True)


@dataclass
class Memory(Series):
    """A memory of matrices that is written at every step: to be read, and for nothing else."""

    state: int = 0
    chunks: Written | None = None
    readings: Callable[[Tensor], Readings] | None = None  # by queries


@dataclass
class Highest(Series):
    """The larger of an old state plus something known, and something known: what is known, of a state of its own."""

    state: int = 0
    added: Number = 0.0
    other: Tensor | None = None


def old_state(value: Series) -> int | None:
    """Which state a value is the old one of, plus something known; None if it is anything else."""
    if value.lost or len(value.slopes) != 1:
        return None
    ((state, slope),) = value.slopes.items()
    return state if isinstance(slope, float) and slope == 1.0 else None


def tensor(value: Series) -> Tensor:
    assert isinstance(value.offset, Tensor)
    return value.offset


def absent(number: Number) -> bool:
    return isinstance(number, float) and number == 0.0


def added(a: Number, b: Number) -> Number:
    if absent(a):
        return b
    return a if absent(b) else a + b


def multiplied(a: Number, b: Number) -> Number:
    if absent(a) or absent(b):
        return 0.0
    if isinstance(a, float) and a == 1.0:
        return b
    return a if isinstance(b, float) and b == 1.0 else a * b
