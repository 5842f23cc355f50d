"""Which rules of contextual decomposition are closest to the truth, on networks trained here.

Small networks learn programs on strings of eight symbols, with any of the positions left out (an input of zero), until
they are right on all of them. Then the network's own game can be played to the end: the output with every subset of the
positions, 256 forward passes for a string, gives the exact Shapley value of each position. Each rule's relevant part,
read out, is compared with it: the cosine, and the median of |difference| / |Shapley value|; and with what a position
does alone and what is lost without it, the cosines.

Other cells than GRU and LSTM by name: python benchmarks/decomposition_rules.py min_gru rg_lru
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

import rote
from rote.cells import Recurrent
from rote.errors import UsageError

TIME, UNITS, STRINGS, STEPS = 8, 20, 12, 3000
RULES = {
    "murdoch2018": {"rules": "murdoch2018"},
    "source interactions": {"rules": "murdoch2018", "interactions": "source"},
    "gcd2019": {"rules": "gcd2019"},
    "shapley, gates in parts": {"gates": "parts"},
    "shapley, gates whole": {"gates": "whole"},
}
SUBSETS = torch.tensor(list(itertools.product([0.0, 1.0], repeat=TIME)))  # [256, time]


def latch(tokens: Tensor, there: Tensor) -> Tensor:
    """Which of two symbols came last: 1 or 2; 0 if none did."""
    state = torch.zeros(len(tokens), dtype=torch.long)
    for t in range(TIME):
        write = there[:, t].bool() & (tokens[:, t] < 2)
        state = torch.where(write, tokens[:, t] + 1, state)
    return state


def parity(tokens: Tensor, there: Tensor) -> Tensor:
    """Whether symbol 0 came an odd number of times."""
    return (((tokens == 0) * there).sum(1) % 2).long()


def both(tokens: Tensor, there: Tensor) -> Tensor:
    """Whether symbols 0 and 1 both came."""
    return (((tokens == 0) * there).any(1) & ((tokens == 1) * there).any(1)).long()


def mod3(tokens: Tensor, there: Tensor) -> Tensor:
    """The sum of the symbols modulo 3."""
    return ((tokens * there).sum(1) % 3).long()


Program = Callable[[Tensor, Tensor], Tensor]
PROGRAMS: tuple[Program, ...] = (latch, parity, both, mod3)


class Network(nn.Module):
    def __init__(self, cell: str) -> None:
        super().__init__()
        kinds = {"GRU": nn.GRU, "LSTM": nn.LSTM}
        self.recurrent = kinds[cell](4, UNITS, batch_first=True) if cell in kinds else Recurrent(cell, 4, UNITS)
        self.readout = nn.Linear(UNITS, 3)

    def forward(self, tokens: Tensor, there: Tensor) -> Tensor:
        return self.readout(self.recurrent(self.vectors(tokens, there))[0][:, -1])

    def vectors(self, tokens: Tensor, there: Tensor) -> Tensor:
        return nn.functional.one_hot(tokens, 4).to(there.dtype) * there[..., None]


def trained(program, cell: str, seed: int) -> Network | None:
    """A network that is right on every subset of the positions of its test strings; None if it is not learned."""
    torch.manual_seed(seed)
    network = Network(cell)
    optimizer = torch.optim.Adam(network.parameters(), 0.01)
    for _ in range(STEPS):
        tokens = torch.randint(0, 4, (256, TIME))
        there = (torch.rand(256, TIME) < torch.rand(256, 1)).float()
        loss = nn.functional.cross_entropy(network(tokens, there), program(tokens, there))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if loss < 1e-3:
            break
    tokens = torch.randint(0, 4, (64, TIME)).repeat_interleave(len(SUBSETS), 0)
    there = SUBSETS.repeat(64, 1)
    with torch.no_grad():
        right = (network(tokens, there).argmax(1) == program(tokens, there)).all()
    return network.double() if right else None


@torch.no_grad()
def shapley_values(network: Network, string: Tensor, output: int) -> Tensor:
    """[3, time], exact: Shapley values, what each position does alone, what is lost without it."""
    values = network(string.expand(len(SUBSETS), -1), SUBSETS.double())[:, output]
    sizes = SUBSETS.sum(1).long()
    weights = torch.tensor([math.factorial(s) * math.factorial(TIME - s - 1) for s in range(TIME)], dtype=torch.float64)
    weights /= math.factorial(TIME)
    found = []
    for t in range(TIME):
        without = SUBSETS[:, t] == 0
        gain = values[without.nonzero()[:, 0] + 2 ** (TIME - 1 - t)] - values[without]
        found.append(torch.stack([(weights[sizes[without]] * gain).sum(), gain[0], gain[-1]]))
    return torch.stack(found, 1)


def compared(
    cells: list[str], programs: Sequence[Program] = PROGRAMS
) -> tuple[dict[tuple[str, str], list[tuple[float, ...]]], list[str]]:
    """By cell and rule, of every network: cosines, error, growth; and what was not learned."""
    rows: dict[tuple[str, str], list[tuple[float, ...]]] = {}
    left_out = []
    for program, cell, seed in itertools.product(programs, cells, range(2)):
        network = trained(program, cell, seed)
        if network is None:
            left_out.append(f"{program.__name__}, {cell}, seed {seed}")
            continue
        model = rote.adapt(recurrent=network.recurrent, readout=network.readout)
        strings = torch.randint(0, 4, (STRINGS, TIME), generator=torch.Generator().manual_seed(seed))
        outputs = program(strings, torch.ones(STRINGS, TIME))
        truth = torch.stack([shapley_values(network, s, int(o)) for s, o in zip(strings, outputs, strict=True)])
        vectors = network.vectors(strings, torch.ones(STRINGS, TIME, dtype=torch.float64))
        for name, rules in RULES.items():
            try:
                parts = rote.decompose(model, vectors, [(t, t) for t in range(TIME)], at=-1, **rules)
            except UsageError:  # refused on this cell
                continue
            ours = parts.logits()[:, :, 0].gather(2, outputs[:, None, None].expand(-1, TIME, 1))[..., 0]
            cosines = nn.functional.cosine_similarity(ours[:, None], truth, dim=-1).mean(0)
            error = ((ours - truth[:, 0]).norm(dim=1) / truth[:, 0].norm(dim=1)).median()
            rows.setdefault((cell, name), []).append((*cosines.tolist(), float(error), float(parts.growth.max())))
    return rows, left_out


def main() -> None:
    torch.set_num_threads(1)
    rows, left_out = compared(sys.argv[1:] or ["GRU", "LSTM"])
    for network in left_out:
        print(f"{network}: not learned in {STEPS} steps, left out")
    print(f"{'cell':8s} {'rules':23s} networks  cosine   alone  removed   error  largest growth")
    for (cell, name), values in rows.items():
        *measured, growth = zip(*values, strict=True)
        cosine, alone, removed, error = (sum(v) / len(v) for v in measured)
        told = f"{len(values):8d}  {cosine:6.2f}  {alone:6.2f}  {removed:7.2f}  {error:6.2f}  {max(growth):14.1f}"
        print(f"{cell:8s} {name:23s} {told}")


if __name__ == "__main__":
    main()
