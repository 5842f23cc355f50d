"""Where a run computes: ``auto`` takes a GPU when there is one."""

from __future__ import annotations

import torch

from rote.errors import UsageError


def choose_device(name: str = "auto") -> torch.device:
    """The named device, or a clear error before any work when this machine does not have it."""
    available = ["cpu"]
    if torch.cuda.is_available():
        available += ["cuda", *(f"cuda:{index}" for index in range(torch.cuda.device_count()))]
    if torch.backends.mps.is_available():
        available.append("mps")
    if name == "auto":
        return torch.device(next((kind for kind in ("cuda", "mps") if kind in available), "cpu"))
    if name not in available:
        raise UsageError(f"The device {name!r} is not on this machine. Available: auto, {', '.join(available)}.")
    return torch.device(name)
