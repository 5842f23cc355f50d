"""Elman's procedure: a population in one loop against the same networks one after the other, and against autograd.

Symbols learned per second of process time, one thread, medians of rounds in which all take turns; the same weights at
the end are checked.
"""

from __future__ import annotations

import itertools
import statistics
import time

import numpy as np
import torch

from rote.models import StackedSRN

ROUNDS, SEEDS, RATE = 5, 10, 0.1
SIZES = {"xor": (1, 2, 400), "letters, words": (6, 20, 400), "lexicon": (31, 150, 100)}  # bits, hidden units, symbols


def networks(bits: int, hidden: int, seeds: range) -> StackedSRN:
    return StackedSRN(bits, hidden, bits, seeds, 0.5, torch.float32)


def together(codes: np.ndarray, bits: int, hidden: int) -> torch.Tensor:
    made = networks(bits, hidden, range(SEEDS))
    made.learn(codes[:, :-1], codes[:, 1:], RATE)
    return made.inner


def one_by_one(codes: np.ndarray, bits: int, hidden: int) -> torch.Tensor:
    found = []
    for seed in range(SEEDS):
        made = networks(bits, hidden, range(seed, seed + 1))
        made.learn(codes[seed : seed + 1, :-1], codes[seed : seed + 1, 1:], RATE)
        found.append(made.inner)
    return torch.cat(found)


def autograd(codes: np.ndarray, bits: int, hidden: int) -> torch.Tensor:
    """All networks as one torch program, the context detached."""
    made = networks(bits, hidden, range(SEEDS))
    inner, outer = made.inner.detach().requires_grad_(), made.outer.detach().requires_grad_()
    context, one = made.context.clone(), torch.ones(SEEDS, 1)
    values = torch.from_numpy(codes.astype(np.float32)).transpose(0, 1)
    for now, wanted in itertools.pairwise(values):
        state = torch.sigmoid(torch.bmm(torch.cat([now, context, one], 1)[:, None], inner))
        output = torch.sigmoid(torch.bmm(torch.cat([state[:, 0], one], 1)[:, None], outer))[:, 0]
        gradients = torch.autograd.grad(0.5 * (wanted - output).square().sum(), [inner, outer])
        with torch.no_grad():
            inner.sub_(gradients[0], alpha=RATE)
            outer.sub_(gradients[1], alpha=RATE)
        context = state[:, 0].detach()
    return inner.detach()


def main() -> None:
    torch.set_num_threads(1)
    for name, (bits, hidden, symbols) in SIZES.items():
        codes = np.random.default_rng(0).integers(0, 2, (SEEDS, symbols + 1, bits)).astype(np.float64)
        programs = (together, one_by_one, autograd)
        results = [program(codes, bits, hidden) for program in programs]
        for other in results[1:]:
            torch.testing.assert_close(results[0], other, rtol=1e-3, atol=1e-4)
        rounds = []
        for _ in range(ROUNDS):
            taken = []
            for program in programs:
                before = time.process_time()
                program(codes, bits, hidden)
                taken.append(time.process_time() - before)
            rounds.append(taken)
        speed = SEEDS * symbols / statistics.median(row[0] for row in rounds)
        ratios = [statistics.median(row[index] / row[0] for row in rounds) for index in (1, 2)]
        print(
            f"{name:15s} {SEEDS} networks, {hidden} hidden units: {speed:9,.0f} symbols/s; {ratios[0]:.1f} times one "
            f"by one, {ratios[1]:.1f} times autograd"
        )


if __name__ == "__main__":
    main()
