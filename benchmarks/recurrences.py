"""What units without a recurrent matrix cost, and which rule takes them apart best.

Cost: an update against nn.GRU, connectivity against one backward pass for each output, decomposition of all spans
against one forward pass for each of them. Rule: small models learn this repository's README by characters. Then each
character's part in the most likely next one is compared with what is lost when its vector is made zero, and with what
it does when all others are: correlations over positions, with gates taken apart and used whole, and how far parts grow.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn

import rote
from rote.cells import Recurrent
from rote.models import LanguageModelConfig, StackedLanguageModel
from rote.models.sequence import SequenceModel

CELLS = ("min_gru", "min_lstm", "lru", "rg_lru")  # at most twice nn.GRU
SLOWER = ("s6",)
MATRICES = ("linear_attention", "delta", "gated_delta", "ssd", "mlstm", "rwkv4", "rwkv7", "slstm", "block", "attention")
READ, STEPS, ASKED = 40, 200, 12  # characters at a time, updates, sequences that are looked at
UNITS, TIME, BATCH = 128, 128, 32
LONG, SPANS, FEW = 200, 40, 32
MOST = 2.0  # times nn.GRU
LEAST = 5.0  # times as fast as backward passes


def seconds(what: Callable[[], object], rounds: int = 7) -> float:
    """Of the processor, in the fastest of some rounds after one that warms up."""
    what()
    found = []
    for _ in range(rounds):
        start = time.process_time()
        what()
        found.append(time.process_time() - start)
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


def characters() -> Tensor:
    text = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8").lower()
    kept = "".join(letter for letter in text if letter.isascii() and (letter.isalpha() or letter == " "))
    return torch.tensor([ord(letter) - ord("a") if letter != " " else 26 for letter in kept])


def learned(cell: str) -> SequenceModel:
    text = characters()
    model = StackedLanguageModel(27, LanguageModelConfig(cell, embedding=16, hidden=32), [0], torch.float32)
    optimizer, generator = torch.optim.Adam(model.parameters(), 0.01), torch.Generator().manual_seed(0)
    for _ in range(STEPS):
        starts = torch.randint(len(text) - READ - 1, (16, 1), generator=generator)
        batch = text[starts + torch.arange(READ + 1)][None]
        loss, _ = model.losses(batch[..., :-1], batch[..., 1:], model.cell.zero_state(1, 16))
        optimizer.zero_grad()
        loss.sum().backward()
        optimizer.step()
    return model.replica(0, torch.float64)


@torch.no_grad()
def yardsticks(model: SequenceModel) -> dict[str, tuple[float, float, float]]:
    """By rule: correlation with what is lost without each position, with what it does alone, and the largest growth."""
    text = characters()
    starts = torch.randint(len(text) - READ, (ASKED, 1), generator=torch.Generator().manual_seed(1))
    vectors = model.embed(text[starts + torch.arange(READ)])
    bare = SequenceModel(model.recurrent, None, model.readout)
    said = bare(vectors)[:, -1]
    best = said.argmax(1)
    chosen = said.gather(1, best[:, None])[:, 0]
    only = torch.eye(READ, dtype=vectors.dtype)[:, None, :, None]  # [position, sequence, time, unit]
    nothing = bare(0 * vectors)[:, -1].gather(1, best[:, None])[:, 0]

    def with_inputs(inside: Tensor) -> Tensor:
        logits = torch.stack([bare(vectors * one)[:, -1] for one in inside])
        return logits.gather(2, best.expand(READ, -1)[..., None])[..., 0].T

    removed, alone = chosen[:, None] - with_inputs(1 - only), with_inputs(only) - nothing[:, None]
    found = {}
    for gates in ("parts", "whole"):
        parts = rote.decompose(bare, vectors, [(t, t) for t in range(READ)], at=-1, gates=gates)
        ours = parts.logits()[:, :, 0].gather(2, best[:, None, None].expand(-1, READ, 1))[..., 0]
        measured = [correlation(ours, theirs) for theirs in (removed, alone)]
        found[gates] = (*measured, float(parts.growth.max()))
    return found


def correlation(ours: Tensor, theirs: Tensor) -> float:
    """The mean over sequences."""
    centered = [values - values.mean(1, keepdim=True) for values in (ours, theirs)]
    return float(nn.functional.cosine_similarity(*centered).mean())


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    inputs = torch.randn(BATCH, TIME, UNITS)
    gru = seconds(update(nn.GRU(UNITS, UNITS, batch_first=True), inputs))
    print(f"One update, {UNITS} units, {TIME} steps, batch {BATCH}: nn.GRU {1e3 * gru:.1f} ms")
    slow = []
    for cell in (*CELLS, *SLOWER, *MATRICES):
        took = seconds(update(Recurrent(cell, UNITS, UNITS), inputs))
        print(f"  {cell:16s} {1e3 * took:6.1f} ms, {took / gru:4.2f} times nn.GRU")
        slow += [cell] if cell in CELLS and took > MOST * gru else []
    print(f"Connectivity over {LONG} steps, all spans of {SPANS} steps, {FEW} units")
    tokens, few = torch.randint(50, (1, LONG)), list[str]()
    for cell in (*CELLS, *SLOWER, *MATRICES):
        model = SequenceModel(Recurrent(cell, FEW, FEW), nn.Embedding(50, FEW), nn.Linear(FEW, 50))
        ours, passes = connected(model, tokens)
        all_spans, runs = decomposed(model, tokens)
        print(f"  {cell:16s} connectivity {1e3 * ours:4.0f} ms, {passes / ours:4.1f} times as fast as backward passes")
        print(f"  {'':16s} spans {1e3 * all_spans:7.0f} ms, {runs / all_spans:4.1f} times as fast as forward passes")
        few += [cell] if passes < LEAST * ours else []
    print(f"Gates in parts or whole, {STEPS} updates on this README: removed, alone, growth")
    for cell in ("gru", "lstm", *CELLS, *SLOWER):
        told = [
            f"{gates} {a:5.2f} {b:5.2f} {growth:4.1f}" for gates, (a, b, growth) in yardsticks(learned(cell)).items()
        ]
        print(f"  {cell:9s} {';  '.join(told)}")
    if slow or few:
        raise SystemExit(
            f"More than {MOST:g} times nn.GRU: {', '.join(slow) or 'none'}. Connectivity less than {LEAST:g} times as "
            f"fast as backward passes: {', '.join(few) or 'none'}."
        )


if __name__ == "__main__":
    main()
