"""How a loss reaches back in time: gradients of the states, the step Jacobians they flow through, and BPTT's terms.

The loss is the cross entropy at one step ``at``, summed over the sequences. For each step s there are

- |d loss / d h_s|, and the same for the other states (an LSTM's cell, with h_s held fixed);
- the norm of the step Jacobian d state_s / d state_(s - 1) of a layer, all its states together, inputs held fixed;
- the norm of their product d state_at / d state_s, the quantity that vanishes or explodes;
- the term of step s in dL/dW = sum over s of dL/dW_s, where W_s is the weight as it is used at step s only.

Backward layers run from the last step to the first: there the Jacobian at s is d state_s / d state_(s + 1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy
from torch.nn.utils.rnn import PackedSequence

from rote.analyses.inputs import Inputs, as_model, check_initial, check_inputs
from rote.analyses.plain_autograd import outputs_of
from rote.analyses.result import Result, analyses, rows_of
from rote.analyses.step_weights import StepWeights, steps_of, weight_names, with_leaves
from rote.analyses.target_rows import check_range, output_count
from rote.analyses.trace import Key
from rote.cells import Cell, Plain, State, unroll
from rote.errors import UsageError
from rote.models.sequence import SequenceModel
from rote.store import Column, Table

if TYPE_CHECKING:
    from jaxtyping import Float

BUDGET = 2**28  # bytes of weight terms that exist at once


@dataclass(frozen=True, repr=False)
class GradientFlow(Result):
    """By layer (and direction): norms at every step, zero where nothing of the loss arrives."""

    at: int
    loss: Float[Tensor, " batch"]
    states: dict[Key, dict[str, Tensor]]  # |d loss / d state_s| by the state's name, [batch, time]
    jacobians: dict[Key, dict[str, Tensor]]  # "spectral" and "frobenius" norm of the step Jacobian, [batch, time]
    products: dict[Key, Tensor]  # spectral norm of d state_at / d state_s, [batch, time]; 1 at s = at
    weights: dict[Key, dict[str, Tensor]]  # norm of each step's term of dL/dW, by the weight's name, [time]
    terms: dict[Key, dict[str, Tensor]] | None  # the terms themselves, [time, *shape]; None unless asked for
    error: float  # largest relative difference between the summed terms and autograd's gradient
    axes: ClassVar[dict[str, tuple[str, ...]]] = {"loss": ("batch",)}

    def to_table(self) -> Table:
        rows: list[dict[str, Any]] = []
        for key in self.states:
            layer, direction = key if isinstance(key, tuple) else (key, 0)
            named = {f"d loss / d {name}": values for name, values in self.states[key].items()}
            named |= {f"step Jacobian, {name}": values for name, values in self.jacobians[key].items()}
            named |= {"product of Jacobians": self.products[key]} if key in self.products else {}
            labels = {"layer": layer, "direction": direction}
            for measure, values in named.items():
                rows += [labels | {"measure": measure} | row for row in rows_of(values, ("batch", "time"), "norm")]
            for name, values in self.weights[key].items():
                rows += [labels | {"measure": f"d loss / d {name}"} | row for row in rows_of(values, ("time",), "norm")]
        columns = (
            *(Column(name, role="label") for name in ("layer", "direction", "measure")),
            Column("batch", "empty for the terms of a weight, which are sums over the sequences", role="label"),
            Column("time", "step", role="label"),
            Column("norm"),
        )
        note = f"Loss at step {self.at}."
        return Table.make(
            "gradient-flow", "How the loss reaches back in time", columns, rows,
            figure="gradient-flow", details=True, note=note, options={"at": self.at},
        )  # fmt: skip


@analyses.register("gradient_flow")
def gradient_flow(
    model: SequenceModel,
    tokens: Tensor | PackedSequence,
    at: int,
    *,
    targets: Any = None,
    lengths: Any = None,
    initial: Any = None,
    jacobians: bool = True,
    terms: bool = False,
) -> GradientFlow:
    """How the loss at one step reaches back: gradients of states, step Jacobians, and dL/dW split by time step.

    at: the step of the loss, counted from 0 (from the end if negative). targets: the right output for each sequence,
    by default the model's own choice. jacobians: they cost a singular value decomposition per step; can be left out.
    terms: also keep dL/dW_s itself for every step, not only its norm.
    """
    model = as_model(model)
    inputs = check_inputs(model, tokens, lengths)
    at = _check_at(at, inputs)
    if targets is not None:
        targets = check_range(_check_shape(targets, inputs.batch).to(inputs.mask.device), output_count(model))
    return _Flow(model, inputs, check_initial(model, inputs, initial), at, targets).measure(jacobians, terms)


class _Flow:
    def __init__(
        self, model: SequenceModel, inputs: Inputs, initial: list[State], at: int, targets: Tensor | None
    ) -> None:
        self.model, self.inputs, self.initial, self.at, self.targets = model, inputs, initial, at, targets
        recurrent = model.recurrent
        self.places = [(layer, way) for layer in range(recurrent.layers) for way in range(recurrent.directions)]
        self.keys: list[Key] = [layer if recurrent.directions == 1 else (layer, way) for layer, way in self.places]
        self.names = [weight_names(recurrent.cell(*place)) for place in self.places]

    def measure(self, jacobians: bool, terms: bool) -> GradientFlow:
        with torch.inference_mode(False), torch.enable_grad():
            time, recurrent = self.inputs.time, self.model.recurrent
            used = sum(
                getattr(recurrent.cell(*place), name).nbytes
                for place, names in zip(self.places, self.names, strict=True)
                for name in names
            )
            chunk = max(1, BUDGET // used)
            norms: list[dict[str, list[Tensor]]] = [{name: [] for name in names} for names in self.names]
            sums: list[dict[str, Tensor]] = [{} for _ in self.places]
            kept: list[dict[str, list[Tensor]]] = [{name: [] for name in names} for names in self.names]
            states: dict[Key, dict[str, Tensor]] = {}
            for first in range(0, time, chunk):
                run = StepWeights(self.model, self.inputs, self.initial, range(first, min(first + chunk, time)))
                losses = self.loss_of(run.hidden)
                found = run.terms(losses.sum())
                for index, names in enumerate(self.names):
                    for name in names:
                        part = found[index][name]
                        norms[index][name].append(part.flatten(1).norm(dim=1))
                        sums[index][name] = part.sum(0) + sums[index].get(name, 0)
                        kept[index][name] += [part] if terms else []
                if first == 0:
                    states = dict(zip(self.keys, run.state_norms(losses.sum()), strict=True))
                    chain = [self._chain(index, run) if jacobians else ({}, None) for index in range(len(self.places))]
            return GradientFlow(
                self.at,
                losses.detach(),
                states,
                {key: norms_of for key, (norms_of, _) in zip(self.keys, chain, strict=True)},
                {key: product for key, (_, product) in zip(self.keys, chain, strict=True) if product is not None},
                self._named(norms),
                self._named(kept) if terms else None,
                self._error(sums),
            )

    def loss_of(self, hidden: Tensor) -> Tensor:
        logits = outputs_of(self.model, hidden[:, self.at])
        targets = logits.argmax(-1) if self.targets is None else self.targets
        return cross_entropy(logits, targets, reduction="none")

    def _named(self, values: list[dict[str, list[Tensor]]]) -> dict[Key, dict[str, Tensor]]:
        return {
            key: {name: torch.cat(parts) for name, parts in by_name.items()}
            for key, by_name in zip(self.keys, values, strict=True)
        }

    def _chain(self, index: int, run: StepWeights) -> tuple[dict[str, Tensor], Tensor]:
        """Norms of the step Jacobians of one layer and of their products from ``at`` back, [batch, time] each."""
        layer, way = self.places[index]
        cell, inputs = self.model.recurrent.cell(layer, way), self.inputs
        spectral = inputs.vectors.new_zeros(inputs.batch, inputs.time)
        frobenius, product = torch.zeros_like(spectral), torch.zeros_like(spectral)
        so_far: Tensor | None = None
        for t in reversed(steps_of(inputs.time, way)):
            earlier = t - 1 if way == 0 else t + 1
            before = run.states[index][earlier] if 0 <= earlier < inputs.time else self.initial[index]
            jacobian = _step_jacobian(cell, run.below[layer][:, t], before, inputs.mask[:, t])
            spectral[:, t], frobenius[:, t] = torch.linalg.matrix_norm(jacobian, 2), jacobian.norm(dim=(1, 2))
            if t == self.at:
                so_far = torch.eye(jacobian.shape[1]).to(jacobian).expand_as(jacobian)
            if so_far is not None:
                product[:, t] = torch.linalg.matrix_norm(so_far, 2)
                so_far = so_far @ jacobian
        return {"spectral": spectral * inputs.mask, "frobenius": frobenius * inputs.mask}, product * inputs.mask

    def _error(self, sums: list[dict[str, Tensor]]) -> float:
        """Against one backward pass with each weight used as a whole."""
        recurrent, leaves = self.model.recurrent, []
        values, mask = self.inputs.vectors, None if self.inputs.lengths is None else self.inputs.mask
        for layer in range(recurrent.layers):
            outputs = []
            for way in range(recurrent.directions):
                index = layer * recurrent.directions + way
                cell, weights = with_leaves(recurrent.cell(layer, way), self.names[index])
                leaves += list(weights.values())
                outputs.append(unroll(cell, values, self.initial[index], mask, way == 1).states["hidden"])
            values = torch.cat(outputs, dim=-1)
        whole = torch.autograd.grad(self.loss_of(values).sum(), leaves, allow_unused=True)
        summed = [by_name[name] for by_name, names in zip(sums, self.names, strict=True) for name in names]
        worst = 0.0
        for total, part in zip(whole, summed, strict=True):
            expected = torch.zeros_like(part) if total is None else total
            scale = float(expected.norm()) or 1.0
            worst = max(worst, float((part - expected).norm()) / scale)
        return worst


def _step_jacobian(cell: Cell, vectors: Tensor, before: State, keep: Tensor) -> Float[Tensor, "batch state state"]:
    """d (all states after) / d (all states before); the identity where a row has ended."""
    old = torch.cat(before, dim=-1).detach().requires_grad_()
    sizes = [value.shape[-1] for value in before]
    projected = cell.project(vectors).detach()
    new = torch.cat(cell.step(Plain(), projected, tuple(old.split(sizes, dim=-1))), dim=-1)
    new = torch.where(keep[:, None], new, old)
    size = old.shape[1]
    basis = torch.eye(size).to(old)[:, None].expand(size, len(old), size)
    (rows,) = torch.autograd.grad(new, old, basis, is_grads_batched=True)
    return rows.movedim(0, 1)


def _check_at(at: Any, inputs: Inputs) -> int:
    if not isinstance(at, int) or isinstance(at, bool):
        raise UsageError(f"'at' must be a step, a whole number. Got {at!r}.")
    if not -inputs.time <= at < inputs.time:
        raise UsageError(f"'at' must lie inside the sequence of {inputs.time} steps. Got {at}.")
    step = at % inputs.time
    if inputs.lengths is not None and not bool(inputs.mask[:, step].all()):
        short = int(inputs.lengths.min())
        raise UsageError(f"'at' must lie inside every sequence; the shortest has {short} steps. Got {at}.")
    return step


def _check_shape(targets: Any, batch: int) -> Tensor:
    if not isinstance(targets, Tensor) or targets.dtype != torch.int64 or targets.shape != (batch,):
        shown = f"{targets.dtype} {tuple(targets.shape)}" if isinstance(targets, Tensor) else type(targets).__name__
        raise UsageError(f"'targets' must be {batch} whole numbers (torch.long), one per sequence. Got {shown}.")
    return targets
