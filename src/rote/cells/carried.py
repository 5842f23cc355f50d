"""What goes from step to step in a layer that is run over all steps at once, and the way back through it.

All else that a step does, it does by itself. So the gradient of an output is carried by these operations, and between
them it is multiplied at each step by a matrix that is the same for every output (``rote.analyses.carried_gradients``).
Gradients stand as [time, batch, row, unit], a row for each output: a step of all rows is one piece of memory.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from jaxtyping import Bool, Complex, Float


class Carried(ABC):
    """One operation: what it was made from, and gradients in two parts, the second of which is each step's own."""

    @property
    @abstractmethod
    def given(self) -> tuple[Tensor, ...]:
        """[batch, time, unit] each, with the units of what was found."""

    @abstractmethod
    def back(self, gradients: Float[Tensor, "time batch row unit"]) -> Float[Tensor, "time batch row unit"]:
        """Over the first steps of all: what ``shared`` needs, from the gradients of what was found."""

    def shared(self, gradients: Float[Tensor, "*row batch time unit"]) -> tuple[Tensor, ...]:
        """Gradients of all that was given, from what ``back`` has made."""
        return (gradients,)


def delayed(start: Tensor, series: Tensor) -> Tensor:
    """The value before each step, of [*lead, time, unit] that follows on ``start`` [*lead, unit]."""
    return torch.cat([start[..., None, :], series[..., :-1, :]], -2)


def real(values: Complex[Tensor, "*axis pair"]) -> Float[Tensor, "*axis unit"]:
    """Complex numbers as twice as many real ones."""
    return torch.view_as_real(values.resolve_conj()).flatten(-2)


def paired(values: Float[Tensor, "*axis unit"]) -> Complex[Tensor, "*axis pair"]:
    """The opposite of ``real``."""
    return torch.view_as_complex(values.unflatten(-1, (-1, 2)))


@dataclass(frozen=True)
class Scanned(Carried):
    """h_t = a_t h_(t-1) + x_t."""

    factors: Float[Tensor, "*lead time unit"]
    values: Float[Tensor, "*lead time unit"]
    start: Float[Tensor, "*lead unit"]
    found: Float[Tensor, "*lead time unit"]

    @property
    def given(self) -> tuple[Tensor, ...]:
        return self.factors, self.values

    def back(self, gradients: Tensor) -> Tensor:
        return _faded(gradients, self.factors.detach())

    def shared(self, gradients: Tensor) -> tuple[Tensor, ...]:
        return gradients * delayed(self.start, self.found).detach(), gradients


@dataclass(frozen=True)
class Turned(Carried):
    """The same of complex numbers, each of which is two units here."""

    factors: Complex[Tensor, "*lead time pair"]
    values: Complex[Tensor, "*lead time pair"]
    start: Complex[Tensor, "*lead pair"]
    found: Complex[Tensor, "*lead time pair"]

    @property
    def given(self) -> tuple[Tensor, ...]:
        return real(self.factors), real(self.values)

    def back(self, gradients: Tensor) -> Tensor:
        return real(_faded(paired(gradients), self.factors.detach().conj().resolve_conj()))

    def shared(self, gradients: Tensor) -> tuple[Tensor, ...]:
        return real(paired(gradients) * delayed(self.start, self.found).detach().conj()), gradients


@dataclass(frozen=True)
class Largest(Carried):
    """m_t = max(m_(t-1) + added_t, other_t)."""

    added: Float[Tensor, "*lead time unit"]
    other: Float[Tensor, "*lead time unit"]
    start: Float[Tensor, "*lead unit"]
    found: Float[Tensor, "*lead time unit"]

    @property
    def went_on(self) -> Bool[Tensor, "batch time unit"]:
        """Where the first one was larger."""
        return delayed(self.start, self.found) + self.added > self.other

    @property
    def given(self) -> tuple[Tensor, ...]:
        return self.added, self.other

    def back(self, gradients: Tensor) -> Tensor:
        return _faded(gradients, self.went_on.to(gradients.dtype))

    def shared(self, gradients: Tensor) -> tuple[Tensor, ...]:
        return gradients * self.went_on, gradients * ~self.went_on


@dataclass(frozen=True)
class Earlier(Carried):
    """The value of the step before."""

    values: Float[Tensor, "*lead time unit"]

    @property
    def given(self) -> tuple[Tensor, ...]:
        return (self.values,)

    def back(self, gradients: Tensor) -> Tensor:
        return torch.cat([gradients[1:], torch.zeros_like(gradients[:1])])


@dataclass(frozen=True)
class Convolved(Carried):
    """A causal convolution, one kernel for each unit, with the newest input last in ``weight``."""

    values: Float[Tensor, "*lead time unit"]
    weight: Float[Tensor, "*replica unit width"]

    @property
    def given(self) -> tuple[Tensor, ...]:
        return (self.values,)

    def back(self, gradients: Tensor) -> Tensor:
        newest, *others = self.weight.detach().flip(-1).unbind(-1)
        found = gradients * newest
        for ago, kernel in enumerate(others[: len(gradients) - 1], start=1):
            found[:-ago].addcmul_(gradients[ago:], kernel)
        return found


def _faded(gradients: Tensor, kept: Tensor) -> Tensor:
    """Of what was added at every step, if ``kept`` [batch, time, unit] of the value before goes on."""
    found = gradients.clone(memory_format=torch.contiguous_format)
    steps, left = found.unbind(), kept.movedim(1, 0)[:, :, None].unbind()
    for t in reversed(range(1, len(steps))):
        steps[t - 1].addcmul_(steps[t], left[t])
    return found
