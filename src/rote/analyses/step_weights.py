"""A model unrolled with weights of their own at every step, so that a gradient can be split into its terms by time."""

from __future__ import annotations

import copy

import torch
from torch import Tensor

from rote.analyses.inputs import Inputs
from rote.cells import Cell, Plain, State
from rote.models.sequence import SequenceModel


class StepWeights:
    """One forward pass; the weights of the steps in ``own`` are copies, those of the other steps are constants.

    hidden: the top layer's output [batch, time, unit], in the graph. below[layer]: what each layer was given.
    states[layer * directions + direction][step]: the states after each step, in the graph.
    """

    def __init__(self, model: SequenceModel, inputs: Inputs, initial: list[State], own: range) -> None:
        self.recurrent, self.inputs, self.initial, self.own = model.recurrent, inputs, initial, own
        self.states: list[list[State]] = []
        self.leaves: list[dict[int, dict[str, Tensor]]] = []
        self.below: list[Tensor] = []
        self.hidden = inputs.vectors
        for layer in range(self.recurrent.layers):
            self.below.append(self.hidden.detach())
            outputs = [self._layer(layer, way, self.hidden) for way in range(self.recurrent.directions)]
            self.hidden = torch.cat(outputs, dim=-1)

    def terms(self, loss: Tensor) -> list[dict[str, Tensor]]:
        """d loss / d (the weights of each own step), [step, *shape], by cell and name."""
        wanted = [leaf for leaves in self.leaves for t in self.own for leaf in leaves[t].values()]
        found = iter(torch.autograd.grad(loss, wanted, retain_graph=True, allow_unused=True))
        terms: list[dict[str, Tensor]] = []
        for leaves in self.leaves:
            steps: dict[str, list[Tensor]] = {name: [] for name in leaves[self.own[0]]}
            for t in self.own:
                for name, leaf in leaves[t].items():
                    gradient = next(found)
                    steps[name].append(torch.zeros_like(leaf) if gradient is None else gradient)
            terms.append({name: torch.stack(series) for name, series in steps.items()})
        return terms

    def state_norms(self, loss: Tensor) -> list[dict[str, Tensor]]:
        """|d loss / d state| after each step, [batch, time], by cell and the state's name."""
        wanted = [value for series in self.states for state in series for value in state]
        found = iter(torch.autograd.grad(loss, wanted, retain_graph=True, allow_unused=True))
        gradients: list[dict[str, Tensor]] = []
        for index, series in enumerate(self.states):
            names = self.recurrent.cell(*divmod(index, self.recurrent.directions)).state_names
            norms: dict[str, list[Tensor]] = {name: [] for name in names}
            for state in series:
                for name, value in zip(names, state, strict=True):
                    gradient = next(found)
                    norms[name].append(value.new_zeros(len(value)) if gradient is None else gradient.norm(dim=1))
            gradients.append({name: torch.stack(values, dim=1) * self.inputs.mask for name, values in norms.items()})
        return gradients

    def _layer(self, layer: int, way: int, values: Tensor) -> Tensor:
        inputs, cell = self.inputs, self.recurrent.cell(layer, way)
        names = weight_names(cell)
        fixed, _ = with_leaves(cell, names, leaves=False)
        series: dict[int, State] = {}
        leaves: dict[int, dict[str, Tensor]] = {}
        state: State = self.initial[layer * self.recurrent.directions + way]
        for t in steps_of(inputs.time, way):
            now = fixed
            if t in self.own:
                now, leaves[t] = with_leaves(cell, names)
            new = now.step(Plain(), now.project(values[:, t]), state)
            keep = inputs.mask[:, t, None]
            # A tensor of its own for each state, so that its gradient can be asked for.
            state = tuple(torch.where(keep, fresh, old).clone() for fresh, old in zip(new, state, strict=True))
            series[t] = tuple(value.requires_grad_() for value in state)
        self.states.append([series[t] for t in range(inputs.time)])
        self.leaves.append(leaves)
        return torch.stack([series[t][0] * inputs.mask[:, t, None] for t in range(inputs.time)], dim=1)


def weight_names(cell: Cell) -> list[str]:
    return [name for name in cell.shapes() if getattr(cell, name) is not None]


def with_leaves(cell: Cell, names: list[str], leaves: bool = True) -> tuple[Cell, dict[str, Tensor]]:
    """The same cell with copies of its weights that gradients can be taken of; the cell itself is not touched."""
    twin = copy.copy(cell)
    weights: dict[str, Tensor] = {}
    for name in names:
        value = getattr(cell, name).detach()
        weights[name] = value.clone().requires_grad_() if leaves else value
    twin.__dict__.update(weights)  # found before the registered parameters
    return twin, weights


def steps_of(time: int, way: int) -> list[int]:
    """The steps in the order in which a layer of this direction takes them."""
    steps = list(range(time))
    return steps if way == 0 else steps[::-1]
