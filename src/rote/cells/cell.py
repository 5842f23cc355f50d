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

A unit that does not multiply its state by a matrix (minGRU and the like) says ``recurrent_matrix = False``: it has
neither ``weight_hh`` nor ``bias_hh``. If its step is linear in its state, it trains without a loop over time by itself
(``over_time``). States that do not all have hidden_size units are declared in ``state_sizes``, weights of other names
in ``shapes``, where they start in ``initialize``; ``weight_ih`` is all that acts on the input. See ``rg_lru.py``. A
cell whose ``shapes`` has no ``weight_ih`` gets the input as it is in place of ``projected``. A matrix is a state like
any other, kept as one long row (``arithmetic.Matrices``).
"""

from __future__ import annotations

import inspect
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn

from rote.cells.arithmetic import Arithmetic, Plain, V
from rote.config import one_of
from rote.errors import UnknownNameError, UsageError
from rote.registry import Registry

Biases = Literal["none", "one", "two"]
BIASES = ("bias_ih", "bias_hh")


@dataclass(frozen=True)
class Initialization:
    """How the weights of a cell start: torch's own, or one of the sources'."""

    scheme: Literal["torch", "glorot", "uniform"] = "torch"
    limit: float = 0.1  # of "uniform": weights and biases in [-limit, limit]
    forget_bias: float | None = None  # set on every forget gate
    gate_bias: float | None = None  # set on the update and reset gates


class Cell(nn.Module, ABC):
    """Weights are named as in torch: ``weight_ih`` [rows, input], ``weight_hh`` [rows, unit], ``bias_ih``, ``bias_hh``.

    - hidden_size: the units of each gate, and of each state unless ``state_sizes`` says otherwise.
    - biases: "two" has both vectors (torch), "one" only ``bias_ih`` (TensorFlow), "none" neither. Without a recurrent
      matrix there is no second one: "two" means the same as "one".
    """

    row_groups: ClassVar[tuple[int, ...]]
    gate_names: tuple[str, ...]
    state_names: tuple[str, ...] = ("hidden",)
    forget_rows: ClassVar[int | None] = None  # which group of hidden_size rows is the forget gate
    gate_bias_rows: ClassVar[tuple[int, ...]] = ()  # which are update and reset gates
    recurrent_matrix: bool = True  # whether there are ``weight_hh`` and ``bias_hh``; they are None if not
    whole_states: tuple[str, ...] = ()  # never taken apart: denominators, stabilizers
    start_values: Mapping[str, float] = {}  # of states that do not start from zero
    only_reads = True  # a step writes into no buffer: those may be pieces of large weights, and need no copy
    alone: ClassVar[bool] = False  # ``over_time`` does each step by itself, but for the cells that it runs
    taken_whole: str = ""  # what no rule takes apart; the rule that takes everything apart is then refused

    __signature__: ClassVar[inspect.Signature]  # with the options of ``configure`` by name

    weight_ih: Tensor  # None where a cell takes its input as it is
    weight_hh: Tensor
    bias_ih: Tensor | None
    bias_hh: Tensor | None

    def __init_subclass__(cls) -> None:
        own = [parameter for parameter in _parameters(Cell.__init__) if parameter.name != "options"]
        options = [option.replace(kind=option.KEYWORD_ONLY) for option in _parameters(cls.configure)]
        cls.__signature__ = inspect.Signature([*own, *options])
        if "step" in vars(cls) and "direct_steps" not in vars(cls):  # that of another step says nothing of this one
            cls.direct_steps = Cell.direct_steps  # type: ignore[method-assign]
        if "over_time" in vars(cls) and "alone" not in vars(cls):
            cls.alone = False

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
        known = [option.name for option in _parameters(self.configure)]
        for name in options:
            if name not in known:
                raise UnknownNameError("option", name, known, f" of {type(self).__name__}")
        self.configure(**options)
        for name, shape in (self.shapes() | self._lacking()).items():
            if weights is not None:
                # The very tensors: a model that is looked into is not copied.
                given = self._checked(name, weights, shape)
                if isinstance(given, nn.Parameter):
                    setattr(self, name, given)
                else:
                    self.register_buffer(name, given)
            else:
                setattr(self, name, None if shape is None else nn.Parameter(torch.empty(shape)))
        if weights is None:
            self.initialize(initialization or Initialization())

    def _checked(self, name: str, weights: Mapping[str, Tensor | None], shape: tuple[int, ...] | None) -> Tensor | None:
        weight = weights.get(name)
        found = None if weight is None else tuple(weight.shape)
        if name.endswith("_hh") and found is not None and not self.recurrent_matrix:
            raise UsageError(f"{name!r} of 'weights' must be left out: {type(self).__name__} has no recurrent matrix.")
        if name.startswith(BIASES) and (found is None) != (shape is None):
            raise UsageError(_which_biases(weights, self.biases))
        if found != shape:
            raise UsageError(f"{name!r} of 'weights' must be {shape or 'left out'}. Got {found or 'none'}.")
        return weight

    def configure(self) -> None:
        """Take the options of this kind of cell, before its weights are made."""

    @property
    def state_sizes(self) -> tuple[int, ...]:
        """Units of each state, in the order of ``state_names``. A cell whose states differ in size declares it here."""
        return (self.hidden_size,) * len(self.state_names)

    @property
    def output_size(self) -> int:
        """Units of the first state: what the cell gives to the layer above and to its own next step."""
        return self.state_sizes[0]

    @property
    def direct_steps(self) -> int | None:
        """How many steps, its own and the last before it, the output of a step depends on beside what it reads of one
        memory (``a.read``); what it asks the memory with is among them. None if that is not known, or if what a step
        has read goes on to later ones by another way."""
        return None

    @property
    def rows(self) -> int:
        """Rows of ``weight_ih``: of all gates together."""
        return sum(self.row_groups) * self.hidden_size

    def shapes(self) -> dict[str, tuple[int, ...] | None]:
        """The shape of each weight by its name; None for one that this cell does not have."""
        return {
            "weight_ih": (self.rows, self.input_size),
            "weight_hh": (self.rows, self.output_size) if self.recurrent_matrix else None,
            "bias_ih": None if self.biases == "none" else (self.rows,),
            "bias_hh": (self.rows,) if self.biases == "two" and self.recurrent_matrix else None,
        }

    def _lacking(self) -> dict[str, None]:
        """The usual weights that a cell's own ``shapes`` leaves out."""
        return {name: None for name in ("weight_ih", "weight_hh", *BIASES) if name not in self.shapes()}

    @property
    def bias(self) -> Tensor:
        """Both bias vectors together; zeros where there are none."""
        if self.bias_ih is None:
            return torch.zeros_like(self.weight_ih[..., 0])
        return self.bias_ih if self.bias_hh is None else self.bias_ih + self.bias_hh

    def zero_state(self, *shape: int) -> tuple[Tensor, ...]:
        """One tensor [*shape, unit] for each part of the state, such as [batch, unit], as a sequence begins: zeros, but
        for those that have a start value of their own."""
        weight = next(value for name in self.shapes() if (value := getattr(self, name)) is not None)
        sizes = zip(self.state_names, self.state_sizes, strict=True)
        return tuple(weight.new_full((*shape, size), self.start_values.get(name, 0.0)) for name, size in sizes)

    @property
    def input_matrix(self) -> Tensor:
        """``weight_ih``, or the identity where the step takes the input as it is."""
        if self.weight_ih is not None:
            return self.weight_ih
        weight = next(value for name in self.shapes() if (value := getattr(self, name)) is not None)
        return torch.eye(self.input_size, dtype=weight.dtype, device=weight.device)

    def project(self, inputs: Tensor) -> Tensor:
        """``weight_ih @ x`` for inputs of any leading shape, one product for all steps; or the inputs as they are."""
        return inputs if self.weight_ih is None else inputs @ self.weight_ih.T

    def enter(self, a: Arithmetic[V], inputs: V) -> V:
        """``project`` in the operations of an arithmetic."""
        return inputs if self.weight_ih is None else a.linear(inputs, self.weight_ih)

    @abstractmethod
    def step(self, a: Arithmetic[V], projected: V, state: tuple[V, ...]) -> tuple[V, ...]:
        """The next state from the projected input and the state, in the operations of ``a`` only."""

    def over_time(
        self, a: Plain, projected: Tensor, start: tuple[Tensor, ...], mask: Tensor | None
    ) -> tuple[Tensor, tuple[Tensor, ...]] | None:
        """All steps at once in a way of the cell's own: what it gives at every step [*lead, batch, time, unit], zero
        where ``mask`` is false, and the states where each row ends. None if it has none; see ``rote.cells.over_time``.
        """
        return None

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
        """TensorFlow's default: each matrix that acts on [x, h] at once is one block; vectors, as biases, are 0."""
        if name.startswith("bias") or parameter.dim() < 2:
            parameter.zero_()
            return
        inputs, blocks = parameter.shape[1], [parameter]
        if name.startswith(("weight_ih", "weight_hh")) and len(parameter) == self.rows:
            level = name.removeprefix("weight_ih").removeprefix("weight_hh")
            shapes = [self.shapes().get(f"weight_{kind}{level}") for kind in ("ih", "hh")]
            inputs = sum(shape[1] for shape in shapes if shape is not None)
            blocks = list(parameter.split([group * self.hidden_size for group in self.row_groups]))
        for rows in blocks:
            limit = math.sqrt(6.0 / (inputs + len(rows)))
            rows.uniform_(-limit, limit)

    def _set_gate_biases(self, name: str, parameter: Tensor, how: Initialization) -> None:
        if not name.startswith(BIASES) or len(parameter) != self.rows:
            return
        groups = parameter.split(self.hidden_size)
        value = 0.0 if name.startswith("bias_hh") else None  # the sum of both biases is what counts
        if how.forget_bias is not None and self.forget_rows is not None:
            groups[self.forget_rows].fill_(how.forget_bias if value is None else value)
        if how.gate_bias is not None:
            for index in self.gate_bias_rows:
                groups[index].fill_(how.gate_bias if value is None else value)


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    return [found for found in inspect.signature(function).parameters.values() if found.name != "self"]


def _which_biases(weights: Mapping[str, Tensor | None], given: Biases) -> str:
    """What to give for the biases that the weights have."""
    has = [start for start in BIASES if any(name.startswith(start) and weights[name] is not None for name in weights)]
    if has == ["bias_hh"]:
        return "'weights' has 'bias_hh' alone. Give it as 'bias_ih', with biases='one'."
    fitting = ("none", "one", "two")[len(has)]
    if fitting == given:  # one of several levels has none
        return f"'weights' must have the biases of every level or of none. Got {', '.join(weights)}."
    return f"'weights' has {' and '.join(map(repr, has)) or 'no bias'}: give biases={fitting!r}. Got {given!r}."


cells: Registry[type[Cell]] = Registry("cell", "rote.cells")
