"""What a module reads from all steps, as cells: the mean, the sum or the largest of them, the first, a convolution.

At each step they have what the module would have read if the sequence ended there.
"""

from __future__ import annotations

from abc import abstractmethod

from torch import Tensor

from rote.cells.arithmetic import Arithmetic, V, repeated
from rote.cells.cell import Cell


class Growing(Cell):
    """A cell whose states have room for a number of steps, and which can be made with room for more."""

    @abstractmethod
    def for_steps(self, steps: int) -> Growing:
        """With the same weights and room for so many steps; itself if it has that."""


class OverSteps(Cell):
    """A cell without weights: its input is the vector itself."""

    row_groups = (1,)
    gate_names = ()
    recurrent_matrix = False

    one: Tensor

    def __init__(self, size: int, like: Tensor) -> None:
        super().__init__(size, size, biases="none", weights={"one": like.new_ones(1)})

    def shapes(self) -> dict[str, tuple[int, ...] | None]:
        return {"one": (1,)}


class SumCell(OverSteps):
    """The sum of all vectors so far."""

    state_names = ("hidden",)

    def step(self, a: Arithmetic[V], projected: V, state: tuple[V, ...]) -> tuple[V, ...]:
        return (a.settle(state[0] + projected),)


class Counting(OverSteps):
    """With the number of steps so far, which comes from no input."""

    state_names = ("hidden", "count")

    @property
    def state_sizes(self) -> tuple[int, ...]:
        return self.hidden_size, 1


class MeanCell(Counting):
    """The mean of all vectors so far: m + (x - m) / n."""

    def step(self, a: Arithmetic[V], projected: V, state: tuple[V, ...]) -> tuple[V, ...]:
        mean, count = state
        count = count + a.constant(self.one)
        share = a.whole(a.arrange(a.reciprocal(count), repeated(self.hidden_size)))
        return a.settle(mean + a.product(share, projected - mean)), count


class MaxCell(Counting):
    """The largest of all vectors so far, unit by unit: x + relu(m - x) from the second step on."""

    def step(self, a: Arithmetic[V], projected: V, state: tuple[V, ...]) -> tuple[V, ...]:
        largest, begun = state
        gate = a.whole(a.arrange(begun, repeated(self.hidden_size)))
        return a.settle(projected + a.product(gate, a.relu(largest - projected))), _begun(a, begun, self.one)


class FirstCell(Counting):
    """The first vector, kept."""

    def step(self, a: Arithmetic[V], projected: V, state: tuple[V, ...]) -> tuple[V, ...]:
        first, begun = state
        gate = a.whole(a.arrange(begun, repeated(self.hidden_size)))
        return a.settle(a.product(gate, first) + a.product(1 - gate, projected)), _begun(a, begun, self.one)


def _begun(a: Arithmetic[V], begun: V, one: Tensor) -> V:
    """1, whatever it was."""
    return a.scale(begun, 0.0) + a.constant(one)


class ConvolutionCell(Cell):
    """The part of a convolution that looks back: W_0 x + W_1 x_{-1} + ... + bias."""

    row_groups = (1,)
    gate_names = ()
    recurrent_matrix = False
    bias_ih: Tensor | None

    def configure(self, width: int = 2, now: bool = True, single: bool = False) -> None:
        """``width``: how many vectors there are, with the present one; ``now``: whether that one counts; ``single``:
        every unit has a kernel of its own."""
        self.width, self.now, self.single = width, now, single
        self.state_names = ("hidden", *(f"past_{ago}" for ago in range(1, width)))

    @property
    def state_sizes(self) -> tuple[int, ...]:
        return self.hidden_size, *(self.input_size,) * (self.width - 1)

    def shapes(self) -> dict[str, tuple[int, ...] | None]:
        size: tuple[int, ...] = (self.hidden_size,) if self.single else (self.hidden_size, self.input_size)
        bias = {"bias_ih": None if self.biases == "none" else (self.hidden_size,)}
        return {f"weight_{ago}": size for ago in range(0 if self.now else 1, self.width)} | bias

    def step(self, a: Arithmetic[V], projected: V, state: tuple[V, ...]) -> tuple[V, ...]:
        _, *past = state
        values = (projected, *past)
        first = 0 if self.now else 1
        total = self._part(a, values[first], first)
        for ago in range(first + 1, self.width):
            total = total + self._part(a, values[ago], ago)
        total = total if self.bias_ih is None else total + a.constant(self.bias_ih)
        return a.settle(total), *values[: self.width - 1]

    def _part(self, a: Arithmetic[V], value: V, ago: int) -> V:
        weight = getattr(self, f"weight_{ago}")
        return a.scale(value, weight) if self.single else a.linear(value, weight)
