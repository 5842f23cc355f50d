"""How an automaton is held in each cell: one unit per arrival (state, symbol), saturated by a strength H.

A unit of the arrival (q, s) fires when the symbol s is read in a state from which it leads to q. With in_p(h) the
linear indicator of the state p in the units, its argument is

    a(q, s) = sum of in_p(h) over these p + x_s - 1.5        which is 1/2 or more, or -1/2 or less

and every squashed argument of a cell is a multiple of H or beyond. The zero input holds the state, the zero state is
the start. (Omlin and Giles 1996 have sigmoid networks of this kind.)
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from rote.court.program import Automaton

Weights = dict[str, np.ndarray]
IDLE_UNIT = -1  # the arrival by a no-op


@dataclass(frozen=True)
class Built:
    """A cell's weights, the readout, and what every unit carries."""

    weights: Weights
    readout: np.ndarray  # [output, unit]
    offset: np.ndarray  # [output]
    carries: tuple[str, ...]
    options: dict[str, object] = field(default_factory=dict)  # of the cell


@dataclass(frozen=True)
class Code:
    """Which units there are, and how a state is read from them: in_p(h) = weight[p] @ h + offset[p]."""

    arrivals: tuple[tuple[int, int], ...]  # (state, symbol)
    weight: np.ndarray  # [state, unit]
    offset: np.ndarray  # [state]
    started: bool  # the last unit is 0 before anything was written and 1 from then on

    @property
    def units(self) -> int:
        return len(self.arrivals) + self.started


def signed_code(program: Automaton, symbols: tuple[int, ...], level: float = 1.0) -> Code:
    """Units are -level or level once something was written, which one more unit tells; in_q is half their sum."""
    arrivals = _arrivals(program, symbols, skip=None)
    weight, offset = np.zeros((len(program.states), len(arrivals) + 1)), np.zeros(len(program.states))
    for unit, (state, _) in enumerate(arrivals):
        weight[state, unit] += 0.5 / level
        weight[state, -1] += 0.5 / level
    offset[0], weight[0, -1] = 1.0, weight[0, -1] - 1.0 / level
    return Code(arrivals, weight, offset, started=True)


def plain_code(program: Automaton, symbols: tuple[int, ...], level: float = 1.0, *, idle: bool = False) -> Code:
    """Units are 0 or level; the start is where none of them is on. ``idle``: none for what leaves a state as it is."""
    arrivals = _arrivals(program, symbols, skip=0)
    if idle:
        arrivals = tuple(pair for pair in arrivals if _from(program, *pair, idle=True))
    weight, offset = np.zeros((len(program.states), len(arrivals))), np.zeros(len(program.states))
    for unit, (state, _) in enumerate(arrivals):
        weight[state, unit] = 1.0 / level
    weight[0], offset[0] = -weight[1:].sum(0), 1.0
    return Code(arrivals, weight, offset, started=False)


def _arrivals(program: Automaton, symbols: tuple[int, ...], skip: int | None) -> tuple[tuple[int, int], ...]:
    return tuple(
        (state, symbol)
        for state in range(len(program.states))
        for symbol in symbols
        if state != skip and _from(program, state, symbol)
    )


def _from(program: Automaton, state: int, symbol: int, *, idle: bool = False) -> list[int]:
    """The states from which the symbol leads to this one."""
    if symbol == IDLE_UNIT:
        return [state]
    return [p for p, row in enumerate(program.moves) if row[symbol] == state and not (idle and p == state)]


def arguments(program: Automaton, code: Code, *, idle: bool = False) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """a(q, s) of every arrival: its weights on inputs [unit, symbol] and on units [unit, unit], and its bias."""
    count, symbols = code.units, len(program.symbols)
    inputs, units, bias = np.zeros((count, symbols)), np.zeros((count, count)), np.zeros(count)
    for unit, (state, symbol) in enumerate(code.arrivals):
        sources = _from(program, state, symbol, idle=idle)
        units[unit] = code.weight[sources].sum(0)
        bias[unit] = code.offset[sources].sum() - 1.5
        if symbol == IDLE_UNIT:
            inputs[unit], bias[unit] = -1.0, bias[unit] + 1.0
        else:
            inputs[unit, symbol] = 1.0
    return inputs, units, bias


def built(program: Automaton, code: Code, weights: Weights, **options: object) -> Built:
    says = np.array(program.says).T
    names = tuple(
        f"in {program.states[state]} after {'nothing' if symbol == IDLE_UNIT else program.symbols[symbol]}"
        for state, symbol in code.arrivals
    )
    carries = (*names, "has begun") if code.started else names
    return Built(weights, says @ code.weight, says @ code.offset, carries, dict(options))


def written(program: Automaton, coding: str) -> tuple[int, ...]:
    """The symbols that code the state anew: all of them, or with "lazy" those that ever change it."""
    skipped = program.idle if coding == "lazy" else ()
    return tuple(symbol for symbol in range(len(program.symbols)) if symbol not in skipped)


def holding(program: Automaton, symbols: tuple[int, ...], units: int, strength: float) -> tuple[np.ndarray, np.ndarray]:
    """The argument of a gate that is open at no-ops and shut at these symbols: weights on inputs, and bias."""
    inputs = np.zeros((units, len(program.symbols)))
    inputs[:, list(symbols)] = -2 * strength
    return inputs, np.full(units, strength)
