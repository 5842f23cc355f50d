"""The diagram of a cell is its own step: the same values, gates and states, and nothing that it does not compute."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from rote.cells import Cell, cells
from rote.cells.arithmetic import Plain
from rote.cells.diagram import Diagram, diagram

KINDS = [
    ("elman", {}), ("gru", {}), ("gru", {"reset": "before"}), ("lstm", {}), ("lstm", {"proj_size": 2}),
    ("nested_lstm", {}), ("nested_lstm", {"depth": 3}), ("min_gru", {}), ("min_lstm", {}), ("lru", {}), ("rg_lru", {}),
    ("s6", {}), ("peephole_lstm", {}),
]  # fmt: skip


WITHOUT_WEIGHTS: dict[str, Any] = {
    "product": torch.mul, "sum": lambda *parts: sum(parts[1:], parts[0]), "complement": lambda gate: 1 - gate,
    "difference": torch.sub, "negative": torch.neg, "joined": lambda *parts: torch.cat(parts, -1),
    "tanh": torch.tanh, "sigmoid": torch.sigmoid,
}  # fmt: skip


def drawn(name: str, options: dict[str, Any]) -> tuple[Cell, Plain, tuple[torch.Tensor, ...], Diagram]:
    torch.manual_seed(0)
    cell = cells[name](3, 4, **options).double()
    inputs = torch.randn(5, 3, dtype=torch.float64)
    state = tuple(torch.randn(5, size, dtype=torch.float64) for size in cell.state_sizes)
    plain = Plain()
    after = cell.step(plain, cell.project(inputs), state)
    return cell, plain, after, diagram(cell, inputs, state)


@pytest.mark.parametrize(("name", "options"), KINDS)
def test_states_and_gates_are_those_of_the_plain_step(name: str, options: dict[str, Any]) -> None:
    cell, plain, after, made = drawn(name, options)
    assert tuple(made.outputs) == cell.state_names
    for state, value in zip(cell.state_names, after, strict=True):
        assert torch.equal(made.nodes[made.outputs[state]].value, value)
    named = {node.name: node.value for node in made.nodes if node.name and node.kind not in ("input", "state")}
    assert set(named) == set(plain.gates)
    assert all(torch.equal(named[gate], value) for gate, value in plain.gates.items())


@pytest.mark.parametrize(("name", "options"), KINDS)
def test_every_operation_without_weights_is_what_its_kind_says_of_its_inputs(
    name: str, options: dict[str, Any]
) -> None:
    _, _, _, made = drawn(name, options)
    for number, node in enumerate(made.nodes):
        given = [made.nodes[one].value for one in node.inputs]
        assert all(one < number for one in node.inputs)
        if node.weights or node.kind in ("input", "state", "function"):
            continue
        expected = WITHOUT_WEIGHTS[node.kind](*given)
        torch.testing.assert_close(node.value, expected, rtol=1e-15, atol=1e-15)


def test_an_lstm_is_drawn_as_its_equations_are_written() -> None:
    *_, made = drawn("lstm", {})
    at = {node.name: number for number, node in enumerate(made.nodes) if node.name}
    (cell, hidden), nodes = (made.outputs["cell"], made.outputs["hidden"]), made.nodes
    assert {nodes[at[gate]].inputs for gate in ("input", "forget", "output")} == {(at["x"], at["hidden"])}
    assert [nodes[one].inputs for one in nodes[cell].inputs] == [
        (at["forget"], at["cell"]),
        (at["input"], at["candidate"]),
    ]
    assert nodes[hidden].inputs[0] == at["output"]
    assert nodes[nodes[hidden].inputs[1]].inputs == (cell,)


def test_the_outer_candidate_of_a_nested_lstm_is_not_squashed() -> None:
    *_, made = drawn("nested_lstm", {})
    kinds = {node.name: node.kind for node in made.nodes if node.name}
    assert (kinds["candidate"], kinds["candidate_1"]) == ("weighted", "tanh")
