"""Whether something was left on a model: weights, gradients, flags, modes, hooks, random states."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

HOOKS = (
    "_forward_hooks",
    "_forward_pre_hooks",
    "_backward_hooks",
    "_backward_pre_hooks",
    "_state_dict_hooks",
    "_load_state_dict_pre_hooks",
)


@contextmanager
def untouched(*modules: nn.Module) -> Iterator[None]:
    """Raises AssertionError if the block changes anything on the modules or a random state, also if it fails."""
    before = _facts(modules)
    try:
        yield
    except AssertionError:  # a check inside has already found something
        raise
    except BaseException:
        _compare(before, _facts(modules))
        raise
    _compare(before, _facts(modules))


def _compare(before: dict[str, Any], after: dict[str, Any]) -> None:
    changed = [name for name in before | after if not _same(before.get(name), after.get(name))]
    assert not changed, f"Something was left behind: {', '.join(changed)}."


def _facts(modules: tuple[nn.Module, ...]) -> dict[str, Any]:
    numpy_state: Any = np.random.get_state()
    facts: dict[str, Any] = {
        "torch's random state": torch.get_rng_state(),
        "numpy's random state": [part.tolist() if isinstance(part, np.ndarray) else part for part in numpy_state],
        "Python's random state": random.getstate(),
        "the gradient mode": torch.is_grad_enabled(),
        "the default dtype": torch.get_default_dtype(),
    }
    for index, root in enumerate(modules):
        for path, module in root.named_modules():
            place = f"{type(root).__name__}[{index}]{'.' if path else ''}{path}"
            facts[f"the mode of {place}"] = module.training
            facts[f"the attributes of {place}"] = sorted(vars(module))
            for hooks in HOOKS:
                facts[f"{hooks} of {place}"] = list(getattr(module, hooks, ()))
            for name, tensor in [*module.named_parameters(recurse=False), *module.named_buffers(recurse=False)]:
                facts[f"{place}.{name}"] = tensor.detach().clone()
                facts[f"the place of {place}.{name}"] = (id(tensor), tensor.data_ptr(), tensor.device)
                facts[f"requires_grad of {place}.{name}"] = tensor.requires_grad
                facts[f"the gradient of {place}.{name}"] = None if tensor.grad is None else tensor.grad.clone()
                facts[f"the hooks of {place}.{name}"] = list(tensor._backward_hooks or ())
    return facts


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        return a.dtype == b.dtype and a.shape == b.shape and bool(torch.equal(a.nan_to_num(), b.nan_to_num()))
    return type(a) is type(b) and bool(a == b)


class InjectedError(Exception):
    """Raised in the middle of a computation by ``FailAt``."""


class FailAt(TorchFunctionMode):
    """Counts the operations of torch and raises ``InjectedError``, once, at the one numbered ``at``."""

    def __init__(self, at: int = -1) -> None:
        super().__init__()
        self.at, self.count = at, 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        # To read an attribute is no operation; to leave torch.no_grad() is one that must not fail.
        if getattr(func, "__name__", "") not in ("__get__", "_set_grad_enabled"):
            self.count += 1
        if self.count == self.at:
            self.at = -1
            raise InjectedError(f"at operation {self.count}")
        return func(*args, **(kwargs or {}))


def interrupted(run: Any, *modules: nn.Module) -> None:
    """Run to the end once, then fail at several points; nothing may be left behind by any of them."""
    with FailAt() as counted:
        run()
    for share in (0.02, 0.3, 0.6, 0.97):
        with untouched(*modules):
            try:
                with FailAt(max(1, int(share * counted.count))):
                    run()
            except InjectedError:
                continue
            raise AssertionError("An exception from inside was swallowed.")
