"""A program compiled into the weights of a recurrent network: ``compile(program, cell)``.

The network is a ``SequenceModel`` as any other. It is compared with the program before it is given out, on random
strings of up to 200 symbols, half of them with 95 % no-ops, and knows its margin.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from rote.cells import Recurrent, cells
from rote.court import constructions as hold
from rote.court.codes import Built
from rote.court.counting_programs import Counter
from rote.court.memory_programs import Copy
from rote.court.program import Automaton, Program, as_program
from rote.court.registers import copy, counter
from rote.errors import UnknownNameError, UsageError
from rote.models.sequence import SequenceModel

AUTOMATA: dict[str, Callable[[Automaton, str, float], Built]] = {
    "elman": hold.elman, "elman_relu": hold.elman_relu, "gru": hold.gru, "gru_before": hold.gru, "lstm": hold.lstm,
    "peephole_lstm": hold.peephole_lstm, "nested_lstm": hold.nested_lstm, "min_gru": hold.min_gru,
    "min_lstm": hold.min_lstm,
}  # fmt: skip
COMPILED = tuple(AUTOMATA)
CODINGS = ("busy", "lazy")
MORE_CODINGS = {"lstm": ("candidate", "idle"), "peephole_lstm": ("candidate", "idle")}
CANNOT = {
    "lru": "its step is linear in the state and the same at every step, so that a symbol cannot erase what was written",
    "rg_lru": "no construction is known here: how far it forgets and how much it writes are one gate",
    "s6": "no construction is known here: its gates see the input alone, and it has no candidate that is bounded",
}
CHECKED = (5, 20, 200)  # lengths
STRINGS = 16  # of each length, with few and with many no-ops
ALLOWED = 0.5  # of half the gap between two outputs


class Compiled(SequenceModel):
    """A network that holds a program. Without a symbol, an input is the zero vector."""

    def __init__(self, program: Program, cell: str, built: Built, recurrent: Recurrent, table: Tensor) -> None:
        readout = nn.Linear(len(built.carries), len(built.readout)).double()
        with torch.no_grad():
            readout.weight.copy_(torch.from_numpy(built.readout))
            readout.bias.copy_(torch.from_numpy(built.offset))
        embedding: nn.Embedding = nn.Embedding.from_pretrained(table, freeze=True)
        super().__init__(recurrent, embedding, readout)
        self.program, self.cell_name, self.carries = program, cell, built.carries
        self.deviation = 0.0  # the largest difference from the program that was seen
        self.requires_grad_(False).eval()

    @property
    def margin(self) -> float:
        """How far the outputs seen stayed from half way to another one."""
        return self.program.gap / 2 - self.deviation

    def vectors(self, tokens: np.ndarray) -> Tensor:
        """Of strings with no-ops."""
        table = torch.cat([self.embedding_matrix(), self.zeros.new_zeros(1, self.recurrent.cell(0).input_size)])
        return table[torch.from_numpy(tokens)]

    @torch.no_grad()
    def outputs(self, tokens: np.ndarray) -> np.ndarray:
        """[string, time, output] of strings with no-ops."""
        hidden, _ = self.recurrent(self.vectors(tokens))
        said: np.ndarray = self.read(hidden).numpy()
        return said


def compile(
    program: str | Program,
    cell: str = "lstm",
    *,
    saturation: float = 12.0,
    coding: str = "busy",
    redundancy: int = 1,
    rotation: int | None = None,
) -> Compiled:
    """A network whose outputs are the program's, and whose units are known.

    - cell: elman, elman_relu, gru, gru_before, lstm, peephole_lstm or nested_lstm hold every program; min_gru and
      min_lstm those whose symbols lead to one state or change nothing, and the counter.
    - saturation: H; every squashed argument is H or beyond. Long strings need more: a gate leaks exp(-H) per step.
    - coding: "busy" (every symbol codes the state anew) | "lazy" (symbols that change nothing have no weight); of LSTMs
      also "candidate" (signs are written, not ones) | "idle" (gates act only where the state changes).
    - redundancy: copies of each unit, among which its outgoing weights are shared.
    - rotation: a seed. The units are put in another order, some with their sign flipped where the cell allows it, and
      the input vectors are turned by an orthogonal matrix (not of elman_relu, which grows rounding). All variants
      compute the same.

    >>> from rote import court
    >>> model = court.compile("latch", cell="gru")
    >>> tokens = court.programs["latch"].encode("+.-,.")
    >>> model.outputs(tokens)[0, :, 0].round(2).tolist()
    [1.0, 1.0, -1.0, -1.0, -1.0]
    >>> bool(model.margin > 0.49), model.carries[0]
    (True, 'in empty after .')
    """
    program = as_program(program)
    _check(program, cell, saturation, coding, redundancy)
    if isinstance(program, Automaton):
        built = AUTOMATA[cell](program, coding, float(saturation))
    elif isinstance(program, Counter | Copy):
        if coding != "busy":
            raise UsageError(f"{program.name!r} has one coding. Got coding={coding!r}: leave it out.")
        built = (
            counter(program, cell, float(saturation))
            if isinstance(program, Counter)
            else copy(program, cell, float(saturation))
        )
    else:
        raise UsageError(f"Only automata, the counter and copy can be compiled. Got {type(program).__name__}.")
    model = _network(program, cell, built, redundancy, rotation)
    model.deviation = deviation(model, program)
    if model.deviation > ALLOWED * program.gap / 2:
        raise UsageError(
            f"{program.name!r} in {cell} is off by {model.deviation:.2g} within {CHECKED[-1]} symbols at saturation "
            f"{saturation:g}. Take a larger one, such as {max(12, 2 * saturation):g}."
        )
    return model


def _check(program: Program, cell: str, saturation: float, coding: str, redundancy: int) -> None:
    if cell in CANNOT:
        raise UsageError(f"{cell} cannot hold {program.name!r}: {CANNOT[cell]}. Choose from {', '.join(COMPILED)}.")
    if cell not in AUTOMATA:
        known = " It is a cell, but how it holds a program is not known." if cell in cells else ""
        raise UnknownNameError("compiled cell", cell, COMPILED, known)
    codings = (*CODINGS, *MORE_CODINGS.get(cell, ()))
    if coding not in codings:
        raise UsageError(f"'coding' of {cell} must be one of {', '.join(codings)}. Got {coding!r}.")
    if not 0 < saturation <= 200:
        raise UsageError(f"'saturation' must be above 0 and at most 200. Got {saturation}.")
    if redundancy < 1:
        raise UsageError(f"'redundancy' must be at least 1. Got {redundancy}.")


def _network(program: Program, cell: str, built: Built, redundancy: int, rotation: int | None) -> Compiled:
    units = len(built.carries)
    weights = {name: torch.from_numpy(np.ascontiguousarray(value)).double() for name, value in built.weights.items()}
    order, signs = torch.arange(units).repeat_interleave(redundancy), torch.ones(units * redundancy).double()
    shares = torch.tensor(_shares(redundancy)).double().repeat(units)
    table = torch.eye(len(program.symbols)).double()
    if rotation is not None:
        generator = torch.Generator().manual_seed(rotation)
        places = torch.randperm(len(order), generator=generator)
        order, shares = order[places], shares[places]
        if cell in FLIPPED:
            signs = torch.randint(2, (len(order),), generator=generator).double() * 2 - 1
        if cell != "elman_relu":  # which is exact, but grows what rounding leaves
            table = torch.linalg.qr(torch.randn(table.shape, generator=generator).double()).Q
    made = {name: _varied(name, value, units, order, signs, shares, cell) for name, value in weights.items()}
    made["weight_ih"] = made["weight_ih"] @ table  # table is orthogonal: table[s] comes in, its coordinates come out
    readout = torch.from_numpy(built.readout)[:, order] * signs * shares
    varied = Built({}, readout.numpy(), built.offset, tuple(built.carries[i] for i in order.tolist()))
    kind = "elman" if cell == "elman_relu" else cell
    given = {name: nn.Parameter(value, requires_grad=False) for name, value in made.items()}
    options: dict[str, Any] = built.options
    unit = cells[kind](len(program.symbols), len(order), biases="one", weights=given, **options)
    return Compiled(program, cell, varied, Recurrent([unit]), table)


FLIPPED = {"elman": (0,), "gru": (2,), "gru_before": (2,), "lstm": (2,), "peephole_lstm": (2,)}  # rows that are odd


def _shares(copies: int) -> list[float]:
    """Of the outgoing weights, for each copy of a unit: powers of two, which round nothing."""
    halves = [2.0**-place for place in range(1, copies)]
    return [*halves, halves[-1]] if halves else [1.0]


def _varied(name: str, weight: Tensor, units: int, order: Tensor, signs: Tensor, shares: Tensor, cell: str) -> Tensor:
    """A weight for the units in another order, as copies, and with signs flipped."""
    groups = weight.view(-1, units, *weight.shape[1:])[:, order]
    if not name.startswith("peephole"):
        flips = torch.ones(groups.shape[:2]).double()
        for group in FLIPPED.get(cell, ()):
            flips[group] = signs
        groups = groups * flips.view(*flips.shape, *[1] * (groups.dim() - 2))
    if name == "weight_hh":  # what units read of each other
        groups = groups[..., order] * signs * shares
    elif name in ("weight_ih_1", "weight_hh_1"):  # the inner LSTM of a unit, which sees that unit alone
        groups = torch.where(torch.eye(len(order)).bool(), groups[..., order], 0.0)
    return groups.flatten(0, 1).contiguous()


def deviation(model: Compiled, program: Program, seed: int = 0) -> float:
    """The largest difference from the program on random strings of several lengths, with few and with many no-ops."""
    worst = 0.0
    for length in CHECKED:
        for blanks in (0.0, 0.95):
            tokens = program.strings(seed + length, STRINGS, length, blanks)
            worst = max(worst, float(np.abs(model.outputs(tokens) - program.values(tokens)).max()))
    return worst
