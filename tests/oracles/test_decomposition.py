"""Contextual decomposition against brute force: every rule, layer and direction, term by term."""

from __future__ import annotations

import itertools
from functools import partial
from typing import Any

import equations
import numpy as np
import pytest
import torch
from decomposed_models import KINDS, RULES, TIME, model_of, states_of, tokens_of
from torch import Tensor

import rote
from rote.cells import Cell, ElmanCell, GRUCell, LSTMCell, NestedLSTMCell
from rote.models.sequence import SequenceModel


def equation_of(cell: Cell) -> tuple[equations.Step, Any]:
    """The cell's equations as loops, and its weights as numpy arrays."""

    def array(value: Tensor | None, rows: int) -> np.ndarray:
        return np.zeros(rows) if value is None else value.detach().numpy()

    rows = len(cell.weight_hh)
    pair = (cell.weight_ih.detach().numpy(), cell.weight_hh.detach().numpy())
    one_bias = (*pair, cell.bias.detach().numpy())
    match cell:
        case LSTMCell():
            return equations.lstm_step, one_bias
        case GRUCell():
            step = equations.gru_after_step if cell.reset == "after" else equations.gru_before_step
            return step, (*pair, array(cell.bias_ih, rows), array(cell.bias_hh, rows))
        case ElmanCell():
            phi = np.tanh if cell.nonlinearity == "tanh" else equations.relu
            return partial(equations.elman_step, phi=phi), one_bias
        case NestedLSTMCell():
            levels = [one_bias]
            for level in range(1, cell.depth):
                weights = [getattr(cell, f"{name}_{level}") for name in ("weight_ih", "weight_hh")]
                bias = sum(array(getattr(cell, f"bias_{kind}_{level}"), rows) for kind in ("ih", "hh"))
                levels.append((*(weight.detach().numpy() for weight in weights), bias))
            return equations.nested_step, levels
    raise NotImplementedError(type(cell))


def brute_force(
    model: SequenceModel, row: Tensor, inside: Tensor, options: dict[str, Any], initial: Any, index: int, marked: bool
) -> equations.Pair:
    recurrent = model.recurrent
    layers = [
        [equation_of(recurrent.cell(layer, direction)) for direction in range(recurrent.directions)]
        for layer in range(recurrent.layers)
    ]
    starts = [
        [
            [value[index].numpy() for value in initial[layer * recurrent.directions + direction]]
            for direction in range(recurrent.directions)
        ]
        for layer in range(recurrent.layers)
    ]
    vectors = model.embed(row[None])[0].detach().numpy()
    return equations.decompose(layers, vectors, inside.numpy(), equations.Options(**options), starts, marked)


def assert_equals_brute_force(model: SequenceModel, options: dict[str, Any], marked: bool = False) -> None:
    tokens = tokens_of()
    masks = torch.rand(2, 4, TIME, generator=torch.Generator().manual_seed(5)) < 0.5
    masks[:, 0] = False
    masks[0, 0, 2:5] = masks[1, 0, 3] = True  # a contiguous span and a single position
    masks[:, 1] = False  # none at all
    initial = states_of(model, 2)
    parts = rote.decompose(model, tokens, masks, initial=initial, initial_relevant=marked, **options)
    for row, span in itertools.product(range(2), range(4)):
        relevant, irrelevant = brute_force(model, tokens[row], masks[row, span], options, initial, row, marked)
        np.testing.assert_allclose(parts.relevant[row, span].numpy(), relevant, rtol=0, atol=1e-12)
        np.testing.assert_allclose(parts.irrelevant[row, span].numpy(), irrelevant, rtol=0, atol=1e-12)
    assert parts.error.max() < 1e-12


@pytest.mark.parametrize("kind", KINDS)
def test_every_rule_equals_the_loop_over_the_equations_so_no_term_is_credited_wrongly(kind: str) -> None:
    for index, options in enumerate(RULES if kind == "lstm" else RULES[:: len(RULES) // 12 + 2]):
        assert_equals_brute_force(model_of(kind, biases=("two", "one", "none")[index % 3]), options, index % 4 == 1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("layers", "both"), [(2, False), (3, False), (1, True), (2, True)])
def test_layers_and_directions_equal_the_loops_with_the_bias_rule_in_every_layer(
    kind: str, layers: int, both: bool
) -> None:
    each = 12 if layers < 3 else 18  # of the rules, other ones for every kind: the test above has them all
    for options in RULES[list(KINDS).index(kind) :: each]:
        assert_equals_brute_force(model_of(kind, layers=layers, both=both), options)
    assert_equals_brute_force(model_of(kind, layers=layers, both=both), RULES[0], marked=True)


def test_the_exclusive_end_gives_a_single_token_no_product_of_biases_which_the_other_rule_does() -> None:
    model, tokens = model_of("lstm"), tokens_of()
    one = {
        rule: rote.decompose(model, tokens, [(2, 2)], rules="murdoch2018", bias=rule).relevant
        for rule in ("exclusive_end", "never", "in_span")
    }
    torch.testing.assert_close(one["exclusive_end"], one["never"], rtol=0, atol=0)
    assert not torch.allclose(one["never"], one["in_span"])


def test_a_span_that_reaches_beyond_its_row_ends_with_the_row_also_for_the_exclusive_end() -> None:
    model, tokens = model_of("lstm"), tokens_of()
    padded = rote.decompose(model, tokens, [(1, 5)], lengths=[6, 4], bias="exclusive_end")
    alone = rote.decompose(model, tokens[1:, :4], [(1, 3)], bias="exclusive_end")
    torch.testing.assert_close(padded.relevant[1, :, :4], alone.relevant[0], rtol=0, atol=1e-14)
    assert torch.equal(padded.spans[1, :, :4], alone.spans[0])


def test_shapley_keeps_phi_of_zero_with_the_bias_so_an_empty_part_gets_nothing() -> None:
    model, tokens = model_of("gru"), tokens_of()
    parts = rote.decompose(model, tokens, [(3, 4)], rules="gcd2019")
    assert not parts.relevant[:, :, :3].any()
    empty = rote.decompose(model, tokens, torch.zeros(2, 1, TIME, dtype=torch.bool), rules="gcd2019")
    assert not empty.relevant.any()
