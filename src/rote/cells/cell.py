"""What a recurrent unit is: sizes, weights, named states and gates, and one step written in an arithmetic.

A cell of one's own takes about twenty lines:

    @cells.register("my_unit")
    class MyUnit(Cell):
        '''One line for `rote list cells`.'''

        row_groups = (1, 1)                       # rows of weight_ih and weight_hh, in multiples of hidden_size
        gate_names = ("update", "candidate")

        def step(self, a, projected, state):      # projected: weight_ih @ x, without bias
            (h,) = state
            bias = a.constant(self.bias)
            z, n = a.pieces(projected + a.linear(h, self.weight_hh) + bias, [self.hidden_size] * 2)
            z, n = a.gate("update", a.sigmoid(z)), a.gate("candidate", a.tanh(n))
            return (a.settle(a.product(z, h) + a.product(1 - z, n)),)
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn

from rote.cells.arithmetic import Arithmetic, V
from rote.config import one_of
from rote.errors import UsageError
from rote.registry import Registry

Biases = Literal["none", "one", "two"]


@dataclass(frozen=True)
class Initialization:
    """How the weights of a cell start: torch's own, or one of the sources'."""

    scheme: Literal["torch", "glorot", "uniform"] = "torch"
    limit: float = 0.1  # of "uniform": weights and biases in [-limit, limit]
    forget_bias: float | None = None  # set on every forget gate
    gate_bias: float | None = None  # set on the update and reset gates


class Cell(nn.Module, ABC):
    """Weights are named as in torch: ``weight_ih`` [rows, input], ``weight_hh`` [rows, unit], ``bias_ih``, ``bias_hh``.

    biases: "two" has both vectors (torch), "one" only ``bias_ih`` (TensorFlow), "none" neither.
    """

    row_groups: ClassVar[tuple[int, ...]]
    gate_names: ClassVar[tuple[str, ...]]
    state_names: tuple[str, ...] = ("hidden",)
    forget_rows: ClassVar[int | None] = None  # which group of hidden_size rows is the forget gate
    gate_bias_rows: ClassVar[tuple[int, ...]] = ()  # which are update and reset gates

    weight_ih: Tensor
    weight_hh: Tensor
    bias_ih: Tensor | None
    bias_hh: Tensor | None

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        biases: Biases = "two",
        initialization: Initialization | None = None,
        weights: Mapping[str, Tensor | None] | None = None,
        **options: Any,
    ) -> None:
        super().__init__()
        if input_size < 1 or hidden_size < 1:
            raise UsageError(f"A cell needs sizes of at least 1. Got input {input_size}, hidden {hidden_size}.")
        one_of("biases", biases, ("none", "one", "two"))
        self.input_size, self.hidden_size, self.biases = input_size, hidden_size, biases
        self.configure(**options)
        for name, shape in self.shapes().items():
            if weights is not None:
                # The very tensors: a model that is looked into is not copied.
                given = self._checked(name, weights.get(name), shape)
                if isinstance(given, nn.Parameter):
                    setattr(self, name, given)
                else:
                    self.register_buffer(name, given)
            else:
                setattr(self, name, None if shape is None else nn.Parameter(torch.empty(shape)))
        if weights is None:
            self.initialize(initialization or Initialization())

    def _checked(self, name: str, weight: Tensor | None, shape: tuple[int, ...] | None) -> Tensor | None:
        found = None if weight is None else tuple(weight.shape)
        if found != shape:
            hint = f" Give biases='none' or 'one' for fewer biases than {self.biases!r}." if "bias" in name else ""
            raise UsageError(f"{name!r} of 'weights' must be {shape or 'left out'}. Got {found or 'none'}.{hint}")
        return weight

    def configure(self) -> None:
        """Take the options of this kind of cell, before its weights are made."""

    def shapes(self) -> dict[str, tuple[int, ...] | None]:
        rows = sum(self.row_groups) * self.hidden_size
        return {
            "weight_ih": (rows, self.input_size),
            "weight_hh": (rows, self.hidden_size),
            "bias_ih": None if self.biases == "none" else (rows,),
            "bias_hh": (rows,) if self.biases == "two" else None,
        }

    @property
    def bias(self) -> Tensor:
        """Both bias vectors together; zeros where there are none."""
        if self.bias_ih is None:
            return torch.zeros_like(self.weight_hh[..., 0])
        return self.bias_ih if self.bias_hh is None else self.bias_ih + self.bias_hh

    def zero_state(self, *shape: int) -> tuple[Tensor, ...]:
        """One tensor [*shape, unit] of zeros for each part of the state, such as [batch, unit]."""
        zeros = self.weight_hh.new_zeros(*shape, self.hidden_size)
        return tuple(zeros for _ in self.state_names)

    def project(self, inputs: Tensor) -> Tensor:
        """``weight_ih @ x`` for inputs of any leading shape: one product for all steps."""
        return inputs @ self.weight_ih.T

    @abstractmethod
    def step(self, a: Arithmetic[V], projected: V, state: tuple[V, ...]) -> tuple[V, ...]:
        """The next state from the projected input and the state, in the operations of ``a`` only."""

    def initialize(self, how: Initialization) -> None:
        one_of("scheme", how.scheme, ("torch", "glorot", "uniform"))
        if self.biases == "none" and (how.forget_bias is not None or how.gate_bias is not None):
            raise UsageError("'forget_bias' and 'gate_bias' need a bias to be set on. Got biases='none'.")
        with torch.no_grad():
            for name, parameter in self.named_parameters():
                if how.scheme == "glorot":
                    self._glorot(name, parameter)
                else:
                    limit = how.limit if how.scheme == "uniform" else 1 / math.sqrt(self.hidden_size)
                    parameter.uniform_(-limit, limit)
                self._set_gate_biases(name, parameter, how)

    def _glorot(self, name: str, parameter: Tensor) -> None:
        """TensorFlow's default: each matrix that acts on [x, h] at once is one block; biases are zero."""
        if name.startswith("bias"):
            parameter.zero_()
            return
        level = name.removeprefix("weight_ih").removeprefix("weight_hh")
        shapes = [self.shapes()[f"weight_{kind}{level}"] for kind in ("ih", "hh")]
        inputs = sum(shape[1] for shape in shapes if shape is not None)
        for rows in parameter.split([group * self.hidden_size for group in self.row_groups]):
            limit = math.sqrt(6.0 / (inputs + len(rows)))
            rows.uniform_(-limit, limit)

    def _set_gate_biases(self, name: str, parameter: Tensor, how: Initialization) -> None:
        if not name.startswith("bias"):
            return
        groups = parameter.split(self.hidden_size)
        value = 0.0 if name.startswith("bias_hh") else None  # the sum of both biases is what counts
        if how.forget_bias is not None and self.forget_rows is not None:
            groups[self.forget_rows].fill_(how.forget_bias if value is None else value)
        if how.gate_bias is not None:
            for index in self.gate_bias_rows:
                groups[index].fill_(how.gate_bias if value is None else value)


cells: Registry[type[Cell]] = Registry("cell", "rote.cells")
