"""Models from files, which anybody may have written: none is built that is larger than the weights in its file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import torch
from torch import nn

from rote.errors import DamagedFileError, RoteError

M = TypeVar("M", bound=nn.Module)


def fitted(make: Callable[[], M], weights: object, origin: Path, *needed: int) -> M:
    """The model that ``make`` builds, with these weights.

    ``needed``: how many numbers parts of it have by its settings, such as ``layers * units * units``. Nothing is built
    where the file has fewer: a setting of 10^6 layers would take all memory, or run without end. After that every
    weight must have the shape that the model gives it.
    """
    if not isinstance(weights, dict) or not all(_is_weight(weight) for weight in weights.values()):
        raise DamagedFileError(f"{origin} holds no weights of a model.")
    total = sum(weight.numel() for weight in weights.values())
    if max(needed) > total:
        raise DamagedFileError(f"{origin} has {total} weights, and by its settings one part has {max(needed)}.")
    try:
        model = make()
    except RoteError as error:
        raise DamagedFileError(f"{origin} has settings of which no model can be made: {error}") from None
    own = model.state_dict()
    for name in [*own, *weights]:
        wanted, found = (tuple(state[name].shape) if name in state else None for state in (own, weights))
        if wanted != found:
            raise DamagedFileError(
                f"{origin} has other weights than its settings say: {name!r} is {found or 'missing'} there and "
                f"{wanted or 'not a part'} of the model."
            )
    model.load_state_dict({name: weight.to(own[name].dtype) for name, weight in weights.items()})
    return model


def _is_weight(value: object) -> bool:
    return isinstance(value, torch.Tensor) and not value.is_complex()
