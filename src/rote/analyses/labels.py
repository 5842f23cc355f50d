"""Activations that carry a name each: what classifiers and cluster trees are made from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rote.analyses.inputs import check_finite
from rote.analyses.memory import check_memory
from rote.errors import UsageError

Name = str | int
Labels = Tensor | np.ndarray | Sequence[Any]  # one per position; None: this position has none and is left out

COPIES = 4  # of the samples in float64: as they are, centered, the training half, what a solver makes of it


@dataclass(frozen=True)
class Samples:
    values: np.ndarray  # float64 [sample, unit]
    labels: list[Name]
    positions: list[int]  # of the samples among all positions, row by row
    kept: Tensor  # bool [sample] or [batch, time]: the positions inside the mask


def labelled_samples(
    values: Tensor | np.ndarray, labels: Labels, mask: Tensor | None = None, what: str = "activations"
) -> Samples:
    """The positions of ``values`` [sample, unit] or [batch, time, unit] that have a label and lie inside ``mask``."""
    values = _numbers(values, what)
    if values.dim() not in (2, 3) or values.numel() == 0 or not values.is_floating_point():
        raise UsageError(
            f"'{what}' must be numbers [sample, unit] or [batch, time, unit], at least one. "
            f"Got {tuple(values.shape)} of {values.dtype}."
        )
    shape = values.shape[:-1]
    kept = torch.ones(shape, dtype=torch.bool) if mask is None else checked_mask(mask, shape)
    named = flat_labels(labels, "labels", kept)
    inside = kept.flatten().tolist()
    positions = [place for place, name in enumerate(named) if inside[place] and name is not None]
    if not positions:
        raise UsageError("No position has a label: 'labels' are all None, or 'mask' leaves nothing.")
    flat = values.detach().reshape(-1, values.shape[-1])
    check_memory(
        COPIES * 8 * len(positions) * flat.shape[1],
        f"'{what}' of {len(positions)} samples and {flat.shape[1]} units",
        "Take fewer samples: None among the labels, or a mask, leaves positions out.",
    )
    chosen = flat[positions].cpu().double()
    check_finite(f"'{what}'", chosen)
    return Samples(chosen.numpy(), [name for place in positions if (name := named[place]) is not None], positions, kept)


def _numbers(values: Any, what: str) -> Tensor:
    try:
        return torch.as_tensor(values)
    except (TypeError, ValueError, RuntimeError):
        advice = " Of a trace give trace.hidden[layer], and mask=trace.mask." if hasattr(values, "hidden") else ""
        advice = " Of a model give rote.trace(model, tokens).hidden[layer]." if callable(values) else advice
        raise UsageError(
            f"'{what}' must be numbers [sample, unit] or [batch, time, unit]. Got {type(values).__name__}.{advice}"
        ) from None


def checked_mask(mask: Any, shape: Sequence[int]) -> Tensor:
    kept = torch.as_tensor(mask)
    if kept.dtype != torch.bool or tuple(kept.shape) != tuple(shape):
        raise UsageError(f"'mask' must be bool of shape {tuple(shape)}. Got {kept.dtype} {tuple(kept.shape)}.")
    return kept.cpu()


def flat_labels(labels: Labels, argument: str, kept: Tensor) -> list[Name | None]:
    """One label per position of ``kept`` ([sample] or [batch, time]), row by row. A row of names may be as long as the
    tensor or as its own sequence."""
    shape = tuple(kept.shape)
    if isinstance(labels, np.ndarray) and labels.dtype.kind in "OUS":  # names
        labels = labels.tolist()
    if isinstance(labels, str) or not isinstance(labels, Iterable):
        raise UsageError(f"'{argument}' must be names or whole numbers, one per position. Got {labels!r:.60}.")
    if isinstance(labels, Tensor | np.ndarray):
        found = torch.as_tensor(labels)
        if found.is_floating_point() or tuple(found.shape) != shape:
            raise UsageError(
                f"'{argument}' as a tensor must be whole numbers of shape {shape}, one per position. "
                f"Got {found.dtype} {tuple(found.shape)}."
            )
        return list(found.flatten().tolist())
    rows = list(labels)
    if len(shape) == 2 and shape[0] == 1 and not any(map(_is_row, rows)):
        rows = [rows]  # one sequence, given as the list of its names
    if len(shape) == 1:
        rows, kept = [rows], kept[None]
    if len(rows) != len(kept) or not all(map(_is_row, rows)):
        raise UsageError(f"'{argument}' must hold {shape[0]} sequences of names, one per row. Got {len(rows)}.")
    return [name for number, row in enumerate(rows) for name in _filled(list(row), kept[number], argument, number)]


def numbered(labels: Sequence[Name], kind: str) -> tuple[list[Name], np.ndarray]:
    """Each name once, numbers first; and which of them each label is. ``kind``: what two of them are needed for."""
    names = sorted(set(labels), key=lambda name: (isinstance(name, str), name))
    if len(names) < 2:
        raise UsageError(f"'labels' must have at least two {kind}. Got only {names[0]!r}.")
    number = {name: index for index, name in enumerate(names)}
    return names, np.array([number[name] for name in labels])


def _is_row(value: Any) -> bool:
    return not isinstance(value, str) and hasattr(value, "__len__") and getattr(value, "ndim", 1) > 0


def _filled(row: list[Any], kept: Tensor, argument: str, number: int) -> list[Name | None]:
    names = [_name(value, argument) for value in row]
    inside = kept.tolist()
    if len(names) == len(inside):
        return names
    if len(names) == sum(inside):
        rest = iter(names)
        return [next(rest) if is_in else None for is_in in inside]
    expected = f"{len(inside)}" + (f" (or {sum(inside)}, without the padding)" if not all(inside) else "")
    raise UsageError(f"'{argument}' must have one name per position: {expected} in row {number}. Got {len(names)}.")


def _name(value: Any, argument: str) -> Name | None:
    plain = value.item() if isinstance(value, np.generic | Tensor) else value
    if plain is None or isinstance(plain, str | int):
        return plain
    raise UsageError(f"'{argument}' are texts or whole numbers (None: left out). Got {plain!r}.")
