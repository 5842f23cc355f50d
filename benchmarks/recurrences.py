"""What units without a recurrent matrix cost: an update against nn.GRU, connectivity against one backward pass for each
output, decomposition of all spans against one forward pass for each of them."""

from __future__ import annotations

import time
from collections.abc import Callable

import torch
from torch import Tensor, nn

import rote
from rote.cells import Recurrent
from rote.models.sequence import SequenceModel

CELLS = ("min_gru", "min_lstm", "lru", "rg_lru")
UNITS, TIME, BATCH = 128, 128, 32
LONG, SPANS, FEW = 200, 40, 32
MOST = 2.0  # times nn.GRU


def seconds(what: Callable[[], object], rounds: int = 7) -> float:
    """The fastest of some rounds, after one that warms up."""
    what()
    found = []
    for _ in range(rounds):
        start = time.perf_counter()
        what()
        found.append(time.perf_counter() - start)
    return min(found)


def update(layer: nn.Module, inputs: Tensor) -> Callable[[], None]:
    def one() -> None:
        layer.zero_grad()
        layer(inputs)[0].square().mean().backward()

    return one


def connected(model: SequenceModel, tokens: Tensor) -> tuple[float, float]:
    """All pairs at once, and one backward pass for each output."""

    def passes() -> None:
        vectors = model.embed(tokens).detach().requires_grad_()
        logits = model.readout(model.recurrent(vectors)[0])  # type: ignore[misc]
        for t in range(LONG):
            torch.autograd.grad(logits[0, t].max(), vectors, retain_graph=True)

    return seconds(lambda: rote.connectivity(model, tokens).values, 2), seconds(passes, 1)


def decomposed(model: SequenceModel, tokens: Tensor) -> tuple[float, float]:
    """All spans at once, and a forward pass without each of them."""
    short = tokens[:, :SPANS]
    vectors = model.embed(short).detach()
    count = SPANS * (SPANS + 1) // 2

    def passes() -> None:
        with torch.no_grad():
            for _ in range(count):
                model.recurrent(vectors)

    return seconds(lambda: rote.decompose_all(model, short, at=-1).relevant, 2), seconds(passes, 1)


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    inputs = torch.randn(BATCH, TIME, UNITS)
    gru = seconds(update(nn.GRU(UNITS, UNITS, batch_first=True), inputs))
    print(f"One update, {UNITS} units, {TIME} steps, batch {BATCH}: nn.GRU {1e3 * gru:.1f} ms")
    slow = []
    for cell in CELLS:
        took = seconds(update(Recurrent(cell, UNITS, UNITS), inputs))
        print(f"  {cell:9s} {1e3 * took:6.1f} ms, {took / gru:4.2f} times nn.GRU")
        slow += [cell] if took > MOST * gru else []
    print(f"Connectivity over {LONG} steps, all spans of {SPANS} steps, {FEW} units")
    tokens = torch.randint(50, (1, LONG))
    for cell in CELLS:
        model = SequenceModel(Recurrent(cell, FEW, FEW), nn.Embedding(50, FEW), nn.Linear(FEW, 50))
        ours, passes = connected(model, tokens)
        all_spans, runs = decomposed(model, tokens)
        print(f"  {cell:9s} connectivity {1e3 * ours:4.0f} ms, {passes / ours:4.1f} times as fast as backward passes")
        print(f"  {'':9s} all spans {1e3 * all_spans:7.0f} ms, {runs / all_spans:4.1f} times as fast as forward passes")
    if slow:
        raise SystemExit(f"More than {MOST:g} times nn.GRU: {', '.join(slow)}.")


if __name__ == "__main__":
    main()
