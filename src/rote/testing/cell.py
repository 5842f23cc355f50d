"""What every cell must keep, so that each analysis works on it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import torch
from torch import Tensor

from rote.analyses import decompose, trace
from rote.analyses.adjoint import write
from rote.analyses.all_outputs import record_step
from rote.cells import Cell, Plain, Recurrent, mask_of, unroll
from rote.models.sequence import SequenceModel
from rote.testing.untouched import untouched

CellFactory = Callable[[int, int], Cell]
LENGTHS = (4, 1, 3)
TIGHT = 1e-12
STEP = 1e-7  # of finite differences: small, since a norm of something small is steep
LARGE = 10  # for a state; weights are drawn from numbers near 1
TRIES = 30  # to make weights smaller; a state may be large by itself


def check_cell(cell_factory: CellFactory, *, input_size: int = 3, hidden_size: int = 4, seed: int = 0) -> None:
    """``cell_factory(input_size, hidden_size)`` gives a cell, usually its class; other options stay as they are."""
    generator = torch.Generator().manual_seed(seed)
    made = cell_factory(input_size, hidden_size)
    assert isinstance(made, Cell), f"The factory must give a rote.cells.Cell. Got {type(made).__name__}."
    assert (made.input_size, made.hidden_size) == (input_size, hidden_size), (
        f"The cell must have the sizes it was asked for: {(input_size, hidden_size)}. "
        f"Got {(made.input_size, made.hidden_size)}."
    )
    cell = made.double()
    models = [_model(cell_factory, input_size, hidden_size, *shape) for shape in ((1, 1), (2, 1), (2, 2))]
    inputs = torch.randn(len(LENGTHS), max(LENGTHS), input_size, dtype=torch.float64, generator=generator)
    for model in (SequenceModel(Recurrent([cell])), *models):
        _spread(model, inputs, generator)
    with untouched(cell, *models):
        with torch.no_grad():
            _states_and_gates(cell, inputs)
            _rows_are_independent(cell, inputs)
            _padding_changes_nothing(cell, inputs)
        _gradients(cell, inputs, generator)
        for model in models:
            _decomposition(model, inputs)
        _pulled_back(cell, inputs, generator)


def _model(factory: CellFactory, input_size: int, hidden_size: int, layers: int, directions: int) -> SequenceModel:
    made = [factory(input_size, hidden_size) for _ in range(directions)]
    above = made[0].output_size * directions
    made += [factory(above, hidden_size) for _ in range(directions * (layers - 1))]
    return SequenceModel(Recurrent(made, bidirectional=directions == 2).double())


@torch.no_grad()
def _spread(model: SequenceModel, inputs: Tensor, generator: torch.Generator) -> None:
    """Weights large enough for the nonlinearities to matter. Smaller ones where nothing bounds the states, which then
    would be so large that their rounding hides what is compared."""
    for parameter in model.parameters():
        parameter.copy_(0.8 * torch.randn(parameter.shape, dtype=parameter.dtype, generator=generator))
    for _ in range(TRIES):
        if _largest_state(model, inputs) <= LARGE:
            break
        for parameter in model.parameters():
            parameter.mul_(0.9)


def _largest_state(model: SequenceModel, inputs: Tensor) -> float:
    whole = {name for cell in model.recurrent.all_cells() for name in cell.whole_states}
    layers = trace(model, inputs).states.values()
    return max(float(value.abs().max()) for layer in layers for name, value in layer.items() if name not in whole)


def _states_and_gates(cell: Cell, inputs: Tensor) -> None:
    kind = type(cell).__name__
    assert cell.state_names[0] == "hidden", f"The first state of {kind} must be 'hidden'. Got {cell.state_names}."
    assert len(set(cell.state_names)) == len(cell.state_names), f"{kind} has two states of one name."
    run, again = (unroll(cell, inputs, cell.zero_state(len(inputs))) for _ in range(2))
    sizes = {name: [size] for name, size in zip(cell.state_names, cell.state_sizes, strict=True)}
    gated = sorted({cell.hidden_size, *cell.state_sizes})  # a gate acts on something of one of these sizes,
    heads = [size for size in range(1, max(gated)) if any(whole % size == 0 for whole in gated)]  # or on its heads
    for name, value in {**run.states, **run.gates}.items():
        shapes = [(*inputs.shape[:2], size) for size in (sizes[name] if name in run.states else gated)]
        by_head = name in run.gates and value.shape[:-1] == inputs.shape[:2] and value.shape[-1] in heads
        assert tuple(value.shape) in shapes or by_head, (
            f"{name!r} of {kind} must be {' or '.join(map(str, shapes))}. Got {tuple(value.shape)}."
        )
        assert bool(torch.isfinite(value).all()), f"{name!r} of {kind} is not finite."
        assert value.dtype == inputs.dtype, f"{name!r} of {kind} left {inputs.dtype} for {value.dtype}."
        assert torch.equal(value, {**again.states, **again.gates}[name]), (
            f"{name!r} of {kind} differs between two runs."
        )
    lacking = [name for name in cell.gate_names if name not in run.gates]
    assert not lacking, f"{kind} declares the gates {lacking} but does not mark them with a.gate()."
    for name, value in run.gates.items():
        assert any(name == known or name.startswith(f"{known}_") for known in cell.gate_names), (
            f"{kind} marks a gate {name!r} that is not in its gate_names."
        )
        if not name.startswith("candidate"):
            assert 0 <= float(value.min()) <= float(value.max()) <= 1, (
                f"The gate {name!r} of {kind} leaves 0 to 1. Only a 'candidate' may."
            )


def _rows_are_independent(cell: Cell, inputs: Tensor) -> None:
    together = unroll(cell, inputs, cell.zero_state(len(inputs))).states["hidden"]
    for row in range(len(inputs)):
        alone = unroll(cell, inputs[row : row + 1], cell.zero_state(1)).states["hidden"]
        _close(alone[0], together[row], f"A sequence of {type(cell).__name__} depends on the others in its batch")


def _padding_changes_nothing(cell: Cell, inputs: Tensor) -> None:
    mask = mask_of(torch.tensor(LENGTHS), inputs.shape[1])
    for reverse in (False, True):
        padded = unroll(cell, inputs, cell.zero_state(len(inputs)), mask, reverse)
        for row, length in enumerate(LENGTHS):
            alone = unroll(cell, inputs[row : row + 1, :length], cell.zero_state(1), None, reverse)
            _close(padded.states["hidden"][row, :length], alone.states["hidden"][0], "Padding changes the states")
            for state, own in zip(padded.final, alone.final, strict=True):
                _close(state[row], own[0], "Padding changes the final state")
    output, _ = Recurrent([cell])(inputs, lengths=torch.tensor(LENGTHS))
    expected = unroll(cell, inputs, cell.zero_state(len(inputs)), mask).states["hidden"]
    _close(output, expected, "The layer's own forward differs from the steps that the analyses take")


def _gradients(cell: Cell, inputs: Tensor, generator: torch.Generator) -> None:
    """The gradient along a random direction, against central differences."""
    state = _drawn_state(cell, inputs, generator)
    values = [inputs.clone().requires_grad_(), *cell.parameters()]
    start = [value.detach().clone() for value in values]

    def loss() -> Tensor:
        run = unroll(cell, values[0], state)
        return torch.stack([value.sin().sum() for value in run.states.values()]).sum()

    with torch.enable_grad():
        found = torch.autograd.grad(loss(), values, allow_unused=True)
    names = ["inputs", *(name for name, _ in cell.named_parameters())]
    for index, (name, gradient) in enumerate(zip(names, found, strict=True)):
        assert gradient is not None, f"{name!r} of {type(cell).__name__} has no effect on the states."
        direction = torch.randn(gradient.shape, dtype=gradient.dtype, generator=generator)
        sides = []
        with torch.no_grad():
            for sign in (1, -1):
                values[index].copy_(start[index] + sign * STEP * direction)
                sides.append(loss())
            values[index].copy_(start[index])
        numeric, exact = (sides[0] - sides[1]) / (2 * STEP), (gradient * direction).sum()
        assert abs(float(numeric - exact)) <= 1e-5 * (1 + abs(float(exact))), (
            f"The gradient of {name!r} is {float(exact):.8g}, by finite differences {float(numeric):.8g}."
        )


@torch.no_grad()
def _drawn_state(cell: Cell, inputs: Tensor, generator: torch.Generator) -> tuple[Tensor, ...]:
    """Random, but for states that are used whole, which may be denominators: as they are after some inputs."""
    reached = unroll(cell, inputs, cell.zero_state(len(inputs))).final
    return tuple(
        value if name in cell.whole_states else torch.randn(value.shape, dtype=value.dtype, generator=generator)
        for name, value in zip(cell.state_names, reached, strict=True)
    )


def _pulled_back(cell: Cell, inputs: Tensor, generator: torch.Generator) -> None:
    """The gradients of a step as connectivity takes them, against autograd."""

    def drawn(*shape: int) -> Tensor:
        return torch.randn(shape, dtype=inputs.dtype, generator=generator)

    vectors = inputs[:, 0]
    state = [value.requires_grad_() for value in _drawn_state(cell, inputs, generator)]
    with torch.no_grad():
        step = record_step(cell, cell.project(vectors), tuple(value.detach() for value in state))
    leaves = [*state, vectors.clone().requires_grad_()]
    with torch.enable_grad():
        new = cell.step(Plain(), cell.project(leaves[-1]), tuple(state))
    blocks = [drawn(1, *value.shape) for value in new]
    found = [torch.empty_like(value)[None] for value in leaves]
    with torch.no_grad():
        write(step.pull_back(blocks, found[:-1], cell.input_matrix), found[-1])
    used = [(value, block[0]) for value, block in zip(new, blocks, strict=True) if value.requires_grad]
    values, given = zip(*used, strict=True)
    expected = torch.autograd.grad(values, leaves, given, allow_unused=True, materialize_grads=True)
    for name, ours, theirs in zip((*cell.state_names, "the input"), found, expected, strict=True):
        _close(ours[0], theirs, f"The gradient of {name!r} through a step is not that of autograd")


def _decomposition(model: SequenceModel, inputs: Tensor) -> None:
    time = inputs.shape[1]
    spans = torch.zeros(len(inputs), 4, time, dtype=torch.bool)  # the whole, two steps, the last step, and none
    spans[:, 0], spans[:, 1, 1:3], spans[:, 2, -1] = True, True, True
    hidden = decompose(model, inputs, spans, lengths=LENGTHS).hidden
    _close(hidden, trace(model, inputs, lengths=LENGTHS).logits, "decompose() and trace() disagree on the state")
    published = product(("relevant", "source", "shapley"), ("bias_first", "shapley"), (False, True))
    single: list[dict[str, Any]] = [
        {"bias": "in_span", "interactions": interactions, "linearization": linearization, "output_gate": output_gate}
        for interactions, linearization, output_gate in published
    ]
    whole: list[dict[str, Any]] = [
        {"rules": rules, "gates": "whole"} for rules in ("shapley", "murdoch2018", "gcd2019")
    ]
    if any(cell.taken_whole for cell in model.recurrent.all_cells()):
        single = [rules for rules in single if rules["interactions"] != "relevant"]
    if model.recurrent.layers > 1:  # what goes from layer to layer is the same by every rule
        single = single[:1] + single[-1:]
    for rules in ({"rules": "shapley", "gates": "parts"}, *whole, *single):
        parts = decompose(model, inputs, spans, lengths=LENGTHS, **rules)
        said = ", ".join(f"{name}={value!r}" for name, value in rules.items())
        worst = float(parts.error.max())
        assert worst < TIGHT, f"The parts do not sum to the state ({said}): relative error {worst:.1e}."
        nothing = float(parts.relevant[:, 3].abs().max())
        assert nothing < TIGHT, f"A span without positions has a relevant part ({said}): {nothing:.1e}."
        if model.recurrent.directions == 1:
            before = float(parts.relevant[:, 2, : time - 1].abs().max())
            assert before < TIGHT, f"The relevant part is not zero before its span ({said}): {before:.1e}."
        rest = float(parts.irrelevant[:, 0].abs().max())
        assert rest < TIGHT, f"The irrelevant part of the full span is not zero ({said}): {rest:.1e}."


def _close(ours: Tensor, theirs: Tensor, message: str) -> None:
    if not ours.numel():
        return
    difference = float((ours - theirs).abs().max()) / max(1.0, float(theirs.abs().max()))
    assert difference < TIGHT, f"{message}: by {difference:.1e}."
