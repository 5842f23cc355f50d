"""Networks: modules with parameters, the layers and the recurrent cells of the course's models.

Weights are [input, output], as in the lecture's engine (torch's are transposed). A cell is one step of a recurrent
network: ``cell(x, state)``; ``unroll`` applies the same cell at every step of a sequence.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from rote.chalk import fused, ops
from rote.chalk.tensor import Array, Tensor


class Module:
    """Tensors and modules set as attributes, also inside lists, tuples and dictionaries, are its parts."""

    training = True

    def __init__(self) -> None:
        self._params: dict[str, Tensor] = {}
        self._modules: dict[str, Module] = {}

    def __setattr__(self, name: str, value: Any) -> None:
        for kind, names in ((Tensor, "_params"), (Module, "_modules")):
            registered = self.__dict__.setdefault(names, {})
            if isinstance(value, kind):
                registered[name] = value
            else:
                registered.pop(name, None)
        object.__setattr__(self, name, value)

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    def __call__(self, *inputs: Any, **kwargs: Any) -> Any:
        return self.forward(*inputs, **kwargs)

    def parameters(self) -> list[Tensor]:
        """Every tensor that is no result of others, each once, however many names it has."""
        return [part for part in self._parts() if isinstance(part, Tensor) and not part.parents]

    def zero_grad(self) -> None:
        for parameter in self.parameters():
            parameter.grad = None

    def astype(self, dtype: Any) -> Module:
        """All parameters in this precision; np.float32 is the faster one."""
        for parameter in self.parameters():
            parameter.value = parameter.value.astype(dtype)
            parameter.grad = None
        return self

    def train(self, mode: bool = True) -> Module:
        for part in self._parts():
            if isinstance(part, Module):
                part.training = mode
        return self

    def eval(self) -> Module:
        return self.train(False)

    def _parts(self) -> Iterator[Any]:
        """This module and all that it is made of, each once: modules may be tied, or know each other."""
        seen, pending = dict[int, Any](), list[Any]([self])
        while pending:
            part = pending.pop()
            if id(part) in seen or not isinstance(part, Tensor | Module | list | tuple | dict):
                continue
            seen[id(part)] = part
            if isinstance(part, Tensor | Module):
                yield part
            if isinstance(part, Module):
                part = {**part._params, **part._modules, **vars(part)}
            if not isinstance(part, Tensor):
                pending += reversed(part.values() if isinstance(part, dict) else part)


def uniform_initializer(shape: Sequence[int], scale: float) -> Array:
    return np.random.uniform(-scale, scale, size=tuple(shape))


class Linear(Module):
    def __init__(self, input_size: int, output_size: int, bias: bool = True) -> None:
        super().__init__()
        scale = 1 / np.sqrt(input_size)
        self.weight = Tensor(uniform_initializer((input_size, output_size), scale), name="weight")
        self.has_bias = bias
        if bias:
            self.bias = Tensor(uniform_initializer((output_size,), scale), name="bias")

    def forward(self, inputs: Tensor) -> Tensor:
        product = ops.matmul(inputs, self.weight)
        return product + self.bias if self.has_bias else product


class Embedding(Module):
    def __init__(self, num_embeddings: int, embedding_dim: int) -> None:
        super().__init__()
        self.weight = Tensor(
            uniform_initializer((num_embeddings, embedding_dim), embedding_dim**-0.5), name="embedding"
        )

    def forward(self, indices: Any) -> Tensor:
        return ops.lookup_rows(self.weight, indices)


class Dropout(Module):
    """Sets a share of the numbers to 0 and raises the others, so that the mean stays; nothing after ``eval()``."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        if not 0 <= rate < 1:
            raise ValueError(f"The rate of Dropout must be at least 0 and below 1. Got {rate}.")
        self.rate = rate

    def forward(self, inputs: Tensor) -> Tensor:
        if not self.training or not self.rate:
            return inputs
        return inputs * (np.random.random(inputs.shape) >= self.rate).astype(inputs.dtype) / (1 - self.rate)


class Cell(Module):
    """``weight_x`` [input, gates * hidden], ``weight_h`` [hidden, gates * hidden] and ``bias``; gates side by side."""

    gates = 1

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__()
        self.input_size, self.hidden_size, width = input_size, hidden_size, self.gates * hidden_size
        self.weight_x = self._weight("weight_x", input_size, width)
        self.weight_h = self._weight("weight_h", hidden_size, width)
        self.bias = self._weight("bias", width)

    def initial(self, like: Tensor) -> Any:
        """The state before the first step, for inputs like these [batch, ...]."""
        return Tensor(np.zeros((like.shape[0], self.hidden_size), like.dtype), name="h_0")

    def _weight(self, name: str, *shape: int) -> Tensor:
        return Tensor(uniform_initializer(shape, self.hidden_size**-0.5), name=name)

    def _gate(self, sums: Tensor, place: int) -> Tensor:
        return sums[:, place * self.hidden_size : (place + 1) * self.hidden_size]


class RNNCell(Cell):
    """Elman's: h = tanh(x W_x + h W_h + b)."""

    def forward(self, x: Tensor, h: Tensor) -> Tensor:
        return ops.tanh(x @ self.weight_x + h @ self.weight_h + self.bias)


class LSTMCell(Cell):
    """Gates i, f, g, o: c = f * c + i * g, h = o * tanh(c). Its state is the pair (h, c)."""

    gates = 4

    def initial(self, like: Tensor) -> tuple[Tensor, Tensor]:
        return super().initial(like), super().initial(like)

    def forward(self, x: Tensor, state: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        h, c = state
        sums = x @ self.weight_x + h @ self.weight_h + self.bias
        i, f, o = (ops.sigmoid(self._gate(sums, place)) for place in (0, 1, 3))
        c = f * c + i * ops.tanh(self._gate(sums, 2))
        return o * ops.tanh(c), c


class GRUCell(Cell):
    """Gates r, z, n: n = tanh(x W_n + b_n + r * (h V_n + d_n)), h = (1 - z) * n + z * h; d is ``bias_h``."""

    gates = 3

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__(input_size, hidden_size)
        self.bias_h = self._weight("bias_h", 3 * hidden_size)

    def forward(self, x: Tensor, h: Tensor) -> Tensor:
        given, kept = x @ self.weight_x + self.bias, h @ self.weight_h + self.bias_h
        r, z = (ops.sigmoid(self._gate(given, place) + self._gate(kept, place)) for place in (0, 1))
        n = ops.tanh(self._gate(given, 2) + r * self._gate(kept, 2))
        return (1.0 - z) * n + z * h


class RNN(RNNCell):
    """Elman's cell over a whole sequence [batch, time, input] in one operation: the states [batch, time, hidden]."""

    def forward(self, x: Tensor, h: Tensor | None = None) -> Tensor:
        return fused.rnn(x, self.weight_x, self.weight_h, self.bias, *([] if h is None else [h]))


def unroll(cell: Cell | Sequence[Cell], inputs: Tensor, state: Any = None) -> list[Tensor]:
    """The hidden states [batch, hidden] of a cell, or of one for each step, over inputs [batch, time, input]."""
    cells = [cell] * inputs.shape[1] if isinstance(cell, Cell) else cell
    state, states = cells[0].initial(inputs) if state is None and len(cells) else state, []
    for t, step in enumerate(cells):
        state = step(inputs[:, t], state)
        states.append(state[0] if isinstance(state, tuple) else state)
    return states
