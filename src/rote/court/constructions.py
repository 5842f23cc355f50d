"""Automata in the weights of each cell. What a gate computes stands in its docstring; ``codes`` has a(q, s).

A gate that is shut or open leaks exp(-H) per step, so that L steps need H above log(L / tolerance).
"""

from __future__ import annotations

import math

import numpy as np

from rote.court.codes import IDLE_UNIT, Built, Code, arguments, built, holding, plain_code, signed_code, written
from rote.court.program import Automaton
from rote.errors import UsageError


def elman(program: Automaton, coding: str, strength: float) -> Built:
    """h = tanh(2 H a), with units that hold the state at no-ops and one that tells that something was read."""
    code = signed_code(program, (*written(program, coding), IDLE_UNIT))
    inputs, units, bias = _with_begun(*arguments(program, code), 2 * strength, strength)
    inputs = _silent(program, inputs, coding)
    return built(program, code, {"weight_ih": inputs, "weight_hh": units, "bias_ih": bias})


def elman_relu(program: Automaton, coding: str, strength: float) -> Built:
    """h = relu(a + 1/2): whole numbers, exactly; no saturation at all."""
    code = plain_code(program, (*written(program, coding), IDLE_UNIT))
    inputs, units, bias = arguments(program, code)
    inputs = _silent(program, inputs, coding)
    return built(program, code, {"weight_ih": inputs, "weight_hh": units, "bias_ih": bias + 0.5}, nonlinearity="relu")


def _silent(program: Automaton, inputs: np.ndarray, coding: str) -> np.ndarray:
    """With "lazy", symbols that change nothing have no weight: for the units that hold they are as no-ops."""
    if coding == "lazy":
        inputs = inputs.copy()
        inputs[:, list(program.idle)] = 0.0
    return inputs


def _with_begun(
    inputs: np.ndarray, units: np.ndarray, bias: np.ndarray, scale: float, begun: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scaled arguments; the last unit gets the bias that makes it 1."""
    inputs, units, bias = scale * inputs, scale * units, scale * bias
    inputs[-1], units[-1], bias[-1] = 0.0, 0.0, begun
    return inputs, units, bias


def gru(program: Automaton, coding: str, strength: float) -> Built:
    """The update gate holds at no-ops and writes n = tanh(2 H a) at symbols; the reset gate is open."""
    symbols = written(program, coding)
    code = signed_code(program, symbols)
    size, count = code.units, len(program.symbols)
    n_in, n_units, n_bias = _with_begun(*arguments(program, code), 2 * strength, strength)
    z_in, z_bias = holding(program, symbols, size, strength)
    open_ = np.full(size, 3 * strength)
    weights = {
        "weight_ih": np.concatenate([np.zeros((size, count)), z_in, n_in]),
        "weight_hh": np.concatenate([np.zeros((2 * size, size)), n_units]),
        "bias_ih": np.concatenate([open_, z_bias, n_bias]),
    }
    return built(program, code, weights)


def lstm(program: Automaton, coding: str, strength: float) -> Built:
    """With "busy" i = sigmoid(2 H a) writes ones, with "candidate" g = tanh(2 H a) writes signs, with "idle" gates act
    only where a state changes. The forget gate is shut where something is written, the output gate open."""
    level, symbols = math.tanh(1.0), written(program, coding)
    if coding == "candidate":
        code = signed_code(program, symbols, level)
        g = _with_begun(*arguments(program, code), 2 * strength, strength)
        closed, bias = holding(program, symbols, code.units, strength)
        i = (-closed, np.zeros((code.units, code.units)), -bias)
        f = (closed, np.zeros((code.units, code.units)), bias)
        return _lstm(program, code, i, f, g, strength)
    idle = coding == "idle"
    code = plain_code(program, symbols, level, idle=idle)
    inputs, units, bias = (2 * strength * part for part in arguments(program, code, idle=idle))
    none = np.zeros((code.units, code.units))
    closed, hold = holding(program, symbols, code.units, strength)
    if idle:
        for unit, (state, _) in enumerate(code.arrivals):
            for symbol in symbols:
                closed[unit, symbol] = -2 * strength * (program.moves[state][symbol] != state)
    g = (np.zeros((code.units, len(program.symbols))), none, np.full(code.units, strength))
    return _lstm(program, code, (inputs, units, bias), (closed, none, hold), g, strength)


Gate = tuple[np.ndarray, np.ndarray, np.ndarray]


def _lstm(program: Automaton, code: Code, i: Gate, f: Gate, g: Gate, strength: float) -> Built:
    o = (np.zeros_like(i[0]), np.zeros_like(i[1]), np.full(code.units, 3 * strength))
    names = ("weight_ih", "weight_hh", "bias_ih")
    weights = {name: np.concatenate(rows) for name, rows in zip(names, zip(i, f, g, o, strict=True), strict=True)}
    return built(program, code, weights)


def peephole_lstm(program: Automaton, coding: str, strength: float) -> Built:
    """As the LSTM, with peepholes of zero."""
    made = lstm(program, coding, strength)
    none = np.zeros(len(made.carries))
    holes = dict.fromkeys(("peephole_input", "peephole_forget", "peephole_output"), none)
    return Built(made.weights | holes, made.readout, made.offset, made.carries)


def nested_lstm(program: Automaton, coding: str, strength: float) -> Built:
    """The outer gates act as those of the LSTM; the inner LSTM keeps nothing itself, and makes what comes in, written
    or held, 0 or 1 again, so that nothing leaks."""
    inner = math.tanh(1.0)
    code = plain_code(program, written(program, coding), math.tanh(inner))
    size, count = code.units, len(program.symbols)
    none, symbols = np.zeros((size, size)), written(program, coding)
    i = tuple(2 * strength * part for part in arguments(program, code))
    closed, hold = holding(program, symbols, size, strength)
    rows = (
        (i[0], closed, np.zeros((size, count)), np.zeros((size, count))),
        (i[1], none, none, none),
        (i[2], hold, np.ones(size), np.full(size, 3 * strength)),
    )
    rewrite, big = 2 * strength * np.eye(size), np.full(size, 3 * strength)
    weights = {
        **{name: np.concatenate(part) for name, part in zip(("weight_ih", "weight_hh", "bias_ih"), rows, strict=True)},
        "weight_ih_1": np.concatenate([rewrite, none, none, none]),
        "weight_hh_1": np.concatenate([rewrite / inner, none, none, none]),
        "bias_ih_1": np.concatenate([np.full(size, -strength), -big, np.full(size, strength), big]),
    }
    return built(program, code, weights)


def min_gru(program: Automaton, coding: str, strength: float) -> Built:
    """One unit per state, written where a symbol leads there from everywhere."""
    return _by_resets(program, "min_gru", strength)


def min_lstm(program: Automaton, coding: str, strength: float) -> Built:
    """As the minGRU."""
    return _by_resets(program, "min_lstm", strength)


def _by_resets(program: Automaton, cell: str, strength: float) -> Built:
    size, count = len(program.states) - 1, len(program.symbols)
    writes = [symbol for symbol in range(count) if symbol not in program.idle]
    for symbol in writes:
        if program.resets_to(symbol) is None:
            raise UsageError(
                f"{cell} cannot hold {program.name!r}: its gates see the input alone, so that what "
                f"{program.symbols[symbol]!r} does cannot depend on the state. It holds programs whose symbols lead to "
                "one state or change nothing, such as latch."
            )
    value = np.zeros((size, count))
    for symbol in writes:
        target = program.resets_to(symbol)
        if target:
            value[target - 1, symbol] = 3 * strength + 0.5  # the form "log" adds 1/2 to what is above zero
    low = np.full(size, -3 * strength)
    gate_in, gate_bias = holding(program, tuple(writes), size, strength)
    if cell == "min_gru":
        inputs, bias = [value, -gate_in], [low, -gate_bias]
    else:
        inputs, bias = [value, gate_in, -gate_in], [low, gate_bias, -gate_bias]
    weight = np.concatenate([np.zeros((1, size)) - 1.0, np.eye(size)])
    code = Code(tuple((state + 1, IDLE_UNIT) for state in range(size)), weight, np.eye(size + 1)[0], started=False)
    made = built(program, code, {"weight_ih": np.concatenate(inputs), "bias_ih": np.concatenate(bias)})
    return Built(made.weights, made.readout, made.offset, tuple(f"in {state}" for state in program.states[1:]))
