"""Would an examination cost less if its seeds were trained as one stacked program? Updates of several seeds together
against the same seeds one after the other, on the tasks and with the sizes of the battery.

    python benchmarks/examination_stacked.py
    python benchmarks/examination_stacked.py --learners min_gru,attention --tasks lookup,recombine

Registered recurrent cells of one layer are stacked as ``rote.cells.run_stacked`` does it; any other module by torch's
``functional_call`` under ``vmap``, where torch can batch it: it cannot batch its own recurrent kernels, nor an
``autograd.Function`` without a rule. ``kernel``, ``gated``, ``attention`` and ``convolution`` stand for modules of
users. The baseline is what ``rote examine`` does for each seed. Both ways make the same updates: AdamW with the
gradient cut off at a norm of 1, on the same items with the same weights, which is checked by the losses. One thread,
processor time, rounds that take turns, the fastest of each. Numbers above 1: stacking is faster.

An examination trains, for each task, the first seed with three learning rates, and then four seeds with those rates
that are equally good. What it would gain is told twice, over all tasks, weighted with their updates:

- seeds: only trainings that differ in nothing but the seed are stacked, with the rates that the kept profiles chose. It
  is the mean over these profiles.
- all: the three rates of the first seed are one program, the four seeds another: each network with a rate of its own.

What a training takes beside its updates (items, records, what is asked of the trained network) is left out: it stays.
"""

from __future__ import annotations

import argparse
import copy
import math
import time
from collections import Counter
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import cross_entropy, embedding, pad

from rote.cells import run_stacked, stack, stacked_linear
from rote.examination import battery, kept_profiles
from rote.examination.calling import logits_of
from rote.examination.learners import FITTED, enter
from rote.examination.plan import rates_of, standard
from rote.examination.task import NOTHING, START
from rote.examination.training import ExaminationProgram
from rote.models import SequenceModel

SIZES = (2, 3, 4, 5)
UPDATES, ROUNDS, RATE = 4, 3, 0.001
LEARNERS = "lstm,gru,elman,nested_lstm,min_gru,ssd,transformer,kernel,gated,attention,convolution"


class Kernel(nn.Module):
    """torch's own GRU, as most users write a recurrent model."""

    def __init__(self, symbols: int) -> None:
        super().__init__()
        self.embedding, self.gru = nn.Embedding(symbols, 48), nn.GRU(48, 72, batch_first=True)
        self.readout = nn.Linear(72, symbols)

    def forward(self, tokens: Tensor) -> Tensor:
        logits: Tensor = self.readout(self.gru(self.embedding(tokens))[0])
        return logits


class Gated(nn.Module):
    """A gated unit, step by step."""

    def __init__(self, symbols: int, units: int = 72) -> None:
        super().__init__()
        self.units = units
        self.embedding, self.entering = nn.Embedding(symbols, 48), nn.Linear(48, 3 * units)
        self.recurrent, self.readout = nn.Linear(units, 3 * units), nn.Linear(units, symbols)

    def forward(self, tokens: Tensor) -> Tensor:
        entered = self.entering(self.embedding(tokens))
        hidden, found = entered.new_zeros(len(tokens), self.units), []
        for now in entered.unbind(1):
            reset, keep, new = now.chunk(3, -1)
            old_reset, old_keep, old_new = self.recurrent(hidden).chunk(3, -1)
            kept = torch.sigmoid(keep + old_keep)
            hidden = kept * hidden + (1 - kept) * torch.tanh(new + torch.sigmoid(reset + old_reset) * old_new)
            found.append(hidden)
        logits: Tensor = self.readout(torch.stack(found, 1))
        return logits


class Attention(nn.Module):
    """Two blocks of causal attention with products and a softmax."""

    def __init__(self, symbols: int, width: int = 48, blocks: int = 2) -> None:
        super().__init__()
        self.embedding, self.places = nn.Embedding(symbols, width), nn.Parameter(torch.randn(64, width) / 50)
        self.asking = nn.ModuleList(nn.Linear(width, 3 * width) for _ in range(blocks))
        self.back = nn.ModuleList(nn.Linear(width, width) for _ in range(blocks))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2 * blocks))
        self.feedforward = nn.ModuleList(
            nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)) for _ in range(blocks)
        )
        self.readout = nn.Linear(width, symbols)

    def forward(self, tokens: Tensor) -> Tensor:
        batch, steps = tokens.shape
        values = self.embedding(tokens) + self.places[:steps]
        later = torch.ones(steps, steps, dtype=torch.bool).triu(1)
        for block, asking in enumerate(self.asking):
            parts = asking(self.norms[2 * block](values)).view(batch, steps, 3, 4, -1).permute(2, 0, 3, 1, 4)
            query, key, value = parts.unbind(0)
            weights = (query @ key.mT / math.sqrt(query.shape[-1])).masked_fill(later, -1e9).softmax(-1)
            values = values + self.back[block]((weights @ value).transpose(1, 2).flatten(2))
            values = values + self.feedforward[block](self.norms[2 * block + 1](values))
        logits: Tensor = self.readout(values)
        return logits


class Convolution(nn.Module):
    """Four causal convolutions, each twice as wide apart."""

    def __init__(self, symbols: int, width: int = 64) -> None:
        super().__init__()
        self.embedding, self.readout = nn.Embedding(symbols, width), nn.Linear(width, symbols)
        self.layers = nn.ModuleList(nn.Conv1d(width, width, 3, dilation=apart) for apart in (1, 2, 4, 8))
        self.apart = (1, 2, 4, 8)

    def forward(self, tokens: Tensor) -> Tensor:
        values = self.embedding(tokens).mT
        for layer, apart in zip(self.layers, self.apart, strict=True):
            values = values + torch.relu(layer(pad(values, (2 * apart, 0))))
        logits: Tensor = self.readout(values.mT)
        return logits


OWN: dict[str, Callable[[int], nn.Module]] = {
    "kernel": Kernel, "gated": Gated, "attention": Attention, "convolution": Convolution,
}  # fmt: skip


class Alone:
    """Seeds one after the other, as they are examined."""

    def __init__(self, programs: list[ExaminationProgram]) -> None:
        self.programs = programs
        self.weights = [list(program.model.parameters()) for program in self.programs]
        self.optimizers = [torch.optim.AdamW(each, lr=RATE, fused=True) for each in self.weights]

    def update(self, step: int) -> list[float]:
        losses = []
        for program, weights, optimizer in zip(self.programs, self.weights, self.optimizers, strict=True):
            loss = program.losses(step)
            optimizer.zero_grad()
            loss.sum().backward()
            nn.utils.clip_grad_norm_(weights, 1.0)
            optimizer.step()
            losses.append(float(loss))
        return losses


class Together:
    """The same as one program; every weight has a first axis of seeds."""

    def __init__(self, programs: list[ExaminationProgram]) -> None:
        self.programs = programs
        self.models = [program.model for program in self.programs]
        self.weights: list[Tensor] = []
        first = self.models[0]
        if isinstance(first, SequenceModel):
            self._stack_cells([model for model in self.models if isinstance(model, SequenceModel)])
        else:
            self.named, self.buffers = stack_module_state(self.models)
            self.weights = list(self.named.values())
        self.optimizer = torch.optim.AdamW(self.weights, lr=RATE, fused=True)

    def _stack_cells(self, models: Sequence[SequenceModel]) -> None:
        self.cell = stack([model.recurrent.cell(0) for model in models])
        parts = [model.embedding.weight for model in models if model.embedding is not None]
        readouts = [model.linear_readout for model in models if model.linear_readout is not None]
        self.table = _stacked(parts)
        self.readout, self.bias = (_stacked([getattr(one, name) for one in readouts]) for name in ("weight", "bias"))
        self.weights = [*self.cell.parameters(), self.table, self.readout, self.bias]

    def update(self, step: int) -> list[float]:
        tokens, targets = self._batch(step)
        logits = self._logits(tokens).flatten(0, 2)
        each = cross_entropy(logits, targets.flatten(), ignore_index=NOTHING, reduction="none")
        losses = each.view(len(tokens), -1).sum(1) / (targets != NOTHING).flatten(1).sum(1)
        self.optimizer.zero_grad()
        losses.sum().backward()
        self._clip()
        self.optimizer.step()
        return list(map(float, losses))

    def _batch(self, step: int) -> tuple[Tensor, Tensor]:
        """Of every seed, filled up to the longest."""
        pairs = [(program, program._rows(step)) for program in self.programs]
        end = max(int(program.ends[rows].max()) for program, rows in pairs)
        tokens = [_filled(program.tokens[rows, :end], end, START) for program, rows in pairs]
        targets = [_filled(program.targets[rows, :end], end, NOTHING) for program, rows in pairs]
        return torch.stack(tokens), torch.stack(targets)

    def _logits(self, tokens: Tensor) -> Tensor:
        if isinstance(self.models[0], SequenceModel):
            first = torch.arange(len(tokens))[:, None, None] * self.table.shape[1]
            hidden, _ = run_stacked(self.cell, embedding(tokens + first, self.table.flatten(0, 1)))
            return stacked_linear(hidden.flatten(1, 2), self.readout, self.bias).view(*hidden.shape[:3], -1)

        def one(weights: dict[str, Tensor], buffers: dict[str, Tensor], read: Tensor) -> Tensor:
            return logits_of(_Called(self.models[0], weights, buffers), read)

        with sdpa_kernel(SDPBackend.MATH):  # the other kernels cannot be batched
            found: Tensor = vmap(one, randomness="different")(self.named, self.buffers, tokens)
        return found

    def _clip(self) -> None:
        gradients = [weight.grad for weight in self.weights if weight.grad is not None]
        norms = torch.stack([torch.linalg.vector_norm(gradient.flatten(1), dim=1) for gradient in gradients])
        scale = (1 / (torch.linalg.vector_norm(norms, dim=0) + 1e-6)).clamp(max=1.0)
        for gradient in gradients:
            gradient.mul_(scale.view(-1, *[1] * (gradient.dim() - 1)))


class _Called(nn.Module):
    def __init__(self, model: nn.Module, weights: dict[str, Tensor], buffers: dict[str, Tensor]) -> None:
        super().__init__()
        self._call = lambda read: functional_call(model, (weights, buffers), (read,))

    def forward(self, read: Tensor) -> Tensor:
        found: Tensor = self._call(read)
        return found


def _filled(part: Tensor, end: int, value: int) -> Tensor:
    return pad(part, (0, end - part.shape[1]), value=value)


def _stacked(weights: Sequence[Tensor]) -> nn.Parameter:
    return nn.Parameter(torch.stack([weight.detach() for weight in weights]))


def seconds(name: str, task: str) -> dict[int, float]:
    """Of one update: 1 is that of a seed alone, other numbers that of so many together."""
    drawn = [ExaminationProgram(name, battery[task](), seed) for seed in range(max(SIZES))]
    ways: dict[int, Alone | Together] = {size: Together(copy.deepcopy(drawn[:size])) for size in SIZES}
    ways[1] = Alone(drawn)
    for step in range(2):  # which also warms up
        alone = ways[1].update(step)
        for size in SIZES:
            torch.testing.assert_close(ways[size].update(step), alone[:size], rtol=1e-3, atol=1e-4)
    found = dict.fromkeys(ways, math.inf)
    for turn in range(ROUNDS):
        for size, way in ways.items():
            begun = time.process_time()
            for step in range(UPDATES):
                way.update(2 + turn * UPDATES + step)
            found[size] = min(found[size], (time.process_time() - begun) / UPDATES)
    return {**found, 1: found[1] / len(drawn)}


def groups_of_kept() -> list[dict[str, list[int]]]:
    """How many trainings of each task differ in the seed alone, in the examinations of the profiles that are kept."""
    found = []
    for profile in kept_profiles():
        if profile.name not in FITTED:
            rates = {task: rates_of(profile.plan["seeds"], each) for task, each in profile.plan["rates"].items()}
            rest = {task: Counter(list(each.values())[1:]) for task, each in rates.items()}
            found.append({task: [1, 1, 1, *each.values()] for task, each in rest.items()})
    return found


def main() -> None:
    torch.set_num_threads(1)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--learners", default=LEARNERS)
    parser.add_argument("--tasks", default=",".join(standard()))
    chosen = parser.parse_args()
    tasks, kept = chosen.tasks.split(","), groups_of_kept()
    for name, make in OWN.items():
        enter(f"own:{name}", make)
    print(f"{'learner':13}{'5 together against 5 alone, by task':60}{'all 5':>7}{'seeds':>7}{'all':>7}")
    for learner in chosen.learners.split(","):
        name = f"own:{learner}" if learner in OWN else learner
        try:
            cost = {
                task: {size: battery[task].steps * one for size, one in seconds(name, task).items()} for task in tasks
            }
        except RuntimeError as error:
            print(f"{learner:13}torch cannot batch it: {' '.join(str(error).split())[:90]}", flush=True)
            continue
        ratios = " ".join(f"{5 * cost[task][1] / cost[task][5]:.2f}" for task in tasks)
        alone = sum(one[1] for one in cost.values())
        five = 5 * alone / sum(one[5] for one in cost.values())
        same = [7 * alone / sum(cost[task][size] for task in tasks for size in one[task]) for one in kept]
        every = 7 * alone / sum(one[3] + one[4] for one in cost.values())
        print(f"{learner:13}{ratios:60}{five:7.2f}{sum(same) / len(same):7.2f}{every:7.2f}", flush=True)
    print(f"Tasks: {', '.join(tasks)}.")


if __name__ == "__main__":
    main()
