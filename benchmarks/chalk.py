"""A vanilla RNN language model: forward, backward and one SGD step, in chalk, in the PyPI edugrad and in torch.

The same weights and tokens everywhere, one thread, process time, rounds in which all take turns. That all do the same
work is checked: the same loss after the warm-up steps. chalk and torch use float32; edugrad's gradients are float64.
edugrad is unrolled with the cell of the lecture and operations as its course writes them, readout and loss at every
step; also with one readout over all steps, for which it has no operation. chalk is shown unrolled in that way too.
edugrad is no dependency of Rote: pip install -e '.[bench]'.

Targets: batch 32, time 32, hidden 128: at least 4 times edugrad and 0.8 times torch's nn.RNN; batch 8, time 16,
hidden 32: at least 3 times nn.RNN.

    python benchmarks/chalk.py
"""

from __future__ import annotations

import importlib.util
import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from rich.console import Console
from rich.table import Table as Grid
from threadpoolctl import threadpool_limits
from torch import nn

from rote import chalk
from rote.chalk import fused, ops, optim
from rote.chalk import nn as chalk_nn

ROUNDS, STEPS, WARM_UP, LR = 15, 8, 20, 0.1
Step = Callable[[], float]


class Size(NamedTuple):
    batch: int
    time: int
    hidden: int
    vocabulary: int
    embedding: int
    targets: dict[str, float]


SIZES = (
    Size(32, 32, 128, 64, 64, {"edugrad": 4.0, "torch nn.RNN": 0.8}),
    Size(8, 16, 32, 32, 16, {"torch nn.RNN": 3.0}),
)


def weights(size: Size) -> list[np.ndarray]:
    """Embedding, W_x, W_h, b, readout and its bias, all [input, output]."""
    draw, h = np.random.default_rng(0), size.hidden
    shapes = [
        (size.vocabulary, size.embedding),
        (size.embedding, h),
        (h, h),
        (h,),
        (h, size.vocabulary),
        (size.vocabulary,),
    ]
    return [draw.uniform(-(h**-0.5), h**-0.5, size=shape) for shape in shapes]


def tokens(size: Size) -> tuple[np.ndarray, np.ndarray]:
    drawn = np.random.default_rng(1).integers(size.vocabulary, size=(size.batch, size.time + 1))
    return drawn[:, :-1], drawn[:, 1:]


def with_chalk(size: Size, together: bool) -> Step:
    embedding, w_x, w_h, b, out, out_b = (chalk.Tensor(value.astype(np.float32)) for value in weights(size))
    layer = chalk_nn.RNN(1, 1) if together else chalk_nn.RNNCell(1, 1)
    layer.hidden_size, layer.weight_x, layer.weight_h, layer.bias = size.hidden, w_x, w_h, b
    optimizer = optim.SGD([embedding, w_x, w_h, b, out, out_b], lr=LR)
    inputs, targets = tokens(size)

    def step() -> float:
        optimizer.zero_grad()
        if together:
            loss = fused.linear_cross_entropy(layer(ops.lookup_rows(embedding, inputs)), out, out_b, targets)
        else:
            h, states = layer.initial(embedding[: size.batch]), []
            for t in range(size.time):
                h = layer(ops.lookup_rows(embedding, inputs[:, t]), h)
                states.append(h)
            loss = ops.cross_entropy(ops.concat(*states, axis=0) @ out + out_b, targets.T.ravel())
        loss.backward()
        optimizer.step()
        return float(loss.value)

    return step


def with_torch(size: Size) -> Step:
    embedding, w_x, w_h, b, out, out_b = (torch.tensor(value, dtype=torch.float32) for value in weights(size))
    lookup, readout = nn.Embedding.from_pretrained(embedding, freeze=False), nn.Linear(size.hidden, size.vocabulary)
    layer = nn.RNN(size.embedding, size.hidden, batch_first=True)
    with torch.no_grad():
        for parameter, value in (
            (layer.weight_ih_l0, w_x.T), (layer.weight_hh_l0, w_h.T), (layer.bias_ih_l0, b),
            (readout.weight, out.T), (readout.bias, out_b),
        ):  # fmt: skip
            parameter.copy_(value)
        layer.bias_hh_l0.zero_()
    layer.bias_hh_l0.requires_grad_(False)  # a second bias would take a second step
    parameters = [p for module in (lookup, layer, readout) for p in module.parameters() if p.requires_grad]
    optimizer = torch.optim.SGD(parameters, lr=LR)
    inputs, targets = (torch.tensor(part) for part in tokens(size))

    def step() -> float:
        optimizer.zero_grad()
        scores = readout(layer(lookup(inputs))[0])
        loss = nn.functional.cross_entropy(scores.flatten(0, 1), targets.flatten())
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def with_edugrad(size: Size, one_readout: bool) -> Step:
    from edugrad.ops import Operation, Tensor, add, copy_rows, matmul, tensor_op
    from edugrad.optim import SGD

    @tensor_op
    class tanh(Operation):
        @staticmethod
        def forward(ctx: list[Any], a: Any) -> Any:
            ctx.append(np.tanh(a))
            return ctx[0]

        @staticmethod
        def backward(ctx: list[Any], grad_output: Any) -> Any:
            return [grad_output * (1 - ctx[0] ** 2)]

    @tensor_op
    class lookup_rows(Operation):
        @staticmethod
        def forward(ctx: list[Any], matrix: Any, indices: Any) -> Any:
            ctx += [matrix.shape, indices]
            return matrix[indices]

        @staticmethod
        def backward(ctx: list[Any], grad_output: Any) -> Any:
            grad = np.zeros(ctx[0])
            np.add.at(grad, ctx[1], grad_output)
            return [grad, np.zeros(ctx[1].shape)]

    @tensor_op
    class concat_rows(Operation):
        @staticmethod
        def forward(ctx: list[Any], *arrays: Any) -> Any:
            ctx.append(len(arrays))
            return np.concatenate(arrays)

        @staticmethod
        def backward(ctx: list[Any], grad_output: Any) -> Any:
            return np.split(grad_output, ctx[0])

    @tensor_op
    class cross_entropy(Operation):
        @staticmethod
        def forward(ctx: list[Any], logits: Any, targets: Any) -> Any:
            logits = logits - logits.max(axis=1, keepdims=True)
            likelihood = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
            ctx += [likelihood, targets]
            return -likelihood[np.arange(len(targets)), targets].mean()

        @staticmethod
        def backward(ctx: list[Any], grad_output: Any) -> Any:
            likelihood, targets = ctx
            grad = np.exp(likelihood)
            grad[np.arange(len(targets)), targets] -= 1
            return [grad * grad_output / len(targets), np.zeros(targets.shape)]

    @tensor_op
    class mean(Operation):
        @staticmethod
        def forward(ctx: list[Any], *numbers: Any) -> Any:
            ctx.append(len(numbers))
            return np.mean(numbers)

        @staticmethod
        def backward(ctx: list[Any], grad_output: Any) -> Any:
            return [grad_output / ctx[0]] * ctx[0]

    parameters = [Tensor(value) for value in weights(size)]
    embedding, w_x, w_h, b, out, out_b = parameters
    optimizer = SGD(parameters, lr=LR)
    inputs, targets = tokens(size)

    def step() -> float:
        optimizer.zero_grad()
        h, states, losses = Tensor(np.zeros((size.batch, size.hidden))), [], []
        for t in range(size.time):
            x = lookup_rows(embedding, Tensor(inputs[:, t]))
            h = tanh(add(add(matmul(x, w_x), matmul(h, w_h)), copy_rows(b, num=size.batch)))
            states.append(h)
        if one_readout:
            scores = add(matmul(concat_rows(*states), out), copy_rows(out_b, num=size.batch * size.time))
            loss = cross_entropy(scores, Tensor(targets.T.ravel()))
        else:
            for t, h in enumerate(states):
                scores = add(matmul(h, out), copy_rows(out_b, num=size.batch))
                losses.append(cross_entropy(scores, Tensor(targets[:, t])))
            loss = mean(*losses)
        loss.backward()
        optimizer.step()
        return float(loss.value)

    return step


def seconds(step: Step) -> float:
    before = time.process_time()
    for _ in range(STEPS):
        step()
    return (time.process_time() - before) / STEPS


def compare(size: Size, installed: bool) -> None:
    programs = {
        "chalk": with_chalk(size, True),
        "chalk, step by step": with_chalk(size, False),
        **({"edugrad": with_edugrad(size, False)} if installed else {}),
        **({"edugrad, one readout": with_edugrad(size, True)} if installed else {}),
        "torch nn.RNN": with_torch(size),
    }
    losses = [[step() for _ in range(WARM_UP)][-1] for step in programs.values()]
    np.testing.assert_allclose(losses, losses[0], rtol=1e-4)
    rounds = [{name: seconds(step) for name, step in programs.items()} for _ in range(ROUNDS)]
    grid = Grid("", "tokens per second", "chalk is so many times as fast", "target", box=None)
    for name in programs:
        speed = size.batch * size.time / statistics.median(taken[name] for taken in rounds)
        ratio = statistics.median(taken[name] / taken["chalk"] for taken in rounds)
        grid.add_row(name, f"{speed:,.0f}", f"{ratio:.2f}", f"{size.targets[name]:g}" if name in size.targets else "")
    print(
        f"Batch {size.batch}, time {size.time}, hidden {size.hidden}; loss of all after {WARM_UP} steps {losses[0]:.4f}"
    )
    Console().print(grid)


def main() -> None:
    installed = importlib.util.find_spec("edugrad") is not None
    torch.set_num_threads(1)
    with threadpool_limits(1):
        for size in SIZES:
            compare(size, installed)
    print(f"Medians of {ROUNDS} rounds that took turns; one thread, process time.")
    if not installed:
        print("edugrad is not installed, so nothing is compared with it: pip install -e '.[bench]'")


if __name__ == "__main__":
    main()
