"""Public modules that compute parts of themselves in float32 whatever they are given, made to keep to float64."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor, nn


class _Lifted:
    """torch, in which float32 is float64."""

    float32 = float = torch.float64

    def __getattr__(self, name: str) -> Any:
        return getattr(torch, name)


@contextmanager
def lifted(*modules: ModuleType) -> Iterator[None]:
    """Within, these modules' casts to float32 are casts to float64."""
    with patch.object(Tensor, "float", Tensor.double):
        patches = [patch.object(module, "torch", _Lifted()) for module in modules]
        for one in patches:
            one.start()
        try:
            yield
        finally:
            for one in patches:
                one.stop()


def spread(module: nn.Module, size: float = 0.8) -> None:
    """Weights large enough for the nonlinearities to matter."""
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for weight in module.parameters():
            weight.copy_(size * torch.randn(weight.shape, dtype=weight.dtype, generator=generator))
