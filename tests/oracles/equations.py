"""Contextual decomposition as brute force: one sequence, one span, both streams, loops straight from the definitions.

LSTM: Murdoch, Liu and Yu 2018 with the rules and variants of the public programs. GRU, Elman and Nested LSTM: the
definitions of docs/decomposition.md. numpy and float64; nothing of Rote is used.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray
Pair = tuple[Array, Array]  # relevant, irrelevant
Triple = tuple[Array, Array, Array]  # relevant, irrelevant, bias


@dataclass(frozen=True)
class Options:
    bias: str = "in_span"
    interactions: str = "relevant"
    linearization: str = "bias_first"
    output_gate: bool = False


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def relu(x: Array) -> Array:
    return np.maximum(x, 0)


def linearize(phi: Callable[[Array], Array], parts: Triple, o: Options) -> Triple:
    r, i, b = parts
    if o.linearization == "bias_first":
        rel = (phi(r + b) - phi(b) + phi(r + i + b) - phi(i + b)) / 2
        irr = (phi(i + b) - phi(b) + phi(r + i + b) - phi(r + b)) / 2
        return rel, irr, phi(b)
    shares = [np.zeros_like(r + i + b) for _ in range(3)]
    for order in itertools.permutations(range(3)):
        so_far = np.zeros_like(r + i + b)
        for part in order:
            shares[part] = shares[part] + (phi(so_far + parts[part]) - phi(so_far)) / 6
            so_far = so_far + parts[part]
    return shares[0], shares[1], shares[2] + phi(np.zeros_like(r))  # phi(0) comes from no input


def multiply(gate: Triple, source: Triple, o: Options) -> Triple:
    """The nine products of two values in three parts, each put where it belongs."""
    rel, irr = 0.0, 0.0
    for g, s in itertools.product(range(3), range(3)):
        term = gate[g] * source[s]
        kinds = ("r", "i", "b")
        match kinds[g] + kinds[s]:
            case "rr" | "rb" | "br":
                rel = rel + term
            case "ir" if o.interactions == "source":
                rel = rel + term
            case "ir" | "ri" if o.interactions == "shapley":
                rel, irr = rel + term / 2, irr + term / 2
            case "bb":
                pass
            case _:
                irr = irr + term
    return rel, irr, gate[2] * source[2]


def settled(parts: Triple, relevant: bool) -> Pair:
    r, i, b = parts
    return (r + b, i) if relevant else (r, i + b)


def affine(weight: Array, parts: Pair, bias: Array | float = 0.0) -> Triple:
    return weight @ parts[0], weight @ parts[1], bias + np.zeros(len(weight))


def plus(*values: Triple) -> Triple:
    return tuple(sum(parts) for parts in zip(*values, strict=True))


def output(o_parts: Triple, c: Pair, o: Options) -> Pair:
    """The output gate on the squashed memory: the gate as it is, or decomposed."""
    zero = np.zeros_like(c[0])
    t_rel, t_irr = (
        (np.tanh(c[0]) + np.tanh(c[0] + c[1]) - np.tanh(c[1])) / 2,
        (np.tanh(c[1]) + np.tanh(c[0] + c[1]) - np.tanh(c[0])) / 2,
    )
    if not o.output_gate:
        whole = sigmoid(sum(o_parts))
        return whole * t_rel, whole * t_irr
    return multiply(linearize(sigmoid, o_parts, o), (t_rel, t_irr, zero), o)[:2]


def lstm_step(w: Any, x: Pair, state: list[Pair], counts: bool, o: Options) -> list[Pair]:
    """The published equations term by term. w: weight_ih, weight_hh, bias with rows i, f, g, o."""
    (h_rel, h_irr), (c_rel, c_irr) = state
    gates = [
        (wx @ x[0] + wh @ h_rel, wx @ x[1] + wh @ h_irr, b)
        for wx, wh, b in zip(*(np.split(part, 4) for part in w), strict=True)
    ]
    r_i, i_i, b_i = linearize(sigmoid, gates[0], o)
    r_f, i_f, b_f = linearize(sigmoid, gates[1], o)
    r_g, i_g, b_g = linearize(np.tanh, gates[2], o)
    rel = (r_i + b_i) * r_g + r_i * b_g + (r_f + b_f) * c_rel
    irr = i_i * (i_g + b_g) + (r_i + b_i) * i_g + (r_f + i_f + b_f) * c_irr
    gate_on_source = i_i * r_g + i_f * c_rel  # an irrelevant gate on a relevant source
    other_cross = r_i * i_g + r_f * c_irr
    if o.interactions == "source":
        rel = rel + gate_on_source
    elif o.interactions == "shapley":
        rel, irr = rel + (gate_on_source + other_cross) / 2, irr + (gate_on_source - other_cross) / 2
    else:
        irr = irr + gate_on_source
    c = (rel + b_i * b_g, irr) if counts else (rel, irr + b_i * b_g)
    return [output(gates[3], c, o), c]


def gru_after_step(w: Any, x: Pair, state: list[Pair], counts: bool, o: Options) -> list[Pair]:
    """w: weight_ih, weight_hh, bias_ih, bias_hh with rows r, z, n."""
    (h,) = state
    zero = np.zeros_like(h[0])
    (wr, wz, wn), (vr, vz, vn), (br, bz, bn), (dr, dz, dn) = (np.split(part, 3) for part in w)
    r = linearize(sigmoid, plus(affine(wr, x, br), affine(vr, h, dr)), o)
    z = linearize(sigmoid, plus(affine(wz, x, bz), affine(vz, h, dz)), o)
    s_rel, s_irr = vn @ h[0], vn @ h[1]
    inner_rel = (r[0] + r[2]) * s_rel + r[0] * dn
    inner_irr = sum(r) * s_irr + r[1] * dn
    if o.interactions == "source":
        inner_rel = inner_rel + r[1] * s_rel
    elif o.interactions == "shapley":
        cross = (r[1] * s_rel, r[0] * s_irr)
        inner_rel, inner_irr = inner_rel + sum(cross) / 2, inner_irr + (cross[0] - cross[1]) / 2
    else:
        inner_irr = inner_irr + r[1] * s_rel
    n_parts = (wn @ x[0] + inner_rel, wn @ x[1] + inner_irr, bn + r[2] * dn)
    n = linearize(np.tanh, n_parts, o)
    keep, fill = z, (-z[0], -z[1], 1 - z[2])
    return [settled(plus(multiply(fill, n, o), multiply(keep, (*h, zero), o)), counts)]


def gru_before_step(w: Any, x: Pair, state: list[Pair], counts: bool, o: Options) -> list[Pair]:
    (h,) = state
    zero = np.zeros_like(h[0])
    (wr, wz, wn), (vr, vz, vn), (br, bz, bn), (dr, dz, dn) = (np.split(part, 3) for part in w)
    r = linearize(sigmoid, plus(affine(wr, x, br), affine(vr, h, dr)), o)
    z = linearize(sigmoid, plus(affine(wz, x, bz), affine(vz, h, dz)), o)
    reset = settled(multiply(r, (*h, zero), o), counts)
    n = linearize(np.tanh, plus(affine(wn, x, bn), affine(vn, reset, dn)), o)
    fill = (-z[0], -z[1], 1 - z[2])
    return [settled(plus(multiply(fill, n, o), multiply(z, (*h, zero), o)), counts)]


def elman_step(w: Any, x: Pair, state: list[Pair], counts: bool, o: Options, phi: Any = np.tanh) -> list[Pair]:
    (h,) = state
    return [settled(linearize(phi, plus(affine(w[0], x, w[2]), affine(w[1], h)), o), counts)]


def nested_step(levels: Any, x: Pair, state: list[Pair], counts: bool, o: Options, level: int = 0) -> list[Pair]:
    """levels: (weight_ih, weight_hh, bias) from the outermost to the innermost; state: h, then the memory cells."""
    h, c, *inside = state
    gates = [
        plus(affine(wx, x, b), affine(wh, h))
        for wx, wh, b in zip(*(np.split(part, 4) for part in levels[level]), strict=True)
    ]
    i, f = linearize(sigmoid, gates[0], o), linearize(sigmoid, gates[1], o)
    g = gates[2] if level == 0 and len(levels) > 1 else linearize(np.tanh, gates[2], o)
    kept, added = multiply(f, (*c, np.zeros_like(c[0])), o), multiply(i, g, o)
    if not inside:
        memory = [settled(plus(kept, added), counts)]
    else:
        inner = [settled(kept, counts), *inside]
        memory = nested_step(levels, settled(added, counts), inner, counts, o, level + 1)
    return [output(gates[3], memory[0], o), *memory]


Step = Callable[[Any, Pair, list[Pair], bool, Options], list[Pair]]


def counts_at(inside: Array, rule: str) -> Array:
    """Where products of biases are relevant; for a contiguous span start <= t < stop is 'all but its last position'."""
    if rule == "never":
        return np.zeros_like(inside)
    counts = inside.copy()
    if rule == "exclusive_end" and inside.any():
        counts[np.flatnonzero(inside)[-1]] = False
    return counts


def run_layer(
    step: Step, weights: Any, inputs: list[Pair], counts: Array, o: Options, initial: list[Pair], reverse: bool = False
) -> list[Pair]:
    """The hidden state in two parts, at every step."""
    outputs: dict[int, Pair] = {}
    state = initial
    order = range(len(inputs))
    for t in reversed(order) if reverse else order:
        state = step(weights, inputs[t], state, bool(counts[t]), o)
        outputs[t] = state[0]
    return [outputs[t] for t in order]


def decompose(
    layers: list[list[tuple[Step, Any]]],  # for each layer, for each direction
    vectors: Array,  # [time, input]
    inside: Array,  # [time]
    o: Options,
    initial: list[list[list[Array]]],  # for each layer, direction, state: [unit]
    marked: bool = False,
) -> Pair:
    """Relevant and irrelevant part of the top layer's state, [time, unit]."""
    counts = counts_at(inside, o.bias)
    values: list[Pair] = [(x, 0 * x) if chosen else (0 * x, x) for x, chosen in zip(vectors, inside, strict=True)]
    for layer, starts in zip(layers, initial, strict=True):
        sides = []
        for direction, ((step, weights), start) in enumerate(zip(layer, starts, strict=True)):
            state = [(value, 0 * value) if marked else (0 * value, value) for value in start]
            sides.append(run_layer(step, weights, values, counts, o, state, direction == 1))
        values = [
            (np.concatenate([side[0] for side in at_t]), np.concatenate([side[1] for side in at_t]))
            for at_t in zip(*sides, strict=True)
        ]
    return np.stack([rel for rel, _ in values]), np.stack([irr for _, irr in values])
