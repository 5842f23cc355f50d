"""Programs that are no automata, in the weights of each cell: a count in the linear range, and a shift register."""

from __future__ import annotations

import math

import numpy as np

from rote.court.codes import Built
from rote.court.counting_programs import Counter
from rote.court.memory_programs import Copy
from rote.errors import UsageError

STEP = 1e-5  # of a count: small enough that tanh of two hundred of them is linear
LEAK = 1e-8  # of the minGRU per step, whose gate must write a little to add anything


def counter(program: Counter, cell: str, strength: float) -> Built:
    """One unit whose state is the count times a small step, where tanh is the identity; exact with relu."""
    d = np.array([program.steps], dtype=float)
    one, none, big = np.ones((1, 1)), np.zeros((1, 1)), np.full(1, 3 * strength)
    zero, silent = np.zeros(1), np.zeros_like(d)
    read = np.full((1, 1), 1 / STEP)
    match cell:
        case "elman":
            return _one(_rows([(STEP * d, one, zero)]), read)
        case "elman_relu":
            weights = {
                "weight_ih": np.concatenate([d, -d]), "weight_hh": np.array([[1.0, -1.0], [-1.0, 1.0]]),
                "bias_ih": np.zeros(2),
            }  # fmt: skip
            carries = ("the count above zero", "the count below zero")
            return Built(weights, np.array([[1.0, -1.0]]), np.zeros(1), carries, {"nonlinearity": "relu"})
        case "gru" | "gru_before":  # (1 - z) (h + 2 s d) + z h, with z = 1/2
            return _one(_rows([(silent, none, big), (silent, none, zero), (2 * STEP * d, one, zero)]), read)
        case "lstm" | "peephole_lstm":
            weights = _rows([(silent, none, big), (silent, none, big), (STEP * d, none, zero), (silent, none, big)])
            return _one(weights | (_peepholes(1) if cell == "peephole_lstm" else {}), read)
        case "nested_lstm":  # the inner candidate adds what is written to what is held
            weights = _rows([(silent, none, big), (silent, none, big), (STEP * d, none, zero), (silent, none, big)])
            inner = _rows([(none, none, big), (none, none, -big), (one, one, zero), (none, none, big)])
            return _one(weights | {f"{name}_1": value for name, value in inner.items()}, read)
        case _:
            return _two_counts(d, cell, strength)


def _two_counts(d: np.ndarray, cell: str, strength: float) -> Built:
    """States above zero only: what goes up and what goes down are counted apart, in steps of one."""
    ups = np.concatenate([d, -d]).clip(0)
    value, low = ups * (1 / LEAK + 3 * strength + 30), np.full(2, -3 * strength - 30.0)
    shut = np.full(2, math.log(LEAK))  # sigmoid of it is LEAK, to its own square
    value, none = np.where(ups > 0, value - 0.5, 0.0), np.zeros_like(ups)
    if cell == "min_gru":
        weights = {"weight_ih": np.concatenate([value, none]), "bias_ih": np.concatenate([low, shut])}
    else:
        weights = {"weight_ih": np.concatenate([value, none, none]), "bias_ih": np.concatenate([low, -low, shut])}
    return Built(weights, np.array([[1.0, -1.0]]), np.zeros(1), ("the opens", "the closes"))


def copy(program: Copy, cell: str, strength: float) -> Built:
    """A chain of units, each of which takes over what the one before it had. Its blank is 0, which squashing with a
    gain leaves alone only if it is exactly 0: gates are at three times the usual strength."""
    if cell in ("min_gru", "min_lstm"):
        raise UsageError(f"{cell} cannot hold 'copy': none of its units sees another, so nothing is handed on.")
    size, gain = program.back + 1, 3 * strength
    first, chain = np.zeros((size, 2)), np.eye(size, k=-1)
    first[0] = 1.0, -1.0
    carries = tuple(f"the symbol of {back} steps before" for back in range(size))
    last = np.eye(size)[-1:]
    none, silent, big, zero = np.zeros((size, size)), np.zeros((size, 2)), np.full(size, gain), np.zeros(size)
    on, off = (silent, none, big), (silent, none, -big)
    match cell:
        case "elman":
            return Built(_rows([(gain * first, gain * chain, zero)]), last, np.zeros(1), carries)
        case "elman_relu":
            both = np.kron(np.eye(2), chain)
            inputs = np.concatenate([first, -first]).clip(0)
            weights = {"weight_ih": inputs, "weight_hh": both, "bias_ih": np.zeros(2 * size)}
            names = (*(f"{name}: a" for name in carries), *(f"{name}: b" for name in carries))
            return Built(weights, np.hstack([last, -last]), np.zeros(1), names, {"nonlinearity": "relu"})
        case "gru" | "gru_before":
            return Built(_rows([on, off, (gain * first, gain * chain, zero)]), last, np.zeros(1), carries)
        case "lstm" | "peephole_lstm":
            weights = _rows([on, off, (gain * first, gain * chain, zero), on])
            weights |= _peepholes(size) if cell == "peephole_lstm" else {}
            return Built(weights, last / math.tanh(1.0), np.zeros(1), carries)
        case _:
            weights = _rows([on, off, (first, chain, zero), on])
            inner = _rows([(none, none, big), (none, none, -big), (gain * np.eye(size), none, zero), (none, none, big)])
            weights |= {f"{name}_1": value for name, value in inner.items()}
            return Built(weights, last / math.tanh(math.tanh(1.0)), np.zeros(1), carries)


Gate = tuple[np.ndarray, np.ndarray, np.ndarray]


def _rows(gates: list[Gate]) -> dict[str, np.ndarray]:
    names = ("weight_ih", "weight_hh", "bias_ih")
    return {name: np.concatenate(parts) for name, parts in zip(names, zip(*gates, strict=True), strict=True)}


def _one(weights: dict[str, np.ndarray], readout: np.ndarray) -> Built:
    return Built(weights, readout, np.zeros(1), ("the count",))


def _peepholes(size: int) -> dict[str, np.ndarray]:
    return {name: np.zeros(size) for name in ("peephole_input", "peephole_forget", "peephole_output")}
