"""Networks that have learned a program: compiled ones are saturated and sparse, and a method must stand both.

Inputs are one-hot, without a symbol zero, as in compiled networks; what is learned are the cell and the readout. A
network is given out only if it is right on every deletion of the strings that it is tried on.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from rote.cells import Recurrent, cells
from rote.court.enumeration import sets_of
from rote.court.program import NOTHING, Program, as_program
from rote.errors import UsageError
from rote.models.initialization import drawn_from
from rote.models.sequence import SequenceModel

LENGTH = 8  # of the strings that it is tried on
TRIED = 24  # of them
EVERY = 50  # steps after which it is tried


@dataclass(frozen=True)
class Learning:
    """How networks learn a program; half of the strings have no-ops."""

    hidden: int = 20
    steps: int = 4000  # at most
    batch: int = 64
    length: int = 10
    learning_rate: float = 0.01
    near: float = 0.25  # of the gap between two outputs: what counts as right


def start(program: Program, cell: str, hidden: int, seed: int) -> SequenceModel:
    """A network before it has learned anything, in double precision."""
    options: dict[str, Any] = {"nonlinearity": "relu"} if cell == "elman_relu" else {}
    kind = "elman" if cell == "elman_relu" else cell
    size = len(program.symbols)
    with drawn_from(seed):
        unit = cells[kind](size, hidden, **options)
        readout = nn.Linear(unit.output_size, len(program.outputs))
    table: nn.Embedding = nn.Embedding.from_pretrained(torch.eye(size), freeze=True)
    return SequenceModel(Recurrent([unit]), table, readout).double()


def vectors_of(tokens: np.ndarray, symbols: int) -> Tensor:
    """One-hot, zero for a no-op."""
    table = torch.cat([torch.eye(symbols), torch.zeros(1, symbols)]).double()
    return table[torch.from_numpy(tokens)]


def batch_of(program: Program, seed: int, step: int, settings: Learning) -> tuple[Tensor, Tensor]:
    """The strings of one step, and what the program says after every symbol."""
    number = 1_000_003 * (seed + 1) + step
    half = settings.batch // 2
    tokens = np.concatenate(
        [
            program.strings(number, settings.batch - half, settings.length),
            program.strings(number, half, settings.length, blanks=0.5),
        ]
    )
    return vectors_of(tokens, len(program.symbols)), torch.from_numpy(program.values(tokens))


def loss_of(model: SequenceModel, vectors: Tensor, said: Tensor) -> Tensor:
    hidden, _ = model.recurrent(vectors)
    assert model.readout is not None
    return nn.functional.mse_loss(model.readout(hidden), said)


@torch.no_grad()
def solved(model: SequenceModel, program: Program, tokens: np.ndarray, near: float) -> bool:
    """Whether the last output is right for every string with any of its symbols deleted."""
    kept = sets_of(tokens.shape[1])
    every = np.where(kept, tokens[:, None], NOTHING).reshape(-1, tokens.shape[1])
    hidden, _ = model.recurrent(vectors_of(every, len(program.symbols)))
    missed = np.abs(model.read(hidden[:, -1]).numpy() - program.values(every)[:, -1]).max()
    return bool(missed < near * program.gap)


@contextmanager
def one_thread() -> Iterator[None]:
    """The networks are so small that threads would wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@one_thread()
def learn(program: Program, cell: str, seed: int, settings: Learning) -> SequenceModel | None:
    """Trained until it is right; None if it never is."""
    model = start(program, cell, settings.hidden, seed)
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    optimizer = torch.optim.Adam(weights, settings.learning_rate)
    tried = program.strings(9_000_000 + seed, TRIED, LENGTH)
    for step in range(settings.steps):
        if step and step % EVERY == 0 and solved(model, program, tried, settings.near):
            return model.requires_grad_(False).eval()
        optimizer.zero_grad()
        loss_of(model, *batch_of(program, seed, step, settings)).backward()
        nn.utils.clip_grad_norm_(weights, 1.0)
        for group in optimizer.param_groups:  # down to a tenth at the end
            group["lr"] = settings.learning_rate * (1 - 0.9 * step / settings.steps)
        optimizer.step()
    return model.requires_grad_(False).eval() if solved(model, program, tried, settings.near) else None


def trained(
    program: str | Program, cell: str = "lstm", seed: int = 0, settings: Learning | None = None
) -> SequenceModel:
    """A network that has learned the program to the last deletion: some seconds.

    >>> import torch
    >>> from rote import court
    >>> model = court.trained("latch", "gru", seed=1)
    >>> tokens = torch.from_numpy(court.programs["latch"].encode("+.-,."))
    >>> [round(value) for value in model(tokens)[0, :, 0].tolist()]
    [1, 1, -1, -1, -1]
    """
    program = as_program(program)
    found = learn(program, cell, seed, settings or Learning())
    if found is None:
        raise UsageError(
            f"{cell} has not learned {program.name!r} from seed {seed}. Take another seed, or more units or steps."
        )
    return found
