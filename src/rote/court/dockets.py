"""The networks that methods are judged on: compiled ones, whose every unit is known, and trained ones.

A compiled network is saturated and sparse, a trained one is neither. A method that is good on one docket only is not
good.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import torch
from torch import Tensor

from rote.court.compiler import COMPILED, compile
from rote.court.enumeration import Truth, of_worth, sets_of, truth
from rote.court.learning import Learning, learn, vectors_of
from rote.court.program import NOTHING, Program, as_program, programs
from rote.errors import UnknownNameError, UsageError
from rote.models.sequence import SequenceModel

DOCKETS = ("compiled", "trained")
TRAINED = ("elman", "gru", "lstm")  # cells of the trained docket
SATURATION = 10.0


@dataclass(frozen=True)
class Case:
    """A network, strings for it, and the truth about them."""

    docket: str
    program: Program
    cell: str
    network: str  # its coding, or its seed
    model: SequenceModel
    truth: Truth

    @property
    def tokens(self) -> Tensor:
        return torch.from_numpy(self.truth.tokens)

    @property
    def targets(self) -> Tensor:
        return torch.from_numpy(self.truth.targets)

    @property
    def scale(self) -> float:
        """The range of the explained output over all sets of symbols of all strings."""
        return float(np.ptp(self.truth.worth)) or 1.0


@dataclass(frozen=True)
class Docket:
    """Which networks: programs times cells; what a cell cannot hold, or has not learned, is left out and told."""

    programs: tuple[str | Program, ...]
    cells: tuple[str, ...]
    strings: int = 16
    length: int = 8
    seed: int = 0
    seeds: tuple[int, ...] = (0,)  # of trained networks

    def compiled(self, left_out: list[str]) -> Iterator[Case]:
        for program in map(as_program, self.programs):
            known = truth(program, program.strings(self.seed, self.strings, self.length))
            for cell in self.cells:
                try:
                    model = compile(program, cell, saturation=SATURATION)
                except UsageError as error:
                    left_out.append(str(error))
                    continue
                yield Case("compiled", program, cell, "busy", model, known)

    def trained(self, left_out: list[str]) -> Iterator[Case]:
        for program in map(as_program, self.programs):
            for cell in (cell for cell in TRAINED if cell in self.cells):
                for seed in self.seeds:
                    model = _learned(program, cell, seed)
                    if model is None:
                        left_out.append(f"{cell} has not learned {program.name!r} from seed {seed}.")
                        continue
                    tokens = program.strings(self.seed, self.strings, self.length)
                    yield Case("trained", program, cell, f"seed {seed}", model, own_truth(model, program, tokens))


@cache
def _learned(program: Program, cell: str, seed: int) -> SequenceModel | None:
    return learn(program, cell, seed, Learning())


@torch.no_grad()
def own_truth(model: SequenceModel, program: Program, tokens: np.ndarray) -> Truth:
    """Of a trained network: its own output for every set of symbols; what decides is the program's."""
    known = truth(program, tokens)
    kept = sets_of(tokens.shape[1])
    every = np.where(kept, tokens[:, None], NOTHING).reshape(-1, tokens.shape[1])
    hidden, _ = model.recurrent(vectors_of(every, len(program.symbols)))
    outputs = model.read(hidden[:, -1]).numpy().reshape(len(tokens), len(kept), -1)
    worth = np.take_along_axis(outputs, known.targets[:, None, None], 2)[..., 0]
    found = of_worth(program.name, tokens, known.targets, worth, known.used)
    return Truth(
        found.program, tokens, known.targets, worth, found.shapley, found.interactions, known.used, known.dummy
    )


def docket_of(
    names: Sequence[str | Program] | None, cells: Sequence[str] | None, strings: int, length: int, seed: int, seeds: int
) -> Docket:
    """Checked; everything by default."""
    chosen = tuple(programs) if names is None else tuple(names)
    for program in chosen:
        as_program(program)
    for cell in cells or ():
        if cell not in COMPILED:
            raise UnknownNameError("compiled cell", cell, COMPILED)
    if not chosen or (cells is not None and not cells):
        raise UsageError("The court needs at least one program and one cell.")
    if strings < 2 or not 2 <= length <= 12 or seeds < 1:
        raise UsageError(
            f"'strings' must be at least 2, 'length' in 2 to 12, 'seeds' at least 1. Got {strings}, {length}, {seeds}."
        )
    return Docket(chosen, tuple(cells or COMPILED), strings, length, seed, tuple(range(seeds)))
