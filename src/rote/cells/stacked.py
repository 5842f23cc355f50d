"""Many cells of one kind as one program: weights carry a leading replica axis, values are [replica, batch, unit].

Any cell works: its step is run in an arithmetic whose products are batched over the replicas. A weight that is used at
every step gets its gradient from one product over all steps, not from one per step: where sequences are short and
weights large, that is most of the work of a backward pass.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from rote.cells.arithmetic import Plain
from rote.cells.cell import Cell
from rote.cells.fused import State
from rote.cells.over_time import ended, run_over_time
from rote.errors import UsageError

if TYPE_CHECKING:
    from jaxtyping import Bool, Float


def stack(replicas: Sequence[Cell]) -> Cell:
    """One cell whose parameters are those of all replicas, on a new first axis."""
    kinds = {(type(cell), repr(_options(cell))) for cell in replicas}
    if len(kinds) != 1:
        raise UsageError(f"Only cells of one kind and size can be stacked, at least one. Got {len(kinds)} kinds.")
    made = copy.deepcopy(replicas[0])
    for name, _ in list(made.named_parameters()):
        stacked = torch.stack([getattr(cell, name).detach() for cell in replicas])
        setattr(made, name, nn.Parameter(stacked))
    return made


def with_equal_states(cell: Cell) -> Cell:
    """The cell, unless its states differ in size or kind: for models that give one vector to all of them."""
    if cell.whole_states or cell.start_values:
        own = ", ".join(dict.fromkeys([*cell.whole_states, *cell.start_values]))
        raise UsageError(
            f"The states {own} of {type(cell).__name__} begin with values of their own. This model needs a cell whose "
            "states can all begin with one vector."
        )
    if set(cell.state_sizes) != {cell.hidden_size}:
        found = ", ".join(map(str, cell.state_sizes))
        raise UsageError(
            f"{type(cell).__name__} has states of {found} units. This model needs a cell whose states all have its "
            f"{cell.hidden_size} units."
        )
    return cell


def _options(cell: Cell) -> dict[str, Any]:
    """Sizes, biases and what ``configure`` has set: all that is no tensor."""
    plain = {name: value for name, value in vars(cell).items() if not name.startswith("_")}
    return {name: value for name, value in plain.items() if name != "training" and not isinstance(value, Tensor)}


def unstack(cell: Cell, replica: int) -> Cell:
    """One replica of a stacked cell, with weights of its own."""
    return with_weights(cell, lambda _, weight: nn.Parameter(weight[replica].detach().clone()))


def with_weights(cell: Cell, change: Callable[[str, Tensor], Tensor]) -> Cell:
    """The cell with ``change(name, weight)`` in place of each weight: gradients go on to what that was made of."""
    made = copy.copy(cell)
    weights = cell._parameters.items()
    changed: dict[str, Any] = {name: None if weight is None else change(name, weight) for name, weight in weights}
    made._parameters = changed
    return made


def stacked_linear(
    value: Float[Tensor, "replica row input"],
    weight: Float[Tensor, "replica output input"],
    bias: Float[Tensor, "replica output"] | None = None,
) -> Float[Tensor, "replica row output"]:
    """``value @ weight.T + bias`` of every replica."""
    if value.shape[1] == 1:  # a matrix times a vector: in this order its rows are read as they lie in memory
        product = torch.bmm(weight, value.mT).mT
        return product if bias is None else product + bias[:, None]
    return torch.bmm(value, weight.mT) if bias is None else torch.baddbmm(bias[:, None], value, weight.mT)


class Stacked(Plain):
    """The arithmetic of stacked cells, made anew for every forward pass: it gathers the uses of each weight."""

    def __init__(self) -> None:
        super().__init__()
        self._gathered: dict[int, tuple[Tensor, list[_Use]]] = {}

    def linear(self, value: Tensor, weight: Tensor) -> Tensor:
        if not weight.requires_grad or not torch.is_grad_enabled():
            return _linear(value, weight, None, None, 0)
        whole = weight if weight._base is None else weight._base
        if id(whole) not in self._gathered:
            uses: list[_Use] = []
            self._gathered[id(whole)] = (_gather(whole, uses), uses)
        token, uses = self._gathered[id(whole)]
        first = (weight.storage_offset() - whole.storage_offset()) // whole.stride(-2)
        return _linear(value, weight.detach(), token, uses, first)

    def constant(self, bias: Tensor) -> Tensor:
        return bias[:, None]


_Use = tuple[int, Tensor, Tensor]  # first row of the weight, what it was multiplied with, gradient of the product


class _Gather(torch.autograd.Function):
    """Stands for a weight in the graph. Its backward comes after those of all uses, and makes their one product.

    Where the weight has a gradient already, the product is added to it in place: nothing of its size is allocated,
    which for large weights takes longer than the product.
    """

    @staticmethod
    def forward(ctx: Any, weight: Tensor, uses: list[_Use]) -> Tensor:
        ctx.weight, ctx.uses = weight, uses
        return weight.new_zeros(())

    @staticmethod
    def backward(ctx: Any, *_: Any) -> tuple[Tensor | None, None]:
        weight = ctx.weight
        added = weight.is_leaf and weight.grad is not None and not weight._backward_hooks
        gradient = weight.grad if added else torch.zeros_like(weight)
        by_rows: dict[int, list[_Use]] = {}
        for use in ctx.uses:
            by_rows.setdefault(use[0], []).append(use)
        ctx.uses.clear()
        for first, uses in by_rows.items():
            values = torch.cat([value for _, value, _ in uses], 1)
            gradients = torch.cat([gradient for _, _, gradient in uses], 1)
            gradient[:, first : first + gradients.shape[-1]].baddbmm_(gradients.mT, values)
        return None if added else gradient, None


class _Linear(torch.autograd.Function):
    """``value @ weight.T``; the weight's part of the backward pass is left to ``_Gather``, if it is trained at all."""

    @staticmethod
    def forward(
        ctx: Any, value: Tensor, weight: Tensor, token: Tensor | None, uses: list[_Use] | None, first: int
    ) -> Tensor:
        ctx.save_for_backward(value, weight)
        ctx.uses, ctx.first = uses, first
        return stacked_linear(value, weight)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor | None, None, Tensor | None, None, None]:
        (gradient,) = gradients
        value, weight = ctx.saved_tensors
        back = torch.bmm(gradient, weight) if ctx.needs_input_grad[0] else None
        if ctx.uses is None:
            return back, None, None, None, None
        ctx.uses.append((ctx.first, value, gradient))
        return back, None, None, None, None  # the token is told by this alone that the use is done


_gather: Callable[[Tensor, list[_Use]], Tensor] = _Gather.apply
_linear: Callable[[Tensor, Tensor, Tensor | None, list[_Use] | None, int], Tensor] = _Linear.apply


def run_stacked(
    cell: Cell,
    inputs: Float[Tensor, "replica batch time input"],
    state: State | None = None,
    mask: Bool[Tensor, "replica batch time"] | None = None,
    arithmetic: Stacked | None = None,
) -> tuple[Float[Tensor, "replica batch time unit"], State]:
    """A stacked cell over sequences: hidden states and the state at the end. Rows that have ended keep their state;
    their outputs are zero. ``arithmetic``: that of the pass this is a part of."""
    a = arithmetic or Stacked()
    replicas, batch, time, _ = inputs.shape
    state = cell.zero_state(replicas, batch) if state is None else state
    projected = cell.enter(a, inputs.flatten(1, 2)).view(replicas, batch, time, -1)
    series = run_over_time(cell, a, projected, state)
    if series is not None:
        return ended(series, mask, state)
    hidden = []
    for t, now in enumerate(projected.unbind(2)):  # whose gradients are put together once, not added at every step
        new = cell.step(a, now, state)
        if mask is None:
            state = new
            hidden.append(new[0])
        else:
            keep = mask[:, :, t, None]
            state = tuple(torch.where(keep, fresh, old) for fresh, old in zip(new, state, strict=True))
            hidden.append(new[0] * keep)
    return torch.stack(hidden, dim=2), state
