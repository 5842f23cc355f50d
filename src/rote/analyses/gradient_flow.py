"""How a loss reaches back in time: gradients of the states, the step Jacobians they flow through, and BPTT's terms.

The loss is the cross entropy at one step ``at``, summed over the sequences. For each step s there are

- |d loss / d h_s|, and the same for the other states (an LSTM's cell, with h_s held fixed);
- the norm of the step Jacobian d state_s / d state_(s - 1) of a layer, all its states together, inputs held fixed
  ("spectral", "frobenius"); for units with several states also that of its block d h_s / d h_(s - 1) ("hidden ...");
- the norm of their product d state_at / d state_s, the quantity that vanishes or explodes;
- the term of step s in dL/dW = sum over s of dL/dW_s, where W_s is the weight as it is used at step s only.

Backward layers run from the last step to the first: there the Jacobian at s is d state_s / d state_(s + 1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy
from torch.nn.utils.rnn import PackedSequence

from rote.analyses.all_outputs import Layer, record_layers
from rote.analyses.bptt import back_through_time, with_leaves
from rote.analyses.inputs import Inputs, as_model, check_initial, check_inputs, shown
from rote.analyses.jacobians import chain_norms, jacobian_numbers
from rote.analyses.memory import GRAPH, RECORDED, check_memory, products
from rote.analyses.plain_autograd import hidden_states, outputs_of
from rote.analyses.result import OverTokens, analyses, needs, rows_of
from rote.analyses.target_rows import check_range, target_rows
from rote.analyses.trace import Key, keys_of, place_of
from rote.cells import Recurrent, State
from rote.errors import UsageError
from rote.models.sequence import SequenceModel
from rote.store import Column, Table

if TYPE_CHECKING:
    from jaxtyping import Float


@dataclass(frozen=True, repr=False)
class GradientFlow(OverTokens):
    """By layer (and direction): norms at every step, zero where nothing of the loss arrives."""

    at: int
    loss: Float[Tensor, " batch"]
    states: dict[Key, dict[str, Tensor]]  # |d loss / d state_s| by the state's name, [batch, time]
    jacobians: dict[Key, dict[str, Tensor]]  # norms of the step Jacobian by kind, [batch, time]
    products: dict[Key, Tensor]  # spectral norm of d state_at / d state_s, [batch, time]; 1 at s = at
    weights: dict[Key, dict[str, Tensor]]  # norm of each step's term of dL/dW, by the weight's name, [time]
    terms: dict[Key, dict[str, Tensor]] | None  # the terms themselves, [time, *shape]; None unless asked for
    error: float  # largest relative difference between the summed terms and autograd's gradient

    def to_table(self) -> Table:
        rows: list[dict[str, Any]] = []
        for key in self.states:
            named = {f"d loss / d {name}": values for name, values in self.states[key].items()}
            named |= {f"step Jacobian, {name}": values for name, values in self.jacobians[key].items()}
            named |= {"product of Jacobians": self.products[key]} if key in self.products else {}
            labels = place_of(key)
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
@needs("arithmetic")
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

    - at: the step of the loss, counted from 0 (from the end if negative).
    - targets: the right output for each sequence, by default the model's own choice.
    - jacobians: they cost as much as a pass for each unit; can be left out.
    - terms: also keep dL/dW_s itself for every step, not only its norm.

    >>> import torch, rote
    >>> rnn, table = torch.nn.RNN(8, 16, batch_first=True), torch.nn.Embedding(100, 8)
    >>> model = rote.adapt(recurrent=rnn, embedding=table, readout=torch.nn.Linear(16, 100))
    >>> flow = rote.gradient_flow(model, torch.tensor([[1, 2, 3, 4]]), at=2)
    >>> flow.states[0]["hidden"].shape, float(flow.states[0]["hidden"][0, 3])  # nothing reaches a later step
    (torch.Size([1, 4]), 0.0)
    >>> sorted(flow.weights[0]), flow.error < 1e-5
    (['bias_hh', 'bias_ih', 'weight_hh', 'weight_ih'], True)
    """
    model = as_model(model, "gradient_flow")
    with torch.inference_mode(False):
        inputs = check_inputs(model, tokens, lengths)
        at = _check_at(at, inputs)
        if targets is not None:
            targets = check_range(_check_shape(targets, inputs.batch).to(inputs.mask.device), model.output_size)
        return _flow(model, inputs, check_initial(model, inputs, initial), at, targets, jacobians, terms)


@torch.no_grad()
def _flow(
    model: SequenceModel,
    inputs: Inputs,
    initial: list[State],
    at: int,
    targets: Tensor | None,
    jacobians: bool,
    terms: bool,
) -> GradientFlow:
    recurrent, mask = model.recurrent, None if inputs.lengths is None else inputs.mask
    check_memory(
        _numbers(recurrent, inputs, jacobians, terms) * inputs.vectors.element_size(),
        f"gradient_flow() of {inputs.batch} x {inputs.time} steps",
        f"Take {'terms=False, ' if terms else ''}{'jacobians=False, ' if jacobians else ''}"
        "fewer sequences at a time, or shorter ones.",
    )
    layers, hidden = record_layers(recurrent, inputs.vectors, initial, mask)
    logits = outputs_of(model, hidden[:, at])
    targets = logits.argmax(-1) if targets is None else targets
    above = torch.zeros_like(hidden)
    above[:, at] = -target_rows(model, hidden[:, at], targets, "log_probability")
    swept = back_through_time(layers, inputs.vectors, above, mask, terms)
    by_key = dict(zip(keys_of(recurrent), swept, strict=True))
    steps: dict[Key, dict[str, Tensor]] = {key: {} for key in by_key}
    products: dict[Key, Tensor] = {}
    if jacobians:
        steps, products = _jacobians(recurrent, layers, inputs.vectors, initial, mask, at)
    return GradientFlow(
        at,
        cross_entropy(logits, targets, reduction="none"),
        {key: found.states for key, found in by_key.items()},
        steps,
        products,
        {key: found.norms for key, found in by_key.items()},
        {key: found.terms for key, found in by_key.items() if found.terms is not None} if terms else None,
        _error(model, inputs, initial, at, targets, [found.sums for found in swept]),
        tokens=inputs.tokens,
    )


def _numbers(recurrent: Recurrent, inputs: Inputs, jacobians: bool, terms: bool) -> float:
    """Held at once: the records of all steps, autograd's for the error, the terms, the largest of the Jacobians."""
    found = inputs.batch * inputs.time * products(recurrent) * (RECORDED + GRAPH)
    if terms:
        found += inputs.time * sum(weight.numel() for cell in recurrent.all_cells() for weight in cell.parameters())
    if jacobians:
        found += max(jacobian_numbers(cell, inputs.batch) for cell in recurrent.all_cells())
    return found


def _jacobians(
    recurrent: Recurrent,
    layers: list[list[Layer]],
    values: Tensor,
    initial: list[State],
    mask: Tensor | None,
    at: int,
) -> tuple[dict[Key, dict[str, Tensor]], dict[Key, Tensor]]:
    """Norms of the step Jacobians by kind, and of their products, by layer (and direction)."""
    steps: dict[Key, dict[str, Tensor]] = {}
    products: dict[Key, Tensor] = {}
    for index, key in enumerate(keys_of(recurrent)):
        layer, way = divmod(index, recurrent.directions)
        if way == 0 and layer:
            values = torch.cat([run.hidden for run in layers[layer - 1]], dim=-1)
        cell = recurrent.cell(layer, way)
        steps[key], products[key] = chain_norms(cell, values, initial[index], mask, way == 1, at)
    return steps, products


def _error(
    model: SequenceModel,
    inputs: Inputs,
    initial: list[State],
    at: int,
    targets: Tensor,
    sums: list[dict[str, Tensor]],
) -> float:
    """Against one backward pass through all steps, each weight used as a whole."""
    twins = [with_leaves(cell) for cell in model.recurrent.all_cells()]
    leaves = [weight for _, weights in twins for weight in weights.values()]
    with torch.enable_grad():
        whole = Recurrent([cell for cell, _ in twins], bidirectional=model.recurrent.directions == 2)
        hidden = hidden_states(whole, inputs.vectors, inputs, initial)
        loss = cross_entropy(outputs_of(model, hidden[:, at]), targets, reduction="sum")
        expected = torch.autograd.grad(loss, leaves, allow_unused=True, materialize_grads=True)
    found = [weight for weights in sums for weight in weights.values()]
    pairs = list(zip(found, expected, strict=True))
    return max(float((one - other).norm()) / (float(other.norm()) or 1.0) for one, other in pairs)


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
        raise UsageError(
            f"'targets' must be {batch} whole numbers (torch.long), one per sequence. Got {shown(targets)}."
        )
    return targets
