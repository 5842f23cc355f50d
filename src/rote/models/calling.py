"""A user's module or function called as a whole: in eval mode, with nothing left on it, whatever it gives."""

from __future__ import annotations

import contextlib
import functools
import inspect
import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from rote.models.in_eval import in_eval


def called_in_eval(model: Callable[..., Any], twins: dict[int, nn.Module] | None = None) -> Callable[..., Any]:
    """``model`` with a twin in eval mode in place of the module that it is or belongs to; functions as they are.

    ``twins`` collects the twin of each part by the part's id."""
    if isinstance(model, functools.partial):
        return functools.partial(called_in_eval(model.func, twins), *model.args, **model.keywords)
    if isinstance(model, nn.Module):
        return in_eval(model, twins)
    if inspect.ismethod(model) and isinstance(model.__self__, nn.Module):
        return functools.partial(model.__func__, in_eval(model.__self__, twins))
    return model


@contextlib.contextmanager
def left_alone(model: Callable[..., Any], device: torch.device) -> Iterator[None]:
    """Modules that a function uses are in eval mode inside and as they were afterward; so are random states."""
    modes = [(part, part.training) for module in _used_by(model) for part in module.modules()]
    numpy_state, python_state = np.random.get_state(), random.getstate()
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        try:
            for part, _ in modes:
                part.training = False
            yield
        finally:
            for part, mode in modes:
                part.training = mode
            np.random.set_state(numpy_state)
            random.setstate(python_state)


def tensor_of(answer: Any) -> Tensor | None:
    """The outputs in what a module gives: itself, the first of (outputs, state), or the ``logits`` of an object."""
    if isinstance(answer, tuple | list) and not hasattr(answer, "logits"):
        answer = answer[0] if answer else None
    elif isinstance(answer, Mapping):
        answer = answer.get("logits")
    else:
        answer = getattr(answer, "logits", answer)
    return answer if isinstance(answer, Tensor) else None


def _used_by(function: Any, seen: frozenset[Any] = frozenset()) -> list[nn.Module]:
    """The modules that a function, or one that it uses, has by a name."""
    function = function.func if isinstance(function, functools.partial) else function
    if not inspect.isfunction(function) or function in seen:
        return []
    variables, found = inspect.getclosurevars(function), list[nn.Module]()
    for value in (*variables.nonlocals.values(), *variables.globals.values()):
        found += [value] if isinstance(value, nn.Module) else _used_by(value, seen | {function})
    return found
