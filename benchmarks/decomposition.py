"""Contextual decomposition against the plain loop: one pair of a sequence and a span at a time.

A trained language model, by the published rules. The plain loop is written straight from the published equations
(docs/decomposition.md), in numpy, twice. In "float64" the states start as np.zeros makes them, so that every product
first converts the float32 weights: so do the public programs. In "float32" nothing is ever converted, which none of
them does.

Process time on one thread, the best of several rounds in which all programs take turns.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import torch
from torch import nn

import rote
from rote.models.sequence import SequenceModel

HIDDEN, VOCABULARY = 200, 1002
ROUNDS = 7
Array = np.ndarray


class PlainLoop:
    """Murdoch, Liu and Yu 2018 with the in-span bias rule; the weights split by gate beforehand."""

    def __init__(self, lstm: nn.LSTM, embedding: nn.Embedding, readout: nn.Linear, dtype: type) -> None:
        self.input = np.split(lstm.weight_ih_l0.detach().numpy(), 4)  # gates i, f, g, o
        self.recurrent = np.split(lstm.weight_hh_l0.detach().numpy(), 4)
        self.bias = np.split((lstm.bias_ih_l0 + lstm.bias_hh_l0).detach().numpy(), 4)
        self.embedding, self.readout = embedding.weight.detach().numpy(), readout.weight.detach().numpy()
        self.dtype = dtype

    def logits(self, tokens: Sequence[int], start: int, end: int) -> Array:
        """Of the relevant part at the last step."""
        h_rel = h_irr = c_rel = c_irr = np.zeros(HIDDEN, self.dtype)
        for t, token in enumerate(tokens):
            inside = start <= t <= end
            rel, irr = [v @ h_rel for v in self.recurrent], [v @ h_irr for v in self.recurrent]
            own = [w @ self.embedding[token] for w in self.input]
            if inside:
                rel = [a + b for a, b in zip(rel, own, strict=True)]
            else:
                irr = [a + b for a, b in zip(irr, own, strict=True)]
            r_i, i_i, b_i = three_terms(sigmoid, rel[0], irr[0], self.bias[0])
            r_f, i_f, b_f = three_terms(sigmoid, rel[1], irr[1], self.bias[1])
            r_g, i_g, b_g = three_terms(np.tanh, rel[2], irr[2], self.bias[2])
            o = sigmoid(rel[3] + irr[3] + self.bias[3])
            new_rel = r_i * (r_g + b_g) + b_i * r_g + (r_f + b_f) * c_rel
            new_irr = i_i * (r_g + i_g + b_g) + (r_i + b_i) * i_g + (r_f + i_f + b_f) * c_irr + i_f * c_rel
            if inside:
                new_rel = new_rel + b_i * b_g
            else:
                new_irr = new_irr + b_i * b_g
            c_rel, c_irr = new_rel, new_irr
            t_rel, t_irr, t_both = np.tanh(c_rel), np.tanh(c_irr), np.tanh(c_rel + c_irr)
            h_rel, h_irr = o * (t_rel + t_both - t_irr) / 2, o * (t_irr + t_both - t_rel) / 2
        return self.readout @ h_rel


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def three_terms(function: Callable[[Array], Array], r: Array, i: Array, b: Array) -> tuple[Array, Array, Array]:
    alone, with_r, with_i, all_three = function(b), function(r + b), function(i + b), function(r + i + b)
    return (with_r - alone + all_three - with_i) / 2, (with_i - alone + all_three - with_r) / 2, alone


def process_time(run: Callable[[], object]) -> float:
    before = time.process_time()
    run()
    return time.process_time() - before


def best_of(programs: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Seconds of each; they take turns, so that a busy moment of the machine meets all of them."""
    best = dict.fromkeys(programs, float("inf"))
    for _ in range(ROUNDS):
        for name, run in programs.items():
            best[name] = min(best[name], process_time(run))
    return best


def gemm_rate() -> Callable[[], object]:
    square = torch.randn(1000, 1000)
    return lambda: square @ square


def state_steps(spans: Sequence[tuple[int, int]], time: int) -> int:
    """How many states Rote computes: at each step one for each different beginning that has begun."""
    return sum(len({(s, min(e, t)) for s, e in spans if s <= t}) for t in range(time))


def flops(spans: Sequence[tuple[int, int]], time: int, sequences: int) -> float:
    """Of the matrix products alone: the true states, the relevant parts, the logits of the last step."""
    size = HIDDEN * HIDDEN
    each = time * 8 * size + state_steps(spans, time) * 3 * size + len(spans) * HIDDEN * VOCABULARY
    return 2.0 * sequences * each


def measure(
    title: str,
    model: SequenceModel,
    loops: dict[str, PlainLoop],
    tokens: torch.Tensor,
    spans: Sequence[tuple[int, int]],
    sample: int,
) -> None:
    """Prints one comparison."""
    pairs, chosen = len(tokens) * len(spans), spans[:: max(1, len(spans) // sample)]
    rows = tokens.tolist()

    def ours(rules: str = "murdoch2018") -> torch.Tensor:
        return rote.decompose(model, tokens, spans, rules=rules, at=-1).logits()

    def plain(name: str) -> Callable[[], object]:
        return lambda: [loops[name].logits(rows[i % len(rows)], *span) for i, span in enumerate(chosen)]

    agreement = max(
        float(np.abs(loops["float64"].logits(rows[0], *spans[i]) - ours()[0, i, 0].numpy()).max())
        for i in range(0, len(spans), max(1, len(spans) // 5))
    )
    default = partial(ours, "shapley")
    best = best_of({"ours": ours, "default": default, "gemm": gemm_rate(), **{name: plain(name) for name in loops}})
    per_pair = {name: best[name] / len(chosen) for name in loops}
    rate, peak = flops(spans, tokens.shape[1], len(tokens)) / best["ours"] / 1e9, 2.0 / best["gemm"]
    print(f"{title}: {pairs} pairs in {best['ours'] * 1e3:.0f} ms, {best['ours'] / pairs * 1e6:.0f} us each")
    for name, seconds in per_pair.items():
        print(
            f"  {name + ' loop':15s} {seconds * 1e6:7.0f} us each: {seconds * pairs / best['ours']:5.0f} times as long"
        )
    print(
        f"  by the default rules, which also split the output gate: {best['default'] / best['ours']:.2f} times as long"
    )
    print(f"  products at {rate:.0f} GFLOP/s, {rate / peak:.0%} of this machine's float32 GEMM ({peak:.0f} GFLOP/s)")
    bound = per_pair["float64"] * pairs / best["ours"] * peak / rate
    print(f"  if everything but the products took no time: {bound:.0f} times as fast as the float64 loop")
    print(f"  largest difference of a logit: {agreement:.1e}")


def train(lstm: nn.LSTM, embedding: nn.Embedding, readout: nn.Linear, steps: int = 150) -> None:
    """A language model of pairs: each symbol is mostly followed by one of its own. Spans of untrained weights differ
    less, and what is unstable needs trained ones."""
    generator = torch.Generator().manual_seed(1)
    follower = torch.randperm(VOCABULARY, generator=generator)
    optimizer = torch.optim.Adam([*lstm.parameters(), *embedding.parameters(), *readout.parameters()], 0.003)
    for _ in range(steps):
        first = torch.randint(0, VOCABULARY, (32, 10), generator=generator)
        tokens = torch.stack([first, follower[first]], dim=2).view(32, 20).T  # lstm takes the time first
        logits = readout(lstm(embedding(tokens[:-1]))[0])
        optimizer.zero_grad()
        nn.functional.cross_entropy(logits.flatten(0, 1), tokens[1:].flatten()).backward()
        optimizer.step()


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    lstm, embedding = nn.LSTM(HIDDEN, HIDDEN), nn.Embedding(VOCABULARY, HIDDEN)
    readout = nn.Linear(HIDDEN, VOCABULARY)
    train(lstm, embedding, readout)
    model = rote.adapt(recurrent=lstm, embedding=embedding, readout=readout)
    loops = {
        "float64": PlainLoop(lstm, embedding, readout, np.float64),
        "float32": PlainLoop(lstm, embedding, readout, np.float32),
    }
    print(f"LSTM of {HIDDEN} units, vocabulary {VOCABULARY}, one thread, logits of the last step")
    # The spans of source 000: ten tokens of context, an opening symbol, eight tokens of conduit.
    study = [(10, 10), (11, 18), *((10, 10 + i) for i in range(1, 9))]
    anywhere = [(int(a), int(b)) for a, b in torch.randint(0, 19, (10, 2)).sort(1).values]
    every = [(start, end) for start in range(35) for end in range(start, 35)]
    hundred, one = torch.randint(0, VOCABULARY, (100, 19)), torch.randint(0, VOCABULARY, (1, 35))
    measure("length 19, the spans of source 000", model, loops, hundred, study, 10)
    measure("length 19, random spans", model, loops, hundred, anywhere, 10)
    measure("all spans of length 35", model, loops, one, every, 12)
    print("Target: at least 60 times the float64 loop for a pair of length 19, 130 times for all spans of length 35.")


if __name__ == "__main__":
    main()
