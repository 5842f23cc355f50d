"""How much a prediction depends on each component of its input: source 001, section 4, made measurable.

The source argues with I(X_i; Y), I(Y; X_j | X_i) and dY/dX_i, where Y is the prediction; it measures none of them.
Its propositions ask whether these are zero, which they never are, not even before training; what can be compared is
their size. A gradient says something about the soft output only: that of a hard label is zero almost everywhere.

Where one can choose the inputs, cross them: in the data the components depend on each other, and what a prediction
shares with one of them may all come through another. The estimators and their errors: ``dependence.py``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from rote.analyses.dependence import columns, crossed, nearest_neighbors
from rote.analyses.inputs import check_finite
from rote.analyses.memory import check_memory
from rote.analyses.result import Result, analyses, needs
from rote.errors import UsageError
from rote.models.capabilities import require
from rote.store import Column, Table

if TYPE_CHECKING:
    from jaxtyping import Float

PART = 512  # combinations that the model is asked about at once
Model = Callable[..., Tensor]
Values = Tensor | np.ndarray


@dataclass(frozen=True, repr=False)
class Information(Result):
    """What each input component tells about the prediction, in bits, and how strongly it moves the output."""

    alone: Float[Tensor, " component"]  # I(X_i; Y)
    given: Float[Tensor, " component"]  # I(Y; X_i | all the others)
    gradient: Float[Tensor, " component"]  # mean norm of dY/dX_i; NaN where there is none
    alone_error: Float[Tensor, " component"]  # "crossed": expected bias; "knn": standard error
    given_error: Float[Tensor, " component"]
    total: float  # I(X_1, ..., X_K; Y)
    names: tuple[str, ...]
    sizes: tuple[int, ...]  # values of each component, all combined with all; of "knn" the number of samples
    estimator: str

    @property
    def error(self) -> float:
        """The largest of the errors, in bits."""
        return float(torch.cat([self.alone_error, self.given_error]).abs().max())

    def to_table(self) -> Table:
        rows = [
            {"component": name, **{field: float(getattr(self, field)[index]) for field in self.axes}}
            for index, name in enumerate(self.names)
        ]
        kind = "expected bias" if self.estimator == "crossed" else "standard error"
        found = (
            Column("component", "part of the input", "label"),
            Column("alone", "what it tells about the prediction by itself, bits"),
            Column("given", "what it tells beyond all other components, bits"),
            Column("gradient", "mean norm of the output's derivative by it"),
            Column("alone_error", f"{kind} of 'alone', bits"),
            Column("given_error", f"{kind} of 'given', bits"),
        )
        sizes = " x ".join(map(str, self.sizes))
        how = f"{sizes} combinations" if self.estimator == "crossed" else f"{sizes} samples, nearest neighbors"
        return Table.make(
            "information", "What each component tells about the prediction", found, rows,
            figure="information", note=f"{how}; in all {self.total:.3f} bits.",
        )  # fmt: skip

    def __repr__(self) -> str:
        told = "; ".join(
            f"{name}: {alone:.3f} alone, {given:.3f} given the rest"
            for name, alone, given in zip(self.names, self.alone.tolist(), self.given.tolist(), strict=True)
        )
        return f"Information(bits: {told}; estimator={self.estimator!r}, error {self.error:.2g})"


@analyses.register("information")
@needs("logits")
def information(
    inputs: Sequence[Values],
    outputs: Model | Values,
    *,
    names: Sequence[str] | None = None,
    hard: bool = False,
    gradients: int = 256,
    neighbors: int = 3,
    seed: int = 0,
) -> Information:
    """What each input component tells about a prediction: alone, and beyond the other components.

    inputs: a tensor [value, ...] for each component. ``outputs`` is the model, or what it predicted:

    - a function of one batch of each component that gives logits [row, class], or labels [row] (whole numbers): every
      value of each component is combined with every value of the others. ``hard`` takes the largest logit's class
      instead of the softmax. A module stays in its mode: put it into eval() yourself. Derivatives of the logits are
      averaged over ``gradients`` random combinations (0: none).
    - a tensor with one row per sample, labels [sample] or numbers [sample, dimension]; each component then has a row
      per sample too. Estimated from nearest neighbors; whole numbers in ``inputs`` are labels.

    >>> import torch, rote
    >>> a, b = torch.tensor([0, 1]), torch.tensor([0, 1, 2])  # every value of one with every value of the other
    >>> rote.information((a, b), lambda a, b: a).given.tolist()  # the answer is the first component
    [1.0, 0.0]
    >>> both = rote.information((a, b[:2]), lambda a, b: a ^ b)  # neither alone tells anything of the exclusive or
    >>> both.alone.tolist(), both.given.tolist(), both.total
    ([0.0, 0.0], [1.0, 1.0], 1.0)
    """
    parts = [torch.as_tensor(values) for values in inputs]
    named = tuple(names) if names is not None else tuple(f"X{number}" for number in range(1, len(parts) + 1))
    _check(parts, named, gradients, neighbors)
    if callable(outputs):
        require("information", outputs, "logits")
        return _crossed(parts, outputs, named, hard, gradients, seed)
    return _observed(parts, torch.as_tensor(outputs), named, neighbors)


def _crossed(
    parts: list[Tensor], model: Model, names: tuple[str, ...], hard: bool, gradients: int, seed: int
) -> Information:
    sizes = tuple(len(values) for values in parts)
    count = math.prod(sizes)
    with torch.no_grad():
        first = _answer(model, parts, torch.arange(min(PART, count)))
        check_memory(
            count * (4 * first[0].numel() * 8 + 8),  # answers, probabilities, their logarithms and products; numbers
            f"information() of {' x '.join(map(str, sizes))} = {count} combinations",
            "Take fewer values of each component, or a sample of rows with what the model said to each.",
        )
        starts = range(PART, count, PART)
        rest = [_answer(model, parts, torch.arange(start, min(start + PART, count))) for start in starts]
    predicted = torch.cat([first, *rest])
    found = crossed(_probabilities(predicted, hard).reshape(*sizes, -1), len(sizes))
    if predicted.is_floating_point() and gradients:
        random = torch.Generator().manual_seed(seed)
        norms = _gradients(model, parts, torch.randperm(len(predicted), generator=random)[:gradients])
    else:
        norms = torch.full((len(parts),), math.nan, dtype=torch.float64)
    bits = (found.alone.cpu(), found.given.cpu())
    biases = (found.alone_bias.cpu(), found.given_bias.cpu())
    return Information(*bits, norms, *biases, float(found.total), names, sizes, "crossed")


def _answer(model: Model, parts: list[Tensor], rows: Tensor) -> Tensor:
    """What the model says to these combinations, counted with the last component running fastest."""
    return _checked(model(*_combined(parts, rows)), len(rows))


def _combined(parts: list[Tensor], rows: Tensor) -> list[Tensor]:
    index = torch.unravel_index(rows, [len(values) for values in parts])
    return [values[place.to(values.device)] for values, place in zip(parts, index, strict=True)]


def _probabilities(predicted: Tensor, hard: bool) -> Tensor:
    """Of each class, [row, class]."""
    if predicted.is_floating_point() and not hard:
        return predicted.double().softmax(-1)
    labels = predicted.argmax(-1) if predicted.is_floating_point() else predicted
    return torch.nn.functional.one_hot(labels.unique(return_inverse=True)[1]).double()


@torch.inference_mode(False)
def _gradients(model: Model, parts: list[Tensor], rows: Tensor) -> Tensor:
    """Mean over rows of the norm of d logits / d component (all classes, all entries); NaN where there is none."""
    smooth = [index for index, values in enumerate(parts) if values.is_floating_point()]
    sums = torch.full((len(parts),), math.nan, dtype=torch.float64)
    sums[smooth] = 0.0
    for some in rows.split(PART):
        squares = torch.zeros(len(some), len(parts), dtype=torch.float64)
        with torch.enable_grad():
            given = [values.detach().clone() for values in _combined(parts, some)]
            moved = [given[index].requires_grad_() for index in smooth]
            logits = _checked(model(*given), len(some))
            if not (moved and logits.requires_grad):
                return torch.full_like(sums, math.nan)
            for column in logits.unbind(-1):
                found = torch.autograd.grad(column.sum(), moved, retain_graph=True, allow_unused=True)
                for index, gradient in zip(smooth, found, strict=True):
                    if gradient is not None:  # a component that the model ignores
                        squares[:, index] += gradient.double().square().reshape(len(some), -1).sum(1).cpu()
        sums += squares.sqrt().sum(0)
    return sums / len(rows)


def _observed(parts: list[Tensor], outputs: Tensor, names: tuple[str, ...], neighbors: int) -> Information:
    samples = len(outputs)
    if any(len(values) != samples for values in parts) or samples <= neighbors + 1:
        raise UsageError(
            f"Each of 'inputs' must have a row for each of the {samples} 'outputs', more than {neighbors + 1}. "
            f"Got {', '.join(str(len(values)) for values in parts)}. To combine the values freely, give the model."
        )
    x = [columns(values.detach().cpu().numpy()) for values in parts]
    y = columns(outputs.detach().cpu().numpy())
    alone = [nearest_neighbors(values, y, None, neighbors) for values in x]
    given = []
    for index, values in enumerate(x):
        rest = x[:index] + x[index + 1 :]
        given.append(nearest_neighbors(values, y, np.concatenate(rest, 1), neighbors) if rest else alone[index])
    total = nearest_neighbors(np.concatenate(x, 1), y, None, neighbors)[0]
    both = torch.tensor([alone, given], dtype=torch.float64)
    none = torch.full((len(parts),), math.nan, dtype=torch.float64)
    return Information(
        both[0, :, 0], both[1, :, 0], none, both[0, :, 1], both[1, :, 1], total, names, (samples,), "knn"
    )


def _check(parts: list[Tensor], names: tuple[str, ...], gradients: int, neighbors: int) -> None:
    if not parts or len(names) != len(parts) or len(set(names)) != len(names):
        raise UsageError(f"'names' must be as many as 'inputs', all different. Got {names} for {len(parts)}.")
    for name, values in zip(names, parts, strict=True):
        if values.dim() < 1 or len(values) < 2:
            raise UsageError(f"{name!r} of 'inputs' must have at least two values. Got {tuple(values.shape)}.")
        check_finite(f"{name!r} of 'inputs'", values)
    if gradients < 0 or neighbors < 1:
        raise UsageError(f"'gradients' must be at least 0 and 'neighbors' at least 1. Got {gradients} and {neighbors}.")


def _checked(predicted: Tensor, rows: int) -> Tensor:
    soft = predicted.is_floating_point()
    if predicted.shape[:1] != (rows,) or predicted.dim() != (2 if soft else 1):
        raise UsageError(
            f"'outputs' must give logits [row, class] or whole numbers [row] for {rows} rows. "
            f"Got {predicted.dtype} {tuple(predicted.shape)}."
        )
    if soft:
        check_finite("What 'outputs' gave", predicted)
    return predicted
