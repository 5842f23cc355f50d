"""Optimizers: how the parameters follow their gradients."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from rote.chalk.tensor import Tensor


class Optimizer:
    """Subclass it and write ``step``, which changes ``param.value`` by ``param.grad`` for each of ``self.params``."""

    def __init__(self, params: Iterable[Tensor]) -> None:
        self.params: list[Tensor] = list(dict.fromkeys(params))  # a tied parameter takes one step
        self._cur_step = 0
        if not self.params:
            raise ValueError("An optimizer needs parameters. Got none: are they attributes of the module?")
        for param in self.params:
            if param.dtype.kind != "f":
                raise TypeError(f"A parameter must hold floating point numbers. {param!r} holds {param.dtype}.")

    def zero_grad(self) -> None:
        for param in self.params:
            param.grad = None

    def step(self) -> None:
        raise NotImplementedError


class SGD(Optimizer):
    def __init__(self, params: Iterable[Tensor], lr: float = 1e-4) -> None:
        super().__init__(params)
        self.lr = lr

    def step(self) -> None:
        for param in self.params:
            param.value -= self.lr * param.grad
        self._cur_step += 1


class Adagrad(Optimizer):
    """Steps shrink with the sum of squared gradients, for each number on its own."""

    def __init__(self, params: Iterable[Tensor], lr: float = 1e-2, eps: float = 1e-10) -> None:
        super().__init__(params)
        self.lr, self.eps = lr, eps
        self.squares = [np.zeros_like(param.value) for param in self.params]

    def step(self) -> None:
        for param, squares in zip(self.params, self.squares, strict=True):
            np.add(squares, param.grad**2, out=squares)
            param.value -= self.lr * param.grad / (np.sqrt(squares) + self.eps)
        self._cur_step += 1


class Adam(Optimizer):
    """Running means of the gradient and its square, corrected for their start at zero by 1 - beta^t."""

    def __init__(
        self, params: Iterable[Tensor], lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8
    ) -> None:
        super().__init__(params)
        self.lr, self.betas, self.eps = lr, betas, eps
        self.means = [np.zeros_like(param.value) for param in self.params]
        self.squares = [np.zeros_like(param.value) for param in self.params]

    def step(self) -> None:
        self._cur_step += 1
        (one, two), t = self.betas, self._cur_step
        for param, mean, square in zip(self.params, self.means, self.squares, strict=True):
            np.add(one * mean, (1 - one) * param.grad, out=mean)
            np.add(two * square, (1 - two) * param.grad**2, out=square)
            param.value -= self.lr * (mean / (1 - one**t)) / (np.sqrt(square / (1 - two**t)) + self.eps)
